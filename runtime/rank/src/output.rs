//! What ranks print: whole lines of one rank, in the order in which ranks ran.
//!
//! A line that a rank has begun waits until it is complete (or the rank ends). Complete lines are
//! gathered and written in large pieces; to a terminal, at once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::single::Single;

/// A standard stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stream {
    /// File descriptor 1.
    Out = 1,
    /// File descriptor 2.
    Error = 2,
}

/// Gathered output is written when it reaches this many bytes.
const ENOUGH: usize = 64 << 10;
/// ... or when it is this old, in ticks of the time stamp counter (about 50 ms).
const OLD: u64 = 100_000_000;

#[derive(Default)]
struct Sink {
    gathered: Vec<u8>,
    terminal: bool,
    since: u64,
    failed: bool,
}

struct Lines {
    sinks: [Sink; 2],
    begun: BTreeMap<(u32, Stream), Vec<u8>>,
    /// Ranks that reopened a stream on a file of their own.
    redirected: BTreeMap<(u32, Stream), i32>,
    /// Several ranks print: an unfinished last line gets its end.
    many: bool,
}

/// Whether a progress line stands on the terminal.
static LINE_DRAWN: AtomicBool = AtomicBool::new(false);

/// Says whether a progress line stands on the terminal: output of ranks takes it away first.
pub fn set_line_drawn(drawn: bool) {
    LINE_DRAWN.store(drawn, Relaxed);
}

/// Takes the progress line away: back to its first column, and the line erased.
fn take_line_away() {
    if LINE_DRAWN.swap(false, Relaxed) {
        write_fully(Stream::Error as i32, b"\r\x1b[2K");
    }
}

static LINES: Single<Option<Lines>> = Single::new(None);

fn now() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the time stamp counter, which every x86-64 has.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    crate::host::kernel_ns(libc::CLOCK_MONOTONIC)
}

/// Writes everything, past any interposed `write`. False if the descriptor takes no more.
pub(crate) fn write_fully(descriptor: i32, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        // SAFETY: the bytes are readable; the call writes no memory.
        let wrote = unsafe { libc::syscall(libc::SYS_write, descriptor, bytes.as_ptr(), bytes.len()) };
        if wrote >= 0 {
            bytes = &bytes[wrote as usize..];
            continue;
        }
        match std::io::Error::last_os_error().raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::EAGAIN) => {
                let mut ready = libc::pollfd { fd: descriptor, events: libc::POLLOUT, revents: 0 };
                // SAFETY: one live pollfd. By number, since `poll` may be interposed.
                unsafe { libc::syscall(libc::SYS_poll, &raw mut ready, 1, -1) };
            }
            _ => return false,
        }
    }
    true
}

impl Lines {
    fn add(&mut self, rank: u32, stream: Stream, bytes: &[u8]) {
        if let Some(&descriptor) = self.redirected.get(&(rank, stream)) {
            write_fully(descriptor, bytes);
            return;
        }
        let end = if self.many { bytes.iter().rposition(|&b| b == b'\n').map_or(0, |k| k + 1) } else { bytes.len() };
        let (whole, begun) = bytes.split_at(end);
        let sink = &mut self.sinks[stream as usize - 1];
        if !whole.is_empty() {
            if sink.gathered.is_empty() {
                sink.since = now();
            }
            if let Some(earlier) = self.begun.remove(&(rank, stream)) {
                sink.gathered.extend_from_slice(&earlier);
            }
            sink.gathered.extend_from_slice(whole);
            if sink.terminal || sink.gathered.len() >= ENOUGH || now().wrapping_sub(sink.since) > OLD {
                sink.write(stream);
            }
        }
        if !begun.is_empty() {
            self.begun.entry((rank, stream)).or_default().extend_from_slice(begun);
        }
    }

    fn end(&mut self, rank: u32) {
        // Most ranks have ended their lines, or never begun one.
        if self.begun.is_empty() && self.redirected.is_empty() {
            return;
        }
        for stream in [Stream::Out, Stream::Error] {
            if let Some(mut last) = self.begun.remove(&(rank, stream)) {
                last.push(b'\n');
                self.add(rank, stream, &last);
            }
            if let Some(descriptor) = self.redirected.remove(&(rank, stream)) {
                // SAFETY: opened for this rank, and nobody else knows it.
                unsafe { libc::close(descriptor) };
            }
        }
    }
}

impl Sink {
    fn write(&mut self, stream: Stream) {
        if self.terminal {
            take_line_away();
        }
        if !self.failed && !write_fully(stream as i32, &self.gathered) {
            self.failed = true;
            if stream == Stream::Out {
                write_fully(2, b"xsim: standard output takes no more data; what ranks print from here on is lost\n");
            }
        }
        self.gathered.clear();
    }
}

/// Runs `f` if ranks' output is gathered at all.
fn with(f: impl FnOnce(&mut Lines)) {
    // SAFETY: the simulating thread (or its signal handler, when nothing follows but the process's
    // end); the closures here only move bytes.
    unsafe { LINES.with(|lines| lines.as_mut().map(f)) };
}

/// Starts gathering. With a single rank, unfinished lines are passed on as they are.
pub(crate) fn begin(ranks: u32) {
    // SAFETY: asks about a descriptor.
    let terminal = |descriptor| unsafe { libc::isatty(descriptor) == 1 };
    let sinks = [1, 2].map(|d| Sink { terminal: terminal(d), ..Sink::default() });
    let lines = Lines { sinks, begun: BTreeMap::new(), redirected: BTreeMap::new(), many: ranks > 1 };
    // SAFETY: as in `with`.
    unsafe { LINES.with(|slot| *slot = Some(lines)) };
}

/// Adds what a rank printed.
pub(crate) fn add(rank: u32, stream: Stream, bytes: &[u8]) {
    with(|lines| lines.add(rank, stream, bytes));
}

/// The rank prints nothing more.
pub(crate) fn end(rank: u32) {
    with(|lines| lines.end(rank));
}

/// From here on the rank's stream goes to a descriptor of its own.
pub(crate) fn redirect(rank: u32, stream: Stream, descriptor: i32) {
    with(|lines| {
        if let Some(old) = lines.redirected.insert((rank, stream), descriptor) {
            // SAFETY: opened for this rank, and nobody else knows it.
            unsafe { libc::close(old) };
        }
    });
}

/// Writes out complete lines, so that what the simulator prints itself comes after them.
pub fn flush() {
    with(|lines| {
        for (sink, stream) in lines.sinks.iter_mut().zip([Stream::Out, Stream::Error]) {
            if !sink.gathered.is_empty() {
                sink.write(stream);
            }
        }
    });
}

/// Writes out everything, also lines that ranks have begun (in rank order), because nothing follows.
pub(crate) fn flush_all() {
    with(|lines| {
        let mut ranks: Vec<u32> = lines.begun.keys().map(|&(rank, _)| rank).collect();
        ranks.dedup();
        for rank in ranks {
            lines.end(rank);
        }
    });
    flush();
}

/// In a crash: writes what is gathered and then `bytes` of the rank that crashed, allocating nothing.
pub(crate) fn pour(rank: u32, stream: Stream, bytes: &[u8]) {
    flush();
    let mut open = false;
    with(|lines| {
        if let Some(begun) = lines.begun.get_mut(&(rank, stream)) {
            write_fully(stream as i32, begun);
            open = !begun.is_empty();
            begun.clear();
        }
    });
    write_fully(stream as i32, bytes);
    if bytes.last().map_or(open, |&last| last != b'\n') {
        write_fully(stream as i32, b"\n");
    }
}

/// In a crash: writes what is gathered and what ranks have begun, allocating nothing.
pub(crate) fn pour_all() {
    flush();
    with(|lines| {
        for (&(_, stream), begun) in lines.begun.iter().filter(|(_, begun)| !begun.is_empty()) {
            write_fully(stream as i32, begun);
            write_fully(stream as i32, b"\n");
        }
    });
}
