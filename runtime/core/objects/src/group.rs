//! Groups (MPI 5.0 section 7.3): ordered sets of world ranks.
//!
//! A group is immutable and shared. Regular groups (the world, the rows and columns of a grid) are arithmetic
//! progressions of a few words. Others refer to a table that the groups of one split share, so that splitting
//! n ranks costs O(n) for all of the groups together.

mod registry;
mod set;
#[cfg(test)]
mod tests;

pub use registry::{GROUP_EMPTY, GROUP_NULL, GroupRegistry};

use crate::abi;
use crate::error::{ErrorClass, Failure, Result};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use std::rc::Rc;

/// `MPI_UNDEFINED`
pub const UNDEFINED: i32 = abi::MPI_UNDEFINED;
/// `MPI_PROC_NULL`
pub const PROC_NULL: i32 = abi::MPI_PROC_NULL;

/// Answer of a comparison, with the standard ABI's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum GroupComparison {
    /// `MPI_IDENT`: the same members in the same order (of communicators: the same one).
    Ident = abi::MPI_IDENT,
    /// `MPI_CONGRUENT`: communicators with identical groups.
    Congruent = abi::MPI_CONGRUENT,
    /// `MPI_SIMILAR`: the same members in another order.
    Similar = abi::MPI_SIMILAR,
    /// `MPI_UNEQUAL`
    Unequal = abi::MPI_UNEQUAL,
}

// A table is cut out of one that all groups of a split share: n ranks in any number of groups take 4 n bytes.
#[derive(Debug)]
enum Members {
    /// `first`, `first + stride`, ...
    Range { first: u32, stride: i64 },
    /// `table[start..]`
    Table {
        table: Rc<[u32]>,
        start: u32,
        inverse: OnceCell<Inverse>,
        hash: OnceCell<u64>,
        on_node: OnceCell<u32>,
    },
}

/// From world rank to rank in the group.
// Made when it is first asked for: many groups are made only to make a communicator of them, and never asked.
#[derive(Debug)]
enum Inverse {
    /// The table ascends: search it.
    Ascending,
    /// By world rank minus the least; `u32::MAX` for no member.
    Dense {
        least: u32,
        ranks: Box<[u32]>,
    },
    Sparse(FxHashMap<u32, u32>),
}

/// An ordered set of world ranks.
#[derive(Debug)]
pub struct Group {
    members: Members,
    size: u32,
}

impl Group {
    /// Makes the group of `count` world ranks from `first` on, `stride` (not 0) apart.
    pub fn range(first: u32, stride: i64, count: u32) -> Rc<Group> {
        debug_assert!(stride != 0 && (count == 0 || i64::from(first) + stride * (i64::from(count) - 1) >= 0));
        // One form for each set: `same` compares first and stride.
        let (first, stride) = match count {
            0 => (0, 1),
            1 => (first, 1),
            _ => (first, stride),
        };
        Rc::new(Group { members: Members::Range { first, stride }, size: count })
    }

    /// Returns the group of `MPI_COMM_WORLD`.
    pub fn world(size: u32) -> Rc<Group> {
        Group::range(0, 1, size)
    }

    /// Returns the group of `MPI_COMM_SELF`.
    pub fn of_one(world_rank: u32) -> Rc<Group> {
        Group::range(world_rank, 1, 1)
    }

    /// Returns `MPI_GROUP_EMPTY`.
    pub fn empty() -> Rc<Group> {
        Group::range(0, 1, 0)
    }

    /// The world ranks in this order; all different.
    // Looked at once, so that whatever is regular is a few words however it was made, and equal groups have
    // one form.
    pub fn from_ranks(ranks: Vec<u32>) -> Rc<Group> {
        let size = ranks.len() as u32;
        match progression(&ranks) {
            Some((first, stride)) => Group::range(first, stride, size),
            None => Group::from_table(ranks.into(), 0, size),
        }
    }

    /// Returns the world ranks `table[start..start + size]`, all different: for splits, whose groups
    /// share one table. Regular ones do not keep the table.
    pub fn from_table(table: Rc<[u32]>, start: u32, size: u32) -> Rc<Group> {
        match progression(&table[start as usize..][..size as usize]) {
            Some((first, stride)) => Group::range(first, stride, size),
            None => {
                let (inverse, hash, on_node) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
                let members = Members::Table { table, start, inverse, hash, on_node };
                Rc::new(Group { members, size })
            }
        }
    }

    /// Returns how many consecutive members share a node of `node` consecutive world ranks, if that is the
    /// same for all nodes but the last; else 1. O(1) for regular groups, O(members) once for others.
    pub fn on_node(&self, node: u32) -> u32 {
        match &self.members {
            Members::Range { first, stride } => match u32::try_from(*stride) {
                Ok(stride) if node.is_multiple_of(stride) && first % node < stride => node / stride,
                _ => 1,
            },
            Members::Table { on_node, .. } => *on_node.get_or_init(|| {
                let nodes: Vec<u32> = self.iter().map(|rank| rank / node).collect();
                let count = nodes.iter().take_while(|&&of| of == nodes[0]).count();
                let even = nodes.chunks(count).all(|chunk| chunk.iter().all(|&of| of == chunk[0]));
                let ascend = nodes.chunks(count).map(|chunk| chunk[0]).is_sorted_by(|one, next| one < next);
                if even && ascend { count as u32 } else { 1 }
            }),
        }
    }

    /// Returns the first `count` members, at most its size; O(1) for regular groups.
    pub fn prefix(&self, count: u32) -> Rc<Group> {
        match &self.members {
            Members::Range { first, stride } => Group::range(*first, *stride, count),
            Members::Table { table, start, .. } => Group::from_table(table.clone(), *start, count),
        }
    }

    /// Returns `true` if all members are in `other`; O(1) for consecutive ranks, so that a million ranks may
    /// ask.
    pub fn is_within(&self, other: &Group) -> bool {
        let consecutive = |group: &Group| matches!(group.members, Members::Range { stride: 1, .. });
        if self.size > 0 && consecutive(self) && consecutive(other) {
            return other.rank_of(self.world_rank(0)).is_some()
                && other.rank_of(self.world_rank(self.size - 1)).is_some();
        }
        (0..self.size).all(|rank| other.rank_of(self.world_rank(rank)).is_some())
    }

    /// Returns how many members there are.
    #[inline]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns the world rank of member `rank`, which must be less than the size; O(1).
    #[inline]
    pub fn world_rank(&self, rank: u32) -> u32 {
        debug_assert!(rank < self.size);
        match &self.members {
            Members::Range { first, stride } => (i64::from(*first) + stride * i64::from(rank)) as u32,
            Members::Table { table, start, .. } => table[(start + rank) as usize],
        }
    }

    /// Returns the first world rank of a group whose world ranks follow one another.
    #[inline]
    pub fn consecutive(&self) -> Option<u32> {
        match self.members {
            Members::Range { first, stride: 1 } => Some(first),
            _ => None,
        }
    }

    /// The rank of a world rank in this group; O(1), after O(size) once for an irregular group.
    // The world and its halves, which nearly every call is about, without a call of a function.
    // A wrapping subtraction and one comparison tell ranks below the first from members as well.
    #[inline]
    pub fn rank_of(&self, world_rank: u32) -> Option<u32> {
        if let Members::Range { first, stride: 1 } = self.members {
            let rank = world_rank.wrapping_sub(first);
            return (rank < self.size).then_some(rank);
        }
        self.find_rank_of(world_rank)
    }

    fn find_rank_of(&self, world_rank: u32) -> Option<u32> {
        match &self.members {
            Members::Range { first, stride } => {
                let distance = i64::from(world_rank) - i64::from(*first);
                let rank = distance / stride;
                (distance % stride == 0 && rank >= 0 && rank < i64::from(self.size)).then_some(rank as u32)
            }
            Members::Table { inverse, .. } => {
                let table = self.table();
                match inverse.get_or_init(|| invert(table)) {
                    Inverse::Ascending => table.binary_search(&world_rank).ok().map(|rank| rank as u32),
                    Inverse::Dense { least, ranks } => ranks
                        .get(world_rank.checked_sub(*least)? as usize)
                        .copied()
                        .filter(|&rank| rank != u32::MAX),
                    Inverse::Sparse(ranks) => ranks.get(&world_rank).copied(),
                }
            }
        }
    }

    /// Returns the world ranks in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        (0..self.size).map(|rank| self.world_rank(rank))
    }

    /// Returns the first world rank and stride, where the group is an arithmetic progression.
    pub fn as_range(&self) -> Option<(u32, i64)> {
        match self.members {
            Members::Range { first, stride } => Some((first, stride)),
            Members::Table { .. } => None,
        }
    }

    /// Returns how many members are among the `count` world ranks from `first` on; O(1) for neighbouring
    /// ranks, else O(size).
    pub fn members_between(&self, first: u32, count: u32) -> u32 {
        let end = u64::from(first) + u64::from(count);
        match self.as_range() {
            Some((start, 1)) => {
                let (from, to) = (
                    u64::from(start).max(first.into()),
                    (u64::from(start) + u64::from(self.size())).min(end),
                );
                to.saturating_sub(from) as u32
            }
            _ => self.iter().filter(|&rank| rank >= first && u64::from(rank) < end).count() as u32,
        }
    }

    fn table(&self) -> &[u32] {
        match &self.members {
            Members::Table { table, start, .. } => &table[*start as usize..][..self.size as usize],
            Members::Range { .. } => &[],
        }
    }

    /// Returns `true` if both have the same members in the same order.
    // O(1) for ranges, and O(size) for tables: the hash was compared before, so that few are.
    pub fn same(&self, other: &Group) -> bool {
        if self.size != other.size || std::ptr::eq(self, other) {
            return self.size == other.size;
        }
        // Regular members always become ranges, so the forms agree where the groups do.
        match (&self.members, &other.members) {
            (Members::Range { first: a, stride: x }, Members::Range { first: b, stride: y }) => {
                a == b && x == y
            }
            (Members::Table { .. }, Members::Table { .. }) => self.table() == other.table(),
            _ => false,
        }
    }

    /// Implements `MPI_Group_compare`.
    pub fn compare(&self, other: &Group) -> GroupComparison {
        if self.same(other) {
            GroupComparison::Ident
        } else if self.size == other.size && self.iter().all(|member| other.rank_of(member).is_some()) {
            GroupComparison::Similar
        } else {
            GroupComparison::Unequal
        }
    }

    /// Implements `MPI_Group_translate_ranks` for one rank: `MPI_PROC_NULL` stays, a stranger is
    /// `MPI_UNDEFINED`.
    ///
    /// # Errors
    /// `MPI_ERR_RANK` for a rank outside this group.
    pub fn translate(&self, rank: i32, other: &Group) -> Result<i32> {
        if rank == PROC_NULL {
            return Ok(PROC_NULL);
        }
        let rank = self.check(rank)?;
        Ok(other.rank_of(self.world_rank(rank)).map_or(UNDEFINED, |rank| rank as i32))
    }

    /// Returns a rank argument as a member's index.
    ///
    /// # Errors
    /// `MPI_ERR_RANK` for a rank outside this group.
    pub fn check(&self, rank: i32) -> Result<u32> {
        match u32::try_from(rank) {
            Ok(rank) if rank < self.size => Ok(rank),
            _ => Err(Failure::new(
                ErrorClass::RANK,
                format!("rank {rank} is not in a group of {}; ranks are from 0 to size - 1", self.size),
            )),
        }
    }
}

/// Returns the first member and stride of an arithmetic progression (an empty or single one has stride 1);
/// `None` if the ranks are none.
fn progression(ranks: &[u32]) -> Option<(u32, i64)> {
    match ranks {
        [] => Some((0, 1)),
        [first] => Some((*first, 1)),
        [first, second, ..] => {
            let stride = i64::from(*second) - i64::from(*first);
            let regular = |pair: &[u32]| i64::from(pair[1]) - i64::from(pair[0]) == stride;
            ranks.windows(2).all(regular).then_some((*first, stride))
        }
    }
}

fn invert(table: &[u32]) -> Inverse {
    let (least, most) = (table.iter().min().copied().unwrap_or(0), table.iter().max().copied().unwrap_or(0));
    let span = (most - least) as usize + 1;
    // A look-up in an array is one cache miss, and at this density takes no more memory than a hash map.
    if span <= 4 * table.len() + 64 {
        let mut ranks = vec![u32::MAX; span].into_boxed_slice();
        for (rank, member) in (0..).zip(table) {
            ranks[(member - least) as usize] = rank;
        }
        Inverse::Dense { least, ranks }
    } else if table.is_sorted() {
        Inverse::Ascending
    } else {
        Inverse::Sparse((0..).zip(table).map(|(rank, &member)| (member, rank)).collect())
    }
}
