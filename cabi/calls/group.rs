//! Groups (MPI 5.0 section 7.3).

use crate::args::{Handle, InOut, Ints, Out, Ranges};
use crate::call::Call;
use crate::constants::MPI_UNDEFINED;
use mpi::error::Result;
use mpi::group::{GROUP_NULL, Group};
use smallvec::SmallVec;
use std::rc::Rc;

/// Returns the group behind a handle that the calling rank has.
pub fn get(c: &Call, group: Handle) -> Result<Rc<Group>> {
    let world = c.mpi.world();
    world.objects.groups.get(world.messages.me(), group.0).cloned()
}

/// A new group, made of these.
fn give(c: &Call, from: &[Handle], newgroup: Out<Handle>, group: Rc<Group>) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    let made = world.objects.groups.create(me, group)?;
    world.objects.sessions.inherit_group(
        me,
        &from.iter().map(|group| group.0).collect::<SmallVec<[usize; 2]>>(),
        made,
    );
    newgroup.set(Handle(made));
    Ok(())
}

/// `MPI_Group_size`.
pub fn size(c: &Call, group: Handle, size: Out<i32>) -> Result {
    size.set(get(c, group)?.size() as i32);
    Ok(())
}

/// `MPI_Group_rank`.
pub fn rank(c: &Call, group: Handle, rank: Out<i32>) -> Result {
    rank.set(get(c, group)?.rank_of(c.mpi.world().messages.me()).map_or(MPI_UNDEFINED, |rank| rank as i32));
    Ok(())
}

/// `MPI_Group_translate_ranks`.
pub fn translate_ranks(
    c: &Call,
    group1: Handle,
    n: i32,
    ranks1: Ints,
    group2: Handle,
    ranks2: Ints,
) -> Result {
    let (from, to) = (get(c, group1)?, get(c, group2)?);
    for i in 0..n as usize {
        ranks2.set(i, from.translate(ranks1.get(i), &to)?);
    }
    Ok(())
}

/// `MPI_Group_compare`.
pub fn compare(c: &Call, group1: Handle, group2: Handle, result: Out<i32>) -> Result {
    result.set(get(c, group1)?.compare(&*get(c, group2)?) as i32);
    Ok(())
}

/// `MPI_Group_union`.
pub fn union(c: &Call, group1: Handle, group2: Handle, newgroup: Out<Handle>) -> Result {
    give(c, &[group1, group2], newgroup, get(c, group1)?.union(&get(c, group2)?))
}

/// `MPI_Group_intersection`.
pub fn intersection(c: &Call, group1: Handle, group2: Handle, newgroup: Out<Handle>) -> Result {
    give(c, &[group1, group2], newgroup, get(c, group1)?.intersection(&*get(c, group2)?))
}

/// `MPI_Group_difference`.
pub fn difference(c: &Call, group1: Handle, group2: Handle, newgroup: Out<Handle>) -> Result {
    give(c, &[group1, group2], newgroup, get(c, group1)?.difference(&*get(c, group2)?))
}

/// `MPI_Group_incl`.
pub fn incl(c: &Call, group: Handle, n: i32, ranks: Ints, newgroup: Out<Handle>) -> Result {
    give(c, &[group], newgroup, get(c, group)?.incl(&ranks.to_vec(n as usize))?)
}

/// `MPI_Group_excl`.
pub fn excl(c: &Call, group: Handle, n: i32, ranks: Ints, newgroup: Out<Handle>) -> Result {
    give(c, &[group], newgroup, get(c, group)?.excl(&ranks.to_vec(n as usize))?)
}

fn list(ranges: Ranges, n: i32) -> Vec<[i32; 3]> {
    (0..n as usize).map(|i| ranges.get(i)).collect()
}

/// `MPI_Group_range_incl`.
pub fn range_incl(c: &Call, group: Handle, n: i32, ranges: Ranges, newgroup: Out<Handle>) -> Result {
    give(c, &[group], newgroup, get(c, group)?.range_incl(&list(ranges, n))?)
}

/// `MPI_Group_range_excl`.
pub fn range_excl(c: &Call, group: Handle, n: i32, ranges: Ranges, newgroup: Out<Handle>) -> Result {
    give(c, &[group], newgroup, get(c, group)?.range_excl(&list(ranges, n))?)
}

/// `MPI_Group_free`.
pub fn free(c: &Call, group: InOut<Handle>) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.groups.free(me, group.get().0)?;
    group.set(Handle(GROUP_NULL));
    Ok(())
}
