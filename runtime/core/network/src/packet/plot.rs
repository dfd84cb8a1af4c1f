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

/// Rows of a heat map at most: neighbouring routers are one row, of the mean of their use.
const MAX_ROWS: u32 = 170;
/// Labels of an axis of a heat map, about.
const LABELS: u32 = 8;

/// Draws the use of every port of every router: a row for each router, a column for each port. White is idle,
/// red the busiest. Pointing at a cell shows its value.
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
    let rows = routers.min(MAX_ROWS);
    let (cell_w, cell_h) =
        ((WIDTH - LEFT - 20.0) / f64::from(columns), (HEIGHT - BOTTOM - 35.0) / f64::from(rows));
    let mut cells = vec![(0.0, 0u32); (rows * columns) as usize];
    for ((router, port), usage) in used() {
        let row = (u64::from(router) * u64::from(rows) / u64::from(routers)) as u32;
        let cell = &mut cells[(row * columns + port) as usize];
        *cell = (cell.0 + usage, cell.1 + 1);
    }
    let mean = |&(sum, count): &(f64, u32)| (count > 0).then(|| (sum / f64::from(count)).clamp(0.0, 1.0));
    let most = cells.iter().filter_map(mean).fold(0.0, f64::max);
    let share = |usage: f64| if most > 0.0 { usage / most } else { 0.0 };
    svg.push_str(STYLE);
    let first = |row: u32| (u64::from(row) * u64::from(routers)).div_ceil(u64::from(rows));
    for (index, cell) in cells.iter().enumerate() {
        let Some(usage) = mean(cell) else { continue };
        let (row, column) = (index as u32 / columns, index as u32 % columns);
        let (from, until) = (first(row), first(row + 1));
        let name = if until > from + 1 {
            format!("routers {from} to {}", until - 1)
        } else {
            format!("router {from}")
        };
        let _ = write!(
            svg,
            "<rect class=\"c\" x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\" \
             fill-opacity=\"{:.3}\"><title>{name}, port {column}: busy {:.1} %</title></rect>",
            LEFT + f64::from(column) * cell_w,
            30.0 + f64::from(row) * cell_h,
            cell_w,
            cell_h,
            share(usage),
            100.0 * usage
        );
    }
    labels(&mut svg, columns, |svg, port| {
        let x = LEFT + (f64::from(port) + 0.5) * cell_w;
        let _ = write!(
            svg,
            r#"<text x="{x:.1}" y="{}" text-anchor="middle">{port}</text>"#,
            HEIGHT - BOTTOM + 9.0
        );
    });
    labels(&mut svg, routers, |svg, router| {
        let y = 30.0 + (f64::from(router) + 0.5) * cell_h * f64::from(rows) / f64::from(routers) + 4.0;
        let _ = write!(svg, r#"<text x="{}" y="{y:.1}" text-anchor="end">{router}</text>"#, LEFT - 5.0);
    });
    let _ = write!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">port</text>\
         <text transform=\"translate(16 {}) rotate(-90)\" text-anchor=\"middle\">router</text>",
        WIDTH / 2.0,
        HEIGHT - 12.0,
        HEIGHT / 2.0
    );
    // The scale: eleven shades from idle to the busiest, in the lower right corner.
    let left = WIDTH - 20.0 - 60.0 - 11.0 * 10.0;
    for part in 0..=10 {
        let (x, y, shade) = (left + f64::from(part) * 10.0, HEIGHT - 22.0, f64::from(part) / 10.0);
        let _ =
            write!(svg, r#"<rect class="c" x="{x}" y="{y}" width="10" height="10" fill-opacity="{shade}"/>"#);
    }
    let y = HEIGHT - 13.0;
    let _ = write!(svg, r#"<text x="{}" y="{y}" text-anchor="end">busy 0 %</text>"#, left - 4.0);
    let busiest =
        if most > 0.0 && most < 0.0005 { "&lt;0.1 %".into() } else { format!("{:.1} %", 100.0 * most) };
    let _ = write!(svg, r#"<text x="{}" y="{y}">{busiest}</text>"#, left + 114.0);
    svg.push_str("</svg>\n");
    svg
}

/// Colours by the reader's choice of light or dark.
const STYLE: &str = "<style>.c{fill:#96141e}@media(prefers-color-scheme:dark){svg{background:#15181c}\
                     svg>rect:first-of-type{fill:#15181c}text{fill:#e6e8ea}.c{fill:#ff8a7a}}</style>";

/// Draws a label for about [`LABELS`] of `count` numbers, at a step of 1, 2 or 5 times a power of ten.
fn labels(svg: &mut String, count: u32, mut draw: impl FnMut(&mut String, u32)) {
    let steps = (0..9).flat_map(|power| [1, 2, 5].map(|digit| digit * 10u32.pow(power)));
    let step = steps.into_iter().find(|step| count.div_ceil(*step) <= LABELS + 1).unwrap_or(u32::MAX);
    (0..count).step_by(step as usize).for_each(|number| draw(svg, number));
}
