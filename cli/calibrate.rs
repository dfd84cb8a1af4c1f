//! `xsim calibrate`: from what a benchmark printed on a real machine to a simulated one.

use crate::failure::{Failure, USAGE};
use crate::output::say;
use ::calibrate::{Calibrated, Estimate, Fit, Inside, Kind, Prediction, Table};
use clap::{Arg, ArgMatches, Command};
use engine::Span;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The subcommand's arguments.
pub fn command() -> Command {
    let path = |name: &'static str, value: &'static str| {
        Arg::new(name).long(name).value_name(value).value_parser(clap::value_parser!(PathBuf))
    };
    Command::new("calibrate")
        .about("Make a simulated machine from the times of messages that a benchmark measured on a real one")
        .after_help("A TABLE is what osu_latency, osu_bw, IMB's PingPong or mpptest prints, or lines of sizes and times below 'bytes latency (us)' (docs/reference/calibrate.md).")
        .arg(
            Arg::new("TABLE")
                .required(true)
                .num_args(1..=2)
                .value_parser(clap::value_parser!(PathBuf))
                .help("Times of messages between two nodes; beside it, if wanted, bandwidths of many messages in a row (osu_bw)"),
        )
        .arg(path("inside", "TABLE").requires("ranks-inside").help("Times of messages inside a node"))
        .arg(
            Arg::new("ranks-inside")
                .long("ranks-inside")
                .value_name("N")
                .requires("inside")
                .value_parser(clap::value_parser!(u32).range(2..=1 << 20))
                .help("Ranks of a node"),
        )
        .arg(Arg::new("unit").long("unit").value_name("us").help("The unit of times where a table does not say it: s, ms, us, ns"))
        .arg(path("output", "FILE.toml").short('o').help("Write a machine file, for -xsim-mn"))
        .arg(Arg::new("name").long("name").value_name("NAME").default_value("calibrated").help("The machine's name"))
        .arg(path("plot", "FILE.svg|FILE.png").help("Draw what was measured, the lines and the machine"))
        .arg(path("predict", "TABLE").help("Compare the machine with times that it was not made from"))
}

/// Runs it.
pub fn main(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let path = |name: &str| matches.get_one::<PathBuf>(name);
    let unit = matches.get_one::<String>("unit").map(|unit| {
        ::calibrate::unit(unit)
            .ok_or_else(|| Failure::with(USAGE, format!("--unit {unit}: the unit is one of s, ms, us, ns")))
    });
    let unit = unit.transpose()?;
    let tables: Vec<(&PathBuf, Table)> = matches
        .get_many::<PathBuf>("TABLE")
        .into_iter()
        .flatten()
        .map(|path| Ok((path, read(path, unit)?)))
        .collect::<Result<_, Failure>>()?;
    let of = |kind: Kind| tables.iter().filter(move |(_, table)| table.kind == kind).collect::<Vec<_>>();
    let (latencies, streams) = (of(Kind::Latency), of(Kind::Stream));
    let [(measured, table)] = latencies[..] else {
        let why = "give one table of latencies (osu_latency, a ping-pong), and at most one of bandwidths (osu_bw) beside it: latency and bandwidth of the machine follow from the times of single messages";
        return Err(Failure::with(USAGE, why));
    };
    let fit = fitted(measured, table)?;
    let inner = path("inside")
        .map(|path| latency_table(path, unit).and_then(|table| Ok((path, fitted(path, &table)?))))
        .transpose()?;
    let stream = streams.first().map(|(path, table)| Ok((*path, fitted(path, table)?))).transpose()?;
    let ranks = matches.get_one::<u32>("ranks-inside").copied().unwrap_or(1);
    let inside = inner.as_ref().map(|(_, fit)| Inside { fit, ranks });
    let machine = ::calibrate::calibrate(&fit, inside.as_ref(), stream.as_ref().map(|(_, fit)| fit))
        .map_err(|why| Failure::new(format!("{}: {why}", measured.display())))?;
    // The first rank of the second node.
    let predict = |table: &Table| {
        ::calibrate::predict(&machine.specification, ranks, &table.rows).map_err(Failure::new)
    };
    show_fit(measured, table, &fit)?;
    inner.iter().try_for_each(|(path, fit)| show_lines(path, fit))?;
    stream.iter().try_for_each(|(path, fit)| show_lines(path, fit))?;
    let own = predict(table)?;
    show_machine(&machine, &own)?;
    if let Some(path) = path("predict") {
        let unseen = latency_table(path, unit)?;
        show_errors(path, &predict(&unseen)?)?;
    }
    if let Some(output) = path("output") {
        let source = format!("xsim calibrate, from {}", measured.display());
        let text = machine.file(matches.get_one::<String>("name").expect("it has a default"), &source);
        std::fs::write(output, text)
            .map_err(|why| Failure::new(format!("cannot write the machine {}: {why}", output.display())))?;
    }
    if let Some(output) = path("plot") {
        plot::draw(&::calibrate::chart(&fit, &own, &machine.specification), output).map_err(Failure::new)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path, unit: Option<f64>) -> Result<Table, Failure> {
    let text = engine::text::read(path, engine::text::SETTINGS)
        .map_err(|why| Failure::new(format!("cannot read the table {}: {why}", path.display())))?;
    ::calibrate::read(&text, unit).map_err(|why| Failure::new(format!("{}: {why}", path.display())))
}

fn latency_table(path: &Path, unit: Option<f64>) -> Result<Table, Failure> {
    let table = read(path, unit)?;
    match table.kind {
        Kind::Latency => Ok(table),
        Kind::Stream => Err(Failure::new(format!(
            "{}: these are bandwidths of many messages in a row: give times of single messages",
            path.display()
        ))),
    }
}

fn fitted(path: &Path, table: &Table) -> Result<Fit, Failure> {
    ::calibrate::fit(&table.rows).map_err(|why| Failure::new(format!("{}: {why}", path.display())))
}

fn show_fit(path: &Path, table: &Table, fit: &Fit) -> Result<(), Failure> {
    say!("{}: {} times", path.display(), table.rows.len());
    show_lines(path, fit)?;
    for row in &fit.left_out {
        say!(
            "left out: line {}, {} bytes in {}, which no line comes near",
            row.line,
            row.bytes,
            time(row.seconds)
        );
    }
    Ok(())
}

/// Lines with their 95 % confidence intervals.
fn show_lines(path: &Path, fit: &Fit) -> Result<(), Failure> {
    say!("lines through {} (95 % confidence):", path.display());
    for segment in &fit.segments {
        let Estimate { value, within } = segment.per_byte;
        let rate = if value > within { format!(" ({:.4} Gbps)", 8e-9 / value) } else { String::new() };
        say!(
            "  {} to {} bytes: {} within {}, and {:.5} ns a byte within {:.2} %{rate}",
            segment.from,
            segment.until,
            time(segment.latency.value),
            time(segment.latency.within),
            value * 1e9,
            (within / value).abs() * 100.0,
        );
    }
    Ok(())
}

fn show_machine(machine: &Calibrated, own: &[Prediction]) -> Result<(), Failure> {
    say!("machine: {}", machine.specification);
    if let Some(worst) = own.iter().max_by(|a, b| a.error().abs().total_cmp(&b.error().abs())) {
        say!(
            "  its times are off by {:.1} % on average, by {:+.1} % at most, at {} bytes",
            mean(own),
            percent(worst),
            worst.row.bytes
        );
    }
    for note in &machine.notes {
        say!("  note: {note}");
    }
    Ok(())
}

fn show_errors(path: &Path, predictions: &[Prediction]) -> Result<(), Failure> {
    say!("{}, which the machine was not made from:", path.display());
    say!("{:>12} {:>14} {:>14} {:>9}", "bytes", "measured", "machine", "error");
    for at in predictions {
        say!(
            "{:>12} {:>14} {:>14} {:>+8.1}%",
            at.row.bytes,
            time(at.row.seconds),
            time(at.seconds),
            percent(at)
        );
    }
    say!("off by {:.1} % on average", mean(predictions));
    Ok(())
}

/// The error in percent with a decimal; nought without a sign of its own.
fn percent(at: &Prediction) -> f64 {
    (at.error() * 1000.0).round() / 10.0 + 0.0
}

/// The mean of the errors' sizes, in percent.
fn mean(predictions: &[Prediction]) -> f64 {
    predictions.iter().map(|at| at.error().abs()).sum::<f64>() * 100.0 / predictions.len().max(1) as f64
}

fn time(seconds: f64) -> String {
    let sign = if seconds < 0.0 { "-" } else { "" };
    format!("{sign}{}", report::units::short(Span::from_ps((seconds.abs() * 1e12).round() as u64).as_ps()))
}
