//! `xsim demo`: a built-in program on two machines, which is faster and why, with a picture. Nothing needs to
//! be installed.

use crate::failure::Failure;
use crate::layout::executable;
use crate::output::{note, say};
use crate::run::several::{MachineComparison, Scratch, comparison};
use ::report::read;
use ::report::units::short;
use ::report::wrap::{terminal_width, wrapped};
use clap::{Arg, ArgMatches, Command};
use plot::{Chart, Mark, PlotSeries};
use recorder::Simulated;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The program: a stencil over a cube, as a model, and the processors that it computes on.
const PROGRAM: &str = include_str!("../examples/aspen/stencil.aspen");
const PROCESSORS: &str = include_str!("../examples/aspen/cluster.aspen");

/// The machines, by their presets.
const MACHINES: [&str; 2] = ["ethernet", "default"];
/// Numbers of ranks of the picture; the last but one is explained.
const RANKS: [u32; 5] = [1, 8, 27, 64, 216];
const EXPLAINED: usize = 3;
/// Characters of the longest bar.
const BAR: u64 = 50;

/// Returns the subcommand's arguments.
pub fn command() -> Command {
    let output = Arg::new("output")
        .short('o')
        .long("output")
        .value_name("FILE.svg|FILE.png")
        .default_value("xsim-demo.svg");
    Command::new("demo")
        .about("Run a built-in program on two machines: which is faster, and why")
        .arg(output.value_parser(plot::picture).help("The picture: time over ranks"))
}

/// Runs it.
pub fn main(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let path: &PathBuf = matches.get_one("output").expect("it has a default");
    let scratch = Scratch::new()?;
    let write = |name: &str, text: &str| {
        let path = scratch.0.join(name);
        let cannot = |why| Failure::new(format!("cannot write {}: {why}", path.display()));
        std::fs::write(&path, text).map(|()| path.clone()).map_err(cannot)
    };
    let (program, processors) = (write("stencil.aspen", PROGRAM)?, write("cluster.aspen", PROCESSORS)?);
    note!(
        "xsim: a stencil over 256^3 points on each rank, 100 sweeps, on {} and {}",
        MACHINES[0],
        MACHINES[1]
    );
    let mut series = Vec::new();
    let mut explained = Vec::new();
    for machine in MACHINES {
        let mut runs = Vec::new();
        for ranks in RANKS {
            runs.push(run(&scratch, (&program, &processors), machine, ranks)?);
        }
        let seconds = |run: &Simulated| run.virtual_time_ps as f64 / 1e12;
        let points = RANKS.iter().zip(&runs).map(|(&ranks, run)| (f64::from(ranks), seconds(run))).collect();
        series.push(PlotSeries { name: machine.to_owned(), mark: Mark::Line, points });
        explained.push(runs.swap_remove(EXPLAINED));
    }
    let names = MACHINES.map(str::to_owned);
    let width = terminal_width(std::io::stdout()).unwrap_or(80);
    say!("On {} ranks ({} computing, {} waiting):\n\n{}", RANKS[EXPLAINED], '#', '.', bars(&explained));
    let MachineComparison { table, sentence } = comparison(&names, &explained);
    crate::output::text(format_args!(
        "{}\n{}\n",
        table.text("  ", width),
        wrapped(&sentence, width).join("\n")
    ))?;
    let (title, x, y) =
        ("A stencil on two machines".to_owned(), "ranks".to_owned(), "virtual time [s]".to_owned());
    plot::draw(&Chart { title, x, y, series }, path).map_err(Failure::new)?;
    say!("\nThe picture is {}. Next, a program of your own:\n", path.display());
    say!(
        "  xsim cc -O2 -g app.c -o app\n  xsim run -n {} --on {} ./app\n  xsim help slow-program",
        RANKS[EXPLAINED],
        MACHINES.join(",")
    );
    Ok(ExitCode::SUCCESS)
}

/// Runs the model on a machine with this many ranks.
fn run(
    scratch: &Scratch,
    (program, processors): (&Path, &Path),
    machine: &str,
    ranks: u32,
) -> Result<Simulated, Failure> {
    let report = scratch.0.join("run.json");
    let mut command = std::process::Command::new(executable()?);
    command.args(["aspen", "run", "--quiet", "--mn", machine, "--np", &ranks.to_string(), "--machine-model"]);
    let output = command.arg(processors).arg("--report").arg(&report).arg(program).output();
    let output = output.map_err(|why| Failure::new(format!("cannot run xsim aspen run: {why}")))?;
    if !output.status.success() {
        return Err(Failure::new(format!(
            "xsim aspen run failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )));
    }
    read(&report).map(|report| report.simulated).map_err(Failure::new)
}

/// Returns a bar for each machine, as long as its time.
fn bars(runs: &[Simulated]) -> String {
    let most = runs.iter().map(|run| run.virtual_time_ps).max().unwrap_or(1).max(1);
    let width = MACHINES.iter().map(|name| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, run) in MACHINES.iter().zip(runs) {
        let cells = |ps: u64| (u128::from(ps) * u128::from(BAR) / u128::from(most)) as usize;
        let whole = cells(run.virtual_time_ps).max(1);
        let computing = cells(run.compute.mean_ps).min(whole);
        let bar = "#".repeat(computing) + &".".repeat(whole - computing);
        let _ = writeln!(text, "  {name:width$}  {bar} {}", short(run.virtual_time_ps));
    }
    text
}
