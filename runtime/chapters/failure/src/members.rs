//! Members that agree: of a communicator all, of an intercommunicator those of both sides.

use engine::record::{Put, Take};
use objects::Objects;
use objects::comm::Comm;
use objects::group::Group;
use objects::handle::COMM_NULL;
use p2p::remote::group::{put_group, take_group};
use std::rc::Rc;

/// The members of a communicator, in one order that all know.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    /// All who agree, the first side before the other.
    pub(crate) group: Rc<Group>,
    /// Number of members of the first side, for an intercommunicator.
    first: Option<u32>,
}

impl Members {
    /// Returns the members of a communicator; of `MPI_COMM_SELF` and its duplicates, whoever asks. O(members)
    /// for an intercommunicator.
    pub(crate) fn of(comm: &Comm, me: u32) -> Members {
        let Some(remote) = &comm.remote else {
            return Members {
                group: if comm.is_self { Group::of_one(me) } else { comm.group.clone() },
                first: None,
            };
        };
        // In an order on which both sides agree: their first members differ.
        let local_first = comm.group.world_rank(0) < remote.world_rank(0);
        let (first, second) = if local_first { (&comm.group, remote) } else { (remote, &comm.group) };
        Members {
            group: Group::from_ranks(first.iter().chain(second.iter()).collect()),
            first: Some(first.size()),
        }
    }

    /// Returns members that are this one rank.
    pub(crate) fn alone(rank: u32) -> Members {
        Members { group: Group::of_one(rank), first: None }
    }

    /// Returns `true` if they are of two sides.
    pub(crate) fn are_two_sides(&self) -> bool {
        self.first.is_some()
    }

    /// Returns the side of a member: 0, or 1 for the other side of an intercommunicator.
    pub(crate) fn side(&self, member: u32) -> usize {
        self.first.is_some_and(|first| member >= first).into()
    }

    /// Returns what all of a side have set, by what each member says: of an intercommunicator the members of
    /// the other side (MPICH and Open MPI have it so).
    pub(crate) fn flags(&self, said: impl Iterator<Item = (u32, i32)>) -> [i32; 2] {
        let mut flags = [!0; 2];
        for (member, flag) in said {
            let other = if self.are_two_sides() { 1 - self.side(member) } else { 0 };
            flags[other] &= flag;
        }
        flags
    }

    /// Returns who is left, by the numbers of these members.
    pub(crate) fn survivors(&self, left: impl Iterator<Item = u32>) -> Survivors {
        let mut sides = [Vec::new(), Vec::new()];
        left.for_each(|member| sides[self.side(member)].push(self.group.world_rank(member)));
        let [one, other] = sides.map(Group::from_ranks);
        Survivors { group: one, other: self.are_two_sides().then_some(other) }
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        put_group(&self.group, out);
        out.u32(self.first.unwrap_or(u32::MAX));
    }

    pub(crate) fn take(from: &mut Take) -> Members {
        let (group, first) = (take_group(from), from.u32());
        Members { group, first: (first != u32::MAX).then_some(first) }
    }
}

/// The members of a communicator that are left.
#[derive(Clone, Debug)]
pub(crate) struct Survivors {
    group: Rc<Group>,
    /// The members that are left of the other side, for an intercommunicator.
    other: Option<Rc<Group>>,
}

impl Survivors {
    /// Makes their communicator and returns its handles, as each side has it; none where nobody is left of
    /// one of two sides, as with `MPI_Comm_split`.
    pub(crate) fn make(&self, objects: &mut Objects) -> [usize; 2] {
        match &self.other {
            None => [objects.comms.make(self.group.clone(), None, None), COMM_NULL],
            Some(other) if self.group.size() == 0 || other.size() == 0 => [COMM_NULL; 2],
            Some(other) => objects.comms.make_inter(self.group.clone(), other.clone()).into(),
        }
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        put_group(&self.group, out);
        out.u8(self.other.is_some().into());
        if let Some(other) = &self.other {
            put_group(other, out);
        }
    }

    pub(crate) fn take(from: &mut Take) -> Survivors {
        let group = take_group(from);
        let other = (from.u8() != 0).then(|| take_group(from));
        Survivors { group, other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn two(first: &[u32], second: &[u32]) -> Members {
        Members { group: Group::from_ranks([first, second].concat()), first: Some(first.len() as u32) }
    }

    #[test]
    fn each_side_gets_what_all_of_the_other_say() {
        let members = two(&[3, 1], &[7, 5, 9]);
        let said = [(0, 0b1110), (1, 0b0111), (2, 0b1011), (4, 0b1001)];
        assert_eq!(members.flags(said.into_iter()), [0b1001, 0b0110]);
        assert_eq!(members.flags(said[..2].iter().copied())[0], !0, "nobody is left who has not set a bit");
        assert_eq!(Members { first: None, ..members }.flags(said.into_iter())[0], 0);
    }

    proptest! {
        #[test]
        fn survivors_keep_side_and_order_and_survive_their_way(
            first in 1u32..6,
            second in 1u32..6,
            left: u16,
        ) {
            let ranks: Vec<u32> = (0..first + second).map(|member| member * 7 % 97).collect();
            let members = two(&ranks[..first as usize], &ranks[first as usize..]);
            let left: Vec<u32> = (0..first + second).filter(|member| left >> member & 1 != 0).collect();
            let mut bytes = Vec::new();
            members.put(&mut bytes);
            members.survivors(left.iter().copied()).put(&mut bytes);
            let mut from = Take(&bytes);
            let told = Members::take(&mut from);
            let survivors = Survivors::take(&mut from);
            prop_assert!(from.is_empty() && told.group.same(&members.group) && told.first == members.first);
            let of = |side: usize| {
                left.iter()
                    .filter(|&&member| members.side(member) == side)
                    .map(|&member| ranks[member as usize])
                    .collect::<Vec<_>>()
            };
            prop_assert_eq!(survivors.group.iter().collect::<Vec<_>>(), of(0));
            prop_assert_eq!(survivors.other.map(|group| group.iter().collect::<Vec<_>>()), Some(of(1)));
        }
    }
}
