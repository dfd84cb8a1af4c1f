//! State of windows in use: sparse, by window and rank, of those alone that have something under way.

use crate::access::{Back, Held, TargetAction, Turn, Waiting};
use crate::atomic::Bytes;
use crate::came::{Act, Came};
use crate::deferred::DeferredAccesses;
use crate::exposure::Exposure;
use crate::fence::Fence;
use crate::flying::Flying;
use crate::lock::Lock;
use crate::origin::{Channel, FetchedData, ReplyBuffer, WindowPair};
use crate::origins::{Origins, Place};
use crate::wait::Wait;
use engine::Time;
use objects::slab::Slab;
use p2p::chapter::arrivals::Arrivals;
use p2p::faults::Fault;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// One-sided accesses under way, and the epochs that they are of.
// Maps of what is under way and not tables of windows and ranks: a window of a million ranks costs its bases,
// until somebody uses it.
#[derive(Default)]
pub struct Rma {
    /// By window.
    pub(crate) fences: FxHashMap<u32, Fence>,
    /// Windows of which epochs between fences have begun for ranks, and accesses may wait for that.
    pub(crate) opened: Vec<(u32, u32)>,
    /// Ranks with an access epoch other than a fence's, or with accesses under way.
    pub(crate) origins: Origins,
    /// Ranks with an exposure epoch of `MPI_Win_post`.
    pub(crate) exposures: FxHashMap<Place, Exposure>,
    /// Targets' locks that are held or waited for.
    pub(crate) locks: FxHashMap<Place, Lock>,
    /// Memory attached to dynamic windows.
    pub(crate) attached: FxHashMap<Place, Vec<(usize, u64)>>,
    /// `MPI_Win_post` that has come, or is awaited, by window, origin, and the rank that calls it.
    pub(crate) posts: FxHashMap<(u32, u32, u32), VecDeque<Came>>,
    pub(crate) starts: FxHashMap<(u32, u32, u32), u32>,
    /// Ranks that look whether something has changed in their memory: the request for it.
    pub(crate) syncs: FxHashMap<Place, u32>,
    pub(crate) channels: Slab<Channel>,
    /// By channel, of those that have fetched.
    pub(crate) data: Vec<FetchedData>,
    pub(crate) replies: Slab<ReplyBuffer>,
    pub(crate) waits: Slab<Wait>,
    /// Other threads of its rank that wait for a channel's last answer beside the first ([`Channel::wait`]),
    /// or for its last data.
    // Beside the channels: where each rank has one thread there is never any.
    pub(crate) beside: FxHashMap<u32, Vec<u32>>,
    pub(crate) beside_data: FxHashMap<u32, Vec<u32>>,
    /// Faults of operations that have ended with an error and are not completed, by rank and a request's
    /// token.
    pub(crate) broken: FxHashMap<(u32, u32, u32), (u32, Fault)>,
    /// Ranks that have given windows back without the others, and the communicators of these.
    pub(crate) gone: FxHashSet<Place>,
    pub(crate) abandoned: FxHashSet<u32>,
    /// Accesses that a shared network carries.
    pub(crate) accesses: Slab<Held>,
    /// Accesses that are over, for the next ones: an access under way is moved from one owner to the next as
    /// a pointer.
    pub(crate) spare: Vec<Held>,
    /// Accesses that wait until nothing comes before them, by target.
    pub(crate) arrivals: Arrivals<Waiting>,
    /// Accesses to memory that only its mounted rank reaches, in the order in which they are served.
    pub(crate) pieces: Vec<DeferredAccesses>,
    /// Whose memory they touch.
    pub(crate) unreached: FxHashSet<u32>,
    /// Ranks that such an access of their own may let go on.
    pub(crate) held_back: FxHashSet<u32>,
    /// Flights that a shared network has delivered and that are not handled, with their arrivals.
    pub(crate) landed: Vec<([u32; 4], Time)>,
    /// Accesses that a shared network carries, by window, origin and target.
    // Kept as long as something is under way or its channel is there: later accesses may not overtake what
    // has landed.
    pub(crate) flying: FxHashMap<(u32, u32, u32), Flying>,
    /// Answers that a shared network carries.
    pub(crate) answers: Slab<(Back, Bytes, Act)>,
    /// `MPI_Win_post` that it carries: window, origin, and when which target called it.
    pub(crate) posting: Slab<(u32, u32, Act)>,
    /// Records of windows that this process has not made yet: context, kind, the record.
    pub(crate) early: Vec<(u32, u8, Vec<u8>)>,
    /// Accesses that each rank of the process has made, from its first on; nothing until there is one.
    // By rank and not by window: one number orders all that a rank ever sends.
    pub(crate) issued: Vec<u32>,
}

/// Accesses that are kept for reuse, at most: 8 MB.
const SPARE: usize = 1 << 16;

impl Rma {
    /// An access of the mounted rank that begins. It brings nothing and touches no memory; when it leaves and
    /// arrives is not known yet.
    // Field by field, and not as a whole that is copied.
    #[inline]
    pub(crate) fn begin(
        &mut self,
        WindowPair { win, me, to }: WindowPair,
        action: TargetAction,
        turn: Turn,
        back: Back,
    ) -> Held {
        let mut access = self.spare.pop().unwrap_or_default();
        (access.win, access.origin, access.target) = (win, me, to);
        (access.action, access.turn, access.back) = (action, turn, back);
        access.after.by = me;
        access
    }

    /// Notes that one more access of a channel brings data. It is there at `came`, if that is known. `before`
    /// comes from [`Channel::uses`].
    #[inline]
    pub(crate) fn fetches(&mut self, channel: u32, came: Option<Came>, before: u32) {
        let state = &mut self.channels[channel];
        state.fetching += 1;
        if !std::mem::replace(&mut state.fetched, true) {
            if self.data.len() <= channel as usize {
                self.data.resize(channel as usize + 1, FetchedData::NONE);
            }
            self.data[channel as usize] = FetchedData { given: before, ..FetchedData::NONE };
        }
        if let Some(came) = came {
            let data = &mut self.data[channel as usize];
            data.latest = data.latest.or_later(came);
        }
    }

    /// An access is over.
    // What has few bytes has nothing on the heap to be given back.
    #[inline]
    pub(crate) fn end(&mut self, mut access: Held) {
        if access.place.blocks.is_some() || access.data.spilled() {
            (access.place.blocks, access.data) = (None, Bytes::new());
        }
        if self.spare.len() < SPARE {
            access.data.clear();
            access.void = false;
            self.spare.push(access);
        }
    }

    /// Forgets a window that all members of the process have given back: nothing of it is left.
    pub fn forget(&mut self, win: u32) {
        self.fences.remove(&win);
        self.origins.forget(win);
        self.exposures.retain(|place, _| place.0 != win);
        self.locks.retain(|place, _| place.0 != win);
        self.attached.retain(|place, _| place.0 != win);
        self.posts.retain(|key, _| key.0 != win);
        self.flying.retain(|key, flying| key.0 != win || !flying.queue.is_empty());
        let void = |access: &mut Held| access.void |= access.win == win;
        self.accesses.iter_mut().for_each(void);
        // A short one is awaited by the end of its epoch, before which no window is given back.
        self.arrivals.for_each(|waiting| {
            if let Waiting::Any(access) = waiting {
                void(access);
            }
        });
    }
}
