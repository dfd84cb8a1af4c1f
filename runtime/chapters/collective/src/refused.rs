//! Collective calls that are refused before they begin, by ranks that go on (`MPI_ERRORS_RETURN`).
//!
//! A refused call counts as called: the rank's next collective is the others' next one, as the program means
//! it. In the refused one it takes part without data, and goes through the schedule as any other member. A
//! member whose result would have come from it or through it fails with `MPI_ERR_OTHER` and a sentence that
//! names it.
//!
//! Others complete. Nobody gets a communicator from a call that one member was refused. (MPI leaves this
//! open; under MPICH the others wait for ever, or take the rank's next call for this one.)
//!
//! What the others called is known where one of them has entered. A process on which all members were
//! refused, while others have entered elsewhere, does not learn of it: those who need its part wait, and the
//! deadlock's report names who was refused.

use crate::agent::Agent;
use crate::calls::CallId;
use crate::calls::Refusal;
use crate::entrance::Entrance;
use crate::instance::Collectives;
use crate::membership::{home, membership};
use objects::Objects;
use p2p::Messages;
use schedule::{Blocks, Kind, Member};
use std::rc::Rc;

impl Agent {}

impl Entrance<'_> {
    /// Records that the mounted rank's collective call on this communicator has failed before the rank
    /// entered it.
    pub fn refuse(&mut self, comm: usize) {
        if let Ok(index) = self.objects.comms.index(comm) {
            self.collectives.refuse(self.messages, self.objects, index);
        }
    }
}

impl Collectives {
    // Counted as made whatever is wrong with it: who counted only right calls would take this rank's next one
    // for the refused.
    fn refuse(&mut self, messages: &mut Messages, objects: &mut Objects, comm: u32) {
        let home = home(objects, comm);
        if objects.comms.at(home).is_self {
            return;
        }
        self.latest = None;
        let (size, member, _) = membership(objects, comm);
        let rank = messages.me();
        let state = &messages.ranks()[rank];
        let refusal = Refusal { member, rank, clock: state.clock, nic_free: state.nic_free };
        let instance = self.instance_of(home, CallId::Call(self.calls.of(home, member)));
        let here = self.rows_of(messages, objects, home, size);
        self.calls.make(home).refuse(member, here, instance.is_none().then_some(refusal));
        if let Some(index) = instance {
            self.join_without_data(messages, objects, index, refusal);
        }
    }

    /// Lets members to whom a call was refused before take part in its instance, which is made.
    pub(super) fn admit_refused(
        &mut self,
        messages: &Messages,
        objects: &Objects,
        index: u32,
        call_id: CallId,
    ) {
        let home = home(objects, self.instance(index).comm());
        let (CallId::Call(call), Some(calls)) = (call_id, self.calls.get_mut(home)) else { return };
        if calls.was_refused(call) {
            for refusal in calls.take_refused(call) {
                self.add_without_data(messages, objects, index, refusal);
            }
        }
    }

    fn join_without_data(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        index: u32,
        refusal: Refusal,
    ) {
        // What the others hold back cannot be gathered any more: a result of all members' data will not be
        // known.
        self.expand(messages, objects, index);
        self.add_without_data(messages, objects, index, refusal);
        let instance = self.instance(index);
        let (is_spread, agrees) = (instance.ident.is_some(), instance.agreement.is_some());
        if agrees && instance.arrived == instance.here {
            match is_spread {
                true => self.contribute(messages, objects, index),
                false => self.settle_agreement(messages, objects, index),
            }
        }
        let instance = self.instance(index);
        if instance.is_started() {
            self.mark_movable(index, refusal.member);
        } else if is_spread || instance.arrived == instance.size {
            self.start_instance(messages, objects, index);
        }
        self.run_agents(messages, objects);
    }

    fn add_without_data(&mut self, messages: &Messages, objects: &Objects, index: u32, refusal: Refusal) {
        let Refusal { member, rank, clock, nic_free } = refusal;
        let instance = self.instance_mut(index);
        let topology = objects.comms.at(instance.comm()).topology.clone();
        let (sources, destinations): (Rc<[u32]>, Rc<[u32]>) = match topology {
            Some(topology) if instance.shape.kind == Kind::Neighbor => {
                let (sources, destinations, _) = topology.neighbors(member);
                (sources, destinations)
            }
            _ => Default::default(),
        };
        // Where blocks differ from member to member its own are not known. What it sends is not empty then:
        // an empty block would not be sent, and who expects one would wait.
        let receive = Blocks::Uniform(instance.shape.block());
        let differs = instance.shape.irregular || instance.shape.kind == Kind::Neighbor;
        let send = if differs { Blocks::Uniform(instance.shape.block().max(1)) } else { receive.clone() };
        let part = Member { rank: member, send, receive, sources, destinations };
        // Links that are shared know no time before that of who has the instance made.
        let clock = if messages.fabric().is_shared() {
            clock.max(messages.ranks()[messages.me()].clock)
        } else {
            clock
        };
        let mut agent = Agent::entered(rank, clock, part, Vec::new(), 0, None);
        (agent.refused, agent.nic_free) = (true, nic_free);
        // From the start: what it sends carries the name of the rank for want of whose data it is empty.
        agent.lacks(rank);
        instance.agents[member as usize] = Some(Box::new(agent));
        instance.arrived += 1;
    }
}
