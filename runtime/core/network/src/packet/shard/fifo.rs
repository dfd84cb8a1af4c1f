//! Inputs with one queue a virtual channel: its first packet holds up those behind it, whatever their
//! outputs.

use super::Shard;
use crate::packet::event::EventKind;
use crate::packet::slab::NONE;

impl Shard {
    pub(super) fn fifo(&self, input: u32, lane: u8) -> usize {
        input as usize * self.fabric.switching.lanes as usize + lane as usize
    }

    /// Returns `true` if a packet that arrives can ask for an output at once. If not, it has been queued.
    pub(super) fn is_first(&mut self, input: u32, index: u32, now: u64) -> bool {
        let lane = self.packets[index].lane;
        let place = self.fifo(input, lane);
        let fifo = &mut self.arbitration.fifos[place];
        if !fifo.asks && fifo.free_at <= now && fifo.head == NONE {
            fifo.asks = true;
            return true;
        }
        self.packets[index].next = NONE;
        let tail = std::mem::replace(&mut fifo.tail, index);
        if fifo.head != NONE {
            self.packets[tail].next = index;
            return false;
        }
        fifo.head = index;
        let (asks, free_at) = (fifo.asks, fifo.free_at);
        if !asks {
            self.push(free_at, EventKind::Head, input, u32::from(lane));
        }
        false
    }

    /// The packet of a virtual channel that asked for an output has got it.
    pub(super) fn leave(&mut self, input: u32, lane: u8, now: u64) {
        if self.arbitration.fifos.is_empty() {
            return;
        }
        let place = self.fifo(input, lane);
        let fifo = &mut self.arbitration.fifos[place];
        fifo.asks = false;
        fifo.free_at = now + self.rules.turnaround;
        if fifo.head != NONE {
            let free_at = fifo.free_at;
            self.push(free_at, EventKind::Head, input, u32::from(lane));
        }
    }
}
