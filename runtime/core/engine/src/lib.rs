//! Virtual time and the order of events. Knows nothing of MPI, networks or ranks.

mod barrier;
mod crowd;
pub mod deadlock;
mod decision;
mod queue;
mod random;
pub mod record;
pub mod slab;
pub mod stderr;
pub mod text;
mod time;
mod wheel;

pub use barrier::SpinBarrier;
pub use decision::{Decidable, DecisionQueue, SafeTime};
pub use queue::{EventKey, EventQueue};
pub use random::Random;
pub use time::{EndOfTime, ParseSpanError, Span, Time};
pub use wheel::{Timed, TimingWheel};
