//! Curves and maps as SVG and PNG: what is drawn is said by whoever draws (`xsim sweep`, `xsim calibrate`),
//! how it looks is said here.

mod label;
mod map;

use label::{LETTER_WIDTH, fitted};
pub use map::{Map, draw_map};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::register_font;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ffi::OsStr;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

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
/// An axis whose values differ by more than this is logarithmic: a linear one would hide the small ones.
const RATIO: f64 = 30.0;

/// Style in which a series is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Points that a line joins.
    Line,
    /// Points alone.
    Points,
    /// A line without points: a formula.
    Curve,
}

/// Points that belong together.
#[derive(Clone, PartialEq, Debug)]
pub struct PlotSeries {
    /// Name in the legend; a series without one is not listed.
    pub name: String,
    /// Style in which it is drawn.
    pub mark: Mark,
    /// Coordinates of its points, in the order in which a line joins them.
    pub points: Vec<(f64, f64)>,
}

/// A drawing: what the axes are, and what is on it.
#[derive(Clone, PartialEq, Debug)]
pub struct Chart {
    /// Title of the chart.
    pub title: String,
    /// Label of the horizontal axis, with its unit.
    pub x: String,
    /// Label of the vertical axis, with its unit.
    pub y: String,
    /// Series that are drawn.
    pub series: Vec<PlotSeries>,
}

/// Reads the name of a picture's file.
///
/// # Errors
/// A sentence, if it ends neither in `.svg` nor in `.png`.
pub fn picture(name: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(name);
    let is_known = |end: &OsStr| ["svg", "png"].iter().any(|known| end.eq_ignore_ascii_case(known));
    match path.extension().is_some_and(is_known) {
        true => Ok(path),
        false => Err("pictures are drawn as .svg or .png, by the end of the file's name".to_owned()),
    }
}

/// Draws it, as PNG if the file's name ends so and as SVG otherwise.
///
/// # Errors
/// A sentence, if there is nothing to draw or the file cannot be written.
pub fn draw(chart: &Chart, path: &Path) -> Result<(), String> {
    let cannot = |why: String| format!("cannot draw {}: {why}", path.display());
    let points = || chart.series.iter().flat_map(|series| &series.points);
    if points().next().is_none() || points().any(|(x, y)| !x.is_finite() || !y.is_finite()) {
        return Err(cannot("there is no point, or one that is no number".to_owned()));
    }
    // The list of names stands below the chart, where it covers no line.
    let size = (SIZE.0, SIZE.1 + SeriesNames::of(chart).height());
    match open(path)? {
        true => {
            let mut pixels = pixels(size);
            let drawn = on(chart, &BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area());
            drawn.and_then(|()| write_png(path, size, &pixels))
        }
        false => write_svg(path, size, |area| on(chart, area)),
    }
    .map_err(cannot)
}

/// Colours by the reader's choice of light or dark: the same hues, with dark and light exchanged.
const DARK: &str = "<style>@media (prefers-color-scheme:dark){:root{filter:invert(.91) hue-rotate(180deg)}}\
                    </style>";

/// Draws into an SVG and writes it.
fn write_svg(
    path: &Path,
    size: (u32, u32),
    draw: impl FnOnce(&DrawingArea<SVGBackend, Shift>) -> Result<(), String>,
) -> Result<(), String> {
    let mut text = String::new();
    draw(&SVGBackend::with_string(&mut text, size).into_drawing_area())?;
    let (head, rest) = text.split_once('>').unwrap_or((&text, ""));
    std::fs::write(path, format!("{head}>\n{DARK}{rest}")).map_err(|why| why.to_string())
}

/// Returns memory for a picture: three bytes a pixel.
fn pixels((width, height): (u32, u32)) -> Vec<u8> {
    vec![0; width as usize * height as usize * 3]
}

/// Writes a picture of red, green and blue bytes as PNG.
///
/// # Errors
/// A sentence, if the file cannot be written.
// The backend's own encoder brings readers of several formats, which take longer to compile than all else
// here.
pub fn write_png(path: &Path, (width, height): (u32, u32), pixels: &[u8]) -> Result<(), String> {
    let write = || {
        let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(pixels)?;
        writer.finish()
    };
    write().map_err(|why: png::EncodingError| why.to_string())
}

/// Makes the file, and sees to the font: whether it is to be PNG.
fn open(path: &Path) -> Result<bool, String> {
    // The same font everywhere, so that the same data give the same bytes.
    let _ = register_font("sans-serif", FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT);
    // What the backends say of a file that cannot be written is no sentence.
    File::create(path).map_err(|why| format!("cannot draw {}: {why}", path.display()))?;
    Ok(path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png")))
}

/// Returns from where to where an axis goes, with room at both ends, and whether it is logarithmic.
fn range(values: impl Iterator<Item = f64>) -> (std::ops::Range<f64>, bool) {
    let (least, most) =
        values.fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(value), most.max(value)));
    if least > 0.0 && most / least > RATIO {
        let room = (most / least).powf(0.04);
        return (least / room..most * room, true);
    }
    // A line of one point, or at one height, has its place in the middle.
    let room = if most > least { (most - least) * 0.04 } else { most.abs().max(1.0) * 0.1 };
    (least - room..most + room, false)
}

/// The list of the series' names: texts of one width in columns.
struct SeriesNames {
    /// Names and colours.
    names: Vec<(String, RGBColor)>,
    /// Letters of a column.
    letters: usize,
    columns: usize,
}

impl SeriesNames {
    /// Room for a line in a series' colour, and between columns.
    const SAMPLE: i32 = 48;
    const LINE: i32 = 20;

    fn of(chart: &Chart) -> SeriesNames {
        let named =
            chart.series.iter().zip(COLOURS.iter().cycle()).filter(|(series, _)| !series.name.is_empty());
        let most = ((SIZE.0 as i32 - SeriesNames::SAMPLE) / LETTER_WIDTH) as usize;
        let names: Vec<_> =
            named.map(|(series, colour)| (fitted(&series.name, most, 1).concat(), *colour)).collect();
        let letters = names.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let columns = SIZE.0 as usize / (letters * LETTER_WIDTH as usize + SeriesNames::SAMPLE as usize);
        SeriesNames { letters, columns: columns.max(1), names }
    }

    fn height(&self) -> u32 {
        match self.names.len().div_ceil(self.columns) {
            0 => 0,
            rows => rows as u32 * SeriesNames::LINE as u32 + 12,
        }
    }

    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        area.fill(&WHITE)?;
        for (index, (name, colour)) in self.names.iter().enumerate() {
            let (column, row) = ((index % self.columns) as i32, (index / self.columns) as i32);
            let (x, y) = (
                16 + column * (self.letters as i32 * LETTER_WIDTH + SeriesNames::SAMPLE),
                row * SeriesNames::LINE + 8,
            );
            area.draw(&PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(2)))?;
            let style = ("sans-serif", 15).into_font().color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
            area.draw(&Text::new(name.clone(), (x + 28, y), style))?;
        }
        Ok(())
    }
}

fn on<B: DrawingBackend>(chart: &Chart, area: &DrawingArea<B, Shift>) -> Result<(), String> {
    let (whole, (area, below)) = (area, area.split_vertically(SIZE.1));
    let area = &area;
    let points = || chart.series.iter().flat_map(|series| &series.points);
    let ((x, is_x_log), (y, is_y_log)) = (range(points().map(|at| at.0)), range(points().map(|at| at.1)));
    match (is_x_log, is_y_log) {
        (false, false) => axes(chart, area, x, y),
        (true, false) => axes(chart, area, x.log_scale(), y),
        (false, true) => axes(chart, area, x, y.log_scale()),
        (true, true) => axes(chart, area, x.log_scale(), y.log_scale()),
    }
    .and_then(|()| SeriesNames::of(chart).draw(&below))
    .and_then(|()| whole.present())
    .map_err(|why| why.to_string())
}

fn label(value: f64) -> String {
    let rounded = format!("{value:.3e}").parse::<f64>().unwrap_or(value);
    if rounded != 0.0 && !(0.001..100_000.0).contains(&rounded.abs()) {
        format!("{rounded:e}")
    } else {
        format!("{rounded}")
    }
}

fn axes<B, X, Y>(
    chart: &Chart,
    area: &DrawingArea<B, Shift>,
    x: X,
    y: Y,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>>
where
    B: DrawingBackend,
    X: AsRangedCoord<Value = f64>,
    Y: AsRangedCoord<Value = f64>,
    X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    area.fill(&WHITE)?;
    let mut context = ChartBuilder::on(area)
        .caption(&chart.title, ("sans-serif", 20))
        .margin(16)
        .x_label_area_size(48)
        .y_label_area_size(80)
        .build_cartesian_2d(x, y)?;
    context
        .configure_mesh()
        .x_desc(&chart.x)
        .y_desc(&chart.y)
        .label_style(("sans-serif", 15))
        .x_label_formatter(&|value| label(*value))
        .y_label_formatter(&|value| label(*value))
        .light_line_style(RGBColor(240, 240, 240))
        .draw()?;
    for (series, colour) in chart.series.iter().zip(COLOURS.iter().cycle()) {
        if series.mark != Mark::Curve {
            context.draw_series(series.points.iter().map(|&at| Circle::new(at, 4, colour.filled())))?;
        }
        let line = if series.mark == Mark::Points { &[] } else { series.points.as_slice() };
        context.draw_series(LineSeries::new(line.iter().copied(), colour.stroke_width(2)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pictures_name_ends_in_what_is_drawn() {
        assert_eq!(picture("out/a.SVG"), Ok("out/a.SVG".into()));
        assert_eq!(picture("b.png"), Ok("b.png".into()));
        for name in ["p.foo", "svg", "", "/dev/full"] {
            assert!(picture(name).unwrap_err().contains(".svg or .png"), "{name}");
        }
    }

    fn chart(points: &[(f64, f64)]) -> Chart {
        let series = |mark, name: &str| PlotSeries { name: name.to_owned(), mark, points: points.to_vec() };
        let series =
            vec![series(Mark::Line, "line"), series(Mark::Points, "points"), series(Mark::Curve, "")];
        Chart { title: "title".to_owned(), x: "x [s]".to_owned(), y: "y [B]".to_owned(), series }
    }

    #[test]
    fn both_formats_are_drawn_and_the_same_each_time() {
        for (file, begin) in [("a.svg", "<svg".as_bytes()), ("a.png", b"\x89PNG")] {
            let path = std::env::temp_dir().join(format!("xsim-plot-{}-{file}", std::process::id()));
            let drawn = [0, 1].map(|_| {
                draw(&chart(&[(1.0, 2.0), (1000.0, 3.0)]), &path).unwrap();
                std::fs::read(&path).unwrap()
            });
            std::fs::remove_file(&path).unwrap();
            assert!(drawn[0].starts_with(begin) && drawn[0] == drawn[1]);
            let has_dark = String::from_utf8_lossy(&drawn[0]).contains("prefers-color-scheme:dark");
            assert_eq!(has_dark, file == "a.svg");
        }
    }

    /// Names stand below the axes, in lines that end inside the picture, however long they are.
    #[test]
    fn names_of_series_cover_no_line() {
        let mut long = chart(&[(1.0, 2.0), (3.0, 4.0)]);
        long.series = (0..9)
            .map(|at| PlotSeries {
                name: format!("{}={at}", "machine:a=1,".repeat(20)),
                ..long.series[0].clone()
            })
            .collect();
        let path = std::env::temp_dir().join(format!("xsim-plot-{}-names.svg", std::process::id()));
        draw(&long, &path).unwrap();
        let svg = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let names: Vec<&str> = svg.split("<text ").filter(|text| text.contains("machine:")).collect();
        let y = |text: &str| {
            text.split_once(" y=\"").unwrap().1.split('"').next().unwrap().parse::<u32>().unwrap()
        };
        assert!(names.len() == 9 && names.iter().all(|text| y(text) >= SIZE.1), "{names:?}");
        let shown = names[8].split_once('>').unwrap().1.split('<').next().unwrap().trim();
        assert!(
            shown.ends_with("=8") && shown.chars().count() as i32 * LETTER_WIDTH <= SIZE.0 as i32,
            "{shown}"
        );
        assert!(svg.contains(&format!("height=\"{}\"", SIZE.1 + SeriesNames::of(&long).height())), "{svg}");
    }

    #[test]
    fn an_axis_is_logarithmic_where_values_differ_much() {
        assert_eq!(range([1.0, 10.0].into_iter()), (0.64..10.36, false));
        assert!(range([1.0, 100.0].into_iter()).1);
        assert!(!range([0.0, 100.0].into_iter()).1, "nought has no logarithm");
        let one = range([5.0].into_iter());
        assert!(one.0.contains(&5.0) && !one.1);
    }

    #[test]
    fn what_cannot_be_drawn_is_a_sentence() {
        assert!(draw(&chart(&[]), "a.svg".as_ref()).unwrap_err().contains("there is no point"));
        assert!(draw(&chart(&[(1.0, f64::NAN)]), "a.svg".as_ref()).unwrap_err().contains("no number"));
        assert!(
            draw(&chart(&[(1.0, 1.0)]), "/nonexistent/a.svg".as_ref())
                .unwrap_err()
                .contains("/nonexistent/a.svg")
        );
    }
}
