//! Routers and the cables between them, as packets and flows take a topology.

use super::{LinkKind, TopologyInput};
use std::sync::Arc;

/// The other end of a port's cable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Neighbor {
    /// Another router, at its port.
    Router {
        /// Index of the router.
        router: u32,
        /// Index of the port at that router.
        port: u32,
    },
    /// An endpoint's network interface.
    Endpoint(u32),
    /// Nothing: the port is unused or its cable failed.
    Nothing,
}

/// See `Cabling::shared`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedRouters {
    /// The routers. No endpoint is cabled to them, all cables between threads lead to or from them, and a
    /// packet at them leaves by a port of the thread that has its destination.
    pub routers: std::ops::Range<u32>,
    /// The thread of each port, the same for all of them. Threads have endpoints in ascending order.
    pub owners: Vec<u8>,
}

/// Routers, endpoints and the cables between them. Every cable carries both directions.
pub trait Cabling: Send + Sync {
    /// Returns what it is and how large, for people.
    fn describe(&self) -> String;
    /// Returns how many routers.
    fn routers(&self) -> u32;
    /// Returns how many endpoints.
    fn endpoints(&self) -> u32;
    /// Returns the greatest number of ports of a router, endpoints' ports included.
    fn radix(&self) -> u32;
    /// Returns what is cabled to a port; `Nothing` for ports that a router does not have.
    fn neighbor(&self, router: u32, port: u32) -> Neighbor;
    /// Returns the router and port an endpoint is cabled to.
    fn attachment(&self, endpoint: u32) -> (u32, u32);
    /// Returns `true` if an endpoint works: nobody sends to one that does not, nor does it send.
    fn works(&self, _endpoint: u32) -> bool {
        true
    }
    /// Returns which of the kinds of links a router's port uses, 0 unless the topology distinguishes any.
    fn link(&self, _router: u32, _port: u32) -> usize {
        0
    }
    /// Returns the group of a router, where the topology has groups; else each router is one.
    fn group(&self, router: u32) -> u32 {
        router
    }
    /// Returns how many routers, in the order of their numbers, belong side by side in a picture: those of a
    /// group, where there are groups.
    fn row(&self) -> u32 {
        (0..self.routers()).take_while(|&router| self.group(router) == self.group(0)).count() as u32
    }
    /// Returns the first router of each level, from the endpoints up; nothing if there are no levels.
    fn levels(&self) -> Vec<u32> {
        Vec::new()
    }
    /// Routers that `parts` threads can share so that fewer packets go from thread to thread, and the thread
    /// that has each of their ports: that of the routers behind it. `part` does not matter for them.
    fn shared(&self, _parts: u32) -> Option<SharedRouters> {
        None
    }
    /// Returns which of `parts` threads simulates a router, so that few links are cut.
    fn part(&self, router: u32, parts: u32) -> u32 {
        (u64::from(router) * u64::from(parts) / u64::from(self.routers())) as u32
    }
}

/// Shortest paths, for the routings that work on any topology.
pub trait Paths: Cabling {
    /// Returns the fewest links from router to router.
    fn distance(&self, from: u32, to: u32) -> u32;
    /// Returns the greatest `distance` between two routers that have endpoints.
    fn diameter(&self) -> u32;
    /// Returns a first port of a shortest path, any of them chosen evenly by `hash`; `from` is not `to`.
    fn minimal_port(&self, from: u32, to: u32, hash: u32) -> u32 {
        let distance = self.distance(from, to);
        let nearer = |port: &u32| match self.neighbor(from, *port) {
            Neighbor::Router { router, .. } => self.distance(router, to) + 1 == distance,
            _ => false,
        };
        let count = (0..self.radix()).filter(nearer).count() as u32;
        let chosen = pick(hash, distance, count);
        (0..self.radix())
            .filter(nearer)
            .nth(chosen as usize)
            .expect("routers at a finite distance have a shortest path")
    }
    /// Returns `true` if a detour by router `via` has been made once a packet is at `router`.
    fn detour_made(&self, router: u32, via: u32) -> bool {
        router == via
    }
    /// Returns how many routers a detour may be made by.
    fn detours(&self) -> u32 {
        self.routers()
    }
    /// Returns the `index`-th router for detours.
    fn detour(&self, index: u32) -> u32 {
        index
    }
    /// Returns the most links a path with a detour passes.
    fn detour_links(&self) -> u32 {
        2 * self.diameter()
    }
}

/// A topology with what goes with it.
pub(crate) struct Cabled<T> {
    pub(crate) topology: Arc<T>,
    /// Shortest paths, if the topology computes them itself; else they are searched and kept in a table.
    pub(crate) paths: Option<Arc<dyn Paths>>,
    /// The kinds of links that `Cabling::link` counts.
    pub(crate) links: Vec<LinkKind>,
}

impl<T: Cabling + 'static> Cabled<T> {
    /// Builds it with one kind of link.
    pub(crate) fn new(topology: T, given: &TopologyInput<'_>) -> Cabled<T> {
        Cabled { topology: Arc::new(topology), paths: None, links: vec![given.link.clone()] }
    }

    /// Builds it with other kinds of links.
    pub(crate) fn with_links(self, links: Vec<LinkKind>) -> Cabled<T> {
        Cabled { links, ..self }
    }

    /// Builds it with its own shortest paths.
    pub(crate) fn with_paths(self) -> Cabled<T>
    where
        T: Paths,
    {
        Cabled { paths: Some(self.topology.clone()), ..self }
    }
}

/// Returns a number below `count`, evenly by `hash`, independent for different `step`s of one path: other
/// bits of the hash decide each.
#[inline]
pub(crate) fn pick(hash: u32, step: u32, count: u32) -> u32 {
    ((u64::from(hash.rotate_left(step.wrapping_mul(11))) * u64::from(count)) >> 32) as u32
}
