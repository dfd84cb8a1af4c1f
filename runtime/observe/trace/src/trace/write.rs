//! Writes the contents of a file as they were read: what was not changed has the same bytes.

use super::step::{BEGIN, END, STEPS, VARYING};
use super::{Function, Node, Trace};
use crate::codec::Put;
use crate::dictionary::write_texts;
use crate::{part, times};

/// Returns what [`super::read::contents`] reads.
pub fn contents(trace: &Trace) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_texts(trace.functions.iter().map(Function::text), &mut bytes);
    write_texts(trace.sites.iter(), &mut bytes);
    write_texts(trace.names.iter(), &mut bytes);
    bytes.number(trace.types.len() as u64);
    trace.types.iter().for_each(|datatype| datatype.write(&mut bytes));
    bytes.number(trace.ranks.into());
    bytes.number(trace.columns.len() as u64);
    trace.columns.iter().for_each(|column| column.write(&mut bytes));
    bytes.number(trace.templates.len() as u64);
    trace.templates.iter().for_each(|template| template.write(&mut bytes));
    bytes.number(trace.calls.len() as u64);
    for (template, cells) in &trace.calls {
        bytes.number((*template).into());
        cells.iter().for_each(|cell| cell.write(&mut bytes));
    }
    bytes.number(trace.shapes.len() as u64);
    for nodes in &trace.shapes {
        bytes.number(steps(nodes));
        write_nodes(nodes, &mut bytes);
    }
    trace.shape_of.write(&mut bytes);
    trace.comms.write(&mut bytes);
    bytes.number(trace.histograms.len() as u64);
    if !trace.histograms.is_empty() {
        super::read::write_kinds(&trace.kinds, &mut bytes);
    }
    for (path, summary) in &trace.histograms {
        part::write_path(*path, !trace.kinds.is_empty(), &mut bytes);
        summary.write(&mut bytes);
    }
    // A map has no order, a file has that of the ranks.
    let mut of_ranks: Vec<(u32, &[u8])> =
        trace.times.iter().map(|(&rank, times)| (rank, times.as_slice())).collect();
    of_ranks.sort_unstable_by_key(|of_rank| of_rank.0);
    times::write(of_ranks.into_iter(), &mut bytes);
    bytes
}

/// Calls, beginnings and ends of loops.
fn steps(nodes: &[Node]) -> u64 {
    nodes.iter().map(|node| if let Node::Loop { body, .. } = node { 2 + steps(body) } else { 1 }).sum()
}

fn write_nodes(nodes: &[Node], bytes: &mut Vec<u8>) {
    for node in nodes {
        match node {
            Node::Call(call) => bytes.number(u64::from(*call) + STEPS),
            Node::Loop { count, body, varies } => {
                bytes.number(if *varies { VARYING } else { BEGIN });
                count.write(bytes);
                write_nodes(body, bytes);
                bytes.number(END);
            }
        }
    }
}
