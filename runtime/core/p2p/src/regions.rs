//! The memory that operations touch, and which of it two of them share. No one else may touch what an
//! operation that is not complete writes, and no one may write what it reads (MPI 5.0 sections 3.7.2 and
//! 6.1).
//!
//! Only findings ask (`-xsim-check`); messages know nothing of it.

mod index;
mod pending;

pub use pending::{Known, Pending};

use objects::datatype::Datatype;
use objects::datatype::layout::Sink;
use recorder::Touch;
use smallvec::SmallVec;
use std::rc::Rc;

/// The bytes of a buffer that are not contiguous, as a datatype and a number of its elements.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Address of the buffer.
    pub at: usize,
    /// Number of elements of the datatype.
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
    /// The kind of access: read or write.
    pub touch: Touch,
    /// The bytes that are touched, if not all between `first` and `end`.
    // On the heap, since few have one and regions are moved often.
    pub shape: Option<Box<Shape>>,
}

/// First and end of a block.
type Block = (usize, usize);

impl Region {
    /// Returns so many elements at an address; `None` if there is no byte, or what the program says is no
    /// memory.
    pub fn of(at: usize, elements: u64, datatype: &Rc<Datatype>, touch: Touch) -> Option<Region> {
        let last = i64::try_from(elements.checked_sub(1)?).ok()?.checked_mul(datatype.extent())?;
        let (low, high) =
            (datatype.true_lb.checked_add(last.min(0))?, datatype.true_ub.checked_add(last.max(0))?);
        let shape =
            (!datatype.contiguous).then(|| Box::new(Shape { at, elements, datatype: datatype.clone() }));
        let (first, end) = (at.wrapping_add_signed(low as isize), at.wrapping_add_signed(high as isize));
        (datatype.size != 0 && first < end).then_some(Region { first, end, touch, shape })
    }

    /// Returns so many bytes side by side.
    pub fn plain(first: usize, bytes: u64, touch: Touch) -> Option<Region> {
        let end = first.checked_add(usize::try_from(bytes).ok()?)?;
        (first < end).then_some(Region { first, end, touch, shape: None })
    }

    /// Returns `true` if both touch a byte that one of them writes. O(1), but where one has gaps and their
    /// bounds meet: O(blocks log blocks).
    // Columns of a matrix lie within each other's bounds, so that bounds alone would accuse every halo
    // exchange.
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
        let Some(Shape { at, elements, datatype }) = self.shape.as_deref() else {
            return vec![(self.first, self.end)];
        };
        let mut blocks = Blocks(*at, Vec::new());
        datatype.walk(*elements, &mut blocks);
        blocks.1.sort_unstable();
        blocks.1
    }
}

/// Returns `true` if two lists of blocks, each in ascending order, meet. O(both).
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

#[cfg(test)]
mod tests {
    use super::*;
    use objects::datatype::{Constructor, Types, predefined};
    use proptest::prelude::*;

    fn plain((first, length, writes): (usize, u64, bool)) -> Region {
        Region::plain(first, length, if writes { Touch::Writes } else { Touch::Reads }).unwrap()
    }

    /// Makes an operation of a request, in the way that fits it.
    fn add(pending: &mut Pending<usize>, request: usize, who: usize, region: &Region, kept: bool) {
        if kept {
            pending.add(request, who, Regions::from_iter([region.clone()]), false);
        } else {
            pending.add_plain(request, who, (region.first, region.end), region.touch);
        }
    }

    proptest! {
        #[test]
        fn conflicts_are_those_of_all_pairs(
            steps in proptest::collection::vec(
                ((0usize..900, 1u64..40, any::<bool>()), 0u8..4, 0usize..200, 0usize..500),
                1..400,
            ),
            most in 1usize..300,
        ) {
            let (mut pending, mut list) = (Pending::default(), Vec::<(usize, usize, Region)>::new());
            for (who, (what, kept, which, handle)) in steps.into_iter().enumerate() {
                let region = plain(what);
                let mut found = Vec::new();
                pending.conflicts(std::slice::from_ref(&region), |_, who: usize, touch| {
                    found.push((who, touch))
                });
                let bounds = (region.first, region.end);
                prop_assert_eq!(
                    pending.may_conflict(bounds, region.touch),
                    list.iter().any(|other| {
                        other.2.first < region.end
                            && region.first < other.2.end
                            && (kept_of(other.1) || region.conflicts(&other.2))
                    })
                );
                found.sort_unstable();
                let mut wanted: Vec<_> = list
                    .iter()
                    .filter(|other| region.conflicts(&other.2))
                    .map(|other| (other.1 / 2, other.2.touch))
                    .collect();
                wanted.sort_unstable();
                let found: Vec<_> = found.into_iter().map(|(who, touch)| (who / 2, touch)).collect();
                prop_assert_eq!(found, wanted);
                // The handle of an operation that nobody has completed may come again.
                let (request, who) = (16 * (1 + handle), 2 * who + usize::from(kept == 0));
                list.retain(|other| other.0 != request);
                add(&mut pending, request, who, &region, kept == 0);
                list.push((request, who, region));
                while list.len() > most {
                    let (request, ..) = list.remove(which % list.len());
                    pending.remove(request);
                }
                if which == 0 {
                    list.drain(..).for_each(|(request, ..)| pending.remove(request));
                }
                if which % 8 == 1 {
                    // A call waits for some; one that fails leaves some of them.
                    let waited: Vec<usize> =
                        list.iter().skip(which % 3).step_by(2).map(|other| other.0).collect();
                    let stays = |request: usize| which % 16 == 1 && request.is_multiple_of(48);
                    if pending.wait_for(waited.iter().copied()) {
                        if which % 16 == 1 {
                            pending.stay(stays);
                        }
                        list.retain(|other| !waited.contains(&other.0) || stays(other.0));
                    }
                }
            }
            let mut left: Vec<_> = pending.left_over().collect();
            left.sort_unstable();
            prop_assert_eq!(left, list.iter().map(|other| other.1).collect::<Vec<_>>());
        }
    }

    /// Returns `true` if an operation was made with more kept of it than its region.
    fn kept_of(who: usize) -> bool {
        who % 2 == 1
    }

    #[test]
    fn an_operation_whose_request_is_asked_about_touches_nothing_once_it_is_complete() {
        let mut pending = Pending::default();
        pending.add_plain(16, 5u32, (100, 108), Touch::Writes);
        assert!(pending.may_conflict((104, 105), Touch::Reads));
        pending.complete(16);
        assert!(!pending.may_conflict((104, 105), Touch::Reads) && !pending.is_restartable(16));
        assert_eq!(pending.left_over().collect::<Vec<_>>(), [5]);
        pending.remove(16);
        assert_eq!(pending.left_over().count(), 0);
    }

    #[test]
    fn a_persistent_operation_touches_its_memory_while_it_is_started() {
        let mut pending = Pending::default();
        let writes = [plain((100, 8, true))];
        let found = |pending: &mut Pending<u32>| {
            let mut found = Vec::new();
            pending.conflicts(&writes, |_, who, _| found.push(who));
            found
        };
        pending.add(1, 7, Regions::from_iter(writes.clone()), true);
        assert!(found(&mut pending).is_empty());
        pending.start(1);
        assert_eq!(found(&mut pending), [7]);
        assert!(pending.is_restartable(1));
        pending.complete(1);
        assert!(found(&mut pending).is_empty());
        assert_eq!(pending.left_over().collect::<Vec<_>>(), [7]);
    }

    #[test]
    fn columns_meet_rows_and_not_each_other() {
        let mut types = Types::new();
        let double = types.get(predefined::DOUBLE).unwrap().clone();
        let column =
            Constructor::Vector { count: 8, blocklength: 1, stride: 8, old: double.into(), large: false };
        let column = types.create(0, column).unwrap();
        let column = types.get(column).unwrap();
        let at = |place: usize| Region::of(4096 + 8 * place, 1, column, Touch::Writes).unwrap();
        assert!(!at(0).conflicts(&at(7)), "they lie within each other's bounds");
        let row = Region::plain(4096 + 8 * 40, 64, Touch::Reads).unwrap();
        assert!(at(3).conflicts(&row));
        assert!(
            !Region::plain(4096 + 8, 16, Touch::Writes).unwrap().conflicts(&at(0)),
            "between two elements of it"
        );
    }
}
