//! `xsim aspen eval`: what a model needs, and how long that takes.

use super::{failed, read_both};
use crate::failure::{Failure, USAGE};
use crate::output::{self, say};
use ::aspen::{
    Application, Evaluation, EvaluationRequest, Formula, Machine, Number, Sources, Traversal, constant,
    parse_formula, tree,
};
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of all that goes through a model.
pub fn choices() -> Vec<Arg> {
    let value = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    vec![
        value("param", "NAME=FORMULA", "A parameter's value, such as n=2*kilo; may be repeated")
            .action(ArgAction::Append),
        value("kernel", "KERNEL", "Another kernel than main, with its arguments: stuff(2)"),
        Arg::new("explicit")
            .long("explicit")
            .action(ArgAction::SetTrue)
            .help("Go through each time of a loop, and draw instead of weighing"),
        value("seed", "SEED", "Of what is drawn").value_parser(clap::value_parser!(u64)).default_value("1"),
    ]
}

/// Returns the subcommand's arguments.
pub fn command() -> Command {
    let value = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    let path = |name: &'static str, help: &'static str| {
        Arg::new(name).help(help).value_parser(clap::value_parser!(PathBuf))
    };
    Command::new("eval")
        .about("Say what a model needs, and how long that takes on a machine")
        .arg(path("FILE", "A model of an application").required(true))
        .arg(path("MACHINE", "A machine"))
        .args(choices())
        .arg(value("socket", "NAME", "The kind of socket; all kinds, unless told").requires("MACHINE"))
        .arg(
            value("symbolic", "NAME", "A parameter that stays open; may be repeated")
                .action(ArgAction::Append),
        )
        .arg(
            value("plot", "NAME=LEAST..MOST", "Evaluate over a range, as a table and a curve")
                .conflicts_with_all(["symbolic", "json"]),
        )
        .arg(
            value("points", "N", "How many values of the range")
                .value_parser(clap::value_parser!(u32).range(2..=10_000))
                .default_value("25"),
        )
        .arg(
            value(
                "of",
                "WHAT",
                "What is plotted: runtime, energy, data, or a resource; runtime or flops, unless told",
            )
            .requires("plot"),
        )
        .arg(
            value("draw", "FILE.svg|FILE.png", "Draw the curves into a file, instead of with characters")
                .value_parser(::plot::picture)
                .requires("plot"),
        )
        .arg(output::json_argument())
}

/// The choices for evaluating a model.
pub struct EvaluationOptions {
    /// Another kernel than main.
    pub kernel: Option<tree::Expr>,
    /// Parameters with values of their own.
    pub parameters: Vec<(String, f64)>,
    traversal: Traversal,
    seed: u64,
}

impl EvaluationOptions {
    /// Reads the arguments of [`choices`].
    pub fn read(matches: &ArgMatches, sources: &mut Sources) -> Result<EvaluationOptions, Failure> {
        let mut parameters = Vec::new();
        for given in matches.get_many::<String>("param").into_iter().flatten() {
            let Some((name, formula)) = given.split_once('=') else {
                return Err(Failure::with(
                    USAGE,
                    format!("--param {given}: a parameter is given as NAME=FORMULA, such as n=64"),
                ));
            };
            let value = constant(sources, formula)
                .map_err(|error| Failure::with(USAGE, format!("--param {given}: {error}")))?;
            parameters.push((name.trim().to_owned(), value));
        }
        let kernel = match matches.get_one::<String>("kernel") {
            None => None,
            Some(text) => {
                let id = sources.add("--kernel", text.clone());
                Some(parse_formula(sources, id).map_err(|error| Failure::with(USAGE, error.to_string()))?)
            }
        };
        let traversal = if matches.get_flag("explicit") { Traversal::Explicit } else { Traversal::Implicit };
        let seed = matches.get_one("seed").copied().unwrap_or(1);
        Ok(EvaluationOptions { kernel, parameters, traversal, seed })
    }

    /// Returns what is asked of a model, parameters and kernel left out.
    pub fn request<'a, N>(&self) -> EvaluationRequest<'a, N> {
        EvaluationRequest { traversal: self.traversal, seed: self.seed, ..EvaluationRequest::default() }
    }
}

/// Returns the sockets that are asked for: the one that is named, else all.
fn sockets<'m>(
    matches: &'m ArgMatches,
    machine: Option<&'m Machine>,
) -> Result<Vec<Option<&'m str>>, Failure> {
    let Some(machine) = machine else { return Ok(vec![None]) };
    if let Some(socket) = matches.get_one::<String>("socket") {
        return Ok(vec![Some(socket.as_str())]);
    }
    let all: Vec<Option<&str>> = machine.sockets().into_iter().map(Some).collect();
    if all.is_empty() { Err(Failure::new("the machine has no socket to run on")) } else { Ok(all) }
}

/// Evaluates.
pub fn main(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let mut sources = Sources::default();
    let (model, machine) = read_both(&mut sources, matches)?;
    let choice = EvaluationOptions::read(matches, &mut sources)?;
    let open: Vec<&String> = matches.get_many("symbolic").into_iter().flatten().collect();
    let sockets = sockets(matches, machine.as_deref())?;
    let asked = RequestedEvaluation {
        model: &model,
        machine: machine.as_deref(),
        sockets,
        choice: &choice,
        sources: &sources,
        matches,
    };
    if let Some(range) = matches.get_one::<String>("plot") {
        let points = matches.get_one::<u32>("points").copied().unwrap_or(25);
        let of = matches.get_one::<String>("of").map(String::as_str);
        let file = matches.get_one::<PathBuf>("draw").map(PathBuf::as_path);
        return super::plot::main(&asked, range, points, of, file);
    }
    if open.is_empty() {
        asked.print(&choice.parameters)
    } else {
        let given = choice.parameters.iter().map(|(name, value)| (name.clone(), Formula::new(*value)));
        let parameters: Vec<(String, Formula)> =
            given.chain(open.iter().map(|name| ((*name).clone(), Formula::open(name)))).collect();
        asked.print(&parameters)
    }
}

/// A requested evaluation, with its model.
pub struct RequestedEvaluation<'a> {
    /// The model.
    pub model: &'a Application,
    machine: Option<&'a Machine>,
    /// None for no machine.
    pub sockets: Vec<Option<&'a str>>,
    /// The choices for evaluating the model.
    pub choice: &'a EvaluationOptions,
    sources: &'a Sources,
    matches: &'a ArgMatches,
}

impl RequestedEvaluation<'_> {
    /// Evaluates on a socket.
    pub fn evaluate<N: Number>(
        &self,
        parameters: &[(String, N)],
        socket: Option<&str>,
    ) -> Result<Evaluation<N>, Failure> {
        let request =
            EvaluationRequest { kernel: self.choice.kernel.as_ref(), parameters, ..self.choice.request() };
        let evaluation = self.model.evaluate(&request, self.machine.zip(socket));
        evaluation.map_err(|error| failed(&error.located(self.sources)))
    }

    fn print<N: Number + Display>(&self, parameters: &[(String, N)]) -> Result<ExitCode, Failure> {
        let all: Vec<Evaluation<N>> = self
            .sockets
            .iter()
            .map(|socket| self.evaluate(parameters, *socket))
            .collect::<Result<_, Failure>>()?;
        let Some(first) = all.first() else { return Ok(ExitCode::SUCCESS) };
        if output::results_to(self.matches, "json", || format!("{:#}\n", as_json(self.model, &all)))? {
            return Ok(ExitCode::SUCCESS);
        }
        print_amounts(first)?;
        for evaluation in &all {
            print_runtime(evaluation)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns a number for people, a formula as it is.
fn shown<N: Number + Display>(value: &N, unit: &str) -> String {
    match value.known() {
        Some(known) if unit == "s" || unit == "J" => format!("{} {unit}", significant(known)),
        Some(known) => format!(
            "{}{}",
            significant(known),
            if unit.is_empty() { String::new() } else { format!(" {unit}") }
        ),
        None => format!("{value}{}", if unit.is_empty() { String::new() } else { format!(" {unit}") }),
    }
}

/// Integers below 10^15 as they are, others with nine digits.
pub fn significant(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value}");
    }
    let digits = format!("{value:.8e}");
    let rounded: f64 = digits.parse().unwrap_or(value);
    if (1e-4..1e9).contains(&value.abs()) { format!("{rounded}") } else { format!("{rounded:e}") }
}

fn print_amounts<N: Number + Display>(evaluation: &Evaluation<N>) -> Result<(), Failure> {
    let mut rows: Vec<(String, String)> = Vec::new();
    for amount in &evaluation.amounts {
        let traits = if amount.traits.is_empty() {
            String::new()
        } else {
            format!(" as {}", amount.traits.join(", "))
        };
        rows.push((format!("{}{traits}", amount.resource), shown(&amount.quantity, "")));
    }
    let mut resources: Vec<&str> = evaluation.amounts.iter().map(|amount| amount.resource.as_str()).collect();
    resources.sort_unstable();
    resources.dedup();
    for resource in resources {
        if evaluation.amounts.iter().filter(|amount| amount.resource == resource).count() > 1 {
            rows.push((format!("{resource} in all"), shown(&evaluation.total(resource), "")));
        }
    }
    let (flops, bytes) = (evaluation.total("flops"), evaluation.total("bytes"));
    if bytes.known() != Some(0.0) && flops.known() != Some(0.0) {
        rows.push(("flops for each byte".to_owned(), shown(&flops.over(&bytes), "")));
    }
    rows.push(("data".to_owned(), shown(&evaluation.data, "bytes")));
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, value) in rows {
        say!("{name:width$}  {value}");
    }
    Ok(())
}

fn print_runtime<N: Number + Display>(evaluation: &Evaluation<N>) -> Result<(), Failure> {
    let Some(runtime) = &evaluation.runtime else { return Ok(()) };
    say!("on socket {}:", runtime.socket);
    say!("  runtime         {}", shown(&runtime.seconds, "s"));
    say!("  dynamic energy  {}", shown(&runtime.dynamic_energy, "J"));
    say!("  static energy   {}", shown(&runtime.static_energy, "J"));
    if runtime.capacity.known() != Some(0.0) {
        say!("  memory          {}", shown(&runtime.capacity, "bytes"));
        if let Some((data, capacity)) = evaluation.data.known().zip(runtime.capacity.known())
            && data > capacity
        {
            say!("  the data do not fit into it");
        }
    }
    for note in &runtime.notes {
        say!("  note: {note}");
    }
    Ok(())
}

fn as_json<N: Number + Display>(model: &Application, all: &[Evaluation<N>]) -> Value {
    let number = |value: &N| value.known().map_or_else(|| json!(value.to_string()), |known| json!(known));
    let amounts = |evaluation: &Evaluation<N>| -> Vec<Value> {
        let one = |amount: &::aspen::Amount<N>| {
            json!(
                { "resource": amount.resource, "traits": amount.traits, "quantity": number(&amount.quantity) }
            )
        };
        evaluation.amounts.iter().map(one).collect()
    };
    let totals = |evaluation: &Evaluation<N>| -> BTreeMap<String, Value> {
        let names = evaluation.amounts.iter().map(|amount| amount.resource.as_str()).chain(["bytes"]);
        names.map(|name| (name.to_owned(), number(&evaluation.total(name)))).collect()
    };
    let sockets = all.iter().filter_map(|evaluation| evaluation.runtime.as_ref());
    let runtimes: Vec<Value> = sockets
        .map(|runtime| {
            json!({
                "socket": runtime.socket,
                "seconds": number(&runtime.seconds),
                "dynamic_joules": number(&runtime.dynamic_energy),
                "static_joules": number(&runtime.static_energy),
                "memory_bytes": number(&runtime.capacity),
                "notes": runtime.notes,
            })
        })
        .collect();
    let first = all.first();
    json!({
        "model": model.name,
        "amounts": first.map(amounts),
        "totals": first.map(totals),
        "data_bytes": first.map(|evaluation| number(&evaluation.data)),
        "runtimes": runtimes,
    })
}
