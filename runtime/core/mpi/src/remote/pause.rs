//! Waiting of a process between two looks at what has arrived.

use crate::remote::stream::Streams;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Time for which a process looks without sleeping; afterwards it sleeps between looks.
// Most waits between processes of one host are shorter, and a sleep would double them.
const AWAKE: Duration = Duration::from_micros(50);
/// The shortest and the longest sleep. Looking costs ten microseconds where the machine's MPI asks the system
/// for news: who has fewer processors than processes wants few looks.
const SLEEP: (Duration, Duration) = (Duration::from_micros(30), Duration::from_millis(1));
/// A longer sleep than the shortest is this part of the time waited so far, so that it makes no wait longer
/// by more than that part.
const PART: u32 = 64;
/// Yielding that takes longer gave the processor to a program that computes.
const SLICE: Duration = Duration::from_micros(50);
/// Looks that sleep after that.
const CROWDED_LOOKS: u32 = 2_000;

thread_local! {
    /// Looks during which the processor is taken to be wanted by others.
    // Remembered between waits: the processor is as crowded in the next one.
    static CROWDED: Cell<u32> = const { Cell::new(0) };
    /// `true` if the system was asked for short sleeps.
    static PUNCTUAL: Cell<bool> = const { Cell::new(false) };
}

/// A wait for something from another process.
pub(crate) struct Waiting {
    since: Option<Instant>,
    /// Failed looks.
    pub(crate) looks: u32,
}

impl Waiting {
    /// Makes a wait that begins with the first failed look.
    pub(crate) fn new() -> Waiting {
        Waiting { since: None, looks: 0 }
    }

    /// Lets the next look be soon: something has changed in this process, and what it waits for may come.
    pub(crate) fn look_again(&mut self) {
        self.since = None;
    }

    /// Waits a little between two looks, longer the longer it has lasted, or until what is sent wakes this
    /// process; for long at once if this process is `through` with what it does unasked.
    ///
    /// Who yields to a program that computes waits for all of that one's slice, milliseconds; who sleeps has
    /// the processor back when it wakes. So where yielding took that long, the next looks sleep.
    pub(crate) fn pause(&mut self, streams: &mut Streams, through: bool) {
        if let Some(shortest) = self.yield_or_sleep() {
            streams.wait(shortest, if through { SLEEP.1 } else { shortest });
        }
    }

    /// Waits as [`Waiting::pause`] does, up to its sleep. Returns how long that is at least, if it is time to
    /// sleep.
    pub(crate) fn yield_or_sleep(&mut self) -> Option<Duration> {
        self.looks += 1;
        let now = Instant::now();
        let waited = now - *self.since.get_or_insert(now);
        let crowded = CROWDED.get();
        if crowded != 0 {
            CROWDED.set(crowded - 1);
        } else if waited < AWAKE {
            std::thread::yield_now();
            if now.elapsed() > SLICE {
                CROWDED.set(CROWDED_LOOKS);
            }
            return None;
        }
        if !PUNCTUAL.replace(true) {
            // The least that the system knows: else it adds 50 us to each sleep. Without it, sleeps are
            // longer, no more.
            let _ = std::fs::write("/proc/self/timerslack_ns", "1");
        }
        Some((waited / PART).clamp(SLEEP.0, SLEEP.1))
    }
}
