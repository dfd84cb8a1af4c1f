//! The critical path of a run (`-xsim-critical-path`, docs/explanation/wait-states.md): the chain of
//! computation and messages that ends last, and at which places time is lost because of which others. Times
//! are picoseconds.

use crate::waiting::WaitState;
use serde::{Deserialize, Serialize};

/// The critical path of a run: its parts are as long as the run, to the picosecond.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CriticalPath {
    /// All of it.
    pub whole: PathBreakdown,
    /// Number of times that the path goes from one rank to another.
    pub hops: u64,
    /// By place in the program, those that have most of it first.
    pub sites: Vec<PathSite>,
    /// Number of ranks on the path.
    pub ranks: u64,
    /// The ranks that have most of it, at most [`CriticalPath::RANKS`], those first; of equal ones the
    /// lowest.
    pub by_rank: Vec<PathRank>,
    /// Lost time by waiting call site and by the call site that causes it, the greatest loss first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delays: Vec<Delay>,
    /// The time that is lost because of each place, where late ranks that were waiting in turn hand it on to
    /// whom they waited for; the greatest first. Together they are all that is lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<DelayCost>,
}

impl CriticalPath {
    /// Ranks that are told of at most.
    pub const RANKS: usize = 64;
}

/// Parts of a path by what happens meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PathBreakdown {
    /// A rank is outside MPI.
    pub compute_ps: u64,
    /// A rank is in MPI and does not wait.
    pub mpi_ps: u64,
    /// Messages are under way.
    pub transfer_ps: u64,
    /// A rank waits, and whose act ended that is not known.
    pub wait_ps: u64,
}

impl PathBreakdown {
    /// Returns the sum of all parts; on a path not more than the run's time.
    pub fn sum(&self) -> u64 {
        self.compute_ps + self.mpi_ps + self.transfer_ps + self.wait_ps
    }
}

/// The part of the path that belongs to a call site.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PathSite {
    /// The place, as a call site; empty behind a rank's last call.
    pub site: String,
    /// The MPI function that is called there.
    pub function: String,
    /// The calls, and the computation that leads to them.
    pub of: PathBreakdown,
}

/// The part of the path that belongs to a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PathRank {
    /// The rank.
    pub rank: u32,
    /// Time of the rank on the path. Messages under way count for their receiver.
    pub of: PathBreakdown,
}

/// Time that is lost at one call site because of another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Delay {
    /// Kind of the wait.
    pub state: WaitState,
    /// The place that waits.
    pub site: String,
    /// The function that it calls.
    pub function: String,
    /// The place whose call came late.
    pub by_site: String,
    /// The function that is called there.
    pub by_function: String,
    /// Calls that lost any.
    pub calls: u64,
    /// All that they lost.
    pub lost_ps: u128,
    /// The part of it during which the late rank computed, directly before its call; in the rest it was in
    /// MPI itself, or did what led to earlier calls.
    pub compute_ps: u128,
}

/// Time that ranks lose because of what others do at a call site or on their way to it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DelayCost {
    /// The place; empty behind a rank's last call.
    pub site: String,
    /// The MPI function that is called there.
    pub function: String,
    /// Short-term cost: loss of ranks that wait directly for a rank at this place.
    pub short: LostTime,
    /// Long-term cost: loss of ranks that wait for it through one or more other waiting ranks.
    pub long: LostTime,
}

/// Time that ranks lose, all of them together, by what the one does meanwhile that they wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LostTime {
    /// It computes.
    pub compute_ps: u128,
    /// It is in MPI and does not wait.
    pub mpi_ps: u128,
    /// It waits for messages under way.
    pub transfer_ps: u128,
    /// It waits, and whose act ended that is not known.
    pub wait_ps: u128,
}

impl LostTime {
    /// Returns the sum of all parts.
    pub fn sum(&self) -> u128 {
        self.compute_ps + self.mpi_ps + self.transfer_ps + self.wait_ps
    }
}

impl DelayCost {
    /// Returns the sum of both.
    pub fn sum(&self) -> u128 {
        self.short.sum() + self.long.sum()
    }
}
