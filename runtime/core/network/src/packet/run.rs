//! Shards on threads: conservative windows of the network's lookahead, idle ones skipped.

use super::port::NEVER;
use super::shard::{Mail, Router, Shard};
use engine::SpinBarrier;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// A function that is told how far a run is: called from one thread now and then with the simulated
/// picoseconds and the packets delivered by that thread.
pub(crate) type Progress<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// Why a run stopped with packets inside.
pub(crate) enum Stopped {
    /// None of them can move: a sentence.
    Deadlock(String),
    /// Virtual time is over: a sentence.
    EndOfTime(String),
}

/// Runs all shards until nothing happens any more at or before `last`. `lookahead` is in picoseconds. The
/// answer is the processor seconds of the busiest thread (0 if the host does not tell).
pub(crate) fn run<R: Router>(
    shards: &mut [Shard<R>],
    lookahead: u64,
    last: u64,
    progress: Progress<'_>,
) -> Result<f64, Stopped> {
    let cpu = match shards {
        [shard] => {
            let started = thread_seconds();
            loop {
                let next = shard.next();
                if next > last {
                    break thread_seconds() - started;
                }
                shard.run(next.saturating_add(lookahead.saturating_mul(256)).min(last));
                progress(next, shard.statistics.jobs[0].packets);
            }
        }
        _ => run_threads(shards, lookahead, last, progress),
    };
    if shards.iter_mut().any(|shard| shard.next() != NEVER) {
        return Err(Stopped::EndOfTime(end_of_time(shards)));
    }
    if shards.iter().any(|shard| shard.inside() > 0) {
        Err(Stopped::Deadlock(deadlock(shards)))
    } else {
        Ok(cpu)
    }
}

/// Processor seconds of this thread, from the scheduler's own account.
pub(crate) fn thread_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).map_or(0.0, |ns| ns * 1e-9)
}

struct WindowBarrier {
    barrier: SpinBarrier,
    /// One half for even and one for odd windows, so that one barrier a window is enough: who is a window
    /// ahead writes what nobody reads yet.
    halves: [Half; 2],
    lookahead: u64,
    /// No event after it happens.
    last: u64,
}

struct Half {
    /// When something happens next in each shard, or by what it told others.
    next: Vec<AtomicU64>,
    /// Mail from shard a to shard b, at index a * n + b.
    mail: Vec<Mutex<Mail>>,
}

fn run_threads<R: Router>(shards: &mut [Shard<R>], lookahead: u64, last: u64, progress: Progress<'_>) -> f64 {
    let count = shards.len();
    let half = || Half {
        next: (0..count).map(|_| AtomicU64::new(NEVER)).collect(),
        mail: (0..count * count).map(|_| Mutex::new(Mail::default())).collect(),
    };
    let shared =
        WindowBarrier { barrier: SpinBarrier::new(count), halves: [half(), half()], lookahead, last };
    std::thread::scope(|scope| {
        let shared = &shared;
        let threads: Vec<_> =
            shards.iter_mut().map(|shard| scope.spawn(move || work(shard, shared, progress))).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).fold(0.0, f64::max)
    })
}

fn work<R: Router>(shard: &mut Shard<R>, shared: &WindowBarrier, progress: Progress<'_>) -> f64 {
    let started = thread_seconds();
    // A thread that panics would leave the others at the barrier for ever.
    let _guard = AbortOnPanic;
    for window in 0u64.. {
        let half = &shared.halves[(window % 2) as usize];
        let told = post(shard, half);
        half.next[shard.me].store(shard.next().min(told), Ordering::Release);
        shared.barrier.wait();
        let start = half.next.iter().map(|next| next.load(Ordering::Acquire)).min().unwrap_or(NEVER);
        if start == NEVER {
            break;
        }
        collect(shard, half);
        if start > shared.last {
            break;
        }
        shard.run(start.saturating_add(shared.lookahead - 1).min(shared.last));
        if shard.me == 0 && window % 256 == 255 {
            progress(start, shard.statistics.jobs[0].packets);
        }
    }
    thread_seconds() - started
}

/// Posts what a shard has to tell; the answer is the earliest time in it.
fn post<R: Router>(shard: &mut Shard<R>, half: &Half) -> u64 {
    let count = half.next.len();
    shard.send_off();
    for other in 0..count {
        if !shard.border.outbox[other].is_empty() {
            let mut mail = half.mail[shard.me * count + other].lock().unwrap_or_else(|e| e.into_inner());
            std::mem::swap(&mut *mail, &mut shard.border.outbox[other]);
        }
    }
    std::mem::replace(&mut shard.border.told, NEVER)
}

/// Takes in what others have posted.
fn collect<R: Router>(shard: &mut Shard<R>, half: &Half) {
    let count = half.next.len();
    for other in 0..count {
        let mut mail = half.mail[other * count + shard.me].lock().unwrap_or_else(|e| e.into_inner());
        shard.receive(&mail);
        mail.clear();
    }
}

struct AbortOnPanic;
impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

/// Says that what is under way would arrive after the end of virtual time.
pub(crate) fn end_of_time<R: Router>(shards: &[Shard<R>]) -> String {
    let inside: usize = shards.iter().map(Shard::inside).sum();
    format!(
        "virtual time ends at 2^64 picoseconds (213 days), and {inside} packets and messages are still under \
         way in the network; raise its bandwidth b, lower its latency l or send less"
    )
}

/// Says where packets wait though nothing will happen any more.
pub(crate) fn deadlock<R: Router>(shards: &[Shard<R>]) -> String {
    let inside: usize = shards.iter().map(Shard::inside).sum();
    let mut places = Vec::new();
    for shard in shards {
        let stride = shard.fabric.stride.divisor();
        for (port, bytes) in shard.waiting() {
            places.push(if port >= shard.first_interface {
                format!(
                    "the interface of endpoint {}: {bytes} bytes",
                    shard.endpoint_at(port - shard.first_interface)
                )
            } else {
                format!("router {} port {}: {bytes} bytes", shard.router_at(port / stride), port % stride)
            });
        }
    }
    let more = if places.len() > 8 { format!(" and {} more", places.len() - 8) } else { String::new() };
    places.truncate(8);
    format!(
        "the network is deadlocked: {inside} packets and messages are under way and none can move; they wait \
         at {}{more}; use more virtual channels (vcs=) or another routing",
        places.join(", ")
    )
}
