//! Entry of a member into a collective that gathers, and the end of the gathering with its last member.

use crate::CHAPTER;
use crate::arguments::{Beside, Brief, CallArguments, Elements};
use crate::entrance::Entrance;
use crate::gathering::Gathering;
use crate::gathering::latest::LastCall;
use crate::gathering::pending::Pending;
use crate::gathering::varied::Varied;
use crate::instance::Collectives;
use crate::membership::{CallMembership, InstanceScope};
use crate::planes::run_blocked;
use crate::planes::run_pending;
use crate::reduction::MemberReductions;
use crate::reduction::Operands;
use crate::remote::beginning::Beginning;
use crate::remote::beginning::own_members;
use crate::remote::spread::is_spread;
use crate::ticket::Ticket;
use objects::Objects;
use objects::error::Result;
use p2p::Messages;
use p2p::request::Body;
use rank::Addr;
use schedule::{Kind, Schedule};
use std::rc::Rc;

/// Handles of predefined objects, which every rank may use.
fn is_predefined(reduction: Option<(usize, usize)>) -> bool {
    reduction.is_none_or(|(op, datatype)| op < p2p::handle::FIRST && datatype < p2p::handle::FIRST)
}

impl Collectives {
    /// Enters the mounted rank: `(instance, member, request)`. `None` if the call must be made as an agent.
    // Everything that can decline comes before anything is changed: `None` leaves the arguments as they were.
    pub(crate) fn enter_gathering(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        call: &mut CallArguments,
    ) -> Result<Option<(u32, u32, Option<u32>)>> {
        if !call.gathers || !self.gathers(messages, call.brief.blocking) {
            return Ok(None);
        }
        let index = if self.joins_latest(messages, &call.brief, &call.place) {
            self.latest.as_ref().expect("joined just now").index
        } else {
            match self.join_or_make(messages, objects, call)? {
                Some(index) => index,
                None => return Ok(None),
            }
        };
        let request = self.come_in(messages, objects, index, call);
        Ok(Some((index, call.place.member, request)))
    }

    /// Finds or makes the gathering instance that the mounted rank's call belongs to, and counts the call;
    /// `None`, and nothing is changed, if it must be made as an agent.
    // One rank alone is left out as well: it would be held for itself.
    fn join_or_make(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        arguments: &CallArguments,
    ) -> Result<Option<u32>> {
        let (Brief { blocking, reduction, .. }, place) = (arguments.brief, &arguments.place);
        let (comm, member, size) = (place.comm, place.member, place.size);
        let communicator = objects.comms.at(comm);
        if communicator.is_self || place.is_inter() || size < 2 {
            return Ok(None);
        }
        let operands = arguments.operands(messages, objects)?;
        let shape = arguments.shape(messages, objects, operands.as_ref().map(Operands::properties));
        let varies = Varied::is(shape.kind, shape.irregular);
        let calls = !shape.predefined;
        // Processes would have to tell each other sizes, requests or functions before they are ready; event
        // by event they do so as they go.
        if (!blocking || varies || calls) && is_spread(messages, communicator) {
            return Ok(None);
        }
        let (call, call_id) = (self.calls.of(comm, member), self.call_id(comm, member));
        let known = self.instance_of(comm, call_id);
        if known
            .map(|index| self.instance(index))
            .is_some_and(|instance| instance.gathering.is_none() || instance.holds_agents())
        {
            return Ok(None);
        }
        let signature = arguments.signature(messages);
        // What this member reduces with, if it had to be looked up.
        let mut own = None;
        let index = match known {
            Some(index) => {
                self.agree_on(messages, objects, index, comm, &signature, &shape)?;
                let gathering = self.instance(index).gathering.as_ref().expect("looked at above");
                // Other handles may be the same operation and type, or not one at all: then it fails for the
                // rank that passed them.
                let differs = gathering.reduction.as_ref().map(|known| known.0) != reduction;
                if let Some(operands) = operands.filter(|_| calls || differs) {
                    own = Some(operands.reduction(messages, objects)?);
                }
                index
            }
            None => {
                // Who takes part without data goes through event by event.
                if self.calls.get(comm).is_some_and(|calls| calls.was_refused(call))
                    && self.starting.is_none()
                {
                    return Ok(None);
                }
                own = operands.map(|operands| operands.reduction(messages, objects)).transpose()?;
                let beginning = self.beginning(messages, objects, comm, call, &shape);
                if let Beginning::Events = beginning {
                    return Ok(None);
                }
                let (first, count) = own_members(messages, &beginning, size);
                let pending = (!blocking).then(|| Pending::new(count));
                let varied = if varies {
                    let Some(varied) = Varied::new(&shape, count, communicator.topology.clone()) else {
                        return Ok(None);
                    };
                    Some(Box::new(varied))
                } else {
                    None
                };
                let index = self.make_held(messages, objects, InstanceScope::Comm(comm), signature, shape);
                let mut gathering = Gathering::new(first, count);
                (gathering.pending, gathering.varied) = (pending, varied);
                gathering.reduction = reduction.zip(own.clone());
                if let Beginning::Distributed(distributed) = beginning {
                    self.made_distributed(objects, index, comm, call, count);
                    gathering.distributed = Some(distributed);
                }
                let instance = self.instance_mut(index);
                instance.gathering = Some(Box::new(gathering));
                self.hold(index);
                if is_predefined(reduction) && self.starting.is_none() {
                    self.latest = Some(LastCall {
                        brief: arguments.brief,
                        function: signature.function,
                        index,
                        comm,
                        call,
                        elements: arguments.elements,
                        taken: self.instance(index).taken,
                    });
                }
                index
            }
        };
        self.note_entry(messages, objects, comm, member, size, index);
        if let Some(reduction) = own.filter(|_| calls) {
            let gathering = self.instance_mut(index).gathering.as_mut().expect("made or found above");
            gathering
                .functions
                .get_or_insert_with(|| Box::new(MemberReductions::new(size)))
                .enter(member, reduction);
        }
        Ok(Some(index))
    }

    /// Enters the mounted rank into the instance made last, if its call is one more of that.
    #[inline]
    fn joins_latest(&mut self, messages: &Messages, brief: &Brief, place: &CallMembership) -> bool {
        let Some(latest) = self.latest.as_ref().filter(|_| self.starting.is_none()) else { return false };
        if latest.brief != *brief
            || latest.comm != place.comm
            || latest.function != messages.ranks().strand().function()
        {
            return false;
        }
        let Some(call) = self.calls.get_mut(latest.comm).and_then(|calls| calls.of_mut(place.member)) else {
            return false;
        };
        if *call != latest.call || self.instances[latest.index].gathering.is_none() {
            return false;
        }
        *call += 1;
        true
    }

    /// The mounted rank enters the instance made last, if its call is one more with the same arguments and
    /// not the last one of all.
    // The whole entry of a barrier or small allreduce for all but the first and the last: compare, count, set
    // a bit. The last has all the rest to do, which would bring its stack frames into everybody's call.
    #[inline]
    fn joins_again(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        kind: Kind,
        comm: usize,
        elements: Option<Elements>,
        from: Addr,
    ) -> Option<Ticket> {
        let latest = self.latest.as_ref()?;
        let (me, index, number) = (messages.me(), latest.index, latest.call);
        let state = &mut messages.ranks_mut()[me];
        if latest.elements != elements
            || latest.brief.kind != kind
            || latest.brief.comm != comm
            || latest.function != state.strand.function()
        {
            return None;
        }
        if objects.comms.index(comm) != Ok(latest.comm) {
            return None;
        }
        let member = objects.comms.at(latest.comm).rank(me);
        let call = self.calls.get_mut(latest.comm)?.of_mut(member)?;
        let instance = &mut self.instances[index];
        let gathering = instance.gathering.as_mut()?;
        if *call != number || instance.arrived == 0 || instance.arrived + 1 >= instance.here {
            return None;
        }
        if elements.is_some() && !gathering.read_operand(member, from) {
            return None;
        }
        gathering.join(member, state.clock, false);
        instance.arrived += 1;
        *call += 1;
        state.strand.block(1);
        messages.watch_mut().note_collective(me, latest.taken);
        Some(Ticket::new(index, member))
    }

    /// Takes a member's contribution; the last one's completes the call. Returns the request of a nonblocking
    /// call; `None` of a blocking one.
    #[inline]
    fn come_in(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        index: u32,
        call: &mut CallArguments,
    ) -> Option<u32> {
        let (me, member) = (messages.me(), call.place.member);
        let clock = messages.ranks()[me].clock;
        let request = (!call.brief.blocking).then(|| {
            messages.requests_mut().make(me, Body::Chapter { chapter: CHAPTER, token: [index, member] })
        });
        let instance = self.instance_mut(index);
        messages.watch_mut().note_collective(me, instance.taken);
        let gathering = instance.gathering.as_mut().expect("made or found above");
        gathering.enter(&instance.shape, (instance.arrived, instance.here), clock, request, call);
        instance.arrived += 1;
        let (complete, spread) = (instance.arrived == instance.here, instance.ident.is_some());
        if let Beside::Agreement(..) = call.beside
            && let Some(agreement) = call.beside.take_agreement()
        {
            self.contribute_to_agreement(messages, objects, index, member, agreement, complete && !spread);
        }
        match (complete, spread) {
            (true, true) => self.ready_distributed(messages, objects, index),
            (true, false) => self.complete_gathering(messages, objects, index),
            (false, _) => {}
        }
        request
    }

    /// All members are in.
    // The last member does the work of all, in its own call. Others find their results made when they run.
    fn complete_gathering(&mut self, messages: &mut Messages, objects: &Objects, index: u32) {
        self.latest = None;
        let instance = self.instance_mut(index);
        if let Some(gathering) = instance.gathering.as_mut().filter(|gathering| gathering.functions.is_some())
        {
            if gathering.varied.as_mut().is_none_or(|varied| varied.fits()) {
                return self.queue_functions(index);
            }
            self.expand(messages, objects, index);
            return self.start_instance(messages, objects, index);
        }
        let schedule = schedule::choose::choose(&self.instance(index).shape, &self.policy);
        let instance = self.instance_mut(index);
        let mut gathering = instance.gathering.take().expect("gathered");
        if !gathering.complete(&instance.shape, &schedule) {
            // Members contradict each other. Event by event each finds out by itself whether it is wrong, as
            // it would with a real library.
            instance.gathering = Some(gathering);
            self.expand(messages, objects, index);
            self.start_instance(messages, objects, index);
            return;
        }
        self.pass_through(messages, objects, index, gathering, schedule);
    }

    /// Completes the collective: passes the members' clocks through the schedule and lets the members go on.
    // `left` members still have to take their results: the instance stays until the last has.
    pub(crate) fn pass_through(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        index: u32,
        mut gathering: Box<Gathering>,
        schedule: Rc<dyn Schedule>,
    ) {
        self.unhold(index);
        let instance = self.instance_mut(index);
        instance.start();
        let (place, shape) = (instance.place.clone(), instance.shape.clone());
        let varied = gathering.varied.as_deref();
        match &gathering.pending {
            None => run_blocked(messages, objects, &place, schedule, &shape, varied, gathering.clock),
            Some(pending) => run_pending(messages, objects, &place, schedule, &shape, varied, pending),
        }
        gathering.set_complete();
        self.instance_mut(index).gathering = Some(gathering);
    }
}

impl Entrance<'_> {
    /// Enters a collective that gathers, if the call is one more like the one before; `None` if nothing has
    /// happened.
    #[inline]
    pub fn joins_again_as(
        &mut self,
        kind: Kind,
        comm: usize,
        elements: Option<Elements>,
        from: Addr,
    ) -> Option<Ticket> {
        self.collectives.joins_again(self.messages, self.objects, kind, comm, elements, from)
    }
}
