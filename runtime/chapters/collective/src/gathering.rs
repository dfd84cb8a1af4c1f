//! Collectives that a process holds in a few words a member until the last one enters.
//!
//! While its members come in, a collective keeps a bit and the packed contribution of each. Where the result
//! goes stays on the blocked member's own stack; a member of a nonblocking call goes on ([`Pending`]). When
//! all are in and message times are a formula, the [`planes`](super::planes) advance the clocks, and the
//! result is what the collective means.
//!
//! Whatever needs more (a gap where members go on, members that must start before all are in) becomes agents,
//! and runs as any other collective.

use crate::CHAPTER;
use crate::brief::{Brief, Bring, Elements, LastCall};
use crate::contributions::{Data, Gathering};
use crate::entrance::root_member;
use crate::entrance::{EnteredCall, Entrance};
use crate::instance::Collectives;
use crate::instance::InstanceScope;
use crate::mode::Mode;
use crate::pending::Pending;
use crate::planes::run_blocked;
use crate::planes::run_pending;
use crate::reduction::MemberReductions;
use crate::reduction::reduction;
use crate::remote::beginning::Beginning;
use crate::remote::beginning::own_members;
use crate::remote::spread::is_spread;
use crate::signature::CallSignature;
use crate::ticket::Ticket;
use crate::varied::Varied;
use objects::Objects;
use objects::error::Result;
use objects::op::Op;
use objects::topology::Topology;
use p2p::Messages;
use p2p::handle;
use p2p::request::Body;
use p2p::view::BufferView;
use rank::{Addr, memory};
use schedule::{Kind, Schedule, Shape};
use std::rc::Rc;

/// Handles of predefined objects, which every rank may use.
fn is_predefined(reduction: Option<(usize, usize)>) -> bool {
    reduction.is_none_or(|(op, datatype)| op < p2p::handle::FIRST && datatype < p2p::handle::FIRST)
}

impl Collectives {
    /// Returns what the mounted rank's next collective on an intracommunicator looks like; `None` if it is
    /// not one to gather.
    // One rank alone is left out as well: it would be held for itself.
    fn brief_shape(
        &self,
        messages: &Messages,
        objects: &Objects,
        brief: &Brief,
    ) -> Result<Option<(u32, u32, Shape)>> {
        let index = objects.comms.index(brief.comm)?;
        let comm = objects.comms.at(index);
        if !self.gathers(messages, brief.mode != Mode::Nonblocking)
            || comm.is_self
            || comm.is_inter()
            || comm.size() < 2
        {
            return Ok(None);
        }
        let (size, member) = (comm.size(), comm.rank(messages.me()));
        let root = match brief.root {
            Some(root) => match root_member(objects, index, root)? {
                Some(root) => root,
                None => return Ok(None),
            },
            None => 0,
        };
        let reduction = match brief.reduction {
            Some((op, datatype)) => {
                let operation = &**objects.ops.get(messages.me(), op)?;
                let size = objects.types.usable(messages.me(), datatype)?.size.max(1);
                Some((operation.commutative(), size, !matches!(operation, Op::User(_))))
            }
            None => None,
        };
        let shape = Shape {
            kind: brief.kind,
            size,
            root,
            irregular: brief.irregular,
            bytes: brief.bytes,
            element: reduction.map_or(1, |(_, size, _)| size),
            commutative: reduction.is_none_or(|(commutative, ..)| commutative),
            sides: None,
            node: comm.group.on_node(messages.fabric().wire().node),
            predefined: reduction.is_none_or(|(.., predefined)| predefined),
            cartesian: brief.kind == Kind::Neighbor
                && matches!(comm.topology.as_deref(), Some(Topology::Cart(_))),
        };
        Ok(Some((index, member, shape)))
    }

    /// The mounted rank enters: `(instance, member, request)`, or `None` if the call must be made as agents.
    // Everything that can decline comes before anything is changed: `None` means that the call may start over
    // as agents.
    fn enter_gathering(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        brief: &Brief,
        source: &BufferView,
        target: &BufferView,
        bring: &mut Bring,
    ) -> Result<Option<(u32, u32, Option<u32>)>> {
        if let Some(member) = self.joins_latest(messages, objects, brief) {
            let index = self.latest.as_ref().expect("joined just now").index;
            let request = self.come_in(messages, objects, index, member, (source, target), bring);
            return Ok(Some((index, member, request)));
        }
        let Some((comm, member, shape)) = self.brief_shape(messages, objects, brief)? else {
            return Ok(None);
        };
        let communicator = objects.comms.at(comm);
        let blocking = brief.mode == Mode::Blocking;
        let varies = Varied::is(brief.kind, brief.irregular);
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
        let signature = CallSignature {
            function: messages.ranks().strand().function(),
            blocking,
            irregular: brief.irregular,
            kind: brief.kind,
            root: brief.root.map(|_| shape.root),
        };
        let size = shape.size;
        let index = match known {
            Some(index) => {
                self.agree_on(messages, objects, index, comm, &signature, &shape)?;
                let instance = self.instance(index);
                let gathering = instance.gathering.as_ref().expect("looked at above");
                // Looked up, so that a handle which is none fails for the rank that passed it.
                if gathering.reduction.as_ref().map(|known| known.0) != brief.reduction {
                    // Other handles may be the same operation and type, or not one at all.
                    let (op, datatype) = brief.reduction.expect("shapes agree");
                    reduction(messages, objects, op, datatype)?;
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
                let reduction = match brief.reduction {
                    Some((op, datatype)) => {
                        Some(((op, datatype), reduction(messages, objects, op, datatype)?))
                    }
                    None => None,
                };
                let beginning = self.beginning(messages, objects, comm, call, &shape);
                if let Beginning::Events = beginning {
                    return Ok(None);
                }
                let (first, count) = own_members(messages, &beginning, size);
                let pending = (!blocking).then(|| Pending::new(count));
                let varied = if varies {
                    let Some(varied) = Varied::new(&shape, count, objects.comms.at(comm).topology.clone())
                    else {
                        return Ok(None);
                    };
                    Some(Box::new(varied))
                } else {
                    None
                };
                let index = self.make_held(messages, objects, InstanceScope::Comm(comm), signature, shape);
                let mut gathering = Gathering::new(first, count);
                (gathering.reduction, gathering.pending, gathering.varied) = (reduction, pending, varied);
                if let Beginning::Distributed(distributed) = beginning {
                    self.made_distributed(objects, index, comm, call, count);
                    gathering.distributed = Some(distributed);
                }
                let instance = self.instance_mut(index);
                instance.gathering = Some(Box::new(gathering));
                self.hold(index);
                if is_predefined(brief.reduction) && self.starting.is_none() {
                    let function = signature.function;
                    let taken = self.instance(index).taken;
                    self.latest =
                        Some(LastCall { brief: *brief, function, index, comm, call, elements: None, taken });
                }
                index
            }
        };
        self.note_entry(messages, objects, comm, member, size, index);
        if calls && let Some((op, datatype)) = brief.reduction {
            let reduction = reduction(messages, objects, op, datatype)?;
            let gathering = self.instance_mut(index).gathering.as_mut().expect("made or found above");
            gathering
                .functions
                .get_or_insert_with(|| Box::new(MemberReductions::new(size)))
                .enter(member, reduction);
        }
        let request = self.come_in(messages, objects, index, member, (source, target), bring);
        Ok(Some((index, member, request)))
    }

    /// Enters the mounted rank into the instance made last, if its call is one more of that; returns its
    /// member number.
    #[inline]
    fn joins_latest(&mut self, messages: &mut Messages, objects: &Objects, brief: &Brief) -> Option<u32> {
        let latest = self.latest.as_ref().filter(|_| self.starting.is_none())?;
        let me = messages.me();
        if latest.brief != *brief
            || latest.function != messages.ranks().strand().function()
            || objects.comms.index(brief.comm) != Ok(latest.comm)
        {
            return None;
        }
        let member = objects.comms.at(latest.comm).rank(me);
        let call = self.calls.get_mut(latest.comm)?.of_mut(member)?;
        if *call != latest.call || self.instances[latest.index].gathering.is_none() {
            return None;
        }
        *call += 1;
        Some(member)
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
        if elements.is_some() {
            let Data::Each(data, stride) = &mut gathering.data else { return None };
            memory::read(from, &mut data[(member - gathering.first) as usize * *stride..][..*stride]);
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
        member: u32,
        (source, target): (&BufferView, &BufferView),
        bring: &mut Bring,
    ) -> Option<u32> {
        let me = messages.me();
        let clock = messages.ranks()[me].clock;
        let waits = self.instance(index).describe().0.blocking;
        let request = (!waits).then(|| {
            messages.requests_mut().make(me, Body::Chapter { chapter: CHAPTER, token: [index, member] })
        });
        let instance = self.instance_mut(index);
        messages.watch_mut().note_collective(me, instance.taken);
        let gathering = instance.gathering.as_mut().expect("made or found above");
        let first = instance.arrived == 0;
        gathering.join(member, clock, first);
        if let (Some(pending), Some(request)) = (&mut gathering.pending, request) {
            pending.enter(member - gathering.first, first, clock, request, target);
        }
        // While its rank is mounted: later nobody could read a contribution on its stack.
        gathering.contribute(&instance.shape, member, instance.here, source, target);
        instance.arrived += 1;
        let (complete, spread) = (instance.arrived == instance.here, instance.ident.is_some());
        match std::mem::replace(bring, Bring::Nothing) {
            Bring::Nothing => {}
            Bring::Agreement(contribution, resolve) => {
                self.contribute_to_agreement(
                    messages,
                    objects,
                    index,
                    member,
                    (contribution, resolve),
                    complete && !spread,
                );
            }
            Bring::Blocks(blocks) => {
                let gatherv = gathering.varied.as_mut().and_then(|varied| varied.as_gatherv());
                gatherv.expect("the call is of blocks that differ").enter_root(blocks);
            }
            Bring::Begins(begins) => {
                let varied = gathering.varied.as_mut().expect("the call is of blocks that differ");
                varied.enter_begins(member, begins);
            }
            Bring::Lists(send, receive, each) => {
                let varied = gathering.varied.as_mut().expect("the call is of lists of blocks");
                varied.enter_lists(member, send, receive, each);
            }
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
        if !gathering.make_results(&instance.shape, &schedule) {
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
    pub(super) fn pass_through(
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
        gathering.complete = true;
        self.instance_mut(index).gathering = Some(gathering);
    }
}

impl Entrance<'_> {
    /// Enters a collective that may gather: `None` if it cannot be, and nothing has happened.
    pub(crate) fn try_gathering(
        &mut self,
        brief: &Brief,
        source: &BufferView,
        target: BufferView,
        bring: &mut Bring,
    ) -> Result<Option<EnteredCall>> {
        let Some((index, member, request)) =
            self.collectives.enter_gathering(self.messages, self.objects, brief, source, &target, bring)?
        else {
            return Ok(None);
        };
        Ok(Some(self.collectives.entered(
            self.messages,
            self.objects,
            index,
            member,
            request.map(handle::of_cold),
            target,
        )))
    }

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

    /// Records that the instance made last is one of contiguous elements, called with these arguments.
    pub(crate) fn note_elements(&mut self, elements: Elements) {
        if let Some(latest) = &mut self.collectives.latest
            && latest.brief.reduction == Some((elements.2, elements.1))
        {
            latest.elements = Some(elements);
        }
    }
}
