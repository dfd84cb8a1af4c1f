//! Paje's text (L. M. Schnorr, "Paje trace file format", 2016): a container for each rank with a state for
//! its calls, links for messages, variables for what is counted. Times are seconds with all their
//! picoseconds.

use super::{Counter, Output, TimelineEvent, TimelineHeader};
use std::fmt::{self, Display};
use std::io::{self, Write};

/// The events that are used, by their numbers from 0, with their fields.
const EVENTS: [(&str, &[(&str, &str)]); 12] = [
    ("PajeDefineContainerType", &[("Alias", "string"), ("Type", "string"), ("Name", "string")]),
    ("PajeDefineStateType", &[("Alias", "string"), ("Type", "string"), ("Name", "string")]),
    ("PajeDefineVariableType", &[("Alias", "string"), ("Type", "string"), ("Name", "string")]),
    (
        "PajeDefineLinkType",
        &[
            ("Alias", "string"),
            ("Type", "string"),
            ("StartContainerType", "string"),
            ("EndContainerType", "string"),
            ("Name", "string"),
        ],
    ),
    (
        "PajeDefineEntityValue",
        &[("Alias", "string"), ("Type", "string"), ("Name", "string"), ("Color", "color")],
    ),
    (
        "PajeCreateContainer",
        &[
            ("Time", "date"),
            ("Alias", "string"),
            ("Type", "string"),
            ("Container", "string"),
            ("Name", "string"),
        ],
    ),
    ("PajeDestroyContainer", &[("Time", "date"), ("Type", "string"), ("Name", "string")]),
    ("PajePushState", &[("Time", "date"), ("Type", "string"), ("Container", "string"), ("Value", "string")]),
    ("PajePopState", &[("Time", "date"), ("Type", "string"), ("Container", "string")]),
    (
        "PajeSetVariable",
        &[("Time", "date"), ("Type", "string"), ("Container", "string"), ("Value", "double")],
    ),
    (
        "PajeStartLink",
        &[
            ("Time", "date"),
            ("Type", "string"),
            ("Container", "string"),
            ("Value", "string"),
            ("StartContainer", "string"),
            ("Key", "string"),
        ],
    ),
    (
        "PajeEndLink",
        &[
            ("Time", "date"),
            ("Type", "string"),
            ("Container", "string"),
            ("Value", "string"),
            ("EndContainer", "string"),
            ("Key", "string"),
        ],
    ),
];

/// Colours of functions, in turn.
const COLORS: [&str; 8] = [
    "0.12 0.47 0.71",
    "1.00 0.50 0.05",
    "0.17 0.63 0.17",
    "0.84 0.15 0.16",
    "0.58 0.40 0.74",
    "0.55 0.34 0.29",
    "0.89 0.47 0.76",
    "0.09 0.75 0.81",
];

struct Seconds(u64);

impl Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PS: u64 = 1_000_000_000_000;
        write!(f, "{}.{:012}", self.0 / PS, self.0 % PS)
    }
}

pub struct Paje<W> {
    out: W,
    ranks: Vec<u32>,
    end: u64,
}

impl<W: Write> Paje<W> {
    /// Writes the definitions, and the containers of ranks.
    pub fn begin(mut out: W, head: &TimelineHeader) -> io::Result<Paje<W>> {
        for (number, (name, fields)) in EVENTS.iter().enumerate() {
            writeln!(out, "%EventDef {name} {number}")?;
            fields.iter().try_for_each(|(field, kind)| writeln!(out, "% {field} {kind}"))?;
            writeln!(out, "%EndEventDef")?;
        }
        out.write_all(
            b"0 RUN 0 \"run\"\n\
                0 RANK RUN \"rank\"\n\
                1 CALL RANK \"call\"\n\
                3 MESSAGE RUN RANK RANK \"message\"\n",
        )?;
        if !head.regions.is_empty() {
            writeln!(out, "1 REGION RANK \"region\"")?;
        }
        for counter in Counter::ALL {
            writeln!(out, "2 V{} RUN \"{}\"", counter as u32, counter.name())?;
        }
        writeln!(
            out,
            "4 compute CALL \"computing\" \"0.80 0.80 0.80\"\n4 m MESSAGE \"message\" \"0.00 0.00 0.00\""
        )?;
        for (place, function) in head.functions.iter().enumerate() {
            writeln!(out, "4 f{place} CALL \"{function}\" \"{}\"", COLORS[place % COLORS.len()])?;
        }
        for (place, region) in head.regions.iter().enumerate() {
            writeln!(
                out,
                "4 g{place} REGION \"{}\" \"{}\"",
                region.replace('"', "'"),
                COLORS[place % COLORS.len()]
            )?;
        }
        writeln!(out, "5 {} run RUN 0 \"run\"", Seconds(0))?;
        for rank in &head.ranks {
            writeln!(out, "5 {} r{rank} RANK run \"rank {rank}\"", Seconds(0))?;
        }
        Ok(Paje { out, ranks: head.ranks.clone(), end: head.end })
    }
}

impl<W: Write> Output for Paje<W> {
    fn event(&mut self, event: &TimelineEvent) -> io::Result<()> {
        let out = &mut self.out;
        match *event {
            TimelineEvent::Entered { rank, at, call } => {
                writeln!(out, "7 {} CALL r{rank} f{}", Seconds(at), call.function)
            }
            TimelineEvent::Computes { rank, at, .. } => {
                writeln!(out, "7 {} CALL r{rank} compute", Seconds(at))
            }
            TimelineEvent::Began { rank, at, region } => {
                writeln!(out, "7 {} REGION r{rank} g{region}", Seconds(at))
            }
            TimelineEvent::Ended { rank, at, .. } => writeln!(out, "8 {} REGION r{rank}", Seconds(at)),
            TimelineEvent::Left { rank, at, .. } | TimelineEvent::Computed { rank, at } => {
                writeln!(out, "8 {} CALL r{rank}", Seconds(at))
            }
            TimelineEvent::Counted { counter, at, value } => {
                writeln!(out, "9 {} V{} run {value}", Seconds(at), counter as u32)
            }
            TimelineEvent::Sent { rank, at, message } => {
                writeln!(out, "10 {} MESSAGE run m r{rank} {}", Seconds(at), message.id)
            }
            TimelineEvent::Received { rank, at, id, .. } => {
                writeln!(out, "11 {} MESSAGE run m r{rank} {id}", Seconds(at))
            }
            TimelineEvent::Waits { .. } | TimelineEvent::Waited { .. } => Ok(()),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        for rank in &self.ranks {
            writeln!(self.out, "6 {} RANK r{rank}", Seconds(self.end))?;
        }
        writeln!(self.out, "6 {} RUN run", Seconds(self.end))?;
        self.out.flush()
    }
}
