//! The memory that a call touches: which of its parameters say where, how much and how.

use super::ArgumentRegisters;
use super::host::{self, SimulatedMpi};
use crate::constants::{MPI_IN_PLACE, MPI_PROC_NULL};
use crate::function::{Function, NAMES};
use call_recording::Host;
use call_recording::parameter::{ArgumentIntent, Kind, Length, PARAMETERS, RecordedParameter};
use mpi::Objects;
use mpi::regions::Region;

use mpi::types::members::Block;
use recorder::{Class, Touch};
use std::sync::LazyLock;

/// The number of times that a buffer has the count that the call names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CountFactor {
    Once,
    /// For each rank that the communicator's messages can go to.
    Peers,
}

/// The ranks at which a buffer counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BufferSignificance {
    Everywhere,
    Root,
    /// The root sends from it, the others receive into it.
    RootReads,
}

/// A buffer of a function, by its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Touched {
    buffer: usize,
    count: usize,
    datatype: usize,
    /// The rank that a message goes to or comes from: nothing is touched if that is `MPI_PROC_NULL`.
    peer: Option<usize>,
    touch: Touch,
    times: CountFactor,
    counts: BufferSignificance,
}

/// The watched part of a function's calls.
pub struct Watched {
    /// The memory that they touch, as far as it is known.
    pub touched: Box<[Touched]>,
    /// Blocks that the members of a collective compare.
    pub compared: Box<[Compared]>,
    /// Two buffers that may not be the same, of which `touched` does not have both; the second is written.
    pub apart: Option<[usize; 2]>,
    /// `true` if they take part in nothing until what they make is started.
    pub is_persistent: bool,
    /// `true` if there is anything: buffers, blocks, or objects that they make or free.
    pub any: bool,
    /// The place of all of it, for calls of C in the plain variant that touch one buffer and make no more
    /// than a request.
    pub single: Option<SingleBuffer>,
}

/// The part of a call with one buffer that is watched, by its words: of messages, which are most of what a
/// program calls.
#[derive(Clone, Copy, Debug)]
pub struct SingleBuffer {
    buffer: usize,
    count: usize,
    datatype: usize,
    peer: Option<usize>,
    touch: Touch,
    /// The request that it makes.
    pub request: Option<usize>,
}

impl SingleBuffer {
    fn of(watched: &[Touched], parameters: &[RecordedParameter]) -> Option<SingleBuffer> {
        let &[
            Touched {
                buffer,
                count,
                datatype,
                peer,
                touch,
                times: CountFactor::Once,
                counts: BufferSignificance::Everywhere,
            },
        ] = watched
        else {
            return None;
        };
        let mut made = (0..parameters.len()).filter(|&index| {
            parameters[index].direction != ArgumentIntent::In && parameters[index].class().is_some()
        });
        let request = made.next();
        let is_request = |index: usize| {
            parameters[index].kind == Kind::Handle(Class::Request)
                && parameters[index].direction == ArgumentIntent::Out
        };
        if made.next().is_some() || !request.is_none_or(is_request) || parameters.iter().any(|p| p.large_only)
        {
            return None;
        }
        Some(SingleBuffer { buffer, count, datatype, peer, touch, request })
    }

    /// Returns the memory that a call with these words touches.
    #[inline(always)]
    pub fn memory(&self, objects: &Objects, words: &[u64]) -> Memory {
        let at = words[self.buffer] as usize;
        let Some(elements) = elements(at, words[self.count] as i64, self.peer.map(|peer| words[peer] as i64))
        else {
            return Memory::None;
        };
        let Some(size) = objects.types.plain_size(words[self.datatype] as usize) else {
            return Memory::Shaped;
        };
        let end = size.checked_mul(elements).and_then(|bytes| at.checked_add(bytes as usize));
        end.map_or(Memory::None, |end| Memory::Plain((at, end), self.touch))
    }

    /// Returns the region of a call with these words.
    #[cold]
    pub fn region(&self, objects: &Objects, words: &[u64]) -> Option<Region> {
        let at = words[self.buffer] as usize;
        let elements = elements(at, words[self.count] as i64, self.peer.map(|peer| words[peer] as i64))?;
        host::region_of(objects, at, elements, words[self.datatype] as usize, self.touch)
    }
}

/// The memory of one buffer.
#[derive(Clone, Copy, Debug)]
pub enum Memory {
    /// No byte.
    None,
    /// All bytes from the first one, one past the last.
    Plain((usize, usize), Touch),
    /// Bytes determined by a datatype that the program has made.
    Shaped,
}

/// Returns how many elements a call touches at an address, which it says with this count; `None` of none, and
/// where nobody is at the other end.
#[inline(always)]
fn elements(at: usize, count: i64, peer: Option<i64>) -> Option<u64> {
    let nothing = at == MPI_IN_PLACE || peer == Some(i64::from(MPI_PROC_NULL));
    u64::try_from(count).ok().filter(|&elements| elements > 0 && !nothing)
}

/// A block whose type all members of a collective call must agree on, by its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Compared {
    buffer: usize,
    /// `None` where members may have different ones.
    count: Option<usize>,
    datatype: usize,
    /// The operation of a reduction.
    operation: Option<usize>,
    /// `true` if `MPI_IN_PLACE` as buffer says that count and datatype are ignored.
    may_be_in_place: bool,
    /// `true` if the root alone has it.
    at_root: bool,
    /// `true` if the root's is what others are compared with, else that of rank 0.
    by_root: bool,
    is_reference: bool,
}

/// Returns the buffers of collectives, and of `MPI_Reduce_local`, that a call reads and writes.
fn apart(parameters: &[RecordedParameter]) -> Option<[usize; 2]> {
    let named = |name: &str| parameters.iter().position(|p| p.name == name && p.kind == Kind::Buffer);
    let pair = |one: &str, other: &str| Some([named(one)?, named(other)?]);
    pair("sendbuf", "recvbuf").or_else(|| pair("inbuf", "inoutbuf"))
}

/// Blocks with a datatype each (`MPI_Alltoallw`) and those of neighbours have no common one.
fn compared(operation: &str, parameters: &[RecordedParameter]) -> Box<[Compared]> {
    let named = |name: &str| parameters.iter().position(|p| p.name == name);
    let side = |buffer: &str, count: &str, datatype: &str, at_root: bool, is_reference: bool| {
        let by_root = parameters.iter().any(|p| p.name == "root");
        let may_be_in_place = datatype != "datatype";
        Some(Compared {
            buffer: named(buffer)?,
            count: named(count),
            datatype: named(datatype)?,
            operation: named("op"),
            may_be_in_place,
            at_root,
            by_root,
            is_reference,
        })
    };
    let send = |at_root, is_reference| side("sendbuf", "sendcount", "sendtype", at_root, is_reference);
    let receive = |at_root, is_reference| side("recvbuf", "recvcount", "recvtype", at_root, is_reference);
    let sides = match operation {
        "bcast" => [side("buffer", "count", "datatype", false, true), None],
        "reduce" | "allreduce" | "scan" | "exscan" => {
            [side("recvbuf", "count", "datatype", false, true), None]
        }
        "reduce_scatter_block" | "reduce_scatter" => {
            [side("recvbuf", "recvcount", "datatype", false, true), None]
        }
        "gather" => [send(false, false), receive(true, true)],
        "scatter" => [send(true, true), receive(false, false)],
        "allgather" | "alltoall" => [send(false, false), receive(false, true)],
        "gatherv" => {
            [side("sendbuf", "", "sendtype", false, false), side("recvbuf", "", "recvtype", true, true)]
        }
        "scatterv" => {
            [side("sendbuf", "", "sendtype", true, true), side("recvbuf", "", "recvtype", false, false)]
        }
        "allgatherv" | "alltoallv" => {
            [side("sendbuf", "", "sendtype", false, false), side("recvbuf", "", "recvtype", false, true)]
        }
        _ => [None, None],
    };
    sides.into_iter().flatten().collect()
}

impl Watched {
    /// Returns what is watched of each function, in the order of functions.
    pub fn all() -> &'static [Watched] {
        static WATCHED: LazyLock<Box<[Watched]>> = LazyLock::new(|| {
            let watched = |(function, parameters): (&&str, &&'static [RecordedParameter])| {
                Watched::new(function, parameters)
            };
            NAMES.iter().zip(PARAMETERS.iter()).map(watched).collect()
        });
        &WATCHED
    }

    /// Returns what is watched of a function; O(1) after the first call.
    pub fn of(function: Function) -> &'static Watched {
        &Watched::all()[function as usize]
    }

    fn new(function: &str, parameters: &[RecordedParameter]) -> Watched {
        let (touched, compared) =
            (of_function(function, parameters), compared(&operation(function), parameters));
        let is_persistent =
            function.ends_with("_init") && parameters.iter().any(|p| p.kind == Kind::Handle(Class::Request));
        let changes = |p: &RecordedParameter| p.direction != ArgumentIntent::In && p.class().is_some();
        let apart = apart(parameters).filter(|_| touched.len() < 2);
        let any = !touched.is_empty()
            || !compared.is_empty()
            || apart.is_some()
            || parameters.iter().any(changes)
            || tells_status(function);
        let is_message = !is_persistent && compared.is_empty() && apart.is_none();
        let single = SingleBuffer::of(&touched, parameters).filter(|_| is_message);
        Watched { touched, compared, apart, is_persistent, any, single }
    }
}

/// Returns `true` if it says of requests that they are complete, and leaves them.
fn tells_status(function: &str) -> bool {
    function.starts_with("MPI_Request_get_status")
}

/// Returns what a function does, whether it waits or not: `gather` of `MPI_Igather` and `MPI_Gather_init`.
fn operation(function: &str) -> String {
    let name = function.trim_start_matches("MPI_").trim_end_matches("_init").to_lowercase();
    name.strip_prefix('i').map(str::to_owned).unwrap_or(name)
}

/// The buffers of a function's calls whose places follow from one count and one datatype each: those of
/// point-to-point communication, and of collectives whose blocks are all alike.
// Of blocks with counts or displacements of their own it would take O(ranks) for each call to know where they
// are.
fn of_function(function: &str, parameters: &[RecordedParameter]) -> Box<[Touched]> {
    let communicates =
        parameters.iter().any(|p| p.kind == Kind::Comm || p.kind == Kind::Handle(Class::Message));
    let local = ["Pack", "Unpack", "Psend", "Precv", "Neighbor", "Ineighbor", "Comm_", "Buffer_", "Session_"];
    let base = function.trim_start_matches("MPI_");
    if !communicates || local.iter().any(|prefix| base.starts_with(prefix)) {
        return Box::default();
    }
    let operation = operation(function);
    let buffers = (0..parameters.len())
        .filter(|&index| parameters[index].kind == Kind::Buffer && parameters[index].length == Length::One);
    buffers.filter_map(|buffer| Touched::of(&operation, parameters, buffer)).collect()
}

impl Touched {
    fn of(operation: &str, parameters: &[RecordedParameter], buffer: usize) -> Option<Touched> {
        let next = |kind: Kind| (buffer..parameters.len()).find(|&index| parameters[index].kind == kind);
        let (count, datatype) = (next(Kind::Count)?, next(Kind::Datatype)?);
        if parameters[count].length != Length::One || parameters[datatype].length != Length::One {
            return None;
        }
        let touch =
            if parameters[buffer].direction == ArgumentIntent::In { Touch::Reads } else { Touch::Writes };
        let (times, counts) = match (operation, touch) {
            ("gather", Touch::Writes) | ("scatter", Touch::Reads) => {
                (CountFactor::Peers, BufferSignificance::Root)
            }
            ("gatherv", Touch::Writes) | ("scatterv", Touch::Reads) => return None,
            ("allgather", Touch::Writes) | ("alltoall", _) | ("reduce_scatter_block", Touch::Reads) => {
                (CountFactor::Peers, BufferSignificance::Everywhere)
            }
            ("reduce", Touch::Writes) => (CountFactor::Once, BufferSignificance::Root),
            ("bcast", _) => (CountFactor::Once, BufferSignificance::RootReads),
            _ => (CountFactor::Once, BufferSignificance::Everywhere),
        };
        let of_message = |p: &RecordedParameter| p.kind == Kind::Rank && p.name != "root";
        let peer = (buffer..parameters.len())
            .find(|&index| of_message(&parameters[index]) && operation != "sendrecv_replace");
        Some(Touched { buffer, count, datatype, peer, touch, times, counts })
    }
}

/// The memory that a call of a program touches.
pub trait TouchesMemory {
    /// Returns the memory that the call touches in this buffer; `None` of none.
    fn region(&self, touched: &Touched) -> Option<Region>;

    /// Returns `true` if the call has one address for both of these buffers, and anything in them.
    fn is_aliased(&self, buffers: [usize; 2]) -> bool;

    /// Returns what the calling rank has of a block that members compare; `None` if it has none.
    fn block(&self, compared: &Compared, is_root: bool, is_first: bool) -> Option<Block>;
}

impl TouchesMemory for ArgumentRegisters {
    fn region(&self, touched: &Touched) -> Option<Region> {
        let &Touched { buffer, count, datatype, peer, mut touch, times, counts } = touched;
        let at = self.buffer_at(buffer);
        let mut elements = elements(at, self.scalar(count), peer.map(|peer| self.scalar(peer)))?;
        if (times, counts) != (CountFactor::Once, BufferSignificance::Everywhere) {
            let comm = self.comm()?;
            let membership = SimulatedMpi::membership(comm).filter(|membership| !membership.is_inter)?;
            let is_root = counts != BufferSignificance::Everywhere
                && self.plan.root.is_some_and(|root| self.scalar(root) == i64::from(membership.rank));
            match counts {
                BufferSignificance::Root if !is_root => return None,
                BufferSignificance::RootReads => touch = if is_root { Touch::Reads } else { Touch::Writes },
                _ => {}
            }
            if times == CountFactor::Peers {
                elements = elements.checked_mul(membership.peers.into())?;
            }
        }
        host::region(at, elements, self.object_handle(datatype), touch)
    }

    // What MPICH refuses, too: which bytes blocks with counts of their own have would take O(ranks) for each
    // call.
    fn is_aliased(&self, [one, other]: [usize; 2]) -> bool {
        let at = self.buffer_at(one);
        if at != self.buffer_at(other) || host::is_no_memory(at) {
            return false;
        }
        let membership = self.comm().and_then(SimulatedMpi::membership);
        let rooted = self.plan.root.zip(membership);
        if rooted.is_some_and(|(root, comm)| comm.is_inter || self.scalar(root) != i64::from(comm.rank)) {
            return false;
        }
        let is_count = |index: &usize| {
            self.parameter(*index).kind == Kind::Count && self.parameter(*index).name.contains("count")
        };
        let has_any = |index: usize| {
            self.word(index) != 0 && (0..self.count(index).unwrap_or(0)).any(|k| self.number(index, k) != 0)
        };
        (0..self.plan.parameters.len()).filter(is_count).any(has_any)
    }

    fn block(&self, compared: &Compared, is_root: bool, is_first: bool) -> Option<Block> {
        let says = !compared.at_root || is_root;
        if !says || self.buffer_at(compared.buffer) == MPI_IN_PLACE && compared.may_be_in_place {
            return None;
        }
        let elements = match compared.count {
            Some(count) => Some(u64::try_from(self.scalar(count)).ok()?),
            None => None,
        };
        let is_reference = compared.is_reference && if compared.by_root { is_root } else { is_first };
        Some(Block {
            datatype: self.object_handle(compared.datatype),
            elements,
            operation: compared.operation.map(|operation| self.object_handle(operation)),
            is_reference,
        })
    }
}
