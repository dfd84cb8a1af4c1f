//! Regenerates the micro-benchmark figures of I. S. Jones and C. Engelmann, "Simulation of Large-Scale HPC
//! Architectures" (section V.A), from the repository's examples: `cargo run --release -p xsim-experiments --
//! all`.
//!
//! Each figure becomes a CSV file, an SVG and a PNG. Beside each measured latency stands the exact one,
//! counted by breadth-first search in a graph of the network (`exact.rs`), which shares no code with the
//! simulator.

mod exact;
mod figures;
mod plot;
mod run;
mod topology;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

/// Regenerates the micro-benchmark figures of the published network model.
#[derive(Parser)]
struct FigureArguments {
    /// The figures to make.
    #[arg(required = true)]
    figures: Vec<FigureChoice>,
    /// The directory for CSV, SVG and PNG files.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/experiments"))]
    out: PathBuf,
    /// The largest number of ranks; the paper's is 2,048.
    #[arg(long, default_value_t = 2048)]
    most: u32,
    /// Runs with other random numbers to average over; at most 3 from 512 ranks on, where a run has 262,144
    /// messages.
    #[arg(long, default_value_t = 10)]
    runs: u32,
    /// Use library and command as they are in the build directory.
    #[arg(long)]
    no_build: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum FigureChoice {
    /// Everything below.
    All,
    /// Mean latency of `random` and `ring` by ranks and topology (figure 12).
    Latency,
    /// Mean latency of `random` by the links' bandwidth (figure 13).
    Bandwidth,
    /// Mean latency of `random` on nested networks (figure 14).
    Nested,
    /// Bandwidth of `pingpong` by message size (not in the paper).
    Pingpong,
}

fn main() -> ExitCode {
    let arguments = FigureArguments::parse();
    match make(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xsim-experiments: {why}");
            ExitCode::FAILURE
        }
    }
}

fn make(arguments: &FigureArguments) -> Result<(), String> {
    std::fs::create_dir_all(&arguments.out)
        .map_err(|why| format!("cannot make {}: {why}", arguments.out.display()))?;
    let wanted =
        |choice| arguments.figures.contains(&FigureChoice::All) || arguments.figures.contains(&choice);
    let examples = run::Examples::build(!arguments.no_build)?;
    let mut made = Vec::new();
    if wanted(FigureChoice::Latency) {
        made.push(figures::random_latency(&examples, arguments.most, arguments.runs)?);
        made.push(figures::ring_latency(&examples, arguments.most)?);
    }
    if wanted(FigureChoice::Bandwidth) {
        made.push(figures::bandwidth(&examples, arguments.runs)?);
    }
    if wanted(FigureChoice::Nested) {
        made.push(figures::nested(&examples, arguments.most.min(128), arguments.runs)?);
    }
    if wanted(FigureChoice::Pingpong) {
        made.push(figures::pingpong(&examples)?);
    }
    for figure in made {
        let file = |extension: &str| arguments.out.join(figure.name).with_extension(extension);
        std::fs::write(file("csv"), figure.csv())
            .map_err(|why| format!("cannot write {}: {why}", file("csv").display()))?;
        plot::draw(&figure, &file("svg"), &file("png"))?;
        println!("{}", file("csv").display());
    }
    Ok(())
}
