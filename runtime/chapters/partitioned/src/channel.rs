//! Channels: what a send and its receive have in common before either knows of the other.

use engine::record::{Put, Take};

/// A send and the receive that it was matched with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct MatchedPair {
    /// The communicator's context.
    pub(crate) context: u32,
    /// The sender's rank in the communicator (of an intercommunicator: in its own group).
    pub(crate) source: u32,
    /// The receiver's world rank: every rank's `MPI_COMM_SELF` has the same context.
    pub(crate) to: u32,
    pub(crate) tag: i32,
    /// Initializations of this envelope before this one.
    pub(crate) number: u32,
}

impl MatchedPair {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        [self.context, self.source, self.to, self.number].into_iter().for_each(|word| out.u32(word));
        out.i32(self.tag);
    }

    pub(crate) fn take(from: &mut Take) -> MatchedPair {
        let (context, source, to, number) = (from.u32(), from.u32(), from.u32(), from.u32());
        MatchedPair { context, source, to, number, tag: from.i32() }
    }
}
