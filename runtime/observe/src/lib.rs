//! What a run cost: the profile that the running simulation adds to, and the report made of it.
//! Others report to it; it knows nothing but virtual time.

mod part;
mod profile;
mod report;

pub use part::{Part, Sum};
pub use profile::{FunctionTally, Profile, RankTally};
pub use report::{FunctionCost, Host, Report, Simulated, Spread};
