//! What packets, messages and links of a network did, as data, JSON and CSV.

mod links;
mod map;

use super::OctaveHistogram;
use super::fabric::PacketFabric;
use super::plot::heat_map;
use super::statistics::{JobStatistics, Statistics};
use crate::rails::NodeRails;
pub(crate) use links::ns;
pub use links::{KindReport, LinkEnd, LinkReport};
pub(crate) use links::{each_link, kind_report, kinds, links_to_csv};
pub use map::{BusyLink, RouterCell, RouterMap};
use serde::Serialize;
use std::fmt::{Display, Formatter, Write};

/// Report on a packet network under an MPI program.
#[derive(Clone, Debug, Serialize)]
pub struct NetworkReport {
    /// Description of the topology.
    pub topology: String,
    /// The routing.
    pub routing: String,
    /// Endpoints.
    pub endpoints: u32,
    /// Routers.
    pub routers: u32,
    /// Virtual channels of a link.
    pub virtual_channels: u32,
    /// All packets and messages that went through the network.
    pub total: JobReport,
    /// The kinds of links.
    pub links: Vec<KindReport>,
    /// Each direction of each cable: for CSV and heat maps, not in the JSON.
    #[serde(skip)]
    pub each_link: Vec<LinkReport>,
    /// Routers that belong side by side, as those of a group or of a grid's last side do; 1 where none do.
    #[serde(skip)]
    pub row: u32,
    /// First router of each level of a tree, from the endpoints up; empty of a network without levels.
    #[serde(skip)]
    pub levels: Vec<u32>,
    /// Places of the machine at each endpoint: 1, or as many as a node has.
    #[serde(skip)]
    pub places: u32,
    /// The interfaces of nodes, if they have several.
    #[serde(skip)]
    pub(crate) rails: Option<NodeRails>,
    /// Map of the load and of the ranks, made by [`NetworkReport::map`] once their endpoints are known.
    pub map: RouterMap,
}

impl NetworkReport {
    /// Returns the report of a network with these links.
    pub(crate) fn new(
        fabric: &PacketFabric,
        each_link: Vec<LinkReport>,
        statistics: &Statistics,
    ) -> NetworkReport {
        let endpoints = fabric.topology.endpoints();
        NetworkReport {
            topology: fabric.topology.describe(),
            routing: fabric.routing.name().to_owned(),
            endpoints,
            routers: fabric.topology.routers(),
            virtual_channels: fabric.switching.lanes,
            total: job_report("total", endpoints, &statistics.total(), statistics),
            links: kinds(fabric, &each_link),
            each_link,
            row: fabric.topology.row(),
            levels: fabric.topology.levels(),
            places: 1,
            rails: None,
            map: RouterMap::default(),
        }
    }

    /// Everything but the single links.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Returns a line for each direction of each cable.
    pub fn links_to_csv(&self) -> String {
        links_to_csv(&self.each_link, &self.links)
    }

    /// A heat map of the links' use as SVG.
    pub fn heat_map(&self) -> String {
        heat_map(&self.topology, self.routers, &self.each_link)
    }
}

/// The packets of a job.
#[derive(Clone, Debug, Serialize)]
pub struct JobReport {
    /// Its name.
    pub name: String,
    /// Packets counted in latencies and hops.
    pub packets: u64,
    /// From sending the message to the packet's last byte.
    #[serde(flatten)]
    pub latency: LatencyReport,
    /// Mean number of routers passed.
    pub routers_passed: f64,
    /// Packets by the number of routers that they passed.
    pub routers_histogram: Vec<u64>,
    /// Latencies: least nanoseconds of the bucket, packets.
    pub latency_histogram: Vec<(f64, u64)>,
    /// Whole messages.
    pub messages: MessageReport,
    /// Bytes delivered, headers included.
    pub bytes: u64,
    /// When the last packet arrived.
    pub completion_ns: f64,
    /// Bytes a nanosecond delivered for each endpoint of the job.
    pub throughput_bytes_per_ns: f64,
}

/// The messages of a job.
#[derive(Clone, Debug, Serialize)]
pub struct MessageReport {
    /// Messages counted in latencies.
    pub count: u64,
    /// Packets of each; 0 if messages differ.
    pub packets_each: u64,
    /// From sending the message to the last byte of the last of its packets.
    #[serde(flatten)]
    pub latency: LatencyReport,
    /// Latencies: least nanoseconds of the bucket, messages.
    pub latency_histogram: Vec<(f64, u64)>,
}

/// Distribution of durations, in nanoseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LatencyReport {
    /// The mean.
    #[serde(rename = "latency_mean_ns")]
    pub mean_ns: f64,
    /// The least.
    #[serde(rename = "latency_min_ns")]
    pub min_ns: f64,
    /// Half are not longer, within 3 %.
    #[serde(rename = "latency_p50_ns")]
    pub p50_ns: f64,
    /// 99 % are not longer, within 3 %.
    #[serde(rename = "latency_p99_ns")]
    pub p99_ns: f64,
    /// The longest.
    #[serde(rename = "latency_max_ns")]
    pub max_ns: f64,
}

impl LatencyReport {
    fn new(latency: &OctaveHistogram) -> LatencyReport {
        LatencyReport {
            mean_ns: latency.mean() / 1000.0,
            min_ns: ns(latency.least()),
            p50_ns: ns(latency.percentile(0.5)),
            p99_ns: ns(latency.percentile(0.99)),
            max_ns: ns(latency.greatest()),
        }
    }
}

impl Display for LatencyReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let LatencyReport { mean_ns, min_ns, p50_ns, p99_ns, max_ns } = self;
        write!(
            f,
            "latency mean {mean_ns:.2} ns, min {min_ns:.2}, p50 {p50_ns:.1}, p99 {p99_ns:.1}, max {max_ns:.2}"
        )
    }
}

/// Returns a line for each bucket of the histograms of some jobs.
pub(crate) fn histograms_to_csv<'a>(jobs: impl Iterator<Item = &'a JobReport>) -> String {
    let mut csv = String::from("job,of,from,count\n");
    for job in jobs {
        let mut line =
            |of: &str, from: f64, count: u64| _ = writeln!(csv, "{},{of},{from},{count}", job.name);
        job.latency_histogram.iter().for_each(|&(from, count)| line("packet_latency_ns", from, count));
        job.messages
            .latency_histogram
            .iter()
            .for_each(|&(from, count)| line("message_latency_ns", from, count));
        let passed = job.routers_histogram.iter().enumerate().filter(|(_, count)| **count > 0);
        passed.for_each(|(routers, &count)| line("routers_passed", routers as f64, count));
    }
    csv
}

/// Returns the packets and messages of a job of so many endpoints.
pub(crate) fn job_report(
    name: &str,
    endpoints: u32,
    job: &JobStatistics,
    statistics: &Statistics,
) -> JobReport {
    let window = statistics.window;
    let (bytes, time) = if window.1 == u64::MAX {
        (job.bytes, job.last_arrival)
    } else {
        (job.window_bytes, window.1 - window.0)
    };
    let messages = statistics.messages(job);
    JobReport {
        name: name.to_owned(),
        packets: job.latency.count(),
        latency: LatencyReport::new(&job.latency),
        routers_passed: job.mean_hops(),
        routers_histogram: job.hops.clone(),
        latency_histogram: buckets(&job.latency),
        messages: MessageReport {
            count: messages.count(),
            packets_each: statistics.message_packets().into(),
            latency: LatencyReport::new(messages),
            latency_histogram: buckets(messages),
        },
        bytes: job.bytes,
        completion_ns: ns(job.last_arrival),
        throughput_bytes_per_ns: bytes as f64 / ns(time.max(1)) / f64::from(endpoints),
    }
}

fn buckets(latency: &OctaveHistogram) -> Vec<(f64, u64)> {
    latency.buckets().map(|(least, count)| (ns(least), count)).collect()
}
