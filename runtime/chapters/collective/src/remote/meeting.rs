//! Agreement on new communicators between members on several processes.
//!
//! Each process tells the contributions of its members to the process of the first member. When that one has
//! all of them it makes the communicators, and tells all contributions and the first context to the others,
//! which make the same in the same order.

use crate::agreement::Contributions;
use crate::agreement::refused_among;
use crate::instance::Collectives;
use crate::membership::member_rank;
use crate::remote::contribution::{decode, encode};
use crate::remote::kind::CollectiveRecordKind;
use crate::remote::spread::Ident;
use engine::record::{Put, Take};
use objects::Objects;
use p2p::Messages;

impl Collectives {
    /// Sends the contributions of the local members, which have all entered, to the process of the first
    /// member.
    pub(crate) fn contribute(&mut self, messages: &mut Messages, objects: &mut Objects, index: u32) {
        self.contribute_refusals(index);
        let instance = self.instance_mut(index);
        let ident = instance.ident.expect("spread over processes");
        let (size, place) = (instance.size, instance.place.clone());
        let contributions =
            std::mem::take(&mut instance.agreement.as_mut().expect("an agreement").contributions);
        let first = member_rank(objects, &place, 0, messages.me());
        let remote = messages.peers_mut().others();
        let process = remote.blocks.process(first);
        if process == remote.me {
            self.met(messages, objects, ident, size, contributions);
            return;
        }
        let mut body = Vec::new();
        ident.put(&mut body);
        body.u32(size);
        encode(&contributions, &mut body);
        remote.streams.put(process, CollectiveRecordKind::Contributions.kind(), &body);
    }

    pub(crate) fn contributions_arrived(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        mut record: Take,
    ) {
        let ident = Ident::take(&mut record);
        let size = record.u32();
        let contributions = decode(&mut record);
        self.met(messages, objects, ident, size, contributions);
    }

    // One process must draw the first context, for every member's messages to match; the others continue from
    // it in the same order, so that any number of communicators costs one word.
    fn met(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        ident: Ident,
        size: u32,
        mut contributions: Contributions,
    ) {
        let meeting = self.spread.meetings.entry(ident).or_default();
        meeting.contributions.append(&mut contributions);
        if meeting.contributions.len() < size as usize {
            return;
        }
        let mut contributions = self.spread.meetings.remove(&ident).expect("found above").contributions;
        contributions.sort_by_key(|(member, ..)| *member);
        let context = objects.comms.next_context();
        let mut body = Vec::new();
        ident.put(&mut body);
        body.u32(context);
        encode(&contributions, &mut body);
        let remote = messages.peers_mut().others();
        let mut processes: Vec<u32> =
            contributions.iter().map(|(_, rank, _)| remote.blocks.process(*rank)).collect();
        processes.sort_unstable();
        processes.dedup();
        for process in processes.into_iter().filter(|&process| process != remote.me) {
            remote.streams.put(process, CollectiveRecordKind::Outcome.kind(), &body);
        }
        self.resolve(messages, objects, ident, None, contributions);
    }

    pub(crate) fn outcome_arrived(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        mut record: Take,
    ) {
        let ident = Ident::take(&mut record);
        let context = record.u32();
        let contributions = decode(&mut record);
        self.resolve(messages, objects, ident, Some(context), contributions);
    }

    fn resolve(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        ident: Ident,
        context: Option<u32>,
        contributions: Contributions,
    ) {
        let index = *self.spread.instances.get(&ident).expect("its members wait for the outcome");
        let comm = self.instance(index).comm();
        let resolve = self.instance(index).agreement.as_ref().expect("an agreement").resolve;
        // Restored afterwards: the contexts that this process hands out itself are its own series.
        let before = objects.comms.continue_contexts(context);
        let outcome = match refused_among(&contributions) {
            Some(failure) => Err(failure),
            None => resolve(&mut self.bridges, messages, objects, comm, contributions),
        };
        objects.comms.restore_contexts(before);
        let instance = self.instance_mut(index);
        instance.agreement.as_mut().expect("an agreement").outcome = Some(outcome);
        if instance.gathering.is_some() {
            self.advance_distributed(messages, objects, index);
            return;
        }
        let members: Vec<u32> =
            (0..instance.size).filter(|&member| instance.agents[member as usize].is_some()).collect();
        members.into_iter().for_each(|member| self.mark_movable(index, member));
    }
}
