//! `xsim traffic`: synthetic traffic on a packet-level network.

use crate::failure::{Failure, USAGE};
use crate::output;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use network::Machine;
use network::packet::PacketSpec;
use network::traffic::{
    Pace, SweepReport, TrafficError, TrafficJob, TrafficPattern, TrafficReport, TrafficRun, heat_map,
    latency_load, sweep,
};
use std::fmt::Display;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The traffic stopped because the network deadlocked.
const DEADLOCKED: u8 = 3;

/// Returns the subcommand's arguments.
pub fn command() -> Command {
    let value = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).allow_negative_numbers(true).help(help)
    };
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
    };
    let path = output::file_argument;
    Command::new("traffic")
        .about("Send synthetic traffic through a network of routers, as packets or as flows (level=flow)")
        .arg(
            value(
                "network",
                "SPEC",
                "Such as fattree:m=8,n=3,l=0ns,b=100Gbps,router=90ns,vcs=1,buf=64KiB, or a machine of `xsim \
                 presets` or of a file, of which the network between its nodes is meant",
            )
            .required(true),
        )
        .arg(
            value(
                "pattern",
                "PATTERN",
                "uniform, neighbor, stencil3d, transpose, bit-complement, bit-reversal, shuffle, tornado, \
                 next-group, hotspot[=SHARE], permutation[=FILE], matrix=FILE, incast or alltoall",
            )
            .default_value("uniform"),
        )
        .arg(value("size", "BYTES", "Payload of a message").default_value("512"))
        .arg(
            value("interval", "TIME", "Mean time between two messages of an endpoint").conflicts_with("rate"),
        )
        .arg(value("rate", "R", "Share of the bandwidth into the network instead, above 0 and at most 1"))
        .arg(flag("fixed", "Equal gaps between messages instead of exponential ones"))
        .arg(value("packets", "N", "Messages of each endpoint").default_value("1000"))
        .arg(value("seed", "SEED", "Of all random choices").default_value("1"))
        .arg(value("threads", "N", "Threads; the results are the same").default_value("1"))
        .arg(value("grid", "SIDES", "Sides for stencil3d and tornado, such as 8x8x8"))
        .arg(
            value(
                "job",
                "NAME=FIRST-LAST[:PATTERN[:CLASS]]",
                "Traffic among some of the endpoints only; may be repeated",
            )
            .action(ArgAction::Append),
        )
        .arg(
            value("warmup", "SHARE", "Share of the sending time at the start that is not measured")
                .default_value("0"),
        )
        .arg(
            value("cooldown", "SHARE", "Share of the sending time at the end that is not measured")
                .default_value("0"),
        )
        .arg(flag("sweep", "Latency against load: one run for each of --rates"))
        .arg(
            value("rates", "FIRST:LAST:STEP", "Loads of the sweep")
                .default_value("0.05:0.95:0.05")
                .requires("sweep"),
        )
        .arg(output::json_argument())
        .arg(flag("quiet", "No progress"))
        .arg(output::csv_argument(
            "Write a line for each direction of each cable (with --sweep, for each load)",
        ))
        .arg(
            path(
                "histograms",
                "Write the histograms of latencies and of routers passed, a line for each bucket",
            )
            .conflicts_with("sweep"),
        )
        .arg(path("svg", "Write a heat map of the links' use (with --sweep, the latency-load curve)"))
}

/// Runs it.
pub fn main(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let traffic = read(matches)?;
    let progress = ProgressLine::new(matches, &traffic);
    let told = |time, packets| progress.tell(time, packets);
    if matches.get_flag("sweep") {
        let report = sweep(&traffic, &rates(text(matches, "rates"))?, &told).map_err(failure)?;
        progress.clear();
        return write_sweep(matches, &report);
    }
    let report = traffic.run(&told).map_err(failure)?;
    progress.clear();
    write_report(matches, &traffic, &report)
}

fn failure(error: TrafficError) -> Failure {
    let status = if matches!(error, TrafficError::Deadlock(_)) { DEADLOCKED } else { USAGE };
    Failure::with(status, error.to_string())
}

fn text<'a>(matches: &'a ArgMatches, name: &str) -> &'a str {
    matches.get_one::<String>(name).map_or("", String::as_str)
}

fn parse<T: FromStr>(matches: &ArgMatches, name: &str, what: &str) -> Result<T, Failure> {
    let text = text(matches, name);
    text.parse().map_err(|_| Failure::with(USAGE, format!("--{name} {text} is not {what}")))
}

fn wrong(name: &str, why: impl Display) -> Failure {
    Failure::with(USAGE, format!("--{name}: {why}"))
}

/// Refuses what would have no effect.
fn check_combinations(matches: &ArgMatches) -> Result<(), Failure> {
    let given = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
    for (name, with, why) in [
        ("rate", "sweep", "a sweep takes its loads from --rates"),
        ("interval", "sweep", "a sweep takes its loads from --rates"),
        ("warmup", "sweep", "a sweep measures from a fifth of the sending time to its last tenth"),
        ("cooldown", "sweep", "a sweep measures from a fifth of the sending time to its last tenth"),
        ("pattern", "job", "each --job has a pattern of its own, NAME=FIRST-LAST:PATTERN"),
    ] {
        if given(name) && given(with) {
            return Err(Failure::with(
                USAGE,
                format!("--{name} has no effect with --{with}: {why}; leave one of them out"),
            ));
        }
    }
    Ok(())
}

fn read(matches: &ArgMatches) -> Result<TrafficRun, Failure> {
    check_combinations(matches)?;
    let spec = network_of(text(matches, "network"))?;
    let pace = match (matches.get_one::<String>("interval"), matches.get_one::<String>("rate")) {
        (Some(interval), _) => Pace::Interval(interval.parse().map_err(|e| wrong("interval", e))?),
        (None, Some(_)) => Pace::Rate(parse(matches, "rate", "a number above 0 and at most 1")?),
        (None, None) if matches.get_flag("sweep") => Pace::Rate(1.0),
        (None, None) => {
            return Err(Failure::with(
                USAGE,
                "one of --interval and --rate is missing; write for example --interval 400ns",
            ));
        }
    };
    let margins = (
        parse(matches, "warmup", "a share from 0 to 0.9")?,
        parse(matches, "cooldown", "a share from 0 to 0.9")?,
    );
    if !(0.0..=0.9).contains(&margins.0) || !(0.0..=0.9).contains(&margins.1) || margins.0 + margins.1 > 0.95
    {
        return Err(Failure::with(
            USAGE,
            "--warmup and --cooldown are shares that leave at least 0.05 of the sending time",
        ));
    }
    let size = text(matches, "size");
    Ok(TrafficRun {
        spec,
        jobs: matches
            .get_many::<String>("job")
            .into_iter()
            .flatten()
            .map(|job| read_job(job))
            .collect::<Result<_, _>>()?,
        pattern: text(matches, "pattern").parse().map_err(|e: String| wrong("pattern", e))?,
        grid: matches.get_one::<String>("grid").map(|grid| read_grid(grid)).transpose()?,
        size: network::packet::parse_bytes(size).ok_or_else(|| {
            wrong("size", format!("'{size}' is not a number of bytes such as 512 or 128KiB"))
        })?,
        pace,
        fixed: matches.get_flag("fixed"),
        packets: parse(matches, "packets", "a whole number")?,
        seed: parse(matches, "seed", "a whole number")?,
        threads: parse(matches, "threads", "a whole number")?,
        margins,
    })
}

/// Returns the network of a specification, or that between the nodes of a preset or of a machine in a file.
fn network_of(text: &str) -> Result<PacketSpec, Failure> {
    let names_machine = |text: &str| text.ends_with(".toml") || network::preset(text).is_some();
    if !names_machine(text) {
        return network::packet::parse(text).map_err(|e| wrong("network", e));
    }
    let machine = Machine::parse(text).map_err(|e| wrong("network", e))?;
    if machine.packet_network().is_some() {
        // Synthetic traffic has endpoints alone and no MPI: a node is one, however many interfaces it has.
        let of_nodes = |key: &&str| {
            !["nics=", "rail=", "wired=", "delay=", "o="].iter().any(|name| key.starts_with(name))
        };
        let levels = machine.network.to_string();
        let network = levels.split('/').next().unwrap_or_default();
        let keys: Vec<&str> = network.split(',').filter(of_nodes).collect();
        return network::packet::parse(&keys.join(",")).map_err(|e| wrong("network", e));
    }
    Err({
        let routed =
            |preset: &&str| Machine::parse(preset).is_ok_and(|machine| machine.packet_network().is_some());
        let presets: Vec<&str> = network::preset_names().filter(routed).collect();
        wrong(
            "network",
            format!(
                "'{text}' is a machine by formula, without routers: name a network of routers, or one of the \
                 machines that have one ({})",
                presets.join(", ")
            ),
        )
    })
}

fn read_grid(text: &str) -> Result<Vec<u32>, Failure> {
    let side = |side: &str| side.parse().ok().filter(|&s| s > 0 && s < 1 << 24);
    let sides: Option<Vec<u32>> = text.split('x').map(side).collect();
    sides.ok_or_else(|| wrong("grid", format!("'{text}' is not a list of sides such as 8x8x8")))
}

fn read_job(text: &str) -> Result<TrafficJob, Failure> {
    let error =
        || wrong("job", format!("'{text}' is not NAME=FIRST-LAST[:PATTERN[:CLASS]], such as a=0-63:uniform"));
    let (name, rest) = text.split_once('=').ok_or_else(error)?;
    let mut parts = rest.split(':');
    let (first, last) = parts.next().and_then(|range| range.split_once('-')).ok_or_else(error)?;
    let (first, last): (u32, u32) = (first.parse().map_err(|_| error())?, last.parse().map_err(|_| error())?);
    let pattern: TrafficPattern =
        parts.next().unwrap_or("uniform").parse().map_err(|e: String| wrong("job", e))?;
    let class = parts.next().unwrap_or("0").parse().map_err(|_| error())?;
    if last < first || last == u32::MAX || parts.next().is_some() {
        return Err(error());
    }
    Ok(TrafficJob { name: name.to_owned(), first, count: last - first + 1, pattern, class })
}

fn rates(text: &str) -> Result<Vec<f64>, Failure> {
    let error = || {
        wrong(
            "rates",
            format!("'{text}' is not FIRST:LAST:STEP, such as 0.05:0.95:0.05, all above 0 and at most 1"),
        )
    };
    let numbers: Vec<f64> =
        text.split(':').map(|n| n.parse().map_err(|_| error())).collect::<Result<_, _>>()?;
    let [first, last, step] = numbers[..] else { return Err(error()) };
    if !(first > 0.0 && last >= first && last <= 1.0 && (0.001..=1.0).contains(&step)) {
        return Err(error());
    }
    let count = ((last - first) / step + 1e-9) as usize;
    Ok((0..=count).map(|i| first + i as f64 * step).collect())
}

fn write_report(
    matches: &ArgMatches,
    traffic: &TrafficRun,
    report: &TrafficReport,
) -> Result<ExitCode, Failure> {
    let mut is_printed = output::results_to(matches, "csv", || report.links_to_csv())?;
    is_printed |= output::results_to(matches, "histograms", || report.histograms_to_csv())?;
    is_printed |= output::results_to(matches, "svg", || heat_map(report))?;
    is_printed |= output::results_to(matches, "json", || report.to_json() + "\n")?;
    print(is_printed, || report.to_text(traffic.pace))
}

fn write_sweep(matches: &ArgMatches, report: &SweepReport) -> Result<ExitCode, Failure> {
    let mut is_printed = output::results_to(matches, "csv", || report.to_csv())?;
    is_printed |= output::results_to(matches, "svg", || latency_load(&[(&report.network, report)]))?;
    is_printed |= output::results_to(matches, "json", || report.to_json() + "\n")?;
    print(is_printed, || {
        format!("{}saturation: {:.4} of the bandwidth into the network\n", report.to_csv(), report.saturation)
    })
}

/// Prints text for people, unless standard output has data already.
fn print(is_printed: bool, text: impl FnOnce() -> String) -> Result<ExitCode, Failure> {
    if !is_printed {
        output::text(text())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// One line on a terminal, renewed a few times a second.
struct ProgressLine {
    shown: bool,
    started: Instant,
    last: AtomicU64,
    packets: u64,
    threads: u64,
}

impl ProgressLine {
    fn new(matches: &ArgMatches, traffic: &TrafficRun) -> ProgressLine {
        let shown = std::io::stderr().is_terminal() && !matches.get_flag("quiet");
        ProgressLine {
            shown,
            started: Instant::now(),
            last: AtomicU64::new(0),
            packets: traffic.packets,
            threads: u64::from(traffic.threads),
        }
    }

    fn tell(&self, picoseconds: u64, packets: u64) {
        let now = self.started.elapsed().as_millis() as u64;
        if !self.shown || now < self.last.load(Ordering::Relaxed) + 250 {
            return;
        }
        self.last.store(now, Ordering::Relaxed);
        let packets = packets * self.threads;
        let rate = packets as f64 / (now.max(1) as f64 * 1e3);
        output::progress(format_args!(
            "\r{:.3} ms simulated, about {packets} packets delivered, {rate:.2} million/s ({} from each \
             endpoint)\x1b[K",
            picoseconds as f64 / 1e9,
            self.packets
        ));
    }

    fn clear(&self) {
        if self.shown && self.last.load(Ordering::Relaxed) > 0 {
            output::progress(format_args!("\r\x1b[K"));
        }
    }
}
