//! Flows under way: starts, ends, and the clock between them.

mod place;
mod solve;
mod watch;

use crate::link::{BottleneckGroup, FREE, Link, NEVER, NONE};
use crate::members::Flow;
use crate::scale::{Capacity, Scale};
use engine::Time;
use solve::Solution;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Names a flow from its start to its end; afterwards another flow may have the name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct FlowId(pub u32);

/// Links, and flows that share them.
///
/// A caller starts the flows of an instant, calls [`Flows::solve`] once, and moves on with
/// [`Flows::advance`] to a time that is at most [`Flows::next_end`].
#[derive(Debug)]
pub struct Flows {
    links: Vec<Link>,
    /// The group of each link.
    groups: Vec<BottleneckGroup>,
    flows: Vec<Flow>,
    /// Flows that have ended, for use again.
    free: Vec<u32>,
    /// Links of bounds that are not in use.
    free_bounds: Vec<u32>,
    scale: Scale,
    now: u64,
    /// Times at which groups have their next ends. An entry counts if it is the time at its link.
    ends: BinaryHeap<Reverse<(u64, u32)>>,
    /// Flows that started since the last solution.
    fresh: Vec<u32>,
    /// Links from which a flow was removed since the last solution.
    left: Vec<u32>,
    /// Flows that end at this instant because they have no bytes or no links.
    at_once: Vec<u32>,
    solution: Solution,
    under_way: usize,
    /// Groups that watch thresholds.
    watches: usize,
    /// Weights on paths, for each weight of a flow.
    forward_weight: u32,
}

/// A flow's bytes for each byte of its acknowledgements, where these take capacity on its way back: SimGrid's
/// `network/crosstraffic` (CM02 and LV08, with 5 %).
const CROSS_TRAFFIC: u32 = 20;

impl Flows {
    /// Returns links without flows, at time 0.
    ///
    /// # Panics
    /// If a capacity is not a finite number above 0.
    pub fn new(capacities: &[Capacity]) -> Flows {
        Flows::with_scale(capacities, Scale::new(capacities.iter().copied()))
    }

    /// Returns links without flows, at time 0, with rates in the units of `scale`.
    pub fn with_scale(capacities: &[Capacity], scale: Scale) -> Flows {
        Flows {
            links: capacities.iter().map(|&capacity| Link::new(scale.units(capacity))).collect(),
            groups: capacities.iter().map(|_| BottleneckGroup::new()).collect(),
            flows: Vec::new(),
            free: Vec::new(),
            free_bounds: Vec::new(),
            scale,
            now: 0,
            ends: BinaryHeap::new(),
            fresh: Vec::new(),
            left: Vec::new(),
            at_once: Vec::new(),
            solution: Solution::default(),
            under_way: 0,
            watches: 0,
            forward_weight: 1,
        }
    }

    /// Lets the acknowledgements of flows take a twentieth of their rates on the links of their ways back.
    pub fn with_cross_traffic(self) -> Flows {
        Flows { forward_weight: CROSS_TRAFFIC, ..self }
    }

    /// Returns the time that has been reached.
    pub fn now(&self) -> Time {
        Time::from_ps(self.now)
    }

    /// Returns the unit of rates.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Returns the number of flows under way.
    pub fn len(&self) -> usize {
        self.under_way
    }

    /// Returns `true` if no flow is under way.
    pub fn is_empty(&self) -> bool {
        self.under_way == 0
    }

    /// Returns the rate of a flow for a weight of 1, in units, since the last solution; with cross traffic a
    /// twentieth of it.
    pub fn level(&self, flow: FlowId) -> u64 {
        match self.flows[flow.0 as usize].neck {
            NONE => 0,
            neck => self.links[neck as usize].level,
        }
    }

    /// Starts a flow at the time that has been reached. `path` and `back` together have each link at most
    /// once; `bound` is the most that the flow gets. `back` are the links that its acknowledgements share,
    /// with cross traffic. A flow without bytes, or without links and bound, ends at once.
    ///
    /// # Panics
    /// If the weight is 0.
    pub fn start(
        &mut self,
        path: &[u32],
        back: &[u32],
        weight: u32,
        bound: Option<Capacity>,
        bytes: u64,
    ) -> FlowId {
        assert!(weight > 0, "a flow has a weight above 0");
        debug_assert!(back.is_empty() || self.forward_weight > 1, "acknowledgements take capacity");
        let back_weight = weight;
        let weight = weight * self.forward_weight;
        let id = self.free.pop().unwrap_or_else(|| {
            self.flows.push(Flow::default());
            self.flows.len() as u32 - 1
        });
        let work = self.scale.work(bytes, weight);
        let bound = bound.map(|bound| self.bound(bound));
        let flow = &mut self.flows[id as usize];
        flow.path.clear();
        flow.path.extend_from_slice(path);
        flow.path.extend(bound);
        flow.forward = flow.path.len() as u32;
        flow.has_back = flow.forward > 0 && !back.is_empty();
        if flow.has_back {
            flow.path.extend_from_slice(back);
        }
        debug_assert!(
            (1..flow.path.len()).all(|hop| !flow.path[..hop].contains(&flow.path[hop])),
            "{flow:?}"
        );
        (flow.weight, flow.back_weight) = (weight, back_weight);
        (flow.neck, flow.left, flow.is_bounded) = (NONE, work, bound.is_some());
        self.under_way += 1;
        let waiting = if flow.path.is_empty() || bytes == 0 { &mut self.at_once } else { &mut self.fresh };
        waiting.push(id);
        FlowId(id)
    }

    /// Returns a link of this capacity for one flow.
    fn bound(&mut self, capacity: Capacity) -> u32 {
        let capacity = self.scale.units(capacity);
        let link = self.free_bounds.pop().unwrap_or_else(|| {
            self.links.push(Link::new(capacity));
            self.groups.push(BottleneckGroup::new());
            self.links.len() as u32 - 1
        });
        self.links[link as usize].capacity = capacity;
        link
    }

    /// Returns when the next flow ends, if any does before virtual time ends.
    pub fn next_end(&self) -> Option<Time> {
        if !self.at_once.is_empty() {
            return Some(self.now());
        }
        self.ends.peek().map(|&Reverse((at, _))| Time::from_ps(at))
    }

    /// Moves on to `time` and appends the flows that end there, in no particular order. Their ends are part
    /// of the next solution.
    ///
    /// # Panics
    /// If changes have not been solved, or a flow would have ended before.
    pub fn advance(&mut self, time: Time, ended: &mut Vec<FlowId>) {
        let now = time.as_ps();
        assert!(self.fresh.is_empty() && self.left.is_empty(), "changes are solved before time goes on");
        assert!(
            now >= self.now && self.next_end().is_none_or(|end| end >= time),
            "flows end in the order of time"
        );
        self.now = now;
        for id in std::mem::take(&mut self.at_once) {
            self.release(id);
            ended.push(FlowId(id));
        }
        while let Some(&Reverse((at, link))) = self.ends.peek()
            && at <= now
        {
            self.ends.pop();
            if self.groups[link as usize].due == at {
                self.end_due(link, ended);
            }
            self.drop_old_ends();
        }
        self.drop_old_ends();
    }

    /// Ends the flows of a group that are through at this instant.
    fn end_due(&mut self, index: u32, ended: &mut Vec<FlowId>) {
        let level = self.links[index as usize].level;
        let group = &mut self.groups[index as usize];
        group.move_clock(level, self.now);
        group.due = NEVER;
        while let Some(first) = self.groups[index as usize].members.first()
            && self.groups[index as usize].next_end(level) <= self.now
        {
            let id = first.flow;
            self.detach(id);
            self.release(id);
            ended.push(FlowId(id));
        }
    }

    /// Removes entries that do not count from the front of the ends.
    fn drop_old_ends(&mut self) {
        while let Some(&Reverse((at, link))) = self.ends.peek()
            && self.groups[link as usize].due != at
        {
            self.ends.pop();
        }
    }

    /// Removes a flow from its group and from the links that it crosses, which the next solution opens.
    fn detach(&mut self, id: u32) {
        let flow = &self.flows[id as usize];
        let (neck, slot, own) = (flow.neck, flow.slot, flow.weight_on(flow.neck));
        flow.each_crossing(|index, weight| {
            let link = &mut self.links[index as usize];
            if index != neck {
                link.remove_foreign(neck, weight);
            }
            if link.own > 0 {
                self.left.push(index);
            }
        });
        self.leave(neck, slot, own);
        self.flows[id as usize].neck = NONE;
    }

    /// Removes a member from a group and returns its mark.
    fn leave(&mut self, neck: u32, slot: u32, weight: u32) -> u128 {
        let (link, group) = (&mut self.links[neck as usize], &mut self.groups[neck as usize]);
        link.own -= weight;
        let member = group.members.remove(slot, &mut self.flows);
        if link.own == 0 {
            link.level = FREE;
            (group.clock, group.due) = (0, NEVER);
            self.watches -= usize::from(group.watch.take().is_some());
        }
        member.mark
    }

    /// Makes the name of a flow that has ended free.
    fn release(&mut self, id: u32) {
        let flow = &mut self.flows[id as usize];
        if flow.is_bounded {
            self.free_bounds.push(flow.path[flow.forward as usize - 1]);
        }
        self.free.push(id);
        self.under_way -= 1;
    }
}
