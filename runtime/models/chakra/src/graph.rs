//! The graphs of all ranks, and the collectives that join them.

use crate::fault::{ChakraFault, ChakraFaultKind};
use crate::groups::ProcessGroups;
use crate::rank::{MAX_NODES, RankGraph};
use rustc_hash::FxHashMap;
use schedule::{Kind, Shape};
use std::rc::Rc;

/// Name of the process group of all ranks, unless the trace defines it.
const DEFAULT_GROUP: &str = "0";
/// Largest sum of the blocks of a collective, in bytes.
const MAX_COLLECTIVE_BYTES: u64 = 1 << 62;
/// Bytes of the elements of reductions, where sizes are multiples.
const ELEMENT_BYTES: u64 = 4;

/// A collective with all its members.
#[derive(Clone, Debug)]
pub struct GroupCollective {
    /// Operation, size and root.
    pub shape: Shape,
    /// Ranks of the members.
    pub members: Rc<[u32]>,
    /// Node of each member among its rank's.
    pub nodes: Vec<u32>,
}

/// The graphs of all ranks.
#[derive(Clone, Default, Debug)]
pub struct ChakraGraph {
    /// The ranks.
    pub ranks: Vec<RankGraph>,
    /// The collectives.
    pub collectives: Vec<GroupCollective>,
    /// Number of each rank's collectives among all, and of its member: by rank and number.
    pub calls: Vec<Vec<(u32, u32)>>,
}

impl ChakraGraph {
    /// Joins the graphs of all ranks. The collectives of a process group match in the order of their ids.
    ///
    /// # Errors
    /// Members of a group that have different collectives; groups that do not exist.
    pub fn new(ranks: Vec<RankGraph>, groups: &ProcessGroups) -> Result<ChakraGraph, ChakraFault> {
        let total = |of: fn(&RankGraph) -> usize| ranks.iter().map(|rank| of(rank) as u64).sum::<u64>();
        if total(|rank| rank.nodes.len()).max(total(|rank| rank.followers.len())) > MAX_NODES {
            let reason = format!("more than {MAX_NODES} nodes or dependencies of all ranks are too many");
            return Err(ChakraFault::of(ChakraFaultKind::Size, reason));
        }
        let mut graph = ChakraGraph::default();
        let mut gathered = Gathered::default();
        for (rank, number) in ranks.iter().zip(0..) {
            graph.calls.push(vec![(0, 0); rank.collectives.len()]);
            gathered.add(rank, number, ranks.len() as u32, groups)?;
        }
        for ((name, members), lists) in gathered.keys.into_iter().zip(gathered.lists) {
            join(&mut graph, &ranks, (&name, members), lists)?;
        }
        graph.ranks = ranks;
        Ok(graph)
    }
}

/// Name of a group, and its ranks.
type GroupKey = (String, Rc<[u32]>);

/// Collectives of each group: for each member the numbers among its rank's.
#[derive(Default)]
struct Gathered {
    numbers: FxHashMap<GroupKey, usize>,
    /// Numbers of groups of all ranks, by name.
    whole: FxHashMap<String, usize>,
    keys: Vec<GroupKey>,
    lists: Vec<Vec<Vec<u32>>>,
}

impl Gathered {
    /// Adds the collectives of a rank.
    fn add(
        &mut self,
        graph: &RankGraph,
        rank: u32,
        ranks: u32,
        groups: &ProcessGroups,
    ) -> Result<(), ChakraFault> {
        // The number of each group that the rank has met, and the rank's member in it.
        let mut met: FxHashMap<Option<&str>, (usize, usize)> = FxHashMap::default();
        for (collective, at) in graph.collectives.iter().zip(0..) {
            let name = collective.group.as_deref();
            let (group, member) = match met.get(&name) {
                Some(&found) => found,
                None => {
                    let node = &graph.nodes[collective.node as usize];
                    let found = self.group(name, graph, (rank, ranks), groups).map_err(|reason| {
                        let reason = format!("node {}: {reason}", node.id);
                        ChakraFault::at(ChakraFaultKind::Group, node.byte, reason).in_file(&graph.file)
                    })?;
                    met.insert(name, found);
                    found
                }
            };
            self.lists[group][member].push(at);
        }
        Ok(())
    }

    /// Returns the number of a group, and a rank's member in it.
    fn group(
        &mut self,
        name: Option<&str>,
        graph: &RankGraph,
        (rank, ranks): (u32, u32),
        groups: &ProcessGroups,
    ) -> Result<(usize, usize), String> {
        let defined = name.and_then(|name| groups.get(name).or_else(|| graph.groups.get(name)));
        let shown = name.unwrap_or(DEFAULT_GROUP);
        let members: Rc<[u32]> = match (defined, name) {
            (Some(list), _) if !list.is_empty() => list.as_slice().into(),
            (Some(_), _) | (None, None | Some(DEFAULT_GROUP)) => {
                // Listed once: a list for each rank would be the square of the ranks.
                let number = match self.whole.get(shown) {
                    Some(&number) => number,
                    None => self.number((shown.to_owned(), (0..ranks).collect())),
                };
                self.whole.insert(shown.to_owned(), number);
                return Ok((number, rank as usize));
            }
            (None, Some(name)) => {
                return Err(format!(
                    "process group {name} is not defined, by metadata (process_group:init) or a file \
                     (--groups)"
                ));
            }
        };
        if let Some(beyond) = members.iter().find(|&&member| member >= ranks) {
            return Err(format!(
                "process group {shown} has rank {beyond}; the trace has ranks 0 to {}",
                ranks - 1
            ));
        }
        let mut sorted = members.to_vec();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("process group {shown} has rank {} twice", pair[0]));
        }
        let Some(member) = members.iter().position(|&member| member == rank) else {
            return Err(format!("rank {rank} is not in process group {shown}"));
        };
        Ok((self.number((shown.to_owned(), members)), member))
    }

    /// Returns the number of a group.
    fn number(&mut self, key: GroupKey) -> usize {
        if let Some(&number) = self.numbers.get(&key) {
            return number;
        }
        let number = self.keys.len();
        self.lists.push(vec![Vec::new(); key.1.len()]);
        self.keys.push(key.clone());
        self.numbers.insert(key, number);
        number
    }
}

/// Joins the collectives of a group.
fn join(
    graph: &mut ChakraGraph,
    ranks: &[RankGraph],
    (name, members): (&str, Rc<[u32]>),
    lists: Vec<Vec<u32>>,
) -> Result<(), ChakraFault> {
    let of = |member: usize, number: u32| {
        let rank = &ranks[members[member] as usize];
        let collective = &rank.collectives[number as usize];
        (collective, &rank.nodes[collective.node as usize], &rank.file)
    };
    let longest = (0..lists.len()).max_by_key(|&member| (lists[member].len(), std::cmp::Reverse(member)));
    let Some(longest) = longest else { return Ok(()) };
    for (at, &number) in lists[longest].iter().enumerate() {
        let (first, node, file) = of(longest, number);
        let mut nodes = Vec::with_capacity(members.len());
        let mut root = None;
        for (member, list) in lists.iter().enumerate() {
            let differs = |reason: String| {
                Err(ChakraFault::at(ChakraFaultKind::Collectives, node.byte, reason).in_file(file))
            };
            let what = format!(
                "node {} is collective {} of process group {name}, {} of {} bytes",
                node.id,
                at + 1,
                first.kind.name(),
                first.bytes
            );
            let rank = members[member];
            let Some(&other) = list.get(at) else {
                return differs(format!("{what}, and rank {rank} has {} collectives of it", list.len()));
            };
            let (other, other_node, _) = of(member, other);
            if (other.kind, other.bytes) != (first.kind, first.bytes) {
                return differs(format!(
                    "{what}, and rank {rank}'s (node {}, byte {}) is {} of {} bytes",
                    other_node.id,
                    other_node.byte,
                    other.kind.name(),
                    other.bytes
                ));
            }
            if let (Some(one), Some(another)) = (root, other.root)
                && one != another
            {
                return differs(format!(
                    "{what}, with root {one} on some ranks and {another} on rank {rank}"
                ));
            }
            root = root.or(other.root);
            graph.calls[rank as usize][list[at] as usize] = (graph.collectives.len() as u32, member as u32);
            nodes.push(other.node);
        }
        let root = match root {
            None => 0,
            Some(root) => members.iter().position(|&member| member == root).ok_or_else(|| {
                let reason =
                    format!("node {} has root {root}, which is not in process group {name}", node.id);
                ChakraFault::at(ChakraFaultKind::Group, node.byte, reason).in_file(file)
            })?,
        };
        let shape = shape(first.kind, first.bytes, members.len() as u32, root as u32).ok_or_else(|| {
            let reason = format!("node {} moves more than 2^62 bytes in all", node.id);
            ChakraFault::at(ChakraFaultKind::Size, node.byte, reason).in_file(file)
        })?;
        graph.collectives.push(GroupCollective { shape, members: members.clone(), nodes });
    }
    Ok(())
}

/// Returns the shape of a collective to which each member gives so many bytes; `None` if it is too large.
/// Blocks of what is spread over members are rounded up.
fn shape(kind: Kind, input: u64, size: u32, root: u32) -> Option<Shape> {
    let block = match kind {
        Kind::Scatter | Kind::Alltoall | Kind::ReduceScatter => input.div_ceil(size.into()),
        _ => input,
    };
    let bytes = if kind == Kind::ReduceScatter { block.checked_mul(size.into())? } else { block };
    bytes.checked_mul(size.into()).filter(|&all| all <= MAX_COLLECTIVE_BYTES)?;
    let reduces = matches!(kind, Kind::Reduce | Kind::Allreduce | Kind::ReduceScatter);
    let element = if reduces && block.is_multiple_of(ELEMENT_BYTES) { ELEMENT_BYTES } else { 1 };
    Some(Shape { root, ..Shape::regular(kind, size, bytes, element) })
}
