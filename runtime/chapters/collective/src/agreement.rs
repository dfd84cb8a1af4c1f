//! Agreements of members on a new communicator.

use crate::bridges::{Bridges, Key};
use objects::Objects;
use objects::error::{ErrorClass, Failure, Result};
use objects::group::Group;
use p2p::Messages;
use std::mem::discriminant;
use std::rc::Rc;

/// Result of opening a file: its name on the host, or an error class and a sentence.
pub type Opened = std::result::Result<(Box<str>, u64), (i32, Box<str>)>;

/// The result of meeting another side: its group and the context that both take, or an error class and a
/// sentence.
pub type Met = std::result::Result<(Rc<Group>, u32), (i32, Box<str>)>;

/// Contribution of a member to making a communicator.
// Members decide nothing: each says what it knows, and one function makes the outcome of all. So it is the
// same on every process that gets the same list.
#[derive(Clone)]
pub enum Contribution {
    /// Nothing of its own.
    Nothing,
    /// `MPI_Comm_split`: color (`None` is `MPI_UNDEFINED`) and key.
    Split(Option<i32>, i32),
    /// The group of the new communicator, of which it may be a member; a topology for it.
    Group(Rc<Group>, Option<Rc<objects::topology::Topology>>),
    /// `MPI_Intercomm_merge`: whether this side wants to be the high one.
    High(bool),
    /// `MPI_Intercomm_create`, from the leader: the remote group, under which key the two sides meet, and the
    /// context that the leaders agreed on where they are on several processes (else 0).
    Bridge(Rc<Group>, Key, u32),
    /// `MPI_Dist_graph_create`: edges `(source, destination, weight)` and whether weights were given.
    Edges(Vec<(u32, u32, i32)>, bool),
    /// `MPI_Dist_graph_create_adjacent`: this rank's own neighbours.
    Adjacent(Rc<objects::topology::DistGraph>),
    /// `MPI_Win_create` and its like: where the member's memory begins, its bytes, its displacement unit.
    Window(u64, u64, i64),
    /// `MPI_File_open`: the access mode, and of the first member the file's name on the host or why it cannot
    /// be opened (class and sentence).
    File(i32, Rc<Opened>),
    /// `MPI_Comm_accept` and its kin, from the root: whom it has met.
    Met(Rc<Met>),
    /// From a member whose call was refused: there is no outcome for anybody.
    Refused,
}

/// Contributions of the members: `(member, world rank, contribution)`.
pub type Contributions = Vec<(u32, u32, Contribution)>;

/// Returns why a member fails that needs what a refused one would have given.
pub(crate) fn takes_part_without_data(rank: u32) -> Box<Failure> {
    let text = format!(
        "rank {rank} of MPI_COMM_WORLD takes part without data, because its call was refused: its own error \
         says why"
    );
    Failure::new(ErrorClass::OTHER, text)
}

/// Returns the reason why there is no outcome, if a member contributes none.
// The first by member number, so that all members are told the same name.
pub(crate) fn refused_among(contributions: &[(u32, u32, Contribution)]) -> Option<Box<Failure>> {
    let refused =
        contributions.iter().find(|(.., contribution)| matches!(contribution, Contribution::Refused));
    refused.map(|&(_, rank, _)| takes_part_without_data(rank))
}

/// Returns the reason why there is no outcome, if members make different things: one duplicates the
/// communicator and another splits it. Ranks of one process learn it as they enter, this is for those of
/// several.
pub(crate) fn mismatch_among(contributions: &[(u32, u32, Contribution)]) -> Option<Box<Failure>> {
    let is_leaders =
        |contribution: &Contribution| matches!(contribution, Contribution::Bridge(..) | Contribution::Met(_));
    // Of these the leader alone brings something.
    if contributions.iter().any(|(.., contribution)| is_leaders(contribution)) {
        return None;
    }
    let (_, first, brought) = contributions.first()?;
    let differs =
        |(.., contribution): &&(u32, u32, Contribution)| discriminant(contribution) != discriminant(brought);
    let (_, other, _) = contributions.iter().find(differs)?;
    let text = format!(
        "mismatched collectives: ranks {first} and {other} of MPI_COMM_WORLD make different things of one \
         communicator, as a duplicate and a split; all members must call the same collectives in the same \
         order"
    );
    Some(Failure::new(ErrorClass::OTHER, text))
}

impl From<Contribution> for objects::topology::GraphContribution {
    fn from(contribution: Contribution) -> Self {
        match contribution {
            Contribution::Edges(edges, weighted) => Self::Edges(edges, weighted),
            Contribution::Adjacent(edges) => Self::Adjacent(edges),
            _ => Self::Nothing,
        }
    }
}

/// Result of the agreement: the handle that each member gets.
pub enum AgreedHandles {
    /// One handle for all.
    Same(usize),
    /// A handle each, by member.
    Each(Vec<usize>),
}

impl AgreedHandles {
    pub(crate) fn of(&self, member: u32) -> usize {
        match self {
            AgreedHandles::Same(handle) => *handle,
            AgreedHandles::Each(handles) => handles[member as usize],
        }
    }
}

/// Makes the outcome from all members' `(member, world rank, contribution)`, in order of members.
// A plain function: it travels with no state, and every process has the same one under the call's name.
pub type Resolve =
    fn(&mut Bridges, &Messages, &mut Objects, u32, Vec<(u32, u32, Contribution)>) -> Result<AgreedHandles>;

/// The agreement of an instance that makes a communicator.
pub(crate) struct Agreement {
    pub resolve: Resolve,
    pub contributions: Vec<(u32, u32, Contribution)>,
    pub outcome: Option<Result<AgreedHandles>>,
}

impl Agreement {
    pub(crate) fn new(resolve: Resolve) -> Agreement {
        Agreement { resolve, contributions: Vec::new(), outcome: None }
    }
}
