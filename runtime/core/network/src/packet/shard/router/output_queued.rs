//! Output queues: an input sends to any number of outputs at a time, and a packet waits for its output alone.

use super::ShardSize;
use crate::packet::fabric::{PacketFabric, Switching};
use crate::packet::port::TO_ENDPOINT;
use crate::packet::shard::Shard;
use crate::packet::shard::packet_switch::{PacketSwitch, Queueing};

/// Rules of output queues, which have no state but that of all packet switches.
pub(crate) struct OutputQueued {
    /// `true` with one virtual channel, which is decided quickly.
    is_plain: bool,
    /// `true` if an output takes packets ahead: not with classes, where the next packet is chosen when the
    /// link is free.
    takes_ahead: bool,
}

impl Queueing for OutputQueued {
    fn fits(switching: &Switching) -> bool {
        !switching.crossbar
    }

    fn new(fabric: &PacketFabric, _: ShardSize) -> OutputQueued {
        let switching = &fabric.switching;
        OutputQueued { is_plain: switching.lanes == 1, takes_ahead: switching.classes.count() == 1 }
    }

    #[inline(always)]
    fn lane_at_once(shard: &Shard<PacketSwitch<Self>>, output: u32, packet: u32, now: u64) -> Option<u8> {
        let port = &shard.at.ports[output];
        let PacketSwitch { queueing, times, .. } = &shard.router;
        let is_free = shard.nobody_waits(output)
            && (port.busy <= now
                || queueing.takes_ahead && port.busy - now <= times[shard.kind_of(output) as usize].output);
        if !is_free {
            return None;
        }
        if queueing.is_plain {
            let (packet, switching) = (&shard.packets[packet], &shard.fabric.switching);
            let bubble = if packet.bubble.is_set() { switching.packet() } else { 0 };
            let need = switching.charge(packet.size) + bubble;
            (port.end() == TO_ENDPOINT || port.first_lane.has(need, now)).then_some(0)
        } else {
            shard.eligible(output, packet, now).ok()
        }
    }
}
