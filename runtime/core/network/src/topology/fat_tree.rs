//! Fat trees: extended generalised fat trees, of which the m-port n-tree is one.

use super::{Cabling, Neighbor, SharedRouters};
use crate::divisor::Divisor;
use crate::packet::spec::parameters::{KeyedValues, Wrong};
use crate::packet::spec::specified::{Cabled, Setting, Specified};

/// Beyond so many switches dividing takes less time than a table that other data drive out of the cache.
const MAX_TABULATED_SWITCHES: u32 = 1024;

/// One level of switches, counted from 1 at the endpoints.
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

impl Specified for MPortTree {
    const NAME: &'static str = "fattree";
    const KEYS: &'static [(&'static str, &'static str)] =
        &[("m", "ports of a switch"), ("n", "levels of switches")];
    const REQUIRED: &'static [&'static str] = &["m", "n"];
    type Shape = FatTree;

    fn cable(parameters: &KeyedValues, setting: &Setting) -> Result<Cabled<FatTree>, Wrong> {
        parameters.no_sides()?;
        let (m, n) =
            (parameters.required("m", "ports of a switch")?, parameters.required("n", "levels of switches")?);
        if m % 2 != 0 || m > 1 << 16 {
            return Err(parameters.wrong(
                "m",
                format!(
                    "m={m} is impossible: half of a switch's ports go up, so m is even (and at most 65536)"
                ),
            ));
        }
        if n > 16 {
            return Err(parameters.wrong("n", format!("n={n} is too high a tree; take at most 16 levels")));
        }
        let half = m / 2;
        let mut down = vec![half; n as usize];
        down[n as usize - 1] = m;
        let up = vec![half; n as usize - 1];
        Ok(Cabled::new(FatTree::new(format!("{m}-port {n}-tree"), &down, &up)?, setting))
    }
}

/// `taperedtree:down=16x8,up=4`.
pub(crate) struct TaperedTree;

impl Specified for TaperedTree {
    const NAME: &'static str = "taperedtree";
    const KEYS: &'static [(&'static str, &'static str)] = &[
        ("down", "children of a switch on each level from below"),
        ("up", "parents on each level but the top"),
    ];
    const REQUIRED: &'static [&'static str] = &["down"];
    type Shape = FatTree;

    fn cable(parameters: &KeyedValues, setting: &Setting) -> Result<Cabled<FatTree>, Wrong> {
        parameters.no_sides()?;
        let down = parameters.list("down", "children of a switch on each level from below")?;
        let up = if down.len() == 1 {
            Vec::new()
        } else {
            parameters.list("up", "parents of a switch on each level but the top")?
        };
        if down.len() > 16 || up.len() + 1 != down.len() {
            return Err(parameters.wrong(
                "up",
                format!("down= has {} levels and up= {}; up= has one less", down.len(), up.len()),
            ));
        }
        let text = |list: &[u32]| list.iter().map(u32::to_string).collect::<Vec<_>>().join("x");
        let name = format!("tapered tree of {} down, {} up", text(&down), text(&up));
        Ok(Cabled::new(FatTree::new(name, &down, &up)?, setting))
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
