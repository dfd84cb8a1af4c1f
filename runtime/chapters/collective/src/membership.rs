//! Members of a communicator's collectives, and of those among a group.

use objects::Objects;
use objects::comm::Comms;
use objects::error::{ErrorClass, Failure, Result};
use objects::group::Group;
use p2p::request::{PROC_NULL, ROOT};
use std::rc::Rc;

/// The communicator or group of an instance.
#[derive(Clone)]
pub(crate) enum InstanceScope {
    /// The members of a communicator (its index).
    Comm(u32),
    /// A group whose members find each other by context, tag and first member.
    Group((u32, i32, u32), Rc<Group>),
}

/// `(members in all, this rank's number, members of the first side)` of a communicator's collectives.
// Both sides of an intercommunicator are one set of members here, the side with the lesser first rank in
// front: an algorithm between groups is a schedule as any other.
pub(crate) fn membership(objects: &Objects, comm: u32) -> (u32, u32, Option<u32>) {
    let me = objects.comms.current;
    let communicator = objects.comms.at(comm);
    if communicator.remote.is_none() {
        return (communicator.size(), communicator.rank(me), None);
    }
    let (first, second) = sides(objects, comm);
    let member = first.rank_of(me).unwrap_or_else(|| first.size() + second.rank_of(me).unwrap_or(0));
    (first.size() + second.size(), member, Some(first.size()))
}

/// The mounted rank among the members of a communicator's collectives.
#[derive(Clone, Copy)]
pub(crate) struct CallMembership {
    /// The communicator's handle, and its index.
    pub(crate) handle: usize,
    pub(crate) comm: u32,
    /// Members in all.
    pub(crate) size: u32,
    /// The rank's number among them.
    pub(crate) member: u32,
    /// Members of the first side of an intercommunicator.
    pub(crate) sides: Option<u32>,
    /// The rank in its own group.
    pub(crate) rank: u32,
    /// Ranks of the group that blocks come from and go to.
    pub(crate) peers: u32,
    /// The root's number among the members, if there is one that this member knows.
    pub(crate) root: Option<u32>,
    /// `true` if the rank is the root.
    pub(crate) is_root: bool,
    /// `true` for the root's own group in an intercommunicator, but the root (`MPI_PROC_NULL`).
    pub(crate) is_outside: bool,
}

impl CallMembership {
    /// Returns the mounted rank's part in a call without root.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`.
    #[inline]
    pub(crate) fn of(objects: &Objects, comm: usize) -> Result<CallMembership> {
        Ok(CallMembership::at(objects, comm, objects.comms.index(comm)?))
    }
    #[inline]
    fn at(objects: &Objects, handle: usize, comm: u32) -> CallMembership {
        let communicator = objects.comms.at(comm);
        let rank = communicator.rank(objects.comms.current);
        let (size, member, sides) = match communicator.remote {
            None => (communicator.size(), rank, None),
            Some(_) => membership(objects, comm),
        };
        let (peers, root, is_root, is_outside) = (communicator.peers(), None, false, false);
        CallMembership { handle, comm, size, member, sides, rank, peers, root, is_root, is_outside }
    }
    /// Returns it for a call with this root.
    ///
    /// # Errors
    /// `MPI_ERR_ROOT`.
    // Outside the root's group the root is named by its rank there (MPI 5.0 section 6.2.3); the numbers of
    // members are the same for all.
    #[inline]
    pub(crate) fn with_root(self, root: i32) -> Result<CallMembership> {
        let member = match self.sides {
            None if root >= 0 && (root as u32) < self.size => Some(root as u32),
            Some(_) if root == ROOT => Some(self.member),
            Some(_) if root == PROC_NULL => None,
            Some(first) if root >= 0 && (root as u32) < self.peers => {
                Some(if self.member < first { first + root as u32 } else { root as u32 })
            }
            _ => return Err(self.bad_root(root)),
        };
        let is_root = member == Some(self.member) && (self.sides.is_none() || root == ROOT);
        Ok(CallMembership { root: member, is_root, is_outside: member.is_none(), ..self })
    }
    #[cold]
    fn bad_root(&self, root: i32) -> Box<Failure> {
        let peers = self.peers;
        let text = format!(
            "root {root} is not a rank of the communicator, which has {peers} (0 to {})",
            i64::from(peers) - 1
        );
        Failure::new(ErrorClass::ROOT, text)
    }
    pub(crate) fn is_inter(&self) -> bool {
        self.sides.is_some()
    }
}

/// Returns the root as a member number; `None` for `MPI_PROC_NULL`.
///
/// # Errors
/// `MPI_ERR_ROOT`.
pub fn root_member(objects: &Objects, comm: u32, root: i32) -> Result<Option<u32>> {
    Ok(CallMembership::at(objects, Comms::handle(comm), comm).with_root(root)?.root)
}

/// Returns the world rank of a member of a communicator's collectives.
pub(crate) fn member_rank(objects: &Objects, place: &InstanceScope, member: u32, me: u32) -> u32 {
    let comm = match place {
        InstanceScope::Comm(comm) => *comm,
        InstanceScope::Group(_, group) => return group.world_rank(member),
    };
    let communicator = objects.comms.at(comm);
    if communicator.is_self {
        return me;
    }
    let Some(remote) = &communicator.remote else { return communicator.group.world_rank(member) };
    let (first, second) = sides(objects, comm);
    debug_assert!(remote.size() > 0);
    if member < first.size() { first.world_rank(member) } else { second.world_rank(member - first.size()) }
}

/// The groups of an intercommunicator in the order that both sides agree on: by the world rank of their first
/// member.
// Groups are disjoint, so that their first members differ and the order is total: no tie.
pub fn sides(objects: &Objects, comm: u32) -> (&Group, &Group) {
    let communicator = objects.comms.at(comm);
    let (local, remote) =
        (&*communicator.group, communicator.remote.as_deref().expect("an intercommunicator"));
    if local.world_rank(0) < remote.world_rank(0) { (local, remote) } else { (remote, local) }
}

/// Returns the object in which both sides of an intercommunicator keep their collectives.
pub(crate) fn home(objects: &Objects, comm: u32) -> u32 {
    objects.comms.twin(comm).map_or(comm, |twin| twin.min(comm))
}

/// Returns the members of a collective in their order: of an intercommunicator those of both sides.
/// O(members) there.
pub(crate) fn members_of(objects: &Objects, place: &InstanceScope) -> Rc<Group> {
    match place {
        InstanceScope::Comm(comm) if objects.comms.at(*comm).remote.is_some() => {
            let (first, second) = sides(objects, *comm);
            Group::from_ranks(first.iter().chain(second.iter()).collect())
        }
        _ => group_of(objects, place),
    }
}

/// Returns the local group of a communicator, or the group of a call among one.
pub(crate) fn group_of(objects: &Objects, place: &InstanceScope) -> Rc<Group> {
    match place {
        InstanceScope::Comm(comm) => objects.comms.at(*comm).group.clone(),
        InstanceScope::Group(_, group) => group.clone(),
    }
}
