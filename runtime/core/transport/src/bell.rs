//! Bells by which processes of one host wake each other: who waits for a message sleeps until its bell is
//! rung, and not until it looks again.
//!
//! A bell is a word of memory that the processes of a host share: whether its process sleeps. Ringing costs a
//! look at that word as long as nobody sleeps; a call of the system for each message (a datagram, a pipe)
//! costs more than the message itself.
//!
//! A bell carries no news. A message must have been sent before its bell is rung, and a process that goes to
//! sleep looks once more after it has set its word. A process that has no bell, is on another host or is not
//! known yet finds the message when it looks.

use rustix::fs::{MemfdFlags, Mode, OFlags, ftruncate, memfd_create, open, readlink};
use rustix::mm::{MapFlags, ProtFlags, mmap};
use rustix::thread::futex::{self, Flags, Timespec};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

/// Name of a bell's memory, so that no other file is taken for one.
const NAME: &str = "xsim-bell";
/// Bytes of it: the least that can be shared.
const PAGE: usize = 4096;

/// Values of a bell's word.
const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;

/// A bell's word, mapped until the process ends.
// Never unmapped: there is one for each process of the host, and the last message may be sent at any time.
#[derive(Clone, Copy)]
struct Word(&'static AtomicU32);

impl Word {
    fn of(file: &OwnedFd) -> Option<Word> {
        // SAFETY: a new mapping at an address of the system's choice, of a page that the file has.
        let page = unsafe {
            mmap(std::ptr::null_mut(), PAGE, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, file, 0)
        }
        .ok()?;
        // SAFETY: the page is mapped for ever, begins with zeros and is only used as this word, by all
        // processes.
        Some(Word(unsafe { &*page.cast::<AtomicU32>() }))
    }

    // The total order of this and of `wait` decides: either the sleeper's last look finds what was sent
    // before, or this finds it asleep.
    #[inline]
    fn ring(self) {
        fence(Ordering::SeqCst);
        if self.0.load(Ordering::SeqCst) == ASLEEP && self.0.swap(AWAKE, Ordering::SeqCst) == ASLEEP {
            let _ = futex::wake(self.0, Flags::empty(), 1);
        }
    }

    // Whether it was rung.
    fn wait(self, longest: Duration, look: impl FnOnce() -> bool) -> bool {
        self.0.store(ASLEEP, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if !look() {
            let timeout =
                Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: i64::from(longest.subsec_nanos()) };
            // Whatever ends it: the caller looks again.
            let _ = futex::wait(self.0, Flags::empty(), ASLEEP, Some(&timeout));
        }
        self.0.swap(AWAKE, Ordering::SeqCst) == AWAKE
    }
}

/// The bell of this process, and those of others.
pub(crate) struct Bell {
    /// The memory's file, which others open, and the word there.
    mine: Option<(OwnedFd, Word)>,
    /// By process.
    others: Vec<Option<Word>>,
    /// `true` if all others ring it.
    is_known: bool,
}

/// Returns where another process finds this bell.
fn number(pid: u32, file: i32) -> u64 {
    u64::from(pid) << 32 | (file as u64 + 1)
}

/// Opens the word of the bell with this number, if there is such a bell.
fn reach(number: u64) -> Option<Word> {
    let (pid, file) = (number >> 32, (number as u32).checked_sub(1)?);
    let path = format!("/proc/{pid}/fd/{file}");
    // Where the number is another file's, that one is left alone.
    if !readlink(&path, Vec::new()).ok()?.to_bytes().windows(NAME.len()).any(|part| part == NAME.as_bytes()) {
        return None;
    }
    Word::of(&open(&path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).ok()?)
}

impl Bell {
    /// Makes this process's bell, one of so many processes'. It has none if the system gives none.
    pub fn new(processes: u32) -> Bell {
        let make = || {
            let file = memfd_create(NAME, MemfdFlags::CLOEXEC).ok()?;
            ftruncate(&file, PAGE as u64).ok()?;
            let word = Word::of(&file)?;
            Some((file, word))
        };
        Bell { mine: make(), others: vec![None; processes as usize], is_known: false }
    }

    /// Returns what the others must know to ring it; 0 if there is no bell.
    pub fn number(&self) -> u64 {
        self.mine.as_ref().map_or(0, |(file, _)| number(std::process::id(), file.as_raw_fd()))
    }

    /// Learns the numbers of the bells of all processes, as they all know them now; 0 is one that this
    /// process cannot ring, nor that one this one's.
    pub fn learn(&mut self, numbers: &[u64]) {
        self.others = numbers.iter().map(|&number| reach(number)).collect();
        self.is_known = self.mine.is_some() && self.others.iter().all(Option::is_some);
    }

    /// Returns `true` if everybody who sends to this process rings its bell.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// Rings the bell of `process`, if that is known, on this host and asleep.
    #[inline]
    pub fn ring(&self, process: u32) {
        if let Some(word) = self.others[process as usize] {
            word.ring();
        }
    }

    /// Sleeps until the bell is rung, but no longer than this, unless `look` finds something; whether the
    /// bell was rung.
    pub fn wait(&self, longest: Duration, look: impl FnOnce() -> bool) -> bool {
        if let Some((_, word)) = &self.mine {
            return word.wait(longest, look);
        }
        if !look() {
            std::thread::sleep(longest);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(1);

    fn known() -> Bell {
        let mut bell = Bell::new(2);
        bell.learn(&[bell.number(), bell.number()]);
        assert!(bell.is_known());
        bell
    }

    #[test]
    fn a_bell_that_nobody_rings_sleeps_to_the_end() {
        let mut bell = Bell::new(2);
        bell.learn(&[bell.number(), 0]);
        assert!(!bell.is_known(), "the other cannot ring it");
        let begun = Instant::now();
        assert!(!bell.wait(SHORT, || false));
        assert!(begun.elapsed() >= SHORT);
        // Who is awake forgets what was rung: it looks anyway.
        bell.ring(0);
        assert!(!bell.wait(SHORT, || false));
    }

    #[test]
    fn what_the_last_look_finds_ends_a_wait() {
        assert!(!known().wait(LONG, || true));
    }

    #[test]
    fn what_is_sent_after_the_last_look_ends_a_wait() {
        let bell = known();
        let rung = bell.wait(LONG, || {
            bell.ring(1);
            false
        });
        assert!(rung);
    }

    #[test]
    fn a_sleeper_is_woken() {
        let bell = Bell::new(1);
        let (mine, others) = (bell.mine.as_ref().unwrap().1, reach(bell.number()).unwrap());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while others.0.load(Ordering::SeqCst) == AWAKE {
                    std::thread::yield_now();
                }
                // It sleeps by now, or is about to: both must end.
                std::thread::sleep(SHORT);
                others.ring();
            });
            assert!(mine.wait(LONG, || false));
        });
    }

    #[test]
    fn another_file_is_no_bell() {
        assert!(reach(number(std::process::id(), 0)).is_none());
        assert!(reach(0).is_none());
        assert!(reach(number(u32::MAX, 0)).is_none());
    }
}
