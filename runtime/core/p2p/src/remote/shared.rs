//! A network that messages share, of many processes.
//!
//! Process 0 has the network and the queue before it. What leaves from a rank of another process is told to
//! it, with the process that has the [`Flight`](crate::flight::Flight) and the flight's number there; that
//! one is told when the network has delivered it. A message between ranks is a record to its receiver's
//! process when it is sent, as on any network, since what lies there decides what may be received: the
//! receiver's process has its flight.
//!
//! A record without such an order, of a step of a collective for one, waits at its sender until the arrival
//! is known.

use engine::Time;

/// The delivery of a message: at a known time, or by a shared network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// By a formula: it is there then.
    Arrives(Time),
    /// Over a shared network: it leaves then, with so many bytes.
    Leaves(Time, u64),
}
