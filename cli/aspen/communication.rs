//! `xsim aspen comm`: who sends how many bytes to whom.

use super::evaluate::{EvaluationOptions, choices};
use super::{application, failed};
use crate::failure::{Failure, USAGE};
use crate::output::{self, say};
use ::aspen::{Communication, CommunicationPattern, EvaluationRequest, Sources, Step, StepTraffic};
use clap::{Arg, ArgMatches, Command};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// Returns the subcommand's arguments.
pub fn command() -> Command {
    let value = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name(value)
            .help(help)
            .value_parser(clap::value_parser!(u64).range(1..))
    };
    Command::new("comm")
        .about("List a model's communication steps with their messages, bytes and packets")
        .arg(
            Arg::new("FILE")
                .required(true)
                .value_parser(clap::value_parser!(PathBuf))
                .help("A model of an application"),
        )
        .arg(
            value("np", "N", "On so many ranks")
                .short('n')
                .required(true)
                .value_parser(clap::value_parser!(u64).range(1..=2_147_483_647)),
        )
        .arg(value("packet", "BYTES", "How long a packet is").default_value("512"))
        .arg(
            Arg::new("rank")
                .long("rank")
                .value_name("RANK")
                .value_parser(clap::value_parser!(u64))
                .help("Show what this rank sends and receives in each step"),
        )
        .args(choices())
        .arg(output::json_argument())
}

/// Lists.
pub fn main(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let mut sources = Sources::default();
    let path: &PathBuf = matches.get_one("FILE").expect("clap asks for a file");
    let model = application(&mut sources, path)?;
    let number = |name: &str| matches.get_one::<u64>(name).copied();
    let (ranks, packet) = (number("np").unwrap_or(1), number("packet").unwrap_or(512));
    let rank = number("rank");
    if rank.is_some_and(|rank| rank >= ranks) {
        return Err(Failure::with(
            USAGE,
            format!("--rank {}: there are the ranks 0 to {}", rank.unwrap_or(0), ranks - 1),
        ));
    }
    let choice = EvaluationOptions::read(matches, &mut sources)?;
    let request = EvaluationRequest {
        kernel: choice.kernel.as_ref(),
        parameters: &choice.parameters,
        ..choice.request()
    };
    let steps = model.communication(&request).map_err(|error| failed(&error.located(&sources)))?;
    let traffic: Vec<StepTraffic> = steps
        .iter()
        .map(|one| one.step.traffic(ranks, packet))
        .collect::<Result<_, _>>()
        .map_err(|error| failed(&error))?;
    let json = || {
        let all: Vec<_> =
            steps.iter().zip(&traffic).map(|(one, traffic)| as_json(one, traffic, &sources)).collect();
        format!("{:#}\n", json!({ "model": model.name, "ranks": ranks, "packet": packet, "steps": all }))
    };
    if output::results_to(matches, "json", json)? {
        return Ok(ExitCode::SUCCESS);
    }
    for (one, traffic) in steps.iter().zip(&traffic) {
        let place = sources.place(one.span);
        say!("{}, line {}: {}", one.kernel, place.line, described(&one.step));
        let grid = one.step.grid(ranks).map_err(|error| failed(&error))?;
        if let Some([x, y, z]) = grid.map(|grid| grid.sides()) {
            say!("  on {x} x {y} x {z} ranks");
        }
        say!("  {} times{}", one.times, totals(one, traffic));
        if let Some(rank) = rank {
            for message in one.step.receives(rank, ranks, grid.as_ref(), 0) {
                say!("  rank {rank} receives {} bytes from {}", message.bytes, message.peer);
            }
            for message in one.step.sends(rank, ranks, grid.as_ref(), 0) {
                say!("  rank {rank} sends {} bytes to {}", message.bytes, message.peer);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn described(step: &Step) -> String {
    let items = if step.size == 1 {
        format!("{} bytes", step.count)
    } else {
        format!("{} of {} bytes", step.count, step.size)
    };
    format!(
        "{}: {items}{}",
        step.pattern,
        if step.times == 1 { String::new() } else { format!(", {} at a time", step.times) }
    )
}

/// Returns the totals of a step, over the times that it happens.
fn totals(one: &Communication, traffic: &StepTraffic) -> String {
    match one.step.pattern {
        CommunicationPattern::Collective(..) => ", with the messages of its algorithm".to_owned(),
        CommunicationPattern::Unaddressed => ", with no receiver that could be known".to_owned(),
        _ => {
            let times = |number: u64| number as f64 * one.times;
            let (messages, bytes, packets) =
                (times(traffic.messages), times(traffic.bytes), times(traffic.packets));
            format!(", {messages} messages, {bytes} bytes, {packets} packets in all")
        }
    }
}

fn as_json(one: &Communication, traffic: &StepTraffic, sources: &Sources) -> serde_json::Value {
    json!({
        "kernel": one.kernel,
        "line": sources.place(one.span).line,
        "pattern": one.step.pattern.to_string(),
        "count": one.step.count,
        "size": one.step.size,
        "at_a_time": one.step.times,
        "times": one.times,
        "messages": traffic.messages,
        "bytes": traffic.bytes,
        "packets": traffic.packets,
    })
}
