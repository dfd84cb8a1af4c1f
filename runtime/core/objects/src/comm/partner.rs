//! The partner of a message, which each asks of its communicator: the context, who it goes to or comes from,
//! and who its own rank is there.

use super::Comms;
use crate::error::Result;
use crate::handle::COMM_WORLD;

/// The communicator in which a rank sent last, as far as sends need it, if its world ranks follow one
/// another: whoever sends in one mostly goes on in it.
// One entry for the whole process: ranks run long enough between switches that its owner is mostly the one
// who asks again.
#[derive(Clone, Copy)]
pub(super) struct Recent {
    handle: usize,
    /// The rank.
    owner: u32,
    context: u32,
    /// The owner's number in it.
    me: u32,
    /// The ranks: how many, and the world rank of the first.
    size: u32,
    first: u32,
}

/// A communicator whose ranks follow one another among all, as one of them sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Consecutive {
    /// The context.
    pub context: u32,
    /// The rank's number in it.
    pub me: u32,
    /// The ranks: how many, and the world rank of the first.
    pub size: u32,
    /// See `size`.
    pub first: u32,
}

impl Recent {
    pub(super) const NONE: Recent =
        Recent { handle: 0, owner: u32::MAX, context: 0, me: 0, size: 0, first: 0 };
}

impl Comms {
    /// Returns another rank of a communicator, as a destination or source: the context, the mounted rank's
    /// number there, the other's world rank.
    pub fn partner(&self, handle: usize, rank: i32, what: &str) -> Result<(u32, u32, u32)> {
        let comm = self.get(handle)?;
        let to = comm.peer(rank, self.current, what)?;
        Ok((comm.context, comm.rank(self.current), to))
    }
    /// Returns the context of a communicator in which `source` is a rank to receive from.
    pub fn context_from(&self, handle: usize, source: i32) -> Result<u32> {
        let comm = self.get(handle)?;
        comm.check_peer(source, "source")?;
        Ok(comm.context)
    }
    /// [`Comms::partner`], if handle and rank are right.
    // `None` for whatever is not plain, errors too: they are found again, and told, by `partner`.
    #[inline(always)]
    pub fn known_partner(&self, handle: usize, rank: i32) -> Option<(u32, u32, u32)> {
        // Most messages are of the one communicator of which all this is known.
        if handle == COMM_WORLD {
            if (rank as u32) < self.ranks {
                return Some((0, self.current, rank as u32));
            }
            return if self.world == 0 { None } else { self.find_partner(handle, rank) };
        }
        let recent = self.recent.get();
        if handle == recent.handle && self.current == recent.owner {
            return ((rank as u32) < recent.size).then_some((
                recent.context,
                recent.me,
                recent.first + rank as u32,
            ));
        }
        self.find_partner(handle, rank)
    }
    #[inline(never)]
    fn find_partner(&self, handle: usize, rank: i32) -> Option<(u32, u32, u32)> {
        // No rank is a usual thing to send to, and makes no sentence here.
        if rank < 0 {
            return None;
        }
        let found = self.partner(handle, rank, "").ok()?;
        let comm = self.get(handle).ok()?;
        if !comm.is_self
            && !comm.is_inter()
            && let Some(first) = comm.group.consecutive()
        {
            let (context, me, _) = found;
            self.recent.set(Recent { handle, owner: self.current, context, me, size: comm.size(), first });
        }
        Some(found)
    }
    /// Returns [`Comms::context_from`], if handle and rank are right.
    #[inline(always)]
    pub fn known_context(&self, handle: usize, source: i32) -> Option<u32> {
        if handle == COMM_WORLD && (source as u32) < self.ranks {
            return Some(0);
        }
        self.known_partner(handle, source).map(|(context, ..)| context)
    }
    /// The mounted rank's number in a communicator, and how many ranks its messages can go to there; `None`
    /// if it has no such communicator.
    // Of the one that the last message was of, as most are, without looking it up.
    #[inline]
    pub fn position(&self, handle: usize) -> Option<(u32, u32)> {
        let recent = self.recent.get();
        if handle == recent.handle && self.current == recent.owner {
            return Some((recent.me, recent.size));
        }
        let comm = self.get(handle).ok()?;
        Some((comm.rank(self.current), comm.peers()))
    }
    /// Returns the mounted rank's number in a communicator and how many ranks that has, if it is
    /// `MPI_COMM_WORLD` and all ranks are in it.
    #[inline(always)]
    pub fn in_world(&self, handle: usize) -> Option<(u32, u32)> {
        (handle == COMM_WORLD && self.ranks != 0).then_some((self.current, self.ranks))
    }
    /// Returns what all messages of the mounted rank in a communicator have in common, if its ranks follow
    /// one another; `None` of all others, and of what is none.
    #[inline]
    pub fn consecutive(&self, handle: usize) -> Option<Consecutive> {
        if handle == COMM_WORLD && self.ranks != 0 {
            return Some(Consecutive { context: 0, me: self.current, size: self.ranks, first: 0 });
        }
        if (self.recent.get().handle, self.recent.get().owner) != (handle, self.current) {
            self.find_partner(handle, 0)?;
        }
        let Recent { handle: known, owner, context, me, size, first } = self.recent.get();
        (handle == known && owner == self.current).then_some(Consecutive { context, me, size, first })
    }
}
