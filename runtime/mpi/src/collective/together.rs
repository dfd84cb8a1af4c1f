//! Collectives that a process holds in a few words a member until the last one enters.
//!
//! While its members come in, a collective keeps a bit and the packed contribution of each; where the result goes
//! stays on the blocked member's own stack; a member of a nonblocking call goes on ([`Pending`]). When all are in and message times are a formula,
//! the clocks are advanced in [`clocks`](super::clocks) and the result is what the collective means: moving data is
//! exact in any order, and a reduction keeps the association of its schedule ([`Digest`](super::schedule::Digest), [`lockstep`](super::lockstep)). Whatever
//! needs more (functions of the program, overheads, members that must start before all are in) becomes agents, and runs as any
//! other collective.

use crate::collective::agent::{Agent, pack};
use crate::collective::call::{Mode, Part};
use crate::collective::instance::Place;
use crate::collective::pending::Pending;
use crate::collective::schedule::{Blocks, Kind, Member, Shape};
use crate::collective::{Contribution, Delivery, Reduction, Resolve, Signature};
use crate::error::Result;
use crate::handle::{self, RequestRef};
use crate::matching::Extent;
use crate::op::Op;
use crate::remote::apart::{Apart, Beginning};
use crate::request::{Body, Request, RequestArray};
use crate::world::{Mpi, World};
use engine::Time;
use rank::{Addr, memory};
use std::rc::Rc;

/// A call as a member of it knows it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Brief {
    pub kind: Kind,
    pub mode: Mode,
    pub comm: usize,
    pub root: Option<i32>,
    /// As [`Shape::bytes`].
    pub bytes: u64,
    /// Handles of operation and datatype.
    pub reduction: Option<(usize, usize)>,
}

/// The instance that was made last, while its members come in: most calls are one more of the same.
pub(crate) struct Latest {
    brief: Brief,
    function: u16,
    index: u32,
    comm: u32,
    /// Its number among the communicator's calls.
    call: u32,
    /// What a reduction of contiguous elements was called with.
    elements: Option<Elements>,
}

/// A member that is blocked in a call, in one word: instance and member.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(usize);

impl Ticket {
    /// There is nothing to wait for.
    pub(crate) const THROUGH: Ticket = Ticket(usize::MAX);
    fn new(instance: u32, member: u32) -> Ticket {
        Ticket((instance as usize) << 32 | member as usize)
    }
    fn parts(self) -> (u32, u32) {
        ((self.0 >> 32) as u32, self.0 as u32)
    }
}

/// Arguments of a reduction: count, and handles of datatype and operation.
pub(crate) type Elements = (i64, usize, usize);

/// Handles of predefined objects, which every rank may use.
fn is_predefined(reduction: Option<(usize, usize)>) -> bool {
    reduction.is_none_or(|(op, datatype)| op < crate::handle::FIRST && datatype < crate::handle::FIRST)
}

/// What a process keeps of a collective whose members are coming in.
pub(crate) struct Together {
    /// The first member on this process; `joined` and `data` count from it.
    first: u32,
    joined: Box<[u64]>,
    pub(crate) data: Data,
    /// Of an instance with members on other processes.
    apart: Option<Box<Apart>>,
    /// Operation and datatype, and their handles.
    pub(super) reduction: Option<((usize, usize), Rc<Reduction>)>,
    /// The clock of all who are in, while they have the same.
    clock: Option<Time>,
    /// Of a nonblocking call.
    pending: Option<Pending>,
    complete: bool,
}

/// Packed contributions; once the collective is complete, results.
pub(crate) enum Data {
    Nothing,
    /// Of the root alone, or the same for all.
    One(Vec<u8>),
    /// A block of this many bytes for each member.
    Each(Vec<u8>, usize),
}

impl Together {
    /// For `count` members from `first` on.
    fn new(first: u32, count: u32) -> Together {
        let joined = vec![0; (count as usize).div_ceil(64)].into();
        Together { first, joined, data: Data::Nothing, apart: None, reduction: None, clock: None, pending: None, complete: false }
    }
    /// For agents, which the instance keeps.
    pub(crate) fn of_agents(first: u32, count: u32, apart: Box<Apart>) -> Together {
        Together { apart: Some(apart), ..Together::new(first, count) }
    }
    pub(crate) fn has(&self, member: u32) -> bool {
        let member = member.wrapping_sub(self.first);
        self.joined.get(member as usize / 64).is_some_and(|word| word >> (member % 64) & 1 != 0)
    }
    /// A member is in; `first` if nobody was.
    #[inline]
    pub(crate) fn join(&mut self, member: u32, clock: Time, first: bool) {
        let member = member - self.first;
        self.joined[member as usize / 64] |= 1 << (member % 64);
        if first {
            self.clock = Some(clock);
        } else if self.clock != Some(clock) {
            self.clock = None;
        }
    }
    /// What the other processes have to do with it; there are some.
    pub(crate) fn apart(&self) -> &Apart {
        self.apart.as_ref().expect("members are elsewhere")
    }
    pub(crate) fn apart_mut(&mut self) -> &mut Apart {
        self.apart.as_mut().expect("members are elsewhere")
    }
    /// The operation of a reduction.
    pub(crate) fn kernel(&self) -> Option<crate::op::Kernel> {
        self.reduction.as_ref().and_then(|(_, reduction)| reduction.kernel)
    }
    pub(crate) fn set_complete(&mut self) {
        self.complete = true;
    }
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }
    fn contribute(&mut self, shape: &Shape, member: u32, here: u32, extent: &Extent) {
        let bytes = extent.bytes as usize;
        if bytes == 0 {
            return;
        }
        if matches!(shape.kind, Kind::Bcast | Kind::Scatter) {
            self.data = Data::One(pack(std::slice::from_ref(extent)));
            return;
        }
        if let Data::Nothing = self.data {
            self.data = Data::Each(vec![0; bytes * here as usize], bytes);
        }
        let Data::Each(data, stride) = &mut self.data else { return };
        let place = &mut data[(member - self.first) as usize * *stride..][..bytes];
        match &extent.layout {
            None => memory::read(extent.buffer, place),
            Some(_) => place.copy_from_slice(&pack(std::slice::from_ref(extent))),
        }
    }
    pub(crate) fn contribution(&self, shape: &Shape, member: u32) -> &[u8] {
        match &self.data {
            Data::One(bytes) if member == shape.root => bytes,
            Data::Each(data, stride) => &data[(member - self.first) as usize * stride..][..*stride],
            _ => &[],
        }
    }
    /// The packed result of a member of a complete collective.
    fn deliver(&self, shape: &Shape, member: u32, target: &Extent) {
        let (block, place) = (target.bytes as usize, (member - self.first) as usize);
        let whole: &[u8] = match &self.data {
            Data::Nothing => &[],
            Data::One(bytes) if shape.kind == Kind::Scatter => &bytes[place * block..],
            Data::One(bytes) => bytes,
            // A gather's and an allgather's result is all contributions, one behind the other.
            Data::Each(data, _) if matches!(shape.kind, Kind::Gather | Kind::Allgather) => data,
            Data::Each(data, stride) => &data[place * stride..],
        };
        target.fill(whole);
    }
}

/// Blocks that a member sends and receives, and its packed bytes in and out.
pub(super) fn buffers(shape: &Shape, member: u32) -> (Blocks, Blocks, u64) {
    let (all, block) = (u64::from(shape.size) * shape.bytes, Blocks::Uniform(shape.bytes));
    let root = member == shape.root;
    let output = match shape.kind {
        Kind::Bcast => shape.bytes * u64::from(!root),
        Kind::Gather => all * u64::from(root),
        Kind::Reduce => shape.bytes * u64::from(root),
        Kind::Allgather | Kind::Alltoall => all,
        Kind::ReduceScatter => shape.bytes / u64::from(shape.size),
        Kind::Barrier | Kind::Agree | Kind::Neighbor => 0,
        Kind::Scatter | Kind::Allreduce | Kind::Scan | Kind::Exscan => shape.bytes,
    };
    match shape.kind {
        Kind::ReduceScatter => (Blocks::Uniform(output), Blocks::Uniform(output), output),
        _ => (block.clone(), block, output),
    }
}

impl World {
    /// Whether blocking collectives of this process may be held together.
    pub(crate) fn holds_together(&self) -> bool {
        self.batch && !self.wire.has_overheads && !self.by_time()
    }

    /// What the mounted rank's next collective on an intracommunicator looks like; `None` if it is not one to hold together.
    fn brief_shape(&self, brief: &Brief) -> Result<Option<(u32, u32, Shape)>> {
        let index = self.comms.index(brief.comm)?;
        let comm = self.comms.at(index);
        if !self.holds_together() || comm.is_self || comm.is_inter() || comm.size() < 2 {
            return Ok(None);
        }
        let (size, member) = (comm.size(), comm.rank(self.current));
        let root = match brief.root {
            Some(root) => match self.root_member(index, root)? {
                Some(root) => root,
                None => return Ok(None),
            },
            None => 0,
        };
        let reduction = match brief.reduction {
            Some((op, datatype)) => match &**self.ops.get(self.current, op)? {
                Op::User(_) => return Ok(None),
                operation => Some((operation.commutative(), self.types.usable(self.current, datatype)?.size.max(1))),
            },
            None => None,
        };
        let shape = Shape {
            kind: brief.kind,
            size,
            root,
            irregular: false,
            bytes: brief.bytes,
            element: reduction.map_or(1, |(_, size)| size),
            commutative: reduction.is_none_or(|(commutative, _)| commutative),
            sides: None,
            node: self.wire.node,
            predefined: true,
            cartesian: false,
        };
        Ok(Some((index, member, shape)))
    }

    /// The mounted rank enters: `(instance, member, request)`, or `None` if the call must be made as agents.
    fn enter_together(
        &mut self,
        brief: &Brief,
        source: &Extent,
        target: &Extent,
        contribution: &mut Option<(Contribution, Resolve)>,
    ) -> Result<Option<(u32, u32, Option<u32>)>> {
        if let Some(member) = self.joins_latest(brief) {
            let index = self.collectives.latest.as_ref().expect("joined just now").index;
            let request = self.come_in(index, member, (source, target), contribution);
            return Ok(Some((index, member, request)));
        }
        let Some((comm, member, shape)) = self.brief_shape(brief)? else { return Ok(None) };
        let communicator = self.comms.at(comm);
        let blocking = brief.mode == Mode::Blocking;
        if !blocking && self.is_spread(communicator) {
            return Ok(None);
        }
        let call = communicator.call_of(member);
        let known = communicator.instances.get((call - communicator.first) as usize).copied().flatten();
        if known
            .map(|index| self.collectives.instance(index))
            .is_some_and(|instance| instance.together.is_none() || instance.holds_agents())
        {
            return Ok(None);
        }
        let me = self.current;
        let signature = Signature {
            function: self.ranks[me as usize].function,
            blocking,
            irregular: false,
            kind: brief.kind,
            root: brief.root.map(|_| shape.root),
        };
        let size = shape.size;
        let index = match known {
            Some(index) => {
                self.agree_on(index, comm, &signature, &shape)?;
                let instance = self.collectives.instance(index);
                let together = instance.together.as_ref().expect("looked at above");
                if together.reduction.as_ref().map(|known| known.0) != brief.reduction {
                    // Other handles may be the same operation and type, or not one at all.
                    let (op, datatype) = brief.reduction.expect("shapes agree");
                    self.reduction(op, datatype)?;
                }
                index
            }
            None => {
                let reduction = match brief.reduction {
                    Some((op, datatype)) => Some(((op, datatype), self.reduction(op, datatype)?)),
                    None => None,
                };
                let beginning = self.beginning(comm, call, &shape);
                if let Beginning::Events = beginning {
                    return Ok(None);
                }
                let (first, count) = self.own_members(&beginning, size);
                let index = self.make_held(Place::Comm(comm), signature, shape);
                let pending = (!blocking).then(|| Pending::new(count));
                let mut together = Together { reduction, pending, ..Together::new(first, count) };
                if let Beginning::Apart(apart) = beginning {
                    self.made_apart(index, comm, call, count);
                    together.apart = Some(apart);
                }
                let instance = self.collectives.instance_mut(index);
                instance.together = Some(Box::new(together));
                self.collectives.hold(index);
                if is_predefined(brief.reduction) {
                    let function = signature.function;
                    self.collectives.latest = Some(Latest { brief: brief.clone(), function, index, comm, call, elements: None });
                }
                index
            }
        };
        self.note_entry(comm, member, size, index);
        let request = self.come_in(index, member, (source, target), contribution);
        Ok(Some((index, member, request)))
    }

    /// The member number of the mounted rank if its call is one more of the instance made last; then it has entered that.
    #[inline]
    fn joins_latest(&mut self, brief: &Brief) -> Option<u32> {
        let latest = self.collectives.latest.as_ref()?;
        let me = self.current;
        if latest.brief != *brief || latest.function != self.ranks[me as usize].function || self.comms.index(brief.comm) != Ok(latest.comm)
        {
            return None;
        }
        let communicator = self.comms.at_mut(latest.comm);
        let member = communicator.rank(me);
        let call = communicator.calls.get_mut(member.wrapping_sub(communicator.calls_from) as usize)?;
        if *call != latest.call || self.collectives.instance(latest.index).together.is_none() {
            return None;
        }
        *call += 1;
        Some(member)
    }

    /// The mounted rank enters the instance made last, if its call is one more with the same arguments and not the last one of all.
    #[inline]
    fn joins_again(&mut self, kind: Kind, comm: usize, elements: Option<Elements>, from: Addr) -> Option<Ticket> {
        let latest = self.collectives.latest.as_ref()?;
        let (me, index, number) = (self.current, latest.index, latest.call);
        let state = &mut self.ranks[me as usize];
        if latest.elements != elements || latest.brief.kind != kind || latest.brief.comm != comm || latest.function != state.function {
            return None;
        }
        if self.comms.index(comm) != Ok(latest.comm) {
            return None;
        }
        let communicator = self.comms.at_mut(latest.comm);
        let member = communicator.rank(me);
        let call = communicator.calls.get_mut(member.wrapping_sub(communicator.calls_from) as usize)?;
        let instance = self.collectives.instance_mut(index);
        let together = instance.together.as_mut()?;
        if *call != number || instance.arrived == 0 || instance.arrived + 1 >= instance.here {
            return None;
        }
        if elements.is_some() {
            let Data::Each(data, stride) = &mut together.data else { return None };
            memory::read(from, &mut data[(member - together.first) as usize * *stride..][..*stride]);
        }
        together.join(member, state.clock, false);
        instance.arrived += 1;
        *call += 1;
        state.waiting = 1;
        Some(Ticket::new(index, member))
    }

    /// A member's contribution is taken; the last one's completes the call. Answers the request of a nonblocking call.
    #[inline]
    fn come_in(
        &mut self,
        index: u32,
        member: u32,
        (source, target): (&Extent, &Extent),
        contribution: &mut Option<(Contribution, Resolve)>,
    ) -> Option<u32> {
        let me = self.current;
        let clock = self.ranks[me as usize].clock;
        let waits = self.collectives.instance(index).describe().0.blocking;
        let request = (!waits).then(|| self.make_request(me, Body::Collective { instance: index, member }));
        let instance = self.collectives.instance_mut(index);
        let together = instance.together.as_mut().expect("made or found above");
        let first = instance.arrived == 0;
        together.join(member, clock, first);
        if let (Some(pending), Some(request)) = (&mut together.pending, request) {
            pending.enter(member - together.first, first, clock, request, target);
        }
        together.contribute(&instance.shape, member, instance.here, source);
        instance.arrived += 1;
        let (complete, spread) = (instance.arrived == instance.here, instance.ident.is_some());
        if let Some((contribution, resolve)) = contribution.take() {
            self.contribute_to_agreement(index, member, contribution, resolve, complete && !spread);
        }
        match (complete, spread) {
            (true, true) => self.ready_apart(index),
            (true, false) => self.complete_together(index),
            (false, _) => {}
        }
        request
    }

    /// All members are in.
    fn complete_together(&mut self, index: u32) {
        self.collectives.latest = None;
        let instance = self.collectives.instance_mut(index);
        let schedule = crate::collective::choose::choose(&instance.shape, &self.policy);
        let instance = self.collectives.instance_mut(index);
        let mut together = instance.together.take().expect("held together");
        if !together.digest(&instance.shape, &*schedule) {
            instance.together = Some(together);
            self.expand(index);
            self.start_instance(index);
            return;
        }
        self.collectives.unhold(index);
        let instance = self.collectives.instance_mut(index);
        instance.start();
        let (place, size) = (instance.place.clone(), instance.size);
        let block = buffers(&instance.shape, 0).0.bytes(0);
        match &together.pending {
            None => self.run_clocks(&place, size, &*schedule, block, together.clock),
            Some(pending) => self.run_pending(&place, size, &*schedule, block, pending),
        }
        together.complete = true;
        self.collectives.instance_mut(index).together = Some(together);
    }

    /// Makes agents of the members that are in, so that they can go on one by one.
    pub(crate) fn expand(&mut self, index: u32) {
        self.collectives.latest = None;
        let instance = self.collectives.instance_mut(index);
        let holds_agents = instance.holds_agents();
        let Some(together) = instance.together.take().filter(|_| !holds_agents) else { return };
        let (shape, place) = (instance.shape.clone(), instance.place.clone());
        let none: Rc<[u32]> = Rc::new([]);
        let mut agents = Vec::with_capacity(shape.size as usize);
        for member in 0..shape.size {
            if !together.has(member) {
                agents.push(None);
                continue;
            }
            agents.push(Some(self.agent_of(&together, &shape, self.member_rank(&place, member, 0), member, &none)));
        }
        self.collectives.instance_mut(index).agents = agents;
    }

    /// The agent of a member that is in.
    pub(crate) fn agent_of(&self, together: &Together, shape: &Shape, rank: u32, member: u32, none: &Rc<[u32]>) -> Box<Agent> {
        let (send, receive, output) = buffers(shape, member);
        let input = together.contribution(shape, member).to_vec();
        let member = Member { rank: member, send, receive, sources: none.clone(), destinations: none.clone() };
        let reduction = together.reduction.as_ref().map(|(_, reduction)| reduction.clone());
        let clock = self.ranks[rank as usize].clock;
        let Some(pending) = &together.pending else {
            return Box::new(Agent::held(rank, clock, member, input, output, reduction));
        };
        let place = member.rank - together.first;
        let mut agent = Agent::held(rank, pending.clock(place), member, input, output, reduction);
        (agent.request, agent.delivery) = (Some(pending.request(place)), Delivery::To(vec![pending.target(place, output)]));
        Box::new(agent)
    }

    /// The mounted rank collects the result of a nonblocking collective that was held together to its end; with `leaves`, for good.
    pub(crate) fn finish_pending(&mut self, index: u32, member: u32, leaves: bool) {
        let instance = self.collectives.instance_mut(index);
        let Some(together) = instance.together.as_mut().filter(|together| together.complete) else { return };
        let bytes = buffers(&instance.shape, member).2;
        let Some(pending) = &mut together.pending else { return };
        let target = pending.take_target(member - together.first, bytes);
        if target.bytes != 0 {
            together.deliver(&instance.shape, member, &target);
        }
        if leaves {
            self.leave_instance(index);
        }
    }

    /// The mounted rank asks whether requests are complete: collectives that are held for their members, and could complete one, go on.
    pub(crate) fn start_tested(&mut self, requests: RequestArray) {
        if !self.collectives.holds() {
            return;
        }
        for handle in requests.iter() {
            if let RequestRef::Cold(request) = handle::request(self.active_part(handle))
                && let Some(&Request { body: Body::Collective { instance, .. }, done: None, .. }) = self.requests.get(request)
                && !self.collectives.instance(instance).is_started()
            {
                self.start_instance(instance);
            }
        }
        self.run_agents();
    }

    /// The mounted rank takes its result and leaves; the handle of a new communicator, if one was made.
    pub(crate) fn finish_part(&mut self, index: u32, member: u32, target: &Extent) -> Result<usize> {
        let instance = self.collectives.instance(index);
        let Some(together) = &instance.together else { return self.finish_agent(index, member, Some(target)) };
        // What all know is right already; a scan's first member and a root that gave the data get nothing.
        if target.bytes != 0 {
            together.deliver(&instance.shape, member, target);
        }
        let outcome = instance.outcome(member);
        self.leave_instance(index);
        outcome.unwrap_or(Ok(0))
    }
}

impl Mpi {
    /// Enters a collective that may be held together: `None` if it cannot be, and nothing has happened.
    pub(crate) fn together(
        &self,
        brief: &Brief,
        source: &Extent,
        target: Extent,
        contribution: &mut Option<(Contribution, Resolve)>,
    ) -> Result<Option<Part>> {
        let mut world = self.world();
        let Some((index, member, request)) = world.enter_together(brief, source, &target, contribution)? else { return Ok(None) };
        Ok(Some(world.entered(index, member, request.map(handle::of_cold), target)))
    }

    /// Enters as [`Mpi::together`] does, if the call is one more like the one before; `None` if nothing has happened.
    #[inline]
    pub(crate) fn together_again(&self, kind: Kind, comm: usize, elements: Option<Elements>, from: Addr) -> Option<Ticket> {
        self.world().joins_again(kind, comm, elements, from)
    }

    /// Goes on with a blocking call that has been entered until its result is known to lie side by side, and where is known to the caller.
    #[inline(never)]
    pub(crate) fn settle(&self, part: &Part) -> Result<Ticket> {
        if !part.through && part.target.layout.is_none() && self.world().collectives.instance(part.instance).is_held() {
            return Ok(Ticket::new(part.instance, part.member));
        }
        self.await_result(part)?;
        Ok(Ticket::THROUGH)
    }

    /// Waits for the end of a blocking call; its result, if the member gets one, goes to `to`.
    // What blocks is inlined into the entry points, and everything around it is not: frames of a blocked rank are memory.
    #[inline(always)]
    pub(crate) fn await_ticket(&self, ticket: Ticket, to: Addr) -> Result<Option<usize>> {
        if ticket == Ticket::THROUGH {
            return Ok(None);
        }
        self.block();
        self.end_held(ticket, to)?;
        Ok(None)
    }

    #[inline(never)]
    fn end_held(&self, ticket: Ticket, to: Addr) -> Result {
        let (index, member) = ticket.parts();
        let mut world = self.world();
        let bytes = buffers(&world.collectives.instance(index).shape, member).2;
        world.finish_part(index, member, &Extent { buffer: to, layout: None, bytes }).map(|_| ())
    }

    /// The instance made last is one of contiguous elements, called with these arguments.
    pub(crate) fn note_elements(&self, elements: Elements) {
        if let Some(latest) = &mut self.world().collectives.latest
            && latest.brief.reduction == Some((elements.2, elements.1))
        {
            latest.elements = Some(elements);
        }
    }

    /// Whether calls may be held together.
    pub(crate) fn may_hold(&self) -> bool {
        self.world().holds_together()
    }
}
