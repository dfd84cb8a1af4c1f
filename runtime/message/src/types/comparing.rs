//! The way of a message's type: from its send, with it, to the receive that it is compared with.

use super::{Unit, Use};
use crate::messages::Messages;
use crate::p2p::Buffer;
use crate::remote::record::{Put, Take};
use objects::Objects;
use objects::datatype::Signature;
use observe::recorder::{Finding, Party};

/// Bytes that a message's record has more while types are compared.
const TOLD: usize = 3 * 8 + 1 + 3 * 4;

impl Messages {
    /// From now on the types of messages are compared; the run has not begun.
    pub fn compare_types(&mut self) {
        self.wire.plain = false;
        self.plain_receives = false;
        self.noted = true;
        self.types = Some(Box::default());
    }

    /// The mounted rank begins a call at this place, as recorders number places.
    #[inline]
    pub fn call_from(&mut self, site: u32) {
        if let Some(types) = &mut self.types {
            types.site = site;
        }
    }

    /// Whether anything was found.
    #[inline]
    pub fn has_findings(&self) -> bool {
        self.types.as_ref().is_some_and(|types| !types.found.is_empty())
    }

    /// What was found since this was last asked.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        self.types.as_mut().map(|types| std::mem::take(&mut types.found)).unwrap_or_default()
    }

    #[inline]
    pub(super) fn use_of(&mut self, objects: &Objects, datatype: usize) -> Option<Use> {
        let rank = self.current;
        let function = self.ranks[rank as usize].function & !crate::messages::FAILED_POLL;
        let types = self.types.as_mut()?;
        Some(Use { unit: types.number_of(objects, datatype), rank, site: types.site, function })
    }

    /// The mounted rank sends a message from this buffer, which is delivered next.
    #[inline]
    pub(crate) fn note_sent_type(&mut self, objects: &Objects, buffer: Buffer) {
        let sending = self.use_of(objects, buffer.2);
        if let (Some(types), Some(sending)) = (&mut self.types, sending) {
            types.sending = sending;
        }
    }

    /// Nothing is known of the messages that are delivered next: chapters send them.
    #[inline]
    pub(crate) fn forget_sent_type(&mut self) {
        if let Some(types) = &mut self.types {
            types.sending = Use::default();
        }
    }

    /// The message in this node was given back by a receive, whose type is not what it was sent as.
    pub fn forget_type_of(&mut self, node: u32) {
        if let Some(types) = &mut self.types {
            types.keep(node, Use::default());
        }
    }

    /// The mounted rank receives into this buffer, with the receive in this node.
    #[inline]
    pub(crate) fn note_received_type(&mut self, objects: &Objects, node: u32, buffer: Buffer) {
        let receives = self.use_of(objects, buffer.2);
        if let (Some(types), Some(receives)) = (&mut self.types, receives) {
            types.keep(node, receives);
        }
    }

    /// The message that is being delivered is in this node.
    #[inline]
    pub(crate) fn keep_type(&mut self, node: u32) {
        if let Some(types) = &mut self.types {
            let sending = types.sending;
            types.keep(node, sending);
        }
    }

    /// The receive meets the message: both nodes are as they were.
    #[inline]
    pub(crate) fn compare_met(&mut self, receive: u32, message: u32) {
        let Some(types) = &self.types else { return };
        let of = |node: u32| types.nodes.get(node as usize).map_or(0, |what| what.unit);
        if of(receive) != of(message) {
            self.compare_units(receive, message);
        }
    }

    #[cold]
    #[inline(never)]
    fn compare_units(&mut self, receive: u32, message: u32) {
        let bytes = self.nodes[message].bytes;
        // What is too long is an error of the receive's own.
        if bytes == 0 || bytes > self.nodes[receive].bytes {
            return;
        }
        let Some(types) = &self.types else { return };
        let of = |node: u32| types.nodes.get(node as usize).copied().unwrap_or_default();
        let (room, sent) = (of(receive), of(message));
        if room.unit == 0 || sent.unit == 0 {
            return;
        }
        let (to, from) = (types.units[room.unit as usize - 1], types.units[sent.unit as usize - 1]);
        if from.matches(&to, bytes) {
            return;
        }
        let finding = Finding::Types { receive: (self.party(room), to.called()), send: (self.party(sent), from.called()) };
        if let Some(types) = &mut self.types {
            types.found.push(finding);
        }
    }

    pub(super) fn party(&self, what: Use) -> Party {
        let process = self.remote.as_ref().map(|remote| remote.blocks.process(what.rank)).filter(|_| !self.is_local(what.rank));
        Party { rank: what.rank, function: self.function_name(what.function), site: what.site, process }
    }

    /// Bytes that a message's record has for its type.
    pub(crate) fn told_type(&self) -> usize {
        if self.types.is_some() { TOLD } else { 0 }
    }

    /// What a message that leaves for another process was sent as, for its record.
    // By value: units have other numbers there.
    pub(crate) fn type_to_tell(&self) -> Option<TypeTold> {
        let types = self.types.as_ref()?;
        let sending = types.sending;
        let unit = sending.unit.checked_sub(1).map(|at| types.units[at as usize]);
        Some(TypeTold { unit, sending })
    }

    /// What a message from another process was sent as; its record follows.
    pub(crate) fn type_arrived(&mut self, sender: u32, record: &mut Take) {
        let Some(types) = &mut self.types else { return };
        let (hash, power, size) = (record.u64(), record.u64(), record.u64());
        let raw = record.u8() != 0;
        let (name, site, function) = (record.i32(), record.u32(), record.u32() as u16);
        let unit = if size == 0 { 0 } else { types.number(Unit { signature: Signature::from_parts(hash, power, raw), size, name }) };
        types.sending = Use { unit, rank: sender, site, function };
    }
}

/// What a message was sent as, on its way to another process.
pub(crate) struct TypeTold {
    unit: Option<Unit>,
    sending: Use,
}

impl TypeTold {
    pub(crate) fn put(&self, out: &mut impl Put) {
        let unit = self.unit.unwrap_or(Unit { signature: Signature::EMPTY, size: 0, name: 0 });
        let (hash, power, raw) = unit.signature.parts();
        for number in [hash, power, unit.size] {
            out.u64(number);
        }
        out.u8(raw.into());
        out.i32(unit.name);
        out.u32(self.sending.site);
        out.u32(self.sending.function.into());
    }
}
