//! Draws a figure: lines are the formula's values, circles what was measured.

use std::path::Path;

use ::plot::write_png;
use plotters::prelude::*;
use plotters::style::register_font;

use crate::figures::{Figure, Point};

const SIZE: (u32, u32) = (960, 640);
/// Told apart with every common kind of colour blindness (Okabe and Ito).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 0, 0),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 158, 115),
    RGBColor(213, 94, 0),
    RGBColor(0, 114, 178),
    RGBColor(204, 121, 167),
];

/// Draws it in both formats.
///
/// # Errors
/// A sentence, if a file cannot be written.
pub fn draw(figure: &Figure, svg: &Path, png: &Path) -> Result<(), String> {
    // The same font everywhere, so that the same data give the same bytes.
    let _ = register_font("sans-serif", FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT);
    let failed = |path: &Path, why: String| format!("cannot draw {}: {why}", path.display());
    chart(figure, &SVGBackend::new(svg, SIZE).into_drawing_area()).map_err(|why| failed(svg, why))?;
    let mut pixels = vec![0; SIZE.0 as usize * SIZE.1 as usize * 3];
    let drawn = chart(figure, &BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area());
    drawn.and_then(|()| write_png(png, SIZE, &pixels)).map_err(|why| failed(png, why))
}

/// The series' names, in order, and their points.
fn series(figure: &Figure) -> Vec<(&str, Vec<&Point>)> {
    let mut all: Vec<(&str, Vec<&Point>)> = Vec::new();
    for point in &figure.points {
        match all.last_mut() {
            Some((name, points)) if *name == point.series => points.push(point),
            _ => all.push((&point.series, vec![point])),
        }
    }
    all
}

fn bounds(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max))
}

fn label(value: f64) -> String {
    if !(0.001..100_000.0).contains(&value) { format!("{value:.0e}") } else { format!("{value}") }
}

fn chart<B: DrawingBackend>(
    figure: &Figure,
    area: &DrawingArea<B, plotters::coord::Shift>,
) -> Result<(), String> {
    let text = |why: DrawingAreaErrorKind<B::ErrorType>| why.to_string();
    let (left, right) = bounds(figure.points.iter().map(|point| point.x));
    let (low, high) = bounds(figure.points.iter().map(|point| point.measured));
    area.fill(&WHITE).map_err(text)?;
    let base = if figure.points.iter().all(|point| point.x.log2().fract() == 0.0) { 2.0 } else { 10.0 };
    let mut chart = ChartBuilder::on(area)
        .caption(figure.title, ("sans-serif", 20))
        .margin(16)
        .x_label_area_size(48)
        .y_label_area_size(72)
        .build_cartesian_2d(
            (left / 1.1..right * 1.1).log_scale().base(base),
            (low / 1.3..high * 1.3).log_scale(),
        )
        .map_err(text)?;
    chart
        .configure_mesh()
        .x_desc(figure.x)
        .y_desc(figure.y)
        .label_style(("sans-serif", 15))
        .x_label_formatter(&|x| label(*x))
        .y_label_formatter(&|y| label(*y))
        .light_line_style(RGBColor(240, 240, 240))
        .draw()
        .map_err(text)?;
    for ((name, points), colour) in series(figure).into_iter().zip(COLOURS.iter().cycle()) {
        let line = LineSeries::new(points.iter().map(|point| (point.x, point.exact)), colour.stroke_width(2));
        chart
            .draw_series(line)
            .map_err(text)?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(2)));
        let circles = points.iter().map(|point| Circle::new((point.x, point.measured), 4, colour.filled()));
        chart.draw_series(circles).map_err(text)?;
    }
    let falls = figure.points[0].exact > figure.points[figure.points.len() - 1].exact;
    chart
        .configure_series_labels()
        .position(if falls { SeriesLabelPosition::LowerLeft } else { SeriesLabelPosition::UpperLeft })
        .background_style(WHITE.mix(0.85))
        .border_style(RGBColor(200, 200, 200))
        .label_font(("sans-serif", 15))
        .draw()
        .map_err(text)?;
    area.present().map_err(text)
}
