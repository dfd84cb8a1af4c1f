//! Dragonfly plus: groups that are two-level trees, joined by global links of their spines.

use super::dragonfly::{GLOBAL, GROUPED, GROUPED_ROUTING, group_links, groups};
use super::{Cabled, Cabling, DetailLevel, Neighbor, OptionKey, Sizing, Topology, TopologyInput, Wrong};

/// Shpiner, Haramaty, Eliad, Zdornov, Gafni and Zahavi, "Dragonfly+: low cost topology for scaling
/// datacenters" (HiPINEB 2017). Each of `g` groups has `a` leaf routers with `p` endpoints, each cabled to
/// all `a` spine routers, which have `h` global links.
///
/// Routers of a group: leaves, then spines. Ports of a leaf: a spines, p endpoints; of a spine: a leaves, h
/// global links, arranged as in [`super::dragonfly`].
pub(crate) struct DragonflyPlus {
    p: u32,
    a: u32,
    h: u32,
    g: u32,
    multiplicity: u32,
}

impl DragonflyPlus {
    /// Makes a dragonfly+ of these values, all at least 1.
    pub(crate) fn new(p: u32, a: u32, h: u32, g: u32) -> Result<DragonflyPlus, String> {
        let links = u64::from(a) * u64::from(h);
        if u64::from(g) > links + 1 {
            return Err(format!(
                "a dragonfly plus with a={a} spines a group and h={h} global links a spine reaches at most \
                 a*h+1 = {} groups, so g={g} leaves groups unreachable",
                links + 1
            ));
        }
        if 2 * u64::from(a) * u64::from(g) * (u64::from(a) + u64::from(h.max(p))) >= 1 << 29 {
            return Err("this dragonfly plus needs more than 2^29 ports; make it smaller".to_owned());
        }
        Ok(DragonflyPlus { p, a, h, g, multiplicity: if g > 1 { links as u32 / (g - 1) } else { 0 } })
    }
}

impl Topology for DragonflyPlus {
    const NAME: &'static str = "dragonflyplus";
    const SUMMARY: &'static str =
        "groups that are trees of two levels, joined by global links of their spines";
    const SIZING: Sizing = Sizing::Options;
    const KEYS: &'static [OptionKey] = GROUPED;
    const LEVEL: DetailLevel = DetailLevel::Packet;
    const ROUTING: &'static str = GROUPED_ROUTING;
    type Shape = DragonflyPlus;

    fn build(given: &TopologyInput<'_>) -> Result<DragonflyPlus, Wrong> {
        let (p, a, h, g) = groups(given)?;
        Ok(DragonflyPlus::new(p, a, h, g)?)
    }
    fn cable(given: &TopologyInput<'_>) -> Result<Cabled<DragonflyPlus>, Wrong> {
        Ok(Cabled::new(DragonflyPlus::build(given)?, given).with_links(group_links(given)))
    }
}

impl Cabling for DragonflyPlus {
    fn describe(&self) -> String {
        format!("dragonfly plus p={} a={} h={} g={}", self.p, self.a, self.h, self.g)
    }
    fn routers(&self) -> u32 {
        2 * self.a * self.g
    }
    fn endpoints(&self) -> u32 {
        self.a * self.g * self.p
    }
    fn radix(&self) -> u32 {
        self.a + self.h.max(self.p)
    }
    fn neighbor(&self, router: u32, port: u32) -> Neighbor {
        let (group, x) = (router / (2 * self.a), router % (2 * self.a));
        let first = group * 2 * self.a;
        let is_leaf = x < self.a;
        if port < self.a {
            return Neighbor::Router {
                router: first + port + if is_leaf { self.a } else { 0 },
                port: x % self.a,
            };
        }
        let index = port - self.a;
        if is_leaf {
            return if index < self.p {
                Neighbor::Endpoint((group * self.a + x) * self.p + index)
            } else {
                Neighbor::Nothing
            };
        }
        let link = (x - self.a) * self.h + index;
        if index >= self.h || link >= self.multiplicity * (self.g - 1) {
            return Neighbor::Nothing;
        }
        let (copy, t) = (link / (self.g - 1), link % (self.g - 1));
        let to = t + u32::from(t >= group);
        let back = copy * (self.g - 1) + group - u32::from(group > to);
        Neighbor::Router { router: to * 2 * self.a + self.a + back / self.h, port: self.a + back % self.h }
    }
    fn attachment(&self, endpoint: u32) -> (u32, u32) {
        let (leaf, index) = (endpoint / self.p, endpoint % self.p);
        (leaf / self.a * 2 * self.a + leaf % self.a, self.a + index)
    }
    fn link(&self, router: u32, port: u32) -> usize {
        if router % (2 * self.a) >= self.a && port >= self.a { GLOBAL } else { 0 }
    }
    fn group(&self, router: u32) -> u32 {
        router / (2 * self.a)
    }
    fn part(&self, router: u32, parts: u32) -> u32 {
        (u64::from(router / (2 * self.a)) * u64::from(parts) / u64::from(self.g)) as u32
    }
}
