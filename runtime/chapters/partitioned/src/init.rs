//! Initializing and freeing a partitioned send or receive.

use crate::channel::MatchedPair;
use crate::end::{End, EndState, NIL, Receiver, Sender};
use crate::state::Partitioned;
use engine::Time;
use objects::Objects;
use objects::error::{ErrorClass, Failure, FailureScope, Result};
use p2p::Messages;
use p2p::point_to_point::{Buffer, Peer, bad_tag, view};
use p2p::request::{ANY_SOURCE, ANY_TAG, PROC_NULL};
use p2p::view::BufferView;
use rustc_hash::FxHashMap;

/// Arguments of `MPI_Psend_init` and `MPI_Precv_init`.
#[derive(Clone, Copy, Debug)]
pub struct Init {
    /// Number of partitions.
    pub partitions: i32,
    /// The buffer's address, the elements of each partition and their datatype.
    pub buffer: Buffer,
    /// Destination or source, tag and communicator.
    pub peer: Peer,
}

impl Partitioned {
    /// Implements `MPI_Psend_init` for the mounted rank. Returns the number by which its persistent request
    /// knows it.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for a negative number of partitions, `MPI_ERR_TAG`, `MPI_ERR_RANK`, `MPI_ERR_COMM`,
    /// `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_BUFFER`.
    pub fn init_send(&mut self, messages: &Messages, objects: &Objects, init: Init) -> Result<u32> {
        let (partitions, elements) = whole(init)?;
        let (rank, tag, comm) = init.peer;
        if tag < 0 {
            return Err(bad_tag(tag, false));
        }
        let (buffer, count, handle) = init.buffer;
        // The whole buffer at once: a partition that is no memory is told here and not when it is ready.
        memory(messages, objects, (buffer, elements, handle))?;
        let datatype = objects.types.usable(messages.me(), handle)?.clone();
        let bytes = datatype.bytes(count as u64)?;
        let nobody = rank == PROC_NULL;
        let (context, source, to) = match nobody {
            true => objects.comms.get(comm).map(|comm| (comm.context, NIL, NIL))?,
            false => objects.comms.partner(comm, rank, "destination")?,
        };
        let channel = self.next(MatchedPair { context, source, to, tag, number: 0 }, false);
        let common = EndState { channel, nobody, partitions, request: NIL, round: 0 };
        let ready = vec![false; partitions as usize];
        let sender = Sender { common, buffer, datatype, bytes, ready, left: partitions };
        Ok(self.ends.insert(End::Send(sender)))
    }

    /// Implements `MPI_Precv_init` for the mounted rank. Returns the number by which its persistent request
    /// knows it.
    ///
    /// # Errors
    /// As [`Partitioned::init_send`]; `MPI_ANY_SOURCE` and `MPI_ANY_TAG` are none of MPI 5.0 section 4.2.1's.
    pub fn init_receive(&mut self, messages: &Messages, objects: &Objects, init: Init) -> Result<u32> {
        let (partitions, elements) = whole(init)?;
        let (rank, tag, comm) = init.peer;
        if rank == ANY_SOURCE {
            return Err(Failure::new(
                ErrorClass::RANK,
                "a partitioned receive is matched when it is initialized and takes no MPI_ANY_SOURCE: name \
                 the source",
            ));
        }
        if tag == ANY_TAG {
            return Err(Failure::new(
                ErrorClass::TAG,
                "a partitioned receive is matched when it is initialized and takes no MPI_ANY_TAG: name the \
                 tag",
            ));
        }
        if tag < 0 {
            return Err(bad_tag(tag, false));
        }
        let (buffer, _, handle) = init.buffer;
        let view = memory(messages, objects, (buffer, elements, handle))?;
        let nobody = rank == PROC_NULL;
        let context = match nobody {
            true => objects.comms.get(comm)?.context,
            false => objects.comms.context_from(comm, rank)?,
        };
        let channel =
            self.next(MatchedPair { context, source: rank as u32, to: messages.me(), tag, number: 0 }, true);
        let common = EndState { channel, nobody, partitions, request: NIL, round: 0 };
        let number = self.ends.insert(End::Receive(Receiver {
            common,
            view,
            started: Time::ZERO,
            looks: FxHashMap::default(),
        }));
        self.receivers.insert(channel, number);
        Ok(number)
    }

    /// Counts and returns the next channel of an envelope, seen from one end.
    fn next(&mut self, envelope: MatchedPair, receives: bool) -> MatchedPair {
        let count = self.initialized.entry((envelope, receives)).or_default();
        let channel = MatchedPair { number: *count, ..envelope };
        *count += 1;
        channel
    }

    /// Checks that the persistent request of an end may be freed.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST` while it is active and not complete: nobody could make its partitions ready or see
    /// them any more.
    pub(crate) fn may_free_end(&self, messages: &Messages, number: u32) -> Result {
        let Some(end) = self.ends.get(number) else { return Ok(()) };
        let request = end.common().request;
        if request == NIL || messages.requests().get(request).is_none_or(|request| request.done.is_some()) {
            return Ok(());
        }
        let failure = Failure::new(
            ErrorClass::REQUEST,
            "the partitioned operation is active: complete it before its request is freed",
        );
        Err(failure.within(FailureScope::Context(end.common().channel.context)))
    }

    /// Frees an end, whose persistent request is no more.
    pub(crate) fn free_end(&mut self, number: u32) {
        if let Some(End::Receive(receiver)) = self.ends.remove(number) {
            self.receivers.remove(&receiver.common.channel);
        }
    }
}

/// Returns the memory of a buffer; in a run without payloads its length.
fn memory(messages: &Messages, objects: &Objects, buffer: Buffer) -> Result<BufferView> {
    if messages.payloads().are_carried() {
        return view(objects, buffer);
    }
    let (_, count, datatype) = buffer;
    let Ok(count) = u64::try_from(count) else {
        return Err(Failure::new(ErrorClass::COUNT, format!("count {count} is negative")));
    };
    Ok(BufferView::length(objects.types.usable(messages.me(), datatype)?.bytes(count)?))
}

/// Partitions, and the elements of all of them.
fn whole(init: Init) -> Result<(u32, i64)> {
    let Ok(partitions) = u32::try_from(init.partitions) else {
        return Err(Failure::new(
            ErrorClass::ARG,
            format!("partitions {} is negative: use 1 or more", init.partitions),
        ));
    };
    let Some(elements) = init.buffer.1.checked_mul(i64::from(partitions)) else {
        return Err(Failure::new(
            ErrorClass::COUNT,
            format!(
                "{partitions} partitions of {} elements are more than can be counted: use fewer or smaller \
                 ones",
                init.buffer.1
            ),
        ));
    };
    Ok((partitions, elements))
}
