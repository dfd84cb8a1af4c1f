//! A heat map of links as SVG, and what figures have in common.

use super::report::{LinkEnd, LinkReport};
use std::fmt::Write;

pub(crate) const WIDTH: f64 = 720.0;
pub(crate) const HEIGHT: f64 = 420.0;
pub(crate) const LEFT: f64 = 70.0;
pub(crate) const BOTTOM: f64 = 50.0;

/// Begins a figure with its title.
pub(crate) fn open(svg: &mut String, title: &str) {
    let _ = write!(
        svg,
        concat!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" font-family="sans-serif" "#,
            r##"font-size="12"><rect width="100%" height="100%" fill="#fff"/>"##,
            r#"<text x="{}" y="18" text-anchor="middle" font-size="14">{}</text>"#
        ),
        WIDTH,
        HEIGHT,
        WIDTH / 2.0,
        escape(title)
    );
}

/// Text as XML has it.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Draws the use of every port of every router: a row for each router (or for as many in a row as there is
/// room), a column for each port; white is idle, dark red is always busy.
pub(crate) fn heat_map(topology: &str, routers: u32, links: &[LinkReport]) -> String {
    let mut svg = String::new();
    open(&mut svg, &format!("link use, {topology}"));
    let used = || {
        links.iter().filter_map(|link| match link.from {
            LinkEnd::Router(router, port) => Some(((router, port), link.usage)),
            LinkEnd::Endpoint(_) => None,
        })
    };
    let columns = used().map(|((_, port), _)| port + 1).max().unwrap_or(1);
    let routers = routers.max(1);
    let rows = routers.min(170);
    let (cell_w, cell_h) =
        ((WIDTH - LEFT - 20.0) / f64::from(columns), (HEIGHT - BOTTOM - 35.0) / f64::from(rows));
    let mut cells = vec![(0.0, 0u32); (rows * columns) as usize];
    for ((router, port), usage) in used() {
        let row = (u64::from(router) * u64::from(rows) / u64::from(routers)) as u32;
        let cell = &mut cells[(row * columns + port) as usize];
        *cell = (cell.0 + usage, cell.1 + 1);
    }
    for (index, &(sum, count)) in cells.iter().enumerate() {
        if count == 0 {
            continue;
        }
        let usage: f64 = (sum / f64::from(count)).clamp(0.0, 1.0);
        let (row, column) = (index as u32 / columns, index as u32 % columns);
        let _ = write!(
            svg,
            r##"<rect x="{:.2}" y="{:.2}" width="{:.2}" height="{:.2}" fill="{}"/>"##,
            LEFT + f64::from(column) * cell_w,
            30.0 + f64::from(row) * cell_h,
            cell_w,
            cell_h,
            shade(usage)
        );
    }
    let _ = write!(
        svg,
        r#"<text x="{}" y="{}" text-anchor="middle">port, 0 to {}</text>"#,
        WIDTH / 2.0,
        HEIGHT - 12.0,
        columns - 1
    );
    let _ = write!(
        svg,
        "<text transform=\"translate(16 {}) rotate(-90)\" text-anchor=\"middle\">router, 0 to {} (down)\
         </text>",
        HEIGHT / 2.0,
        routers - 1
    );
    // The scale: eleven shades from idle to always busy, in the lower right corner.
    let left = WIDTH - 20.0 - 11.0 * 10.0;
    for part in 0..=10 {
        let x = left + f64::from(part) * 10.0;
        let _ = write!(
            svg,
            r#"<rect x="{x}" y="{}" width="10" height="10" fill="{}"/>"#,
            HEIGHT - 22.0,
            shade(f64::from(part) / 10.0)
        );
    }
    let _ =
        write!(svg, r#"<text x="{}" y="{}" text-anchor="end">busy 0 %</text>"#, left - 4.0, HEIGHT - 13.0);
    let _ =
        write!(svg, r#"<text x="{}" y="{1}" text-anchor="end">100 %</text>"#, WIDTH - 20.0, HEIGHT - 26.0);
    svg.push_str("</svg>\n");
    svg
}

/// Returns the colour of a share of time that a link is busy.
fn shade(usage: f64) -> String {
    let of = |low: f64, high: f64| (low + (high - low) * usage) as u8;
    format!("#{:02x}{:02x}{:02x}", of(250.0, 150.0), of(245.0, 10.0), of(235.0, 20.0))
}
