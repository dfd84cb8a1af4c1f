//! Measures what xsim costs the host, and makes the tables of docs from what was measured:
//! `cargo run --release -p xsim-bench -- COMMAND`.
//!
//! A bench is a function that returns rows of named values. They are printed as a table and written to
//! `benches/results/NAME.json` with the machine, the commit and the date, from which `tables` makes those of
//! the manual.

mod against;
mod aspen;
mod globals;
mod lab;
mod measure;
mod messages;
mod papers;
mod peer;
mod processes;
mod results;
mod scale;
mod tables;
mod traces;

use clap::{Parser, Subcommand};
use lab::Lab;
use papers::{FigureRequest, PublishedPaper};
use results::Results;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// Measures what xsim costs the host: processor time (user and system) unless another is named.
#[derive(Parser)]
#[command(name = "xsim-bench", version)]
struct BenchArguments {
    /// Measure what is built already.
    #[arg(long, global = true)]
    no_build: bool,
    /// Print, but write no file of results.
    #[arg(long, global = true)]
    no_file: bool,
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// A message of eight patterns, start-up taken off.
    Messages {
        /// Rounds of all rows, the least of which counts: for machines whose pace changes by the minute.
        #[arg(default_value_t = 1)]
        rounds: u32,
        /// Ranks, 64 to 1,000,000 if none are named.
        #[arg(long, value_delimiter = ',')]
        ranks: Vec<u32>,
    },
    /// A message with -xsim-check and without it, alternately.
    Check {
        /// Rounds, the least of which counts.
        #[arg(default_value_t = 5)]
        rounds: u32,
    },
    /// The same patterns on SimGrid's SMPI (Debian's libsimgrid-dev) and here.
    Peer {
        /// Add 16,384 ranks.
        #[arg(long)]
        large: bool,
    },
    /// Ranks and operations at scale, up to 10,000,000 ranks (about 1.3 GB).
    Scale {
        /// Measure 2^27 ranks alone (about 16 GB, two minutes).
        #[arg(long)]
        largest: bool,
    },
    /// One process beside two of MPICH; nothing else may run.
    Processes {
        /// NPB's EP, made with `xsim fc`.
        #[arg(long)]
        ep: Option<PathBuf>,
        /// Ranks of EP.
        #[arg(long, default_value_t = 16)]
        ranks: u32,
    },
    /// This build beside another one, alternately: time and memory of each row, the least of some rounds.
    Against {
        /// The other one's target/release.
        directory: PathBuf,
        /// Rounds.
        #[arg(default_value_t = 5)]
        rounds: u32,
        /// Rows whose names have this in them.
        #[arg(default_value = "")]
        rows: String,
    },
    /// A switch of ranks with private globals of some sizes.
    Globals,
    /// The start of a Fortran program with 64 KiB of COMMON on many ranks.
    Common {
        /// Ranks.
        #[arg(default_value_t = 50_000)]
        ranks: u32,
    },
    /// Traces, profiles, replays and timelines.
    Traces {
        /// One of them.
        #[command(subcommand)]
        part: traces::TracePart,
    },
    /// Models in Aspen: what LULESH moves, and what walks cost (about 4 GB).
    Aspen {
        /// LULESH's phases, and a hundredth of the ranks of the other rows, once.
        #[arg(long)]
        quick: bool,
        /// LULESH 2.0 itself, made with `xsim cxx -O2 -DUSE_MPI=1 lulesh*.cc`.
        #[arg(long)]
        lulesh: Option<PathBuf>,
        /// Read the models below a directory, and measure nothing.
        #[arg(long)]
        models: Option<PathBuf>,
    },
    /// Measure the figures of a paper beside its published values; quick sizes unless --most says more.
    Papers {
        /// The paper.
        paper: PublishedPaper,
        #[command(flatten)]
        request: FigureRequest,
        /// Print the paper's page (docs/papers) from its file of results, and measure nothing.
        #[arg(long)]
        markdown: bool,
    },
    /// Make the tables of the manual from the files of results.
    Tables {
        /// Change nothing: fail if a table is not what its results make.
        #[arg(long)]
        check: bool,
    },
}

fn main() -> ExitCode {
    match run(&BenchArguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xsim-bench: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &BenchArguments) -> Result<(), String> {
    if let Bench::Tables { check } = arguments.bench {
        return tables::make(&lab::root(), check);
    }
    if let Bench::Papers { paper, markdown: true, .. } = arguments.bench {
        let page = papers::make(&lab::root(), paper)?;
        let printed = std::io::stdout().write_all(page.as_bytes());
        return printed.map_err(|why| format!("standard output cannot be written: {why}"));
    }
    let lab = Lab::new(!arguments.no_build)?;
    let results = measured(&lab, &arguments.bench)?;
    results.print()?;
    match &arguments.bench {
        _ if arguments.no_file => {}
        Bench::Papers { paper, request, .. } => papers::write(*paper, request, results.rows())?,
        _ => results.write(&lab::root())?,
    }
    match results.differing() {
        0 => Ok(()),
        count => Err(format!("{count} rows differ from what must hold")),
    }
}

/// Runs one bench.
fn measured(lab: &Lab, bench: &Bench) -> Result<Results, String> {
    let (name, rows) = match bench {
        Bench::Messages { rounds, ranks } => ("messages", messages::alone(lab, *rounds, ranks)?),
        Bench::Check { rounds } => ("check", messages::checked(lab, *rounds)?),
        Bench::Peer { large } => ("peer", peer::rows(lab, *large)?),
        Bench::Scale { largest: true } => ("largest", scale::largest(lab)?),
        Bench::Scale { .. } => ("scale", scale::rows(lab)?),
        Bench::Processes { ep, ranks } => ("processes", processes::rows(lab, ep.as_deref(), *ranks)?),
        Bench::Against { directory, rounds, rows } => {
            ("against", against::rows(lab, directory, *rounds, rows)?)
        }
        Bench::Globals => ("globals", globals::switches(lab)?),
        Bench::Common { ranks } => ("common", globals::common(lab, *ranks)?),
        Bench::Traces { part } => (part.name(), traces::rows(lab, part)?),
        Bench::Aspen { models: Some(directory), .. } => ("aspen-models", aspen::models(lab, directory)?),
        Bench::Aspen { quick, lulesh, .. } => {
            (if *quick { "aspen-quick" } else { "aspen" }, aspen::rows(lab, *quick, lulesh.as_deref())?)
        }
        Bench::Papers { paper, request, .. } => (paper.results(), papers::rows(lab, *paper, request)?),
        Bench::Tables { .. } => return Err("tables measures nothing".to_owned()),
    };
    Ok(Results::new(name, rows))
}
