//! The rule by which a receive for any source chooses among messages that it may take.

use engine::Time;

/// Rank of a message among those that a receive for any source may take: the least is taken. A search of a
/// short queue compares the same fields by itself ([`Queues::best`](crate::queue::Queues::best)).
// MPI leaves the choice open (MPI 5.0 section 3.5). The earliest is what a receiver sees first. At a tie of
// arrivals the lesser source comes first, whatever the order in which the host sent them.
// Packed: with its chain, the head of a queue is 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(Rust, packed(4))]
pub(crate) struct Precedence {
    pub(crate) arrival: Time,
    /// Rank of the sender in the communicator.
    pub(crate) source: u32,
}
