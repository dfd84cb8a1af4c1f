//! A call that has not returned: what recorders are told of it when it does.

use crate::arguments::{ArgumentRegisters, Handles};
use crate::facts::Facts;
use crate::function::Function;
use crate::host::Host;
use crate::level::NestingLevel;
use engine::Time;
use recorder::{ArgumentValue, Call};

/// A call that has not returned.
pub struct OpenCall<H> {
    /// The function.
    pub function: Function,
    /// Within how many callbacks it is made, and by which thread.
    pub level: NestingLevel,
    /// The arguments of the call.
    pub words: ArgumentRegisters<H>,
    /// The virtual time at which it was entered; of a real run the time since the run began.
    pub entered: Time,
    /// The number of the place that called it; 0 is none.
    pub site: u32,
    /// Values of the arguments on entry, unless the call is recorded in words.
    pub arguments: Vec<ArgumentValue>,
    /// The call in words, instead of arguments.
    pub brief: Option<Facts>,
    /// The handles that the call may replace.
    pub handles: Handles,
}

impl<H: Host> OpenCall<H> {
    /// It as recorders see it, made by `rank`.
    pub fn call(&self, rank: u32) -> Call<'_> {
        let OpenCall { function, site, entered, ref arguments, .. } = *self;
        Call { rank, function: function as u16, name: function.name(), site, entered, arguments }
    }
}
