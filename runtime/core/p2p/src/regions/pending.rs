//! What the operations of a rank touch that are under way.

use super::index::{Entry, Index, What};
use super::{Region, Regions};
use recorder::Touch;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// An operation that the program has a request for, but for those of which a region of the index says all.
struct Operation<W> {
    who: W,
    persistent: bool,
    /// `true` if it has been started and is not complete.
    active: bool,
    regions: Regions,
}

/// The state of a request that a program waits for or tests, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub enum Known<W> {
    /// It is no request of an operation.
    Nothing,
    /// The operation touches all bytes from the first one, one past the last, and nothing else.
    Plain(W, (usize, usize), Touch),
    /// There is more to be said of it than who made it.
    More(W),
}

/// From so many regions on it is kept where requests' regions begin; up to that they are looked through.
const MIN_INDEXED: usize = 64;

/// The operations of a rank that it has requests for, and who (`W`) made them.
// A message has one region without gaps, and its request is completed in the order in which it was made:
// nothing is kept of it but that region, which is found without hashing. All else is looked up by the
// request.
pub struct Pending<W> {
    operations: FxHashMap<usize, Operation<W>>,
    index: Index<W>,
    /// A bit for each request that regions of the index may be all of: a new request whose bit is not there
    /// is that of no other.
    seen: u64,
    /// First byte of each region that is the only one of its request, by request, once there were
    /// [`MIN_INDEXED`].
    places: Option<FxHashMap<usize, usize>>,
}

impl<W> Default for Pending<W> {
    fn default() -> Pending<W> {
        Pending { operations: FxHashMap::default(), index: Index::default(), seen: 0, places: None }
    }
}

/// Handles count in steps of 16.
fn bit(request: usize) -> u64 {
    1 << (request >> 4 & 63)
}

impl<W: Copy> Pending<W> {
    /// Adds an operation that has begun and touches bytes from `first` to `end`, and nothing else. O(1),
    /// amortized, but where many requests are left.
    #[inline(always)]
    pub fn add_plain(&mut self, request: usize, who: W, (first, end): (usize, usize), touch: Touch) {
        if self.index.live() == 0 {
            self.seen = 0;
        }
        if self.seen & bit(request) != 0
            || self.index.live() >= MIN_INDEXED
            || self.places.is_some()
            || !self.operations.is_empty()
        {
            self.prepare(request, first);
        }
        self.seen |= bit(request);
        self.index.touch(Entry { first, end, request, who, what: What::All(touch) });
    }

    /// Makes sure that a request is that of no other operation, and that its region is found among many.
    #[inline(never)]
    fn prepare(&mut self, request: usize, first: usize) {
        // A request that was freed while its operation was under way: whatever has the same handle later is
        // another one.
        if self.seen & bit(request) != 0 || self.operations.contains_key(&request) {
            self.remove_any(request);
        }
        if self.index.live() >= MIN_INDEXED && self.places.is_none() {
            let all = self.index.iter().filter(|entry| entry.what != What::Kept);
            self.places = Some(all.map(|entry| (entry.request, entry.first)).collect());
        }
        if let Some(places) = &mut self.places {
            places.insert(request, first);
        }
    }

    /// Adds an operation that has begun; a persistent one is made, and touches nothing until it is started.
    pub fn add(&mut self, request: usize, who: W, regions: Regions, persistent: bool) {
        self.remove(request);
        self.operations.insert(request, Operation { who, persistent, active: false, regions });
        if !persistent {
            self.start(request);
        }
    }

    /// Returns what a request's operation touches; nothing if there is none. O(1) of a persistent one, else
    /// O(operations).
    pub fn regions(&self, request: usize) -> Regions {
        let kept = self.operations.get(&request).map(|operation| operation.regions.clone());
        kept.unwrap_or_else(|| {
            self.index.iter().filter(|entry| entry.request == request).filter_map(Entry::region).collect()
        })
    }

    /// The operation touches its memory from now on.
    pub fn start(&mut self, request: usize) {
        let Some(operation) = self.operations.get_mut(&request).filter(|operation| !operation.active) else {
            return;
        };
        operation.active = true;
        for &Region { first, end, .. } in &operation.regions {
            self.index.touch(Entry { first, end, request, who: operation.who, what: What::Kept });
        }
    }

    /// Removes the operation, if there is one: it is complete, and its request is gone.
    #[inline(always)]
    pub fn remove(&mut self, request: usize) {
        if self.places.is_some() || !self.index.leave_next(request) {
            self.remove_any(request);
        }
    }

    #[inline(never)]
    fn remove_any(&mut self, request: usize) {
        let (index, places) = (&mut self.index, &mut self.places);
        if let Some(operation) = self.operations.remove(&request) {
            for region in operation.regions.iter().filter(|_| operation.active) {
                index.leave(request, region.first);
            }
        } else if let Some(first) = match places {
            Some(places) => places.remove(&request),
            None => index
                .iter()
                .find(|entry| entry.request == request && entry.what != What::Kept)
                .map(|entry| entry.first),
        } {
            index.leave(request, first);
        }
        if index.live() == 0 {
            *places = None;
        }
    }

    /// Calls `each` with what is known of each of these requests. O(1) for each that was made in the order in
    /// which its region lies, else O(log regions) where there are many.
    pub fn look_at(&self, requests: impl Iterator<Item = usize>, mut each: impl FnMut(usize, Known<W>)) {
        let mut at = self.index.next_to_leave();
        for request in requests {
            if self.places.is_some() || !self.operations.is_empty() && self.operations.contains_key(&request)
            {
                each(request, self.look_up(request));
                continue;
            }
            let Some((found, entry)) = self.index.find(at, request) else {
                each(request, Known::Nothing);
                continue;
            };
            at = found + 1;
            each(request, entry.known());
        }
    }

    fn look_up(&self, request: usize) -> Known<W> {
        match self.places.as_ref().and_then(|places| places.get(&request)) {
            Some(&first) => self
                .index
                .find(self.index.search(first), request)
                .map_or(Known::Nothing, |(_, entry)| entry.known()),
            None => {
                self.operations.get(&request).map_or(Known::Nothing, |operation| Known::More(operation.who))
            }
        }
    }

    /// Drops memory that is no longer what it was: calls `each` for each operation that touches a byte of it,
    /// with what that does. The operations keep their requests and touch nothing.
    pub fn lose(&mut self, bounds: (usize, usize), mut each: impl FnMut(W, Touch)) {
        let mut lost: SmallVec<[usize; 4]> = SmallVec::new();
        let Pending { operations, index, .. } = self;
        index.meeting(bounds, |entry| {
            let region = Region { first: bounds.0, end: bounds.1, touch: Touch::Writes, shape: None };
            let touched = match operations.get(&entry.request) {
                Some(operation) => {
                    operation.regions.iter().find(|other| region.conflicts(other)).map(|other| other.touch)
                }
                None => entry.region().map(|other| other.touch),
            };
            if let Some(touch) = touched.filter(|_| !lost.contains(&entry.request)) {
                lost.push(entry.request);
                each(entry.who, touch);
            }
        });
        lost.into_iter().for_each(|request| self.complete(request));
    }

    /// A call begins that waits for requests: unless [`Pending::stay`] says so, they are gone. O(1) for each
    /// that was made in the order in which its region lies, else O(regions). Whether that is all there is to
    /// do: else nothing is done.
    #[inline]
    pub fn wait_for(&mut self, requests: impl Iterator<Item = usize>) -> bool {
        let is_plain = self.is_plain();
        if is_plain {
            self.index.leave_all(requests);
        }
        is_plain
    }

    /// Returns `true` if all is known of the operations by few regions.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.operations.is_empty() && self.places.is_none() && self.index.is_small()
    }

    /// The last call that waited for requests has failed, and left these.
    #[cold]
    pub fn stay(&mut self, is_left: impl Fn(usize) -> bool) {
        let Pending { index, seen, .. } = self;
        index.stay(|request| {
            let stays = is_left(request);
            *seen |= if stays { bit(request) } else { 0 };
            stays
        });
    }

    /// Records that the operation is complete, if there is one, and can be started again or asked about.
    pub fn complete(&mut self, request: usize) {
        if !self.operations.contains_key(&request) {
            self.keep(request);
        }
        let Some(operation) = self.operations.get_mut(&request) else { return };
        if std::mem::take(&mut operation.active) {
            for region in &operation.regions {
                self.index.leave(request, region.first);
            }
        }
    }

    /// Keeps more of an operation than its region, if there is one: its request outlives that.
    fn keep(&mut self, request: usize) {
        let found = self.index.iter().find(|entry| entry.request == request);
        let Some((who, region)) = found.and_then(|entry| Some((entry.who, entry.region()?))) else { return };
        self.add(request, who, Regions::from_buf([region]), false);
    }

    /// Returns `true` if the request's operation is persistent and has been started.
    pub fn is_restartable(&self, request: usize) -> bool {
        self.operations.get(&request).is_some_and(|operation| operation.persistent && operation.active)
    }

    /// Returns `true` if an operation under way touches a byte from `first` to `end` that one of both writes:
    /// an operation with gaps may not, though its bounds do.
    #[inline(always)]
    pub fn may_conflict(&mut self, (first, end): (usize, usize), touch: Touch) -> bool {
        let mut may = false;
        self.index.meeting((first, end), |entry| {
            may |= touch == Touch::Writes || entry.what != What::All(Touch::Reads)
        });
        may
    }

    /// Tells of each operation that touches what one of the regions touches: what that one does, who made the
    /// operation, and what it does. O(log operations), and O(operations) that begin within the length of the
    /// longest before a region.
    pub fn conflicts(&mut self, regions: &[Region], mut tell: impl FnMut(Touch, W, Touch)) {
        let mut told: SmallVec<[usize; 4]> = SmallVec::new();
        let Pending { operations, index, .. } = self;
        for region in regions {
            index.meeting((region.first, region.end), |entry| {
                let other = match (entry.region(), operations.get(&entry.request)) {
                    (Some(other), _) => Some(other).filter(|other| region.conflicts(other)),
                    (None, Some(operation)) => {
                        operation.regions.iter().find(|other| region.conflicts(other)).cloned()
                    }
                    (None, None) => None,
                };
                if let Some(other) = other.filter(|_| !told.contains(&entry.request)) {
                    told.push(entry.request);
                    tell(region.touch, entry.who, other.touch);
                }
            });
        }
    }

    /// Returns who made the operations whose requests are left; in no order.
    pub fn left_over(&self) -> impl Iterator<Item = W> + '_ {
        let all = self.index.iter().filter(|entry| entry.what != What::Kept);
        all.map(|entry| entry.who).chain(self.operations.values().map(|operation| operation.who))
    }
}
