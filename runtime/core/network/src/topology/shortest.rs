//! Shortest paths on any cabling, from a table of distances.

use super::{Cabling, Neighbor, Paths};
use std::sync::Arc;

/// A topology with a table of the distance from every router to every router that has endpoints.
///
/// One byte an entry, so that 20,000 routers take at most 400 MB.
pub(crate) struct Shortest {
    inner: Arc<dyn Cabling>,
    /// Row of a destination router, `u32::MAX` where it has no endpoint that works.
    rows: Vec<u32>,
    /// Routers that have endpoints that work.
    homes: Vec<u32>,
    distances: Vec<u8>,
    diameter: u32,
    /// Ports that lead to routers, for each router: (port, neighbour).
    cables: Vec<Vec<(u16, u32)>>,
}

impl Shortest {
    /// Measures `inner`; the error is a sentence naming two endpoints that are not connected, or the memory
    /// needed.
    pub(crate) fn new(inner: Arc<dyn Cabling>) -> Result<Shortest, String> {
        let routers = inner.routers() as usize;
        let mut rows = vec![u32::MAX; routers];
        let mut homes = Vec::new();
        for endpoint in (0..inner.endpoints()).filter(|&endpoint| inner.works(endpoint)) {
            let (router, _) = inner.attachment(endpoint);
            if rows[router as usize] == u32::MAX {
                rows[router as usize] = homes.len() as u32;
                homes.push((router, endpoint));
            }
        }
        let bytes = homes.len() as u64 * routers as u64;
        if bytes > 4 << 30 {
            return Err(format!(
                "the table of distances between {routers} routers would need {:.1} GiB (limit 4 GiB); use a \
                 topology with computed routes or fewer routers",
                bytes as f64 / (1u64 << 30) as f64
            ));
        }
        let cables: Vec<Vec<(u16, u32)>> = (0..inner.routers())
            .map(|router| {
                let cable = |port| match inner.neighbor(router, port) {
                    Neighbor::Router { router, .. } => Some((port as u16, router)),
                    _ => None,
                };
                (0..inner.radix()).filter_map(cable).collect()
            })
            .collect();
        let routers_with_endpoints = homes.iter().map(|home| home.0).collect();
        let mut this = Shortest {
            inner,
            rows,
            homes: routers_with_endpoints,
            distances: vec![u8::MAX; bytes as usize],
            diameter: 0,
            cables,
        };
        let mut queue = Vec::with_capacity(routers);
        for (row, &(home, endpoint)) in homes.iter().enumerate() {
            this.measure(row * routers, home, &mut queue)?;
            if let Some(&(_, other)) =
                homes.iter().find(|(other, _)| this.distances[row * routers + *other as usize] == u8::MAX)
            {
                return Err(format!(
                    "there is no way from endpoint {other} to endpoint {endpoint}: the network is \
                     disconnected"
                ));
            }
            let farthest = homes
                .iter()
                .map(|(other, _)| this.distances[row * routers + *other as usize])
                .max()
                .unwrap_or(0);
            this.diameter = this.diameter.max(u32::from(farthest));
        }
        Ok(this)
    }

    /// Breadth first from `home` into the row that starts at `start`.
    fn measure(&mut self, start: usize, home: u32, queue: &mut Vec<u32>) -> Result<(), String> {
        queue.clear();
        queue.push(home);
        self.distances[start + home as usize] = 0;
        let mut next = 0;
        while next < queue.len() {
            let router = queue[next] as usize;
            next += 1;
            let farther = self.distances[start + router] + 1;
            for &(_, neighbor) in &self.cables[router] {
                let distance = &mut self.distances[start + neighbor as usize];
                if *distance == u8::MAX {
                    if farther > 250 {
                        return Err("paths of more than 250 links are not supported; add links".to_owned());
                    }
                    *distance = farther;
                    queue.push(neighbor);
                }
            }
        }
        Ok(())
    }
}

impl Cabling for Shortest {
    fn describe(&self) -> String {
        self.inner.describe()
    }
    fn routers(&self) -> u32 {
        self.inner.routers()
    }
    fn endpoints(&self) -> u32 {
        self.inner.endpoints()
    }
    fn radix(&self) -> u32 {
        self.inner.radix()
    }
    fn neighbor(&self, router: u32, port: u32) -> Neighbor {
        self.inner.neighbor(router, port)
    }
    fn attachment(&self, endpoint: u32) -> (u32, u32) {
        self.inner.attachment(endpoint)
    }
    fn works(&self, endpoint: u32) -> bool {
        self.inner.works(endpoint)
    }
    fn link(&self, router: u32, port: u32) -> usize {
        self.inner.link(router, port)
    }
    fn group(&self, router: u32) -> u32 {
        self.inner.group(router)
    }
    fn row(&self) -> u32 {
        self.inner.row()
    }
    fn levels(&self) -> Vec<u32> {
        self.inner.levels()
    }
    fn part(&self, router: u32, parts: u32) -> u32 {
        self.inner.part(router, parts)
    }
}

impl Paths for Shortest {
    /// `to` must have an endpoint.
    fn distance(&self, from: u32, to: u32) -> u32 {
        u32::from(self.distances[self.rows[to as usize] as usize * self.rows.len() + from as usize])
    }
    fn diameter(&self) -> u32 {
        self.diameter
    }
    fn detours(&self) -> u32 {
        self.homes.len() as u32
    }
    fn detour(&self, index: u32) -> u32 {
        self.homes[index as usize]
    }
    fn minimal_port(&self, from: u32, to: u32, hash: u32) -> u32 {
        let row = self.rows[to as usize] as usize * self.rows.len();
        let nearer = self.distances[row + from as usize] - 1;
        let is_nearer = |cable: &&(u16, u32)| self.distances[row + cable.1 as usize] == nearer;
        let cables = &self.cables[from as usize];
        let count = cables.iter().filter(is_nearer).count() as u32;
        let chosen = super::pick(hash, u32::from(nearer), count);
        cables.iter().filter(is_nearer).nth(chosen as usize).map_or(0, |cable| u32::from(cable.0))
    }
}
