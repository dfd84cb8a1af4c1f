//! `xsim calibrate`: from what a benchmark printed on a real machine to a simulated one.

use crate::failure::{Failure, USAGE};
use crate::output::say;
use ::calibrate::{
    BatchSystem, Calibrated, Determined, Estimate, Fit, Inside, Kind, NodeTables, PairRates, Prediction, Row,
    Table,
};
use clap::{Arg, ArgAction, ArgMatches, Command};
use engine::Span;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Returns the subcommand's arguments.
pub fn command() -> Command {
    let path = |name: &'static str, value: &'static str| {
        Arg::new(name).long(name).value_name(value).value_parser(clap::value_parser!(PathBuf))
    };
    Command::new("calibrate")
        .about("Make a simulated machine from the times of messages that a benchmark measured on a real one")
        .after_help(
            "A TABLE is what osu_latency, osu_bw, osu_mbw_mr, osu_multi_lat, IMB's PingPong, \
            Uniband or Biband, or mpptest prints, or lines of sizes and times below 'bytes latency (us)' \
            (docs/reference/calibrate.md). Several tables of one kind are medians of each other.",
        )
        .arg(
            Arg::new("TABLE")
                .required_unless_present("script")
                .num_args(1..)
                .value_parser(clap::value_parser!(PathBuf))
                .help(
                    "Times of messages between two nodes: a ping-pong, and beside it windows (osu_bw) or \
                    pairs (osu_mbw_mr)",
                ),
        )
        .arg(
            path("inside", "TABLE")
                .action(ArgAction::Append)
                .requires("ranks-inside")
                .help("Times of messages inside a node: a ping-pong, pairs, or both by two options"),
        )
        .arg(
            Arg::new("pairs")
                .long("pairs")
                .num_args(2)
                .value_names(["N", "TABLE"])
                .action(ArgAction::Append)
                .value_parser(clap::value_parser!(PathBuf))
                .help("Times of N pairs at once between two nodes, where a table does not say how many"),
        )
        .arg(
            Arg::new("ranks-inside")
                .long("ranks-inside")
                .value_name("N")
                .value_parser(clap::value_parser!(u32).range(2..=1 << 20))
                .help("Ranks of a node"),
        )
        .arg(
            Arg::new("rendezvous")
                .long("rendezvous")
                .value_name("BYTES")
                .value_parser(|text: &str| {
                    network::packet::parse_bytes(text).ok_or("give a number of bytes, as in 256KiB")
                })
                .help(
                    "Bytes from which on a blocking send inside a node waits for its receiver, if that \
                    differs from what windows show",
                ),
        )
        .arg(
            Arg::new("unit")
                .long("unit")
                .value_name("us")
                .help("The unit of times where a table does not say it: s, ms, us, ns"),
        )
        .arg(path("output", "FILE.toml").short('o').help("Write a machine file, for -xsim-mn"))
        .arg(
            Arg::new("name")
                .long("name")
                .value_name("NAME")
                .default_value("calibrated")
                .help("The machine's name"),
        )
        .arg(
            path("plot", "FILE.svg|FILE.png")
                .value_parser(plot::picture)
                .help("Draw what was measured, the lines and the machine"),
        )
        .arg(path("predict", "TABLE").help("Compare the machine with times that it was not made from"))
        .arg(
            Arg::new("script")
                .long("script")
                .value_name("slurm|pbs")
                .value_parser(["slurm", "pbs"])
                .conflicts_with_all(["TABLE", "inside", "pairs", "predict", "plot", "output"])
                .help(
                    "Print the job script that measures the tables, for nodes of --ranks-inside ranks \
                    (32)",
                ),
        )
}

/// All tables, by what they are of.
#[derive(Default)]
struct Sorted {
    latency: Vec<Row>,
    stream: Vec<Row>,
    node: NodeTables,
    notes: Vec<String>,
}

impl Sorted {
    /// Adds a table of messages between nodes. `given` is the number of its pairs.
    fn between(&mut self, path: &Path, table: Table, given: Option<u32>, ranks: u32) -> Result<(), Failure> {
        let Table { kind, grows, window, rows, .. } = table;
        let pairs = given.or(table.pairs);
        let unknown = || {
            let path = path.display();
            Failure::with(
                USAGE,
                format!(
                    "{path}: the table does not say how many pairs exchanged messages: give it, as in \
                    --pairs 8 {path}"
                ),
            )
        };
        match kind {
            Kind::Latency if given.is_none() => self.latency.extend(rows),
            Kind::Stream if given.is_none() => self.stream.extend(rows),
            Kind::Latency | Kind::Burst => {
                self.node.bursts.push(PairRates { pairs: pairs.ok_or_else(unknown)?, window, rows });
            }
            // IMB's first half of the processes sends to the second: few of both are on one node.
            Kind::Stream | Kind::Rate if grows && given.is_none() && ranks > 1 => {
                self.node.ranks = ranks;
                let pairs = pairs.ok_or_else(unknown)?;
                match 2 * u64::from(pairs) {
                    all if all <= u64::from(ranks) => {
                        self.node.inside.push(PairRates { pairs, window, rows });
                    }
                    all if all >= 2 * u64::from(ranks) => {
                        self.node.between.push(PairRates { pairs, window, rows });
                    }
                    _ => self.notes.push(format!(
                        "{}: of {pairs} pairs some are inside a node of {ranks} \
                        ranks and some between nodes: not used",
                        path.display()
                    )),
                }
            }
            Kind::Stream | Kind::Rate => {
                self.node.between.push(PairRates { pairs: pairs.ok_or_else(unknown)?, window, rows });
            }
            Kind::BothWays => self.both_ways(path),
        }
        Ok(())
    }

    /// Adds a table of messages inside a node of so many ranks.
    fn inside(&mut self, path: &Path, table: Table, ranks: u32) -> Result<(), Failure> {
        let Table { kind, pairs, window, rows, grows, .. } = table;
        match kind {
            Kind::Latency => self.node.inside_latency.extend(rows),
            Kind::Stream | Kind::Rate => {
                let pairs = pairs.unwrap_or(1);
                if 2 * u64::from(pairs) > u64::from(ranks) {
                    if grows {
                        return Ok(());
                    }
                    return Err(Failure::with(
                        USAGE,
                        format!(
                            "{}: {pairs} pairs are more than the {ranks} ranks of a node: raise \
                            --ranks-inside, or give the table without --inside",
                            path.display()
                        ),
                    ));
                }
                self.node.inside.push(PairRates { pairs, window, rows });
            }
            Kind::Burst => self
                .notes
                .push(format!("{}: latencies of several pairs inside a node are not used", path.display())),
            Kind::BothWays => self.both_ways(path),
        }
        Ok(())
    }

    fn both_ways(&mut self, path: &Path) {
        let note = format!(
            "{}: an interface carries its bandwidth each way, and messages both ways at once are not used: \
            compare a run with them",
            path.display()
        );
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// Runs it.
pub fn main(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let path = |name: &str| matches.get_one::<PathBuf>(name);
    let ranks = matches.get_one::<u32>("ranks-inside").copied();
    if let Some(system) = matches.get_one::<String>("script") {
        let system = if system == "slurm" { BatchSystem::Slurm } else { BatchSystem::Pbs };
        say!("{}", ::calibrate::script(system, ranks.unwrap_or(32)).trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let unit = matches.get_one::<String>("unit").map(|unit| {
        ::calibrate::unit(unit)
            .ok_or_else(|| Failure::with(USAGE, format!("--unit {unit}: the unit is one of s, ms, us, ns")))
    });
    let unit = unit.transpose()?;
    let ranks = ranks.unwrap_or(1);
    let mut sorted = Sorted::default();
    let mut files = Vec::new();
    let (mut measured, mut inner_files) = (Vec::new(), Vec::new());
    for path in matches.get_many::<PathBuf>("TABLE").into_iter().flatten() {
        for table in read_as(path, unit, &mut files)? {
            if table.kind == Kind::Latency {
                measured.push(path.display().to_string());
            }
            sorted.between(path, table, None, ranks)?;
        }
    }
    for (number, path) in pairs(matches)? {
        for table in read_as(path, unit, &mut files)? {
            sorted.between(path, table, Some(number), ranks)?;
        }
    }
    for path in matches.get_many::<PathBuf>("inside").into_iter().flatten() {
        inner_files.push(path.display().to_string());
        for table in read_as(path, unit, &mut files)? {
            sorted.inside(path, table, ranks)?;
        }
    }
    if measured.is_empty() {
        let why = "give one table of latencies (osu_latency, a ping-pong) beside those of bandwidths \
            (osu_bw) or pairs (osu_mbw_mr): latency and bandwidth of the machine follow from the times of \
            single messages";
        return Err(Failure::with(USAGE, why));
    }
    // IMB prints several tables into a file.
    measured.dedup();
    let measured = measured.join(", ");
    sorted.latency.sort_by_key(|row| row.bytes);
    let Sorted { latency, stream, mut node, notes } = sorted;
    let rows = &latency;
    let shares = !node.between.is_empty() || !node.inside.is_empty() || !node.bursts.is_empty();
    let fit = match shares {
        // The lines are drawn alone.
        true => {
            ::calibrate::fit(rows).unwrap_or(Fit { segments: Vec::new(), left_out: Vec::new(), scatter: 0.0 })
        }
        false => fitted(&measured, rows, &files)?,
    };
    if !fit.segments.is_empty() {
        show_fit(&measured, rows, &fit, &files)?;
    }
    let mut machine = if shares {
        if !stream.is_empty() {
            node.between.push(PairRates { pairs: 1, window: ::calibrate::DEFAULT_WINDOW, rows: stream });
        }
        if ranks == 1 && node.between.iter().any(|table| table.pairs > 1) {
            let why = "pairs share the interface of their node: give the number of its ranks, as in \
                --ranks-inside 32";
            return Err(Failure::with(USAGE, why));
        }
        node.ranks = ranks;
        node.latency.clone_from(rows);
        node.rendezvous = matches.get_one::<u64>("rendezvous").copied();
        ::calibrate::calibrate_node(&node)
    } else {
        let inner_files = inner_files.join(", ");
        let inner = match inner_files.is_empty() {
            false => {
                node.inside_latency.sort_by_key(|row| row.bytes);
                Some(fitted(&inner_files, &node.inside_latency, &files)?)
            }
            true => None,
        };
        let stream = match stream.is_empty() {
            true => None,
            false => Some(fitted(&measured, &stream, &files)?),
        };
        inner.iter().try_for_each(|fit| show_lines(&inner_files, fit))?;
        let inside = inner.as_ref().map(|fit| Inside { fit, ranks });
        ::calibrate::calibrate(&fit, inside.as_ref(), stream.as_ref())
    }
    .map_err(|why| Failure::new(format!("{measured}: {why}")))?;
    machine.notes.extend(notes);
    // The first rank of the second node.
    let predict =
        |rows: &[Row]| ::calibrate::predict(&machine.specification, ranks, rows).map_err(Failure::new);
    let own = predict(rows)?;
    show_machine(&machine, &own)?;
    if let Some(path) = path("predict") {
        show_errors(path, &predict(&latencies(path, unit)?)?)?;
    }
    if let Some(output) = path("output") {
        let source = format!("xsim calibrate, from {measured}");
        let text = machine.file(matches.get_one::<String>("name").expect("it has a default"), &source);
        std::fs::write(output, text)
            .map_err(|why| Failure::new(format!("cannot write the machine {}: {why}", output.display())))?;
    }
    if let Some(output) = path("plot") {
        plot::draw(&::calibrate::chart(&fit, &own, &machine.specification), output).map_err(Failure::new)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the numbers and tables of `--pairs N TABLE`.
fn pairs(matches: &ArgMatches) -> Result<Vec<(u32, &PathBuf)>, Failure> {
    let given: Vec<&PathBuf> = matches.get_many::<PathBuf>("pairs").into_iter().flatten().collect();
    let number = |text: &Path| {
        let number =
            text.to_str().and_then(|text| text.parse().ok()).filter(|number| (1..=1 << 20).contains(number));
        number.ok_or_else(|| {
            Failure::with(
                USAGE,
                format!(
                    "--pairs {}: give the number of pairs from 1, then the table, as in --pairs 8 table.txt",
                    text.display()
                ),
            )
        })
    };
    given.chunks_exact(2).map(|both| Ok((number(both[0])?, both[1]))).collect()
}

fn read(path: &Path, unit: Option<f64>) -> Result<Vec<Table>, Failure> {
    let text = engine::text::read(path, engine::text::SETTINGS)
        .map_err(|why| Failure::new(format!("cannot read the table {}: {why}", path.display())))?;
    ::calibrate::read(&text, unit).map_err(|why| Failure::new(format!("{}: {why}", path.display())))
}

/// Returns the tables of a file, and adds its name to those of the files so far.
fn read_as(path: &Path, unit: Option<f64>, files: &mut Vec<String>) -> Result<Vec<Table>, Failure> {
    let mut tables = read(path, unit)?;
    tables.iter_mut().flat_map(|table| &mut table.rows).for_each(|row| row.file = files.len());
    files.push(path.display().to_string());
    Ok(tables)
}

/// Returns the latencies of a file.
fn latencies(path: &Path, unit: Option<f64>) -> Result<Vec<Row>, Failure> {
    let tables = read(path, unit)?;
    let rows = tables.into_iter().filter(|table| table.kind == Kind::Latency).flat_map(|table| table.rows);
    let rows: Vec<Row> = rows.collect();
    match rows.is_empty() {
        false => Ok(rows),
        true => Err(Failure::new(format!(
            "{}: these are bandwidths of many messages in a row: give times of single messages",
            path.display()
        ))),
    }
}

/// Returns the lines through rows of tables with these names, among those of all `files`.
fn fitted(names: &str, rows: &[Row], files: &[String]) -> Result<Fit, Failure> {
    ::calibrate::fit_of_files(rows, files).map_err(|why| Failure::new(format!("{names}: {why}")))
}

fn show_fit(names: &str, rows: &[Row], fit: &Fit, files: &[String]) -> Result<(), Failure> {
    say!("{names}: {} times", rows.len());
    show_lines(names, fit)?;
    for row in &fit.left_out {
        say!(
            "left out: line {}{}, {} bytes in {}, which no line comes near",
            row.line,
            files
                .get(row.file)
                .filter(|_| files.len() > 1)
                .map_or(String::new(), |file| format!(" of {file}")),
            row.bytes,
            time(row.seconds)
        );
    }
    Ok(())
}

/// Prints the lines with their 95 % confidence intervals.
fn show_lines(names: &str, fit: &Fit) -> Result<(), Failure> {
    say!("lines through {names} (95 % confidence):");
    for segment in &fit.segments {
        let Estimate { value, within } = segment.per_byte;
        let per_byte = match value.abs() > within {
            true => format!("{:.5} ns a byte within {:.2} %", value * 1e9, (within / value).abs() * 100.0),
            false => "no sure time for a byte".to_owned(),
        };
        let rate = if value > within { format!(" ({:.4} Gbps)", 8e-9 / value) } else { String::new() };
        say!(
            "  {} to {} bytes: {} within {}, and {per_byte}{rate}",
            segment.from,
            segment.until,
            time(segment.latency.value),
            time(segment.latency.within),
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
    for at in &machine.determined {
        show_determined(at)?;
    }
    for note in &machine.notes {
        say!("  note: {note}");
    }
    Ok(())
}

/// Prints a property, how well it is determined, and from what.
fn show_determined(at: &Determined) -> Result<(), Failure> {
    let Determined { key, value, within, unit, from } = *at;
    let number = match unit {
        "s" => time(value),
        "B/s" => format!("{:.2} GB/s", value * 1e-9),
        _ => format!("{value} {unit}"),
    };
    let within = if within > 0.0 { format!("within {:.1} %", within * 100.0) } else { "a row".to_owned() };
    say!("  {key:<9} {number:>12}  {within:<14} {from}");
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

/// Returns the error in percent with a decimal; nought without a sign of its own.
fn percent(at: &Prediction) -> f64 {
    (at.error() * 1000.0).round() / 10.0 + 0.0
}

/// Returns the mean of the errors' sizes, in percent.
fn mean(predictions: &[Prediction]) -> f64 {
    predictions.iter().map(|at| at.error().abs()).sum::<f64>() * 100.0 / predictions.len().max(1) as f64
}

fn time(seconds: f64) -> String {
    let sign = if seconds < 0.0 { "-" } else { "" };
    format!("{sign}{}", report::units::short(Span::from_ps((seconds.abs() * 1e12).round() as u64).as_ps()))
}
