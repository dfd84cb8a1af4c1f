//! Figures of traffic as SVG.

use super::{SweepReport, TrafficReport};
use crate::packet::plot::{BOTTOM, HEIGHT, LEFT, WIDTH, escape, open};
use std::fmt::Write;

/// Returns a step for about six marks up to `greatest`.
fn step(greatest: f64) -> f64 {
    let raw = greatest / 6.0;
    let power = 10f64.powf(raw.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|&s| s >= raw).unwrap_or(power)
}

/// The axis of latencies, which all of them are on: logarithmic where saturation makes the greatest many
/// times the least.
enum LatencyAxis {
    /// Up to this.
    Linear(f64),
    /// From this to that.
    Logarithmic(f64, f64),
}

impl LatencyAxis {
    fn of(least: f64, greatest: f64) -> LatencyAxis {
        if least > 0.0 && least.is_finite() && greatest > 6.0 * least {
            LatencyAxis::Logarithmic(least / 1.1, greatest)
        } else {
            LatencyAxis::Linear(greatest.max(1e-9))
        }
    }

    /// Returns the place of a latency, from 0 at the bottom to 1 at the top.
    fn share(&self, latency: f64) -> f64 {
        match *self {
            LatencyAxis::Linear(top) => latency / top,
            LatencyAxis::Logarithmic(bottom, top) => (latency / bottom).ln() / (top / bottom).ln(),
        }
    }

    /// Returns round values on the axis.
    fn marks(&self) -> Vec<f64> {
        match *self {
            LatencyAxis::Linear(top) => {
                (0..=20).map(|i| f64::from(i) * step(top)).take_while(|&v| v <= top * 1.0001).collect()
            }
            LatencyAxis::Logarithmic(bottom, top) => {
                // Over many powers of ten 1 alone, else 1, 2 and 5.
                let factors: &[f64] = if top / bottom > 1e3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
                let powers = bottom.log10().floor() as i32..=top.log10().ceil() as i32;
                let all =
                    powers.flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)));
                all.filter(|v| (bottom..=top).contains(v)).collect()
            }
        }
    }

    fn name(&self) -> &'static str {
        match self {
            LatencyAxis::Linear(_) => "mean latency in ns",
            LatencyAxis::Logarithmic(..) => "mean latency in ns (logarithmic)",
        }
    }
}

/// Latency over load of one or more sweeps, each with a name.
pub fn latency_load(curves: &[(&str, &SweepReport)]) -> String {
    let mut svg = String::new();
    open(&mut svg, "mean latency over offered load");
    let all = || curves.iter().flat_map(|(_, sweep)| &sweep.points);
    let least = all().map(|p| p.latency_mean_ns).fold(f64::INFINITY, f64::min);
    let greatest = all().map(|p| p.latency_mean_ns).fold(0.0, f64::max);
    let right = all().map(|p| p.offered).fold(0.0, f64::max).max(1e-9);
    let x = |v: f64| LEFT + v / right * (WIDTH - LEFT - 20.0);
    let upright = LatencyAxis::of(least, greatest);
    let y = |v: f64| HEIGHT - BOTTOM - upright.share(v) * (HEIGHT - BOTTOM - 35.0);
    axes(
        &mut svg,
        right,
        &upright.marks(),
        &x,
        &y,
        "offered load (share of the bandwidth into the network)",
        upright.name(),
    );
    for (index, (name, sweep)) in curves.iter().enumerate() {
        let color = ["#1b6ca8", "#c0392b", "#218c4e", "#8e44ad", "#b9770e", "#2c3e50"][index % 6];
        let points: Vec<String> =
            sweep.points.iter().map(|p| format!("{:.1},{:.1}", x(p.offered), y(p.latency_mean_ns))).collect();
        let _ = write!(
            svg,
            r#"<polyline points="{}" fill="none" stroke="{color}" stroke-width="2"/>"#,
            points.join(" ")
        );
        for point in &points {
            let (px, py) = point.split_once(',').unwrap_or(("0", "0"));
            let _ = write!(svg, r#"<circle cx="{px}" cy="{py}" r="3" fill="{color}"/>"#);
        }
        let _ = write!(
            svg,
            r#"<text x="{}" y="{}" fill="{color}">{}</text>"#,
            LEFT + 12.0,
            48.0 + 16.0 * index as f64,
            escape(name)
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn axes(
    svg: &mut String,
    right: f64,
    upright: &[f64],
    x: &dyn Fn(f64) -> f64,
    y: &dyn Fn(f64) -> f64,
    below: &str,
    beside: &str,
) {
    let _ = write!(
        svg,
        r##"<path d="M{LEFT} 30V{0}H{1}" fill="none" stroke="#333"/>"##,
        HEIGHT - BOTTOM,
        WIDTH - 15.0
    );
    let marks = |greatest: f64| {
        (0..=20).map(move |i| f64::from(i) * step(greatest)).take_while(move |&v| v <= greatest * 1.0001)
    };
    for v in marks(right) {
        let _ = write!(
            svg,
            r##"<text x="{:.1}" y="{}" text-anchor="middle">{}</text>"##,
            x(v),
            HEIGHT - BOTTOM + 16.0,
            trim(v)
        );
    }
    for &v in upright {
        let _ = write!(
            svg,
            concat!(
                r##"<path d="M{} {:.1}H{}" stroke="#ddd"/>"##,
                r#"<text x="{}" y="{:.1}" text-anchor="end">{}</text>"#
            ),
            LEFT,
            y(v),
            WIDTH - 15.0,
            LEFT - 6.0,
            y(v) + 4.0,
            trim(v)
        );
    }
    let _ =
        write!(svg, r#"<text x="{}" y="{}" text-anchor="middle">{below}</text>"#, WIDTH / 2.0, HEIGHT - 12.0);
    let _ = write!(
        svg,
        r#"<text transform="translate(16 {}) rotate(-90)" text-anchor="middle">{beside}</text>"#,
        HEIGHT / 2.0
    );
}

fn trim(v: f64) -> String {
    let text = format!("{v:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Draws the use of every port of every router, a row for each router and a column for each port.
pub fn heat_map(report: &TrafficReport) -> String {
    crate::packet::plot::heat_map(
        &report.simulated.topology,
        report.simulated.routers,
        &report.simulated.each_link,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No value is drawn at the place of another one, also where a network past saturation has a thousand
    /// times the least latency.
    #[test]
    fn each_latency_has_a_place_of_its_own_on_the_axis() {
        for latencies in
            [vec![800.0, 900.0, 1200.0], vec![815.0, 1030.0, 5471.8, 9054.7], vec![1.0, 10.0, 5e6], vec![7.0]]
        {
            let axis = LatencyAxis::of(latencies[0], *latencies.last().unwrap());
            let places: Vec<f64> = latencies.iter().map(|&latency| axis.share(latency)).collect();
            assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{places:?}");
            assert!(places.iter().all(|place| (0.0..=1.0).contains(place)), "{places:?}");
            let marks = axis.marks();
            assert!((2..=12).contains(&marks.len()), "{marks:?}");
            assert!(marks.iter().all(|&mark| (0.0..=1.0001).contains(&axis.share(mark))), "{marks:?}");
        }
    }
}
