//! The level of every group that a change reaches.
//!
//! A solution has open links, whose groups get new levels, and loose flows, which are in no group. All
//! other flows keep their levels. Levels fill up from 0, and open links stop in the order of their levels.
//! Where a link stops, flows of other groups above its level become loose there. A solution starts again
//! with more open links if the new levels saturate a link outside, or change what the group of one gets.

use super::Flows;
use crate::link::{FREE, NONE};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// The level of what has not stopped filling.
const FILLING: u64 = u64::MAX;
/// More units than the weights at a link sum up to.
const NEAR: u64 = 1 << 33;

/// A link of the present solution.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnsolvedLink {
    pub(super) link: u32,
    /// First of the crossings of loose flows.
    first: u32,
    /// Sum of the weights of loose flows across it, and of those that still fill.
    loose: u64,
    filling: u64,
    /// The part of it that the others take.
    used: u64,
    /// The level at which it stopped.
    pub(super) level: u64,
}

/// A flow of the present solution that is in no group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loose {
    flow: u32,
    neck: u32,
    level: u64,
}

/// A loose flow across an open link.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    loose: u32,
    next: u32,
}

/// The solution that is under way; empty between solutions but for memory.
#[derive(Default, Debug)]
pub(super) struct Solution {
    pub(super) open: Vec<UnsolvedLink>,
    loose: Vec<Loose>,
    crossings: Vec<Crossing>,
    /// The least levels at which open links can stop.
    order: BinaryHeap<Reverse<(u64, u32)>>,
    /// Open links that stop together.
    stopping: Vec<u32>,
    /// Groups and flows to be made loose.
    above: Vec<u32>,
    /// Groups of which flows that cross a link cannot rise with the others: the link and the group.
    cuts: Vec<(u32, u32)>,
    /// `true` if a link that was opened while levels filled stops before the level that had been reached.
    restarts: bool,
    found: Vec<u32>,
    /// The number of the round, over all solutions.
    round: u32,
    /// Links outside that watched groups were compared with.
    pub(super) inspected: Vec<u32>,
    /// Open links and loose flows solved so far.
    solved: u64,
}

impl Flows {
    /// Gives every flow its rate after all starts and ends of this instant.
    pub fn solve(&mut self) {
        let mut left = std::mem::take(&mut self.left);
        for link in left.drain(..) {
            if self.links[link as usize].own > 0 {
                self.open(link);
            }
        }
        self.left = left;
        let mut fresh = std::mem::take(&mut self.fresh);
        for flow in fresh.drain(..) {
            if !(self.solution.open.is_empty() && self.place_alone(flow)) {
                self.loosen(flow);
            }
        }
        self.fresh = fresh;
        if !self.solution.open.is_empty() {
            loop {
                self.fill();
                let is_cut = self.cut();
                if !std::mem::take(&mut self.solution.restarts) && !is_cut && !self.check() {
                    break;
                }
            }
            self.commit();
        }
        self.drop_old_ends();
    }

    /// Returns the links and flows to which solutions have given levels so far, each once a round.
    pub fn solved(&self) -> u64 {
        self.solution.solved
    }

    /// Makes a link part of the solution. Returns `true` if it was not.
    #[inline]
    pub(super) fn open(&mut self, link: u32) -> bool {
        let place = &mut self.links[link as usize].place;
        let is_new = *place == NONE;
        if is_new {
            *place = self.solution.open.len() as u32;
            self.solution.open.push(UnsolvedLink {
                link,
                first: NONE,
                loose: 0,
                filling: 0,
                used: 0,
                level: FILLING,
            });
        }
        is_new
    }

    /// Makes a flow that is in no group part of the solution, and the links that it crosses.
    fn loosen(&mut self, id: u32) {
        let loose = self.solution.loose.len() as u32;
        self.solution.loose.push(Loose { flow: id, neck: NONE, level: FILLING });
        for hop in 0..self.flows[id as usize].path.len() {
            let flow = &self.flows[id as usize];
            let (link, weight) = (flow.path[hop], u64::from(flow.weight_at(hop)));
            self.open(link);
            let place = self.links[link as usize].place;
            let open = &mut self.solution.open[place as usize];
            self.solution.crossings.push(Crossing { loose, next: open.first });
            open.first = self.solution.crossings.len() as u32 - 1;
            open.loose += weight;
        }
    }

    /// Returns the level of a group, that of this round if it has one.
    #[inline]
    fn level_of(&self, group: u32) -> u64 {
        let link = &self.links[group as usize];
        match self.solution.open.get(link.place as usize).map_or(FILLING, |open| open.level) {
            FILLING => link.level,
            level => level,
        }
    }

    fn fill(&mut self) {
        for open in &mut self.solution.open {
            (open.filling, open.used, open.level) = (open.loose, 0, FILLING);
        }
        self.solution.loose.iter_mut().for_each(|loose| loose.level = FILLING);
        let mut order = std::mem::take(&mut self.solution.order).into_vec();
        order.clear();
        for place in 0..self.solution.open.len() as u32 {
            let level = self.stop_level(place);
            if level != FREE {
                order.push(Reverse((level, place)));
            }
        }
        self.solution.order = BinaryHeap::from(order);
        let mut stopping = std::mem::take(&mut self.solution.stopping);
        let mut is_first = true;
        while let Some(&Reverse((level, _))) = self.solution.order.peek() {
            // All that stop at this level are found before any does: what stops leaves more for the others.
            let mut order = std::mem::take(&mut self.solution.order);
            while let Some(mut top) = order.peek_mut() {
                let Reverse((least, place)) = *top;
                if least > level {
                    break;
                }
                if self.solution.open[place as usize].level != FILLING {
                    PeekMut::pop(top);
                    continue;
                }
                let found = if is_first { least } else { self.stop_level(place) };
                debug_assert!(found >= least, "levels at which links stop only rise");
                if found > level && found != FREE {
                    *top = Reverse((found, place));
                } else {
                    PeekMut::pop(top);
                    if found != FREE && stopping.last() != Some(&place) {
                        stopping.push(place);
                    }
                }
            }
            self.solution.order = order;
            self.stop(&mut stopping, level);
            is_first = false;
            if self.solution.restarts || !self.solution.cuts.is_empty() {
                break;
            }
        }
        self.solution.stopping = stopping;
    }

    /// Returns the least level at which an open link has no unit more for each flow at or above it;
    /// [`FREE`] if there is enough for all.
    fn stop_level(&self, place: u32) -> u64 {
        let open = &self.solution.open[place as usize];
        let link = &self.links[open.link as usize];
        let mut room = link.capacity.saturating_sub(open.used);
        let mut filling = open.filling + u64::from(link.own);
        let mut kept = 0u64;
        for share in &link.foreign {
            let weight = u64::from(share.weight);
            match self.links[share.group as usize].place {
                NONE => kept += weight,
                other => match self.solution.open[other as usize].level {
                    FILLING => filling += weight,
                    level => room = room.saturating_sub(weight * level),
                },
            }
        }
        match filling + kept {
            0 => FREE,
            _ if kept == 0 => divide(room, filling),
            all => self.rise(place, room, filling, divide(room, all)),
        }
    }

    /// Returns the level, from one that is not above it, at which `room` is used up. The room goes to what
    /// fills, of weight `filling`, and to the flows that keep their levels. Returns [`FREE`] if there is
    /// enough.
    fn rise(&self, place: u32, room: u64, filling: u64, mut level: u64) -> u64 {
        let link = &self.links[self.solution.open[place as usize].link as usize];
        loop {
            let (mut left, mut above) = (room, filling);
            for share in &link.foreign {
                let other = &self.links[share.group as usize];
                if other.place == NONE {
                    if other.level < level {
                        left = left.saturating_sub(u64::from(share.weight) * other.level);
                    } else {
                        above += u64::from(share.weight);
                    }
                }
            }
            if above == 0 {
                return FREE;
            }
            let next = divide(left, above);
            if next <= level {
                return level;
            }
            level = next;
        }
    }

    /// Stops these open links at a level.
    fn stop(&mut self, stopping: &mut Vec<u32>, level: u64) {
        // Flows join groups that exist, the largest first: so groups that tie do not take members from each
        // other.
        if stopping.len() > 1 {
            let own = |place: &u32| self.links[self.solution.open[*place as usize].link as usize].own;
            if stopping.iter().any(|place| own(place) > 0) {
                stopping.sort_by_key(|place| Reverse(own(place)));
            }
        }
        for &place in stopping.iter() {
            self.solution.open[place as usize].level = level;
            let neck = self.solution.open[place as usize].link;
            let mut next = self.solution.open[place as usize].first;
            while next != NONE {
                let crossing = self.solution.crossings[next as usize];
                next = crossing.next;
                let loose = &mut self.solution.loose[crossing.loose as usize];
                if loose.level != FILLING {
                    continue;
                }
                (loose.level, loose.neck) = (level, neck);
                self.flows[loose.flow as usize].each_crossing(|link, weight| {
                    let (place, weight) = (self.links[link as usize].place, u64::from(weight));
                    let open = &mut self.solution.open[place as usize];
                    open.used += weight * level;
                    open.filling -= weight;
                });
            }
        }
        for place in stopping.drain(..) {
            let index = self.solution.open[place as usize].link;
            let mut above = std::mem::take(&mut self.solution.above);
            for share in &self.links[index as usize].foreign {
                let other = &self.links[share.group as usize];
                let fills = match other.place {
                    NONE => true,
                    other => self.solution.open[other as usize].level == FILLING,
                };
                // Flows that lose can do so at once: no link outside stops them before. Those that gain can
                // not.
                if fills && other.level > level {
                    above.push(share.group);
                } else if fills && other.place != NONE {
                    self.solution.cuts.push((index, share.group));
                }
            }
            above.drain(..).for_each(|group| self.extract(index, group, Some(level)));
            self.solution.above = above;
        }
    }

    /// Makes flows loose that stop before the rest of their groups. Returns `true` if there are any.
    fn cut(&mut self) -> bool {
        let mut cuts = std::mem::take(&mut self.solution.cuts);
        let is_any = !cuts.is_empty();
        cuts.drain(..).for_each(|(link, group)| self.extract(link, group, None));
        self.solution.cuts = cuts;
        is_any
    }

    /// Makes the flows of a group that cross another link loose and opens the group. Where that link stops
    /// at a level, so do the flows.
    fn extract(&mut self, link: u32, group: u32, level: Option<u64>) {
        let mut found = std::mem::take(&mut self.solution.found);
        let members = self.groups[group as usize].members.iter().map(|member| member.flow);
        found.extend(members.filter(|&flow| self.flows[flow as usize].path.contains(&link)));
        let (old, now) = (self.links[group as usize].level, self.now);
        self.groups[group as usize].move_clock(old, now);
        let before = self.solution.open.len();
        self.open(group);
        for &id in &found {
            let clock = self.groups[group as usize].clock;
            let flow = &self.flows[id as usize];
            let (slot, own) = (flow.slot, flow.weight_on(group));
            flow.each_crossing(|other, weight| {
                if other != group {
                    self.links[other as usize].remove_foreign(group, weight);
                }
            });
            let mark = self.leave(group, slot, own);
            let flow = &mut self.flows[id as usize];
            (flow.neck, flow.left) = (NONE, mark.saturating_sub(clock));
            self.loosen(id);
            let Some(level) = level else { continue };
            if let Some(loose) = self.solution.loose.last_mut() {
                (loose.level, loose.neck) = (level, link);
            }
            for (link, weight) in self.flows[id as usize].crossings() {
                let open = &mut self.solution.open[self.links[link as usize].place as usize];
                open.used += u64::from(weight) * level;
            }
        }
        found.clear();
        self.solution.found = found;
        if let Some(level) = level {
            for place in before..self.solution.open.len() {
                self.order_opened(place as u32, level);
            }
        }
    }

    /// Puts a link that was opened while levels fill into the order in which links stop.
    ///
    /// Its group kept its level and fills instead. That may take more of other open links, which can so
    /// stop earlier.
    // A link outside stops before the level that was reached if groups that cross it have gained. That is
    // rare.
    fn order_opened(&mut self, place: u32, level: u64) {
        self.order(place, level);
        let group = self.solution.open[place as usize].link;
        if self.links[group as usize].own == 0 {
            return;
        }
        let members = self.groups[group as usize].members.len();
        if 3 * members < self.solution.open.len() {
            for index in 0..members {
                let flow = self.groups[group as usize].members.at(index).flow;
                for hop in 0..self.flows[flow as usize].path.len() {
                    let other = self.links[self.flows[flow as usize].path[hop] as usize].place;
                    if other != NONE && other != place {
                        self.order(other, level);
                    }
                }
            }
        } else {
            for other in 0..self.solution.open.len() as u32 {
                let link = self.solution.open[other as usize].link;
                if self.links[link as usize].foreign.iter().any(|share| share.group == group) {
                    self.order(other, level);
                }
            }
        }
    }

    /// Orders an open link anew, unless it has stopped, when levels have reached `level`.
    ///
    /// If it stops before, or so near that it might have stopped together with others, the solution starts
    /// again.
    fn order(&mut self, place: u32, level: u64) {
        if self.solution.open[place as usize].level != FILLING || self.solution.restarts {
            return;
        }
        match self.stop_level(place) {
            FREE => self.solution.restarts = !self.is_roomy(place),
            found if found < level + NEAR => self.solution.restarts = true,
            found => self.solution.order.push(Reverse((found, place))),
        }
    }

    /// Returns `true` if each flow across an open link could have a unit more.
    fn is_roomy(&self, place: u32) -> bool {
        let open = &self.solution.open[place as usize];
        let link = &self.links[open.link as usize];
        let (mut used, mut weights) = (open.used, open.loose);
        for share in &link.foreign {
            used = used.saturating_add(u64::from(share.weight) * self.level_of(share.group));
            weights += u64::from(share.weight);
        }
        used.saturating_add(weights) <= link.capacity
    }

    /// Opens links outside that the levels of the round make wrong. Returns `true` if there are any.
    fn check(&mut self) -> bool {
        self.solution.round = self.solution.round.wrapping_add(1);
        let before = self.solution.open.len();
        let inspected = self.solution.inspected.len();
        self.solution.solved += (before + self.solution.loose.len()) as u64;
        for place in 0..before {
            let UnsolvedLink { link: index, level, .. } = self.solution.open[place];
            let link = &self.links[index as usize];
            if link.own > 0 && level != link.level {
                self.check_crossed(index, link.level, level);
            }
        }
        self.check_inspected(inspected);
        self.solution.open.len() != before
    }

    /// Opens the links outside that a new level of an open group changes.
    fn check_crossed(&mut self, group: u32, old: u64, new: u64) {
        if self.groups[group as usize].watch.is_some() {
            return self.check_watched(group, old, new);
        }
        for index in 0..self.groups[group as usize].members.len() {
            let flow = self.groups[group as usize].members.at(index).flow;
            for hop in 0..self.flows[flow as usize].path.len() {
                let index = self.flows[flow as usize].path[hop];
                let link = &mut self.links[index as usize];
                if link.place != NONE || link.seen == self.solution.round {
                    continue;
                }
                let is_saturated = link.own > 0;
                // A link that a lower level leaves alone may still be exceeded by a higher one.
                if new > old {
                    link.seen = self.solution.round;
                    if self.is_watched(index) {
                        self.solution.inspected.push(index);
                    }
                }
                if is_saturated || new > old && self.is_exceeded(index) {
                    self.open(index);
                }
            }
        }
    }

    /// Returns `true` if a link outside cannot give the flows across it the levels of this round.
    pub(super) fn is_exceeded(&self, index: u32) -> bool {
        let link = &self.links[index as usize];
        let (mut sum, mut weights) = (0u64, 0u64);
        for share in &link.foreign {
            let weight = u64::from(share.weight);
            weights += weight;
            sum = sum.saturating_add(weight.saturating_mul(self.level_of(share.group)));
        }
        if sum.saturating_add(weights) <= link.capacity || weights == 0 {
            return false;
        }
        let mut level = divide(link.capacity, weights);
        loop {
            let (mut left, mut above) = (link.capacity, 0);
            for share in &link.foreign {
                match self.level_of(share.group) {
                    other if other < level => left = left.saturating_sub(u64::from(share.weight) * other),
                    _ => above += u64::from(share.weight),
                }
            }
            if above == 0 {
                return false;
            }
            let next = divide(left, above);
            if next <= level {
                return link.foreign.iter().any(|share| self.level_of(share.group) > level);
            }
            level = next;
        }
    }

    /// Puts loose flows into the groups of their bottlenecks and gives open groups their levels.
    fn commit(&mut self) {
        for place in 0..self.solution.open.len() {
            let UnsolvedLink { link: index, level, .. } = self.solution.open[place];
            let link = &mut self.links[index as usize];
            if link.own > 0 && link.level != level {
                self.groups[index as usize].move_clock(link.level, self.now);
                link.level = level;
            }
        }
        for index in 0..self.solution.loose.len() {
            let Loose { flow, neck, level } = self.solution.loose[index];
            self.join(flow, neck, level);
        }
        for place in 0..self.solution.open.len() {
            let index = self.solution.open[place].link;
            if self.links[index as usize].own > 0 {
                self.set_due(index);
            }
        }
        self.watch();
        for open in self.solution.open.drain(..) {
            self.links[open.link as usize].place = NONE;
        }
        self.solution.loose.clear();
        self.solution.crossings.clear();
    }
}

/// Returns a quotient rounded down; most divisors are 1.
#[inline]
fn divide(room: u64, weight: u64) -> u64 {
    if weight == 1 { room } else { room / weight }
}
