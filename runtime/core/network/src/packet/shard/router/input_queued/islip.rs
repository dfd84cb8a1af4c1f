//! Routers that match inputs and outputs once a cycle: one iteration of iSLIP (McKeown, "The iSLIP scheduling
//! algorithm for input-queued switches", IEEE/ACM Transactions on Networking 7, 1999).
//!
//! Each free output grants to the first input with a packet for it, from the one after its last match on;
//! each input accepts the first grant, counted likewise. What was granted and not accepted stays unused in
//! this cycle.

use super::InputQueued;
use crate::packet::event::EventKind;
use crate::packet::port::NEVER;
use crate::packet::shard::Shard;
use crate::packet::shard::packet_switch::PacketSwitch;
use crate::packet::slab::NONE;

/// State of the matching of all routers.
pub(super) struct Matching {
    /// Picoseconds.
    cycle: u64,
    /// When each router's next matching is.
    next: Vec<u64>,
    /// For each port as an output the input that is next in turn, and as an input the output.
    grant: Vec<u32>,
    accept: Vec<u32>,
    /// The best grant to each input of the router at work.
    grants: Vec<Option<Grant>>,
}

/// An output's grant: to the requester after `before`, by virtual channel `lane`.
#[derive(Clone, Copy)]
struct Grant {
    /// Turns that the input's pointer is away from the output.
    turns: u32,
    output: u32,
    before: u32,
    at: u32,
    lane: u8,
}

impl Matching {
    pub(super) fn new(cycle: u64, routers: usize, ports: usize) -> Matching {
        Matching {
            cycle,
            next: vec![NEVER; routers],
            grant: vec![0; ports],
            accept: vec![0; ports],
            grants: Vec::new(),
        }
    }
}

impl Shard<PacketSwitch<InputQueued>> {
    /// Makes sure that the router of `output` matches in the first cycle from `at` on.
    #[inline(always)]
    pub(super) fn schedule_match(&mut self, output: u32, at: u64) {
        let (router, local) = self.fabric.stride.split(output);
        let Some(matching) = &mut self.router.queueing.matching else { return };
        let at = at.div_ceil(matching.cycle).saturating_mul(matching.cycle);
        let next = &mut matching.next[router as usize];
        if at < *next {
            *next = at;
            self.push(at, EventKind::Cycle, output - local, 0);
        }
    }

    /// Matches inputs and outputs of the router whose first port is `base`.
    pub(super) fn match_all(&mut self, base: u32, now: u64) {
        let stride = self.fabric.stride.divisor();
        let router = (base / stride) as usize;
        let Some(mut matching) = self.router.queueing.matching.take() else { return };
        if matching.next[router] != now {
            // It was brought forward, and has happened.
            self.router.queueing.matching = Some(matching);
            return;
        }
        matching.next[router] = NEVER;
        matching.grants.clear();
        matching.grants.resize(stride as usize, None);
        let mut again = NEVER;
        for output in base..base + stride {
            again = again.min(self.grant_match(&mut matching, base, output, now));
        }
        let grants = std::mem::take(&mut matching.grants);
        for (input, grant) in grants.iter().enumerate() {
            let Some(grant) = grant else { continue };
            matching.grant[grant.output as usize] = (input as u32 + 1) % stride;
            matching.accept[base as usize + input] = (grant.output - base + 1) % stride;
        }
        let cycle = matching.cycle;
        self.router.queueing.matching = Some(matching);
        for grant in grants.iter().flatten() {
            self.serve(grant.output, 0, grant.before, grant.at, grant.lane, now);
            if !self.nobody_waits(grant.output) {
                again = again.min(self.at.ports[grant.output].busy);
            }
        }
        if let Some(matching) = &mut self.router.queueing.matching {
            matching.grants = grants;
        }
        if again != NEVER {
            self.schedule_match(base, again.max(now + cycle));
        }
    }

    /// Makes an output's grant, noted at the input if it is the best there. Returns when the output has to be
    /// looked at again (`NEVER`: when a credit or a packet comes).
    fn grant_match(&self, matching: &mut Matching, base: u32, output: u32, now: u64) -> u64 {
        let last = self.ring(output, 0);
        if last == NONE {
            return NEVER;
        }
        let busy = self.at.ports[output].busy;
        if busy > now {
            return busy;
        }
        let stride = self.fabric.stride.divisor();
        let pointer = matching.grant[output as usize];
        let mut best: Option<(u32, u32, Grant)> = None;
        let (mut before, mut again) = (last, NEVER);
        loop {
            let at = self.router.requesters[before].next;
            let index = self.router.requesters[at].head;
            match self.eligible(output, index, now) {
                Ok(lane) => {
                    let input = self.input_of(self.packets[index].upstream) - base;
                    let turns = (input + stride - pointer) % stride;
                    if best.is_none_or(|(_, least, _)| turns < least) {
                        let away =
                            (output - base + stride - matching.accept[(base + input) as usize]) % stride;
                        best = Some((input, turns, Grant { turns: away, output, before, at, lane }));
                    }
                }
                Err(when) => again = again.min(when),
            }
            if at == last {
                break;
            }
            before = at;
        }
        if let Some((input, _, grant)) = best {
            // Whoever is not accepted asks again in the next cycle.
            again = now;
            let slot = &mut matching.grants[input as usize];
            if slot.is_none_or(|other| grant.turns < other.turns) {
                *slot = Some(grant);
            }
        }
        again
    }
}
