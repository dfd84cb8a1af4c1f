//! The sender: starting, and partitions that are ready.

use crate::CHAPTER;
use crate::chapter::TransferToken;
use crate::end::{End, NIL, Sender};
use crate::part::PartitionTransfer;
use crate::state::Partitioned;
use engine::Time;
use objects::Objects;
use objects::error::{ErrorClass, Failure, Result};
use p2p::Messages;
use p2p::fabric::Departure;
use p2p::flight::Flight;
use p2p::handle;
use p2p::packing::Packing;
use p2p::remote::shared::Way;
use p2p::remote::stream::Kind;
use p2p::request::{Body, Request, Template};

/// Returns the end that a persistent request is of, whether it is active or not.
pub(crate) fn end_of(messages: &Messages, request: usize) -> Option<u32> {
    let handle::RequestRef::Cold(index) = handle::request(request) else { return None };
    match messages.requests().get(index) {
        Some(Request { body: Body::Persistent { template, .. }, .. }) => match &**template {
            Template::Chapter { chapter, number, .. } if *chapter == CHAPTER => Some(*number),
            _ => None,
        },
        _ => None,
    }
}

impl Partitioned {
    /// Implements `MPI_Start` for the mounted rank. Returns the handle of the active operation's request.
    pub fn start(&mut self, messages: &mut Messages, objects: &Objects, number: u32) -> usize {
        messages.flush_batch();
        let me = messages.me();
        let token = match self.ends[number] {
            End::Send(_) => TransferToken::Send,
            End::Receive(_) => TransferToken::Receive,
        };
        let request = messages
            .requests_mut()
            .make(me, Body::Chapter { chapter: CHAPTER, token: [number, token.word()] });
        let end = &mut self.ends[number];
        end.common_mut().request = request;
        let nobody = end.common().nobody;
        match end {
            End::Send(sender) => {
                sender.left = sender.common.partitions;
                sender.ready.fill(false);
                let empty = sender.left == 0;
                if empty && !nobody {
                    // The receiver has to hear of a send of nothing as well.
                    self.send(messages, number, 0);
                }
                if empty {
                    messages.finish_request(request, messages.clock(me));
                }
            }
            End::Receive(_) if nobody => messages.finish_request(request, messages.clock(me)),
            End::Receive(receiver) => {
                receiver.started = messages.clock(me);
                self.started(messages, number);
                if messages.faults().is_some() {
                    self.look_at_started(messages, objects, number);
                }
            }
        }
        handle::of_cold(request)
    }

    /// Implements `MPI_Pready` and its kin for the mounted rank.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST` if the request is no active partitioned send; `MPI_ERR_ARG` if there is no such
    /// partition, or it is ready already. Nothing is sent then, not even what is right of `partitions`.
    pub fn ready(
        &mut self,
        messages: &mut Messages,
        request: usize,
        partitions: impl Iterator<Item = i32> + Clone,
    ) -> Result {
        let number = self.active_send(messages, request)?;
        let End::Send(sender) = &mut self.ends[number] else { unreachable!("asked above") };
        // Marked one by one, so that one which is given twice is found, and taken back if one is wrong.
        for (at, partition) in partitions.clone().enumerate() {
            if let Err(failure) = check(sender, partition) {
                partitions.take(at).for_each(|marked| sender.ready[marked as usize] = false);
                return Err(failure);
            }
            sender.ready[partition as usize] = true;
        }
        messages.flush_batch();
        for partition in partitions {
            self.make_ready(messages, number, partition as u32);
        }
        Ok(())
    }

    /// Returns the send that is active behind a request.
    fn active_send(&self, messages: &Messages, request: usize) -> Result<u32> {
        let wrong = |text: &str| Failure::new(ErrorClass::REQUEST, text);
        match end_of(messages, request).and_then(|number| self.ends.get(number).map(|end| (number, end))) {
            Some((number, End::Send(sender))) if sender.common.request != NIL => Ok(number),
            Some((_, End::Send(_))) => Err(wrong(
                "the partitioned send is not active: call MPI_Start before its partitions are ready",
            )),
            Some((_, End::Receive(_))) => Err(wrong(
                "the request is of a partitioned receive; partitions of sends are made ready, those of \
                 receives are asked for with MPI_Parrived",
            )),
            None => Err(wrong("the request is not one of MPI_Psend_init")),
        }
    }

    fn make_ready(&mut self, messages: &mut Messages, number: u32, partition: u32) {
        let End::Send(sender) = &mut self.ends[number] else { return };
        sender.left -= 1;
        let (left, nobody, request) = (sender.left, sender.common.nobody, sender.common.request);
        if !nobody {
            self.send(messages, number, partition);
        }
        if left == 0 {
            // The bytes are out of the buffer, as those of a standard send are.
            messages.finish_request(request, messages.clock(messages.me()));
        }
    }

    /// Sends a partition.
    fn send(&mut self, messages: &mut Messages, number: u32, index: u32) {
        let End::Send(sender) = &self.ends[number] else { return };
        let (me, to, bytes) = (messages.me(), sender.common.channel.to, sender.bytes);
        let leaves = messages.departures().inject(me);
        messages.ranks_mut().profile_mut().message(bytes);
        let at = (me, messages.clock(me));
        messages.watch_mut().note_sending(at, to, bytes);
        let parts = sender.common.partitions.max(1);
        let data = if messages.payloads().are_carried() { packed(sender, index) } else { Vec::new() };
        let mut part = PartitionTransfer {
            channel: sender.common.channel,
            round: sender.common.round,
            index,
            parts,
            bytes,
            arrival: Time::MAX,
            data,
        };
        let way = messages.fabric().way(me, to, bytes, leaves);
        if !messages.ranks().is_local(to) {
            return messages.departures().send_on_way(
                Departure::Own,
                (me, to),
                Kind::Chapter(CHAPTER, 0),
                way,
                part.record(),
            );
        }
        match way {
            Way::Arrives(at) => {
                part.arrival = at;
                self.land(messages, part);
            }
            Way::Leaves(at, bytes) => {
                let flying = self.flying.insert(part);
                messages.departures().launch(
                    Departure::Own,
                    me,
                    to,
                    (bytes, at),
                    Flight::Chapter { chapter: CHAPTER, words: [flying, 0, 0, 0] },
                );
            }
        }
    }
}

/// Returns the bytes of a partition.
fn packed(sender: &Sender, index: u32) -> Vec<u8> {
    if sender.common.partitions == 0 {
        return Vec::new();
    }
    let mut data = vec![0; sender.bytes as usize];
    // From its own position on: where elements overlap or lie backwards, a partition begins where packing the
    // whole buffer would get to.
    sender.datatype.pack_at(sender.buffer, u64::from(index) * sender.bytes, &mut data);
    data
}

/// Checks that a partition may be made ready.
fn check(sender: &Sender, partition: i32) -> Result {
    let Some(&ready) = usize::try_from(partition).ok().and_then(|at| sender.ready.get(at)) else {
        let last = i64::from(sender.common.partitions) - 1;
        let text = format!(
            "partition {partition} is none of the send's, which has {} (0 to {last})",
            sender.common.partitions
        );
        return Err(Failure::new(ErrorClass::ARG, text));
    };
    if ready {
        let text = format!(
            "partition {partition} is ready already: each is made ready once between MPI_Start and the \
             completion"
        );
        return Err(Failure::new(ErrorClass::ARG, text));
    }
    Ok(())
}
