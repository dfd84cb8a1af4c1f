//! An abort of the run, told to and by other processes.

use crate::remote::record::{Put, Take};
use crate::remote::stream::Kind;
use crate::world::{Abort, World};
use engine::Time;

impl World {
    /// A rank of this process aborted the run: tells the others.
    pub(crate) fn tell_abort(&mut self) {
        let (Some(abort), Some(remote)) = (&self.run.abort, &mut self.messages.remote) else { return };
        let mut body = Vec::new();
        body.u64(abort.at.as_ps());
        body.u32(abort.rank);
        body.i32(abort.status);
        for process in (0..remote.streams.processes()).filter(|&process| process != remote.me) {
            remote.streams.put(process, Kind::Abort, &body);
        }
    }

    // At a tie of times the least rank has aborted, on every process.
    pub(crate) fn abort_arrived(&mut self, mut record: Take) {
        let abort = Abort { at: Time::from_ps(record.u64()), rank: record.u32(), status: record.i32() };
        if self.run.abort.as_ref().is_none_or(|known| (abort.at, abort.rank) < (known.at, known.rank)) {
            self.run.abort = Some(abort);
        }
    }
}
