//! Messages of a schedule that leave for a member on another process.

use crate::agent::{Agent, buffer_of};
use crate::instance::Collectives;
use crate::remote::kind::CollectiveRecordKind;
use crate::remote::spread::Ident;
use engine::Time;
use engine::record::Put;
use p2p::Messages;
use p2p::fabric::Departure;
use p2p::remote::shared::Way;
use schedule::{Buffer, Slice};

/// Last part of a record that carries a schedule's message.
#[derive(Clone, Copy)]
pub(super) enum RecordBody {
    Nothing = 0,
    /// The packed bytes.
    Data = 1,
    /// The rank for want of whose data there are none.
    Missing = 2,
}

impl Collectives {
    /// A message of a schedule leaves for a member on another process.
    // Each message names the call: a process whose members called something else finds out by the first that
    // it gets.
    pub(crate) fn agent_send_away(
        &mut self,
        messages: &mut Messages,
        index: u32,
        agent: &mut Agent,
        to: u32,
        target: u32,
        from: Slice,
    ) {
        let way = messages.fabric().way(agent.rank, target, from.bytes, agent.clock);
        let instance = self.instance(index);
        let ident = instance.ident.expect("a member is elsewhere");
        let signature = instance.describe().0;
        let carries = messages.payloads().are_carried()
            && from.buffer != Buffer::Nothing
            && from.bytes != 0
            && agent.covers(from);
        let missing = agent.missing.map(u32::to_le_bytes);
        let (content, payload) = match &missing {
            None if carries => (RecordBody::Data, buffer_of(agent, from)),
            None => (RecordBody::Nothing, &[][..]),
            Some(rank) => (RecordBody::Missing, &rank[..]),
        };
        let write = |out: &mut Vec<u8>, at: Time| {
            out.u64(at.as_ps());
            ident.put(out);
            [to, agent.member.rank, agent.round()].into_iter().for_each(|word| out.u32(word));
            out.u64(from.bytes);
            out.u8(content as u8);
            out.u8(signature.kind as u8);
            out.u32(signature.root.unwrap_or(u32::MAX));
            out.u32(signature.function.into());
            out.extend_from_slice(payload);
        };
        match way {
            // In place: most steps go this way, and their payload is copied once.
            Way::Arrives(at) => {
                let remote = messages.peers_mut().remote_mut().expect("several processes");
                let process = remote.blocks.process(target);
                let length = Ident::BYTES + 3 * 4 + 2 * 8 + 1 + 1 + 4 + 4 + payload.len();
                write(remote.streams.begin(process, CollectiveRecordKind::Step.kind(), at, length), at);
                remote.streams.end();
            }
            Way::Leaves(..) => {
                let mut body = Vec::new();
                write(&mut body, Time::MAX);
                messages.departures().send_on_way(
                    Departure::Own,
                    (agent.rank, target),
                    CollectiveRecordKind::Step.kind(),
                    way,
                    body,
                );
            }
        }
    }
}
