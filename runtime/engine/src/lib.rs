//! Virtual time and the order of events. Knows nothing of MPI, networks or coroutines.

mod queue;
mod time;

pub use queue::{EventKey, EventQueue};
pub use time::{ParseSpanError, Span, Time};
