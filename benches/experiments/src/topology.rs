//! The networks of the figures, as specifications for the simulator and as graphs.

/// The paper's topologies, each in its generic version.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PublishedTopology {
    /// Every endpoint on one hub.
    Star,
    /// A cycle with links both ways.
    Ring,
    /// A cycle with links upwards only.
    OneWayRing,
    /// Two dimensions.
    Mesh,
    /// Two dimensions, both joined at the ends.
    Torus,
    /// A torus of degree 1 and jumps of 1.
    Twisted,
    /// A binary tree whose leaves are the endpoints.
    Tree,
}

use PublishedTopology::{Mesh, OneWayRing, Ring, Star, Torus, Tree, Twisted};

/// All of them, in the order of the figures' legends.
pub const ALL: [PublishedTopology; 7] = [Star, Ring, OneWayRing, Mesh, Torus, Twisted, Tree];

/// A network of one topology: links that may be one way, endpoints first, routers behind them.
pub struct NetworkGraph {
    /// To whom each node has a link.
    pub links: Vec<Vec<usize>>,
    /// Nodes that are endpoints.
    pub endpoints: usize,
    /// The node at which messages enter and leave, if this is a level of a hierarchy.
    pub gateway: usize,
}

/// The sides of `n` endpoints (a power of two) in two dimensions, as near as can be: 128 is 8 by 16, as in
/// the paper.
pub fn sides(n: usize) -> (usize, usize) {
    let rows = 1 << (n.ilog2() / 2);
    (rows, n / rows)
}

impl PublishedTopology {
    /// Returns the name that the figures use.
    pub fn name(self) -> &'static str {
        match self {
            Star => "star",
            Ring => "ring",
            OneWayRing => "one-way ring",
            Mesh => "mesh",
            Torus => "torus",
            Twisted => "twisted torus",
            Tree => "tree",
        }
    }

    /// A level of this many endpoints as the simulator wants it, without link latency and bandwidth.
    pub fn specification(self, n: usize) -> String {
        let (rows, columns) = sides(n);
        match self {
            Star => format!("star:{n}"),
            Ring => format!("ring:{n},dir=2"),
            OneWayRing => format!("ring:{n},dir=1"),
            Mesh => format!("mesh:{rows}x{columns}"),
            Torus => format!("torus:{rows}x{columns}"),
            Twisted => format!("twisted:{rows}x{columns},degree=1,jump=1x1"),
            Tree => format!("tree:{n},degree=2"),
        }
    }

    /// The links of a network of this many endpoints, a power of two.
    pub fn graph(self, n: usize) -> NetworkGraph {
        match self {
            Star => both_ways(n, n + 1, n, (0..n).map(|leaf| (leaf, n))),
            Ring => both_ways(n, n, 0, cycle(n)),
            OneWayRing => one_way(n, n, 0, cycle(n)),
            Mesh => both_ways(n, n, 0, grid(n, |_, _| None)),
            Torus => both_ways(n, n, 0, grid(n, |_, _| Some((0, 0)))),
            Twisted => both_ways(n, n, 0, grid(n, |rows, columns| Some((1 % rows, 1 % columns)))),
            Tree => tree(n),
        }
    }
}

fn cycle(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).filter(move |_| n > 1).map(move |at| (at, (at + 1) % n))
}

/// Links between neighbours in two dimensions. With a shift, the links that leave a dimension's last place
/// upwards arrive at its first one, shifted in the other dimension: `shift` answers the shifts of rows and of
/// columns.
fn grid(n: usize, shift: fn(usize, usize) -> Option<(usize, usize)>) -> impl Iterator<Item = (usize, usize)> {
    let (rows, columns) = sides(n);
    let at = move |row: usize, column: usize| row % rows * columns + column % columns;
    (0..n).flat_map(move |node| {
        let (row, column) = (node / columns, node % columns);
        let shifts = shift(rows, columns);
        let right = if column + 1 < columns {
            Some(at(row, column + 1))
        } else {
            shifts.map(|(rows, _)| at(row + rows, 0))
        };
        let down = if row + 1 < rows {
            Some(at(row + 1, column))
        } else {
            shifts.map(|(_, columns)| at(0, column + columns))
        };
        [right, down].into_iter().flatten().map(move |to| (node, to))
    })
}

/// Leaves 0 to n - 1; the routers of each height behind those of the height below.
fn tree(n: usize) -> NetworkGraph {
    let (mut links, mut first, mut width, mut nodes) = (Vec::new(), 0, n, n);
    while width > 1 {
        links.extend((0..width).map(|child| (first + child, nodes + child / 2)));
        (first, width) = (nodes, width.div_ceil(2));
        nodes += width;
    }
    both_ways(n, nodes, nodes - 1, links.into_iter())
}

fn one_way(
    endpoints: usize,
    nodes: usize,
    gateway: usize,
    pairs: impl Iterator<Item = (usize, usize)>,
) -> NetworkGraph {
    let mut links = vec![Vec::new(); nodes];
    for (from, to) in pairs {
        links[from].push(to);
    }
    NetworkGraph { links, endpoints, gateway }
}

fn both_ways(
    endpoints: usize,
    nodes: usize,
    gateway: usize,
    pairs: impl Iterator<Item = (usize, usize)>,
) -> NetworkGraph {
    one_way(endpoints, nodes, gateway, pairs.flat_map(|(a, b)| [(a, b), (b, a)]))
}
