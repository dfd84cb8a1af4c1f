//! A trace with other computation and other sizes: the same calls of the same ranks to the same others
//! (docs/reference/trace-tools.md).
//!
//! Calls and loops stay folded, so that it takes as long as the trace is and not as its calls are many. The
//! numbers of each different call are rewritten, and columns of them, once each. Loops stay those of the
//! recording, also where iterations that differed are alike afterwards: finding others would mean to unfold
//! them.
//!
//! A size is one of bytes, and what becomes of it depends on nothing else. So both sides of a message, and
//! all members of a collective, come to the same one, whatever counts and datatypes they give it with.

mod computation;
mod displacements;
mod lengths;
mod sizes;

use crate::trace::Trace;
use engine::Span;

/// New length of a computation: a multiple of the recorded one, or a constant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Change {
    /// So many times what was recorded, from 0 on.
    Factor(f64),
    /// So long each time, whatever was recorded, also where nothing was.
    Time(Span),
}

/// A change, and the computation that it is about.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// The computation before the calls of this call site, as [`Trace::site`] has it: its `file:line` or its
    /// function alone, or a function of MPI. `None`: all computation.
    pub place: Option<String>,
    /// The change of that computation.
    pub change: Change,
}

/// A function from a size in bytes, above 0, to the new size. It fails with a sentence.
pub type Resize<'s> = &'s dyn Fn(u64) -> Result<u64, String>;

/// Changes of a trace's computation and sizes.
#[derive(Default)]
pub struct Scaling<'s> {
    /// The last rule that is about a computation holds.
    pub computation: Vec<Rule>,
    /// Sizes of messages and of collectives' blocks. What is empty stays so.
    pub sizes: Option<Resize<'s>>,
}

impl Scaling<'_> {
    /// Returns `true` if there is nothing to change.
    pub fn is_nothing(&self) -> bool {
        self.sizes.is_none() && self.computation.iter().all(|rule| rule.change == Change::Factor(1.0))
    }
}

/// Changes a trace; O(its size). Of exact times by call sites it takes O(calls), which such times take, too.
///
/// # Errors
/// A sentence: a place that the trace does not have, a size that a call cannot have, or a call whose sizes
/// cannot be changed.
pub fn scale(trace: &mut Trace, scaling: &Scaling) -> Result<(), String> {
    computation::change(trace, &scaling.computation)?;
    match scaling.sizes {
        Some(resize) => sizes::change(trace, resize),
        None => Ok(()),
    }
}
