//! Ends of a rank's epochs, and what is forgotten with them.

use crate::flying::Flying;
use crate::state::Rma;

impl Rma {
    /// Ends the epoch of the lock of one target, which is given back.
    pub(crate) fn end_lock(&mut self, win: u32, rank: u32, target: u32) {
        let Some(origin) = self.origins.get_mut((win, rank)) else { return };
        origin.locked -= 1;
        if let Some(channel) = origin.channels.remove(&target) {
            self.channels.remove(channel);
        }
        self.forget_landed((win, rank, target));
        self.forget_idle(win, rank);
    }

    /// Ends the epoch of the locks of all targets, which are given back.
    pub(crate) fn end_lock_all(&mut self, win: u32, rank: u32) {
        let Some(origin) = self.origins.get_mut((win, rank)) else { return };
        origin.locked_all = None;
        self.drop_channels(win, rank);
        self.forget_idle(win, rank);
    }

    /// Drops the channels of a rank, from which nothing more is under way.
    pub(crate) fn drop_channels(&mut self, win: u32, rank: u32) {
        let Some(origin) = self.origins.get_mut((win, rank)) else { return };
        let channels = std::mem::take(&mut origin.channels);
        for (target, channel) in channels {
            self.channels.remove(channel);
            self.forget_landed((win, rank, target));
        }
    }

    /// Forgets a rank that has nothing under way.
    pub(crate) fn forget_idle(&mut self, win: u32, rank: u32) {
        if self.origins.get((win, rank)).is_some_and(|origin| origin.is_idle()) {
            self.origins.remove((win, rank));
        }
    }

    /// Ends the epoch of `MPI_Win_start`.
    pub(crate) fn end_start(&mut self, win: u32, rank: u32) {
        let Some(origin) = self.origins.get_mut((win, rank)) else { return };
        origin.started = None;
        self.drop_channels(win, rank);
        self.forget_idle(win, rank);
    }

    /// Forgets when accesses of a channel that is removed arrived, unless more of them are under way.
    pub(crate) fn forget_landed(&mut self, key: (u32, u32, u32)) {
        if self.flying.get(&key).is_some_and(Flying::is_to_forget) {
            self.flying.remove(&key);
        }
    }
}
