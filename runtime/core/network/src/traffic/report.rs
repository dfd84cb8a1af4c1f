//! What a run found, as data, JSON and CSV.

use super::{Pace, Prepared, TrafficRun};
use crate::packet::report::{
    JobReport, KindReport, LinkReport, histograms_to_csv, job_report, kinds, links_to_csv,
};
use crate::packet::{JobStatistics, Statistics};
use serde::Serialize;
use std::fmt::Write;
use std::time::Instant;

/// A run's results. `simulated` is the same on every host and number of threads.
#[derive(Clone, Debug, Serialize)]
pub struct TrafficReport {
    /// About the simulated network.
    pub simulated: SimulatedReport,
    /// About the simulation.
    pub host: HostReport,
}

/// Results of the simulated network. Times are in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct SimulatedReport {
    /// The specification.
    pub network: String,
    /// `packet`, or `flow`: each message counts as one packet then.
    pub level: &'static str,
    /// Description of the topology.
    pub topology: String,
    /// The routing.
    pub routing: String,
    /// Endpoints and routers.
    pub endpoints: u32,
    /// Routers.
    pub routers: u32,
    /// Endpoints that have failed.
    pub failed_endpoints: u32,
    /// Messages from or to them, which are not sent.
    pub messages_left_out: u64,
    /// Virtual channels of a link.
    pub virtual_channels: u32,
    /// Bytes of a message.
    pub message_bytes: u64,
    /// Mean nanoseconds between two messages of an endpoint.
    pub interval_ns: f64,
    /// All jobs together.
    pub total: JobReport,
    /// The jobs, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobReport>,
    /// The kinds of links.
    pub links: Vec<KindReport>,
    /// Each direction of each cable: for CSV and heat maps, not in the JSON.
    #[serde(skip)]
    pub each_link: Vec<LinkReport>,
}

/// Time, events and memory of the simulation on the host.
#[derive(Clone, Debug, Serialize)]
pub struct HostReport {
    /// Threads.
    pub threads: u32,
    /// Seconds to build the network.
    pub setup_s: f64,
    /// Seconds to run it.
    pub run_s: f64,
    /// Processor seconds of the busiest thread while running; 0 if the host does not tell.
    pub cpu_s: f64,
    /// Packets delivered a processor second of the busiest thread (a second of running, if unknown).
    pub packets_per_s: f64,
    /// Events handled.
    pub events: u64,
    /// Events a processor second of the busiest thread.
    pub events_per_s: f64,
    /// Most memory of the process in MiB, if the host tells.
    pub memory_mib: f64,
}

/// The results of a run on a network.
pub(super) struct TrafficResults {
    /// Statistics of all its parts.
    pub(super) statistics: Statistics,
    /// Each direction of each cable.
    pub(super) each_link: Vec<LinkReport>,
    /// Messages of failed endpoints.
    pub(super) messages_left_out: u64,
}

impl HostReport {
    pub(super) fn new(threads: u32, started: Instant, built: Instant, cpu_s: f64, events: u64) -> HostReport {
        let run_s = built.elapsed().as_secs_f64();
        HostReport {
            threads,
            setup_s: (built - started).as_secs_f64(),
            run_s,
            cpu_s,
            packets_per_s: 0.0,
            events,
            events_per_s: events as f64 / if cpu_s > 0.0 { cpu_s } else { run_s },
            memory_mib: 0.0,
        }
    }
}

fn peak_memory() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1))
        .and_then(|kib| kib.parse::<f64>().ok())
        .map_or(0.0, |kib| kib / 1024.0)
}

impl TrafficReport {
    pub(super) fn new(
        traffic: &TrafficRun,
        prepared: &Prepared,
        found: TrafficResults,
        mut host: HostReport,
    ) -> TrafficReport {
        let TrafficResults { statistics, each_link, messages_left_out } = found;
        let total = statistics.total();
        let fabric = &prepared.fabric;
        host.packets_per_s = total.packets as f64 / if host.cpu_s > 0.0 { host.cpu_s } else { host.run_s };
        let job = |name: &str, count: u32, job: &JobStatistics| job_report(name, count, job, &statistics);
        let endpoints: u32 = prepared.jobs.iter().map(|job| job.count).sum();
        host.memory_mib = peak_memory();
        TrafficReport {
            simulated: SimulatedReport {
                network: traffic.spec.text().to_owned(),
                level: traffic.spec.level(),
                topology: fabric.topology.describe(),
                routing: fabric.routing.name().to_owned(),
                endpoints: fabric.topology.endpoints(),
                routers: fabric.topology.routers(),
                failed_endpoints: prepared.works.iter().filter(|works| !**works).count() as u32,
                messages_left_out,
                virtual_channels: fabric.switching.lanes,
                message_bytes: traffic.size,
                interval_ns: prepared.interval / 1000.0,
                total: job("total", endpoints, &total),
                jobs: match prepared.jobs.len() {
                    1 => Vec::new(),
                    _ => prepared
                        .jobs
                        .iter()
                        .zip(&statistics.jobs)
                        .map(|(j, s)| job(&j.name, j.count, s))
                        .collect(),
                },
                links: kinds(fabric, &each_link),
                each_link,
            },
            host,
        }
    }

    /// Everything but the single links.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// A line for each direction of each cable.
    pub fn links_to_csv(&self) -> String {
        links_to_csv(&self.simulated.each_link, &self.simulated.links)
    }

    /// A line for each bucket of the histograms: latencies of packets and of messages in nanoseconds, from
    /// the least of the bucket, and routers passed.
    pub fn histograms_to_csv(&self) -> String {
        histograms_to_csv(std::iter::once(&self.simulated.total).chain(&self.simulated.jobs))
    }

    /// A few lines for a terminal.
    pub fn to_text(&self, pace: Pace) -> String {
        let s = &self.simulated;
        let mut text = format!(
            "{}: {} endpoints, {} routers, routing {}, {}\n",
            s.topology,
            s.endpoints,
            s.routers,
            s.routing,
            if s.level == "flow" {
                "flows".to_owned()
            } else {
                format!("{} virtual channels", s.virtual_channels)
            }
        );
        let counted = if s.level == "flow" { "messages" } else { "packets" };
        let pace = match pace {
            Pace::Interval(_) => String::new(),
            Pace::Rate(rate) => format!(" (rate {rate})"),
        };
        let _ = writeln!(
            text,
            "messages of {} bytes, one in {:.3} ns from each endpoint{pace}",
            s.message_bytes, s.interval_ns
        );
        if s.failed_endpoints > 0 {
            let (endpoints, have) =
                if s.failed_endpoints == 1 { ("endpoint", "has") } else { ("endpoints", "have") };
            let left_out = s.messages_left_out;
            let _ = writeln!(
                text,
                "{} {endpoints} {have} failed: {left_out} messages from or to them are left out",
                s.failed_endpoints
            );
        }
        for job in std::iter::once(&s.total).chain(&s.jobs) {
            let _ = writeln!(
                text,
                "{}: {} {counted}, {}; {:.4} routers passed; {:.4} B/ns an endpoint; done at {:.1} ns",
                job.name,
                job.packets,
                job.latency,
                job.routers_passed,
                job.throughput_bytes_per_ns,
                job.completion_ns
            );
            let messages = &job.messages;
            if messages.packets_each > 1 {
                let _ = writeln!(
                    text,
                    "{}: {} messages of {} packets, {}",
                    job.name, messages.count, messages.packets_each, messages.latency
                );
            }
        }
        for kind in &s.links {
            let _ = writeln!(
                text,
                "{} links: {} directions, use mean {:.4}, max {:.4}; buffers mean {:.5}, max {:.4}; blocked \
                 {:.0} ns",
                kind.name,
                kind.count,
                kind.use_mean,
                kind.use_max,
                kind.occupancy_mean,
                kind.occupancy_max,
                kind.blocked_ns
            );
        }
        let h = &self.host;
        let _ = writeln!(
            text,
            "{:.3} s, {:.3} processor seconds, on {} thread{} ({:.2} s to set up); {:.3} million {counted} \
             and {:.1} million events a processor second; {:.0} MiB",
            h.run_s,
            h.cpu_s,
            h.threads,
            if h.threads == 1 { "" } else { "s" },
            h.setup_s,
            h.packets_per_s / 1e6,
            h.events_per_s / 1e6,
            h.memory_mib
        );
        text
    }
}
