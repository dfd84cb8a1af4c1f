//! Input queues: an input sends to one output at a time.
//!
//! An input has a queue for each output, or one for each virtual channel, whose first packet holds up those
//! behind it whatever their outputs. An output takes inputs in turn when its link is free, or all outputs of
//! a router are matched with inputs once a cycle.

mod islip;

use super::ShardSize;
use crate::packet::event::EventKind;
use crate::packet::fabric::{PacketFabric, Switching};
use crate::packet::port::{Fifo, Packet};
use crate::packet::shard::Shard;
use crate::packet::shard::packet_switch::{PacketSwitch, Queueing};
use crate::packet::slab::NONE;
use islip::Matching;

/// State of input queues.
pub(crate) struct InputQueued {
    /// When each input is free.
    busy: Vec<u64>,
    /// Virtual channels of each input, if they have one queue each.
    fifos: Option<VcFifos>,
    /// Cycles in which inputs and outputs are matched, if they are.
    matching: Option<Matching>,
}

/// Virtual channels of inputs with one queue each.
struct VcFifos {
    fifos: Vec<Fifo>,
    lanes: u32,
    /// Time from a packet's leaving until the next of its queue requests an output, in picoseconds.
    turnaround: u64,
}

impl VcFifos {
    fn at(&mut self, input: u32, lane: u8) -> &mut Fifo {
        &mut self.fifos[input as usize * self.lanes as usize + lane as usize]
    }
}

impl Queueing for InputQueued {
    fn fits(switching: &Switching) -> bool {
        switching.crossbar
    }

    fn new(fabric: &PacketFabric, size: ShardSize) -> InputQueued {
        let (switching, count) = (&fabric.switching, size.ports + size.interfaces);
        let lanes = switching.lanes;
        InputQueued {
            busy: vec![0; count],
            fifos: switching.fifo.map(|turnaround| VcFifos {
                fifos: vec![Fifo::EMPTY; count * lanes as usize],
                lanes,
                turnaround,
            }),
            matching: switching.cycle.map(|cycle| Matching::new(cycle, size.routers, size.ports)),
        }
    }

    fn routes_early(switching: &Switching) -> bool {
        switching.fifo.is_none()
    }

    #[inline]
    fn admits(shard: &mut Shard<PacketSwitch<Self>>, input: u32, packet: u32, now: u64) -> bool {
        let Some(fifos) = &mut shard.router.queueing.fifos else { return true };
        let lane = shard.packets[packet].lane;
        let fifo = fifos.at(input, lane);
        if !fifo.asks && fifo.free_at <= now && fifo.head == NONE {
            fifo.asks = true;
            return true;
        }
        shard.packets[packet].next = NONE;
        let tail = std::mem::replace(&mut fifo.tail, packet);
        if fifo.head != NONE {
            shard.packets[tail].next = packet;
            return false;
        }
        fifo.head = packet;
        let (asks, free_at) = (fifo.asks, fifo.free_at);
        if !asks {
            shard.push(free_at, EventKind::Head, input, u32::from(lane));
        }
        false
    }

    fn head(shard: &mut Shard<PacketSwitch<Self>>, input: u32, lane: u8, now: u64) {
        let Some(fifos) = &mut shard.router.queueing.fifos else { return };
        let fifo = fifos.at(input, lane);
        let packet = fifo.head;
        debug_assert!(packet != NONE && !fifo.asks);
        fifo.head = shard.packets[packet].next;
        fifo.asks = true;
        shard.forward(input, packet, now);
    }

    #[inline]
    fn lane_at_once(shard: &Shard<PacketSwitch<Self>>, output: u32, packet: u32, now: u64) -> Option<u8> {
        let is_free = !shard.router.queueing.has_cycles()
            && shard.nobody_waits(output)
            && shard.at.ports[output].busy <= now;
        if is_free { shard.eligible(output, packet, now).ok() } else { None }
    }

    #[inline]
    fn queue_of(&self, packet: &Packet) -> u64 {
        match self.fifos {
            Some(_) => u64::from(packet.lane),
            None => u64::from(packet.bubble.is_set()) << 8 | u64::from(packet.lanes[0]),
        }
    }

    #[inline]
    fn input_free_at(shard: &Shard<PacketSwitch<Self>>, upstream: u32) -> u64 {
        shard.router.queueing.busy[shard.input_of(upstream) as usize]
    }

    #[inline]
    fn leave_input(shard: &mut Shard<PacketSwitch<Self>>, upstream: u32, lane: u8, end: u64, now: u64) {
        let input = shard.input_of(upstream);
        let queueing = &mut shard.router.queueing;
        queueing.busy[input as usize] = end;
        let Some(fifos) = &mut queueing.fifos else { return };
        let free_at = now + fifos.turnaround;
        let fifo = fifos.at(input, lane);
        fifo.asks = false;
        fifo.free_at = free_at;
        if fifo.head != NONE {
            shard.push(free_at, EventKind::Head, input, u32::from(lane));
        }
    }

    #[inline]
    fn has_cycles(&self) -> bool {
        self.matching.is_some()
    }

    #[inline(always)]
    fn schedule_cycle(shard: &mut Shard<PacketSwitch<Self>>, output: u32, at: u64) {
        shard.schedule_match(output, at);
    }

    fn cycle(shard: &mut Shard<PacketSwitch<Self>>, base: u32, now: u64) {
        shard.match_all(base, now);
    }
}
