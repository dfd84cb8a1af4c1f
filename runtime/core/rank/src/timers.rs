//! Timers of ranks, which send their rank a signal at a virtual time.
//!
//! A rank takes the signal where it meets its clock: when it reads it, sleeps, or returns from an MPI call.
//! A timer that expires several times by then sends one signal, as POSIX has it for a signal that is pending
//! already.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::caller::caller;
use crate::per_rank::PerRank;
use crate::signals::Effect;
use crate::{clock, hooks, signals};

/// The timers that every rank has: those of `setitimer`, with their signals. `alarm` is the first.
pub const INTERVAL_TIMERS: [i32; 3] = [libc::SIGALRM, libc::SIGVTALRM, libc::SIGPROF];

/// The setting of a timer, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TimerSetting {
    /// Up to its next signal; `None` while it is not set.
    pub left: Option<u64>,
    /// From one signal to the next; 0 for one that sends one signal.
    pub interval: u64,
}

struct RankTimer {
    signal: i32,
    /// The virtual time of its next signal.
    at: Option<u64>,
    interval: u64,
}

impl RankTimer {
    /// Returns `true` if the timer sends its signal by `now`. Then it is set to the next after that.
    fn expires(&mut self, now: u64) -> bool {
        let Some(at) = self.at.filter(|&at| at <= now) else { return false };
        self.at = match self.interval {
            0 => None,
            interval => at.checked_add(((now - at) / interval + 1).saturating_mul(interval)),
        };
        true
    }

    fn setting(&self, now: u64) -> TimerSetting {
        TimerSetting { left: self.at.map(|at| at.saturating_sub(now).max(1)), interval: self.interval }
    }
}

/// A rank's timers by number; a deleted one leaves its place empty.
struct RankTimers(Vec<Option<RankTimer>>);

impl RankTimers {
    fn new() -> RankTimers {
        let unset = |signal| Some(RankTimer { signal, at: None, interval: 0 });
        RankTimers(INTERVAL_TIMERS.map(unset).into())
    }

    fn get(&mut self, number: usize) -> Option<&mut RankTimer> {
        self.0.get_mut(number)?.as_mut()
    }

    /// Returns the time of the next signal.
    fn next(&self) -> Option<u64> {
        self.0.iter().flatten().filter_map(|timer| timer.at).min()
    }

    /// Takes the signal of a timer that has expired by `now`.
    fn take_expired(&mut self, now: u64) -> Option<i32> {
        self.0.iter_mut().flatten().find_map(|timer| timer.expires(now).then_some(timer.signal))
    }
}

static TIMERS: PerRank<RankTimers> = PerRank::new();
/// `true` once a rank has used a timer: until then nobody asks the system who calls.
static ARE_USED: AtomicBool = AtomicBool::new(false);

/// Runs `f` on the timers of a rank, which has some from now on.
fn with<R>(rank: u32, f: impl FnOnce(&mut RankTimers) -> R) -> Option<R> {
    if TIMERS.with(rank, |_| ()).is_none() {
        TIMERS.put(rank, RankTimers::new());
        ARE_USED.store(true, Relaxed);
        if let Some(hooks) = hooks::get() {
            (hooks.timed)();
        }
    }
    TIMERS.with(rank, f)
}

/// Sets a timer of the calling rank. Returns what it was set to; `None` if no rank calls, or it has no timer
/// of this number.
pub fn set(number: usize, setting: TimerSetting) -> Option<TimerSetting> {
    let (rank, now) = (caller()?, clock::now_ns()?);
    with(rank, |timers| {
        let timer = timers.get(number)?;
        let last = timer.setting(now);
        timer.at = setting.left.map(|left| now.saturating_add(left));
        timer.interval = setting.interval;
        Some(last)
    })?
}

/// Returns what a timer of the calling rank is set to; `None` as [`set`].
pub fn get(number: usize) -> Option<TimerSetting> {
    let (rank, now) = (caller()?, clock::now_ns()?);
    with(rank, |timers| timers.get(number).map(|timer| timer.setting(now)))?
}

/// Makes a timer of the calling rank. Returns its number; `None` if no rank calls.
pub fn create(signal: i32) -> Option<usize> {
    with(caller()?, |RankTimers(all)| {
        all.push(Some(RankTimer { signal, at: None, interval: 0 }));
        all.len() - 1
    })
}

/// Deletes a timer that [`create`] has made. Returns `None` as [`set`].
pub fn delete(number: usize) -> Option<()> {
    with(caller()?, |RankTimers(all)| {
        all.get_mut(number).filter(|_| number >= INTERVAL_TIMERS.len())?.take().map(|_| ())
    })?
}

/// Returns the nanoseconds up to the calling rank's next signal of a timer.
pub(crate) fn next() -> Option<u64> {
    if !ARE_USED.load(Relaxed) {
        return None;
    }
    let at = TIMERS.with(caller()?, |timers| timers.next())??;
    Some(at.saturating_sub(clock::now_ns()?))
}

/// Sends the calling rank the signals of the timers that have expired at its clock. Returns `true` if it has
/// handled any.
#[inline]
pub fn ring() -> bool {
    ARE_USED.load(Relaxed) && ring_used()
}

fn ring_used() -> bool {
    let Some(rank) = caller() else { return false };
    // Asked again after each: a handler may set timers, and takes time.
    let mut handled = false;
    while TIMERS.with(rank, |timers| timers.next()).flatten().is_some()
        && let Some(now) = clock::now_ns()
        && let Some(signal) = TIMERS.with(rank, |timers| timers.take_expired(now)).flatten()
    {
        let effect = signals::effect(rank, signal);
        if effect == Effect::Kills
            && let Some(hooks) = hooks::get()
        {
            (hooks.killed)(signal);
        }
        signals::raise(signal);
        handled |= effect == Effect::Handled;
    }
    handled
}

/// Waits in virtual time for the calling rank's next signal of a timer. Returns `false` if there will be
/// none.
pub fn pause() -> bool {
    let Some(ns) = next() else { return false };
    clock::nap(ns);
    true
}

/// Drops what is kept for a rank that has ended.
pub(crate) fn end(rank: u32) {
    TIMERS.remove(rank);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timer(at: u64, interval: u64) -> RankTimer {
        RankTimer { signal: libc::SIGALRM, at: Some(at), interval }
    }

    #[test]
    fn a_timer_without_interval_expires_once() {
        let mut once = timer(10, 0);
        assert!(!once.expires(9) && once.expires(10) && !once.expires(100));
        assert_eq!(once.setting(100), TimerSetting::default());
    }

    #[test]
    fn a_timer_that_expired_several_times_sends_one_signal_and_keeps_its_phase() {
        let mut repeated = timer(10, 4);
        assert!(repeated.expires(23));
        assert_eq!(repeated.at, Some(26));
        assert!(!repeated.expires(25) && repeated.expires(26));
    }

    #[test]
    fn expired_timers_are_taken_one_by_one() {
        let mut timers = RankTimers::new();
        timers.0.push(Some(timer(5, 0)));
        timers.0.push(Some(timer(3, 0)));
        assert_eq!(timers.next(), Some(3));
        assert!(timers.take_expired(2).is_none());
        assert!(timers.take_expired(5).is_some() && timers.take_expired(5).is_some());
        assert!(timers.take_expired(5).is_none() && timers.next().is_none());
    }
}
