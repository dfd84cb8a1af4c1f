//! Arguments of ranks that start later than the program did.

use crate::arguments::Arguments;
use crate::single::Single;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::ops::Range;
use std::rc::Rc;

/// By the first rank of those that have them, and the one behind the last.
// Kept for ever: there are as many as calls that spawned, and a rank may start long after it was spawned.
static GIVEN: Single<BTreeMap<u32, (u32, Rc<Arguments>)>> = Single::new(BTreeMap::new());

/// Ranks of this process, numbered from its first, will start with these arguments, the program's name first.
pub fn give(ranks: Range<u32>, arguments: &[Box<[u8]>]) {
    let strings = arguments.iter().map(|text| CString::new(&**text).unwrap_or_default()).collect();
    // SAFETY: the scheduler's own thread, outside ranks; nothing else happens meanwhile.
    unsafe { GIVEN.with(|given| given.insert(ranks.start, (ranks.end, Rc::new(Arguments::new(strings))))) };
}

/// What a rank was given; nothing to those that the program began with.
pub(crate) fn arguments_of(rank: u32) -> Option<Rc<Arguments>> {
    // SAFETY: as above.
    unsafe {
        GIVEN.with(|given| {
            let (_, (end, arguments)) = given.range(..=rank).next_back()?;
            (rank < *end).then(|| arguments.clone())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_has_the_arguments_that_it_was_given() {
        give(10..12, &[b"one".as_slice().into()]);
        give(12..13, &[b"two".as_slice().into(), b"more".as_slice().into()]);
        let count = |rank| arguments_of(rank).map(|arguments| arguments.count());
        assert_eq!([9, 10, 11, 12, 13].map(count), [None, Some(1), Some(1), Some(2), None]);
    }
}
