//! Which matches are held ([`HeldMatches`](crate::held::HeldMatches)), and when their senders are told.

use crate::envelope::Transit;
use crate::held::HeldMatch;
use crate::messages::Messages;
use crate::node::flag;
use engine::Time;

impl Messages {
    /// Whether the sender of a message that the receive `index` of rank `to` meets at `met` must not know of it yet.
    // On a shared network matches come in the order of time by themselves. Where ranks fail all are held: the receiver may fail before.
    #[inline]
    pub(crate) fn is_held(&self, to: u32, index: u32, met: Time) -> bool {
        self.faults.is_some()
            || self.held.cancels
                && !self.by_time()
                && met > self.clock(to)
                && self.nodes[index].flags & (flag::WAITED | flag::ORPHAN | flag::TRUNCATED) == 0
    }

    /// Keeps a match back; answers when the payload arrives.
    // All times are known: what is held is nothing but the news.
    #[cold]
    pub(crate) fn hold_match(&mut self, to: u32, index: u32, posted_at: Time, bytes: u64, transit: Transit) -> Time {
        let met = transit.arrival.max(posted_at);
        self.held.all.insert((to, met, self.nodes[index].source, index), HeldMatch { posted_at, bytes, transit });
        self.mark_dirty(to);
        self.payload_arrival(to, met, bytes, transit)
    }

    /// The first match of `rank` that is held: when, from what source, of what receive.
    #[inline]
    pub fn first_held(&self, rank: u32) -> Option<(Time, u32, u32)> {
        if self.held.all.is_empty() {
            return None;
        }
        let mut of_rank = self.held.all.range((rank, Time::ZERO, 0, 0)..=(rank, Time::MAX, u32::MAX, u32::MAX));
        of_rank.next().map(|(&(_, met, source, receive), _)| (met, source, receive))
    }

    /// Tells the sender of a held match.
    pub fn tell_held(&mut self, rank: u32, met: Time, source: u32, receive: u32) {
        if let Some(HeldMatch { posted_at, bytes, transit }) = self.held.all.remove(&(rank, met, source, receive)) {
            self.handshake(rank, posted_at, bytes, transit);
            self.mark_dirty(rank);
        }
    }

    /// Tells the senders of all held matches that their receivers' clocks have passed; whether there were any.
    pub fn tell_passed(&mut self) -> bool {
        if self.held.all.is_empty() || self.faults.is_some() {
            return false;
        }
        let passed: Vec<_> = self.held.all.keys().filter(|(rank, met, ..)| *met <= self.clock(*rank)).copied().collect();
        passed.iter().for_each(|&(rank, met, source, receive)| self.tell_held(rank, met, source, receive));
        !passed.is_empty()
    }

    /// Takes the match of a receive out, which its rank gives back before the message arrives; none if it is not held, or the message has arrived.
    pub fn take_held(&mut self, rank: u32, receive: u32) -> Option<HeldMatch> {
        let key = *self.held.all.keys().find(|(owner, met, _, index)| (*owner, *index) == (rank, receive) && *met > self.clock(rank))?;
        self.held.all.remove(&key)
    }

    /// Takes the match of a receive out, if it is held; its sender will not be told.
    pub(crate) fn unhold(&mut self, rank: u32, receive: u32) -> Option<HeldMatch> {
        let of_rank = (rank, Time::ZERO, 0, 0)..=(rank, Time::MAX, u32::MAX, u32::MAX);
        let key = *self.held.all.range(of_rank).find(|((.., index), _)| *index == receive)?.0;
        self.held.all.remove(&key)
    }

    /// Takes the first match out that is held for a rank; its sender will not be told.
    pub(crate) fn unhold_first(&mut self, rank: u32) -> Option<HeldMatch> {
        let (met, source, receive) = self.first_held(rank)?;
        self.held.all.remove(&(rank, met, source, receive))
    }
}
