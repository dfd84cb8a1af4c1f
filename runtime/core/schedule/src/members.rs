//! Questions of the planes about the members of a collective.

use crate::{Blocks, Direct, Kind, Member, Shape};
use std::rc::Rc;

/// The members of a collective that are all in: what each of them sends and expects. A [`Shape`] is one whose
/// blocks all members know.
// The planes ask instead of being handed descriptions: of a million members one is described at a time, in
// one place.
pub trait Members {
    /// Returns what is the same for all members: member 0, or any other.
    fn prototype(&self) -> Member;
    /// Says of `member`, whose `rank` is set and whose other fields may be those of any member, what differs
    /// from member to member.
    // Into a member that is there: most shapes have nothing to say, and then nothing is copied.
    fn describe(&self, _member: &mut Member) {}
    /// Returns the packed bytes that a member gets.
    fn output(&self, rank: u32) -> u64;
    /// Returns `true` if [`received`](Members::received) and [`sources`](Members::sources) tell all about a
    /// direct round. Where they do not, the round is made in its steps.
    fn knows(&self, _direct: Direct) -> bool {
        false
    }
    /// Returns the bytes of the block that `to` gets from `from` in a direct round.
    fn received(&self, _to: u32, _from: u32) -> u64 {
        0
    }
    /// Lists the neighbours that send to `to` in a direct round among neighbours, and how many bytes;
    /// replaces what `list` has.
    fn sources(&self, _to: u32, list: &mut Vec<(u32, u64)>) {
        list.clear();
    }
}

/// Returns the members without neighbours that have these blocks.
pub fn member_of(rank: u32, send: Blocks, receive: Blocks) -> Member {
    let none: Rc<[u32]> = Rc::new([]);
    Member { rank, send, receive, sources: none.clone(), destinations: none }
}

impl Shape {
    /// Returns the bytes of the block that a member sends or keeps, where blocks do not differ from member to
    /// member.
    pub fn block(&self) -> u64 {
        match self.kind {
            Kind::ReduceScatter => self.bytes / u64::from(self.size),
            _ => self.bytes,
        }
    }
}

impl Members for Shape {
    fn prototype(&self) -> Member {
        member_of(0, Blocks::Uniform(self.block()), Blocks::Uniform(self.block()))
    }
    fn output(&self, rank: u32) -> u64 {
        let (all, root) = (u64::from(self.size) * self.bytes, rank == self.root);
        match self.kind {
            Kind::Bcast => self.bytes * u64::from(!root),
            Kind::Gather => all * u64::from(root),
            Kind::Reduce => self.bytes * u64::from(root),
            Kind::Allgather | Kind::Alltoall => all,
            Kind::Barrier | Kind::Agree | Kind::Neighbor => 0,
            Kind::Scatter | Kind::Allreduce | Kind::ReduceScatter | Kind::Scan | Kind::Exscan => self.block(),
        }
    }
    fn knows(&self, direct: Direct) -> bool {
        !matches!(direct, Direct::Neighbors)
    }
    #[inline]
    fn received(&self, _to: u32, _from: u32) -> u64 {
        self.bytes
    }
}
