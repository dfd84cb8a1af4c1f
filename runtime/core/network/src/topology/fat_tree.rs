//! Fat trees: extended generalised fat trees, of which the m-port n-tree is one.

use super::options::joined;
use super::{
    Cabling, DetailLevel, HopStatistics, Hops, KeyKind, Method, Neighbor, OptionKey, Range, SharedRouters,
    Sizing, Topology, TopologyInput, Wrong,
};
use crate::divisor::Divisor;

/// Beyond so many switches dividing takes less time than a table that other data drive out of the cache.
const MAX_TABULATED_SWITCHES: u32 = 1024;

/// One level of switches, counted from 1 at the endpoints.
#[derive(Clone, Debug)]
struct SwitchLevel {
    /// Number of the level's first switch.
    base: u32,
    /// Children of a switch.
    down: u32,
    /// Parents of a switch; 0 at the top.
    up: u32,
    /// Switches that serve the same endpoints: product of the `up`s below.
    width: Divisor,
    /// Endpoints below a switch.
    reach: Divisor,
    /// Endpoints below one of its children.
    child_reach: Divisor,
    down_by: Divisor,
}

/// XGFT(n; m1..mn; 1, w2..wn) of Öhring, Ibel, Das and Kumar ("On generalized fat trees", IPPS 1995): a
/// switch of level i has m_i children and w_(i+1) parents. Ports: children first, then parents.
///
/// The m-port n-tree of Lin, Chung and Huang (IPDPS 2004), which FatTreeSim simulates, is
/// XGFT(n; m/2..m/2, m; 1, m/2..m/2): m(m/2)^(n-1) endpoints and (2n-1)(m/2)^(n-1) switches.
#[derive(Clone, Debug)]
pub(crate) struct FatTree {
    name: String,
    levels: Vec<SwitchLevel>,
    /// First switch of each level but the lowest.
    bases: Vec<u32>,
    /// Level and block of each switch, while all fit into the first-level cache.
    places: Vec<(u32, u32)>,
    endpoints: u32,
    routers: u32,
}

impl FatTree {
    /// `down[i]` children and `up[i]` parents of a switch of level i+1; `up` is one shorter.
    pub(crate) fn new(name: String, down: &[u32], up: &[u32]) -> Result<FatTree, String> {
        let product = |values: &[u32]| values.iter().try_fold(1u64, |a, &b| a.checked_mul(u64::from(b)));
        let too_large = || {
            format!(
                "a fat tree of this size has more than 2^29 endpoints or switches; make it smaller than \
                 {name}"
            )
        };
        let endpoints = product(down).filter(|&n| n < 1 << 29).ok_or_else(too_large)?;
        let mut levels = Vec::new();
        let mut base = 0u64;
        for i in 0..down.len() {
            let reach = product(&down[..=i]).ok_or_else(too_large)?;
            let width = product(&up[..i]).ok_or_else(too_large)?;
            let switches = (endpoints / reach)
                .checked_mul(width)
                .filter(|n| n + base < 1 << 29)
                .ok_or_else(too_large)?;
            levels.push(SwitchLevel {
                base: base as u32,
                down: down[i],
                up: up.get(i).copied().unwrap_or(0),
                width: Divisor::new(width as u32),
                reach: Divisor::new(reach as u32),
                child_reach: Divisor::new(reach as u32 / down[i]),
                down_by: Divisor::new(down[i]),
            });
            base += switches;
        }
        let bases = levels.iter().skip(1).map(|level| level.base).collect();
        let mut this = FatTree {
            name,
            levels,
            bases,
            places: Vec::new(),
            endpoints: endpoints as u32,
            routers: base as u32,
        };
        if this.routers <= MAX_TABULATED_SWITCHES {
            this.places = (0..this.routers)
                .map(|router| this.place(router))
                .map(|(level, block, _)| (level as u32, block))
                .collect();
        }
        Ok(this)
    }

    /// Returns the level (from 0 at the endpoints) of a switch, the block of endpoints that it serves, and
    /// which of those that serve it.
    #[inline(never)]
    fn place(&self, router: u32) -> (usize, u32, u32) {
        // Without branches, which would be guessed wrong.
        let level: usize = self.bases.iter().map(|&base| usize::from(router >= base)).sum();
        let (block, member) = self.levels[level].width.split(router - self.levels[level].base);
        (level, block, member)
    }

    /// Returns the way down to `endpoint` if it is below `router`, else the way up.
    #[inline(always)]
    pub(crate) fn way(&self, router: u32, endpoint: u32) -> TreePorts {
        let (level, block) = self.places.get(router as usize).copied().unwrap_or_else(|| {
            let (level, block, _) = self.place(router);
            (level as u32, block)
        });
        let here = &self.levels[level as usize];
        let (below, _) = here.reach.split(endpoint);
        if below != block {
            return TreePorts::Up { level, first: here.down, count: here.up };
        }
        let (child, _) = here.child_reach.split(endpoint);
        TreePorts::Down(here.down_by.split(child).1)
    }

    /// floor(d / (w1..wl)) mod w(l+1): the parent that D-mod-k gives a destination (Zahavi, "Fat-tree routing
    /// and node ordering providing contention free traffic for MPI global collectives", JPDC 72, 2012).
    #[inline]
    pub(crate) fn parent_by_destination(&self, level: u32, endpoint: u32) -> u32 {
        let here = &self.levels[level as usize];
        here.width.split(endpoint).0 % here.up
    }
}

/// Ports by which a packet in a fat tree can leave a router.
pub(crate) enum TreePorts {
    /// To this port, the only one.
    Down(u32),
    /// To any of `count` ports from `first`.
    Up {
        /// From 0 at the endpoints.
        level: u32,
        /// Port of the first parent.
        first: u32,
        /// Number of parents.
        count: u32,
    },
}

/// `fattree:m=4,n=3`.
pub(crate) struct MPortTree;

impl Topology for MPortTree {
    const NAME: &'static str = "fattree";
    const SUMMARY: &'static str = "a tree of switches with as many ports up as down";
    const SIZING: Sizing = Sizing::Options;
    const KEYS: &'static [OptionKey] = &[
        OptionKey::new("m", KeyKind::Number(1, u32::MAX), "ports of a switch").required(),
        OptionKey::new("n", KeyKind::Number(1, u32::MAX), "levels of switches").required(),
    ];
    const LEVEL: DetailLevel = DetailLevel::Packet;
    type Shape = FatTree;

    fn build(given: &TopologyInput<'_>) -> Result<FatTree, Wrong> {
        let (m, n) = (given.options.required("m"), given.options.required("n"));
        if m % 2 != 0 || m > 1 << 16 {
            let why = format!(
                "m={m} is impossible: half of a switch's ports go up, so m is even (and at most 65536)"
            );
            return Err(given.options.wrong("m", why));
        }
        if n > 16 {
            let why = format!("n={n} is too high a tree; take at most 16 levels");
            return Err(given.options.wrong("n", why));
        }
        let half = m / 2;
        let mut down = vec![half; n as usize];
        down[n as usize - 1] = m;
        let up = vec![half; n as usize - 1];
        Ok(FatTree::new(format!("{m}-port {n}-tree"), &down, &up)?)
    }
}

/// `taperedtree:down=16x8,up=4`.
pub(crate) struct TaperedTree;

impl Topology for TaperedTree {
    const NAME: &'static str = "taperedtree";
    const SUMMARY: &'static str = "a tree of switches with any numbers of children and parents";
    const SIZING: Sizing = Sizing::Options;
    const KEYS: &'static [OptionKey] = &[
        OptionKey::new("down", KeyKind::List, "children of a switch on each level from below").required(),
        OptionKey::new("up", KeyKind::List, "parents of a switch on each level but the top"),
    ];
    const LEVEL: DetailLevel = DetailLevel::Packet;
    type Shape = FatTree;

    fn build(given: &TopologyInput<'_>) -> Result<FatTree, Wrong> {
        let down = given.options.numbers("down");
        let up = if down.len() == 1 { &[] } else { given.options.numbers("up") };
        if up.is_empty() && down.len() > 1 {
            return Err("up= is missing: parents of a switch on each level but the top".to_owned().into());
        }
        if down.len() > 16 || up.len() + 1 != down.len() {
            let why = format!("down= has {} levels and up= {}; up= has one less", down.len(), up.len());
            return Err(given.options.wrong("up", why));
        }
        let name = format!("tapered tree of {} down, {} up", joined(down), joined(up));
        Ok(FatTree::new(name, down, up)?)
    }
}

/// The gateway is any top switch.
impl Hops for FatTree {
    fn endpoints(&self) -> u64 {
        u64::from(self.endpoints)
    }
    #[inline]
    fn hops(&self, source: u32, destination: u32) -> u32 {
        if source == destination {
            return 0;
        }
        let apart = |level: &&SwitchLevel| level.reach.split(source).0 != level.reach.split(destination).0;
        2 + 2 * self.levels.iter().take_while(apart).count() as u32
    }
    #[inline]
    fn hops_out(&self, _: u32) -> u32 {
        self.levels.len() as u32
    }
    #[inline]
    fn hops_in(&self, _: u32) -> u32 {
        self.levels.len() as u32
    }
    fn least_hops_out(&self) -> u32 {
        self.levels.len() as u32
    }
    fn nearest(&self, _: u32) -> u32 {
        // Switches with one child bring no endpoints together.
        2 + 2 * self.levels.iter().take_while(|level| level.reach.divisor() == 1).count() as u32
    }
    fn hop_bound(&self) -> u64 {
        2 * self.levels.len() as u64
    }
    fn links(&self) -> u64 {
        let above = |(below, level): (&SwitchLevel, &SwitchLevel)| {
            u64::from(level.base - below.base) * u64::from(below.up)
        };
        let up: u64 = self.levels.iter().zip(&self.levels[1..]).map(above).sum();
        u64::from(self.endpoints) + up
    }
    fn statistics(&self) -> HopStatistics {
        let n = u128::from(self.endpoints);
        // All subtrees are full, so that each endpoint sees the same distances.
        let (mut sum, mut closer, mut diameter) = (0u128, 1u128, 0);
        for (level, hops) in self.levels.iter().zip((2u32..).step_by(2)) {
            let within = u128::from(level.reach.divisor());
            sum += u128::from(hops) * (within - closer);
            diameter = if within > closer { hops } else { diameter };
            closer = within;
        }
        let top = Range::constant(self.levels.len() as u32);
        HopStatistics {
            diameter,
            average_hops: if n > 1 { sum as f64 / (n - 1) as f64 } else { 0.0 },
            to_gateway: top,
            from_gateway: top,
            method: Method::Exact,
            remark: None,
        }
    }
}

impl Cabling for FatTree {
    fn levels(&self) -> Vec<u32> {
        self.levels.iter().map(|level| level.base).collect()
    }

    fn describe(&self) -> String {
        self.name.clone()
    }
    fn routers(&self) -> u32 {
        self.routers
    }
    fn endpoints(&self) -> u32 {
        self.endpoints
    }
    fn radix(&self) -> u32 {
        self.levels.iter().map(|l| l.down + l.up).max().unwrap_or(0)
    }

    fn neighbor(&self, router: u32, port: u32) -> Neighbor {
        let (level, block, member) = self.place(router);
        let here = &self.levels[level];
        if port < here.down {
            let child = block * here.down + port;
            if level == 0 {
                return Neighbor::Endpoint(child);
            }
            let below = &self.levels[level - 1];
            let (child_member, parent) = (member / below.up, member % below.up);
            return Neighbor::Router {
                router: below.base + child * below.width.divisor() + child_member,
                port: below.down + parent,
            };
        }
        if port >= here.down + here.up {
            return Neighbor::Nothing;
        }
        let above = &self.levels[level + 1];
        let (parent_block, child) = above.down_by.split(block);
        let parent_member = member * here.up + (port - here.down);
        Neighbor::Router {
            router: above.base + parent_block * above.width.divisor() + parent_member,
            port: child,
        }
    }

    fn attachment(&self, endpoint: u32) -> (u32, u32) {
        self.levels[0].reach.split(endpoint)
    }

    /// The top switches' ports lie with what is below them: a packet changes threads once, if at all.
    fn shared(&self, parts: u32) -> Option<SharedRouters> {
        let (top, rest) = self.levels.split_last()?;
        if rest.is_empty() || parts > top.down {
            return None;
        }
        let owner = |port: u32| (u64::from(port) * u64::from(parts) / u64::from(top.down)) as u8;
        Some(SharedRouters {
            routers: top.base..self.routers,
            owners: (0..self.radix()).map(|port| owner(port.min(top.down - 1))).collect(),
        })
    }

    fn part(&self, router: u32, parts: u32) -> u32 {
        let (level, block, _) = self.place(router);
        let top = self.levels.len() - 1;
        let (index, count) = if level == top {
            (router - self.levels[top].base, self.routers - self.levels[top].base)
        } else {
            let below_top = self.levels[top].down;
            (block / (self.levels[top - 1].reach.divisor() / self.levels[level].reach.divisor()), below_top)
        };
        (u64::from(index) * u64::from(parts) / u64::from(count)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::super::OptionValue;
    use super::super::brute::{HopGraph, check};
    use super::*;

    /// Returns endpoints and switches as the cables join them; the gateway is the first top switch.
    fn graph(tree: &FatTree) -> HopGraph {
        let n = tree.endpoints as usize;
        let ends = |router: u32| (0..tree.radix()).map(move |port| (router, tree.neighbor(router, port)));
        let links = (0..tree.routers).flat_map(ends).filter_map(|(router, neighbor)| match neighbor {
            Neighbor::Endpoint(endpoint) => Some((endpoint as usize, n + router as usize)),
            Neighbor::Router { router: other, .. } if other > router => {
                Some((n + router as usize, n + other as usize))
            }
            _ => None,
        });
        let top = tree.levels.last().map_or(0, |level| level.base);
        HopGraph::undirected(n + tree.routers as usize, n + top as usize, links)
    }

    #[test]
    fn hops_are_shortest_paths_on_its_own_cables() {
        for (m, n) in [(2, 1), (2, 3), (4, 1), (4, 2), (4, 3), (6, 2)] {
            let options = [("m", OptionValue::Number(m)), ("n", OptionValue::Number(n))];
            let tree = TopologyInput::with(&[], &options, MPortTree::build);
            check(&tree, &graph(&tree), &format!("fattree:m={m},n={n}"));
        }
        for (down, up) in
            [(&[4, 3][..], &[2][..]), (&[3, 2, 4], &[2, 2]), (&[1, 5], &[1]), (&[3, 1, 2], &[1, 3])]
        {
            let options =
                [("down", OptionValue::Numbers(down.to_vec())), ("up", OptionValue::Numbers(up.to_vec()))];
            let tree = TopologyInput::with(&[], &options, TaperedTree::build);
            check(&tree, &graph(&tree), &format!("taperedtree:{down:?},{up:?}"));
        }
    }
}
