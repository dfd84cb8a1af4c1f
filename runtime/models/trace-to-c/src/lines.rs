//! The calls of a trace line by line.

use crate::call::{CallArgument, GeneratedCall, Refusal};
use crate::merge::{Item, merge};
use crate::numbers::RanksByTemplate;
use crate::spelling::{Spelled, Speller, is_left_out};
use crate::times::ComputationTimes;
use crate::{Computation, Options};
use indexmap::IndexSet;
use std::fmt::Write;
use trace::Trace;
use trace::trace::Cell;

/// A program with more lines is refused: no one would read it, and compilers take minutes.
const MAX_LINES: usize = 200_000;
/// Functions that answer statuses in other ways than by arguments of the calls that complete something.
const READS_STATUSES: &[&str] =
    &["MPI_Get_count", "MPI_Get_elements", "MPI_Get_elements_x", "MPI_Test_cancelled"];
/// Polls that have to find what they found.
const POLLS: &[&str] = &["MPI_Test", "MPI_Testall", "MPI_Iprobe", "MPI_Improbe", "MPI_Request_get_status"];

/// The contents of the files that are written.
pub struct ProgramText {
    /// The statements of `main`.
    pub body: String,
    pub speller: Speller,
    /// Times that are drawn, if any are.
    pub times: Option<ComputationTimes>,
    /// Functions that are called, in the order in which they come.
    pub functions: IndexSet<&'static str>,
    /// `true` if the trace has the call that initializes MPI, and that which ends it.
    pub is_whole: bool,
}

impl ProgramText {
    /// Writes the program of a trace.
    ///
    /// # Errors
    /// A sentence, if there is a call that cannot be written.
    pub fn write(trace: &Trace, options: &Options) -> Result<ProgramText, String> {
        let ranks = RanksByTemplate::new(trace);
        let name = |call: u32| {
            let template = &trace.templates[trace.calls[call as usize].0 as usize];
            trace.functions[template.function as usize].name.as_str()
        };
        let items = merge(trace, &|call| !is_left_out(name(call), options));
        let keeps_statuses = trace.functions.iter().any(|function| {
            READS_STATUSES.contains(&function.name.as_str()) || function.name.starts_with("MPI_Status_get")
        });
        let mut writer = ProgramWriter {
            ranks: &ranks,
            options,
            program: ProgramText {
                body: String::new(),
                speller: Speller {
                    keeps_statuses,
                    degree: degree(&ranks, options, &items),
                    opens_probes: opens_probes(&ranks, options, &items),
                    ..Speller::default()
                },
                times: (options.computation == Computation::Drawn)
                    .then(|| ComputationTimes::of(trace))
                    .filter(|times| !times.is_empty()),
                functions: IndexSet::new(),
                is_whole: trace
                    .functions
                    .iter()
                    .any(|function| matches!(function.name.as_str(), "MPI_Init" | "MPI_Init_thread")),
            },
            depth: 1,
            loops: 0,
            lines: 0,
            is_begun: false,
        };
        writer.is_begun = !writer.program.is_whole;
        let all: Vec<u32> =
            (0..trace.shapes.len() as u32).filter(|&shape| trace.sizes[shape as usize] > 0).collect();
        writer.items(&items, &all)?;
        Ok(writer.program)
    }
}

/// Returns the most neighbours that a rank can have in any topology of the trace.
fn degree(ranks: &RanksByTemplate, options: &Options, items: &[Item]) -> i64 {
    let of = |item: &Item| match item {
        Item::Loop { body, .. } => degree(ranks, options, body),
        Item::Call(variants) => {
            let Ok(call) = GeneratedCall::new(ranks, options, variants) else { return 0 };
            let most = |name: &str| call.scalar(name).map_or(0, |value| value.most());
            let length = |name: &str| {
                call.argument(name).and_then(|list| call.elements(list)).map_or(0, |list| list.len() as i64)
            };
            match call.signature.name {
                "MPI_Cart_create" => 2 * most("ndims"),
                "MPI_Graph_create" => length("edges"),
                "MPI_Dist_graph_create_adjacent" => most("indegree").max(most("outdegree")),
                // Anybody may name edges to and from anybody.
                "MPI_Dist_graph_create" => sum_of_edges(&call),
                _ => 0,
            }
        }
    };
    items.iter().map(of).max().unwrap_or(0)
}

/// Returns `true` if a matched probe is for any source or tag.
fn opens_probes(ranks: &RanksByTemplate, options: &Options, items: &[Item]) -> bool {
    items.iter().any(|item| match item {
        Item::Loop { body, .. } => opens_probes(ranks, options, body),
        Item::Call(variants) => GeneratedCall::new(ranks, options, variants).is_ok_and(|call| {
            let is_open = |name: &str| {
                call.argument(name).is_some_and(|told| match name {
                    "source" => call.absolute(told.at).least() < 0,
                    _ => call.number(told.at).least() < 0,
                })
            };
            matches!(call.signature.name, "MPI_Mprobe" | "MPI_Improbe")
                && (is_open("source") || is_open("tag"))
        }),
    })
}

fn sum_of_edges(call: &GeneratedCall) -> i64 {
    let of = |list: CallArgument| -> Option<i64> {
        let places: Vec<usize> = call.elements(list)?.into_iter().map(|(_, at)| at).collect();
        Some(call.map(&places, false, |_, degrees| degrees.iter().sum()).most())
    };
    call.argument("degrees").and_then(of).unwrap_or(0) * i64::from(call.trace().ranks)
}

struct ProgramWriter<'a> {
    ranks: &'a RanksByTemplate<'a>,
    options: &'a Options,
    program: ProgramText,
    depth: usize,
    loops: usize,
    lines: usize,
    /// The call that initializes MPI was written, so that ranks know who they are.
    is_begun: bool,
}

impl ProgramWriter<'_> {
    fn line(&mut self, line: &str) -> Result<(), String> {
        self.lines += 1;
        if self.lines > MAX_LINES {
            let why = "the benchmark would have more than 200,000 lines: the trace has few loops; cut a part \
                of it (xsim trace cut), or record a part of the run";
            return Err(why.to_owned());
        }
        let _ = writeln!(self.program.body, "{:1$}{line}", "", self.depth * 4);
        Ok(())
    }

    /// Items of ranks of these shapes; neighbours of the same ranks under one condition.
    fn items(&mut self, items: &[Item], around: &[u32]) -> Result<(), String> {
        for run in items.chunk_by(|a, b| a.shapes() == b.shapes()) {
            let shapes = run[0].shapes();
            let is_part = shapes.as_slice() != around;
            if is_part {
                if !self.is_begun {
                    let sentence =
                        "ranks do different things before MPI_Init, where a program cannot tell them apart";
                    return Err(format!("{sentence}: {}", self.place_of(&run[0])));
                }
                let members = self.ranks.members(&shapes);
                let condition = self.program.speller.vectors.is_member(&members);
                self.line(&format!("if ({condition}) {{ /* {} */", listed(&members)))?;
                self.depth += 1;
            }
            run.iter().try_for_each(|item| self.item(item, &shapes))?;
            if is_part {
                self.depth -= 1;
                self.line("}")?;
            }
        }
        Ok(())
    }

    fn item(&mut self, item: &Item, shapes: &[u32]) -> Result<(), String> {
        match item {
            Item::Call(variants) => self.call(variants).map_err(|why| {
                let way =
                    "leave such calls out (--without), cut the trace (xsim trace cut) or switch recording \
                     off there (MPI_Pcontrol)";
                format!("{}: {why}; {way}", self.place_of(item))
            }),
            Item::Loop { counts, body } => {
                let cells: Vec<_> = counts.iter().map(|&(shape, count)| (shape, vec![count])).collect();
                let turns = self.ranks.map(&cells, 1, false, |_, counts| counts[0]);
                let turns = self.program.speller.vectors.number(&turns);
                let name = format!("i{}", self.loops);
                self.line(&format!("for (long {name} = 0; {name} < {turns}; {name}++) {{"))?;
                (self.loops, self.depth) = (self.loops + 1, self.depth + 1);
                self.program.speller.vectors.begin_loop(name);
                self.items(body, shapes)?;
                self.program.speller.vectors.end_loop();
                (self.loops, self.depth) = (self.loops - 1, self.depth - 1);
                self.line("}")
            }
        }
    }

    /// Returns the function, the site and a rank of an item's first call, for messages.
    fn place_of(&self, item: &Item) -> String {
        match item {
            Item::Loop { body, .. } => body.first().map_or_else(String::new, |item| self.place_of(item)),
            Item::Call(variants) => {
                let trace = self.ranks.trace;
                let (shape, call) = variants[0];
                let template = &trace.templates[trace.calls[call as usize].0 as usize];
                let rank = self.ranks.members(&[shape]).iter().position(|&member| member == 1).unwrap_or(0);
                format!(
                    "rank {rank}, {} at {}",
                    trace.functions[template.function as usize].name,
                    trace.site(template.site)
                )
            }
        }
    }

    fn call(&mut self, variants: &[(u32, u32)]) -> Result<(), Refusal> {
        let call = GeneratedCall::new(self.ranks, self.options, variants)?;
        if call.template.code != 0 {
            return Err(format!("it failed with code {} when it was recorded", call.template.code));
        }
        let spelled = self.program.speller.spell(&call)?;
        let name = call.signature.name;
        if self.options.computation == Computation::Each {
            self.line("compute_next();")?;
        } else if let Some(times) = &self.program.times {
            let place = |&(shape, call): &(u32, u32)| (shape, vec![Cell::Same(times.place(call).into())]);
            let places: Vec<_> = variants.iter().map(place).collect();
            let place = self.ranks.map(&places, 1, false, |_, place| place[0]);
            let place = self.program.speller.vectors.number(&place);
            self.line(&format!("compute({place});"))?;
        }
        spelled.before.iter().try_for_each(|line| self.line(line))?;
        self.program.functions.insert(name);
        let large = if call.is_large() { "_c" } else { "" };
        let text = format!("{name}{large}({})", spelled.arguments.join(", "));
        let statement = self.statement(&call, &spelled, text);
        let site = self.ranks.trace.site(call.template.site);
        // A comment ends where the name of a file could have it end.
        let comment = if self.options.obfuscates || site == "?" {
            String::new()
        } else {
            format!(" /* {} */", site.replace("*/", "* /"))
        };
        self.line(&format!("{statement}{comment}"))?;
        spelled.after.iter().try_for_each(|line| self.line(line))?;
        if matches!(call.signature.name, "MPI_Init" | "MPI_Init_thread") {
            self.is_begun = true;
            self.line("started();")?;
            if self.options.computation == Computation::Each {
                self.line("read_times();")?;
            }
        }
        Ok(())
    }

    /// Returns what a call found when it was recorded it has to find, at whatever time that is.
    fn statement(&mut self, call: &GeneratedCall, spelled: &Spelled, text: String) -> String {
        let name = call.signature.name;
        let found = call.scalar("flag").map(|flag| flag.least());
        if POLLS.contains(&name) && found == Some(1) {
            return format!("do {text}; while (!flag);");
        }
        let completes = matches!(name, "MPI_Waitany" | "MPI_Testany" | "MPI_Waitsome" | "MPI_Testsome");
        if !completes || found == Some(0) {
            return format!("{text};");
        }
        let (Some((count, wanted)), Some(first)) = (self.program.speller.completed(call), &spelled.requests)
        else {
            return format!("{text};");
        };
        match name {
            "MPI_Waitsome" | "MPI_Testsome" => {
                format!("do {text}; while (unsettled({first}, done, indices, {count}, {wanted}));")
            }
            "MPI_Testany" => {
                format!("do {text}; while (!flag || unsettled({first}, 1, &done, {count}, {wanted}));")
            }
            _ => format!("do {text}; while (unsettled({first}, 1, &done, {count}, {wanted}));"),
        }
    }
}

/// Ranges of ranks.
fn listed(members: &[i64]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for rank in (0..members.len()).filter(|&rank| members[rank] == 1) {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => ranges.push((rank, rank)),
        }
    }
    let shown: Vec<String> = ranges
        .iter()
        .take(4)
        .map(|&(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") })
        .collect();
    let one = ranges.len() == 1 && ranges[0].0 == ranges[0].1;
    format!(
        "{} {}{}",
        if one { "rank" } else { "ranks" },
        shown.join(", "),
        if ranges.len() > 4 { ", ..." } else { "" }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_ranks_are_told_shortly() {
        assert_eq!(listed(&[0, 1, 0]), "rank 1");
        assert_eq!(listed(&[1, 1, 0, 1]), "ranks 0-1, 3");
        assert_eq!(listed(&[1, 0].repeat(9)), "ranks 0, 2, 4, 6, ...");
    }
}
