//! The way of a message's type: from its send, with it, to the receive that it is compared with.

use super::sends::{Sends, SentMessage};
use super::{Types, Unit, Use};
use crate::peers::Peers;
use crate::point_to_point::Buffer;
use crate::ranks::Ranks;
use crate::remote::record::{Put, Take};
use crate::watch::Watch;
use engine::Time;
use matcher::Matcher;
use objects::Objects;
use objects::datatype::Signature;
use recorder::{Finding, Party};

/// Bytes that a message's record has more while types are compared.
const TOLD: usize = 3 * 8 + 1 + 3 * 4;

impl Watch {
    /// Compares the types of messages from now on. The run has not begun.
    pub(crate) fn compare_types(&mut self) {
        self.noted = true;
        self.types = Some(Box::default());
    }

    /// The mounted rank begins a call at this place, as recorders number places.
    #[inline]
    pub fn call_from(&mut self, site: u32) {
        if let Some(types) = &mut self.types {
            types.site = site;
            types.sends.begin();
        }
    }

    /// Returns `true` if anything was found.
    #[inline]
    pub fn has_findings(&self) -> bool {
        self.types.as_ref().is_some_and(|types| !types.found.is_empty())
    }

    /// Returns what was found since this was last asked.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        self.types.as_mut().map(|types| std::mem::take(&mut types.found)).unwrap_or_default()
    }

    #[inline]
    pub(super) fn use_of(&mut self, ranks: &Ranks, objects: &Objects, datatype: usize) -> Option<Use> {
        let rank = ranks.me();
        let function = ranks.strand().function() & !crate::ranks::FAILED_POLL;
        let types = self.types.as_mut()?;
        Some(Use { unit: types.number_of(objects, datatype), rank, site: types.site, number: 0, function })
    }

    /// The mounted rank sends a message from this buffer, which is delivered next.
    #[inline]
    pub(crate) fn note_sent_type(&mut self, ranks: &Ranks, objects: &Objects, buffer: Buffer) {
        let sending = self.use_of(ranks, objects, buffer.2);
        if let (Some(types), Some(sending)) = (&mut self.types, sending) {
            types.sending = sending;
        }
    }

    /// Forgets the type of the messages that are delivered next: chapters send them.
    #[inline]
    pub(crate) fn forget_sent_type(&mut self) {
        if let Some(types) = &mut self.types {
            types.sending = Use::default();
        }
    }

    /// Forgets the type of the message in this node: a receive gave it back, whose type is not what it was
    /// sent as.
    pub fn forget_type_of(&mut self, node: u32) {
        if let Some(types) = &mut self.types {
            types.keep(node, Use::default());
        }
    }

    /// The mounted rank receives into this buffer, with the receive in this node.
    #[inline]
    pub(crate) fn note_received_type(&mut self, ranks: &Ranks, objects: &Objects, node: u32, buffer: Buffer) {
        let receives = self.use_of(ranks, objects, buffer.2);
        if let (Some(types), Some(receives)) = (&mut self.types, receives) {
            types.keep(node, receives);
        }
    }

    /// The message that is being delivered is in this node.
    #[inline]
    pub(crate) fn keep_type(&mut self, node: u32) {
        if let Some(types) = &mut self.types {
            let mut sending = types.sending;
            // Messages within collectives are no sends of the program.
            if sending.unit != 0 {
                sending.number = types.sends.sent(node);
            }
            types.keep(node, sending);
        }
    }

    /// Compares a receive with the message that it takes: both nodes are as they were. Returns the sender
    /// that waited for that.
    #[inline]
    pub(crate) fn compare_met(
        &mut self,
        (ranks, peers): (&Ranks, &Peers),
        matcher: &Matcher,
        receive: u32,
        message: u32,
    ) -> Option<u32> {
        let types = self.types.as_mut()?;
        let sender = types.sends.met(message);
        // No number: a receive has met it.
        if let Some(sent) = types.nodes.get_mut(message as usize) {
            sent.number = 0;
        }
        let of = |node: u32| types.nodes.get(node as usize).map_or(0, |what| what.unit);
        if of(receive) != of(message) {
            self.compare_units(
                (ranks, peers),
                receive,
                message,
                (matcher[message].bytes, matcher[receive].bytes),
            );
        }
        sender
    }

    #[cold]
    #[inline(never)]
    fn compare_units(
        &mut self,
        (ranks, peers): (&Ranks, &Peers),
        receive: u32,
        message: u32,
        (bytes, room): (u64, u64),
    ) {
        // What is too long is an error of the receive's own.
        if bytes == 0 || bytes > room {
            return;
        }
        let Some(types) = &self.types else { return };
        let of = |node: u32| types.nodes.get(node as usize).copied().unwrap_or_default();
        let (receives, sent) = (of(receive), of(message));
        if receives.unit == 0 || sent.unit == 0 {
            return;
        }
        let (to, from) = (types.units[receives.unit as usize - 1], types.units[sent.unit as usize - 1]);
        if from.matches(&to, bytes) {
            return;
        }
        let finding = Finding::Types {
            receive: (party(ranks, peers, receives), to.called()),
            send: (party(ranks, peers, sent), from.called()),
        };
        if let Some(types) = &mut self.types {
            types.found.push(finding);
        }
    }

    /// Returns `true` if the types of messages are compared.
    #[inline(always)]
    pub fn compares_types(&self) -> bool {
        self.types.is_some()
    }

    /// Returns the sends whose messages no receive has met, while they are checked.
    pub(crate) fn checked_sends(&self) -> Option<&Sends> {
        self.types.as_ref().map(|types| &types.sends)
    }

    /// [`Watch::checked_sends`], to change.
    pub(crate) fn sends(&mut self) -> Option<&mut Sends> {
        self.types.as_mut().map(|types| &mut types.sends)
    }

    /// Lets a rank wait for the receive of a message to `to`. Returns `false` if a receive has met it.
    pub fn wait_for_receive(&mut self, message: SentMessage, to: u32, rank: (u32, Time)) -> bool {
        let Some(Types { sends, nodes, .. }) = self.types.as_deref_mut() else { return false };
        let waits = message.is_there(|node| nodes.get(node as usize).map(|sent| sent.number));
        if waits {
            sends.wait_for(message, to, rank);
        }
        waits
    }

    /// Reports that the message of `rank` in this node needed a buffer: `waits` says what ranks would wait
    /// for without.
    pub(crate) fn report_unbuffered(
        &mut self,
        (ranks, peers): (&Ranks, &Peers),
        rank: u32,
        node: u32,
        waits: &str,
    ) {
        let Some(types) = &mut self.types else { return };
        let sent = types.nodes.get(node as usize).copied().unwrap_or(Use { rank, ..Use::default() });
        types.found.push(Finding::Unbuffered { send: party(ranks, peers, sent), waits: waits.to_owned() });
    }

    /// Returns the bytes that a message's record has for its type.
    pub(crate) fn told_type(&self) -> usize {
        if self.types.is_some() { TOLD } else { 0 }
    }

    /// Returns what a message that leaves for another process was sent as, for its record.
    // By value: units have other numbers there.
    pub(crate) fn type_to_tell(&self) -> Option<TypeTold> {
        let types = self.types.as_ref()?;
        let sending = types.sending;
        let unit = sending.unit.checked_sub(1).map(|at| types.units[at as usize]);
        Some(TypeTold { unit, sending })
    }

    /// Decodes the type of a message from another process, whose record follows.
    pub(crate) fn type_arrived(&mut self, sender: u32, record: &mut Take) {
        let Some(types) = &mut self.types else { return };
        let (hash, power, size) = (record.u64(), record.u64(), record.u64());
        let raw = record.u8() != 0;
        let (name, site, function) = (record.i32(), record.u32(), record.u32() as u16);
        let unit = if size == 0 {
            0
        } else {
            types.number(Unit { signature: Signature::from_parts(hash, power, raw), size, name })
        };
        types.sending = Use { unit, rank: sender, site, number: 0, function };
    }
}

/// Returns who acted, for a finding.
pub(super) fn party(ranks: &Ranks, peers: &Peers, what: Use) -> Party {
    let process =
        peers.remote().map(|remote| remote.blocks.process(what.rank)).filter(|_| !ranks.is_local(what.rank));
    Party { rank: what.rank, function: ranks.function_name(what.function), site: what.site, process }
}

/// Type of a message and details of its send, on the way to another process.
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
