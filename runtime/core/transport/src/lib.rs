//! Messages between native processes: [`Solo`] for one process, [`Native`] over the machine's own MPI.
//!
//! The machine's MPI is not linked: a small library of ours (`libxsim_native_mpich.so`,
//! `libxsim_native_openmpi.so`) is loaded when a launcher started the process, so that libxsim
//! builds and runs where no MPI is installed. Nothing here knows what MPI means.

mod bell;
pub mod growing;
mod launch;
mod native;
pub mod watch;

pub use launch::{Launcher, launcher, on_this_host};
pub use native::Native;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Channel of a message; messages of one channel between two processes arrive in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Lane {
    /// Pieces of the stream of records between two processes.
    Data = native_table::PACED,
    /// Agreement between processes.
    Control = 2,
}

/// A program for one more process.
#[derive(Clone, Debug)]
pub struct Start {
    /// The file.
    pub program: PathBuf,
    /// Arguments behind its name.
    pub arguments: Vec<OsString>,
    /// Working directory, if it differs from this process's.
    pub directory: Option<PathBuf>,
}

/// A way between native processes. Calls are made on the process's own (large) stack only.
pub trait Transport {
    /// Returns this process's number.
    fn rank(&self) -> u32;
    /// Returns how many processes there are, those included that may be started yet.
    fn size(&self) -> u32;
    /// Returns how many of them there are at the start: the first.
    fn at_start(&self) -> u32 {
        self.size()
    }
    /// Starts a process that is not there yet.
    ///
    /// # Errors
    /// A sentence that says why it cannot be.
    fn start(&mut self, process: u32, _: &Start) -> Result<(), String> {
        Err(format!("process {process} cannot be started: all are there"))
    }
    /// Starts sending `data` to process `to`.
    ///
    /// # Errors
    /// A sentence, if the machine's MPI fails.
    fn send(&mut self, to: u32, lane: Lane, data: Vec<u8>) -> Result<(), String>;
    /// Returns the number of messages to `to` that may still be under way.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    fn under_way(&mut self, to: u32) -> Result<usize, String>;
    /// Receives the next message that has arrived: from whom, its lane, its bytes.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    fn receive(&mut self) -> Result<Option<(u32, Lane, Vec<u8>)>, String>;
    /// Returns what others must know to wake this process when they send to it, if they are on its host; 0 if
    /// they cannot.
    fn bell(&self) -> u64 {
        0
    }
    /// Learns what all processes returned from [`bell`](Self::bell), 0 for those on other hosts; all know it.
    fn learn_bells(&mut self, _: &[u64]) {}
    /// Sleeps: as long as `woken` where everybody who sends something wakes this process, else no longer than
    /// `unwoken`.
    fn wait(&mut self, unwoken: Duration, woken: Duration) {
        debug_assert!(unwoken <= woken);
        std::thread::sleep(unwoken);
    }
    /// Returns a buffer for the next message, reused from one that was sent.
    fn buffer(&mut self) -> Vec<u8> {
        Vec::new()
    }
    /// Ends all processes with this exit status.
    fn abort(&mut self, status: i32);
    /// Says goodbye after the last message; nothing may be sent afterwards.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    fn close(&mut self) -> Result<(), String>;
}

/// One process, which has nobody to talk to.
#[derive(Debug, Default)]
pub struct Solo;

impl Transport for Solo {
    fn rank(&self) -> u32 {
        0
    }
    fn size(&self) -> u32 {
        1
    }
    fn send(&mut self, to: u32, _: Lane, _: Vec<u8>) -> Result<(), String> {
        Err(format!("there is no process {to}: this one is alone"))
    }
    fn under_way(&mut self, _: u32) -> Result<usize, String> {
        Ok(0)
    }
    fn receive(&mut self) -> Result<Option<(u32, Lane, Vec<u8>)>, String> {
        Ok(None)
    }
    fn abort(&mut self, _: i32) {}
    fn close(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// Connects the transport of this process: `Solo`, unless a launcher started several.
///
/// # Errors
/// A sentence, if a launcher did and its MPI cannot be reached.
pub fn connect(launcher: Option<Launcher>) -> Result<Box<dyn Transport>, String> {
    match launcher {
        None => Ok(Box::new(Solo)),
        Some(launcher) => Ok(Box::new(Native::open(launcher)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_alone_has_nobody_to_talk_to() {
        let mut solo = connect(None).unwrap();
        assert_eq!((solo.rank(), solo.size()), (0, 1));
        assert!(solo.receive().unwrap().is_none());
        assert!(solo.send(1, Lane::Data, Vec::new()).unwrap_err().contains("no process 1"));
    }
}
