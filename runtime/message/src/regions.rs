//! The memory that operations touch: which of it two of them share (MPI 5.0 sections 3.7.2 and 6.1: what an operation that is not complete writes nobody else may
//! touch, and what it reads nobody may write).
//!
//! Only findings ask (`-xsim-check`); messages know nothing of it.

use objects::datatype::Datatype;
use objects::datatype::layout::Sink;
use observe::recorder::Touch;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;

/// Which bytes a buffer has that does not lie side by side.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Address of the buffer.
    pub at: usize,
    /// How many of the datatype.
    pub elements: u64,
    /// What.
    pub datatype: Rc<Datatype>,
}

/// Memory that a call touches.
#[derive(Clone, Debug)]
pub struct Region {
    /// Address of the first byte that is touched.
    pub first: usize,
    /// One past the last.
    pub end: usize,
    /// What is done with them.
    pub touch: Touch,
    /// Which of them, if not all.
    // On the heap, since few have one and regions are moved often.
    pub shape: Option<Box<Shape>>,
}

/// First and end of a block.
type Block = (usize, usize);

impl Region {
    /// So many elements at an address; `None` if there is no byte, or what the program says is no memory.
    pub fn of(at: usize, elements: u64, datatype: &Rc<Datatype>, touch: Touch) -> Option<Region> {
        let last = i64::try_from(elements.checked_sub(1)?).ok()?.checked_mul(datatype.extent())?;
        let (low, high) = (datatype.true_lb.checked_add(last.min(0))?, datatype.true_ub.checked_add(last.max(0))?);
        let shape = (!datatype.contiguous).then(|| Box::new(Shape { at, elements, datatype: datatype.clone() }));
        let (first, end) = (at.wrapping_add_signed(low as isize), at.wrapping_add_signed(high as isize));
        (datatype.size != 0 && first < end).then_some(Region { first, end, touch, shape })
    }

    /// So many bytes side by side.
    pub fn plain(first: usize, bytes: u64, touch: Touch) -> Option<Region> {
        let end = first.checked_add(usize::try_from(bytes).ok()?)?;
        (first < end).then_some(Region { first, end, touch, shape: None })
    }

    /// Whether both touch a byte that one of them writes. O(1), but where one has gaps and their bounds meet: O(blocks log blocks).
    // Columns of a matrix lie within each other's bounds, so that bounds alone would accuse every halo exchange.
    pub fn conflicts(&self, other: &Region) -> bool {
        let apart = self.end <= other.first || other.end <= self.first;
        if apart || self.touch == Touch::Reads && other.touch == Touch::Reads {
            return false;
        }
        self.shape.is_none() && other.shape.is_none() || meet(&self.blocks(), &other.blocks())
    }

    /// In ascending order.
    fn blocks(&self) -> Vec<Block> {
        struct Blocks(usize, Vec<Block>);
        impl Sink for Blocks {
            fn block(&mut self, at: i64, len: u64) {
                let first = self.0.wrapping_add_signed(at as isize);
                self.1.push((first, first + len as usize));
            }
        }
        let Some(Shape { at, elements, datatype }) = self.shape.as_deref() else { return vec![(self.first, self.end)] };
        let mut blocks = Blocks(*at, Vec::new());
        datatype.walk(*elements, &mut blocks);
        blocks.1.sort_unstable();
        blocks.1
    }
}

/// Whether two lists of blocks, each in ascending order, meet. O(both).
fn meet(one: &[Block], other: &[Block]) -> bool {
    let (mut a, mut b) = (one.iter().peekable(), other.iter().peekable());
    while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
        if x.0 < y.1 && y.0 < x.1 {
            return true;
        }
        if x.1 <= y.1 {
            a.next();
        } else {
            b.next();
        }
    }
    false
}

/// The regions of one operation: of messages, which are most, one.
pub type Regions = SmallVec<[Region; 1]>;

/// An operation that the program has a request for.
struct Operation<W> {
    who: W,
    persistent: bool,
    /// Whether it has been started and is not complete.
    active: bool,
    regions: Regions,
}

/// A region that is touched, in the index.
#[derive(Clone, Copy)]
struct Entry {
    first: usize,
    end: usize,
    request: usize,
}

/// What is touched, by where that begins.
// Programs post in the order of addresses mostly, so that few entries are moved; a tree would cost each operation more than that.
#[derive(Default)]
struct Index {
    entries: Vec<Entry>,
    /// No region is longer: how far before a region one may begin that meets it.
    longest: usize,
}

impl Index {
    fn touch(&mut self, request: usize, regions: &[Region]) {
        if self.entries.is_empty() {
            self.longest = 0;
        }
        for &Region { first, end, .. } in regions {
            let at = match self.entries.last() {
                Some(last) if last.first > first => self.entries.partition_point(|entry| entry.first <= first),
                _ => self.entries.len(),
            };
            self.entries.insert(at, Entry { first, end, request });
            self.longest = self.longest.max(end - first);
        }
    }

    fn leave(&mut self, request: usize, regions: &[Region]) {
        for &Region { first, .. } in regions {
            let begin = self.entries.partition_point(|entry| entry.first < first);
            if let Some(at) = self.entries[begin..].iter().position(|entry| entry.request == request) {
                self.entries.remove(begin + at);
            }
        }
    }
}

/// The operations of a rank that it has requests for, and who (`W`) made them.
pub struct Pending<W> {
    operations: FxHashMap<usize, Operation<W>>,
    index: Index,
}

impl<W> Default for Pending<W> {
    fn default() -> Pending<W> {
        Pending { operations: FxHashMap::default(), index: Index::default() }
    }
}

impl<W: Copy> Pending<W> {
    /// An operation has begun; a persistent one is made, and touches nothing until it is started.
    pub fn add(&mut self, request: usize, who: W, regions: Regions, persistent: bool) {
        if !persistent {
            self.index.touch(request, &regions);
        }
        let operation = Operation { who, persistent, active: !persistent, regions };
        if self.operations.insert(request, operation).is_some() {
            self.forget_former(request);
        }
    }

    // A request that was freed while its operation was under way: whatever has the same handle later is another one.
    #[cold]
    fn forget_former(&mut self, request: usize) {
        self.index.entries.retain(|entry| entry.request != request);
        if let Some(operation) = self.operations.get(&request).filter(|operation| operation.active) {
            self.index.touch(request, &operation.regions);
        }
    }

    /// What a request's operation touches; nothing if there is none.
    pub fn regions(&self, request: usize) -> Regions {
        self.operations.get(&request).map(|operation| operation.regions.clone()).unwrap_or_default()
    }

    /// The operation touches its memory from now on.
    pub fn start(&mut self, request: usize) {
        let Some(operation) = self.operations.get_mut(&request).filter(|operation| !operation.active) else { return };
        operation.active = true;
        self.index.touch(request, &operation.regions);
    }

    /// The operation is complete, if there is one, and its request is gone.
    pub fn remove(&mut self, request: usize) {
        if let Some(operation) = self.operations.remove(&request)
            && operation.active
        {
            self.index.leave(request, &operation.regions);
        }
    }

    /// The operation is complete, if there is one, and can be started again.
    pub fn complete(&mut self, request: usize) {
        if let Some(operation) = self.operations.get_mut(&request)
            && std::mem::take(&mut operation.active)
        {
            self.index.leave(request, &operation.regions);
        }
    }

    /// Whether the request's operation is persistent and has been started.
    pub fn is_restartable(&self, request: usize) -> bool {
        self.operations.get(&request).is_some_and(|operation| operation.persistent && operation.active)
    }

    /// Tells of each operation that touches what one of the regions touches: what that one does, who made the operation, and what it does. O(log operations), and
    /// O(operations) that begin within the length of the longest before a region.
    pub fn conflicts(&self, regions: &[Region], mut tell: impl FnMut(Touch, W, Touch)) {
        let Index { entries, longest } = &self.index;
        if entries.is_empty() {
            return;
        }
        let mut told: SmallVec<[usize; 4]> = SmallVec::new();
        for region in regions {
            let end = entries.partition_point(|entry| entry.first < region.end);
            for entry in entries[..end].iter().rev() {
                if entry.first.saturating_add(*longest) <= region.first {
                    break;
                }
                if entry.end <= region.first || told.contains(&entry.request) {
                    continue;
                }
                let Some(operation) = self.operations.get(&entry.request) else { continue };
                if let Some(other) = operation.regions.iter().find(|other| region.conflicts(other)) {
                    told.push(entry.request);
                    tell(region.touch, operation.who, other.touch);
                }
            }
        }
    }

    /// Who made the operations whose requests are left; in no order.
    pub fn left_over(&self) -> impl Iterator<Item = W> + '_ {
        self.operations.values().map(|operation| operation.who)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use objects::datatype::{Constructor, Types, predefined};
    use proptest::prelude::*;

    fn plain((first, length, writes): (usize, u64, bool)) -> Region {
        Region::plain(first, length, if writes { Touch::Writes } else { Touch::Reads }).unwrap()
    }

    proptest! {
        #[test]
        fn conflicts_are_those_of_all_pairs(
            steps in proptest::collection::vec(((0usize..200, 1u64..40, any::<bool>()), any::<bool>(), 0usize..8), 1..80),
        ) {
            let (mut pending, mut list) = (Pending::default(), Vec::<(usize, Region)>::new());
            for (number, (what, completes, which)) in steps.into_iter().enumerate() {
                let region = plain(what);
                let mut found = Vec::new();
                pending.conflicts(std::slice::from_ref(&region), |_, who: usize, touch| found.push((who, touch)));
                found.sort_unstable();
                let wanted: Vec<_> =
                    list.iter().filter(|other| region.conflicts(&other.1)).map(|other| (other.0, other.1.touch)).collect();
                prop_assert_eq!(found, wanted);
                pending.add(number, number, Regions::from_iter([region.clone()]), false);
                list.push((number, region));
                if completes {
                    let (request, _) = list.remove(which % list.len());
                    pending.remove(request);
                }
            }
        }
    }

    #[test]
    fn a_persistent_operation_touches_its_memory_while_it_is_started() {
        let mut pending = Pending::default();
        let writes = [plain((100, 8, true))];
        let found = |pending: &Pending<u32>| {
            let mut found = Vec::new();
            pending.conflicts(&writes, |_, who, _| found.push(who));
            found
        };
        pending.add(1, 7, Regions::from_iter(writes.clone()), true);
        assert!(found(&pending).is_empty());
        pending.start(1);
        assert_eq!(found(&pending), [7]);
        assert!(pending.is_restartable(1));
        pending.complete(1);
        assert!(found(&pending).is_empty());
        assert_eq!(pending.left_over().collect::<Vec<_>>(), [7]);
    }

    #[test]
    fn columns_meet_rows_and_not_each_other() {
        let mut types = Types::new();
        let double = types.get(predefined::DOUBLE).unwrap().clone();
        let column = Constructor::Vector { count: 8, blocklength: 1, stride: 8, old: double.into(), large: false };
        let column = types.create(0, column).unwrap();
        let column = types.get(column).unwrap();
        let at = |place: usize| Region::of(4096 + 8 * place, 1, column, Touch::Writes).unwrap();
        assert!(!at(0).conflicts(&at(7)), "they lie within each other's bounds");
        let row = Region::plain(4096 + 8 * 40, 64, Touch::Reads).unwrap();
        assert!(at(3).conflicts(&row));
        assert!(!Region::plain(4096 + 8, 16, Touch::Writes).unwrap().conflicts(&at(0)), "between two elements of it");
    }
}
