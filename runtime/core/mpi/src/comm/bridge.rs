//! Making intercommunicators (MPI 5.0 sections 7.6 and 11.10), and merging them.

use super::make::{CONTEXT_BYTES, Contributions, both_groups};
use crate::collective::agreement::{AgreedHandles, Contribution, Met};
use crate::collective::bridges::{Bridges, Key};
use crate::error::{ErrorClass, Failure, Result};
use crate::group::Group;
use crate::messages::Messages;
use crate::point_to_point::{Buffer, Peer, SendMode};
use crate::world::Mpi;
use objects::Objects;
use rank::Addr;
use std::rc::Rc;

/// `MPI_BYTE` of the standard ABI, for messages without payload.
const BYTE: usize = 0x247;

/// Buffer of the leaders' messages.
const EMPTY: Buffer = (Addr::NULL, 0, BYTE);

/// A leader of `MPI_Intercomm_create` that has sent to the other one, and waits for its message.
#[derive(Debug)]
pub struct LeadersMeeting {
    /// The request of the send.
    pub request: usize,
    /// The other leader, the tag, and the communicator that leaders alone use.
    peer: Peer,
    /// As the other side knows this meeting.
    key: Key,
    /// The context that this leader proposes.
    context: u32,
}

fn merge(
    _: &mut Bridges,
    _: &Messages,
    objects: &mut Objects,
    comm: u32,
    contributions: Contributions,
) -> Result<AgreedHandles> {
    let (one, other) = both_groups(objects, comm);
    let high =
        |member: u32| matches!(contributions.get(member as usize), Some((.., Contribution::High(true))));
    // With both sides alike MPI leaves the order open: that of the sides, which does not depend on who called
    // first.
    let (first_high, second_high) = (high(0), high(one.size()));
    let (low, up) = if first_high && !second_high { (other, one) } else { (one, other) };
    let ranks =
        (0..low.size()).map(|i| low.world_rank(i)).chain((0..up.size()).map(|i| up.world_rank(i))).collect();
    Ok(AgreedHandles::Same(objects.comms.make(Group::from_ranks(ranks), None, None)))
}

/// The two sides of `MPI_Intercomm_create` meet here: the second to come takes over the first one's context.
// An intercommunicator has one context for both sides, so that a message of one finds the receive of the
// other.
fn bridge(
    bridges: &mut Bridges,
    _: &Messages,
    objects: &mut Objects,
    comm: u32,
    contributions: Contributions,
) -> Result<AgreedHandles> {
    let found = contributions.iter().find_map(|(.., contribution)| match contribution {
        Contribution::Bridge(remote, key, context) => Some((remote.clone(), *key, *context)),
        _ => None,
    });
    let Some((remote, key, context)) = found else {
        let met = contributions.iter().find_map(|(.., contribution)| {
            if let Contribution::Met(met) = contribution { Some(met) } else { None }
        });
        if let Some(Err((class, why))) = met.map(|met| &**met) {
            return Err(Failure::new(ErrorClass(*class), &**why));
        }
        return Err(Failure::new(
            ErrorClass::RANK,
            "no member of the local communicator is the local leader: all members must pass the same \
             local_leader",
        ));
    };
    let local = local_side(objects, comm, &contributions, &remote)?;
    if context != 0 {
        return Ok(AgreedHandles::Same(objects.comms.make_side(local, remote, context)));
    }
    let handle = match bridges.meetings.remove(&key) {
        Some((Some(twin), ..)) => twin,
        _ => {
            let (mine, theirs) = objects.comms.make_inter(local, remote.clone());
            bridges.meetings.insert(key, (Some(theirs), remote));
            mine
        }
    };
    Ok(AgreedHandles::Same(handle))
}

/// Returns the group that agrees on an intercommunicator with another one.
///
/// # Errors
/// `MPI_ERR_COMM` if they have a rank in common.
fn local_side(
    objects: &Objects,
    comm: u32,
    contributions: &Contributions,
    remote: &Group,
) -> Result<Rc<Group>> {
    let communicator = objects.comms.at(comm);
    let local = if communicator.is_self {
        Group::from_ranks(vec![contributions[0].1])
    } else {
        communicator.group.clone()
    };
    if (0..local.size()).any(|i| remote.rank_of(local.world_rank(i)).is_some()) {
        return Err(Failure::new(
            ErrorClass::COMM,
            "the two groups of an intercommunicator must not have a rank in common",
        ));
    }
    Ok(local)
}

/// Makes this side's half of the intercommunicator after a root has met that of another side
/// (`MPI_Comm_accept` and its kin).
fn met(
    _: &mut Bridges,
    _: &Messages,
    objects: &mut Objects,
    comm: u32,
    contributions: Contributions,
) -> Result<AgreedHandles> {
    let found = contributions.iter().find_map(|(.., contribution)| match contribution {
        Contribution::Met(met) => Some(met.clone()),
        _ => None,
    });
    let Some(met) = found else {
        return Err(Failure::new(
            ErrorClass::ROOT,
            "no member of the communicator is the root: all members must pass the same root",
        ));
    };
    match &*met {
        Err((class, why)) => Err(Failure::new(ErrorClass(*class), &**why)),
        Ok((remote, context)) => {
            let local = local_side(objects, comm, &contributions, remote)?;
            Ok(AgreedHandles::Same(objects.comms.make_side(local, remote.clone(), *context)))
        }
    }
}

impl Mpi {
    /// Implements `MPI_Intercomm_create`. Returns the new handle.
    pub fn intercomm_create(
        &self,
        local: usize,
        local_leader: i32,
        peer: usize,
        remote_leader: i32,
        tag: i32,
    ) -> Result<usize> {
        let contribution = match self.leads(local, local_leader)? {
            None => Contribution::Nothing,
            Some(group) => match self.meet_leader(group, peer, remote_leader, tag) {
                // The others wait for this rank, and none of theirs has failed.
                Err(failure) if matches!(failure.class, ErrorClass::PROC_FAILED | ErrorClass::REVOKED) => {
                    Contribution::Met(Rc::new(Err((failure.class.0, failure.text.into()))))
                }
                met => met?,
            },
        };
        self.made(local, contribution, bridge)
    }

    /// Begins `MPI_Intercomm_create`: returns the meeting of the leaders, if the rank leads its side. The
    /// leader then receives ([`Mpi::begin_leaders_receive`]) and waits for its send, and each rank goes on
    /// with [`Mpi::begin_bridge`].
    ///
    /// # Errors
    /// As for [`Mpi::intercomm_create`].
    pub fn begin_intercomm_create(
        &self,
        local: usize,
        local_leader: i32,
        peer: usize,
        remote_leader: i32,
        tag: i32,
    ) -> Result<Option<LeadersMeeting>> {
        let group = self.leads(local, local_leader)?;
        group.map(|group| self.send_to_leader(group, peer, remote_leader, tag)).transpose()
    }

    /// Begins to receive the other leader's message: as [`Mpi::begin_receive`].
    pub fn begin_leaders_receive(&self, meeting: &LeadersMeeting) -> Result<Option<u32>> {
        self.begin_receive(EMPTY, meeting.peer)
    }

    /// Begins the agreement of a side on its intercommunicator, as [`Mpi::begin_comm_dup`]; its leader has
    /// met the other one.
    pub fn begin_bridge(&self, local: usize, meeting: Option<LeadersMeeting>) -> Result<(usize, bool)> {
        let contribution = match meeting {
            None => Contribution::Nothing,
            Some(meeting) => self.leaders_met(meeting)?,
        };
        self.begin_agreement(local, CONTEXT_BYTES, contribution, bridge)
    }

    /// Returns the group of a local communicator, if the mounted rank leads it.
    fn leads(&self, local: usize, local_leader: i32) -> Result<Option<Rc<Group>>> {
        self.intra(local, "MPI_Intercomm_create")?;
        let world = self.world();
        let me = world.messages.me();
        let communicator = world.objects.comms.get(local)?;
        communicator.peer(local_leader, me, "local_leader")?;
        let group = || if communicator.is_self { Group::of_one(me) } else { communicator.group.clone() };
        Ok((communicator.rank(me) == local_leader as u32).then(group))
    }

    /// Makes, for all members of `comm`, their half of an intercommunicator with the side that their root has
    /// `met`; the others bring nothing.
    pub(crate) fn comm_with_met(&self, comm: usize, met: Option<Met>) -> Result<usize> {
        self.made(comm, met.map_or(Contribution::Nothing, |met| Contribution::Met(Rc::new(met))), self::met)
    }

    /// Begins the agreement on an intercommunicator with the side that the root has met, as
    /// [`Mpi::begin_comm_dup`].
    pub fn begin_comm_with_met(&self, comm: usize, met: Option<Met>) -> Result<(usize, bool)> {
        let contribution = met.map_or(Contribution::Nothing, |met| Contribution::Met(Rc::new(met)));
        self.begin_agreement(comm, CONTEXT_BYTES, contribution, self::met)
    }

    /// The two leaders exchange their groups: an empty message each way, in a context of its own.
    fn meet_leader(
        &self,
        group: Rc<Group>,
        peer: usize,
        remote_leader: i32,
        tag: i32,
    ) -> Result<Contribution> {
        let meeting = self.send_to_leader(group, peer, remote_leader, tag)?;
        self.receive(EMPTY, meeting.peer)?;
        self.wait(meeting.request)?;
        self.leaders_met(meeting)
    }

    /// Sends an empty message to the other leader.
    // Real messages, for their time: the groups themselves went ahead, because an empty message has no room
    // for them.
    fn send_to_leader(
        &self,
        group: Rc<Group>,
        peer: usize,
        remote_leader: i32,
        tag: i32,
    ) -> Result<LeadersMeeting> {
        let (key, bridging, context) = {
            let world = &mut *self.world();
            let me = world.messages.me();
            let theirs = world.objects.comms.get(peer)?.peer(remote_leader, me, "remote_leader")?;
            let peer_context = world.objects.comms.get(peer)?.context;
            let key = (me, theirs, tag, peer_context);
            let bridges = &mut world.chapters.collectives.bridges;
            let context = bridges.tell_leader(&mut world.messages, &mut world.objects, key, &group);
            bridges.meetings.insert(key, (None, group));
            (key, world.objects.comms.bridge_handle(peer)?, context)
        };
        let peer = (remote_leader, tag, bridging);
        let request = self.isend(SendMode::Standard, EMPTY, peer)?;
        self.world().messages.flush_batch();
        Ok(LeadersMeeting { request, peer, key, context })
    }

    /// Returns what a leader brings that has met the other one.
    fn leaders_met(&self, meeting: LeadersMeeting) -> Result<Contribution> {
        let LeadersMeeting { key: (mine, theirs, tag, peer_context), context, .. } = meeting;
        let world = &mut *self.world();
        let bridges = &mut world.chapters.collectives.bridges;
        let Some((_, remote)) = bridges.meetings.remove(&(theirs, mine, tag, peer_context)) else {
            return Err(Failure::new(ErrorClass::INTERN, "the remote leader's group is missing"));
        };
        let context = bridges.bridge_context(&mut world.messages, (mine, theirs, tag, peer_context), context);
        Ok(Contribution::Bridge(remote, (mine.min(theirs), mine.max(theirs), !tag, peer_context), context))
    }

    /// Implements `MPI_Intercomm_merge`. Returns the new handle.
    pub fn intercomm_merge(&self, comm: usize, high: bool) -> Result<usize> {
        self.inter(comm)?;
        self.made(comm, Contribution::High(high), merge)
    }

    /// Begins `MPI_Intercomm_merge`, as [`Mpi::begin_comm_dup`].
    pub fn begin_intercomm_merge(&self, comm: usize, high: bool) -> Result<(usize, bool)> {
        self.inter(comm)?;
        self.begin_agreement(comm, CONTEXT_BYTES, Contribution::High(high), merge)
    }

    fn inter(&self, comm: usize) -> Result {
        if !self.world().objects.comms.get(comm)?.is_inter() {
            return Err(Failure::new(ErrorClass::COMM, "MPI_Intercomm_merge needs an intercommunicator"));
        }
        Ok(())
    }
}
