//! Which memory operations under way touch, by where it begins.

use super::{Known, Region};
use recorder::Touch;

/// The use that an operation makes of a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// Nothing more: it is over.
    Gone,
    /// Nothing more, unless the call that waits for it fails: it did this.
    Left(Touch),
    /// This, with all of its bytes, and it has no other region.
    All(Touch),
    /// Another use, which is stored outside the index.
    Kept,
}

/// A region that is touched, and by whom.
#[derive(Clone, Copy)]
pub(super) struct Entry<W> {
    pub(super) first: usize,
    pub(super) end: usize,
    pub(super) request: usize,
    pub(super) who: W,
    pub(super) what: What,
}

/// So many entries are nobody's before they are taken out.
const SPARE: usize = 32;

/// Regions in the order of their first bytes.
// Programs use the same buffers again and again, in the same order mostly: what an operation leaves stays
// where it is until one takes its place, and where the last one was found the next one is looked for first.
// So nothing is moved and nothing searched in a loop of a program; a tree would cost each operation more than
// that.
pub(super) struct Index<W> {
    entries: Vec<Entry<W>>,
    /// Number of entries that belong to an operation.
    live: usize,
    /// None of these is longer: how far before a region one may begin that meets it.
    longest: usize,
    /// Index at which the next region probably begins, and index of the next one to end.
    next: usize,
    leaves: usize,
    /// A bit for each of the first entries that was left by the last call that waited for some.
    left: u64,
}

impl<W> Default for Index<W> {
    fn default() -> Index<W> {
        Index { entries: Vec::new(), live: 0, longest: 0, next: 0, leaves: 0, left: 0 }
    }
}

impl<W: Copy> Index<W> {
    /// Returns how many regions are touched.
    #[inline]
    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// Returns the regions that are touched, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry<W>> {
        self.entries.iter().filter(|entry| entry.is_live())
    }

    /// Returns a place before which no region begins later, and behind which none begins earlier.
    #[inline(always)]
    fn locate(&self, first: usize) -> usize {
        let at = self.next;
        let before = at == 0 || self.entries.get(at - 1).is_some_and(|entry| entry.first <= first);
        let behind = self.entries.get(at).is_none_or(|entry| entry.first >= first);
        if before && behind { at } else { self.search(first) }
    }

    #[inline(never)]
    pub(super) fn search(&self, first: usize) -> usize {
        self.entries.partition_point(|entry| entry.first < first)
    }

    /// Adds a region that is touched from now on. O(1) beside the last one that was, else O(log regions);
    /// O(regions) to make room.
    #[inline(always)]
    pub(super) fn touch(&mut self, entry: Entry<W>) {
        if self.live == 0 {
            self.longest = 0;
        }
        self.longest = self.longest.max(entry.end - entry.first);
        let mut at = self.locate(entry.first);
        if self.entries.get(at).is_none_or(Entry::is_live) {
            at = self.make_room(at, &entry);
        }
        self.entries[at] = entry;
        self.live += 1;
        self.next = at + 1;
    }

    /// Makes room for an entry that belongs before this one; returns its index.
    #[inline(never)]
    fn make_room(&mut self, mut at: usize, entry: &Entry<W>) -> usize {
        if let Some(before) = at.checked_sub(1).filter(|&before| !self.entries[before].is_live()) {
            return before;
        }
        if self.entries.len() - self.live > self.live + SPARE {
            self.entries.retain(Entry::is_live);
            at = self.search(entry.first);
        }
        self.left = 0;
        self.entries.insert(at, *entry);
        at
    }

    /// The region that a request is all of is touched no longer, if it is the one behind the last
    /// that ended: whether it was.
    #[inline(always)]
    pub(super) fn leave_next(&mut self, request: usize) -> bool {
        let at = self.leaves;
        let is_it = self
            .entries
            .get(at)
            .is_some_and(|entry| entry.request == request && matches!(entry.what, What::All(_)));
        if is_it {
            self.end(at);
        }
        is_it
    }

    /// Returns `true` if there are so few entries that [`Index::leave_all`] knows them again.
    #[inline]
    pub(super) fn is_small(&self) -> bool {
        self.entries.len() <= u64::BITS as usize
    }

    /// The regions that requests are all of are touched no longer, unless [`Index::stay`] says so. O(1) of
    /// those that end in the order in which they lie, else O(entries).
    // What they were stays where it is: who waits for requests has them in the cache when it begins, and no
    // more when it is through.
    #[inline]
    pub(super) fn leave_all(&mut self, requests: impl Iterator<Item = usize>) {
        self.left = 0;
        for request in requests {
            let is_it = |entry: &Entry<W>| entry.request == request && matches!(entry.what, What::All(_));
            let found = match self.entries.get(self.leaves) {
                Some(entry) if is_it(entry) => Some(self.leaves),
                _ => self.entries.iter().position(is_it),
            };
            let Some(at) = found else { continue };
            if let What::All(touch) = self.entries[at].what {
                self.entries[at].what = What::Left(touch);
            }
            self.left |= 1 << at;
            self.live -= 1;
            self.leaves = at + 1;
        }
        if self.live == 0 {
            (self.next, self.leaves) = (0, 0);
        }
    }

    /// Returns the entry of a request that one region is all of, and its index. O(1) where that is `at`, else
    /// O(regions).
    pub(super) fn find(&self, at: usize, request: usize) -> Option<(usize, &Entry<W>)> {
        let is_it = |entry: &Entry<W>| entry.request == request && matches!(entry.what, What::All(_));
        match self.entries.get(at) {
            Some(entry) if is_it(entry) => Some((at, entry)),
            _ => self.entries.iter().enumerate().find(|(_, entry)| is_it(entry)),
        }
    }

    /// Returns where the region probably is that ends next.
    pub(super) fn next_to_leave(&self) -> usize {
        self.leaves
    }

    /// The call has failed that the last regions were left for: of these requests they are touched still.
    #[cold]
    pub(super) fn stay(&mut self, mut is_left: impl FnMut(usize) -> bool) {
        let mut left = std::mem::take(&mut self.left);
        while left != 0 {
            let entry = &mut self.entries[left.trailing_zeros() as usize];
            left &= left - 1;
            if let What::Left(touch) = entry.what
                && is_left(entry.request)
            {
                entry.what = What::All(touch);
                self.live += 1;
                self.longest = self.longest.max(entry.end - entry.first);
            }
        }
    }

    /// The region of a request that begins there is touched no longer: whether there was one. O(log
    /// regions).
    pub(super) fn leave(&mut self, request: usize, first: usize) -> bool {
        let begin = self.search(first);
        let is_it = |entry: &Entry<W>| entry.request == request && entry.is_live();
        let at = self.entries[begin..].iter().take_while(|entry| entry.first == first).position(is_it);
        if let Some(at) = at {
            self.end(begin + at);
        }
        at.is_some()
    }

    #[inline]
    fn end(&mut self, at: usize) {
        self.entries[at].what = What::Gone;
        self.live -= 1;
        self.leaves = at + 1;
        if self.live == 0 {
            (self.next, self.leaves) = (0, 0);
        }
    }

    /// Calls `meets` for what shares a byte with the region. O(1) beside the last one that was touched, else
    /// O(log regions), and O(regions) that begin within the length of the longest before it.
    #[inline(always)]
    pub(super) fn meeting(&mut self, (first, end): (usize, usize), mut meets: impl FnMut(&Entry<W>)) {
        if self.live == 0 {
            return;
        }
        let at = self.locate(first);
        self.next = at;
        for entry in self.entries[at..].iter().take_while(|entry| entry.first < end) {
            if entry.is_live() {
                meets(entry);
            }
        }
        for entry in self.entries[..at]
            .iter()
            .rev()
            .take_while(|entry| entry.first.saturating_add(self.longest) > first)
        {
            if entry.end > first && entry.is_live() {
                meets(entry);
            }
        }
    }
}

impl<W> Entry<W> {
    /// Returns `true` if it is somebody's.
    #[inline(always)]
    fn is_live(&self) -> bool {
        matches!(self.what, What::All(_) | What::Kept)
    }

    /// Returns what is known of the request.
    pub(super) fn known(&self) -> Known<W>
    where
        W: Copy,
    {
        match self.what {
            What::All(touch) => Known::Plain(self.who, (self.first, self.end), touch),
            _ => Known::More(self.who),
        }
    }

    /// Returns the region, of one that has all of it.
    pub(super) fn region(&self) -> Option<Region> {
        let What::All(touch) = self.what else { return None };
        Some(Region { first: self.first, end: self.end, touch, shape: None })
    }
}
