//! The receiver: partitions that come, and what is asked about them.

use crate::CHAPTER;
use crate::chapter::TransferToken;
use crate::end::{End, NIL, Receiver};
use crate::part::PartitionTransfer;
use crate::ready::end_of;
use crate::round::PartitionedMessages;
use crate::state::Partitioned;
use engine::{Span, Time};
use objects::error::{ErrorClass, Failure, Result};
use p2p::Messages;
use p2p::handle;
use p2p::packing::Packing;
use p2p::request::{Body, Status};
use p2p::view::BufferView;
use rank::memory;

impl Receiver {
    /// Returns the bytes of one of its partitions: where they begin, and how many.
    fn bytes_of(&self, partition: u32) -> (u64, u64) {
        let bytes = self.view.bytes / u64::from(self.common.partitions.max(1));
        (u64::from(partition) * bytes, bytes)
    }
}

/// Puts bytes where they belong in a buffer; what lies behind its end is left out.
fn place(view: &BufferView, offset: u64, data: &[u8]) {
    let fits = view.bytes.saturating_sub(offset).min(data.len() as u64);
    let data = &data[..fits as usize];
    match &view.layout {
        _ if data.is_empty() => {}
        None => memory::write(view.buffer.offset(offset as i64), data),
        Some((datatype, _)) => datatype.unpack_at(view.buffer, offset, data),
    }
}

/// Returns `true` if bytes can be placed while the receiver is not mounted. Of buffers that do not lie side
/// by side nobody knows the span.
fn is_reachable(view: &BufferView) -> bool {
    view.layout.is_none() && rank::is_addressable_unmounted(view.buffer, view.bytes as usize)
}

impl Partitioned {
    /// Delivers a partition, which has come, or will have at its arrival.
    pub(crate) fn land(&mut self, messages: &mut Messages, part: PartitionTransfer) {
        let key = (part.channel, part.round);
        let round = self.rounds.entry(key).or_default();
        round.arrived(&part);
        let offset = u64::from(part.index) * part.bytes;
        let number = self.receivers.get(&part.channel).copied();
        let receiver = number.and_then(|number| match &self.ends[number] {
            End::Receive(receiver)
                if receiver.common.request != NIL && receiver.common.round == part.round =>
            {
                Some(receiver)
            }
            _ => None,
        });
        let Some(receiver) = receiver else {
            round.staged.push((offset, part.data));
            return;
        };
        if is_reachable(&receiver.view) {
            place(&receiver.view, offset, &part.data);
        } else {
            round.staged.push((offset, part.data));
        }
        if let Some(at) =
            round.complete().filter(|_| number.is_none_or(|number| !self.broken.contains_key(&number)))
        {
            messages.finish_request(receiver.common.request, at);
        }
        let looks = receiver.looks.iter().filter_map(|(&partition, &request)| {
            let (first, length) = receiver.bytes_of(partition);
            round.there(first, length).map(|at| (request, at))
        });
        // Each wakes the same rank at most: their order is nobody's to see.
        for (request, at) in looks.collect::<Vec<_>>() {
            if messages.requests()[request].done.is_none() {
                messages.finish_request(request, at);
            }
        }
    }

    /// Delivers what came before a receive of the mounted rank was started.
    pub(crate) fn started(&mut self, messages: &mut Messages, number: u32) {
        self.settle(number);
        let End::Receive(receiver) = &self.ends[number] else { return };
        if let Some(at) = self
            .rounds
            .get(&(receiver.common.channel, receiver.common.round))
            .and_then(PartitionedMessages::complete)
        {
            messages.finish_request(receiver.common.request, at);
        }
    }

    /// Puts what waits for the mounted rank in its place.
    pub(crate) fn settle(&mut self, number: u32) {
        let Some(End::Receive(receiver)) = self.ends.get(number) else { return };
        let Some(round) = self.rounds.get_mut(&(receiver.common.channel, receiver.common.round)) else {
            return;
        };
        for (offset, data) in std::mem::take(&mut round.staged) {
            place(&receiver.view, offset, &data);
        }
    }

    /// Implements `MPI_Parrived` for the mounted rank. Returns the handle of the request that is complete
    /// when the partition has come. Returns `None` if the operation is not active, so that nothing is
    /// missing.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST` if the request is of no partitioned receive, `MPI_ERR_ARG` if there is no such
    /// partition.
    pub fn ask(&mut self, messages: &mut Messages, request: usize, partition: i32) -> Result<Option<usize>> {
        let found =
            end_of(messages, request).and_then(|number| self.ends.get(number).map(|end| (number, end)));
        let Some((number, End::Receive(receiver))) = found else {
            return Err(Failure::new(ErrorClass::REQUEST, "the request is not one of MPI_Precv_init"));
        };
        let partitions = receiver.common.partitions;
        let Some(partition) = u32::try_from(partition).ok().filter(|&partition| partition < partitions)
        else {
            let text = format!(
                "partition {partition} is none of the receive's, which has {partitions} (0 to {})",
                i64::from(partitions) - 1
            );
            return Err(Failure::new(ErrorClass::ARG, text));
        };
        let Receiver { common, looks, .. } = receiver;
        if common.request == NIL || common.nobody {
            return Ok(None);
        }
        if let Some(&look) = looks.get(&partition) {
            return Ok(Some(handle::of_cold(look)));
        }
        let (first, length) = receiver.bytes_of(partition);
        let there =
            self.rounds.get(&(common.channel, common.round)).and_then(|round| round.there(first, length));
        let token = [number, TransferToken::Look(partition).word()];
        let me = messages.me();
        let look = messages.requests_mut().make(me, Body::Chapter { chapter: CHAPTER, token });
        messages.requests_mut()[look].done = there;
        let End::Receive(receiver) = &mut self.ends[number] else { unreachable!("asked above") };
        receiver.looks.insert(partition, look);
        Ok(Some(handle::of_cold(look)))
    }

    /// Returns the clock of the mounted rank when it has taken what it learns of: the whole of the operation,
    /// or one partition.
    pub(crate) fn clock_after(
        &mut self,
        number: u32,
        look: Option<u32>,
        overhead: Span,
        clock: Time,
    ) -> Time {
        let Some(End::Receive(receiver)) = self.ends.get(number) else { return clock };
        let Some(round) = self.rounds.get_mut(&(receiver.common.channel, receiver.common.round)) else {
            return clock;
        };
        let (first, length) = look.map_or((0, round.total()), |partition| receiver.bytes_of(partition));
        round.look(first, length, overhead, clock)
    }

    /// Records that the mounted rank knows that a partition has come.
    pub(crate) fn looked(&mut self, number: u32, partition: u32) {
        self.settle(number);
        if let Some(End::Receive(receiver)) = self.ends.get_mut(number) {
            receiver.looks.remove(&partition);
        }
    }

    /// Ends the round of a receive of the mounted rank. Returns the number of bytes that were sent.
    pub(crate) fn end_round(&mut self, messages: &mut Messages, number: u32) -> u64 {
        let Some(End::Receive(receiver)) = self.ends.get_mut(number) else { return 0 };
        for look in std::mem::take(&mut receiver.looks).into_values() {
            messages.requests_mut().remove(look);
        }
        let common = &mut receiver.common;
        let round = self.rounds.remove(&(common.channel, common.round));
        common.request = NIL;
        common.round += 1;
        round.map_or(0, |round| round.total())
    }

    /// Completes a receive of the mounted rank. Returns its status.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE` if the sender's partitions have more bytes than the receiver's.
    pub(crate) fn received(&mut self, messages: &mut Messages, number: u32) -> Result<Status> {
        self.settle(number);
        let Some(End::Receive(receiver)) = self.ends.get(number) else { return Ok(Status::EMPTY) };
        let (nobody, room) = (receiver.common.nobody, receiver.view.bytes);
        let (source, tag) = (receiver.common.channel.source as i32, receiver.common.channel.tag);
        let sent = self.end_round(messages, number);
        if nobody {
            return Ok(Status::PROC_NULL);
        }
        if sent > room {
            let text = format!(
                "the partitions from rank {source} with tag {tag} have {sent} bytes, those of the receive \
                 only {room}: both sides must have the same in all"
            );
            return Err(Failure::new(ErrorClass::TRUNCATE, text));
        }
        Ok(Status { source, tag, error: 0, bytes: sent, cancelled: false })
    }
}
