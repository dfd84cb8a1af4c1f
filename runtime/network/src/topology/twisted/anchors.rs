//! Exact distances in a twisted torus of any size, one pair at a time.
//!
//! A path is a sequence of wrapping links with walks inside the box between them, and a walk is as long as
//! its ends' coordinates differ. So what a prefix of a path can reach is described by *anchors*: an
//! endpoint and the hops to it, from which every other endpoint is a walk away. Crossing a seam takes an
//! anchor to at most two others: dimension k must be walked to its seam, and the shift of the target dimension
//! cuts that in two pieces, each of which moves as a whole: the anchor's own piece with the anchor in it, the
//! other piece entered at its nearest end. All other walking can be left for later. A shortest
//! path is therefore a shortest path over anchors plus a last walk, found by A* over the few anchors
//! that exist instead of all endpoints.

use super::lattice::{Lattice, Place, Way, mesh_distance};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a search needs, kept from one to the next.
#[derive(Default)]
struct Scratch {
    /// (bound of the whole path, hops so far, endpoint), least first.
    open: BinaryHeap<Reverse<(u32, u32, u32)>>,
    /// The fewest hops to an anchor found so far.
    hops: FxHashMap<u32, u32>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// The hops of a shortest path.
pub(super) fn distance(lattice: &Lattice, source: u32, destination: u32) -> u32 {
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.open.clear();
        scratch.hops.clear();
        let bound = Bound::new(lattice, lattice.place(destination));
        Search { lattice, bound, best: u32::MAX, scratch }.run(source)
    })
}

struct Search<'a> {
    lattice: &'a Lattice,
    bound: Bound<'a>,
    best: u32,
    scratch: &'a mut Scratch,
}

impl Search<'_> {
    fn run(mut self, source: u32) -> u32 {
        self.reach(self.lattice.place(source), 0);
        while let Some(Reverse((least, hops, endpoint))) = self.scratch.open.pop() {
            if least >= self.best {
                break;
            }
            if self.scratch.hops[&endpoint] < hops {
                continue;
            }
            let place = self.lattice.place(endpoint);
            for k in 0..self.lattice.dimensions.len() {
                if self.lattice.dimensions[k].wrap {
                    self.cross(&place, hops, k, Way::Up);
                    self.cross(&place, hops, k, Way::Down);
                }
            }
        }
        self.best
    }

    /// Notes an anchor, unless it was reached as soon before or cannot lead to a shorter path.
    fn reach(&mut self, place: Place, hops: u32) {
        self.best = self.best.min(hops + mesh_distance(&place, &self.bound.destination));
        let least = hops + self.bound.least(&place);
        if least >= self.best {
            return;
        }
        let endpoint = self.lattice.endpoint(&place);
        let known = self.scratch.hops.entry(endpoint).or_insert(u32::MAX);
        if hops < *known {
            *known = hops;
            self.scratch.open.push(Reverse((least, hops, endpoint)));
        }
    }

    /// The anchors beyond the seam of dimension `k`.
    fn cross(&mut self, place: &Place, hops: u32, k: usize, way: Way) {
        let seam = self.lattice.seam(k, way);
        let hops = hops + place[k].abs_diff(seam) + 1;
        let mut at = *place;
        at[k] = seam;
        let mut next = at;
        self.lattice.cross(k, way, &mut next);
        self.reach(next, hops);
        let target = self.lattice.dimensions[k].target;
        let shift = self.lattice.shift(k, way);
        if target == k || shift == 0 {
            return;
        }
        // Places from `cut` on come out at the low end, those below it at the high end.
        let cut = self.lattice.dimensions[target].side - shift;
        let entry = if at[target] < cut { cut } else { cut - 1 };
        let hops = hops + at[target].abs_diff(entry);
        at[target] = entry;
        self.lattice.cross(k, way, &mut at);
        self.reach(at, hops);
    }
}

/// A lower bound on the hops that are left, which one hop lowers by at most one.
struct Bound<'a> {
    lattice: &'a Lattice,
    destination: Place,
    /// Whether a dimension can only be walked.
    straight: [bool; super::lattice::MOST_DIMENSIONS],
    /// How far round the other dimensions a hop leads at most, added over them.
    stride: u32,
}

impl Bound<'_> {
    fn new(lattice: &Lattice, destination: Place) -> Bound<'_> {
        let mut straight = [true; super::lattice::MOST_DIMENSIONS];
        let mut stride = 1;
        for (k, dimension) in lattice.dimensions.iter().enumerate().filter(|(_, dimension)| dimension.wrap) {
            straight[k] = false;
            if dimension.jump != 0 {
                straight[dimension.target] = false;
                let around = dimension.jump.min(lattice.dimensions[dimension.target].side - dimension.jump);
                stride = stride.max(1 + around);
            }
        }
        Bound { lattice, destination, straight, stride }
    }

    fn least(&self, place: &Place) -> u32 {
        let (mut walked, mut around) = (0, 0);
        for (k, dimension) in self.lattice.dimensions.iter().enumerate() {
            let apart = place[k].abs_diff(self.destination[k]);
            if self.straight[k] {
                walked += apart;
            } else {
                around += apart.min(dimension.side - apart);
            }
        }
        walked + around.div_ceil(self.stride)
    }
}
