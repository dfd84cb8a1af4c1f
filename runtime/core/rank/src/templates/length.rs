//! State of saved memory of one length.

use super::{GOOD, LONGEST_WAIT};
use crate::shape::NONE;

/// The templates of one length.
pub(super) struct LengthTemplates {
    pub(super) numbers: Vec<u16>,
    /// Differences of at most this many bytes are good enough: no template did better lately.
    pub(super) good: usize,
    /// So many stacks ago, subtracted from `RECENT`, looking for a better template failed.
    pub(super) in_vain: u32,
    /// Stacks until it is tried again whether less will do.
    pub(super) lasting: u32,
    /// The one tried first, and the one that was before: stacks of two kinds often come in turn.
    pub(super) usual: u16,
    pub(super) other: u16,
    /// Stacks that are saved before a better template is looked for, now and the next time.
    pub(super) wait: u32,
    pub(super) next_wait: u32,
    pub(super) shapes: Vec<u16>,
    /// The shape tried first, and the one that was before.
    pub(super) shape: u16,
    pub(super) other_shape: u16,
    /// Stacks of no shape until another is made, now and the next time.
    pub(super) shape_wait: u32,
    pub(super) next_shape_wait: u32,
}

impl Default for LengthTemplates {
    fn default() -> LengthTemplates {
        LengthTemplates {
            numbers: Vec::new(),
            good: GOOD,
            in_vain: 0,
            lasting: 0,
            usual: 0,
            other: 0,
            wait: 0,
            next_wait: 0,
            shapes: Vec::new(),
            shape: NONE,
            other_shape: NONE,
            shape_wait: 0,
            next_shape_wait: 0,
        }
    }
}

impl LengthTemplates {
    /// Records that the difference found last was good enough. The next searches for a template or a shape
    /// come sooner.
    pub(super) fn was_good(&mut self) {
        (self.in_vain, self.next_wait) = (self.in_vain.saturating_sub(1), 0);
        self.next_shape_wait = self.next_shape_wait.saturating_sub(1);
        self.lasting = match self.lasting.checked_sub(1) {
            Some(lasting) => lasting,
            None => {
                self.good = GOOD;
                LONGEST_WAIT
            }
        };
    }

    /// Lets this shape be tried first from now on.
    pub(super) fn prefer_shape(&mut self, shape: u16) {
        if self.shape != shape {
            (self.shape, self.other_shape) = (shape, self.shape);
        }
    }
}
