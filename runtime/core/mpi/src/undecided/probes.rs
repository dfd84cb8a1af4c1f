//! The calls that look for messages and receive none.

use crate::envelope::Pattern;
use crate::error::Result;
use crate::handle;
use crate::node::State;
use crate::order::question::Question;
use crate::point_to_point::{Peer, pattern};
use crate::request::Status;
use crate::world::{Mpi, World};

impl Mpi {
    /// Returns what a probe looks for; `None` from `MPI_PROC_NULL`.
    fn sought(&self, from: Peer) -> Result<Option<Pattern>> {
        pattern(&self.world().objects, from)
    }

    /// Begins `MPI_Probe` and `MPI_Mprobe`; returns `true` if the mounted rank has to wait.
    pub fn begin_probe(&self, from: Peer) -> Result<bool> {
        Ok(self.sought(from)?.is_some_and(|pattern| self.begin_ask(Question::Probe(pattern))))
    }

    /// Ends `MPI_Probe`.
    pub fn end_probe(&self, from: Peer) -> Result<Status> {
        let Some(pattern) = self.sought(from)? else { return Ok(Status::PROC_NULL) };
        Ok(self.look_or_fail(&pattern, true)?.map_or(Status::PROC_NULL, |(_, status)| status))
    }

    /// Implements `MPI_Iprobe`. Returns the status of a message, or `None` if no message is there.
    pub fn iprobe(&self, from: Peer) -> Result<Option<Status>> {
        let Some(pattern) = self.sought(from)? else { return Ok(Some(Status::PROC_NULL)) };
        self.ask(Question::Iprobe(pattern));
        Ok(self.look_or_fail(&pattern, false)?.map(|(_, status)| status))
    }

    /// Begins `MPI_Iprobe` and `MPI_Improbe`; returns `true` if the mounted rank has to wait until it may be
    /// answered.
    pub fn begin_iprobe(&self, from: Peer) -> Result<bool> {
        Ok(self.sought(from)?.is_some_and(|pattern| self.begin_ask(Question::Iprobe(pattern))))
    }

    /// Ends `MPI_Iprobe`.
    pub fn end_iprobe(&self, from: Peer) -> Result<Option<Status>> {
        let Some(pattern) = self.sought(from)? else { return Ok(Some(Status::PROC_NULL)) };
        Ok(self.look_or_fail(&pattern, false)?.map(|(_, status)| status))
    }

    /// Ends `MPI_Mprobe`; returns message handle and status.
    pub fn end_matched_probe(&self, from: Peer) -> Result<(usize, Status)> {
        let found = match self.sought(from)? {
            Some(pattern) => self.look_or_fail(&pattern, true)?,
            None => None,
        };
        Ok(found.map_or((handle::MESSAGE_NO_PROC, Status::PROC_NULL), |(index, status)| {
            (self.extract(index), status)
        }))
    }

    /// Implements `MPI_Improbe`. Returns message handle and status, or `None` if no message is there.
    pub fn matched_iprobe(&self, from: Peer) -> Result<Option<(usize, Status)>> {
        let Some(pattern) = self.sought(from)? else {
            return Ok(Some((handle::MESSAGE_NO_PROC, Status::PROC_NULL)));
        };
        self.ask(Question::Iprobe(pattern));
        Ok(self.look_or_fail(&pattern, false)?.map(|(index, status)| (self.extract(index), status)))
    }

    /// Returns how many messages of a communicator have arrived by the mounted rank's clock without a receive
    /// of it: asked in virtual order, as a probe is.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`.
    pub fn unexpected(&self, comm: usize) -> Result<u32> {
        let pattern =
            Pattern { context: self.world().objects.comms.get(comm)?.context, source: None, tag: None };
        let context = pattern.context;
        self.ask(Question::Iprobe(pattern));
        let world = self.world();
        let (me, messages) = (world.messages.me(), &world.messages);
        let clock = messages.clock(me);
        let arrived = |&index: &u32| {
            messages.matcher()[index].context == context && messages.matcher()[index].arrival <= clock
        };
        Ok(messages.matcher().messages(&messages.ranks()[me].pending).filter(arrived).count() as u32)
    }

    /// The handle of a message that was found, for `MPI_Mrecv`.
    // Out of the queue, so that nobody else can receive it: that is what a matched probe is for (MPI 5.0
    // section 3.8.2).
    fn extract(&self, index: u32) -> usize {
        let mut world = self.world();
        let me = world.messages.me();
        let (matcher, pending) = world.messages.matching(me);
        matcher.remove_message(pending, index);
        matcher.mark_dirty(me, pending);
        matcher[index].state = State::Extracted;
        if world.messages.faults().is_some() {
            world.messages.failures().list_extracted(index);
        }
        handle::encode(index)
    }

    /// Looks as [`Mpi::look`] does, or fails with the reason why no such message will come, if that is known
    /// by now or the rank has waited for it.
    fn look_or_fail(&self, pattern: &Pattern, wait: bool) -> Result<Option<(u32, Status)>> {
        if self.world().messages.faults().is_some() {
            let world = &mut *self.world();
            let me = world.messages.me();
            let head = world.head(me, pattern).map(|(_, time)| time);
            let World { messages, objects, .. } = world;
            if let Some(fault) = messages
                .faults()
                .and_then(|faults| faults.fault_of_probe(objects, (me, messages.clock(me)), pattern, head))
                && (wait || fault.known <= messages.clock(me))
            {
                messages.ranks_mut().advance(me, fault.known);
                return Err(messages.failures().tell_failure(fault.without_request()));
            }
        }
        Ok(self.look(pattern, wait))
    }

    /// Looks for a message, which is there if the rank has waited.
    fn look(&self, pattern: &Pattern, wait: bool) -> Option<(u32, Status)> {
        let mut guard = self.world();
        let world = &mut *guard;
        let me = world.messages.me();
        let clock = world.messages.clock(me);
        match world.head(me, pattern) {
            Some((index, arrival)) if wait || arrival <= clock => {
                world.messages.ranks_mut().advance(me, arrival);
                let node = &world.messages.matcher()[index];
                Some((
                    index,
                    Status {
                        source: node.source as i32,
                        tag: node.tag,
                        error: 0,
                        bytes: node.bytes,
                        cancelled: false,
                    },
                ))
            }
            _ => {
                world.messages.ranks_mut().fail_poll();
                None
            }
        }
    }
}
