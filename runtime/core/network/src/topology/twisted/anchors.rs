//! Exact distances in a twisted torus of any size, one pair at a time.
//!
//! A path is a sequence of wrapping links with walks inside the box between them, and a walk is as long as
//! its ends' coordinates differ. So what a prefix of a path can reach is described by *anchors*: an endpoint
//! and the hops to it, from which every other endpoint is a walk away.
//!
//! Crossing a seam takes an anchor to at most two others. Dimension k must be walked to its seam, and the
//! shift of the target dimension cuts that in two pieces, each of which moves as a whole. The anchor's own
//! piece moves with the anchor in it, the other piece is entered at its nearest end. All other walking can be
//! left for later.
//!
//! A shortest path is therefore a shortest path over anchors plus a last walk, found by A* over the few
//! anchors that exist instead of all endpoints.

use super::lattice::{self, Lattice, LatticeDimension};
use super::oracle::{DistanceBound, Oracle};
use crate::divisor::Divisor;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Working memory of a search, kept for the next.
#[derive(Default)]
struct SearchScratch {
    /// (bound of the whole path, hops so far, endpoint), least first.
    open: BinaryHeap<Reverse<(u32, u32, u32)>>,
    /// The fewest hops to an anchor found so far.
    hops: FxHashMap<u32, u32>,
}

thread_local! {
    static SCRATCH: RefCell<SearchScratch> = RefCell::default();
}

/// Returns the hops of a shortest path.
pub(super) fn distance(lattice: &Lattice, oracle: Option<&Oracle>, source: u32, destination: u32) -> u32 {
    // One instance for each number of dimensions, so that loops over them unroll.
    match lattice.dimensions.len() {
        1 => search::<1>(lattice, oracle, source, destination),
        2 => search::<2>(lattice, oracle, source, destination),
        3 => search::<3>(lattice, oracle, source, destination),
        4 => search::<4>(lattice, oracle, source, destination),
        5 => search::<5>(lattice, oracle, source, destination),
        6 => search::<6>(lattice, oracle, source, destination),
        7 => search::<7>(lattice, oracle, source, destination),
        _ => search::<8>(lattice, oracle, source, destination),
    }
}

fn search<const D: usize>(lattice: &Lattice, oracle: Option<&Oracle>, source: u32, destination: u32) -> u32 {
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.open.clear();
        scratch.hops.clear();
        let dimensions: &[LatticeDimension; D] =
            lattice.dimensions[..].try_into().expect("as many as matched");
        let bound = Bound::new(dimensions, lattice.place::<D>(destination));
        let oracle = oracle.map(|oracle| (oracle, destination));
        AnchorSearch { dimensions, bound, oracle, best: u32::MAX, scratch }.run(lattice.place::<D>(source))
    })
}

struct AnchorSearch<'a, const D: usize> {
    dimensions: &'a [LatticeDimension; D],
    bound: Bound<D>,
    /// Tables that know more of the way to the destination.
    oracle: Option<(&'a Oracle, u32)>,
    best: u32,
    scratch: &'a mut SearchScratch,
}

impl<const D: usize> AnchorSearch<'_, D> {
    fn run(mut self, source: [u32; D]) -> u32 {
        self.reach(source, 0);
        while let Some(Reverse((least, hops, endpoint))) = self.scratch.open.pop() {
            if least >= self.best {
                break;
            }
            if self.scratch.hops[&endpoint] < hops {
                continue;
            }
            let place = lattice::place(self.dimensions, endpoint);
            for k in 0..D {
                let LatticeDimension { side, wrap, target, jump, .. } = self.dimensions[k];
                if !wrap {
                    continue;
                }
                if target == k {
                    self.cross_within(&place, hops, k, side - 1, jump);
                    self.cross_within(&place, hops, k, jump, side - 1);
                } else {
                    let around = self.dimensions[target].side;
                    self.cross(&place, hops, k, (side - 1, 0), jump);
                    self.cross(&place, hops, k, (0, side - 1), if jump == 0 { 0 } else { around - jump });
                }
            }
        }
        self.best
    }

    /// Notes an anchor, unless it was reached as soon before or cannot lead to a shorter path.
    #[inline]
    fn reach(&mut self, place: [u32; D], hops: u32) {
        let (walk, least) = self.bound.to_go(self.dimensions, &place);
        self.best = self.best.min(hops + walk);
        let mut least = hops + least;
        if least >= self.best {
            return;
        }
        let endpoint = lattice::endpoint(self.dimensions, &place);
        if let Some((oracle, destination)) = self.oracle {
            let (lower, upper) = match oracle.distance(endpoint, destination) {
                DistanceBound::Exactly(more) => (more, more),
                DistanceBound::Between(lower, upper) => (lower, upper),
            };
            self.best = self.best.min(hops + upper);
            least = hops + lower;
            if least >= self.best {
                return;
            }
        }
        let known = self.scratch.hops.entry(endpoint).or_insert(u32::MAX);
        if hops < *known {
            *known = hops;
            self.scratch.open.push(Reverse((least, hops, endpoint)));
        }
    }

    /// The anchor beyond the seam of a dimension whose wrapping link is shifted in the dimension itself.
    fn cross_within(&mut self, place: &[u32; D], hops: u32, k: usize, seam: u32, beyond: u32) {
        let mut next = *place;
        next[k] = beyond;
        self.reach(next, hops + place[k].abs_diff(seam) + 1);
    }

    /// The anchors beyond the seam of dimension `k`, whose link shifts the target upwards by `shift`.
    #[inline]
    fn cross(&mut self, place: &[u32; D], hops: u32, k: usize, (seam, beyond): (u32, u32), shift: u32) {
        let hops = hops + place[k].abs_diff(seam) + 1;
        if hops >= self.best {
            return;
        }
        let target = self.dimensions[k].target;
        let mut next = *place;
        next[k] = beyond;
        if shift == 0 {
            return self.reach(next, hops);
        }
        // Places from `cut` on come out at the low end, those below it at the high end.
        let side = self.dimensions[target].side;
        let cut = side - shift;
        let at = place[target];
        if at < cut {
            next[target] = at + shift;
            self.reach(next, hops);
            next[target] = 0;
            self.reach(next, hops + (cut - at));
        } else {
            next[target] = at - cut;
            self.reach(next, hops);
            next[target] = side - 1;
            self.reach(next, hops + (at - cut + 1));
        }
    }
}

/// A lower bound on the hops that are left, which one hop lowers by at most one.
struct Bound<const D: usize> {
    destination: [u32; D],
    /// `true` for each dimension that neither wraps nor is shifted by a wrapping link.
    straight: [bool; D],
    /// Greatest distance that one hop covers in the other dimensions, added over them.
    stride: Divisor,
}

impl<const D: usize> Bound<D> {
    fn new(dimensions: &[LatticeDimension; D], destination: [u32; D]) -> Bound<D> {
        let mut straight = [true; D];
        let mut stride = 1;
        for (k, dimension) in dimensions.iter().enumerate().filter(|(_, dimension)| dimension.wrap) {
            straight[k] = false;
            if dimension.jump != 0 {
                straight[dimension.target] = false;
                let around = dimension.jump.min(dimensions[dimension.target].side - dimension.jump);
                stride = stride.max(1 + around);
            }
        }
        Bound { destination, straight, stride: Divisor::new(stride) }
    }

    /// Returns the hops of the walk to the destination, and a lower bound on those of any path.
    #[inline]
    fn to_go(&self, dimensions: &[LatticeDimension; D], place: &[u32; D]) -> (u32, u32) {
        let (mut walk, mut straight, mut around) = (0, 0, 0);
        for k in 0..D {
            let apart = place[k].abs_diff(self.destination[k]);
            walk += apart;
            if self.straight[k] {
                straight += apart;
            } else {
                around += apart.min(dimensions[k].side - apart);
            }
        }
        let (strides, rest) = self.stride.split(around);
        (walk, straight + strides + u32::from(rest != 0))
    }
}
