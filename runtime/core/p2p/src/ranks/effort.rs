//! How computation is charged, and what calls do meanwhile.

use engine::Span;

/// The charge for computation between MPI calls.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Compute {
    /// Not at all.
    None,
    /// This much for each interval.
    Fixed(Span),
    /// Host time times a factor.
    Measured {
        /// Virtual seconds of one host second.
        factor: f64,
    },
}

impl Compute {
    /// Virtual time of one host time, where that counts.
    pub fn factor(&self) -> f64 {
        match self {
            Compute::Measured { factor } => *factor,
            _ => 1.0,
        }
    }
}

/// Effect of a call on the batch that its rank has started and that is deferred (`batch.rs`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Course {
    /// The deferred batch is done before the call.
    Ends,
    /// It goes on with the row: a send.
    Starts,
    /// It goes on with the row and sends nothing: a receive is posted.
    Posts,
}

/// The host's work for a call: how long that takes is the rank's computation no more than what other ranks do
/// meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// Nobody has said.
    Unknown,
    /// Some ten nanoseconds, about as many each time.
    Brief,
    /// As few, in a call that computation goes on being measured through.
    Within,
    /// Anything: bytes were copied, other ranks ran.
    Varies,
}
