//! Which endpoint each rank is on.

mod hosts;

pub(super) use hosts::PlacedHosts;

use super::MachineError;
use crate::divisor::Divisor;
use crate::message::Endpoint;
use std::path::PathBuf;

/// Rule for placing ranks on endpoints, as a user gives it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum PlacementRule {
    /// Rank r on endpoint r: the innermost level fills up first.
    #[default]
    Block,
    /// A rank at each place of the outermost level in turn (a node), then a second at each, and so on.
    RoundRobin,
    /// Nodes fill up in order; inside a node a rank at each place of the next level (a socket), then a
    /// second.
    Socket,
    /// A file with one endpoint number a line, line r for rank r; blank lines and `#` comments are skipped.
    File(PathBuf),
}

/// Sizes of the parts of a machine that ranks are placed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PlaceSizes {
    /// Endpoints of the machine.
    pub(crate) endpoints: u64,
    /// Endpoints of a node, a place of the outermost level.
    pub(crate) node: u32,
    /// Endpoints of a socket, a place of the level inside a node; `None` if nodes have fewer than two levels.
    pub(crate) socket: Option<u32>,
}

impl std::fmt::Display for PlacementRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PlacementRule::Block => f.write_str("block"),
            PlacementRule::RoundRobin => f.write_str("round-robin"),
            PlacementRule::Socket => f.write_str("socket"),
            PlacementRule::File(path) => path.display().fmt(f),
        }
    }
}

impl From<&str> for PlacementRule {
    /// `block` (or `slot`), `round-robin` (or `node`), `socket`, or else the path of a file.
    fn from(text: &str) -> PlacementRule {
        match text {
            "block" | "slot" => PlacementRule::Block,
            "round-robin" | "node" => PlacementRule::RoundRobin,
            "socket" => PlacementRule::Socket,
            path => PlacementRule::File(path.into()),
        }
    }
}

/// The endpoints of a run's ranks: free to ask for block placement.
#[derive(Clone, Debug)]
pub enum Placement {
    /// The identity.
    Block,
    /// Ranks dealt out to groups of endpoints in turn.
    Dealt(Dealt),
    /// An endpoint for each rank.
    Table(Box<[Endpoint]>),
}

/// Round-robin over `groups` groups of `size` endpoints.
#[derive(Clone, Copy, Debug)]
pub struct Dealt {
    groups: Divisor,
    size: u32,
}

impl Placement {
    /// Returns the endpoint of a rank below the number of ranks that the machine was built for.
    #[inline]
    pub fn endpoint(&self, rank: u32) -> Endpoint {
        match self {
            Placement::Block => Endpoint(rank),
            Placement::Dealt(dealt) => {
                let (slot, group) = dealt.groups.split(rank);
                Endpoint(group * dealt.size + slot)
            }
            Placement::Table(table) => table[rank as usize],
        }
    }
}

impl PlacementRule {
    /// Places `ranks` ranks on the endpoints of a machine.
    pub(crate) fn build(&self, ranks: u32, sizes: PlaceSizes) -> Result<Placement, MachineError> {
        let PlaceSizes { endpoints, node: group, .. } = sizes;
        match self {
            PlacementRule::Block => Ok(Placement::Block),
            PlacementRule::RoundRobin => match u32::try_from(endpoints / u64::from(group)) {
                Ok(groups) if group > 1 => {
                    Ok(Placement::Dealt(Dealt { groups: Divisor::new(groups), size: group }))
                }
                _ => Ok(Placement::Block),
            },
            PlacementRule::Socket => {
                let in_node = socket_index(sizes)?;
                let places = (0..ranks).map(|rank| rank / group * group + in_node(rank % group));
                Ok(Placement::Table(places.map(Endpoint).collect()))
            }
            PlacementRule::File(path) => {
                let text = engine::text::read(path, engine::text::LIST).map_err(|why| {
                    MachineError::new(format!(
                        "the placement file '{}' cannot be read: {why}",
                        path.display()
                    ))
                })?;
                table(&text, ranks, endpoints).map_err(|sentence| {
                    MachineError::new(format!("the placement file '{}' {sentence}", path.display()))
                })
            }
        }
    }
}

/// Returns the index in its node of a node's n-th rank, dealt over the node's sockets.
fn socket_index(sizes: PlaceSizes) -> Result<impl Fn(u32) -> u32, MachineError> {
    let socket = sizes.socket.ok_or_else(|| {
        MachineError::new(
            "the placement by socket needs two levels inside the nodes, such as /star:2/star:16 for two \
             sockets of 16 cores; add one, or place ranks by block or round-robin",
        )
    })?;
    let sockets = sizes.node / socket;
    Ok(move |index| index % sockets * socket + index / sockets)
}

/// Reads a placement file's text; the error continues "the placement file X ...".
fn table(text: &str, ranks: u32, endpoints: u64) -> Result<Placement, String> {
    let mut table = Vec::with_capacity(ranks as usize);
    let mut taken = std::collections::HashMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let endpoint = line
            .parse::<u32>()
            .map_err(|_| format!("has '{line}' in line {number}, which is not an endpoint number"))?;
        if u64::from(endpoint) >= endpoints {
            return Err(format!(
                "names endpoint {endpoint} in line {number}, but the network's endpoints are 0 to {}",
                endpoints - 1
            ));
        }
        if let Some(rank) = taken.insert(endpoint, table.len()) {
            return Err(format!(
                "gives endpoint {endpoint} to rank {rank} and again, in line {number}, to rank {}",
                table.len()
            ));
        }
        table.push(Endpoint(endpoint));
        if table.len() == ranks as usize {
            break;
        }
    }
    if table.len() < ranks as usize {
        return Err(format!(
            "has {} endpoints for {ranks} ranks; it needs one line for each rank",
            table.len()
        ));
    }
    Ok(Placement::Table(table.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(endpoints: u64, node: u32) -> PlaceSizes {
        PlaceSizes { endpoints, node, socket: None }
    }

    #[test]
    fn ranks_of_a_node_are_dealt_over_its_sockets() {
        let sizes = PlaceSizes { endpoints: 16, node: 8, socket: Some(4) };
        let placement = PlacementRule::Socket.build(10, sizes).unwrap();
        let endpoints: Vec<u32> = (0..10).map(|rank| placement.endpoint(rank).0).collect();
        assert_eq!(endpoints, [0, 4, 1, 5, 2, 6, 3, 7, 8, 12]);
        let error = PlacementRule::Socket.build(2, PlaceSizes { socket: None, ..sizes }).unwrap_err();
        assert!(error.to_string().contains("needs two levels inside the nodes"), "{error}");
    }

    #[test]
    fn block_is_the_identity() {
        let placement = PlacementRule::Block.build(8, sizes(8, 4)).unwrap();
        assert!((0..8).all(|r| placement.endpoint(r) == Endpoint(r)));
    }

    #[test]
    fn round_robin_deals_ranks_to_nodes() {
        let placement = PlacementRule::RoundRobin.build(8, sizes(12, 3)).unwrap();
        let endpoints: Vec<u32> = (0..8).map(|r| placement.endpoint(r).0).collect();
        assert_eq!(endpoints, [0, 3, 6, 9, 1, 4, 7, 10]);
    }

    #[test]
    fn round_robin_over_one_level_is_block() {
        assert!(matches!(PlacementRule::RoundRobin.build(8, sizes(8, 1)), Ok(Placement::Block)));
    }

    #[test]
    fn a_file_gives_each_rank_its_endpoint() {
        let placement = table("3\n\n# spare\n1 # the second\n0\n2\n", 3, 4).unwrap();
        assert_eq!([0, 1, 2].map(|r| placement.endpoint(r).0), [3, 1, 0]);
    }

    #[test]
    fn bad_files_say_what_is_wrong() {
        for (text, why) in [
            ("0\n1\n", "has 2 endpoints for 3 ranks"),
            ("0\nx\n1\n", "'x' in line 2"),
            ("0\n4\n1\n", "endpoint 4 in line 2, but the network's endpoints are 0 to 3"),
            ("0\n1\n0\n", "endpoint 0 to rank 0 and again, in line 3, to rank 2"),
            ("-1\n", "not an endpoint number"),
        ] {
            let error = table(text, 3, 4).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
