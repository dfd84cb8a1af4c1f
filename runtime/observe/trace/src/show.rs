//! A trace as text: loops and calls with their sites, or every call of a rank.

use crate::histogram::Summary;
use crate::part::Place;
use crate::template::Peer;
use crate::text::{self, Numbers};
use crate::times::Reading;
use crate::trace::{Cell, Node, Trace};
use std::collections::BTreeSet;
use std::io::{Result, Write};

/// Different numbers of a call that are shown.
const SHOWN: usize = 6;
/// Width in characters to which a line is padded before its call site.
const SITE: usize = 100;

/// Prints all calls of a rank, a line each: with exact times the time of entry and how long the call took,
/// then the call and its site.
///
/// # Errors
/// If it cannot be written.
pub fn rank(trace: &Trace, rank: u32, out: &mut impl Write) -> Result<()> {
    let view = trace.rank(rank);
    let mut times = trace.times.get(&rank).and_then(|times| Reading::new(times).ok());
    let mut clock = 0u64;
    for event in view.calls() {
        if let Some(Ok(Some((computed, took)))) = times.as_mut().map(Reading::next) {
            clock = clock.saturating_add(computed.as_ps());
            write!(out, "{} us  +{} us  ", micro(clock), micro(took.as_ps()))?;
            clock = clock.saturating_add(took.as_ps());
        }
        writeln!(out, "{}  {}", text::event(&view, &event), trace.site(event.template.site))?;
    }
    Ok(())
}

/// Picoseconds as microseconds.
pub(crate) fn micro(ps: u64) -> String {
    format!("{}.{:06}", ps / 1_000_000, ps % 1_000_000)
}

/// Prints the ranks of each shape, its loops and calls, and the computation between calls.
///
/// # Errors
/// If it cannot be written.
pub fn all(trace: &Trace, out: &mut impl Write) -> Result<()> {
    let calls = trace.length().map_or("more than 2^64".to_owned(), |calls| calls.to_string());
    writeln!(out, "{} ranks, {calls} calls", trace.ranks)?;
    for (shape, nodes) in (0..).zip(&trace.shapes) {
        writeln!(out, "\nranks {}:", ranks_of(trace, shape))?;
        nodes.iter().try_for_each(|node| show(trace, node, 1, out))?;
    }
    if !trace.histograms.is_empty() {
        writeln!(out, "\ncomputation before a call, in us: how often, minimum, mean, maximum, deviation")?;
    }
    for ((from, to), summary) in &trace.histograms {
        let place = |(function, site, kind): Place| {
            let kind = if kind == 0 { String::new() } else { format!(" (kind {kind})") };
            format!("{} {}{kind}", trace.functions[function as usize].name, trace.site(site))
        };
        let from = from.map_or("the beginning".to_owned(), place);
        let [least, mean, most, deviation] =
            [summary.least, summary.mean, summary.most, summary.deviation].map(micro);
        writeln!(
            out,
            "  {:>9}  {least}  {mean}  {most}  {deviation}  {} after {from}{}",
            summary.count,
            place(*to),
            spread(trace, summary)
        )?;
    }
    Ok(())
}

/// Returns how much longer than all on the mean ranks compute, if they differ.
fn spread(trace: &Trace, summary: &Summary) -> String {
    let (least, most) = summary.spread.bounds(trace.ranks);
    if summary.spread.is_empty() { String::new() } else { format!("; ranks {least:+} to {most:+} %") }
}

/// Ranges of ranks, with a stride if they have one.
fn ranks_of(trace: &Trace, shape: i64) -> String {
    let (mut ranges, mut rank): (Vec<(u32, u32)>, u32) = (Vec::new(), 0);
    trace.shape_of.each(|of| {
        if of == shape {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == rank => *last = rank,
                _ => ranges.push((rank, rank)),
            }
        }
        rank += 1;
    });
    let shown: Vec<String> = ranges
        .iter()
        .take(SHOWN * 2)
        .map(|&(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") })
        .collect();
    let size = trace.sizes[shape as usize];
    format!("{}{} ({size})", shown.join(","), if ranges.len() > shown.len() { ",..." } else { "" })
}

fn show(trace: &Trace, node: &Node, depth: usize, out: &mut impl Write) -> Result<()> {
    let indent = "  ".repeat(depth);
    match node {
        Node::Call(call) => {
            let (template, cells) = &trace.calls[*call as usize];
            let template = &trace.templates[*template as usize];
            let line = format!("{indent}{}", text::call(trace, template, &OfAll { trace, cells }));
            writeln!(out, "{line:SITE$}  {}", trace.site(template.site))
        }
        Node::Loop { count, body, varies } => {
            let differ = if *varies { ", which differ" } else { "" };
            writeln!(out, "{indent}{} times{differ}:", cell(trace, *count, |value| value.to_string()))?;
            body.iter().try_for_each(|node| show(trace, node, depth + 1, out))
        }
    }
}

fn cell(trace: &Trace, cell: Cell, show: impl Fn(i64) -> String) -> String {
    let column = match cell {
        Cell::Same(value) => return show(value),
        Cell::Column(column) => &trace.columns[column as usize],
    };
    let (mut values, mut more) = (BTreeSet::new(), false);
    column.each(|value| {
        if values.len() < SHOWN || values.contains(&value) {
            values.insert(value);
        } else {
            more = true;
        }
    });
    let shown: Vec<String> = values.into_iter().map(show).collect();
    format!("{{{}{}}}", shown.join(" "), if more { " ..." } else { "" })
}

/// The numbers of all ranks of a shape.
struct OfAll<'a> {
    trace: &'a Trace,
    cells: &'a [Cell],
}

impl Numbers for OfAll<'_> {
    fn plain(&self, at: usize) -> String {
        cell(self.trace, self.cells[at], |value| value.to_string())
    }
    fn peer(&self, at: usize) -> String {
        cell(self.trace, self.cells[at], |value| text::peer(Peer::of(value)))
    }
    fn value(&self, at: usize) -> Option<i64> {
        match self.cells[at] {
            Cell::Same(value) => Some(value),
            Cell::Column(_) => None,
        }
    }
}
