//! The messages that wait in an interface: in their order, or flow by flow in turn, a packet each.
//!
//! A flow is a pair of a source and a destination, as a queue pair of a real interface is. Most interfaces
//! have one flow at a time: its messages are a list in the queue itself. A second flow moves both into a ring
//! of slots, with a map from flows to slots. Every operation is O(1).

use super::{Router, Shard};
use crate::packet::slab::{LargePageSlab, NONE};
use bytemuck::{Pod, Zeroable};
use rustc_hash::FxHashMap;

/// The messages of one class that wait in an interface. `head` is the message of which the next packet is
/// cut.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct FlowQueue {
    pub(super) head: u32,
    /// The last message, while `ring` is `NONE`.
    pub(super) tail: u32,
    /// The slot of the flow that was served last, where several flows wait.
    pub(super) ring: u32,
    unused: u32,
}

impl FlowQueue {
    pub(super) const EMPTY: FlowQueue = FlowQueue { head: NONE, tail: NONE, ring: NONE, unused: 0 };

    /// Returns the queue with one message.
    #[inline]
    pub(super) fn of(message: u32) -> FlowQueue {
        FlowQueue { head: message, tail: message, ..FlowQueue::EMPTY }
    }
}

/// A flow of an interface in which several wait.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
struct FlowSlot {
    flow: u64,
    /// The flow's first and last message.
    head: u32,
    tail: u32,
    /// The flow that is served after this one, in a circle.
    next: u32,
    unused: [u32; 3],
}

/// The flows of all interfaces in which several wait.
pub(super) struct FlowSlots {
    slots: LargePageSlab<FlowSlot>,
    /// The slot of each, by queue and flow.
    places: FxHashMap<(u32, u64), u32>,
}

impl FlowSlots {
    pub(super) fn new() -> FlowSlots {
        FlowSlots { slots: LargePageSlab::new(), places: FxHashMap::default() }
    }

    /// Inserts a flow with the messages from `head` to `tail` that is served after `last`, or alone in its
    /// ring if that is `NONE`.
    fn insert(&mut self, queue: usize, flow: u64, (head, tail): (u32, u32), last: u32) -> u32 {
        let slot = self.slots.insert(FlowSlot { flow, head, tail, next: NONE, unused: [0; 3] });
        let before = if last == NONE { slot } else { last };
        self.slots[slot].next = if last == NONE { slot } else { self.slots[before].next };
        self.slots[before].next = slot;
        self.places.insert((queue as u32, flow), slot);
        slot
    }

    fn remove(&mut self, queue: usize, slot: u32) {
        self.places.remove(&(queue as u32, self.slots[slot].flow));
        self.slots.remove(slot);
    }
}

impl<R: Router> Shard<R> {
    /// Appends a message to a queue that is not empty.
    #[inline]
    pub(super) fn append_message(&mut self, queue: usize, index: u32) {
        let FlowQueue { head, tail, ring, .. } = self.queues[queue];
        if self.rules.round_robin && (ring != NONE || self.messages[head].flow != self.messages[index].flow) {
            self.append_to_ring(queue, index);
            return;
        }
        self.messages[tail].next = index;
        self.queues[queue].tail = index;
    }

    /// Appends a message to its flow, where several wait. A flow that did not wait is served after all
    /// others.
    #[inline(never)]
    fn append_to_ring(&mut self, queue: usize, index: u32) {
        let FlowQueue { head, tail, ring, .. } = self.queues[queue];
        let flow = self.messages[index].flow;
        let flows = &mut self.flows;
        let ring = if ring == NONE {
            flows.insert(queue, self.messages[head].flow, (head, tail), NONE)
        } else {
            ring
        };
        self.queues[queue].ring = match flows.places.get(&(queue as u32, flow)) {
            Some(&slot) => {
                let tail = std::mem::replace(&mut flows.slots[slot].tail, index);
                self.messages[tail].next = index;
                ring
            }
            None => flows.insert(queue, flow, (index, index), ring),
        };
    }

    /// The flow that is served in a ring of several had a packet cut, the last of its first message if `next`
    /// is given, which is the message behind that or `NONE`. The next flow is served.
    #[inline(never)]
    pub(super) fn pass_turn(&mut self, queue: usize, next: Option<u32>) {
        let flows = &mut self.flows;
        let last = self.queues[queue].ring;
        let served = flows.slots[last].next;
        let ring = match next {
            Some(NONE) => {
                flows.slots[last].next = flows.slots[served].next;
                flows.remove(queue, served);
                last
            }
            Some(message) => {
                flows.slots[served].head = message;
                served
            }
            None => served,
        };
        let turn = flows.slots[ring].next;
        let FlowSlot { head, tail, .. } = flows.slots[turn];
        let is_alone = turn == ring;
        if is_alone {
            flows.remove(queue, turn);
        }
        self.queues[queue] = FlowQueue { head, tail, ring: if is_alone { NONE } else { ring }, unused: 0 };
    }
}
