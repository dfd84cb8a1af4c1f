//! The critical path of a run (`-xsim-critical-path`, docs/explanation/wait-states.md): the chain of
//! computation and messages that ends last, and at which places time is lost because of which others. Times
//! are picoseconds.

use crate::waiting::WaitState;
use serde::{Deserialize, Serialize};

/// The critical path of a run: its parts are as long as the run, to the picosecond.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CriticalPath {
    /// All of it.
    pub whole: Kinds,
    /// How often it goes from one rank to another.
    pub hops: u64,
    /// By place in the program, those that have most of it first.
    pub sites: Vec<PathSite>,
    /// How many ranks it passes.
    pub ranks: u64,
    /// The ranks that have most of it, at most [`CriticalPath::RANKS`], those first; of equal ones the
    /// lowest.
    pub by_rank: Vec<PathRank>,
    /// Where time is lost and because of which place, what is lost most first.
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
pub struct Kinds {
    /// A rank is outside MPI.
    pub compute_ps: u64,
    /// A rank is in MPI and does not wait.
    pub mpi_ps: u64,
    /// Messages are under way.
    pub transfer_ps: u64,
    /// A rank waits, and whose act ended that is not known.
    pub wait_ps: u64,
}

impl Kinds {
    /// All of them; on a path not more than the run's time.
    pub fn sum(&self) -> u64 {
        self.compute_ps + self.mpi_ps + self.transfer_ps + self.wait_ps
    }
}

/// What a place in the program has of the path.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PathSite {
    /// The place, as a call site; empty behind a rank's last call.
    pub site: String,
    /// The MPI function that is called there.
    pub function: String,
    /// Its calls, and the computation that leads to them.
    pub of: Kinds,
}

/// What a rank has of the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PathRank {
    /// Which.
    pub rank: u32,
    /// What it does there; messages under way are those that it receives.
    pub of: Kinds,
}

/// What is lost at one place because of another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Delay {
    /// How.
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

/// What ranks lose because of what others do at a place or on their way to it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DelayCost {
    /// The place; empty behind a rank's last call.
    pub site: String,
    /// The MPI function that is called there.
    pub function: String,
    /// Of ranks that wait for who does it.
    pub short: Cost,
    /// Of ranks that wait for others who wait for it, directly or through more.
    pub long: Cost,
}

/// Time that ranks lose, all of them together, by what the one does meanwhile that they wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Cost {
    /// It computes.
    pub compute_ps: u128,
    /// It is in MPI and does not wait.
    pub mpi_ps: u128,
    /// It waits for messages under way.
    pub transfer_ps: u128,
    /// It waits, and whose act ended that is not known.
    pub wait_ps: u128,
}

impl Cost {
    /// All of it.
    pub fn sum(&self) -> u128 {
        self.compute_ps + self.mpi_ps + self.transfer_ps + self.wait_ps
    }
}

impl DelayCost {
    /// Both.
    pub fn sum(&self) -> u128 {
        self.short.sum() + self.long.sum()
    }
}
