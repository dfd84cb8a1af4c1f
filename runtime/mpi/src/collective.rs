//! Collectives: an algorithm is written once as a [`schedule`], run by either executor.

pub(crate) mod agent;
pub(crate) mod agreed;
pub(crate) mod allgatherv;
pub(crate) mod alltoallv;
pub mod area;
pub(crate) mod blocks;
pub mod call;
pub(crate) mod call_id;
pub(crate) mod calls;
pub(crate) mod contributions;
pub(crate) mod entry;
pub(crate) mod executor;
pub(crate) mod functions;
pub(crate) mod gathering;
pub(crate) mod gatherv;
pub mod instance;
pub(crate) mod leave;
pub(crate) mod neighbor;
pub(crate) mod pending;
pub mod planes;
pub(crate) mod reduce_scatter;
pub(crate) mod refused;
pub(crate) mod results;
pub(crate) mod ticket;
pub(crate) mod varied;

pub use ::schedule;
pub use ::schedule::{algorithm, choose};

use crate::collective::instance::Collectives;
use crate::datatype::Datatype;
use crate::error::{ErrorClass, Failure, Result};
use crate::group::Group;
use crate::messages::Messages;
use crate::op::{Kernel, Op};
use crate::packing::Packing;
use crate::view::Extent;
use objects::Objects;
use rank::Addr;
use schedule::Kind;
use std::rc::Rc;

/// What must agree between the members of one collective call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signature {
    /// The MPI function, for messages.
    pub function: u16,
    /// Whether it is the blocking form: blocking and nonblocking calls do not match.
    pub blocking: bool,
    /// Whether it is a v or w form.
    pub irregular: bool,
    /// Which collective.
    pub kind: Kind,
    /// The root as a member number; `None` where there is none, or it is not known to this member.
    pub root: Option<u32>,
}

impl Signature {
    pub(crate) fn agrees(&self, other: &Signature) -> bool {
        self.blocking == other.blocking
            && self.kind == other.kind
            && self.irregular == other.irregular
            && (self.root.is_none() || other.root.is_none() || self.root == other.root)
    }
    pub(crate) fn describe(&self, names: &[&'static str]) -> String {
        let name = names.get(usize::from(self.function)).copied().unwrap_or("a collective");
        match self.root {
            Some(root) => format!("{name}(root={root})"),
            None => name.to_owned(),
        }
    }
}

/// A reduction: operation and datatype.
pub struct Reduction {
    /// The operation.
    pub op: Rc<Op>,
    /// The datatype of the elements.
    pub datatype: Rc<Datatype>,
    /// Its handle, as a function of the program is told it.
    pub handle: usize,
    /// How a predefined operation combines packed buffers; a program's own has none.
    pub kernel: Option<Kernel>,
}

impl Reduction {
    /// `right = left op right` with a function of the program, whose rank must be mounted. Packed on both sides;
    /// the function sees operands laid out as the datatype says.
    pub fn call(&self, left: &[u8], right: &mut Vec<u8>) {
        let Op::User(user) = &*self.op else { return };
        let datatype = &self.datatype;
        let count = right.len() as u64 / datatype.size.max(1);
        if datatype.contiguous {
            (user.call)(left.as_ptr() as usize, right.as_mut_ptr() as usize, count as i64, self.handle);
            return;
        }
        let last = datatype.extent() * (count as i64 - 1);
        let bytes = (datatype.true_extent() + last.abs()) as usize;
        let (mut a, mut b) = (vec![0u8; bytes], vec![0u8; bytes]);
        let place = |memory: &mut Vec<u8>| Addr(memory.as_mut_ptr() as usize).offset(-datatype.true_lb - last.min(0));
        let (at, bt) = (place(&mut a), place(&mut b));
        datatype.unpack(at, count, left);
        datatype.unpack(bt, count, right);
        (user.call)(at.0, bt.0, count as i64, self.handle);
        right.clear();
        datatype.pack(bt, count, right);
    }
}

/// Where a member's packed result goes.
#[derive(Default)]
pub enum Delivery {
    /// Nowhere.
    #[default]
    None,
    /// Into these extents, one behind the other.
    To(Vec<Extent>),
    /// An extent for each source; where there is none (`NOBODY`), the program's memory stays as it is.
    From(Vec<Extent>, Rc<[u32]>),
    /// The handle of a new communicator, to this address.
    Handle(Addr),
}

impl Delivery {
    /// Moves the result into the program's memory; the rank must be mounted.
    pub(crate) fn deliver(&self, output: &[u8]) {
        let (extents, sources): (_, &[u32]) = match self {
            Delivery::To(extents) => (extents, &[]),
            Delivery::From(extents, sources) => (extents, sources),
            Delivery::None | Delivery::Handle(_) => return,
        };
        let mut rest = output;
        for (index, extent) in extents.iter().enumerate() {
            let (part, behind) = rest.split_at((extent.bytes as usize).min(rest.len()));
            rest = behind;
            if sources.get(index) == Some(&schedule::NOBODY) {
                continue;
            }
            match &extent.layout {
                None => rank::memory::write(extent.buffer, part),
                Some((datatype, count)) => {
                    datatype.unpack(extent.buffer, *count, part);
                }
            }
        }
    }
}

/// What a member contributes to making a communicator.
#[derive(Clone)]
pub enum Contribution {
    /// Nothing of its own.
    Nothing,
    /// `MPI_Comm_split`: color (`None` is `MPI_UNDEFINED`) and key.
    Split(Option<i32>, i32),
    /// The group of the new communicator, of which it may be a member; a topology for it.
    Group(Rc<Group>, Option<Rc<crate::topology::Topology>>),
    /// `MPI_Intercomm_merge`: whether this side wants to be the high one.
    High(bool),
    /// `MPI_Intercomm_create`, from the leader: the remote group, under which key the two sides meet, and the context that
    /// the leaders agreed on where they are on several processes (else 0).
    Bridge(Rc<Group>, (u32, u32, i32), u32),
    /// `MPI_Dist_graph_create`: edges `(source, destination, weight)` and whether weights were given.
    Edges(Vec<(u32, u32, i32)>, bool),
    /// `MPI_Dist_graph_create_adjacent`: this rank's own neighbours.
    Adjacent(Rc<crate::topology::DistGraph>),
    /// From a member whose call was refused: there is no outcome for anybody.
    Refused,
}

/// Why a member fails that needs what a refused one would have given.
pub(crate) fn takes_part_without_data(rank: u32) -> Box<Failure> {
    let text = format!("rank {rank} of MPI_COMM_WORLD takes part without data, because its call was refused: its own error says why");
    Failure::new(ErrorClass::OTHER, text)
}

/// Why there is no outcome, if a member contributes none.
pub(crate) fn refused_among(contributions: &[(u32, u32, Contribution)]) -> Option<Box<Failure>> {
    let refused = contributions.iter().find(|(.., contribution)| matches!(contribution, Contribution::Refused));
    refused.map(|&(_, rank, _)| takes_part_without_data(rank))
}

impl From<Contribution> for crate::topology::Part {
    fn from(contribution: Contribution) -> Self {
        match contribution {
            Contribution::Edges(edges, weighted) => Self::Edges(edges, weighted),
            Contribution::Adjacent(edges) => Self::Adjacent(edges),
            _ => Self::Nothing,
        }
    }
}

/// What comes of the agreement.
pub enum Outcome {
    /// The same handle for all.
    Same(usize),
    /// A handle each, by member.
    Each(Vec<usize>),
}

impl Outcome {
    pub(crate) fn of(&self, member: u32) -> usize {
        match self {
            Outcome::Same(handle) => *handle,
            Outcome::Each(handles) => handles[member as usize],
        }
    }
}

/// Makes the outcome from all members' `(member, world rank, contribution)`, in order of members.
pub type Resolve = fn(&mut Collectives, &Messages, &mut Objects, u32, Vec<(u32, u32, Contribution)>) -> Result<Outcome>;

/// The agreement of an instance that makes a communicator.
pub(crate) struct Agreement {
    pub resolve: Resolve,
    pub contributions: Vec<(u32, u32, Contribution)>,
    pub outcome: Option<Result<Outcome>>,
}

impl Agreement {
    pub(crate) fn new(resolve: Resolve) -> Agreement {
        Agreement { resolve, contributions: Vec::new(), outcome: None }
    }
}
