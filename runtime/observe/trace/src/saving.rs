//! Saving, for a run that does not come to its end. From time to time each process puts a trace of its ranks'
//! calls up to then beside the file, in `FILE.part0` and so on.
//!
//! Such a part is a trace like others, in which the ranks of other processes do nothing. It takes the place
//! of the one before only when it is whole, so that whenever the program stops there is one that can be read.
//! The host's clock decides when, and only parts depend on it.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Calls between looks at the clock.
const CALLS: u32 = 1024;
/// A part takes at most so little of the time: the next one comes so many times as late as this one took.
const SHARE: u64 = 50;

/// Says when a process saves what it has recorded, and does it.
pub struct Saving {
    part: PathBuf,
    /// In nanoseconds, as all times here.
    every: u64,
    clock: Clock,
    due: u64,
    /// Calls until the clock is looked at.
    calls: u32,
}

/// The host's clock, in nanoseconds. The standard library's is that of the rank that runs.
pub type Clock = fn() -> u64;

/// Returns where a process saves what it has recorded.
pub fn part(path: &Path, process: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".part{process}"));
    name.into()
}

impl Saving {
    /// Makes the saving beside the trace `path`, by process number `process`, every so many nanoseconds or,
    /// if they are zero, after each call.
    pub fn new(path: &Path, process: u32, every: u64, clock: Clock) -> Saving {
        let due = clock().saturating_add(every);
        Saving { part: part(path, process), every, clock, due, calls: 1 }
    }

    /// Notes that another call was recorded. Returns `true` if it is time to save; O(1).
    #[inline]
    pub fn is_due(&mut self) -> bool {
        self.calls -= 1;
        self.calls == 0 && self.has_come()
    }

    #[cold]
    fn has_come(&mut self) -> bool {
        self.calls = if self.every == 0 { 1 } else { CALLS };
        (self.clock)() >= self.due
    }

    /// Saves what `file` makes. What cannot be written is no loss yet: the end of the run will tell.
    pub fn save(&mut self, file: impl FnOnce() -> Vec<u8>) {
        let begin = (self.clock)();
        let mut new = self.part.as_os_str().to_owned();
        new.push(".new");
        if fs::write(&new, file()).and_then(|()| fs::rename(&new, &self.part)).is_err() {
            // There may be no room for what is left of it either.
            let _ = fs::remove_file(&new);
        }
        let end = (self.clock)();
        self.due = if self.every == 0 {
            begin
        } else {
            end.saturating_add(self.every.max((end - begin).saturating_mul(SHARE)))
        };
    }
}

/// Removes what so many processes have saved, since the trace is whole.
///
/// # Errors
/// If a part that is there cannot be removed.
pub fn remove(path: &Path, processes: u32) -> io::Result<()> {
    for process in 0..processes {
        match fs::remove_file(part(path, process)) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
            _ => {}
        }
    }
    Ok(())
}
