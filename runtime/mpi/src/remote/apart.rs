//! Blocking collectives that are held together on each of several processes.
//!
//! Each process holds its own members as if there were no others ([`together`](crate::collective::together)). When the last of
//! them has entered it tells the process of the first member, which tells all to go on once all are ready: from
//! then on nothing can keep a member from going through. The clocks pass the rounds on all processes
//! ([`Rounds`]), and data goes from process to process once, as the collective means it. A reduction in a tree travels with the word that
//! a process is ready and back with the word to go; other reductions take the schedule's steps ([`Lockstep`]).
//!
//! Until that word members may have to go on one by one, because nothing else can run or because another process
//! runs the collective event by event: then each process makes agents of its own. A process that says that it is ready tells how
//! often that has been decided, so that nobody counts it who has started since.

use crate::collective::choose::choose;
use crate::collective::executor::{Agent, Place, Stage};
use crate::collective::schedule::{Digest, Kind as Collective, Shape};
use crate::collective::together::{Data, Together};
use crate::group::Group;
use crate::remote::collective::Ident;
use crate::remote::lockstep::Lockstep;
use crate::remote::partial::{Partial, Tree, put, take};
use crate::remote::record::{Put, Take};
use crate::remote::rounds::{Costs, Rounds, Said, equal_clock};
use crate::remote::segments::Segments;
use crate::remote::stream::Kind;
use crate::wire::Wire;
use crate::world::World;
use std::rc::Rc;

/// Bytes of a message above which a reduction runs event by event rather than in lockstep: all members' buffers at a time leave the caches.
const LOCKSTEP_MOST: u64 = 4096;

/// Members a process, on average, from which on messages of one round travel together often enough to pay for waiting until all are in.
const LOCKSTEP_LEAST: usize = 4;

fn pays_in_lockstep(segments: &Segments) -> bool {
    segments.size() as usize >= LOCKSTEP_LEAST * segments.processes().count()
}

/// What a process keeps of an instance with members elsewhere, beyond its own members.
pub(crate) struct Apart {
    segments: Rc<Segments>,
    passage: Option<Passage>,
    /// Records of rounds that came before the word to go: round, process, record.
    early: Vec<(u32, u32, Vec<u8>)>,
    /// Data of other processes, and whose is awaited.
    data: Vec<(u32, Vec<u8>)>,
    awaited: Vec<u32>,
}

/// Members on their way through the rounds.
enum Passage {
    /// Their clocks alone.
    Clocks(Rounds),
    /// With their data.
    Steps(Box<Lockstep>),
}

impl Passage {
    fn deliver(&mut self, round: u32, process: u32, record: Vec<u8>) {
        match self {
            Passage::Clocks(rounds) => rounds.deliver(round, process, record),
            Passage::Steps(lockstep) => lockstep.deliver(round, process, record),
        }
    }
    /// Whether it moves agents of the instance, which take their results themselves.
    fn has_agents(&self) -> bool {
        matches!(self, Passage::Steps(lockstep) if lockstep.has_agents())
    }
    fn clock(&self, member: u32) -> u64 {
        match self {
            Passage::Clocks(rounds) => rounds.clock(member),
            Passage::Steps(lockstep) => lockstep.clock(member),
        }
    }
}

/// Where an instance begins.
pub(crate) enum Beginning {
    /// All members are on this process.
    Here,
    /// Members are on others as well.
    Apart(Box<Apart>),
    /// It runs event by event.
    Events,
}

/// What a process says when all its members are in.
struct Ready {
    epoch: u64,
    rank: u32,
    function: u16,
    root: u32,
    shape: Brief,
    /// The clock of all its members, if it is one.
    clock: Option<u64>,
    partials: Vec<Partial>,
}

/// What must be the same on all processes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Brief {
    kind: u8,
    bytes: u64,
    element: u64,
    flags: u8,
}

impl Brief {
    fn of(shape: &Shape) -> Brief {
        let flags = u8::from(shape.commutative) | u8::from(shape.predefined) << 1 | u8::from(shape.irregular) << 2;
        Brief { kind: shape.kind as u8, bytes: shape.bytes, element: shape.element, flags }
    }
}

impl Ready {
    fn put(&self, out: &mut Vec<u8>) {
        out.u64(self.epoch);
        out.u32(self.rank);
        out.u32(self.function.into());
        out.u32(self.root);
        out.u8(self.shape.kind);
        out.u64(self.shape.bytes);
        out.u64(self.shape.element);
        out.u8(self.shape.flags);
        out.u8(u8::from(self.clock.is_some()));
        out.u64(self.clock.unwrap_or_default());
        put(&self.partials, out);
    }
    fn take(from: &mut Take) -> Ready {
        let (epoch, rank, function, root) = (from.u64(), from.u32(), from.u32() as u16, from.u32());
        let shape = Brief { kind: from.u8(), bytes: from.u64(), element: from.u64(), flags: from.u8() };
        let (known, clock) = (from.u8() != 0, from.u64());
        Ready { epoch, rank, function, root, shape, clock: known.then_some(clock), partials: take(from) }
    }
}

/// The processes that are ready so far, on the process of the first member.
#[derive(Default)]
pub(crate) struct Readies {
    epoch: u64,
    by_process: Vec<(u32, Ready)>,
}

/// Message times between the members of a group.
struct Between<'a> {
    wire: &'a Wire,
    group: &'a Group,
}

impl Costs for Between<'_> {
    fn uniform(&self, bytes: u64) -> Option<u64> {
        self.wire.formula().and_then(|formula| formula.uniform()).map(|uniform| uniform.latency(false, bytes).as_ps())
    }
    fn latency(&self, from: u32, to: u32, bytes: u64) -> u64 {
        self.wire.latency(self.group.world_rank(from), self.group.world_rank(to), bytes).as_ps()
    }
}

fn is_reduced(kind: Collective) -> bool {
    !matches!(
        kind,
        Collective::Barrier
            | Collective::Agree
            | Collective::Bcast
            | Collective::Scatter
            | Collective::Gather
            | Collective::Allgather
            | Collective::Alltoall
    )
}

impl World {
    /// How the next instance of a communicator begins, call number `call`.
    pub(crate) fn beginning(&self, comm: u32, call: u32, shape: &Shape) -> Beginning {
        let communicator = self.comms.at(comm);
        if !self.is_spread(communicator) {
            return Beginning::Here;
        }
        let Some(segments) = self.segments(comm) else { return Beginning::Events };
        let remote = self.remote.as_ref().expect("several processes");
        if remote.spread.is_early(&Ident::of_comm(communicator.context, call)) {
            return Beginning::Events;
        }
        let by_events = shape.bytes > LOCKSTEP_MOST || !pays_in_lockstep(&segments);
        if is_reduced(shape.kind) && by_events && self.digest_of(shape).is_none() {
            return Beginning::Events;
        }
        Beginning::Apart(Box::new(Apart { segments, passage: None, early: Vec::new(), data: Vec::new(), awaited: Vec::new() }))
    }

    /// A member has entered an instance as an agent: whether it waits for the members of all processes, to pass the rounds with them. Processes
    /// may decide differently: who goes on event by event makes the others do so.
    pub(crate) fn hold_agent(&mut self, index: u32, member: u32) -> bool {
        let instance = self.collectives.instance(index);
        if instance.together.is_none() {
            let Some(apart) = self.apart_of_agents(index, member) else { return false };
            let own = apart.segments.of_process(self.others().me);
            let together = Together::of_agents(own.start, own.end - own.start, apart);
            self.collectives.instance_mut(index).together = Some(Box::new(together));
            self.collectives.hold(index);
        }
        let clock = self.ranks[self.current as usize].clock;
        let instance = self.collectives.instance_mut(index);
        instance.together.as_mut().expect("found or made above").join(member, clock, instance.arrived == 1);
        if instance.arrived == instance.here {
            self.ready_apart(index);
        }
        true
    }

    fn apart_of_agents(&self, index: u32, member: u32) -> Option<Box<Apart>> {
        let instance = self.collectives.instance(index);
        let agent = instance.agents[member as usize].as_ref()?;
        let (signature, ..) = instance.describe();
        let Place::Comm(comm) = instance.place else { return None };
        let known = signature.blocking && instance.root_known && instance.agreement.is_none();
        let fresh = instance.arrived == 1 && !instance.started && !instance.has_mail();
        let steps =
            agent.reduction.as_ref().is_none_or(|reduction| reduction.kernel.is_some()) && self.digest_of(&instance.shape).is_none();
        let small = agent.input.len() as u64 <= LOCKSTEP_MOST * u64::from(instance.size);
        if !(known && fresh && steps && small && self.holds_together()) || self.comms.at(comm).is_inter() {
            return None;
        }
        let segments = self.segments(comm).filter(|segments| pays_in_lockstep(segments))?;
        Some(Box::new(Apart { segments, passage: None, early: Vec::new(), data: Vec::new(), awaited: Vec::new() }))
    }

    /// Where the members of an intracommunicator are, if each process has a row of them.
    pub(crate) fn segments(&self, comm: u32) -> Option<Rc<Segments>> {
        let communicator = self.comms.at(comm);
        let blocks = &self.remote.as_ref()?.blocks;
        communicator.segments.get_or_init(|| Segments::of(&communicator.group, blocks).map(Rc::new)).clone()
    }

    /// The members of a communicator that may make calls on this process, in a row.
    pub(crate) fn rows_of(&self, comm: u32, members: u32) -> std::ops::Range<u32> {
        let communicator = self.comms.at(comm);
        if communicator.calls.is_empty()
            && !communicator.is_inter()
            && self.is_spread(communicator)
            && let (Some(segments), Some(remote)) = (self.segments(comm), &self.remote)
        {
            return segments.of_process(remote.me);
        }
        0..members
    }

    /// This process's members of an instance that begins: the first, and how many.
    pub(crate) fn own_members(&self, beginning: &Beginning, size: u32) -> (u32, u32) {
        match (beginning, &self.remote) {
            (Beginning::Apart(apart), Some(remote)) => {
                let own = apart.segments.of_process(remote.me);
                (own.start, own.end - own.start)
            }
            _ => (0, size),
        }
    }

    /// After an instance was made that begins apart.
    pub(crate) fn made_apart(&mut self, index: u32, comm: u32, call: u32, here: u32) {
        let ident = Ident::of_comm(self.comms.at(comm).context, call);
        let instance = self.collectives.instance_mut(index);
        (instance.ident, instance.here, instance.left) = (Some(ident), here, here);
        self.others().spread.instances.insert(ident, index);
    }

    /// All members of this process are in.
    pub(crate) fn ready_apart(&mut self, index: u32) {
        if self.collectives.instance(index).agreement.is_some() {
            self.contribute(index);
        }
        let instance = self.collectives.instance(index);
        let ident = instance.ident.expect("members are elsewhere");
        let together = instance.together.as_deref().expect("held together");
        let segments = together.apart().segments.clone();
        let me = self.remote.as_ref().expect("several processes").me;
        let (signature, ..) = instance.describe();
        let Place::Comm(comm) = instance.place else { unreachable!("groups of their own are not held together") };
        let group = &self.comms.at(comm).group;
        let own = segments.of_process(me);
        let clock = equal_clock(own.clone().map(|member| self.ranks[group.world_rank(member) as usize].clock.as_ps()));
        let ready = Ready {
            epoch: self.remote.as_ref().expect("several processes").agreeing.started,
            rank: instance.first_rank,
            function: signature.function,
            root: signature.root.unwrap_or(u32::MAX),
            shape: Brief::of(&instance.shape),
            clock,
            partials: self.reduce_own(&instance.shape, together, own),
        };
        let mut body = Vec::new();
        ident.put(&mut body);
        ready.put(&mut body);
        let leader = segments.process(0);
        if leader == me {
            self.ready_arrived(me, Take(&body));
        } else {
            self.others().streams.put(leader, Kind::Ready, &body);
        }
    }

    /// How the operands of a reduction come together, where that can be told in short.
    fn digest_of(&self, shape: &Shape) -> Option<Digest> {
        if is_reduced(shape.kind) { choose(shape, &self.policy).digest() } else { None }
    }

    fn reduce_own(&self, shape: &Shape, together: &Together, own: std::ops::Range<u32>) -> Vec<Partial> {
        let Some(digest) = self.digest_of(shape) else { return Vec::new() };
        let mut tree = Tree::new(together.kernel().expect("an operation of MPI's own"), digest, shape.size);
        tree.members(own, |member| together.contribution(shape, member));
        tree.finish()
    }

    /// On the process of the first member: another process, or this one, is ready.
    pub(crate) fn ready_arrived(&mut self, from: u32, mut record: Take) {
        let ident = Ident::take(&mut record);
        let ready = Ready::take(&mut record);
        let readies = self.others().spread.readies.entry(ident).or_default();
        if ready.epoch < readies.epoch {
            return;
        }
        if ready.epoch > readies.epoch {
            // Who was ready before has started event by event since.
            *readies = Readies { epoch: ready.epoch, by_process: Vec::new() };
        }
        readies.by_process.push((from, ready));
        let arrived = readies.by_process.len();
        let Some(&index) = self.others().spread.instances.get(&ident) else { return };
        let Some(together) = &self.collectives.instance(index).together else { return };
        if arrived < together.apart().segments.processes().count() {
            return;
        }
        let mut readies = self.others().spread.readies.remove(&ident).expect("found above").by_process;
        readies.sort_by_key(|(process, _)| *process);
        self.all_ready(index, ident, readies);
    }

    fn all_ready(&mut self, index: u32, ident: Ident, readies: Vec<(u32, Ready)>) {
        let root = readies.iter().map(|(_, ready)| ready.root).find(|&root| root != u32::MAX);
        let first = &readies[0].1;
        let other = readies.iter().map(|(_, ready)| ready).find(|ready| {
            ready.shape != first.shape
                || ready.root != u32::MAX && Some(ready.root) != root
                || (ready.root == u32::MAX) != (first.root == u32::MAX)
        });
        if let Some(other) = other {
            self.differ(index, first, other);
        }
        let common = first.clock.filter(|_| readies.iter().all(|(_, ready)| ready.clock == first.clock));
        let processes: Vec<u32> = readies.iter().map(|(process, _)| *process).collect();
        let mut result = Vec::new();
        let instance = self.collectives.instance(index);
        let together = instance.together.as_deref().expect("held together");
        if let Some(digest) = self.digest_of(&instance.shape) {
            let mut tree = Tree::new(together.kernel().expect("an operation of MPI's own"), digest, instance.size);
            tree.push_all(readies.into_iter().flat_map(|(_, ready)| ready.partials).collect());
            result = tree.result();
        }
        let alone = (instance.shape.kind == Collective::Reduce).then(|| together.apart().segments.process(instance.shape.root));
        let mut body = Vec::new();
        ident.put(&mut body);
        body.u8(u8::from(common.is_some()));
        let short = body.len();
        body.extend_from_slice(&result);
        let remote = self.others();
        for process in processes.into_iter().filter(|&process| process != remote.me) {
            let whole = alone.is_none_or(|root| root == process);
            remote.streams.put(process, Kind::Go, if whole { &body } else { &body[..short] });
        }
        self.go(index, common.is_some(), result);
    }

    fn differ(&mut self, index: u32, one: &Ready, other: &Ready) -> ! {
        let instance = self.collectives.instance(index);
        let (signature, ..) = instance.describe();
        let describe = |ready: &Ready| {
            let signature = crate::collective::Signature {
                function: ready.function,
                root: (ready.root != u32::MAX).then_some(ready.root),
                kind: Collective::ALL[ready.shape.kind as usize],
                ..signature
            };
            let shape = Shape {
                kind: signature.kind,
                bytes: ready.shape.bytes,
                element: ready.shape.element,
                predefined: ready.shape.flags & 2 != 0,
                ..instance.shape.clone()
            };
            format!("rank {} of MPI_COMM_WORLD called {} with {}", ready.rank, signature.describe(self.names), shape.describe())
        };
        let text = format!(
            "mismatched collectives on {}: {}, {}; all members must call the same collectives in the same order with matching arguments",
            self.comms.describe(crate::comm::Comms::handle(instance.comm())),
            describe(one),
            describe(other)
        );
        self.broken(&text)
    }

    pub(crate) fn go_arrived(&mut self, mut record: Take) {
        let ident = Ident::take(&mut record);
        let common = record.u8() != 0;
        let index = *self.others().spread.instances.get(&ident).expect("its members are in");
        self.go(index, common, record.0.to_vec());
    }

    /// All members of all processes are in: they go through.
    fn go(&mut self, index: u32, common: bool, result: Vec<u8>) {
        self.collectives.unhold(index);
        let me = self.others().me;
        let instance = self.collectives.instance_mut(index);
        instance.start();
        let agents = std::mem::take(&mut instance.agents);
        let mut together = instance.together.take().expect("held together");
        let (shape, Place::Comm(comm)) = (instance.shape.clone(), &instance.place) else {
            unreachable!("groups of their own are not held together")
        };
        let ident = instance.ident.expect("members are elsewhere");
        let group = self.comms.at(*comm).group.clone();
        let schedule = choose(&shape, &self.policy);
        let segments = together.apart().segments.clone();
        let own = segments.of_process(me);
        let is_tree = schedule.digest().is_some();
        let mut passage = if !agents.is_empty() {
            let own = agents.into_iter().skip(own.start as usize).take(own.len()).collect();
            Passage::Steps(Box::new(Lockstep::new(me, segments, schedule, own).with_agents()))
        } else if is_reduced(shape.kind) && !is_tree {
            let none: Rc<[u32]> = Rc::new([]);
            let agents = own.map(|member| Some(self.agent_of(&together, &shape, group.world_rank(member), member, &none))).collect();
            together.data = Data::Nothing;
            Passage::Steps(Box::new(Lockstep::new(me, segments, schedule, agents)))
        } else {
            let clocks = own.map(|member| self.ranks[group.world_rank(member) as usize].clock.as_ps());
            Passage::Clocks(Rounds::new(me, segments, schedule, shape.bytes, clocks, common))
        };
        let apart = together.apart_mut();
        std::mem::take(&mut apart.early).into_iter().for_each(|(round, process, record)| passage.deliver(round, process, record));
        apart.passage = Some(passage);
        if is_tree {
            together.data = Data::One(result);
        } else if shape.bytes != 0 && matches!(apart.passage, Some(Passage::Clocks(_))) {
            self.send_data(ident, &shape, &mut together);
        }
        self.collectives.instance_mut(index).together = Some(together);
        self.advance_apart(index);
    }

    /// Sends each process what its members get of this one's.
    fn send_data(&mut self, ident: Ident, shape: &Shape, together: &mut Together) {
        let remote = self.remote.as_mut().expect("several processes");
        let me = remote.me;
        let segments = together.apart().segments.clone();
        let root = segments.process(shape.root);
        let others = || segments.processes().filter(|&process| process != me);
        let (to, from): (Vec<u32>, Vec<u32>) = match shape.kind {
            Collective::Bcast | Collective::Scatter if root == me => (others().collect(), Vec::new()),
            Collective::Bcast | Collective::Scatter => (Vec::new(), vec![root]),
            Collective::Gather if root == me => (Vec::new(), others().collect()),
            Collective::Gather => (vec![root], Vec::new()),
            Collective::Allgather | Collective::Alltoall => (others().collect(), others().collect()),
            _ => return,
        };
        for process in to {
            let parts = together.data.parts(shape, segments.of_process(process));
            let bytes = parts.clone().map(<[u8]>::len).sum::<usize>();
            let out = remote.streams.begin(process, Kind::Data, Ident::BYTES + bytes);
            ident.put(out);
            parts.for_each(|part| out.extend_from_slice(part));
            remote.streams.end();
        }
        together.apart_mut().awaited = from;
    }

    pub(crate) fn data_arrived(&mut self, from: u32, mut record: Take) {
        let ident = Ident::take(&mut record);
        let index = *self.others().spread.instances.get(&ident).expect("its members are in");
        let apart = self.collectives.instance_mut(index).together.as_mut().expect("held together").apart_mut();
        apart.data.push((from, record.0.to_vec()));
        if apart.passage.is_some() {
            self.advance_apart(index);
        }
    }

    pub(crate) fn round_arrived(&mut self, from: u32, mut record: Take) {
        let ident = Ident::take(&mut record);
        let round = record.u32();
        let index = *self.others().spread.instances.get(&ident).expect("its members are in");
        let apart = self.collectives.instance_mut(index).together.as_mut().expect("held together").apart_mut();
        match &mut apart.passage {
            None => apart.early.push((round, from, record.0.to_vec())),
            Some(passage) => {
                passage.deliver(round, from, record.0.to_vec());
                self.advance_apart(index);
            }
        }
    }

    /// Goes on with the rounds; when they are over, and all else is there, the members of this process leave.
    pub(crate) fn advance_apart(&mut self, index: u32) {
        let instance = self.collectives.instance_mut(index);
        let (Some(mut together), Place::Comm(comm)) = (instance.together.take(), &instance.place) else { return };
        let ident = instance.ident.expect("members are elsewhere");
        let group = self.comms.at(*comm).group.clone();
        let apart = together.apart_mut();
        let mut said = Said::default();
        let over = match &mut apart.passage {
            None => {
                instance.together = Some(together);
                return;
            }
            Some(Passage::Clocks(rounds)) => rounds.advance(&Between { wire: &self.wire, group: &group }, &mut said),
            Some(Passage::Steps(lockstep)) => self.advance_lockstep(lockstep, &group, &mut said.records),
        };
        self.profile.messages_of(said.messages, said.bytes);
        let streams = &mut self.others().streams;
        for (process, round, record) in said.records {
            let out = streams.begin(process, Kind::Round, Ident::BYTES + 4 + record.len());
            ident.put(out);
            out.u32(round);
            out.extend_from_slice(&record);
            streams.end();
        }
        let agreed = self.collectives.instance(index).agreement.as_ref().is_none_or(|agreement| agreement.outcome.is_some());
        if over && agreed && apart.data.len() == apart.awaited.len() {
            if let Some(Passage::Steps(lockstep)) = apart.passage.take_if(|passage| passage.has_agents()) {
                self.agents_through(index, *lockstep);
                return;
            }
            self.leave_apart(index, &group, &mut together);
        }
        self.collectives.instance_mut(index).together = Some(together);
    }

    /// The agents of this process are through.
    fn agents_through(&mut self, index: u32, lockstep: Lockstep) {
        let first = lockstep.first();
        let mut agents: Vec<Option<Box<Agent>>> = (0..self.collectives.instance(index).size).map(|_| None).collect();
        for (agent, place) in lockstep.into_agents().zip(&mut agents[first as usize..]) {
            let entry = self.ranks[agent.rank as usize].clock;
            self.profile.wait(agent.rank, agent.clock.since(entry));
            *place = Some(agent);
        }
        // Last to first, so that they run in the order of ranks.
        for agent in agents.iter_mut().rev().flatten() {
            agent.stage = Stage::Done;
            self.agent_done(agent);
        }
        self.collectives.instance_mut(index).agents = agents;
    }

    fn leave_apart(&mut self, index: u32, group: &Group, together: &mut Together) {
        let me = self.others().me;
        let shape = self.collectives.instance(index).shape.clone();
        let apart = together.apart_mut();
        let mut parts = std::mem::take(&mut apart.data);
        parts.sort_by_key(|(process, _)| *process);
        let (segments, mut passage) = (apart.segments.clone(), apart.passage.take().expect("it is over"));
        let own = segments.of_process(me);
        if let Passage::Steps(lockstep) = &mut passage {
            together.data = lockstep.results(&shape);
        } else if shape.bytes != 0 {
            together.data.complete(&shape, &segments, me, parts);
        }
        together.set_complete();
        // Last to first, so that they run in the order of ranks.
        for member in own.rev() {
            self.release_member(group.world_rank(member), passage.clock(member));
        }
    }
}

impl Data {
    /// What members `theirs` of another process get of this one's, in pieces.
    fn parts<'a>(&'a self, shape: &Shape, theirs: std::ops::Range<u32>) -> impl Iterator<Item = &'a [u8]> + Clone {
        let (block, theirs) = (shape.bytes as usize, theirs.start as usize..theirs.end as usize);
        let (whole, row): (&[u8], usize) = match self {
            Data::Nothing => (&[], 1),
            Data::One(bytes) => (bytes, bytes.len().max(1)),
            Data::Each(bytes, stride) => (bytes, *stride),
        };
        // An alltoall's rows and a scatter's one have a block for each member.
        let columns = match shape.kind {
            Collective::Scatter | Collective::Alltoall => theirs.start * block..theirs.end * block,
            _ => 0..row.min(whole.len()),
        };
        whole.chunks(row).map(move |row| &row[columns.clone()])
    }

    /// Adds what the other processes sent: the result.
    fn complete(&mut self, shape: &Shape, segments: &Segments, me: u32, mut parts: Vec<(u32, Vec<u8>)>) {
        let own = segments.of_process(me);
        let block = shape.bytes as usize;
        match shape.kind {
            Collective::Bcast | Collective::Scatter => match parts.pop() {
                Some((_, data)) => *self = Data::One(data),
                None if shape.kind == Collective::Scatter => {
                    let data: Vec<u8> = self.parts(shape, own).flatten().copied().collect();
                    *self = Data::One(data);
                }
                None => {}
            },
            Collective::Gather | Collective::Allgather if !parts.is_empty() => {
                let Data::Each(mine, stride) = std::mem::replace(self, Data::Nothing) else { return };
                let at = parts.partition_point(|(process, _)| *process < me);
                parts.insert(at, (me, mine));
                *self = Data::Each(parts.into_iter().flat_map(|(_, data)| data).collect(), stride);
            }
            Collective::Alltoall => {
                let Data::Each(mine, stride) = std::mem::replace(self, Data::Nothing) else { return };
                let mut result = vec![0; mine.len()];
                let at = parts.partition_point(|(process, _)| *process < me);
                let columns = own.len() * block;
                let kept: Vec<u8> = mine.chunks(stride).flat_map(|row| &row[own.start as usize * block..][..columns]).copied().collect();
                parts.insert(at, (me, kept));
                for (process, data) in parts {
                    for (sender, row) in segments.of_process(process).zip(data.chunks(columns)) {
                        for (receiver, part) in row.chunks(block).enumerate() {
                            result[receiver * stride + sender as usize * block..][..block].copy_from_slice(part);
                        }
                    }
                }
                *self = Data::Each(result, stride);
            }
            _ => {}
        }
    }
}
