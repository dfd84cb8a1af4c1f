//! What messages cost the ranks themselves.

use crate::Bandwidth;
use engine::Span;

/// What a rank's own processor spends on messages, in the manner of LogGP (Alexandrov, Ionescu,
/// Schauser and Scheiman, "LogGP: Incorporating Long Messages into the LogP Model", SPAA 1995); all
/// zero by default. They are the rank's own, so they leave a network's order free.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Overheads {
    /// Processor time to send a message (o of LogGP).
    pub send: Span,
    /// Processor time to receive a message (o of LogGP).
    pub receive: Span,
    /// The least time between two messages that a rank sends, or between two that it receives (g).
    pub gap: Span,
    /// Messages of more bytes than this wait for their receiver (rendezvous); `None` lets all go at once.
    pub eager_limit: Option<u64>,
    /// How fast a collective's reduction takes in bytes of an operand; `None` takes no time.
    pub reduce: Option<Bandwidth>,
}
