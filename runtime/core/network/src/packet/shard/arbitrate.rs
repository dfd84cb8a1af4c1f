//! Who is next on a link: requesters in turn, classes by priority, only with credit.

use super::Shard;
use super::packet_switch::{PacketSwitch, Queueing};
use crate::packet::event::EventKind;
use crate::packet::fabric::Classes;
use crate::packet::port::{NEVER, Requester, TO_ENDPOINT, Waits};
use crate::packet::slab::NONE;

impl<Q: Queueing> Shard<PacketSwitch<Q>> {
    /// Returns the virtual channel by which a packet can leave now; else when to ask again (`NEVER`: when a
    /// credit comes).
    pub(super) fn eligible(&self, output: u32, index: u32, now: u64) -> Result<u8, u64> {
        let packet = &self.packets[index];
        if packet.upstream != NONE {
            let free_at = Q::input_free_at(self, packet.upstream);
            if free_at > now {
                return Err(free_at);
            }
        }
        if self.at.ports[output].end() == TO_ENDPOINT {
            return Ok(0);
        }
        if packet.reserved.is_set() {
            return Ok(packet.lanes[0]);
        }
        self.roomiest(output, packet.size, packet.bubble.is_set(), packet.lanes.into(), now)
    }

    /// Returns the virtual channel of a range with the most room, if it has enough.
    pub(super) fn roomiest(
        &self,
        output: u32,
        size: u32,
        bubble: bool,
        lanes: (u8, u8),
        now: u64,
    ) -> Result<u8, u64> {
        let switching = &self.fabric.switching;
        let need = switching.charge(size) + if bubble { switching.packet() } else { 0 };
        if lanes.1 == 1 {
            let first = &self.at.ports[output].first_lane;
            return if first.has(need, now) { Ok(0) } else { Err(first.next_credit(now)) };
        }
        // Most routings leave no choice, and then how much is free need not be counted.
        if lanes.1 == lanes.0 + 1 {
            let state = self.lane(output, lanes.0.into());
            return if state.has(need, now) { Ok(lanes.0) } else { Err(state.next_credit(now)) };
        }
        let (mut best, mut room, mut credit) = (lanes.0, 0, NEVER);
        for lane in lanes.0..lanes.1 {
            let state = self.lane(output, lane.into());
            let free = state.free(now);
            credit = credit.min(state.next_credit(now));
            if free > room {
                (best, room) = (lane, free);
            }
        }
        if room >= need { Ok(best) } else { Err(credit) }
    }

    /// Queues a packet at an output, and serves the output if its link is free.
    pub(super) fn wait(&mut self, output: u32, index: u32, now: u64) {
        self.enqueue(output, index);
        if self.is_in_cycles(output) {
            Q::schedule_cycle(self, output, now);
            return;
        }
        let busy = self.at.ports[output].busy;
        if busy > now { self.schedule(output, busy) } else { self.grant(output, now) }
    }

    /// Adds a packet to its requester's queue.
    pub(super) fn enqueue(&mut self, output: u32, index: u32) {
        let packet = &mut self.packets[index];
        packet.next = NONE;
        let (size, class) = (packet.size, packet.class);
        let key = (u64::from(packet.upstream) << 16) | self.router.queueing.queue_of(packet);
        let port = &mut self.at.ports[output];
        if port.waits() == NONE {
            port.set_waits(self.at.waits.insert(Waits { wake: NEVER, ring: NONE, queued: 0 }));
        }
        self.at.waits[port.waits()].queued += size;
        let last = self.ring(output, class);
        if last == NONE {
            self.activate(output, class);
            let fresh = self.router.requesters.insert(Requester::new(key, index, NONE));
            self.router.requesters[fresh].next = fresh;
            self.set_ring(output, class, fresh);
            return;
        }
        let mut at = last;
        loop {
            let requester = &mut self.router.requesters[at];
            if requester.key == key {
                let tail = std::mem::replace(&mut requester.tail, index);
                self.packets[tail].next = index;
                return;
            }
            at = requester.next;
            if at == last {
                break;
            }
        }
        let first = self.router.requesters[last].next;
        let fresh = self.router.requesters.insert(Requester::new(key, index, first));
        self.router.requesters[last].next = fresh;
        self.set_ring(output, class, fresh);
    }

    /// A class without waiting packets gets one: it may not claim what it did not use while it was idle.
    fn activate(&mut self, output: u32, class: u8) {
        if self.router.served.is_empty() {
            return;
        }
        let count = self.fabric.switching.classes.count();
        let first = output as usize * count as usize;
        let least = (0..count)
            .filter(|&c| self.ring(output, c) != NONE)
            .map(|c| self.router.served[first + c as usize])
            .min();
        match least {
            Some(least) => {
                self.router.served[first + class as usize] =
                    self.router.served[first + class as usize].max(least)
            }
            None => self.router.served[first..first + count as usize].fill(0),
        }
    }

    /// Returns `true` if `output` belongs to a router that works in cycles.
    #[inline]
    fn is_in_cycles(&self, output: u32) -> bool {
        self.router.queueing.has_cycles() && !self.is_interface(output)
    }

    /// Makes sure that `output`, where something waits, is looked at by `at`.
    #[inline]
    pub(super) fn schedule(&mut self, output: u32, at: u64) {
        if self.is_in_cycles(output) {
            Q::schedule_cycle(self, output, at);
            return;
        }
        let waits = &mut self.at.waits[self.at.ports[output].waits()];
        if at < waits.wake {
            waits.wake = at;
            self.push(at, EventKind::Grant, output, 0);
        }
    }

    /// A `Grant` event, or a credit.
    pub(super) fn wake(&mut self, output: u32, now: u64) {
        let port = &self.at.ports[output];
        let (waits, busy) = (port.waits(), port.busy);
        if waits == NONE {
            return;
        }
        let waits = &mut self.at.waits[waits];
        if waits.wake <= now {
            waits.wake = NEVER;
        }
        if waits.queued == 0 {
            self.settle(output);
        } else if busy > now {
            self.schedule(output, busy);
        } else {
            self.grant(output, now);
        }
    }

    /// Sends the next packet that can be sent over a free link, and asks to be woken for the one after it.
    fn grant(&mut self, output: u32, now: u64) {
        let earliest = match &self.fabric.switching.classes {
            Classes::Strict(1) => self.grant_class(output, 0, now),
            Classes::Strict(count) => self.grant_first(output, 0..*count, now),
            Classes::Weighted(weights) => {
                let first = output as usize * weights.len();
                let mut order: Vec<u8> = (0..weights.len() as u8).collect();
                order.sort_by_key(|&class| self.router.served[first + class as usize]);
                self.grant_first(output, order.into_iter(), now)
            }
        };
        let busy = self.at.ports[output].busy;
        if !self.nobody_waits(output) {
            match earliest {
                None => self.schedule(output, busy),
                Some(NEVER) => {}
                Some(at) => self.schedule(output, at),
            }
        }
    }

    fn grant_first(&mut self, output: u32, classes: impl Iterator<Item = u8>, now: u64) -> Option<u64> {
        let mut earliest = NEVER;
        for class in classes {
            earliest = earliest.min(self.grant_class(output, class, now)?);
        }
        Some(earliest)
    }

    /// Sends a packet of a class: `None`. If none can be sent, when to ask again.
    fn grant_class(&mut self, output: u32, class: u8, now: u64) -> Option<u64> {
        let last = self.ring(output, class);
        if last == NONE {
            return Some(NEVER);
        }
        let (mut before, mut earliest) = (last, NEVER);
        loop {
            let at = self.router.requesters[before].next;
            let index = self.router.requesters[at].head;
            match self.eligible(output, index, now) {
                Ok(lane) => {
                    self.serve(output, class, before, at, lane, now);
                    return None;
                }
                Err(again) => earliest = earliest.min(again),
            }
            if at == last {
                return Some(earliest);
            }
            before = at;
        }
    }

    /// Sends the first packet of requester `at`, which then is last in turn.
    pub(super) fn serve(&mut self, output: u32, class: u8, before: u32, at: u32, lane: u8, now: u64) {
        let index = self.router.requesters[at].head;
        let (size, mut next) = (self.packets[index].size, self.packets[index].next);
        let mut fresh = 0;
        // The next packet of an interface takes the place of this one. With weights its class begins to wait
        // anew.
        let refills = self.is_interface(output) && self.router.served.is_empty();
        if refills && let Some(cut) = self.cut(output, class, now) {
            (next, fresh) = (cut, self.packets[cut].size);
        }
        let waits = &mut self.at.waits[self.at.ports[output].waits()];
        waits.queued = waits.queued + fresh - size;
        if next != NONE {
            let requester = &mut self.router.requesters[at];
            requester.head = next;
            if fresh != 0 {
                requester.tail = next;
            }
            self.set_ring(output, class, at);
        } else {
            let after = self.router.requesters[at].next;
            self.router.requesters[before].next = after;
            self.set_ring(output, class, if before == at { NONE } else { before });
            self.router.requesters.remove(at);
        }
        if let Classes::Weighted(weights) = &self.fabric.switching.classes {
            let weight = u64::from(weights[class as usize]);
            self.router.served[output as usize * weights.len() + class as usize] +=
                u64::from(size) * 1000 / weight;
        }
        self.settle(output);
        self.transmit(output, index, lane, now);
        if !refills && self.is_interface(output) {
            self.refill(output, class, now);
        }
    }

    /// Returns the last requester of a class that waits at a port; `NONE` if there is none.
    #[inline]
    pub(super) fn ring(&self, port: u32, class: u8) -> u32 {
        if class != 0 {
            return self.router.more_rings[self.more_ring(port, class)];
        }
        let waits = self.at.ports[port].waits();
        if waits == NONE { NONE } else { self.at.waits[waits].ring }
    }

    /// Sets the last requester of a class. Something must wait at the port.
    #[inline]
    fn set_ring(&mut self, port: u32, class: u8, ring: u32) {
        if class == 0 {
            self.at.waits[self.at.ports[port].waits()].ring = ring;
        } else {
            let index = self.more_ring(port, class);
            self.router.more_rings[index] = ring;
        }
    }

    #[inline]
    fn more_ring(&self, port: u32, class: u8) -> usize {
        port as usize * (self.fabric.switching.classes.count() as usize - 1) + class as usize - 1
    }

    /// Removes a port's `Waits` once nothing waits and no `Grant` is to come.
    #[inline]
    fn settle(&mut self, port: u32) {
        let port = &mut self.at.ports[port];
        let place = port.waits();
        if place != NONE && self.at.waits[place].queued == 0 && self.at.waits[place].wake == NEVER {
            self.at.waits.remove(place);
            port.set_waits(NONE);
        }
    }
}
