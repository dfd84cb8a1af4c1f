//! The call that most members of a collective repeat.

use crate::arguments::{Brief, Elements};

/// The instance that was made last, while its members come in: most calls are one more of the same.
// Members of a collective enter one after the other, so that all but the first find their instance here, in
// O(1) and without a look at the communicator's table. Forgotten whenever the instance could change its
// nature.
pub(crate) struct LastCall {
    pub(crate) brief: Brief,
    pub(crate) function: u16,
    pub(crate) index: u32,
    pub(crate) comm: u32,
    /// The number among the communicator's calls.
    pub(crate) call: u32,
    /// Arguments of a reduction of contiguous elements.
    pub(crate) elements: Option<Elements>,
    /// The number of [`CollectiveInstance::taken`](crate::instance::CollectiveInstance::taken).
    pub(crate) taken: u32,
}
