//! Figures of traffic as SVG.

use super::{Report, SweepReport};
use crate::packet::plot::{BOTTOM, HEIGHT, LEFT, WIDTH, escape, open};
use std::fmt::Write;

/// A step for about six marks up to `greatest`.
fn step(greatest: f64) -> f64 {
    let raw = greatest / 6.0;
    let power = 10f64.powf(raw.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|&s| s >= raw).unwrap_or(power)
}

/// Latency over load of one or more sweeps, each with a name.
pub fn latency_load(curves: &[(&str, &SweepReport)]) -> String {
    let mut svg = String::new();
    open(&mut svg, "mean latency over offered load");
    let all = || curves.iter().flat_map(|(_, sweep)| &sweep.points);
    let least = all().map(|p| p.latency_mean_ns).fold(f64::INFINITY, f64::min);
    let top = all().map(|p| p.latency_mean_ns).fold(0.0, f64::max).min(least * 6.0);
    let right = all().map(|p| p.offered).fold(0.0, f64::max).max(1e-9);
    let x = |v: f64| LEFT + v / right * (WIDTH - LEFT - 20.0);
    let y = |v: f64| HEIGHT - BOTTOM - v.min(top) / top * (HEIGHT - BOTTOM - 35.0);
    axes(&mut svg, right, top, &x, &y, "offered load (share of the bandwidth into the network)", "mean latency in ns");
    for (index, (name, sweep)) in curves.iter().enumerate() {
        let color = ["#1b6ca8", "#c0392b", "#218c4e", "#8e44ad", "#b9770e", "#2c3e50"][index % 6];
        let points: Vec<String> = sweep.points.iter().map(|p| format!("{:.1},{:.1}", x(p.offered), y(p.latency_mean_ns))).collect();
        let _ = write!(svg, r#"<polyline points="{}" fill="none" stroke="{color}" stroke-width="2"/>"#, points.join(" "));
        for point in &points {
            let (px, py) = point.split_once(',').unwrap_or(("0", "0"));
            let _ = write!(svg, r#"<circle cx="{px}" cy="{py}" r="3" fill="{color}"/>"#);
        }
        let _ = write!(svg, r#"<text x="{}" y="{}" fill="{color}">{}</text>"#, LEFT + 12.0, 48.0 + 16.0 * index as f64, escape(name));
    }
    svg.push_str("</svg>\n");
    svg
}

fn axes(svg: &mut String, right: f64, top: f64, x: &dyn Fn(f64) -> f64, y: &dyn Fn(f64) -> f64, below: &str, beside: &str) {
    let _ = write!(svg, r##"<path d="M{LEFT} 30V{0}H{1}" fill="none" stroke="#333"/>"##, HEIGHT - BOTTOM, WIDTH - 15.0);
    let marks = |greatest: f64| (0..=20).map(move |i| f64::from(i) * step(greatest)).take_while(move |&v| v <= greatest * 1.0001);
    for v in marks(right) {
        let _ = write!(svg, r##"<text x="{:.1}" y="{}" text-anchor="middle">{}</text>"##, x(v), HEIGHT - BOTTOM + 16.0, trim(v));
    }
    for v in marks(top) {
        let _ = write!(
            svg,
            r##"<path d="M{LEFT} {0:.1}H{1}" stroke="#ddd"/><text x="{2}" y="{3:.1}" text-anchor="end">{4}</text>"##,
            y(v),
            WIDTH - 15.0,
            LEFT - 6.0,
            y(v) + 4.0,
            trim(v)
        );
    }
    let _ = write!(svg, r#"<text x="{}" y="{}" text-anchor="middle">{below}</text>"#, WIDTH / 2.0, HEIGHT - 12.0);
    let _ = write!(svg, r#"<text transform="translate(16 {}) rotate(-90)" text-anchor="middle">{beside}</text>"#, HEIGHT / 2.0);
}

fn trim(v: f64) -> String {
    let text = format!("{v:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The use of every port of every router, a row for each router and a column for each port.
pub fn heat_map(report: &Report) -> String {
    crate::packet::plot::heat_map(&report.simulated.topology, report.simulated.routers, &report.simulated.each_link)
}
