//! Host time that the simulator takes within an interval of a rank: memory that ranks share is made present.
//!
//! A page of 2 MiB holds memory of many ranks. The rank that touches it first would be charged for clearing
//! all of it, several milliseconds where a hypervisor has to find the page. So the simulator touches it, and
//! the stretch is taken off the interval.

use std::cell::Cell;

/// Stretches that are kept. An interval with more of them is charged for its oldest.
const MAX_STRETCHES: usize = 64;

/// Host time that no rank is charged for.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// The counter at its beginning and at its end.
    begun: u64,
    ended: u64,
    /// CPU time of the thread in between.
    cpu_ns: u64,
}

struct Ring {
    stretches: [Cell<Stretch>; MAX_STRETCHES],
    next: Cell<usize>,
}

thread_local! {
    // Constant and without a destructor: it is reached from within `malloc`.
    static RING: Ring = const {
        Ring {
            stretches: [const { Cell::new(Stretch { begun: 0, ended: 0, cpu_ns: 0 }) }; MAX_STRETCHES],
            next: Cell::new(0)
        }
    };
}

/// Does the simulator's work within an interval of the calling thread, which is not charged for it.
///
/// Costs two readings of the CPU clock. Work of less than the interval that is checked against CPU time stays
/// charged.
pub fn exclude<R>(work: impl FnOnce() -> R) -> R {
    let (begun, before) = (super::ticks(), super::kernel_ns(libc::CLOCK_THREAD_CPUTIME_ID));
    let result = work();
    let cpu_ns = super::kernel_ns(libc::CLOCK_THREAD_CPUTIME_ID).saturating_sub(before);
    let stretch = Stretch { begun, ended: super::ticks(), cpu_ns };
    RING.with(|ring| {
        let at = ring.next.get();
        ring.stretches[at].set(stretch);
        ring.next.set((at + 1) % MAX_STRETCHES);
    });
    result
}

/// Returns the ticks and the CPU nanoseconds that were excluded on this thread from one reading of the
/// counter to another.
pub(super) fn between(started: u64, stopped: u64) -> (u64, u64) {
    RING.with(|ring| {
        let within = ring
            .stretches
            .iter()
            .map(Cell::get)
            .filter(|stretch| stretch.ended > started && stretch.begun < stopped);
        within.fold((0, 0), |(ticks, cpu_ns), stretch| {
            let overlap = stretch.ended.min(stopped) - stretch.begun.max(started);
            (ticks + overlap, cpu_ns + stretch.cpu_ns)
        })
    })
}
