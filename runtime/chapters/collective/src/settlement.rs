//! Settlement of what the members of an instance agree on, once all have contributed.

use crate::agreement::{Agreement, Contribution, Resolve, mismatch_among, refused_among};
use crate::instance::Collectives;
use objects::Objects;
use p2p::Messages;

impl Collectives {
    /// Adds a member's part to an agreement, and makes the outcome if it is the last one.
    pub(crate) fn contribute_to_agreement(
        &mut self,
        messages: &Messages,
        objects: &mut Objects,
        index: u32,
        member: u32,
        (contribution, resolve): (Contribution, Resolve),
        complete: bool,
    ) {
        let me = messages.me();
        let instance = self.instance_mut(index);
        let agreement = instance.agreement.get_or_insert_with(|| Agreement::new(resolve));
        agreement.contributions.push((member, me, contribution));
        if complete {
            self.settle_agreement(messages, objects, index);
        }
    }

    /// All members are in: what they agree on.
    // By member and not by time of entry, which the host's order of running may change.
    pub(super) fn settle_agreement(&mut self, messages: &Messages, objects: &mut Objects, index: u32) {
        self.contribute_refusals(index);
        let instance = self.instance_mut(index);
        let agreement = instance.agreement.as_mut().expect("members have contributed");
        let mut contributions = std::mem::take(&mut agreement.contributions);
        contributions.sort_by_key(|(member, ..)| *member);
        let (resolve, comm) = (agreement.resolve, instance.comm());
        let outcome = match refused_among(&contributions).or_else(|| mismatch_among(&contributions)) {
            Some(failure) => Err(failure),
            None => resolve(&mut self.bridges, messages, objects, comm, contributions),
        };
        self.instance_mut(index).agreement.as_mut().expect("used above").outcome = Some(outcome);
    }

    /// Contributes to the agreement for members that were refused: all members of this process are in.
    pub(crate) fn contribute_refusals(&mut self, index: u32) {
        let instance = self.instance_mut(index);
        let Some(Agreement { contributions, .. }) = &mut instance.agreement else { return };
        let refused = instance.agents.iter().flatten().filter(|agent| agent.refused);
        contributions.extend(refused.map(|agent| (agent.member.rank, agent.rank, Contribution::Refused)));
    }
}
