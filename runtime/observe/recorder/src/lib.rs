//! The cost of a run: the profile that the running simulation adds to, and the report made of it. What its
//! calls were: recorders listen. Others report to it; it knows nothing but virtual time.

mod bins;
pub mod call_profile;
mod check;
pub mod collective;
pub mod contribution;
pub mod critical_path;
mod events;
pub mod intervals;
pub mod log;
mod part;
mod profile;
mod report;
pub mod slots;
mod symbols;
pub mod traffic;
pub mod waiting;

pub use bins::Bins;
pub use call_profile::CallProfile;
pub use check::Check;
pub use collective::{CollectiveCost, CollectiveKind};
pub use contribution::SendVolume;
pub use critical_path::CriticalPath;
pub use events::*;
pub use intervals::{InterruptedIntervals, Intervals, LongIntervals};
pub use log::{Log, RankList};
pub use part::{ProcessCounts, SpreadSum};
pub use profile::{FunctionTally, Profile, RankTally};
pub use report::{EarlyEnd, EndCause, FunctionCost, Host, JobSummary, RunReport, Simulated, Spread};
pub use symbols::Symbols;
pub use traffic::Traffic;
pub use waiting::WaitState;
