//! Modes of a call: it waits or not, and how.

/// Need to wait for the result of a call, by the form of the call.
// One argument for four kinds of a call: each collective is written once, and MPI's blocking, nonblocking and
// persistent forms, as well as the halves of the first, differ in nothing but this.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Yes.
    Blocking,
    /// No: it makes a request.
    Nonblocking,
    /// Yes, in two halves, so that what the call says of its blocks takes no memory meanwhile: the first
    /// answers a word for the second, [`ENDED`] if there is nothing to wait for.
    Entering,
    /// The second half, once the rank goes on.
    Leaving(usize),
}

/// Return value of the first half of a blocking call that is complete.
pub const ENDED: usize = usize::MAX;

impl Mode {
    /// Returns the mode of a call that is made in halves, which waits.
    pub(crate) fn whole(self) -> Mode {
        if self == Mode::Entering { Mode::Blocking } else { self }
    }
}
