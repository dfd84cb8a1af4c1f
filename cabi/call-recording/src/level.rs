//! The level of a call among its rank's calls that have not returned.

/// The thread that makes a call, and the number of callbacks around the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NestingLevel {
    /// 0 of the rank's first thread.
    pub thread: u32,
    /// Callbacks around the call.
    pub depth: u32,
}

impl NestingLevel {
    /// The level of calls of the rank's first thread outside callbacks.
    pub const OUTERMOST: NestingLevel = NestingLevel { thread: 0, depth: 0 };

    /// Returns `true` of a call at this level that is left where its thread makes a call at `new`.
    #[inline]
    pub fn is_left_by(self, new: NestingLevel) -> bool {
        self.thread == new.thread && self.depth >= new.depth
    }

    /// Returns the level of calls within callbacks of a call at this one.
    pub fn inner(self) -> NestingLevel {
        NestingLevel { depth: self.depth + 1, ..self }
    }

    /// Returns `true` of calls outside callbacks.
    pub fn is_outermost(self) -> bool {
        self.depth == 0
    }
}
