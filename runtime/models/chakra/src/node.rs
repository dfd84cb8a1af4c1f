//! Nodes as they are executed, made of messages.

use crate::attributes::NodeAttributes;
use crate::fault::{ChakraFault, ChakraFaultKind};
use crate::message::NodeMessage;
use schedule::Kind;

/// Largest size of a message, a tensor or a collective, in bytes: 2^48.
pub const MAX_BYTES: u64 = 1 << 48;

/// Work of a node.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum NodeWork {
    /// Takes no time: metadata.
    Nothing,
    /// Computes.
    Compute(NodeEffort),
    /// Loads from memory, or stores to it.
    Memory {
        /// `true` if it stores.
        stores: bool,
        /// Duration, or bytes.
        effort: NodeEffort,
    },
    /// Sends bytes to a rank, with a tag.
    Send {
        /// Receiving rank.
        to: u32,
        /// Tag of the message.
        tag: i64,
        /// Payload.
        bytes: u64,
    },
    /// Receives bytes from a rank, with a tag.
    Receive {
        /// Sending rank.
        from: u32,
        /// Tag of the message.
        tag: i64,
        /// Payload.
        bytes: u64,
    },
    /// Takes part in the collective of this number among its rank's.
    Collective(u32),
}

/// Duration of a computation, or the numbers that a roofline takes.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct NodeEffort {
    /// Duration in microseconds; 0 if none is given.
    pub micros: u64,
    /// Number of operations.
    pub operations: f64,
    /// Bytes that are read and written.
    pub bytes: u64,
}

/// Executor of nodes of a rank: one node at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ChakraStream {
    /// None: nodes begin when they are ready.
    Unlimited,
    /// The processor of the host.
    Cpu,
    /// The accelerator's computations without a stream of their own.
    Compute,
    /// The accelerator's sends and collectives without a stream of their own.
    Communication,
    /// Loads and stores without a stream of their own.
    Memory,
    /// A stream that the trace numbers.
    Numbered(i64),
}

/// A node.
#[derive(Clone, PartialEq, Debug)]
pub struct ChakraNode {
    /// Id, unique within its rank.
    pub id: u64,
    /// Offset of its message, with the length.
    pub byte: u64,
    /// Stream that executes it.
    pub stream: ChakraStream,
    /// Work.
    pub work: NodeWork,
}

/// A collective of one rank.
#[derive(Clone, PartialEq, Debug)]
pub struct RankCollective {
    /// The operation.
    pub kind: Kind,
    /// Bytes of the rank's input: `comm_size`.
    pub bytes: u64,
    /// Root, if the trace names one.
    pub root: Option<u32>,
    /// Process group; `None` for all ranks.
    pub group: Option<String>,
    /// Number of its node.
    pub node: u32,
}

/// Everything that a message says of a node.
#[derive(Debug)]
pub struct ReadNode {
    /// The node; a collective's number is 0.
    pub node: ChakraNode,
    /// The collective, if it is one.
    pub collective: Option<RankCollective>,
    /// Process groups that it defines: the text of their list.
    pub groups: Option<String>,
    /// Ids of the nodes that it waits for, each once, and whether one of its data dependencies is.
    pub waits_for: Vec<(u64, bool)>,
}

/// Name of the metadata with which PyTorch lists the process groups.
const GROUPS_NAME: &str = "process_group:init";

/// Names of the values of Chakra's CollectiveCommType with the operations of MPI that they are.
const COLLECTIVES: [(&str, Kind); 10] = [
    ("ALL_REDUCE", Kind::Allreduce),
    ("REDUCE", Kind::Reduce),
    ("ALL_GATHER", Kind::Allgather),
    ("GATHER", Kind::Gather),
    ("SCATTER", Kind::Scatter),
    ("BROADCAST", Kind::Bcast),
    ("ALL_TO_ALL", Kind::Alltoall),
    ("REDUCE_SCATTER", Kind::ReduceScatter),
    ("REDUCE_SCATTER_BLOCK", Kind::ReduceScatter),
    ("BARRIER", Kind::Barrier),
];

/// Dependencies that a replay keeps.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum DependencyKinds {
    /// Dependencies of control and of data.
    #[default]
    All,
    /// Dependencies of data alone, as in Chakra's feeder.
    Data,
}

/// Number of a rank, and of all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RankOf {
    /// The rank.
    pub rank: u32,
    /// All ranks.
    pub ranks: u32,
    /// Dependencies that count.
    pub dependencies: DependencyKinds,
}

/// Returns the node of a message at a byte.
///
/// # Errors
/// An unknown type; an attribute that is missing, or wrong.
pub fn read_node(message: NodeMessage, byte: u64, of: RankOf) -> Result<ReadNode, ChakraFault> {
    let id = message.id;
    let attributes = NodeAttributes::of(&message, byte);
    let on_cpu = attributes.flag("is_cpu_op")?.unwrap_or(false);
    let stream = attributes.signed("stream")?;
    let place = |own: ChakraStream| match (on_cpu, stream) {
        (true, _) => ChakraStream::Cpu,
        (false, Some(number)) => ChakraStream::Numbered(number),
        (false, None) => own,
    };
    let (mut collective, mut groups) = (None, None);
    let decides = match message.kind {
        5 => Some("comm_dst"),
        6 => Some("comm_src"),
        7 => Some("comm_type"),
        _ => None,
    };
    let (stream, work) = match message.kind {
        // PyTorch's functions that start a communication have its type, but the accelerator's node
        // communicates.
        5..=7 if on_cpu && decides.is_some_and(|name| !attributes.has(name)) => {
            let effort = NodeEffort { micros: message.duration_micros, ..NodeEffort::default() };
            (ChakraStream::Cpu, NodeWork::Compute(effort))
        }
        0 | 1 => {
            if message.kind == 1 && message.name.contains(GROUPS_NAME) {
                groups = message.inputs.map(|inputs| inputs.values);
            }
            (ChakraStream::Unlimited, NodeWork::Nothing)
        }
        2 | 3 => {
            let effort = NodeEffort { operations: 0.0, ..effort(&attributes, message.duration_micros)? };
            (place(ChakraStream::Memory), NodeWork::Memory { stores: message.kind == 3, effort })
        }
        4 => {
            let effort = effort(&attributes, message.duration_micros)?;
            (place(ChakraStream::Compute), NodeWork::Compute(effort))
        }
        5 => {
            check_own(&attributes, "comm_src", of)?;
            let (to, tag) = (rank(&attributes, "comm_dst", of)?, attributes.signed("comm_tag")?.unwrap_or(0));
            let bytes = message_bytes(&attributes)?;
            (place(ChakraStream::Communication), NodeWork::Send { to, tag, bytes })
        }
        6 => {
            check_own(&attributes, "comm_dst", of)?;
            let from = rank(&attributes, "comm_src", of)?;
            let (tag, bytes) = (attributes.signed("comm_tag")?.unwrap_or(0), message_bytes(&attributes)?);
            (ChakraStream::Unlimited, NodeWork::Receive { from, tag, bytes })
        }
        7 => {
            collective = Some(read_collective(&attributes, of)?);
            (place(ChakraStream::Communication), NodeWork::Collective(0))
        }
        kind => {
            let reason = format!(
                "node {id} has type {kind}, which Chakra does not define: types are 1 (METADATA_NODE) to 7 \
                 (COMM_COLL_NODE)"
            );
            return Err(ChakraFault::at(ChakraFaultKind::UnknownType, byte, reason));
        }
    };
    let controls = if of.dependencies == DependencyKinds::All { message.ctrl_deps } else { Vec::new() };
    let controls = controls.into_iter().map(|id| (id, false));
    let mut waits_for: Vec<(u64, bool)> =
        controls.chain(message.data_deps.into_iter().map(|id| (id, true))).collect();
    waits_for.sort_unstable_by_key(|&(id, is_data)| (id, !is_data));
    waits_for.dedup_by_key(|(id, _)| *id);
    Ok(ReadNode { node: ChakraNode { id, byte, stream, work }, collective, groups, waits_for })
}

fn effort(attributes: &NodeAttributes, micros: u64) -> Result<NodeEffort, ChakraFault> {
    let operations = attributes.amount("num_ops")?.unwrap_or(0.0);
    let bytes = attributes.bytes("tensor_size")?.unwrap_or(0);
    Ok(NodeEffort { micros, operations, bytes })
}

/// Returns the length of a message.
fn message_bytes(attributes: &NodeAttributes) -> Result<u64, ChakraFault> {
    match attributes.bytes("comm_size")? {
        Some(bytes) => Ok(bytes),
        None => attributes.bytes("tensor_size")?.ok_or_else(|| attributes.missing("comm_size")),
    }
}

/// Returns a rank that a node names.
fn rank(attributes: &NodeAttributes, name: &str, of: RankOf) -> Result<u32, ChakraFault> {
    optional_rank(attributes, name, of)?.ok_or_else(|| attributes.missing(name))
}

fn optional_rank(attributes: &NodeAttributes, name: &str, of: RankOf) -> Result<Option<u32>, ChakraFault> {
    let Some(number) = attributes.signed(name)? else { return Ok(None) };
    match u32::try_from(number) {
        Ok(rank) if rank < of.ranks => Ok(Some(rank)),
        _ => Err(attributes.wrong(name, &format!("{number}; the trace has ranks 0 to {}", of.ranks - 1))),
    }
}

/// Checks that a rank's own side of a message, if it is named, is the rank.
fn check_own(attributes: &NodeAttributes, name: &str, of: RankOf) -> Result<(), ChakraFault> {
    match optional_rank(attributes, name, of)? {
        Some(named) if named != of.rank => {
            Err(attributes.wrong(name, &format!("{named}; the file is that of rank {}", of.rank)))
        }
        _ => Ok(()),
    }
}

fn read_collective(attributes: &NodeAttributes, of: RankOf) -> Result<RankCollective, ChakraFault> {
    let number = attributes.signed("comm_type")?.ok_or_else(|| attributes.missing("comm_type"))?;
    let found = usize::try_from(number).ok().and_then(|number| COLLECTIVES.get(number));
    let &(name, kind) = found.ok_or_else(|| {
        attributes.wrong("comm_type", &format!("{number}; Chakra defines 0 (ALL_REDUCE) to 9 (BARRIER)"))
    })?;
    if attributes.dimensions()?.iter().any(|involved| !involved) {
        let reason = "with a dimension left out; name the ranks by a process group (pg_name)";
        return Err(attributes.wrong("involved_dim", reason));
    }
    let bytes = match (attributes.bytes("comm_size")?, kind) {
        (_, Kind::Barrier) => 0,
        (Some(bytes), _) => bytes,
        (None, _) => return Err(attributes.missing(&format!("comm_size ({name})"))),
    };
    let root = match kind {
        Kind::Bcast | Kind::Scatter => optional_rank(attributes, "comm_src", of)?,
        Kind::Reduce | Kind::Gather => optional_rank(attributes, "comm_dst", of)?,
        _ => None,
    };
    let group = attributes.text("pg_name")?.filter(|name| !name.is_empty());
    Ok(RankCollective { kind, bytes, root, group, node: 0 })
}
