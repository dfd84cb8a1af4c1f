//! `xsim aspen eval --plot n=1..1e6`: a quantity over a range of a parameter, as a table, and as curves of
//! characters or in a file.

use super::evaluate::{RequestedEvaluation, significant};
use crate::failure::{Failure, USAGE};
use crate::output::say;
use ::aspen::{Evaluation, Sources, constant};
use ::plot::{Mark, PlotSeries};
use std::path::Path;
use std::process::ExitCode;
use textplots::{
    AxisBuilder, Chart, LabelBuilder, LabelFormat, LineStyle, Plot, Shape, TickDisplay, TickDisplayBuilder,
};

/// Ranges and results over this ratio are shown by their logarithms.
const WIDE: f64 = 100.0;
/// Dots of the curve, two by four of them a character.
const DOTS: (u32, u32) = (120, 48);

/// Prints the table, and a curve for each socket, unless a file is to have them.
pub fn main(
    asked: &RequestedEvaluation<'_>,
    range: &str,
    points: u32,
    of: Option<&str>,
    file: Option<&Path>,
) -> Result<ExitCode, Failure> {
    let (name, least, most) = read(range)?;
    let of = of.unwrap_or(if asked.sockets == [None] { "flops" } else { "runtime" });
    let places = places(least, most, points);
    let mut curves: Vec<Vec<f64>> = vec![Vec::new(); asked.sockets.len()];
    for place in &places {
        let mut parameters = asked.choice.parameters.clone();
        parameters.push((name.clone(), *place));
        for (curve, socket) in curves.iter_mut().zip(&asked.sockets) {
            curve.push(quantity(&asked.evaluate(&parameters, *socket)?, of)?);
        }
    }
    let heads: Vec<String> = asked
        .sockets
        .iter()
        .map(|socket| socket.map_or(of.to_owned(), |socket| format!("{of} on {socket}")))
        .collect();
    let width = heads.iter().map(String::len).max().unwrap_or(0).max(14);
    say!("{name:>14}{}", heads.iter().map(|head| format!("  {head:>width$}")).collect::<String>());
    for (at, place) in places.iter().enumerate() {
        let values: String =
            curves.iter().map(|curve| format!("  {:>width$}", significant(curve[at]))).collect();
        say!("{:>14}{values}", significant(*place));
    }
    if let Some(file) = file {
        let series = |(head, curve): (String, &Vec<f64>)| {
            let points = places.iter().copied().zip(curve.iter().copied()).collect();
            PlotSeries { name: head, mark: Mark::Line, points }
        };
        let series = heads.into_iter().zip(&curves).map(series).collect();
        let chart = ::plot::Chart { title: asked.model.name.clone(), x: name, y: with_unit(of), series };
        ::plot::draw(&chart, file).map_err(Failure::new)?;
        return Ok(ExitCode::SUCCESS);
    }
    for (head, curve) in heads.iter().zip(&curves) {
        say!("\n{head} over {name}:");
        draw(&places, curve)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns a quantity's name with its unit, if it has one of its own: those of resources are the model's.
fn with_unit(of: &str) -> String {
    let unit = match of {
        "runtime" => " [s]",
        "energy" => " [J]",
        "data" | "bytes" => " [B]",
        _ => "",
    };
    format!("{of}{unit}")
}

/// Reads a range, such as `n=1..1e6`.
fn read(range: &str) -> Result<(String, f64, f64), Failure> {
    let wrong = || {
        Failure::with(
            USAGE,
            format!("--plot {range}: a range is given as NAME=LEAST..MOST, such as n=1..1e6"),
        )
    };
    let (name, ends) = range.split_once('=').ok_or_else(wrong)?;
    let (least, most) = ends.split_once("..").ok_or_else(wrong)?;
    let mut sources = Sources::default();
    let mut end = |text: &str| {
        constant(&mut sources, text).map_err(|error| Failure::with(USAGE, format!("--plot {range}: {error}")))
    };
    let (least, most) = (end(least)?, end(most)?);
    if least >= most {
        return Err(Failure::with(USAGE, format!("--plot {range}: {least} is not less than {most}")));
    }
    Ok((name.trim().to_owned(), least, most))
}

/// Returns points between two ends: even steps, or even factors where the ends are far apart; integers
/// between integers.
fn places(least: f64, most: f64, points: u32) -> Vec<f64> {
    let whole = least.fract() == 0.0 && most.fract() == 0.0;
    let wide = is_wide(least, most);
    let place = |step: u32| {
        let part = f64::from(step) / f64::from(points - 1);
        let place = match (step, wide) {
            (0, _) => least,
            (last, _) if last == points - 1 => most,
            (_, true) => least * (most / least).powf(part),
            (_, false) => least + (most - least) * part,
        };
        if whole { place.round() } else { place }
    };
    let mut places: Vec<f64> = (0..points).map(place).collect();
    places.dedup();
    places
}

fn is_wide(least: f64, most: f64) -> bool {
    least > 0.0 && most / least >= WIDE
}

fn quantity(evaluation: &Evaluation<f64>, of: &str) -> Result<f64, Failure> {
    let runtime = evaluation.runtime.as_ref();
    match (of, runtime) {
        ("data", _) => Ok(evaluation.data),
        ("runtime", Some(runtime)) => Ok(runtime.seconds),
        ("energy", Some(runtime)) => Ok(runtime.static_energy + runtime.dynamic_energy),
        ("runtime" | "energy", None) => {
            Err(Failure::with(USAGE, format!("--of {of}: name a machine after the model")))
        }
        _ if of == "bytes" || evaluation.amounts.iter().any(|amount| amount.resource == of) => {
            Ok(evaluation.total(of))
        }
        _ => {
            let mut known: Vec<&str> =
                evaluation.amounts.iter().map(|amount| amount.resource.as_str()).collect();
            known.dedup();
            Err(Failure::with(
                USAGE,
                format!("--of {of}: the model uses no such resource, but {}", known.join(", ")),
            ))
        }
    }
}

fn draw(places: &[f64], values: &[f64]) -> Result<(), Failure> {
    let ends = |values: &[f64]| {
        values.iter().fold((f64::MAX, f64::MIN), |(least, most), &value| (least.min(value), most.max(value)))
    };
    let (across, up) = (ends(places), ends(values));
    let (wide, high) = (is_wide(across.0, across.1), is_wide(up.0, up.1));
    let scaled = |value: f64, log: bool| if log { value.log10() } else { value } as f32;
    let points: Vec<(f32, f32)> =
        places.iter().zip(values).map(|(&x, &y)| (scaled(x, wide), scaled(y, high))).collect();
    let label = |log: bool| {
        LabelFormat::Custom(Box::new(move |value: f32| {
            let value = if log { 10f64.powf(f64::from(value)) } else { f64::from(value) };
            format!("{value:.3e}")
        }))
    };
    let (low, top) = (scaled(up.0, high), scaled(up.1, high));
    // A constant has a line in the middle.
    let (low, top) = if low < top { (low, top) } else { (low - 1.0, low + 1.0) };
    let shape = Shape::Lines(&points);
    let mut chart =
        Chart::new_with_y_range(DOTS.0, DOTS.1, scaled(across.0, wide), scaled(across.1, wide), low, top);
    let chart = chart
        .lineplot(&shape)
        .x_axis_style(LineStyle::None)
        .y_axis_style(LineStyle::Solid)
        .x_label_format(label(wide))
        .y_label_format(label(high))
        .y_tick_display(TickDisplay::Sparse);
    chart.axis();
    chart.figures();
    say!("{chart}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_their_ends_and_integers_between_integers() {
        assert_eq!(read("n=1..2*kilo").unwrap(), ("n".to_owned(), 1.0, 2000.0));
        assert_eq!(places(1.0, 1e6, 4), [1.0, 100.0, 10_000.0, 1e6]);
        assert_eq!(places(0.0, 1.5, 4), [0.0, 0.5, 1.0, 1.5]);
        assert_eq!(places(1.0, 3.0, 25), [1.0, 2.0, 3.0]);
        for wrong in ["n", "n=1", "n=3..3", "n=1..x", "n=..5"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
