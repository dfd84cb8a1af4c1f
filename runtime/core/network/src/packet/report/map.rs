//! A map of a network's load, for a picture: routers, or blocks of neighbouring ones where they are many,
//! what their links did and which ranks sit there.

use super::{LinkEnd, LinkReport, NetworkReport};
use crate::Endpoint;
use serde::Serialize;
use std::cmp::Reverse;

/// Cells at most.
// What a page of any network can draw, and a reader can tell apart.
const CELLS: u32 = 512;
/// Links that are told of by themselves.
const BUSIEST: usize = 20;

/// The routers of a network and the ranks at them.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct RouterMap {
    /// Routers of a cell; the last may have fewer.
    pub routers_per_cell: u32,
    /// Cells that belong side by side, as the routers of a group do.
    pub row: u32,
    /// First cell of each level of a tree, from the endpoints up; empty of a network without levels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<u32>,
    /// In the order of routers.
    pub cells: Vec<RouterCell>,
    /// The links that were busy longest, of equal ones those of the first routers.
    pub busiest: Vec<BusyLink>,
}

/// Some neighbouring routers. Shares are of the run's time.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct RouterCell {
    /// The first router and the last.
    pub routers: (u32, u32),
    /// Share of the time that the links out of them were busy, in the mean.
    pub use_mean: f64,
    /// The busiest link's.
    pub use_max: f64,
    /// Ranks whose endpoints are cabled to them.
    pub ranks: u32,
    /// The lowest and the highest of those ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between: Option<(u32, u32)>,
}

/// One direction of a cable.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BusyLink {
    /// The end that it leaves.
    pub from: String,
    /// The end that it leads to.
    pub to: String,
    /// The rank that sits at one of them; of several the lowest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Share of the time that it was busy.
    #[serde(rename = "use")]
    pub usage: f64,
    /// Nanoseconds that packets waited for it, summed.
    pub blocked_ns: f64,
}

impl NetworkReport {
    /// Adds where the load and so many ranks are, each of which has a place of the machine.
    pub fn with_ranks(mut self, ranks: u32, place: impl Fn(u32) -> Endpoint) -> NetworkReport {
        let endpoint = |rank| {
            let (node, index) = (place(rank).0 / self.places, place(rank).0 % self.places);
            match &self.rails {
                None => node,
                Some(rails) => rails.path((node, index), (node, index), self.places).0.0,
            }
        };
        let map = self.map(ranks, endpoint);
        self.map = map;
        self
    }

    /// Returns where the load lies, of so many ranks of which each is at an endpoint of the network. O(links
    /// + ranks).
    pub fn map(&self, ranks: u32, endpoint: impl Fn(u32) -> u32) -> RouterMap {
        let together = self.routers.div_ceil(CELLS).max(1);
        let (mut cells, levels) = self.cells(together);
        let mut counts = vec![0u32; cells.len()];
        let cell_of =
            |cells: &[RouterCell], router: u32| cells.partition_point(|cell| cell.routers.1 < router);
        // The router of each endpoint: that at the other end of its cable.
        let mut router_of = vec![u32::MAX; self.endpoints as usize];
        for link in &self.each_link {
            match (link.from, link.to) {
                (LinkEnd::Router(router, _), _) => {
                    let at = cell_of(&cells, router);
                    let (cell, count) = (&mut cells[at], &mut counts[at]);
                    cell.use_mean += link.usage;
                    cell.use_max = cell.use_max.max(link.usage);
                    *count += 1;
                }
                (LinkEnd::Endpoint(endpoint), LinkEnd::Router(router, _)) => {
                    router_of[endpoint as usize] = router
                }
                (LinkEnd::Endpoint(_), LinkEnd::Endpoint(_)) => {}
            }
        }
        cells.iter_mut().zip(counts).for_each(|(cell, count)| cell.use_mean /= f64::from(count.max(1)));
        let mut first_at = vec![None; router_of.len()];
        for rank in 0..ranks {
            let at = endpoint(rank) as usize;
            let Some(&router) = router_of.get(at).filter(|&&router| router != u32::MAX) else { continue };
            first_at[at].get_or_insert(rank);
            let at = cell_of(&cells, router);
            let cell = &mut cells[at];
            cell.ranks += 1;
            cell.between =
                Some(cell.between.map_or((rank, rank), |(first, last)| (first.min(rank), last.max(rank))));
        }
        let row = if self.row > 1 { self.row.div_ceil(together) } else { near_square(cells.len() as u32) };
        RouterMap {
            routers_per_cell: together,
            row,
            levels,
            cells,
            busiest: busiest(&self.each_link, &first_at),
        }
    }

    /// Returns idle cells of as many routers, and the first cell of each level: no cell has routers of two.
    fn cells(&self, together: u32) -> (Vec<RouterCell>, Vec<u32>) {
        let (mut cells, mut levels) = (Vec::new(), Vec::new());
        let starts = if self.levels.is_empty() { &[0][..] } else { &self.levels };
        let ends = starts.iter().skip(1).copied().chain([self.routers]);
        for (&start, end) in starts.iter().zip(ends) {
            levels.push(cells.len() as u32);
            cells.extend((start..end).step_by(together as usize).map(|first| RouterCell {
                routers: (first, (first + together).min(end) - 1),
                ..RouterCell::default()
            }));
        }
        if self.levels.is_empty() {
            levels.clear();
        }
        (cells, levels)
    }
}

fn busiest(links: &[LinkReport], first_at: &[Option<u32>]) -> Vec<BusyLink> {
    let mut used: Vec<&LinkReport> = links.iter().filter(|link| link.bytes > 0).collect();
    // By whole picoseconds and then by place: equal loads are common, and a picture should not depend on how
    // sorting treats them.
    used.sort_by_key(|link| (Reverse((link.busy_ns * 1000.0) as u64), link.from));
    let rank_at = |end: LinkEnd| match end {
        LinkEnd::Endpoint(endpoint) => first_at[endpoint as usize],
        LinkEnd::Router(..) => None,
    };
    let busy = |link: &&LinkReport| BusyLink {
        from: link.from.to_string(),
        to: link.to.to_string(),
        rank: rank_at(link.from).or_else(|| rank_at(link.to)),
        usage: link.usage,
        blocked_ns: link.blocked_ns,
    };
    used.iter().take(BUSIEST).map(busy).collect()
}

/// Returns the cells of a row where nothing says how they belong together. It is the smallest divisor of
/// their number that is no less than its root, if rows are no more than four times as long as there are rows
/// then. Else it is the root.
fn near_square(cells: u32) -> u32 {
    let root = (1..).find(|side| side * side >= cells).unwrap_or(1);
    (root..=2 * root).find(|side| cells.is_multiple_of(*side)).unwrap_or(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_about_as_many_as_they_are_long() {
        assert_eq!([1, 16, 20, 80, 81, 512, 13].map(near_square), [1, 4, 5, 10, 9, 32, 4]);
    }
}
