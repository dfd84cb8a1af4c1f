//! Maps: a number for each pair of two things, as shades of one colour with the number in them.

use super::{SIZE, open};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::path::Path;

/// The least and the greatest value: one hue, so that it reads in grey and with every kind of colour blindness.
const LIGHT: [f64; 3] = [237.0, 243.0, 250.0];
const DARK: [f64; 3] = [8.0, 48.0, 107.0];
/// Room for what the axes are called and for the names along them.
const LEFT: i32 = 170;
const RIGHT: i32 = 24;
const ABOVE: i32 = 48;
const BELOW: i32 = 72;
/// Cells narrower or lower than this show no text.
const LEGIBLE: (i32, i32) = (54, 16);

/// A map: what it shows, what goes right and down, and a value for each pair.
#[derive(Clone, PartialEq, Debug)]
pub struct Map {
    /// What it shows.
    pub title: String,
    /// What goes to the right.
    pub x: String,
    /// Its values.
    pub columns: Vec<String>,
    /// What goes down.
    pub y: String,
    /// Its values.
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
        true => on(map, &BitMapBackend::new(path, SIZE).into_drawing_area()),
        false => on(map, &SVGBackend::new(path, SIZE).into_drawing_area()),
    }
    .map_err(|why| format!("cannot draw {}: {why}", path.display()))
}

/// From 0 for the least value to 1 for the greatest, by their logarithms.
fn share(value: f64, least: f64, most: f64) -> f64 {
    if least > 0.0 && most > least { (value / least).ln() / (most / least).ln() } else { 0.0 }
}

fn shade(share: f64) -> RGBColor {
    let [red, green, blue] = std::array::from_fn(|at| (LIGHT[at] + (DARK[at] - LIGHT[at]) * share).round() as u8);
    RGBColor(red, green, blue)
}

fn on<B: DrawingBackend>(map: &Map, area: &DrawingArea<B, Shift>) -> Result<(), String> {
    paint(map, area).map_err(|why| why.to_string())
}

fn paint<B: DrawingBackend>(map: &Map, area: &DrawingArea<B, Shift>) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    area.fill(&WHITE)?;
    let (width, height) = (SIZE.0 as i32 - LEFT - RIGHT, SIZE.1 as i32 - ABOVE - BELOW);
    let (columns, rows) = (map.columns.len().max(1) as i32, map.rows.len().max(1) as i32);
    let (x, y) = (|at: i32| LEFT + width * at / columns, |at: i32| ABOVE + height * at / rows);
    let values = || map.cells.iter().flatten().flatten().map(|cell| cell.0).filter(|&value| value > 0.0);
    let (least, most) = (values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max));
    let style =
        |size: i32, colour: &RGBColor, across: HPos, down: VPos| ("sans-serif", size).into_font().color(colour).pos(Pos::new(across, down));
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
    // Of names that do not fit beside each other every second, fourth, ... stands there.
    let every = |count: i32, room: i32, each: i32| (0..count).step_by((each * count / room + 1).max(1) as usize);
    for column in every(columns, width, LEGIBLE.0) {
        let at = ((x(column) + x(column + 1)) / 2, ABOVE + height + 8);
        area.draw(&Text::new(map.columns[column as usize].clone(), at, style(14, &BLACK, HPos::Center, VPos::Top)))?;
    }
    for row in every(rows, height, LEGIBLE.1) {
        let at = (LEFT - 8, (y(row) + y(row + 1)) / 2);
        area.draw(&Text::new(map.rows[row as usize].clone(), at, style(14, &BLACK, HPos::Right, VPos::Center)))?;
    }
    area.draw(&Text::new(map.title.clone(), (LEFT + width / 2, 14), style(18, &BLACK, HPos::Center, VPos::Top)))?;
    area.draw(&Text::new(map.x.clone(), (LEFT + width / 2, SIZE.1 as i32 - 30), style(16, &BLACK, HPos::Center, VPos::Top)))?;
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

    #[test]
    fn shades_are_logarithmic_and_one_value_has_the_lightest() {
        assert_eq!([share(1.0, 1.0, 100.0), share(10.0, 1.0, 100.0), share(100.0, 1.0, 100.0)], [0.0, 0.5, 1.0]);
        assert_eq!(share(5.0, 5.0, 5.0), 0.0);
    }
}
