//! The profile in the report: the time of a run, call site by call site (`-xsim-profile`,
//! docs/reference/report.md). Times are picoseconds.

use crate::collective::CollectiveCost;
use crate::report::Spread;
use crate::traffic::Matrix;
use crate::waiting::WaitState;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A run's calls by where the program makes them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CallProfile {
    /// Call sites, those that took most first.
    pub sites: Vec<SiteCost>,
    /// Messages and bytes by sender and receiver, without messages within collectives.
    pub traffic: Matrix,
    /// Computation, MPI and waiting over virtual time.
    pub series: ActivitySeries,
    /// Computation, MPI and waiting by groups of neighbouring ranks.
    pub load: Vec<RankGroupTimes>,
    /// Time of the ranks in the regions that the program marks, those that took most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<RegionCost>,
    /// Collective calls by call site and algorithm, those that took most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collectives: Vec<CollectiveCost>,
}

/// The calls of one function from one place in the program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SiteCost {
    /// Call site: `file:line function`, less without debug information.
    pub site: String,
    /// The MPI function.
    pub function: String,
    /// Bytes that its calls sent by their counts and datatypes.
    pub bytes: u128,
    /// The calls from entry to return.
    pub time: Moments,
    /// Waiting within them.
    pub wait: Moments,
    /// Calls by duration: those of less than 2^n ps and at least half of that, for each n that has any; 0
    /// took no time.
    pub histogram: Vec<(u32, u64)>,
    /// Waiting by its reason; what is missing to all waiting is messages under way.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub states: BTreeMap<WaitState, Lost>,
    /// These calls by the callers of their place, those that took most first; nothing if nobody asked for
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<ChainCost>,
}

/// The calls of a site that come through the same callers.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ChainCost {
    /// Call sites of the callers, from the caller of the site's function outwards.
    pub chain: Vec<String>,
    /// Number of calls.
    pub calls: u64,
    /// Their time from entry to return.
    pub time_ps: u128,
    /// Waiting within it.
    pub wait_ps: u128,
}

/// Lengths of time, one for each call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Moments {
    /// Number of lengths.
    pub count: u64,
    /// Their sum.
    pub sum_ps: u128,
    /// Their standard deviation, that of all of them and not of a sample.
    pub deviation_ps: u64,
    /// The shortest.
    pub min_ps: u64,
    /// Whose it was; of several the lowest rank.
    pub min_rank: u32,
    /// The longest.
    pub max_ps: u64,
    /// Whose it was; of several the lowest rank.
    pub max_rank: u32,
}

impl Moments {
    /// Returns the mean, rounded down; zero of none.
    pub fn mean_ps(&self) -> u64 {
        // No mean exceeds the maximum, which is a u64.
        self.sum_ps.checked_div(u128::from(self.count)).unwrap_or(0) as u64
    }
}

/// Time lost for one reason at one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Lost {
    /// Calls that lost any.
    pub calls: u64,
    /// All of it.
    pub sum_ps: u128,
    /// The most that one call lost.
    pub max_ps: u64,
    /// Whose call that was; of several the lowest rank.
    pub max_rank: u32,
    /// Whom that one waited for.
    pub max_by: u32,
}

/// Times of what ranks did, in equal stretches of virtual time from its beginning. Of each, the times of all
/// ranks together.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ActivitySeries {
    /// The length of a stretch.
    pub bin_ps: u64,
    /// Outside MPI, up to the last call.
    pub compute_ps: Vec<u128>,
    /// In MPI, without waiting.
    pub mpi_ps: Vec<u128>,
    /// Waiting.
    pub wait_ps: Vec<u128>,
    /// Bytes of point-to-point messages under way, in the mean of the stretch: from sending to arrival, above
    /// the eager limit from asking.
    #[serde(default)]
    pub under_way_bytes: Vec<u128>,
    /// Use of the links of a packet-level network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<LinkUseSeries>,
}

/// The use of links, in equal stretches of virtual time from its beginning; in ten-thousandths of each, the
/// last of which ends with the run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LinkUseSeries {
    /// The length of a stretch.
    pub bin_ps: u64,
    /// All directions of all cables, in the mean.
    pub mean: Vec<u16>,
    /// The link that was busy longest in the stretch; nothing of networks with more than 65,536 ports.
    pub most: Vec<u16>,
}

/// A region of the program: what ranks did between its beginnings and its ends. Ranks that were never there
/// count as well, with nought.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RegionCost {
    /// Name that the program gives the region.
    pub name: String,
    /// Number of times that ranks entered the region.
    pub visits: u64,
    /// All of a rank's time in it.
    pub time: Spread,
    /// Outside MPI.
    pub compute: Spread,
    /// In MPI, without waiting.
    pub mpi: Spread,
    /// Waiting.
    pub wait: Spread,
}

/// Time of a group of neighbouring ranks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RankGroupTimes {
    /// The first of them.
    pub first_rank: u64,
    /// Number of ranks in the group.
    pub ranks: u64,
    /// Outside MPI, up to the last call.
    pub compute: Spread,
    /// In MPI, without waiting.
    pub mpi: Spread,
    /// Waiting.
    pub wait: Spread,
}
