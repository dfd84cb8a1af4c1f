//! Maps: a number for each pair of two things, as shades of one colour with the number in them.

use super::label::{LETTER_WIDTH, fitted};
use super::{SIZE, open, pixels, write_png};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::path::Path;

/// The least and the greatest value: one hue, so that it reads in grey and with every kind of colour
/// blindness.
const LIGHT: [f64; 3] = [237.0, 243.0, 250.0];
const DARK: [f64; 3] = [8.0, 48.0, 107.0];
/// Room above for the title and what goes down.
const ABOVE: i32 = 48;
/// Room for the names of rows: at least, and at most.
const LEFT: (i32, i32) = (90, 340);
/// Room for the scale, its bar and the bar's distance from the map.
const RIGHT: i32 = 130;
const BAR: (i32, i32) = (16, 18);
/// Lines of a column's name, their height, and room below them.
const COLUMN_LINES: usize = 4;
const LINE: i32 = 16;
const BELOW: i32 = 56;
/// Cells narrower or lower than this show no text.
const LEGIBLE: (i32, i32) = (54, 16);

/// A map: what it shows, what goes right and down, and a value for each pair.
#[derive(Clone, PartialEq, Debug)]
pub struct Map {
    /// Title of the map.
    pub title: String,
    /// Label of the columns, which go right.
    pub x: String,
    /// The values.
    pub columns: Vec<String>,
    /// Label of the rows, which go down.
    pub y: String,
    /// The values.
    pub rows: Vec<String>,
    /// By row and column: a number above 0 and how it is written; `None`: there is none.
    pub cells: Vec<Vec<Option<(f64, String)>>>,
}

/// Draws it, as PNG if the file's name ends so and as SVG otherwise. Shades are logarithmic.
///
/// # Errors
/// A sentence, if there is nothing to draw or the file cannot be written.
pub fn draw_map(map: &Map, path: &Path) -> Result<(), String> {
    let mut values = map.cells.iter().flatten().flatten().map(|cell| cell.0).peekable();
    if values.peek().is_none() || values.any(|value| !value.is_finite()) {
        return Err(format!("cannot draw {}: there is no value, or one that is no number", path.display()));
    }
    match open(path)? {
        true => {
            let mut pixels = pixels(SIZE);
            let drawn = on(map, &BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area());
            drawn.and_then(|()| write_png(path, SIZE, &pixels))
        }
        false => crate::write_svg(path, SIZE, |area| on(map, area)),
    }
    .map_err(|why| format!("cannot draw {}: {why}", path.display()))
}

/// Returns the share of a value, from 0 for the least to 1 for the greatest, by their logarithms.
fn share(value: f64, least: f64, most: f64) -> f64 {
    if least > 0.0 && most > least { (value / least).ln() / (most / least).ln() } else { 0.0 }
}

fn shade(share: f64) -> RGBColor {
    let [red, green, blue] =
        std::array::from_fn(|at| (LIGHT[at] + (DARK[at] - LIGHT[at]) * share).round() as u8);
    RGBColor(red, green, blue)
}

fn on<B: DrawingBackend>(map: &Map, area: &DrawingArea<B, Shift>) -> Result<(), String> {
    paint(map, area).map_err(|why| why.to_string())
}

fn paint<B: DrawingBackend>(
    map: &Map,
    area: &DrawingArea<B, Shift>,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    area.fill(&WHITE)?;
    let (columns, rows) = (map.columns.len().max(1) as i32, map.rows.len().max(1) as i32);
    let longest = map.rows.iter().map(|name| name.chars().count()).max().unwrap_or(0) as i32;
    let left = (longest * LETTER_WIDTH + 16).clamp(LEFT.0, LEFT.1);
    let width = SIZE.0 as i32 - left - RIGHT;
    // Of names that do not fit beside each other every second, fourth, ... stands there.
    let every = |count: i32, room: i32, each: i32| (each * count / room + 1).max(1) as usize;
    let column_step = every(columns, width, LEGIBLE.0);
    let letters = width / columns * column_step as i32 / LETTER_WIDTH - 1;
    let names: Vec<Vec<String>> =
        map.columns.iter().map(|name| fitted(name, letters as usize, COLUMN_LINES)).collect();
    let lines = names.iter().map(Vec::len).max().unwrap_or(1) as i32;
    let height = SIZE.1 as i32 - ABOVE - BELOW - lines * LINE;
    let (x, y) = (|at: i32| left + width * at / columns, |at: i32| ABOVE + height * at / rows);
    let values = || map.cells.iter().flatten().flatten().map(|cell| cell.0).filter(|&value| value > 0.0);
    let (least, most) = (values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max));
    let style = |size: i32, colour: &RGBColor, across: HPos, down: VPos| {
        ("sans-serif", size).into_font().color(colour).pos(Pos::new(across, down))
    };
    let middle = |colour: &RGBColor| style(14, colour, HPos::Center, VPos::Center);
    for (row, cells) in (0..).zip(&map.cells) {
        for (column, cell) in (0..).zip(cells) {
            let corners = [(x(column), y(row)), (x(column + 1), y(row + 1))];
            let share = cell.as_ref().map(|cell| share(cell.0, least, most));
            let colour = share.map_or(RGBColor(200, 200, 200), shade);
            area.draw(&Rectangle::new(corners, colour.filled()))?;
            area.draw(&Rectangle::new(corners, WHITE.stroke_width(1)))?;
            if width / columns >= LEGIBLE.0 && height / rows >= LEGIBLE.1 {
                let text = cell.as_ref().map_or("failed", |cell| cell.1.as_str());
                let ink = if share.unwrap_or(0.0) > 0.5 { WHITE } else { BLACK };
                area.draw(&Text::new(
                    text.to_owned(),
                    ((corners[0].0 + corners[1].0) / 2, (corners[0].1 + corners[1].1) / 2),
                    middle(&ink),
                ))?;
            }
        }
    }
    for (column, name) in (0..).zip(&names).step_by(column_step) {
        for (line, text) in (0..).zip(name) {
            let at = ((x(column) + x(column + 1)) / 2, ABOVE + height + 8 + line * LINE);
            area.draw(&Text::new(text.clone(), at, style(14, &BLACK, HPos::Center, VPos::Top)))?;
        }
    }
    let row_step = every(rows, height, LEGIBLE.1);
    let row_lines = (height / rows * row_step as i32 / LINE).max(1) as usize;
    for (row, name) in (0..).zip(&map.rows).step_by(row_step) {
        let name = fitted(name, ((left - 16) / LETTER_WIDTH) as usize, row_lines);
        let top = (y(row) + y(row + 1)) / 2 - (name.len() as i32 - 1) * LINE / 2;
        for (line, text) in (0..).zip(&name) {
            area.draw(&Text::new(
                text.clone(),
                (left - 8, top + line * LINE),
                style(14, &BLACK, HPos::Right, VPos::Center),
            ))?;
        }
    }
    // The scale: the greatest value at the top.
    let bar = (left + width + BAR.1, left + width + BAR.1 + BAR.0);
    for at in 0..height {
        let colour = shade(1.0 - f64::from(at) / f64::from(height));
        area.draw(&Rectangle::new([(bar.0, ABOVE + at), (bar.1, ABOVE + at + 1)], colour.filled()))?;
    }
    let text_of = |value: f64| {
        map.cells.iter().flatten().flatten().find(|cell| cell.0 == value).map(|cell| cell.1.clone())
    };
    for (value, at) in [(most, ABOVE + 8), (least, ABOVE + height - 8)] {
        let text = text_of(value).unwrap_or_default();
        area.draw(&Text::new(text, (bar.1 + 6, at), style(14, &BLACK, HPos::Left, VPos::Center)))?;
    }
    area.draw(&Text::new(
        map.title.clone(),
        (left + width / 2, 14),
        style(18, &BLACK, HPos::Center, VPos::Top),
    ))?;
    area.draw(&Text::new(
        map.x.clone(),
        (left + width / 2, SIZE.1 as i32 - 30),
        style(16, &BLACK, HPos::Center, VPos::Top),
    ))?;
    area.draw(&Text::new(map.y.clone(), (14, ABOVE - 26), style(16, &BLACK, HPos::Left, VPos::Top)))?;
    area.present()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(cells: &[&[Option<f64>]]) -> Map {
        let cell = |value: &Option<f64>| value.map(|value| (value, format!("{value} s")));
        Map {
            title: "time".into(),
            x: "np".into(),
            columns: vec!["1".into(), "2".into()],
            y: "l".into(),
            rows: vec!["1us".into(), "2us".into()],
            cells: cells.iter().map(|row| row.iter().map(cell).collect()).collect(),
        }
    }

    #[test]
    fn a_map_has_a_shade_and_a_number_for_each_pair() {
        let path = std::env::temp_dir().join(format!("xsim-map-{}.svg", std::process::id()));
        draw_map(&map(&[&[Some(1.0), Some(10.0)], &[Some(100.0), None]]), &path).unwrap();
        let drawn = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        // The least is light, the greatest dark, and ten is halfway between one and a hundred.
        for said in ["#EDF3FA", "#08306B", "#7B92B3", "1 s", "100 s", "failed", "2us"] {
            assert!(drawn.contains(said), "{said} is missing in {drawn}");
        }
        let why = draw_map(&map(&[&[None, None]]), &path).unwrap_err();
        assert!(why.contains("there is no value"), "{why}");
    }

    /// The scale repeats the least and the greatest value beside the map.
    #[test]
    fn a_map_has_a_scale_and_names_of_any_length() {
        let path = std::env::temp_dir().join(format!("xsim-map-scale-{}.svg", std::process::id()));
        let mut long = map(&[&[Some(1.0), Some(10.0)], &[Some(100.0), None]]);
        long.rows = vec!["machine:a=1,".repeat(40) + "first", "machine:a=1,".repeat(40) + "second"];
        long.columns = long.rows.clone();
        draw_map(&long, &path).unwrap();
        let svg = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let texts: Vec<&str> = svg
            .split("<text ")
            .skip(1)
            .filter_map(|text| text.split_once('>')?.1.split('<').next())
            .map(str::trim)
            .collect();
        let count = |wanted: &str| texts.iter().filter(|&&text| text == wanted).count();
        assert_eq!((count("1 s"), count("10 s"), count("100 s")), (2, 1, 2), "{texts:?}");
        assert!(texts.iter().all(|text| text.chars().count() <= 60), "{texts:?}");
        assert_eq!(texts.iter().filter(|text| text.ends_with("first")).count(), 2, "{texts:?}");
    }

    #[test]
    fn shades_are_logarithmic_and_one_value_has_the_lightest() {
        assert_eq!(
            [share(1.0, 1.0, 100.0), share(10.0, 1.0, 100.0), share(100.0, 1.0, 100.0)],
            [0.0, 0.5, 1.0]
        );
        assert_eq!(share(5.0, 5.0, 5.0), 0.0);
    }
}
