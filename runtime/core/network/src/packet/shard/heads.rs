//! Inputs' next packets, or flits, after the first has left.

use super::Shard;
use crate::packet::slab::NONE;

impl Shard {
    /// The next packet of a virtual channel asks for an output.
    pub(super) fn follow(&mut self, input: u32, lane: u32, now: u64) {
        if self.arbitration.wormhole.is_some() {
            return self.flit_arrives(input, lane, now);
        }
        let place = self.fifo(input, lane as u8);
        let fifo = &mut self.arbitration.fifos[place];
        let index = fifo.head;
        debug_assert!(index != NONE && !fifo.asks);
        fifo.head = self.packets[index].next;
        fifo.asks = true;
        self.forward(input, index, now);
    }
}
