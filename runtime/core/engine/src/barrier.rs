//! A barrier for threads that meet every few microseconds.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

/// Turns of the wait before a thread sleeps: some 50 microseconds, a few times what waking one takes.
const SPINS: u32 = 1000;

/// Lets a fixed number of threads wait for each other, by spinning; a thread that waits for long sleeps, so
/// that the processor's time is others' and not counted as work.
///
/// What a thread wrote before `wait` is visible to all after it.
pub struct SpinBarrier {
    arrived: AtomicUsize,
    generation: AtomicUsize,
    threads: usize,
    sleeping: AtomicUsize,
    sleep: Mutex<()>,
    awake: Condvar,
}

impl SpinBarrier {
    /// Makes a barrier for this many threads.
    pub fn new(threads: usize) -> SpinBarrier {
        SpinBarrier {
            arrived: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
            threads,
            sleeping: AtomicUsize::new(0),
            sleep: Mutex::new(()),
            awake: Condvar::new(),
        }
    }

    /// Returns once all threads have called it.
    pub fn wait(&self) {
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            // Either a thread that goes to sleep sees the new generation, or its number is seen here.
            self.generation.store(generation.wrapping_add(1), Ordering::SeqCst);
            if self.sleeping.load(Ordering::SeqCst) > 0 {
                let _guard = self.sleep.lock().unwrap_or_else(|e| e.into_inner());
                self.awake.notify_all();
            }
            return;
        }
        for _ in 0..SPINS {
            if self.generation.load(Ordering::Acquire) != generation {
                return;
            }
            std::hint::spin_loop();
        }
        let mut guard = self.sleep.lock().unwrap_or_else(|e| e.into_inner());
        self.sleeping.fetch_add(1, Ordering::SeqCst);
        while self.generation.load(Ordering::SeqCst) == generation {
            guard = self.awake.wait(guard).unwrap_or_else(|e| e.into_inner());
        }
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
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
            for thread in 0..THREADS {
                let (barrier, counter) = (&barrier, &counter);
                scope.spawn(move || {
                    for round in 1..=1000 {
                        counter.fetch_add(1, Ordering::Relaxed);
                        barrier.wait();
                        // Long enough now and then for the others to fall asleep.
                        if round % 100 == thread {
                            std::thread::sleep(std::time::Duration::from_millis(2));
                        }
                        assert_eq!(counter.load(Ordering::Relaxed), round * THREADS);
                        barrier.wait();
                    }
                });
            }
        });
    }
}
