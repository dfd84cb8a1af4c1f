//! Handles of requests: the kind of request in the bits that [`encode`] leaves free.

pub use objects::handle::*;

/// A send request that was complete when it was made: there is nothing to keep.
// One handle for all such sends: nothing is allocated, and completing it looks at nothing.
pub const REQUEST_SENT: usize = 0x1a1;

/// The referent of a request handle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestRef {
    /// Nothing: null, or a send that was complete at once.
    Nothing,
    /// A completed send.
    Sent,
    /// A receive in the node arena.
    Node(u32),
    /// A receive in the node arena whose owner is blocked for it (`flag::STATUS_IGNORED`): nobody but that
    /// call comes across it.
    Ignored(u32),
    /// Any other request, in the request table.
    Cold(u32),
    /// Not a request handle.
    Invalid,
}

/// The handle of receive node `index`.
// Handles count in steps of 16: what kind of request it is needs no table to be told.
#[inline]
pub fn of_node(index: u32) -> usize {
    encode(index)
}

/// Returns the handle of table request `index`.
#[inline]
pub fn of_cold(index: u32) -> usize {
    encode(index) | 8
}

/// The handle of receive node `index` while its owner is blocked for it.
// A kind of its own, so that a handle that reappears after its node is free is told apart from that of the
// node's next owner.
#[inline]
pub fn of_ignored(index: u32) -> usize {
    encode(index) | 4
}

/// One of many handles of sends that were complete when they were made, for who tells requests apart; they
/// come again after 2^24.
// A kind of its own: nothing is allocated for them either, and 32 bits hold them.
#[inline]
pub fn of_sent(number: u32) -> usize {
    encode(number % (1 << 24)) | 12
}

/// Returns what a request handle names.
#[inline]
pub fn request(handle: usize) -> RequestRef {
    match handle {
        REQUEST_NULL => RequestRef::Nothing,
        REQUEST_SENT => RequestRef::Sent,
        _ if handle >= FIRST && handle & 15 == 0 => RequestRef::Node(((handle - FIRST) >> 4) as u32),
        _ if handle >= FIRST && handle & 15 == 4 => RequestRef::Ignored(((handle - FIRST) >> 4) as u32),
        _ if handle >= FIRST && handle & 15 == 12 => RequestRef::Sent,
        _ if handle >= FIRST && handle & 15 == 8 => RequestRef::Cold(((handle - FIRST) >> 4) as u32),
        _ => RequestRef::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_handle_is_told_apart() {
        for number in [0, 1, 77, (1 << 24) - 1, 1 << 24, u32::MAX] {
            assert_eq!(request(of_sent(number)), RequestRef::Sent);
            assert!(i32::try_from(of_sent(number)).is_ok(), "Fortran has it too");
        }
        let kinds = [of_node(5), of_cold(5), of_ignored(5)].map(request);
        assert_eq!(kinds, [RequestRef::Node(5), RequestRef::Cold(5), RequestRef::Ignored(5)]);
    }
}
