//! Settings of ranks that start later than the program did: which program they run, and with which arguments.

use crate::arguments::ArgumentVector;
use crate::single::Single;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::ops::Range;
use std::rc::Rc;

/// Program and arguments with which ranks start.
#[derive(Clone)]
pub(crate) struct ProgramArguments {
    pub(crate) arguments: Rc<ArgumentVector>,
    /// The number that [`crate::another::load`] gives; 0 is that of the start.
    pub(crate) program: u8,
}

/// By the first rank of those that have them, and the one behind the last.
// Kept for ever: there are as many as calls that spawned, and a rank may start long after it was spawned.
static GIVEN: Single<BTreeMap<u32, (u32, ProgramArguments)>> = Single::new(BTreeMap::new());

/// Gives ranks of this process, numbered from its first, the program that they will start (0, or as
/// [`crate::another::load`] says) with these arguments, its name first.
pub fn give(ranks: Range<u32>, program: u8, arguments: &[Box<[u8]>]) {
    let strings = arguments.iter().map(|text| CString::new(&**text).unwrap_or_default()).collect();
    let what = ProgramArguments { arguments: Rc::new(ArgumentVector::new(strings)), program };
    // SAFETY: the scheduler's own thread, outside ranks; nothing else happens meanwhile.
    unsafe { GIVEN.with(|given| given.insert(ranks.start, (ranks.end, what))) };
}

/// Returns what a rank was given; nothing to those that the program began with.
pub(crate) fn given(rank: u32) -> Option<ProgramArguments> {
    // SAFETY: as above.
    unsafe {
        GIVEN.with(|given| {
            let (_, (end, what)) = given.range(..=rank).next_back()?;
            (rank < *end).then(|| what.clone())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_has_the_program_and_arguments_that_it_was_given() {
        give(10..12, 0, &[b"one".as_slice().into()]);
        give(12..13, 1, &[b"two".as_slice().into(), b"more".as_slice().into()]);
        let found = |rank| given(rank).map(|given| (given.program, given.arguments.count()));
        assert_eq!([9, 10, 11, 12, 13].map(found), [None, Some((0, 1)), Some((0, 1)), Some((1, 2)), None]);
    }
}
