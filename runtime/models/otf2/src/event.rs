//! Events of one location.

use crate::numbers::{NONE, NumberReader, Put, Result};

/// Kinds of records (`otf2_events_int.h`).
mod kind {
    pub const MEASUREMENT_ON_OFF: u8 = 11;
    pub const ENTER: u8 = 12;
    pub const LEAVE: u8 = 13;
    pub const MPI_SEND: u8 = 14;
    pub const MPI_ISEND: u8 = 15;
    pub const MPI_ISEND_COMPLETE: u8 = 16;
    pub const MPI_IRECV_REQUEST: u8 = 17;
    pub const MPI_RECV: u8 = 18;
    pub const MPI_IRECV: u8 = 19;
    pub const MPI_REQUEST_TEST: u8 = 20;
    pub const MPI_REQUEST_CANCELLED: u8 = 21;
    pub const MPI_COLLECTIVE_BEGIN: u8 = 22;
    pub const MPI_COLLECTIVE_END: u8 = 23;
    pub const OMP_FORK: u8 = 24;
    pub const OMP_TASKS: std::ops::RangeInclusive<u8> = 28..=30;
    pub const RMA: std::ops::RangeInclusive<u8> = 35..=52;
    pub const NON_BLOCKING_COLLECTIVE_REQUEST: u8 = 85;
    pub const NON_BLOCKING_COLLECTIVE_COMPLETE: u8 = 86;
    pub const COMM_CREATE: u8 = 87;
    pub const COMM_DESTROY: u8 = 88;
    pub const MPI_PROBE: u8 = 89;
    pub const MPI_MRECV: u8 = 90;
    pub const MPI_IMRECV_REQUEST: u8 = 91;
    pub const MPI_IMRECV: u8 = 92;
}

/// Modes of measurement: on and off.
const ON: u8 = 1;
const OFF: u8 = 2;

/// Operations of collectives (`OTF2_CollectiveOp`).
#[allow(missing_docs, reason = "each is MPI's word")]
pub mod operation {
    pub const BARRIER: u8 = 0;
    pub const BCAST: u8 = 1;
    pub const GATHER: u8 = 2;
    pub const GATHERV: u8 = 3;
    pub const SCATTER: u8 = 4;
    pub const SCATTERV: u8 = 5;
    pub const ALLGATHER: u8 = 6;
    pub const ALLGATHERV: u8 = 7;
    pub const ALLTOALL: u8 = 8;
    pub const ALLTOALLV: u8 = 9;
    pub const ALLTOALLW: u8 = 10;
    pub const ALLREDUCE: u8 = 11;
    pub const REDUCE: u8 = 12;
    pub const REDUCE_SCATTER: u8 = 13;
    pub const SCAN: u8 = 14;
    pub const EXSCAN: u8 = 15;
    pub const REDUCE_SCATTER_BLOCK: u8 = 16;
    pub const CREATE_HANDLE: u8 = 17;
    pub const DESTROY_HANDLE: u8 = 18;
}

/// A message of the location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// The other rank in the communicator.
    pub peer: u32,
    /// The communicator's number.
    pub comm: u32,
    /// The tag.
    pub tag: u32,
    /// Payload, in bytes.
    pub bytes: u64,
}

/// A rank's part in a collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Collective {
    /// Code of the operation, one of [`operation`].
    pub operation: u8,
    /// The communicator's number.
    pub comm: u32,
    /// The root in it; [`NONE`] where there is none.
    pub root: u32,
    /// Bytes that this rank sends to all (what it sends to itself among them).
    pub sent: u64,
    /// Bytes that it receives from all.
    pub received: u64,
}

/// An event. Two requests of a location that are under way at once have different numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// Into a region with this number.
    Enter(u32),
    /// Out of it.
    Leave(u32),
    /// A message is sent.
    Send(Message),
    /// One is sent with a request.
    Isend(Message, u64),
    /// The send with this request is complete.
    IsendComplete(u64),
    /// A receive with a request is posted. What it receives is not known before it is complete.
    IrecvRequest(u64),
    /// A message is received.
    Recv(Message),
    /// By a receive with a request, which is complete.
    Irecv(Message, u64),
    /// A request was asked for and is not complete.
    RequestTest(u64),
    /// It was cancelled.
    RequestCancelled(u64),
    /// A collective begins.
    CollectiveBegin,
    /// It ends; this says which it was.
    CollectiveEnd(Collective),
    /// One with a request begins.
    IcollectiveRequest(u64),
    /// It is complete.
    IcollectiveComplete(Collective, u64),
    /// The rank has this communicator from here on.
    CommCreate(u32),
    /// And no longer.
    CommDestroy(u32),
    /// From here on nothing is recorded, or again all is.
    Measurement(bool),
    /// A one-sided operation, of whatever kind.
    Rma,
    /// A message that was found by `MPI_Mprobe` is received, or asked for.
    Matched,
    /// Something that MPI has nothing to do with.
    Other,
}

fn message(take: &mut NumberReader) -> Result<Message> {
    Ok(Message { peer: take.u32()?, comm: take.u32()?, tag: take.u32()?, bytes: take.u64()? })
}

fn collective(take: &mut NumberReader) -> Result<Collective> {
    Ok(Collective {
        operation: take.byte()?,
        comm: take.u32()?,
        root: take.u32()?,
        sent: take.u64()?,
        received: take.u64()?,
    })
}

impl Event {
    /// Reads the event of a record of this kind. Records of kinds that later versions may add are passed over
    /// by their lengths.
    #[inline]
    pub(crate) fn take(kind: u8, take: &mut NumberReader) -> Result<Event> {
        Ok(match kind {
            // The oldest ones have one number and no length.
            kind::ENTER => Event::Enter(take.u32()?),
            kind::LEAVE => Event::Leave(take.u32()?),
            kind::MPI_ISEND_COMPLETE => Event::IsendComplete(take.u64()?),
            kind::MPI_IRECV_REQUEST => Event::IrecvRequest(take.u64()?),
            kind::MPI_REQUEST_TEST => Event::RequestTest(take.u64()?),
            kind::MPI_REQUEST_CANCELLED => Event::RequestCancelled(take.u64()?),
            kind::OMP_FORK => take.u64().map(|_| Event::Other)?,
            kind if kind::OMP_TASKS.contains(&kind) => take.u64().map(|_| Event::Other)?,
            kind => {
                let record = &mut take.record()?;
                match kind {
                    kind::MPI_SEND => Event::Send(message(record)?),
                    kind::MPI_ISEND => Event::Isend(message(record)?, record.u64()?),
                    kind::MPI_RECV => Event::Recv(message(record)?),
                    kind::MPI_IRECV => Event::Irecv(message(record)?, record.u64()?),
                    kind::MPI_COLLECTIVE_BEGIN => Event::CollectiveBegin,
                    kind::MPI_COLLECTIVE_END => Event::CollectiveEnd(collective(record)?),
                    kind::NON_BLOCKING_COLLECTIVE_REQUEST => Event::IcollectiveRequest(record.u64()?),
                    kind::NON_BLOCKING_COLLECTIVE_COMPLETE => {
                        Event::IcollectiveComplete(collective(record)?, record.u64()?)
                    }
                    kind::MEASUREMENT_ON_OFF => Event::Measurement(record.byte()? == ON),
                    kind::COMM_CREATE => Event::CommCreate(record.u32()?),
                    kind::COMM_DESTROY => Event::CommDestroy(record.u32()?),
                    kind::MPI_PROBE | kind::MPI_MRECV | kind::MPI_IMRECV_REQUEST | kind::MPI_IMRECV => {
                        Event::Matched
                    }
                    kind if kind::RMA.contains(&kind) => Event::Rma,
                    _ => Event::Other,
                }
            }
        })
    }

    /// Appends its record. Events that say nothing ([`Event::Rma`], [`Event::Matched`], [`Event::Other`])
    /// have none.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let mut one = |kind: u8, number: u64| {
            out.push(kind);
            out.number(number);
        };
        match *self {
            // Of 32 bits, so that none is one byte in both.
            Event::Enter(region) => one(kind::ENTER, widened(region)),
            Event::Leave(region) => one(kind::LEAVE, widened(region)),
            Event::IsendComplete(request) => one(kind::MPI_ISEND_COMPLETE, request),
            Event::IrecvRequest(request) => one(kind::MPI_IRECV_REQUEST, request),
            Event::RequestTest(request) => one(kind::MPI_REQUEST_TEST, request),
            Event::RequestCancelled(request) => one(kind::MPI_REQUEST_CANCELLED, request),
            Event::Send(message) => out.record(kind::MPI_SEND, |out| message.put(out)),
            Event::Recv(message) => out.record(kind::MPI_RECV, |out| message.put(out)),
            Event::Isend(message, request) => out.record(kind::MPI_ISEND, |out| {
                message.put(out);
                out.number(request);
            }),
            Event::Irecv(message, request) => out.record(kind::MPI_IRECV, |out| {
                message.put(out);
                out.number(request);
            }),
            Event::CollectiveBegin => out.record(kind::MPI_COLLECTIVE_BEGIN, |_| {}),
            Event::CollectiveEnd(collective) => {
                out.record(kind::MPI_COLLECTIVE_END, |out| collective.put(out))
            }
            Event::IcollectiveRequest(request) => {
                out.record(kind::NON_BLOCKING_COLLECTIVE_REQUEST, |out| out.number(request))
            }
            Event::IcollectiveComplete(collective, request) => {
                out.record(kind::NON_BLOCKING_COLLECTIVE_COMPLETE, |out| {
                    collective.put(out);
                    out.number(request);
                })
            }
            Event::Measurement(on) => {
                out.record(kind::MEASUREMENT_ON_OFF, |out| out.push(if on { ON } else { OFF }))
            }
            Event::CommCreate(comm) => out.record(kind::COMM_CREATE, |out| out.short(comm)),
            Event::CommDestroy(comm) => out.record(kind::COMM_DESTROY, |out| out.short(comm)),
            Event::Rma | Event::Matched | Event::Other => {}
        }
    }
}

fn widened(number: u32) -> u64 {
    if number == NONE { u64::MAX } else { number.into() }
}

impl Message {
    fn put(&self, out: &mut Vec<u8>) {
        [self.peer, self.comm, self.tag].into_iter().for_each(|number| out.short(number));
        out.number(self.bytes);
    }
}

impl Collective {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(self.operation);
        out.short(self.comm);
        out.short(self.root);
        out.number(self.sent);
        out.number(self.received);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_taken() {
        let message = Message { peer: 3, comm: 1, tag: 70_000, bytes: 1 << 33 };
        let collective =
            Collective { operation: operation::BCAST, comm: 0, root: NONE, sent: 4, received: 0 };
        let all = [
            Event::Enter(193),
            Event::Leave(0),
            Event::Send(message),
            Event::Isend(message, 9),
            Event::IsendComplete(9),
            Event::IrecvRequest(u64::MAX),
            Event::Recv(message),
            Event::Irecv(message, 10),
            Event::RequestTest(10),
            Event::RequestCancelled(10),
            Event::CollectiveBegin,
            Event::CollectiveEnd(collective),
            Event::IcollectiveRequest(4),
            Event::IcollectiveComplete(collective, 4),
            Event::Measurement(true),
            Event::Measurement(false),
            Event::CommCreate(5),
            Event::CommDestroy(5),
        ];
        let mut bytes = Vec::new();
        all.iter().for_each(|event| event.put(&mut bytes));
        let mut take = NumberReader::new(&bytes, 0, false);
        for event in all {
            let kind = take.byte().unwrap();
            assert_eq!(Event::take(kind, &mut take), Ok(event));
        }
        assert_eq!(take.left(), 0);
    }

    #[test]
    fn records_are_those_of_the_library() {
        // As the library has written them in an archive of Score-P: into region 193, and 16384 bytes to rank
        // 1 with tag 10.
        let bytes = [0x0c, 1, 0xc1, 0x0e, 8, 1, 1, 0, 1, 0x0a, 2, 0, 0x40];
        let mut put = Vec::new();
        Event::Enter(193).put(&mut put);
        Event::Send(Message { peer: 1, comm: 0, tag: 10, bytes: 16384 }).put(&mut put);
        assert_eq!(put, bytes);
    }
}
