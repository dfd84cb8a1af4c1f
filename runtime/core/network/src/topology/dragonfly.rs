//! Dragonfly: fully connected groups of routers, groups joined by global links.

use super::{
    Cabled, Cabling, DetailLevel, KeyKind, LinkKind, Neighbor, OptionKey, Paths, Sizing, Topology,
    TopologyInput, Wrong, pick,
};
use crate::divisor::Divisor;

/// Kim, Dally, Scott and Abts, "Technology-driven, highly-scalable dragonfly topology" (ISCA 2008): `p`
/// endpoints, `a` routers a group and `h` global links a router, `g` groups of at most a*h + 1.
///
/// Ports of a router: a-1 local (the others of the group ascending), h global, p endpoints. Global links are
/// arranged by offset: the group's link number q(g-1) + t, q < floor(ah/(g-1)), leads to the t-th other
/// group; what does not divide stays unused.
pub(crate) struct Dragonfly {
    p: Divisor,
    a: Divisor,
    h: Divisor,
    g: u32,
    /// Links between each two groups.
    multiplicity: u32,
}

/// Index of global links among the kinds of links.
pub(crate) const GLOBAL: usize = 1;

impl Dragonfly {
    /// Makes a dragonfly of these values, all at least 1.
    pub(crate) fn new(p: u32, a: u32, h: u32, g: u32) -> Result<Dragonfly, String> {
        let links = u64::from(a) * u64::from(h);
        if u64::from(g) > links + 1 {
            return Err(format!(
                "a dragonfly with a={a} routers a group and h={h} global links a router reaches at most \
                 a*h+1 = {} groups, so g={g} leaves groups unreachable",
                links + 1
            ));
        }
        let ports = u64::from(a) * u64::from(g) * (u64::from(a) + u64::from(h) + u64::from(p));
        if ports >= 1 << 29 {
            return Err("this dragonfly needs more than 2^29 ports; make it smaller".to_owned());
        }
        let multiplicity = if g > 1 { links as u32 / (g - 1) } else { 0 };
        Ok(Dragonfly { p: Divisor::new(p), a: Divisor::new(a), h: Divisor::new(h), g, multiplicity })
    }

    /// Returns the router and port of `group`'s `copy`-th link to group `to`.
    fn gateway(&self, group: u32, to: u32, copy: u32) -> (u32, u32) {
        let link = copy * (self.g - 1) + to - u32::from(to > group);
        let (router, port) = self.h.split(link);
        (group * self.a.divisor() + router, self.a.divisor() - 1 + port)
    }

    /// Hops of the path that leaves `from`'s group by the `copy`-th link to `to`'s.
    fn links_by(&self, from: u32, to: u32, copy: u32) -> u32 {
        let (a, b) = (self.a.split(from).0, self.a.split(to).0);
        1 + u32::from(self.gateway(a, b, copy).0 != from) + u32::from(self.gateway(b, a, copy).0 != to)
    }

    /// Returns the port of `from`, which is in `group`, on the way to that group's `copy`-th link to group
    /// `to`.
    fn port_by(&self, from: u32, group: u32, to: u32, copy: u32) -> u32 {
        let (gateway, port) = self.gateway(group, to, copy);
        if gateway == from { port } else { self.local_port(from, gateway) }
    }

    fn local_port(&self, from: u32, to: u32) -> u32 {
        let ((_, x), (_, y)) = (self.a.split(from), self.a.split(to));
        y - u32::from(y > x)
    }
}

/// The keys of networks of groups.
pub(super) const GROUPED: &[OptionKey] = &[
    OptionKey::new("p", KeyKind::Number(1, u32::MAX), "endpoints of a router").required(),
    OptionKey::new("a", KeyKind::Number(1, u32::MAX), "routers of a group").required(),
    OptionKey::new("h", KeyKind::Number(1, u32::MAX), "global links of a router").required(),
    OptionKey::new("g", KeyKind::Number(1, u32::MAX), "groups, a*h+1 by default"),
    OptionKey::new("gl", KeyKind::Span, "latency of a global link, l by default").of_routers(),
    OptionKey::new("gb", KeyKind::Bandwidth, "bandwidth of a global link, b by default").of_routers(),
];

/// The routing of machines of groups: on minimal paths two groups share the few links between them, and an
/// all-to-all waits there.
pub(super) const GROUPED_ROUTING: &str = "ugal-l";

/// Reads the values of groups: p, a, h and g.
pub(super) fn groups(given: &TopologyInput<'_>) -> Result<(u32, u32, u32, u32), Wrong> {
    let [p, a, h] = ["p", "a", "h"].map(|key| given.options.required(key));
    let all = a
        .checked_mul(h)
        .and_then(|links| links.checked_add(1))
        .ok_or_else(|| given.options.wrong("a", "a*h is too large; make the groups smaller"))?;
    Ok((p, a, h, given.options.number("g", all)))
}

/// Returns the kinds of links of groups: in groups, and between them (`GLOBAL`).
pub(super) fn group_links(given: &TopologyInput<'_>) -> Vec<LinkKind> {
    let (l, b) = (given.link.latency, given.link.bandwidth);
    let global = LinkKind::new("global", given.options.span("gl", l), given.options.bandwidth("gb", b));
    vec![LinkKind::new("local", l, b), global]
}

impl Topology for Dragonfly {
    const NAME: &'static str = "dragonfly";
    const SUMMARY: &'static str = "fully connected groups of routers, joined by global links";
    const SIZING: Sizing = Sizing::Options;
    const KEYS: &'static [OptionKey] = GROUPED;
    const LEVEL: DetailLevel = DetailLevel::Packet;
    const ROUTING: &'static str = GROUPED_ROUTING;
    type Shape = Dragonfly;

    fn build(given: &TopologyInput<'_>) -> Result<Dragonfly, Wrong> {
        let (p, a, h, g) = groups(given)?;
        Ok(Dragonfly::new(p, a, h, g)?)
    }
    fn cable(given: &TopologyInput<'_>) -> Result<Cabled<Dragonfly>, Wrong> {
        Ok(Cabled::new(Dragonfly::build(given)?, given).with_links(group_links(given)).with_paths())
    }
}

impl Cabling for Dragonfly {
    fn describe(&self) -> String {
        format!("dragonfly p={} a={} h={} g={}", self.p.divisor(), self.a.divisor(), self.h.divisor(), self.g)
    }
    fn routers(&self) -> u32 {
        self.a.divisor() * self.g
    }
    fn endpoints(&self) -> u32 {
        self.routers() * self.p.divisor()
    }
    fn radix(&self) -> u32 {
        self.a.divisor() - 1 + self.h.divisor() + self.p.divisor()
    }
    fn neighbor(&self, router: u32, port: u32) -> Neighbor {
        let (group, x) = self.a.split(router);
        let locals = self.a.divisor() - 1;
        if port < locals {
            let y = port + u32::from(port >= x);
            return Neighbor::Router { router: router - x + y, port: x - u32::from(x > y) };
        }
        if port >= locals + self.h.divisor() {
            let index = port - locals - self.h.divisor();
            return if index < self.p.divisor() {
                Neighbor::Endpoint(router * self.p.divisor() + index)
            } else {
                Neighbor::Nothing
            };
        }
        let link = x * self.h.divisor() + port - locals;
        if link >= self.multiplicity * (self.g - 1) {
            return Neighbor::Nothing;
        }
        let (copy, t) = (link / (self.g - 1), link % (self.g - 1));
        let (router, port) = self.gateway(t + u32::from(t >= group), group, copy);
        Neighbor::Router { router, port }
    }
    fn attachment(&self, endpoint: u32) -> (u32, u32) {
        let (router, index) = self.p.split(endpoint);
        (router, self.a.divisor() - 1 + self.h.divisor() + index)
    }
    fn link(&self, _router: u32, port: u32) -> usize {
        let locals = self.a.divisor() - 1;
        if port >= locals && port < locals + self.h.divisor() { GLOBAL } else { 0 }
    }
    fn group(&self, router: u32) -> u32 {
        self.a.split(router).0
    }
    fn part(&self, router: u32, parts: u32) -> u32 {
        (u64::from(self.a.split(router).0) * u64::from(parts) / u64::from(self.g)) as u32
    }
}

impl Paths for Dragonfly {
    fn distance(&self, from: u32, to: u32) -> u32 {
        if from == to {
            return 0;
        }
        if self.a.split(from).0 == self.a.split(to).0 {
            return 1;
        }
        (0..self.multiplicity).map(|copy| self.links_by(from, to, copy)).min().unwrap_or(0)
    }
    fn diameter(&self) -> u32 {
        let local = u32::from(self.a.divisor() > 1);
        if self.g > 1 { 1 + 2 * local } else { local }
    }
    fn minimal_port(&self, from: u32, to: u32, hash: u32) -> u32 {
        let (group, other) = (self.a.split(from).0, self.a.split(to).0);
        if group == other {
            return self.local_port(from, to);
        }
        // One link between two groups, as in every full-sized dragonfly, leaves no choice to look for.
        if self.multiplicity == 1 {
            return self.port_by(from, group, other, 0);
        }
        let distance = self.distance(from, to);
        let shortest = |copy: &u32| self.links_by(from, to, *copy) == distance;
        let count = (0..self.multiplicity).filter(shortest).count() as u32;
        let copy =
            (0..self.multiplicity).filter(shortest).nth(pick(hash, distance, count) as usize).unwrap_or(0);
        self.port_by(from, group, other, copy)
    }
    fn detour_made(&self, router: u32, via: u32) -> bool {
        self.a.split(router).0 == self.a.split(via).0
    }
    fn detour_links(&self) -> u32 {
        // local, global, local, global, local: the detour ends where it enters the other group.
        if self.g > 1 { 5 } else { 2 }
    }
}
