//! Communicators (MPI 5.0 chapter 7).

use crate::args::{CText, Handle, InOut, Out, OutText};
use crate::call::{Call, Quick};
use crate::constants::{
    MPI_COMM_TYPE_SHARED, MPI_CONGRUENT, MPI_ERR_ARG, MPI_IDENT, MPI_MAX_OBJECT_NAME, MPI_SIMILAR,
    MPI_UNDEFINED, MPI_UNEQUAL,
};
use mpi::error::Result;
use mpi::group::GroupComparison;
use mpi::handle::COMM_NULL;
use mpi::world::World;

/// `MPI_Comm_size`.
pub fn size(c: &Call, comm: Handle, size: Out<i32>) -> Result {
    size.set(c.mpi.world().objects.comms.get(comm.0)?.size() as i32);
    Ok(())
}

/// `MPI_Comm_rank`.
pub fn rank(c: &Call, comm: Handle, rank: Out<i32>) -> Result {
    let world = c.mpi.world();
    rank.set(world.objects.comms.get(comm.0)?.rank(world.messages.me()) as i32);
    Ok(())
}

/// [`size`] of `MPI_COMM_WORLD`, where that is all ranks.
#[inline(always)]
pub fn size_quickly(world: &mut World, comm: Handle, size: Out<i32>) -> Quick {
    told(world.objects.comms.in_world(comm.0).map(|(_, ranks)| ranks), size)
}

/// [`rank()`] of `MPI_COMM_WORLD`, where that is all ranks.
#[inline(always)]
pub fn rank_quickly(world: &mut World, comm: Handle, rank: Out<i32>) -> Quick {
    told(world.objects.comms.in_world(comm.0).map(|(me, _)| me), rank)
}

#[inline(always)]
fn told(number: Option<u32>, to: Out<i32>) -> Quick {
    match number {
        Some(number) if !to.at().is_null() => {
            to.set(number as i32);
            Quick::Over
        }
        _ => Quick::Undone,
    }
}

/// `MPI_Comm_remote_size`.
pub fn remote_size(c: &Call, comm: Handle, size: Out<i32>) -> Result {
    inter(c, comm)?;
    size.set(c.mpi.world().objects.comms.get(comm.0)?.peers() as i32);
    Ok(())
}

fn inter(c: &Call, comm: Handle) -> Result {
    if c.mpi.world().objects.comms.get(comm.0)?.is_inter() {
        return Ok(());
    }
    Err(c.wrong(0, crate::constants::MPI_ERR_COMM, "it is an intracommunicator, which has no remote group"))
}

/// `MPI_Comm_test_inter`.
pub fn test_inter(c: &Call, comm: Handle, flag: Out<bool>) -> Result {
    flag.set(c.mpi.world().objects.comms.get(comm.0)?.is_inter());
    Ok(())
}

/// `MPI_Comm_group`.
pub fn group(c: &Call, comm: Handle, group: Out<Handle>) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    let communicator = world.objects.comms.get(comm.0)?;
    let members =
        if communicator.is_self { mpi::group::Group::of_one(me) } else { communicator.group.clone() };
    let made = world.objects.groups.create(me, members)?;
    if let Some(session) = world.objects.sessions.of_comm(me, comm.0) {
        world.objects.sessions.derive_group(me, made, session);
    }
    group.set(Handle(made));
    Ok(())
}

/// `MPI_Comm_remote_group`.
pub fn remote_group(c: &Call, comm: Handle, group: Out<Handle>) -> Result {
    inter(c, comm)?;
    let mut world = c.mpi.world();
    let me = world.messages.me();
    let members =
        world.objects.comms.get(comm.0)?.remote.clone().expect("checked to be an intercommunicator");
    group.set(Handle(world.objects.groups.create(me, members)?));
    Ok(())
}

/// `MPI_Comm_compare`.
pub fn compare(c: &Call, comm1: Handle, comm2: Handle, result: Out<i32>) -> Result {
    let world = c.mpi.world();
    let (one, other) = (world.objects.comms.get(comm1.0)?, world.objects.comms.get(comm2.0)?);
    let value = if comm1 == comm2 {
        MPI_IDENT
    } else if one.is_inter() != other.is_inter()
        || one.is_self != other.is_self && (one.size() != 1 || other.size() != 1)
    {
        MPI_UNEQUAL
    } else if one.is_self && other.is_self {
        MPI_CONGRUENT
    } else if one.is_self || other.is_self {
        // The one table entry of all ranks' own communicators has no group of the calling rank.
        let member = if one.is_self { other } else { one }.group.rank_of(world.messages.me());
        if member.is_some() { MPI_CONGRUENT } else { MPI_UNEQUAL }
    } else {
        let local = one.group.compare(&other.group);
        let remote = match (&one.remote, &other.remote) {
            (Some(one), Some(other)) => one.compare(other),
            _ => GroupComparison::Ident,
        };
        match (local, remote) {
            (GroupComparison::Ident, GroupComparison::Ident) => MPI_CONGRUENT,
            (GroupComparison::Unequal, _) | (_, GroupComparison::Unequal) => MPI_UNEQUAL,
            _ => MPI_SIMILAR,
        }
    };
    result.set(value);
    Ok(())
}

/// `MPI_Comm_dup`: the new one inherits error handler and, through their copy functions, attributes.
pub fn dup(c: &Call, comm: Handle, newcomm: Out<Handle>) -> Result {
    newcomm.set(Handle(COMM_NULL));
    let made = c.mpi.comm_dup(comm.0)?;
    if let Err(failure) = super::attribute::copy_comm(c, comm, Handle(made)) {
        c.mpi.release_comm(made)?;
        return Err(failure.after_entry());
    }
    newcomm.set(Handle(made));
    inherit(c, comm.0, made);
    Ok(())
}

/// `MPI_Comm_dup_with_info`.
pub fn dup_with_info(c: &Call, comm: Handle, _info: Handle, newcomm: Out<Handle>) -> Result {
    dup(c, comm, newcomm)
}

/// `MPI_Comm_idup`.
pub fn idup(c: &Call, comm: Handle, newcomm: Out<Handle>, request: Out<Handle>) -> Result {
    newcomm.set(Handle(COMM_NULL));
    request.set(Handle(c.mpi.comm_idup(comm.0, newcomm.at())?));
    Ok(())
}

/// `MPI_Comm_idup_with_info`.
pub fn idup_with_info(
    c: &Call,
    comm: Handle,
    _info: Handle,
    newcomm: Out<Handle>,
    request: Out<Handle>,
) -> Result {
    idup(c, comm, newcomm, request)
}

/// Gives a new communicator the error handler of its parent, and its session.
pub(super) fn inherit(c: &Call, parent: usize, child: usize) {
    use mpi::attribute::ObjectKind::Comm;
    if child != COMM_NULL {
        let mut world = c.mpi.world();
        let me = world.messages.me();
        world.objects.errhandlers.inherit((Comm, parent as u64, me), (Comm, child as u64, me));
        world.objects.sessions.inherit_comm(me, parent, child);
    }
}

/// `MPI_Comm_split`.
pub fn split(c: &Call, comm: Handle, color: i32, key: i32, newcomm: Out<Handle>) -> Result {
    let made = c.mpi.comm_split(comm.0, color, key)?;
    newcomm.set(Handle(made));
    inherit(c, comm.0, made);
    Ok(())
}

/// Returns `true` if an info object guides a split to the ranks that share memory (MPI 5.0 section 7.4.2).
fn asks_for_shared_memory(c: &Call, info: Handle) -> Result<bool> {
    let world = c.mpi.world();
    let Some(info) = world.objects.infos.get_optional(world.messages.me(), info.0)? else { return Ok(false) };
    Ok(info.get("mpi_hw_resource_type")? == Some("mpi_shared_memory"))
}

/// `MPI_Comm_split_type`: ranks share memory if they are on one node of the simulated machine.
pub fn split_type(
    c: &Call,
    comm: Handle,
    split_type: i32,
    key: i32,
    info: Handle,
    newcomm: Out<Handle>,
) -> Result {
    let guided = [crate::constants::MPI_COMM_TYPE_HW_GUIDED, crate::constants::MPI_COMM_TYPE_RESOURCE_GUIDED];
    let shared = split_type == MPI_COMM_TYPE_SHARED
        || (guided.contains(&split_type) && asks_for_shared_memory(c, info)?);
    let color = match split_type {
        MPI_UNDEFINED => MPI_UNDEFINED,
        _ if shared => {
            let world = c.mpi.world();
            world.messages.fabric().wire().node_of(world.messages.me()) as i32
        }
        other => {
            if other != crate::constants::MPI_COMM_TYPE_HW_UNGUIDED && !guided.contains(&other) {
                return Err(c.wrong(1, MPI_ERR_ARG, format_args!("split_type {other} is not one of MPI's")));
            }
            // The machine names no hardware below a node: nobody gets a communicator.
            MPI_UNDEFINED
        }
    };
    split(c, comm, color, key, newcomm)
}

/// `MPI_Comm_create`.
pub fn create(c: &Call, comm: Handle, group: Handle, newcomm: Out<Handle>) -> Result {
    let members = held_group(c, group)?;
    let made = c.mpi.comm_create(comm.0, members)?;
    newcomm.set(Handle(made));
    inherit(c, comm.0, made);
    Ok(())
}

/// `MPI_Comm_create_group`.
pub fn create_group(c: &Call, comm: Handle, group: Handle, tag: i32, newcomm: Out<Handle>) -> Result {
    let members = held_group(c, group)?;
    let made = c.mpi.comm_create_group(comm.0, members, tag)?;
    newcomm.set(Handle(made));
    inherit(c, comm.0, made);
    Ok(())
}

fn held_group(c: &Call, group: Handle) -> Result<std::rc::Rc<mpi::group::Group>> {
    let world = c.mpi.world();
    Ok(world.objects.groups.get(world.messages.me(), group.0)?.clone())
}

/// Returns a tag for a string: groups that make communicators at the same time have different strings.
fn tag_of(stringtag: &str) -> i32 {
    let hash = stringtag
        .bytes()
        .fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash >> 1) as i32
}

/// `MPI_Comm_create_from_group`.
pub fn create_from_group(
    c: &Call,
    group: Handle,
    stringtag: CText,
    _info: Handle,
    errhandler: Handle,
    newcomm: Out<Handle>,
) -> Result {
    let members = held_group(c, group)?;
    let made = c.mpi.comm_create_from_group(members, tag_of(&stringtag.text()))?;
    if made != COMM_NULL {
        super::errhandler::set_comm(c, Handle(made), errhandler)?;
        derive(c, group, made);
    }
    newcomm.set(Handle(made));
    Ok(())
}

/// A new communicator comes from the session that its group comes from.
fn derive(c: &Call, group: Handle, made: usize) {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.sessions.derive_comm(me, group.0, made);
}

/// `MPI_Intercomm_create_from_groups`.
#[allow(clippy::too_many_arguments)]
pub fn intercomm_create_from_groups(
    c: &Call,
    local_group: Handle,
    local_leader: i32,
    remote_group: Handle,
    remote_leader: i32,
    stringtag: CText,
    _info: Handle,
    errhandler: Handle,
    newintercomm: Out<Handle>,
) -> Result {
    let (local, remote) = (held_group(c, local_group)?, held_group(c, remote_group)?);
    let tag = tag_of(&stringtag.text());
    // Only the leader's own says who leads the other side.
    let leads = u32::try_from(local_leader).is_ok_and(|leader| local.rank_of(c.me()) == Some(leader));
    let far = u32::try_from(remote_leader)
        .ok()
        .filter(|&leader| leader < remote.size())
        .map(|leader| remote.world_rank(leader));
    let far = far.and_then(|leader| {
        c.mpi.world().objects.comms.get(mpi::handle::COMM_WORLD).ok()?.group.rank_of(leader)
    });
    if leads && far.is_none() {
        let text = format_args!(
            "remote_leader {remote_leader} is not a rank of the remote group, which has {}",
            remote.size()
        );
        return Err(c.wrong(3, crate::constants::MPI_ERR_ARG, text));
    }
    let comm = c.mpi.comm_create_from_group(local, tag)?;
    if comm == COMM_NULL {
        newintercomm.set(Handle(COMM_NULL));
        return Ok(());
    }
    let made =
        c.mpi.intercomm_create(comm, local_leader, mpi::handle::COMM_WORLD, far.unwrap_or(0) as i32, tag)?;
    c.mpi.release_comm(comm)?;
    super::errhandler::set_comm(c, Handle(made), errhandler)?;
    derive(c, local_group, made);
    newintercomm.set(Handle(made));
    Ok(())
}

/// `MPI_Intercomm_create`.
pub fn intercomm_create(
    c: &Call,
    local_comm: Handle,
    local_leader: i32,
    peer_comm: Handle,
    remote_leader: i32,
    tag: i32,
    newintercomm: Out<Handle>,
) -> Result {
    let made = c.mpi.intercomm_create(local_comm.0, local_leader, peer_comm.0, remote_leader, tag)?;
    newintercomm.set(Handle(made));
    inherit(c, local_comm.0, made);
    Ok(())
}

/// `MPI_Intercomm_merge`.
pub fn intercomm_merge(c: &Call, intercomm: Handle, high: bool, newintracomm: Out<Handle>) -> Result {
    let made = c.mpi.intercomm_merge(intercomm.0, high)?;
    newintracomm.set(Handle(made));
    inherit(c, intercomm.0, made);
    Ok(())
}

/// `MPI_Comm_free` and, as all its communication is complete by then, `MPI_Comm_disconnect`.
pub fn free(c: &Call, comm: InOut<Handle>) -> Result {
    use mpi::attribute::ObjectKind::Comm;
    let handle = comm.get();
    c.mpi.world().objects.comms.get(handle.0)?;
    super::attribute::delete_comm(c, handle)?;
    c.mpi.release_comm(handle.0)?;
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.comms.forget_name(me, handle.0);
    world.objects.sessions.forget_comm(me, handle.0);
    world.objects.errhandlers.forget((Comm, handle.0 as u64, me));
    drop(world);
    comm.set(Handle(COMM_NULL));
    Ok(())
}

/// `MPI_Comm_set_name`.
pub fn set_name(c: &Call, comm: Handle, comm_name: CText) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.comms.set_name(me, comm.0, &comm_name.name())
}

/// `MPI_Comm_get_name`.
pub fn get_name(c: &Call, comm: Handle, comm_name: OutText, resultlen: Out<i32>) -> Result {
    let world = c.mpi.world();
    let length =
        comm_name.set(world.objects.comms.name(world.messages.me(), comm.0)?, MPI_MAX_OBJECT_NAME as usize);
    resultlen.set(length as i32);
    Ok(())
}

/// `MPI_Comm_set_info`: hints are accepted and have no effect.
pub fn set_info(c: &Call, comm: Handle, _info: Handle) -> Result {
    c.mpi.world().objects.comms.get(comm.0).map(|_| ())
}

/// `MPI_Comm_get_info`: no hint is in use.
pub fn get_info(c: &Call, comm: Handle, info_used: Out<Handle>) -> Result {
    let mut world = c.mpi.world();
    world.objects.comms.get(comm.0)?;
    let me = world.messages.me();
    info_used.set(Handle(world.objects.infos.insert(me, mpi::info::Info::default())?));
    Ok(())
}

/// `MPI_Comm_get_parent`.
pub fn get_parent(c: &Call, parent: Out<Handle>) -> Result {
    parent.set(Handle(c.mpi.world().objects.comms.parent()));
    Ok(())
}
