//! Large groups and the many links that they cross.
//!
//! A new level of a group concerns the other links that its flows cross. Those of a small group are looked
//! at one by one. A large group keeps, for each link that it crosses, a level below which the link cannot
//! saturate, least first. A new level then costs nothing at links that it leaves unsaturated.

use super::Flows;
use crate::link::{FREE, NONE};
use std::cmp::Reverse;

/// Members from which on a group is large, and below which it is small again.
const LARGE: usize = 17;
const SMALL: usize = 8;
/// The threshold of a link that is saturated.
const SATURATED: u64 = 0;

impl Flows {
    /// Opens the links outside that a new level of a large open group changes.
    pub(super) fn check_watched(&mut self, group: u32, old: u64, new: u64) {
        let Some(mut watch) = self.groups[group as usize].watch.take() else { return };
        let rises = new > old;
        let mut kept = 0;
        for index in 0..watch.saturated.len() {
            let link = watch.saturated[index];
            if watch.levels.get(&link) != Some(&SATURATED) {
                continue;
            }
            let is_crossed = self.links[link as usize].foreign.iter().any(|share| share.group == group);
            if !is_crossed {
                watch.levels.remove(&link);
                continue;
            }
            let is_saturated = self.links[link as usize].own > 0;
            if !is_saturated && self.links[link as usize].place == NONE {
                watch.levels.remove(&link);
                self.inspect(link, rises);
                continue;
            }
            if is_saturated {
                self.open(link);
            }
            watch.saturated[kept] = link;
            kept += 1;
        }
        watch.saturated.truncate(kept);
        while rises
            && let Some(&Reverse((level, link))) = watch.order.peek()
            && level < new
        {
            watch.order.pop();
            if watch.levels.get(&link) == Some(&level) {
                watch.levels.remove(&link);
                self.inspect(link, true);
            }
        }
        self.groups[group as usize].watch = Some(watch);
    }

    /// Opens a link outside if the levels of this round saturate it, and has its thresholds set anew.
    fn inspect(&mut self, link: u32, rises: bool) {
        if self.links[link as usize].place == NONE {
            self.solution.inspected.push(link);
            if rises && self.is_exceeded(link) {
                self.open(link);
            }
        }
    }

    /// Opens links that an earlier round left alone and the levels of this one saturate.
    pub(super) fn check_inspected(&mut self, inspected: usize) {
        for index in 0..inspected {
            let link = self.solution.inspected[index];
            if self.links[link as usize].place == NONE && self.is_exceeded(link) {
                self.open(link);
            }
        }
    }

    /// Returns `true` if a large group crosses a link that another bottlenecks.
    #[inline]
    pub(super) fn is_watched(&self, link: u32) -> bool {
        let is_large = |group: u32| self.groups[group as usize].watch.is_some();
        self.watches > 0 && self.links[link as usize].foreign.iter().any(|share| is_large(share.group))
    }

    /// Brings what large groups watch up to date after a solution.
    pub(super) fn watch(&mut self) {
        for place in 0..self.solution.open.len() {
            let index = self.solution.open[place].link;
            let group = &mut self.groups[index as usize];
            match group.members.len() {
                LARGE.. if group.watch.is_none() => {
                    group.watch = Some(Box::default());
                    self.watches += 1;
                    self.watch_all(index);
                }
                1..SMALL if group.watch.is_some() => {
                    group.watch = None;
                    self.watches -= 1;
                }
                _ => {}
            }
        }
        if self.watches > 0 {
            for place in 0..self.solution.open.len() {
                self.set_thresholds(self.solution.open[place].link);
            }
            for index in 0..self.solution.inspected.len() {
                self.set_thresholds(self.solution.inspected[index]);
            }
        }
        self.solution.inspected.clear();
    }

    /// Sets thresholds at all links that a group crosses.
    fn watch_all(&mut self, group: u32) {
        for index in 0..self.groups[group as usize].members.len() {
            let flow = self.groups[group as usize].members.at(index).flow;
            for hop in 0..self.flows[flow as usize].path.len() {
                let link = self.flows[flow as usize].path[hop];
                if link != group {
                    self.set_thresholds(link);
                }
            }
        }
    }

    /// Sets the thresholds of a link for the large groups that cross it.
    ///
    /// If each group across a link rises by no more than the room per weight, less one unit, the link stays
    /// unsaturated.
    // Half of that is given, so that a link which loses some room seldom has to take anything back.
    pub(super) fn set_thresholds(&mut self, index: u32) {
        if !self.is_watched(index) {
            return;
        }
        let link = &self.links[index as usize];
        let (mut room, mut weights) = (link.capacity, 0);
        for share in &link.foreign {
            room = room.saturating_sub(u64::from(share.weight) * self.links[share.group as usize].level);
            weights += u64::from(share.weight);
        }
        let rise = (room / weights).saturating_sub(1);
        for share in &link.foreign {
            let Some(watch) = &mut self.groups[share.group as usize].watch else { continue };
            let before = watch.levels.get(&index).copied().unwrap_or(FREE);
            let level = self.links[share.group as usize].level;
            if link.own > 0 && before != SATURATED {
                watch.saturated.push(index);
                watch.levels.insert(index, SATURATED);
            } else if link.own == 0 && before > level + rise {
                watch.order.push(Reverse((level + rise / 2, index)));
                watch.levels.insert(index, level + rise / 2);
            }
            // Entries out of date are dropped once they are most.
            if watch.order.len() > 256 + 4 * watch.levels.len() {
                let levels = &watch.levels;
                watch.order.retain(|Reverse((level, link))| levels.get(link) == Some(level));
            }
        }
    }
}
