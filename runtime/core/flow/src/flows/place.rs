//! Flows join the group of the link that bottlenecks them.

use super::Flows;
use crate::link::{FREE, NEVER, NONE};
use crate::members::GroupFlow;
use std::cmp::Reverse;

impl Flows {
    /// Places a flow that starts alone where it changes nothing for others. Returns `false` if it does.
    pub(super) fn place_alone(&mut self, id: u32) -> bool {
        let flow = &self.flows[id as usize];
        let (mut level, mut neck) = (FREE, NONE);
        for (index, weight) in flow.crossings() {
            let weight = u64::from(weight);
            let link = &self.links[index as usize];
            if link.own > 0 {
                return false;
            }
            let mut room = link.capacity;
            for share in &link.foreign {
                room = room.saturating_sub(u64::from(share.weight) * self.links[share.group as usize].level);
            }
            let own = if weight == 1 { room } else { room / weight };
            if own < level {
                (level, neck) = (own, index);
            }
        }
        // No link may stop before, nor within a unit for each flow of this level.
        for (index, weight) in flow.crossings() {
            let (link, weight) = (&self.links[index as usize], u64::from(weight));
            if !link.foreign.is_empty() {
                let (mut room, mut weights, mut top) = (link.capacity, weight, 0);
                for share in &link.foreign {
                    let level = self.links[share.group as usize].level;
                    room = room.saturating_sub(u64::from(share.weight) * level);
                    weights += u64::from(share.weight);
                    top = top.max(level);
                }
                let is_wide = room.saturating_sub(weight * level) >= weights;
                if !is_wide && level < top.saturating_add(weights) {
                    return false;
                }
            }
        }
        self.join(id, neck, level);
        self.set_due(neck);
        if self.watches > 0 {
            for hop in 0..self.flows[id as usize].path.len() {
                self.set_thresholds(self.flows[id as usize].path[hop]);
            }
        }
        true
    }

    /// Puts a flow into the group of a link, which has this level from now on.
    pub(super) fn join(&mut self, id: u32, neck: u32, level: u64) {
        let flow = &mut self.flows[id as usize];
        flow.neck = neck;
        let (weight, left) = (flow.weight_on(neck), flow.left);
        let (link, group) = (&mut self.links[neck as usize], &mut self.groups[neck as usize]);
        if link.own == 0 {
            debug_assert_eq!(link.level, FREE);
            link.level = level;
            (group.clock, group.since) = (0, self.now);
        } else {
            debug_assert_eq!(link.level, level);
            group.move_clock(level, self.now);
        }
        link.own += weight;
        let mark = group.clock.saturating_add(left);
        group.members.push(GroupFlow { mark, flow: id }, &mut self.flows);
        self.flows[id as usize].each_crossing(|other, weight| {
            if other != neck {
                self.links[other as usize].add_foreign(neck, weight);
            }
        });
    }

    /// Notes when the first of a group ends.
    #[inline]
    pub(super) fn set_due(&mut self, index: u32) {
        let group = &mut self.groups[index as usize];
        let due = group.next_end(self.links[index as usize].level);
        if due != group.due {
            group.due = due;
            if due != NEVER {
                self.ends.push(Reverse((due, index)));
            }
        }
    }
}
