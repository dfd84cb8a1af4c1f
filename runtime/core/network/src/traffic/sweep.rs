//! Latency against load.

use super::{Pace, TrafficError, TrafficRun};
use crate::packet::run::Progress;
use serde::Serialize;
use std::fmt::Write;

/// One load.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SweepPoint {
    /// Share of the bandwidth into the network that was offered.
    pub offered: f64,
    /// Share that was delivered.
    pub accepted: f64,
    /// Nanoseconds.
    pub latency_mean_ns: f64,
    /// Nanoseconds.
    pub latency_p99_ns: f64,
    /// Mean latency of whole messages, in nanoseconds.
    pub message_latency_mean_ns: f64,
    /// 99th percentile of the latency of whole messages, in nanoseconds.
    pub message_latency_p99_ns: f64,
}

/// A curve.
#[derive(Clone, Debug, Serialize)]
pub struct SweepReport {
    /// The specification.
    pub network: String,
    /// The pattern.
    pub pattern: String,
    /// In ascending load; ends after the first whose latency is ten times the first's.
    pub points: Vec<SweepPoint>,
    /// The most that was delivered.
    pub saturation: f64,
}

/// Runs `traffic` at each of `rates`, ascending. The first fifth and the last tenth of each run are not
/// measured.
pub fn sweep(
    traffic: &TrafficRun,
    rates: &[f64],
    progress: Progress<'_>,
) -> Result<SweepReport, TrafficError> {
    let mut points: Vec<SweepPoint> = Vec::new();
    for &rate in rates {
        let run = TrafficRun { pace: Pace::Rate(rate), margins: (0.2, 0.1), ..traffic.clone() };
        let report = run.run(progress)?;
        let total = &report.simulated.total;
        let wire = 8.0 / run.injection_gbps()?;
        points.push(SweepPoint {
            offered: rate,
            accepted: total.throughput_bytes_per_ns * wire,
            latency_mean_ns: total.latency.mean_ns,
            latency_p99_ns: total.latency.p99_ns,
            message_latency_mean_ns: total.messages.latency.mean_ns,
            message_latency_p99_ns: total.messages.latency.p99_ns,
        });
        if points[points.len() - 1].latency_mean_ns > 10.0 * points[0].latency_mean_ns {
            break;
        }
    }
    let saturation = points.iter().map(|p| p.accepted).fold(0.0, f64::max);
    Ok(SweepReport {
        network: traffic.spec.text().to_owned(),
        pattern: traffic.pattern.name().to_owned(),
        points,
        saturation,
    })
}

impl TrafficRun {
    /// Bandwidth of the link into the network in Gbps.
    fn injection_gbps(&self) -> Result<f64, TrafficError> {
        let fabric = self.spec.fabric(None)?;
        Ok(fabric.links[fabric.injection_link(0) as usize].bandwidth.as_bits_per_second() / 1e9)
    }
}

impl SweepReport {
    /// As JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
    /// As CSV, a line for each load.
    pub fn to_csv(&self) -> String {
        let mut csv = String::from(
            "offered,accepted,latency_mean_ns,latency_p99_ns,message_latency_mean_ns,\
             message_latency_p99_ns\n",
        );
        for p in &self.points {
            let _ = writeln!(
                csv,
                "{:.4},{:.6},{:.3},{:.3},{:.3},{:.3}",
                p.offered,
                p.accepted,
                p.latency_mean_ns,
                p.latency_p99_ns,
                p.message_latency_mean_ns,
                p.message_latency_p99_ns
            );
        }
        csv
    }
}
