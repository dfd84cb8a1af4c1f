//! Collectives whose members are on several processes: their schedules run event by event, on each process
//! for its own members.
//!
//! All processes name an instance alike: by the context of its communicator and the number of the call.
//! Messages for an instance that no local member has entered yet are kept until one does.

use crate::calls::CallId;
use crate::instance::ArrivedMessage;
use crate::instance::Collectives;
use crate::membership::InstanceScope;
use crate::remote::send_away::RecordBody;
use crate::remote::spread::{Called, Early, Ident, fingerprint};
use engine::Time;
use engine::record::Take;
use objects::Objects;
use objects::group::Group;
use p2p::Messages;
use schedule::Kind as Collective;

impl Collectives {
    /// After `member` made instance `index`, call number `call` of its communicator: other processes may have
    /// a part in it.
    // Messages may have come before: another process's members can be through with their part before anybody
    // here has entered.
    pub(crate) fn made_instance(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        index: u32,
        member: u32,
        call_id: CallId,
    ) {
        if !messages.peers().exist() {
            return;
        }
        let place = self.instance(index).place.clone();
        let (here, all) = members_here(messages, objects, &place);
        if here >= all {
            return;
        }
        let ident = match &place {
            InstanceScope::Comm(comm) => Ident::of_call(objects.comms.at(*comm).context, call_id),
            InstanceScope::Group(key, group) => {
                let print = fingerprint(group);
                let call = self.spread.joins.get(&(*key, print, member)).copied().unwrap_or(0);
                Ident { context: key.0, key: (key.1, key.2), print, call }
            }
        };
        let instance = self.instance_mut(index);
        instance.ident = Some(ident);
        instance.left = here;
        instance.here = here;
        let spread = &mut self.spread;
        spread.instances.insert(ident, index);
        for mail in spread.early.remove(&ident).unwrap_or_default() {
            self.spread_mail(messages, objects, index, mail);
        }
    }

    /// Counts a member's entry into an instance of its group.
    pub(crate) fn joined_group(
        &mut self,
        messages: &mut Messages,
        key: (u32, i32, u32),
        group: &Group,
        member: u32,
    ) {
        if messages.peers().exist() {
            *self.spread.joins.entry((key, fingerprint(group), member)).or_default() += 1;
        }
    }

    /// Records that a member has entered an instance that is spread over processes. It is held only where all
    /// processes will tell when their members are in.
    pub(crate) fn entered_spread(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        index: u32,
        member: u32,
    ) {
        let instance = self.instance(index);
        if let Some(ident) = instance.ident.filter(|_| messages.faults().is_some()) {
            self.spread.departed.enters(messages.me(), ident);
        }
        let instance = self.instance(index);
        if instance.arrived == instance.here && instance.agreement.is_some() {
            self.contribute(messages, objects, index);
        }
        if self.hold_agent(messages, objects, index, member) {
            return;
        }
        let instance = self.instance(index);
        if instance.started {
            self.mark_movable(index, member);
        } else if instance.root_known {
            self.start_instance(messages, objects, index);
        }
    }

    pub(crate) fn collective_record(&mut self, messages: &mut Messages, objects: &Objects, mut record: Take) {
        let at = Time::from_ps(record.u64());
        let ident = Ident::take(&mut record);
        let (to, from, round) = (record.u32(), record.u32(), record.u32());
        let bytes = record.u64();
        let content = record.u8();
        let called = Called { kind: record.u8(), root: record.u32(), function: record.u32() as u16 };
        let missing = (content == RecordBody::Missing as u8).then(|| record.u32());
        let payload = (content == RecordBody::Data as u8).then(|| messages.payloads_mut().store(record.0));
        let mail = Early { to, from, round, at, bytes, payload, missing, called };
        match self.spread.instances.get(&ident).copied() {
            Some(index) => self.spread_mail(messages, objects, index, mail),
            None => self.spread.early.entry(ident).or_default().push(mail),
        }
    }

    fn spread_mail(&mut self, messages: &mut Messages, objects: &Objects, index: u32, mail: Early) {
        if self.instance(index).gathering.is_some() {
            // Another process has started event by event.
            self.start_instance(messages, objects, index);
        }
        let signature = self.instance(index).describe().0;
        let roots = [signature.root.unwrap_or(u32::MAX), mail.called.root];
        let same_root = roots.contains(&u32::MAX) || roots[0] == roots[1];
        if mail.called.kind != signature.kind as u8 || !same_root {
            self.mismatched(messages, objects, index, &mail.called);
        }
        let Early { to, from, round, at, bytes, payload, missing, .. } = mail;
        self.deliver(index, (to, from, round), ArrivedMessage { at, bytes, payload, missing });
    }

    /// Members of other processes called another collective: there is no way on, as they wait for other
    /// messages.
    // The run ends, as no member could: who waits for a broadcast's rounds will never be sent a barrier's.
    fn mismatched(&mut self, messages: &mut Messages, objects: &Objects, index: u32, called: &Called) -> ! {
        let instance = self.instance(index);
        let signature = instance.describe().0;
        let theirs = crate::signature::CallSignature {
            function: called.function,
            root: (called.root != u32::MAX).then_some(called.root),
            kind: Collective::ALL[called.kind as usize],
            ..signature
        };
        let text = format!(
            "mismatched collectives on {}: rank {} of MPI_COMM_WORLD called {}, another rank {}; all members \
             must call the same collectives in the same order with matching arguments",
            objects.comms.describe(objects::comm::Comms::handle(instance.comm())),
            instance.first_rank,
            signature.describe(messages.ranks().names()),
            theirs.describe(messages.ranks().names())
        );
        messages.peers_mut().fail(&text)
    }
}

/// Returns the number of members of an instance's scope that are on this process, and of all.
fn members_here(messages: &Messages, objects: &Objects, place: &InstanceScope) -> (u32, u32) {
    let (first, local) = (messages.ranks().first(), messages.ranks().local());
    match place {
        InstanceScope::Group(_, group) => (group.members_between(first, local), group.size()),
        InstanceScope::Comm(comm) => {
            let comm = objects.comms.at(*comm);
            (comm.local + comm.remote_local, comm.members())
        }
    }
}
