//! Groups from groups (MPI 5.0 section 7.3.2).

use super::Group;
use crate::error::{ErrorClass, Failure, Result};
use crate::handles::RankSet;
use std::ops::Range;
use std::rc::Rc;

impl Group {
    /// Implements `MPI_Group_union`. Returns the members of `self`, then those of `other` that are not among
    /// them.
    pub fn union(self: &Rc<Group>, other: &Rc<Group>) -> Rc<Group> {
        let more: Vec<u32> = other.iter().filter(|&member| self.rank_of(member).is_none()).collect();
        if more.is_empty() {
            return self.clone();
        }
        Group::from_ranks(self.iter().chain(more).collect())
    }

    /// Implements `MPI_Group_intersection`. Returns the members of `self` that are also in `other`, in order
    /// of `self`.
    pub fn intersection(&self, other: &Group) -> Rc<Group> {
        // O(the smaller): a million ranks that each intersect the world with a few would otherwise cost a
        // million times a million.
        if other.size() < self.size() / 2 {
            // Through the smaller group, then in order of this one.
            let mut ranks: Vec<u32> = other.iter().filter_map(|member| self.rank_of(member)).collect();
            ranks.sort_unstable();
            return Group::from_ranks(ranks.into_iter().map(|rank| self.world_rank(rank)).collect());
        }
        Group::from_ranks(self.iter().filter(|&member| other.rank_of(member).is_some()).collect())
    }

    /// Implements `MPI_Group_difference`. Returns the members of `self` that are not in `other`, in order of
    /// `self`.
    pub fn difference(&self, other: &Group) -> Rc<Group> {
        Group::from_ranks(self.iter().filter(|&member| other.rank_of(member).is_none()).collect())
    }

    /// Implements `MPI_Group_incl`.
    ///
    /// # Errors
    /// `MPI_ERR_RANK` for a rank outside the group or named twice.
    pub fn incl(&self, ranks: &[i32]) -> Result<Rc<Group>> {
        let chosen = self.choose(ranks)?;
        Ok(Group::from_ranks(chosen.into_iter().map(|rank| self.world_rank(rank)).collect()))
    }

    /// Implements `MPI_Group_excl`.
    ///
    /// # Errors
    /// As for [`incl`](Self::incl).
    pub fn excl(&self, ranks: &[i32]) -> Result<Rc<Group>> {
        let mut out = self.choose(ranks)?;
        out.sort_unstable();
        // To leave the first or last few out of a regular group stays regular: no table is made for "all but
        // the root".
        if let (Some((base, step)), Some(rest)) = (self.as_range(), rest_as_range(&out, self.size())) {
            return Ok(Group::range(
                (i64::from(base) + step * i64::from(rest.start)) as u32,
                step,
                rest.end - rest.start,
            ));
        }
        let mut kept = Vec::with_capacity(self.size() as usize - out.len());
        let mut next = out.into_iter().peekable();
        kept.extend(
            (0..self.size()).filter(|rank| next.next_if_eq(rank).is_none()).map(|rank| self.world_rank(rank)),
        );
        Ok(Group::from_ranks(kept))
    }

    /// Implements `MPI_Group_range_incl`; each range is first, last, stride.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for a stride of zero, `MPI_ERR_RANK` as for [`incl`](Self::incl).
    pub fn range_incl(&self, ranges: &[[i32; 3]]) -> Result<Rc<Group>> {
        // One range of a range is a range: O(1) where the general way names each rank.
        if let &[[first, last, stride]] = ranges
            && let Some((base, step)) = self.as_range()
        {
            let count = steps(0, first, last, stride)?;
            if count > 0 {
                let (first, end) = (
                    self.check(first)?,
                    self.check((i64::from(first) + i64::from(stride) * (count - 1)) as i32)?,
                );
                debug_assert!(end < self.size());
                let world = i64::from(base) + step * i64::from(first);
                return Ok(Group::range(world as u32, step * i64::from(stride), count as u32));
            }
        }
        self.incl(&self.expand(ranges)?)
    }

    /// Implements `MPI_Group_range_excl`.
    ///
    /// # Errors
    /// As for [`range_incl`](Self::range_incl).
    pub fn range_excl(&self, ranges: &[[i32; 3]]) -> Result<Rc<Group>> {
        self.excl(&self.expand(ranges)?)
    }

    fn expand(&self, ranges: &[[i32; 3]]) -> Result<Vec<i32>> {
        let mut ranks = Vec::new();
        for (index, &[first, last, stride]) in ranges.iter().enumerate() {
            let count = steps(index, first, last, stride)?;
            if count > 0 {
                self.check(first)?;
                let end = i64::from(first) + i64::from(stride) * (count - 1);
                self.check(i32::try_from(end).unwrap_or(-1))?;
            }
            ranks.extend((0..count).map(|step| (i64::from(first) + i64::from(stride) * step) as i32));
        }
        Ok(ranks)
    }

    /// The ranks, checked; O(ranks), whatever the size of the group.
    // A set of ranks and not a bit for each member: checking three ranks of a million is three look-ups.
    fn choose(&self, ranks: &[i32]) -> Result<Vec<u32>> {
        let mut seen = RankSet::default();
        let mut chosen = Vec::with_capacity(ranks.len());
        for &rank in ranks {
            let index = self.check(rank)?;
            if !seen.insert(index) {
                return Err(Failure::new(
                    ErrorClass::RANK,
                    format!("rank {rank} is named twice; every rank may occur once"),
                ));
            }
            chosen.push(index);
        }
        Ok(chosen)
    }
}

/// Returns what is left of `0..size` without `out` (ascending), where it is one range: some of the first and
/// some of the last are out.
fn rest_as_range(out: &[u32], size: u32) -> Option<Range<u32>> {
    let front = (0..).zip(out).take_while(|(index, rank)| index == *rank).count() as u32;
    let back = (0..)
        .zip(out[front as usize..].iter().rev())
        .take_while(|(index, rank)| size - 1 - index == **rank)
        .count() as u32;
    (front + back == out.len() as u32).then(|| front..size - back)
}

/// Returns how many ranks a range names; none where it runs the wrong way.
fn steps(index: usize, first: i32, last: i32, stride: i32) -> Result<i64> {
    if stride == 0 {
        return Err(Failure::new(
            ErrorClass::ARG,
            format!("range {index} has stride 0; pass a stride that leads from {first} to {last}"),
        ));
    }
    let distance = i64::from(last) - i64::from(first);
    Ok(if distance != 0 && (distance > 0) != (stride > 0) { 0 } else { distance / i64::from(stride) + 1 })
}
