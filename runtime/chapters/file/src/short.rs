//! Short writes at the shared pointer once their place is known: what many ranks write side by side goes to
//! the host's file as one.

use crate::state::OpenFiles;
use crate::transfer;
use engine::Time;
use objects::Objects;
use objects::error::Result;
use p2p::Messages;
use p2p::request::Status;

impl OpenFiles {
    /// Gives a short write its offset, so many etypes from the view's beginning; its rank goes on then.
    pub(crate) fn placed(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        index: u32,
        place: u64,
        at: Time,
    ) {
        let Some(write) = self.writes.get_mut(index) else { return };
        write.done = at;
        let (file, rank) = (write.file, write.rank);
        let first = write.disp.saturating_add(place.saturating_mul(u64::from(write.unit)));
        if !self.batch.is_before(file, first) {
            self.write_batch(objects);
            (self.batch.file, self.batch.at) = (file, first);
        }
        let write = &self.writes[index];
        self.batch.bytes.extend_from_slice(&write.data);
        self.batch.parts.push((index, write.data.len() as u32));
        if let Some(strand) = messages.ranks_mut().unblock(rank) {
            messages.ready_mut().wake(strand);
        }
    }

    /// Writes the batch, whose offsets are known, to the host's file and empties it.
    // Where the host does not take all of it, each write by itself: what it says of one is no other's
    // failure.
    fn write_batch(&mut self, objects: &Objects) {
        if self.batch.is_empty() {
            return;
        }
        let host = self.host(objects, self.batch.file);
        let batch = &mut self.batch;
        let written = host.as_ref().is_ok_and(|host| host.write(batch.at, &batch.bytes).is_ok());
        let (mut at, mut rest) = (batch.at, &batch.bytes[..]);
        for &(index, bytes) in batch.parts.iter().filter(|_| !written) {
            let (head, tail) = rest.split_at(bytes as usize);
            if let Err(failure) =
                host.clone().and_then(|host| transfer::write(&host, &[(at, u64::from(bytes))], head))
            {
                batch.failed.insert(index, failure);
            }
            (at, rest) = (at.saturating_add(u64::from(bytes)), tail);
        }
        batch.bytes.clear();
        batch.parts.clear();
    }

    /// Completes a short write of the mounted rank. Returns its status.
    ///
    /// # Errors
    /// What the host says.
    pub fn end_short(&mut self, messages: &mut Messages, objects: &Objects, index: u32) -> Result<Status> {
        self.write_batch(objects);
        let write = self.writes.remove(index).expect("its rank has waited for it");
        let me = messages.me();
        messages.ranks_mut().advance(me, write.done);
        let failed = if self.batch.failed.is_empty() { None } else { self.batch.failed.remove(&index) };
        failed.map_or_else(|| Ok(crate::asked::status(write.data.len() as u64)), Err)
    }
}
