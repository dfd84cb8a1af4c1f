//! Measurements of each figure.

use std::fmt::Write;

use crate::exact::{self, LevelLinks};
use crate::run::Examples;
use crate::topology::{ALL, PublishedTopology};

/// Links of figure 12 (section V.A): 1 us and 1 Gbps.
const GIGABIT: LevelLinks = LevelLinks { latency: 1.0, bandwidth: 1000.0 };
/// Links between cores in figure 14: 0.1 us and 10 Gbps.
const CORE: LevelLinks = LevelLinks { latency: 0.1, bandwidth: 10_000.0 };

/// One measured value.
pub struct Point {
    /// The name of its curve.
    pub series: String,
    /// The position on the horizontal axis.
    pub x: f64,
    /// The simulated machine.
    pub machine: String,
    /// Runs that it is the mean of.
    pub runs: u32,
    /// The mean over the runs.
    pub measured: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// The formula's value.
    pub exact: f64,
}

/// A figure's points and how to draw them.
pub struct Figure {
    /// The name of its files.
    pub name: &'static str,
    /// Above the drawing.
    pub title: &'static str,
    /// The label of the horizontal axis, with its unit.
    pub x: &'static str,
    /// The label of the vertical axis, with its unit.
    pub y: &'static str,
    /// Columns of the CSV file for `x` and for the measured value.
    pub columns: (&'static str, &'static str),
    /// In the order of the curves.
    pub points: Vec<Point>,
}

impl Figure {
    /// Returns a table with a line for each point.
    pub fn csv(&self) -> String {
        let (x, y) = self.columns;
        let mut text = format!("series,{x},machine,runs,{y},deviation,exact\n");
        for point in &self.points {
            let Point { series, x, machine, runs, measured, deviation, exact } = point;
            // Machine specifications have commas.
            writeln!(text, "{series},{x},\"{machine}\",{runs},{measured:.6},{deviation:.6},{exact:.6}")
                .expect("text grows");
        }
        text
    }
}

fn powers(most: usize) -> impl Iterator<Item = usize> {
    (1..).map(|k| 1 << k).take_while(move |&n| n <= most)
}

/// The mean of `random` over runs with other random numbers.
fn random(
    examples: &Examples,
    series: String,
    x: f64,
    machine: String,
    ranks: usize,
    runs: u32,
    exact: f64,
) -> Result<Point, String> {
    let runs = if ranks >= 512 { runs.min(3) } else { runs };
    // As many messages as the paper sends, n^2, up to 512 ranks, and no more than there beyond: the mean does
    // not depend on it.
    let hops = ranks.min((512 * 512) / ranks);
    let mut values = Vec::new();
    for seed in 1..=runs {
        values.push(examples.latency("random", &machine, ranks, &[hops.to_string(), seed.to_string()])?);
    }
    let count = f64::from(runs);
    let measured = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - measured).powi(2)).sum();
    let deviation = if runs > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
    Ok(Point { series, x, machine, runs, measured, deviation, exact })
}

/// Figure 12, top: `random` on every topology.
pub fn random_latency(examples: &Examples, most: u32, runs: u32) -> Result<Figure, String> {
    let mut points = Vec::new();
    for topology in ALL {
        for ranks in powers(most as usize) {
            let machine = format!("{},l=1us,b=1Gbps", topology.specification(ranks));
            let exact = exact::random(topology, ranks, GIGABIT);
            points.push(random(examples, topology.name().into(), ranks as f64, machine, ranks, runs, exact)?);
        }
    }
    Ok(over_ranks("random-latency", "random: mean latency, 1 us and 1 Gbps a link", points))
}

/// A figure of mean latencies over the number of ranks.
fn over_ranks(name: &'static str, title: &'static str, points: Vec<Point>) -> Figure {
    Figure { name, title, x: "ranks", y: "mean latency (us)", columns: ("ranks", "latency_us"), points }
}

/// Figure 12, bottom: `ring` on every topology. It has no random numbers: one run.
pub fn ring_latency(examples: &Examples, most: u32) -> Result<Figure, String> {
    let mut points = Vec::new();
    for topology in ALL {
        for ranks in powers(most as usize) {
            let machine = format!("{},l=1us,b=1Gbps", topology.specification(ranks));
            let measured = examples.latency("ring", &machine, ranks, &[ranks.to_string()])?;
            let exact = exact::ring(topology, ranks, GIGABIT);
            points.push(Point {
                series: topology.name().into(),
                x: ranks as f64,
                machine,
                runs: 1,
                measured,
                deviation: 0.0,
                exact,
            });
        }
    }
    Ok(over_ranks("ring-latency", "ring: mean latency, 1 us and 1 Gbps a link", points))
}

/// Figure 13: `random` on a mesh of 8 by 16 while the links get slower.
pub fn bandwidth(examples: &Examples, runs: u32) -> Result<Figure, String> {
    let mut points = Vec::new();
    for exponent in -1..=9 {
        let bits_a_second = 10f64.powi(exponent);
        let machine = format!("mesh:8x16,l=1us,b={bits_a_second}bps");
        let exact = exact::random(
            PublishedTopology::Mesh,
            128,
            LevelLinks { latency: 1.0, bandwidth: bits_a_second / 1e6 },
        );
        points.push(random(examples, "mesh 8x16".into(), bits_a_second, machine, 128, runs, exact)?);
    }
    Ok(Figure {
        name: "bandwidth",
        title: "random: mean latency on a mesh of 8x16, 1 us a link",
        x: "bandwidth of a link (bit/s)",
        y: "mean latency (us)",
        columns: ("bandwidth_bps", "latency_us"),
        points,
    })
}

/// Figure 14: `random` on `ranks` cores, in processors of more and more cores.
pub fn nested(examples: &Examples, ranks: u32, runs: u32) -> Result<Figure, String> {
    let ranks = ranks as usize;
    let mut points = Vec::new();
    for topology in ALL.into_iter().filter(|topology| *topology != PublishedTopology::OneWayRing) {
        for cores in std::iter::once(1).chain(powers(ranks)) {
            let processors = ranks / cores;
            let (outer, inner) = (topology.specification(processors), topology.specification(cores));
            let machine = format!("{outer},l=1us,b=1Gbps/{inner},l=0.1us,b=10Gbps");
            let exact = exact::nested(topology, processors, cores, GIGABIT, CORE);
            points.push(random(examples, topology.name().into(), cores as f64, machine, ranks, runs, exact)?);
        }
    }
    Ok(Figure {
        name: "nested",
        title: "random: mean latency on nested networks, 1 us between processors, 0.1 us between cores",
        x: "cores a processor",
        y: "mean latency (us)",
        columns: ("cores", "latency_us"),
        points,
    })
}

/// Bandwidth of `pingpong` between opposite corners of a mesh of 8 by 16, by message size.
pub fn pingpong(examples: &Examples) -> Result<Figure, String> {
    let hops = f64::from(exact::across(PublishedTopology::Mesh, 128));
    let mut points = Vec::new();
    for (bandwidth, bits_a_microsecond) in [("1Mbps", 1.0), ("100Mbps", 1e2), ("10Gbps", 1e4), ("1Tbps", 1e6)]
    {
        let machine = format!("mesh:8x16,l=1us,b={bandwidth}");
        let output = examples.run("pingpong", &machine, 128, &["1".into()])?;
        for row in output.lines().skip(1) {
            let values: Vec<f64> = row.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            let [bytes, latency, _] = values[..] else { return Err(format!("pingpong printed '{row}'")) };
            if bytes > 0.0 {
                let exact = bytes / (hops + bytes * 8.0 / bits_a_microsecond);
                let (machine, measured) = (machine.clone(), bytes / latency);
                points.push(Point {
                    series: bandwidth.into(),
                    x: bytes,
                    machine,
                    runs: 1,
                    measured,
                    deviation: 0.0,
                    exact,
                });
            }
        }
    }
    Ok(Figure {
        name: "pingpong",
        title: "pingpong: bandwidth across a mesh of 8x16 (22 hops of 1 us) by the links' bandwidth",
        x: "message (bytes)",
        y: "bandwidth (MB/s)",
        columns: ("bytes", "megabytes_a_second"),
        points,
    })
}
