//! A barrier for threads that meet every few microseconds.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Lets a fixed number of threads wait for each other, by spinning; after a while a waiting thread gives its processor to others.
///
/// What a thread wrote before `wait` is visible to all after it.
pub struct SpinBarrier {
    arrived: AtomicUsize,
    generation: AtomicUsize,
    threads: usize,
}

impl SpinBarrier {
    /// A barrier for this many threads.
    pub fn new(threads: usize) -> SpinBarrier {
        SpinBarrier { arrived: AtomicUsize::new(0), generation: AtomicUsize::new(0), threads }
    }

    /// Returns once all threads have called it.
    pub fn wait(&self) {
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.generation.store(generation.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut spins = 0u32;
        while self.generation.load(Ordering::Acquire) == generation {
            spins += 1;
            if spins < 4000 { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_passes_before_all_have_come() {
        const THREADS: usize = 3;
        let (barrier, counter) = (SpinBarrier::new(THREADS), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for round in 1..=1000 {
                        counter.fetch_add(1, Ordering::Relaxed);
                        barrier.wait();
                        assert_eq!(counter.load(Ordering::Relaxed), round * THREADS);
                        barrier.wait();
                    }
                });
            }
        });
    }
}
