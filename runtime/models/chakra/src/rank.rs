//! The graph of one rank: nodes in the order of their ids, and which of them wait for which.

use crate::fault::{ChakraFault, ChakraFaultKind};
use crate::groups::{self, ProcessGroups};
use crate::message::{MessageReader, NodeMessage};
use crate::node::{ChakraNode, NodeWork, RankCollective, RankOf, read_node};
use std::io::Read;

/// The most nodes, and the most dependencies, of a rank and of all ranks.
pub const MAX_NODES: u64 = u32::MAX as u64 - 1;
/// The most nodes of a circle that a sentence names.
const MAX_NAMED: usize = 8;

/// The graph of one rank.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct RankGraph {
    /// Name of its file.
    pub file: String,
    /// Nodes in the order of their ids.
    pub nodes: Vec<ChakraNode>,
    /// Collectives in the order of their nodes.
    pub collectives: Vec<RankCollective>,
    /// Process groups that the trace defines.
    pub groups: ProcessGroups,
    /// The first control dependency on a node that the file does not have, and the number of all. Chakra's
    /// converter removes nodes on which no data depends, but not what names them.
    pub left_out: Option<(ChakraFault, u64)>,
    /// Number of nodes that each one waits for.
    pub missing: Vec<u32>,
    /// Nodes that wait for each one: those from `first_follower[node]` to `first_follower[node + 1]`.
    pub first_follower: Vec<u32>,
    /// Waiting nodes, behind each other.
    pub followers: Vec<u32>,
}

impl RankGraph {
    /// Reads a file's contents. Memory is that of one message and of the nodes.
    ///
    /// # Errors
    /// A fault with its byte.
    pub fn read(input: impl Read, file: &str, of: RankOf) -> Result<RankGraph, ChakraFault> {
        let mut graph = read(input, of).map_err(|fault| fault.in_file(file))?;
        graph.left_out = graph.left_out.map(|(fault, count)| (fault.in_file(file), count));
        file.clone_into(&mut graph.file);
        Ok(graph)
    }

    /// Returns the nodes that wait for one.
    pub fn followers_of(&self, node: u32) -> &[u32] {
        let [begin, end] = [node, node + 1].map(|at| self.first_follower[at as usize] as usize);
        &self.followers[begin..end]
    }
}

fn read(input: impl Read, of: RankOf) -> Result<RankGraph, ChakraFault> {
    let mut reader = MessageReader::new(input);
    reader.metadata()?;
    let mut graph = RankGraph::default();
    let mut read_nodes = Vec::new();
    // By the order of the file: the ids of a node's dependencies end here.
    let (mut waits_for, mut ends) = (Vec::new(), Vec::new());
    loop {
        let byte = reader.offset();
        let Some(message) = reader.next::<NodeMessage>()? else { break };
        let found = read_node(message, byte, of)?;
        if let Some(text) = found.groups {
            let defined = groups::of_metadata(&text).map_err(|why| {
                let reason = format!("node {} lists no process groups: {why}", found.node.id);
                ChakraFault::at(ChakraFaultKind::Group, byte, reason)
            })?;
            graph.groups.extend(defined);
        }
        waits_for.extend(found.waits_for);
        ends.push(waits_for.len());
        read_nodes.push((found.node, found.collective));
        if read_nodes.len().max(waits_for.len()) as u64 > MAX_NODES {
            let reason = format!("more than {MAX_NODES} nodes or dependencies are too many");
            return Err(ChakraFault::at(ChakraFaultKind::Size, byte, reason));
        }
    }
    let mut order: Vec<u32> = (0..read_nodes.len() as u32).collect();
    order.sort_by_key(|&at| read_nodes[at as usize].0.id);
    for pair in order.windows(2) {
        let [first, second] = [pair[0], pair[1]].map(|at| &read_nodes[at as usize].0);
        if first.id == second.id {
            let reason =
                format!("node {} is defined a second time; the first is at byte {}", first.id, first.byte);
            return Err(ChakraFault::at(ChakraFaultKind::Duplicate, second.byte, reason));
        }
    }
    let mut edges = Vec::with_capacity(waits_for.len());
    for (&at, later) in order.iter().zip(0..) {
        let begin = if at == 0 { 0 } else { ends[at as usize - 1] };
        let node = &read_nodes[at as usize].0;
        for &(id, is_data) in &waits_for[begin..ends[at as usize]] {
            if let Ok(earlier) = order.binary_search_by_key(&id, |&at| read_nodes[at as usize].0.id) {
                edges.push((later, earlier as u32));
                continue;
            }
            let reason = format!("node {} waits for node {id}, which the file does not have", node.id);
            let fault = ChakraFault::at(ChakraFaultKind::UnknownDependency, node.byte, reason);
            if is_data {
                return Err(fault);
            }
            graph.left_out.get_or_insert((fault, 0)).1 += 1;
        }
    }
    // Moved out one by one: a copy would double what the nodes take.
    let mut read_nodes: Vec<_> = read_nodes.into_iter().map(Some).collect();
    for (&at, number) in order.iter().zip(0..) {
        let Some((mut node, collective)) = read_nodes[at as usize].take() else { continue };
        if let Some(collective) = collective {
            node.work = NodeWork::Collective(graph.collectives.len() as u32);
            graph.collectives.push(RankCollective { node: number, ..collective });
        }
        graph.nodes.push(node);
    }
    link(&mut graph, &edges);
    check_order(&graph).map_err(|fault| match waits_for.iter().all(|&(_, is_data)| is_data) {
        true => fault,
        // Older converters wrote such circles, because nothing read the dependencies of control.
        false => ChakraFault {
            reason: format!("{}; --deps data keeps the data's dependencies alone", fault.reason),
            ..fault
        },
    })?;
    Ok(graph)
}

/// Lists the nodes behind each one, in the order of their ids.
fn link(graph: &mut RankGraph, edges: &[(u32, u32)]) {
    graph.missing = vec![0; graph.nodes.len()];
    graph.first_follower = vec![0; graph.nodes.len() + 1];
    for &(later, earlier) in edges {
        graph.missing[later as usize] += 1;
        graph.first_follower[earlier as usize + 1] += 1;
    }
    for at in 1..graph.first_follower.len() {
        graph.first_follower[at] += graph.first_follower[at - 1];
    }
    let mut next = graph.first_follower.clone();
    graph.followers = vec![0; edges.len()];
    for &(later, earlier) in edges {
        graph.followers[next[earlier as usize] as usize] = later;
        next[earlier as usize] += 1;
    }
}

/// Checks that all nodes can come behind those that they wait for.
fn check_order(graph: &RankGraph) -> Result<(), ChakraFault> {
    let mut missing = graph.missing.clone();
    let mut ready: Vec<u32> =
        (0..).zip(&missing).filter(|(_, missing)| **missing == 0).map(|(at, _)| at).collect();
    let mut count = 0;
    while let Some(node) = ready.pop() {
        count += 1;
        for &later in graph.followers_of(node) {
            missing[later as usize] -= 1;
            if missing[later as usize] == 0 {
                ready.push(later);
            }
        }
    }
    if count == graph.nodes.len() {
        return Ok(());
    }
    let cycle = cycle(graph, &missing);
    let named: Vec<String> =
        cycle.iter().take(MAX_NAMED).map(|&at| graph.nodes[at as usize].id.to_string()).collect();
    let others = if cycle.len() > MAX_NAMED {
        format!(" and {} more", cycle.len() - MAX_NAMED)
    } else {
        String::new()
    };
    let reason = match named.as_slice() {
        [one] => format!("node {one} waits for itself"),
        _ => format!("nodes {}{others} wait for each other in a circle", named.join(", ")),
    };
    let byte = cycle.first().map_or(0, |&at| graph.nodes[at as usize].byte);
    Err(ChakraFault::at(ChakraFaultKind::Cycle, byte, reason))
}

/// Returns a circle among nodes that never become ready: the least id, then each behind the one that it
/// waits for.
fn cycle(graph: &RankGraph, missing: &[u32]) -> Vec<u32> {
    let mut earlier_of = vec![None; missing.len()];
    for earlier in (0..missing.len() as u32).filter(|&at| missing[at as usize] > 0) {
        for &later in graph.followers_of(earlier) {
            earlier_of[later as usize] = Some(earlier);
        }
    }
    let Some(first) = missing.iter().position(|&missing| missing > 0) else { return Vec::new() };
    let (mut at, mut position, mut path) = (first as u32, vec![usize::MAX; missing.len()], Vec::new());
    loop {
        if position[at as usize] != usize::MAX {
            let mut circle = path.split_off(position[at as usize]);
            circle.reverse();
            let least = (0..circle.len()).min_by_key(|&at| circle[at]).unwrap_or(0);
            circle.rotate_left(least);
            return circle;
        }
        position[at as usize] = path.len();
        path.push(at);
        match earlier_of[at as usize] {
            Some(earlier) => at = earlier,
            // A node that waits has one before it that waits.
            None => return path,
        }
    }
}
