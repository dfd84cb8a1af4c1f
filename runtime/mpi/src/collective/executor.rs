//! Runs schedules event by event: an agent for each member, moved on by the arrival of messages.
//!
//! An instance is one collective call of a communicator. Its members enter one by one; a
//! blocking member waits for its agent, a nonblocking one goes on. Members of an instance that is not complete are
//! held until the last has entered, or until nothing else can run: then their agents start at their entry clocks.

use crate::collective::schedule::{Buffer, Member, Schedule, Shape, Slice, Step};
use crate::collective::together::{Latest, Together};
use crate::collective::{Agreement, Contribution, Delivery, Reduction, Signature};
use crate::error::{ErrorClass, Failure, Result};
use crate::flight::Flight;
use crate::group::Group;
use crate::handle::{self, RequestRef};
use crate::matching::Extent;
use crate::slab::Slab;
use crate::world::World;
use engine::{Span, Time};
use rank::Addr;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::rc::Rc;

/// A message of a schedule, on its way or arrived.
struct Mail {
    at: Time,
    bytes: u64,
    /// Pool buffer of the payload, if it carries any.
    payload: Option<u32>,
}

/// Where a member is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// Entered, not started.
    Held,
    /// Moving through its rounds.
    Running,
    /// Through.
    Done,
}

/// One member of an instance.
pub(crate) struct Agent {
    pub(crate) rank: u32,
    pub(crate) clock: Time,
    pub(crate) stage: Stage,
    round: u32,
    /// Receives of the round that are complete, then local steps done.
    cursor: u32,
    sent: bool,
    waiting: Option<u32>,
    pub(crate) member: Member,
    pub(crate) input: Vec<u8>,
    pub(crate) output: Vec<u8>,
    pub(crate) scratch: Vec<u8>,
    pub(crate) reduction: Option<Rc<Reduction>>,
    delivery: Delivery,
    /// The request of a nonblocking call; a blocking one has none.
    pub(crate) request: Option<u32>,
    pub(crate) failure: Option<Box<Failure>>,
}

impl Agent {
    /// A member that has entered a blocking call; its result is taken from it when it leaves.
    pub(crate) fn held(
        rank: u32,
        clock: Time,
        member: Member,
        input: Vec<u8>,
        output_bytes: u64,
        reduction: Option<Rc<Reduction>>,
    ) -> Agent {
        Agent {
            rank,
            clock,
            stage: Stage::Held,
            round: 0,
            cursor: 0,
            sent: false,
            waiting: None,
            member,
            input,
            output: vec![0; output_bytes as usize],
            scratch: Vec::new(),
            reduction,
            delivery: Delivery::None,
            request: None,
            failure: None,
        }
    }
    pub(crate) fn round(&self) -> u32 {
        self.round
    }
    /// A message had another size than this member expects: the call fails when it is collected.
    #[cold]
    pub(crate) fn mismatch(&mut self, from: u32, got: u64, expected: u64) {
        let class = if got > expected { ErrorClass::TRUNCATE } else { ErrorClass::COUNT };
        let text = format!(
            "mismatched sizes: rank {from} of the communicator sent {got} bytes where this rank expects {expected}; all members must give matching counts and datatypes"
        );
        self.failure.get_or_insert_with(|| Failure::new(class, text));
    }
    /// Whether it has all of a slice; if not, the call fails when it is collected.
    pub(crate) fn covers(&mut self, slice: Slice) -> bool {
        let length = match slice.buffer {
            Buffer::Input => self.input.len(),
            Buffer::Output => self.output.len(),
            Buffer::Scratch => self.scratch.len(),
            Buffer::Nothing => return true,
        } as u64;
        slice.offset + slice.bytes <= length || self.falls_short(slice, length)
    }
    #[cold]
    fn falls_short(&mut self, slice: Slice, length: u64) -> bool {
        let side = if slice.buffer == Buffer::Input { "sends" } else { "receives" };
        let text = format!(
            "mismatched sizes: this rank {side} {length} bytes where its own counts for the members ask for {}; the counts of a rank must agree with each other and with those of the others",
            slice.offset + slice.bytes
        );
        self.failure.get_or_insert_with(|| Failure::new(ErrorClass::COUNT, text));
        false
    }
    /// One of its buffers whole.
    pub(crate) fn vec_mut(&mut self, buffer: Buffer) -> &mut Vec<u8> {
        match buffer {
            Buffer::Input => &mut self.input,
            Buffer::Output => &mut self.output,
            _ => &mut self.scratch,
        }
    }
}

/// Among whom an instance is.
#[derive(Clone)]
pub(crate) enum Place {
    /// The members of a communicator (its index).
    Comm(u32),
    /// A group whose members find each other by context, tag and first member.
    Group((u32, i32, u32), Rc<Group>),
}

/// What a member brings.
pub(crate) struct Entry {
    pub place: Place,
    pub signature: Signature,
    pub shape: Shape,
    /// False for the root's own group in an intercommunicator.
    pub root_known: bool,
    pub member: Member,
    pub input: Vec<u8>,
    pub output_bytes: u64,
    pub reduction: Option<Rc<Reduction>>,
    pub delivery: Delivery,
    pub agreement: Option<(Contribution, crate::collective::Resolve)>,
    pub blocking: bool,
}

/// One collective call of a communicator.
pub(crate) struct Instance {
    pub(crate) place: Place,
    /// Its name among all processes, where it has members on several.
    pub(crate) ident: Option<crate::remote::collective::Ident>,
    /// Members on this process.
    pub(crate) here: u32,
    signature: Signature,
    pub(crate) first_rank: u32,
    /// Chosen when the instance starts: the root of an intercommunicator's collective may be known only then.
    schedule: Option<Rc<dyn Schedule>>,
    pub(crate) shape: Shape,
    pub(crate) root_known: bool,
    pub(crate) size: u32,
    pub(crate) agents: Vec<Option<Box<Agent>>>,
    pub(crate) arrived: u32,
    pub(crate) left: u32,
    pub(crate) started: bool,
    /// While its members are held in a few words each, and once they are through that way.
    pub(crate) together: Option<Box<Together>>,
    /// Its place in the list of those held.
    held_at: Option<u32>,
    /// Who has entered, of a group's instance: its members find it by that.
    joined: crate::handles::RankSet,
    mail: FxHashMap<(u32, u32, u32), VecDeque<Mail>>,
    pub(crate) agreement: Option<Agreement>,
}

/// A reduction that a function of the program must do, on its own rank.
pub(crate) struct UserReduction {
    pub rank: u32,
    pub instance: u32,
    pub member: u32,
    pub reduction: Rc<Reduction>,
    pub left: Vec<u8>,
    pub right: Vec<u8>,
    pub into: Slice,
}

impl UserReduction {
    /// Calls the function; its rank must be mounted.
    pub(crate) fn run(&mut self) {
        self.reduction.call(&self.left, &mut self.right);
    }
}

/// All instances of a process.
#[derive(Default)]
pub struct Collectives {
    instances: Slab<Instance>,
    agenda: VecDeque<(u32, u32)>,
    held: Vec<u32>,
    steps: Vec<Step>,
    /// Instances of groups: those with one key differ in the group, or follow one another.
    meetings: FxHashMap<(u32, i32, u32), Vec<u32>>,
    pub(crate) user: Option<UserReduction>,
    pub(crate) latest: Option<Latest>,
}

impl Collectives {
    pub(crate) fn instance(&self, index: u32) -> &Instance {
        &self.instances[index]
    }
    pub(crate) fn instance_mut(&mut self, index: u32) -> &mut Instance {
        &mut self.instances[index]
    }
    /// An instance waits for its members.
    pub(crate) fn hold(&mut self, index: u32) {
        let instance = &mut self.instances[index];
        if instance.held_at.is_none() {
            instance.held_at = Some(self.held.len() as u32);
            self.held.push(index);
        }
    }
    /// It does not any more.
    pub(crate) fn unhold(&mut self, index: u32) {
        if let Some(at) = self.instances[index].held_at.take() {
            self.held.swap_remove(at as usize);
            if let Some(&moved) = self.held.get(at as usize) {
                self.instances[moved].held_at = Some(at);
            }
        }
    }
    /// A member can move on.
    pub(crate) fn agenda(&mut self, index: u32, member: u32) {
        self.agenda.push_back((index, member));
    }
    /// Whether a member or a function of the program can go on.
    pub(crate) fn has_work(&self) -> bool {
        !self.agenda.is_empty() || self.user.is_some()
    }
    /// Whether members are held that could start.
    pub(crate) fn holds(&self) -> bool {
        self.held.iter().any(|&index| self.instances[index].root_known)
    }
    /// A message of a schedule, to member `key.0` from member `key.1` in round `key.2`, arrives from another process.
    pub(crate) fn deliver(&mut self, index: u32, key: (u32, u32, u32), at: Time, bytes: u64, payload: Option<u32>) {
        let instance = &mut self.instances[index];
        instance.mail.entry(key).or_default().push_back(Mail { at, bytes, payload });
        if instance.agents[key.0 as usize].as_ref().is_some_and(|agent| agent.waiting == Some(key.1)) {
            self.agenda.push_back((index, key.0));
        }
    }
    /// All instances.
    pub(crate) fn instances(&self) -> impl Iterator<Item = &Instance> {
        (0..self.instances.capacity() as u32).filter_map(|index| self.instances.get(index))
    }
}

impl Instance {
    pub(crate) fn describe(&self) -> (Signature, u32, u32) {
        (self.signature, self.arrived, self.size)
    }
    pub(crate) fn missing(&self) -> impl Iterator<Item = u32> {
        (0..self.size).filter(|&member| !self.is_in(member))
    }
    /// Whether a member has entered (and not left).
    fn is_in(&self, member: u32) -> bool {
        match &self.together {
            Some(together) => together.has(member),
            None => self.agents[member as usize].is_some(),
        }
    }
    /// Whether its members are held as agents until all are in everywhere.
    pub(crate) fn holds_agents(&self) -> bool {
        self.together.is_some() && !self.agents.is_empty()
    }
    /// Whether a message of its schedule is there.
    pub(crate) fn has_mail(&self) -> bool {
        !self.mail.is_empty()
    }
    pub(crate) fn start(&mut self) {
        self.started = true;
    }
    /// The agreement's outcome for a member, if there is one.
    pub(crate) fn outcome(&self, member: u32) -> Option<Result<usize>> {
        let outcome = self.agreement.as_ref()?.outcome.as_ref()?;
        Some(outcome.as_ref().map(|outcome| outcome.of(member)).map_err(Clone::clone))
    }
    /// The communicator's index; `MPI_COMM_WORLD`'s for a group's instance.
    pub(crate) fn comm(&self) -> u32 {
        match self.place {
            Place::Comm(comm) => comm,
            Place::Group(..) => 0,
        }
    }
}

/// Part of a member's buffer; nothing where the buffer ends before (its counts contradict each other).
pub(crate) fn buffer_of(agent: &Agent, slice: Slice) -> &[u8] {
    let range = slice.offset as usize..(slice.offset + slice.bytes) as usize;
    let buffer: &[u8] = match slice.buffer {
        Buffer::Input => &agent.input,
        Buffer::Output => &agent.output,
        Buffer::Scratch => &agent.scratch,
        Buffer::Nothing => &[],
    };
    buffer.get(range).unwrap_or(&[])
}

/// The same, to write.
pub(crate) fn buffer_mut(agent: &mut Agent, slice: Slice) -> &mut [u8] {
    let range = slice.offset as usize..(slice.offset + slice.bytes) as usize;
    let buffer: &mut [u8] = match slice.buffer {
        Buffer::Input => &mut agent.input,
        Buffer::Output => &mut agent.output,
        Buffer::Scratch => &mut agent.scratch,
        Buffer::Nothing => &mut [],
    };
    buffer.get_mut(range).unwrap_or(&mut [])
}

impl World {
    /// The instance that a rank is blocked in (for reports).
    pub(crate) fn waiting_instance(&self, rank: u32) -> Option<u32> {
        let waits = |instance: &Instance| match (&instance.together, &instance.place) {
            (Some(together), Place::Comm(comm)) => {
                let member = self.comms.at(*comm).group.rank_of(rank);
                !together.is_complete() && member.is_some_and(|member| together.has(member))
            }
            _ => instance.agents.iter().flatten().any(|agent| agent.rank == rank && agent.request.is_none() && agent.stage != Stage::Done),
        };
        (0..self.collectives.instances.capacity() as u32).find(|&index| self.collectives.instances.get(index).is_some_and(waits))
    }

    /// World rank of a member of a communicator's collectives.
    pub(crate) fn member_rank(&self, place: &Place, member: u32, me: u32) -> u32 {
        let comm = match place {
            Place::Comm(comm) => *comm,
            Place::Group(_, group) => return group.world_rank(member),
        };
        let communicator = self.comms.at(comm);
        if communicator.is_self {
            return me;
        }
        let Some(remote) = &communicator.remote else { return communicator.group.world_rank(member) };
        let (first, second) = self.sides(comm);
        debug_assert!(remote.size() > 0);
        if member < first.size() { first.world_rank(member) } else { second.world_rank(member - first.size()) }
    }

    /// The groups of an intercommunicator in the order that both sides agree on: by the world rank of their first member.
    pub(crate) fn sides(&self, comm: u32) -> (&crate::group::Group, &crate::group::Group) {
        let communicator = self.comms.at(comm);
        let (local, remote) = (&*communicator.group, communicator.remote.as_deref().expect("an intercommunicator"));
        if local.world_rank(0) < remote.world_rank(0) { (local, remote) } else { (remote, local) }
    }

    /// The mounted rank enters the next collective of its place: answers `(instance, member, request)`.
    pub(crate) fn enter_collective(&mut self, entry: Entry) -> Result<(u32, u32, Option<u32>)> {
        let me = self.current;
        let member = entry.member.rank;
        let index = self.join(member, &entry)?;
        let blocking = entry.blocking;
        let request = (!blocking).then(|| self.make_request(me, crate::request::Body::Collective { instance: index, member }));
        let instance = &mut self.collectives.instances[index];
        if entry.root_known && !instance.root_known {
            // Those who do not know the root (MPI_PROC_NULL) know nothing else of the call either.
            instance.root_known = true;
            instance.shape = entry.shape;
        }
        let agent = Agent {
            rank: me,
            clock: self.ranks[me as usize].clock,
            stage: Stage::Held,
            round: 0,
            cursor: 0,
            sent: false,
            waiting: None,
            member: entry.member,
            input: entry.input,
            output: vec![0; entry.output_bytes as usize],
            scratch: Vec::new(),
            reduction: entry.reduction,
            delivery: entry.delivery,
            request,
            failure: None,
        };
        instance.agents[member as usize] = Some(Box::new(agent));
        instance.arrived += 1;
        let complete = instance.arrived == instance.size;
        if let Some((contribution, resolve)) = entry.agreement {
            self.contribute_to_agreement(index, member, contribution, resolve, complete);
        }
        if self.collectives.instance(index).ident.is_some() {
            self.entered_spread(index, member);
            return Ok((index, member, request));
        }
        let instance = &mut self.collectives.instances[index];
        if instance.started {
            self.collectives.agenda.push_back((index, member));
        } else if complete || !blocking {
            self.start_instance(index);
        } else if instance.arrived == 1 {
            self.collectives.hold(index);
        }
        Ok((index, member, request))
    }

    /// Adds a member's part to an agreement, and makes the outcome if it is the last one.
    pub(crate) fn contribute_to_agreement(
        &mut self,
        index: u32,
        member: u32,
        contribution: Contribution,
        resolve: crate::collective::Resolve,
        complete: bool,
    ) {
        let me = self.current;
        let instance = self.collectives.instance_mut(index);
        let agreement = instance.agreement.get_or_insert_with(|| Agreement::new(resolve));
        agreement.contributions.push((member, me, contribution));
        if complete {
            let mut contributions = std::mem::take(&mut agreement.contributions);
            contributions.sort_by_key(|(member, ..)| *member);
            let (resolve, comm) = (agreement.resolve, instance.comm());
            let outcome = resolve(self, comm, contributions);
            self.collectives.instance_mut(index).agreement.as_mut().expect("used above").outcome = Some(outcome);
        }
    }

    /// Checks that the mounted rank's call is the one that others made.
    pub(crate) fn agree_on(&self, index: u32, comm: u32, signature: &Signature, shape: &Shape) -> Result {
        let instance = &self.collectives.instances[index];
        let (theirs, first) = (instance.signature, instance.first_rank);
        let describe = || self.comms.describe(crate::comm::Comms::handle(comm));
        if !theirs.agrees(signature) {
            return Err(Failure::new(
                ErrorClass::OTHER,
                format!(
                    "mismatched collectives on {}: rank {first} of MPI_COMM_WORLD called {}, this rank {}; all members must call the same collectives in the same order with matching arguments",
                    describe(),
                    theirs.describe(self.names),
                    signature.describe(self.names)
                ),
            ));
        }
        // The two sides of an intercommunicator may differ, and who does not know the root knows no size.
        if shape.sides.is_none() && instance.root_known && !instance.shape.matches(shape) {
            let class = if instance.shape.bytes > shape.bytes { ErrorClass::TRUNCATE } else { ErrorClass::COUNT };
            return Err(Failure::new(
                class,
                format!(
                    "mismatched arguments of a collective on {}: rank {first} of MPI_COMM_WORLD called {} with {}, this rank with {}; all members must give matching counts, datatypes and operations",
                    describe(),
                    theirs.describe(self.names),
                    instance.shape.describe(),
                    shape.describe()
                ),
            ));
        }
        Ok(())
    }

    /// Finds or makes the instance that the member's next call belongs to.
    fn join(&mut self, member: u32, entry: &Entry) -> Result<u32> {
        let me = self.current;
        let comm = match &entry.place {
            Place::Comm(comm) => *comm,
            Place::Group(key, group) => {
                let instances = &self.collectives.instances;
                let open = |index: &&u32| {
                    let instance = &instances[**index];
                    !instance.joined.contains(member) && matches!(&instance.place, Place::Group(_, have) if have.same(group))
                };
                let known = self.collectives.meetings.get(key).and_then(|list| list.iter().find(open).copied());
                let index = known.unwrap_or_else(|| {
                    let index = self.make_instance(entry, me);
                    self.made_instance(index, member, 0);
                    self.collectives.meetings.entry(*key).or_default().push(index);
                    index
                });
                self.collectives.instances[index].joined.insert(member);
                self.joined_group(*key, group, member);
                return Ok(index);
            }
        };
        // Both sides of an intercommunicator count and find instances in the object with the smaller index.
        let home = self.home(comm);
        let communicator = self.comms.at_mut(home);
        let total = entry.shape.size;
        if communicator.is_self {
            return Ok(self.make_instance(entry, me));
        }
        let call = communicator.call_of(member);
        let known = communicator.instances.get((call - communicator.first) as usize).copied().flatten();
        let index = match known {
            Some(index) => {
                self.agree_on(index, comm, &entry.signature, &entry.shape)?;
                if !self.collectives.instance(index).holds_agents() {
                    self.expand(index);
                }
                index
            }
            None => {
                let index = self.make_instance(entry, me);
                self.made_instance(index, member, call);
                index
            }
        };
        self.note_entry(home, member, total, index);
        Ok(index)
    }

    /// A member's next call on a communicator belongs to this instance.
    pub(crate) fn note_entry(&mut self, comm: u32, member: u32, members: u32, index: u32) {
        let here = self.rows_of(comm, members);
        let communicator = self.comms.at_mut(comm);
        if communicator.calls.is_empty() {
            (communicator.calls_from, communicator.calls) = (here.start, vec![0; here.len()]);
        }
        let call = &mut communicator.calls[(member - communicator.calls_from) as usize];
        let position = (*call - communicator.first) as usize;
        *call += 1;
        while communicator.instances.len() <= position {
            communicator.instances.push_back(None);
        }
        communicator.instances[position] = Some(index);
    }

    fn make_instance(&mut self, entry: &Entry, me: u32) -> u32 {
        let index = self.make_held(entry.place.clone(), entry.signature, entry.shape.clone());
        let instance = self.collectives.instance_mut(index);
        instance.first_rank = me;
        instance.root_known = entry.root_known;
        instance.agents = (0..entry.shape.size).map(|_| None).collect();
        index
    }

    /// An instance that nobody has entered, with room for no agents.
    pub(crate) fn make_held(&mut self, place: Place, signature: Signature, shape: Shape) -> u32 {
        self.collectives.latest = None;
        self.collectives.instances.insert(Instance {
            place,
            ident: None,
            here: shape.size,
            signature,
            first_rank: self.current,
            schedule: None,
            size: shape.size,
            left: shape.size,
            shape,
            root_known: true,
            agents: Vec::new(),
            arrived: 0,
            started: false,
            together: None,
            held_at: None,
            joined: crate::handles::RankSet::default(),
            mail: FxHashMap::default(),
            agreement: None,
        })
    }

    /// The object in which both sides of an intercommunicator keep their collectives.
    fn home(&self, comm: u32) -> u32 {
        self.comms.twin(comm).map_or(comm, |twin| twin.min(comm))
    }

    pub(crate) fn start_instance(&mut self, index: u32) {
        if !self.collectives.instance(index).root_known {
            self.collectives.hold(index);
            return;
        }
        self.collectives.unhold(index);
        self.expand(index);
        let instance = self.collectives.instance_mut(index);
        instance.started = true;
        let schedule = crate::collective::choose::choose(&instance.shape, &self.policy);
        instance.schedule = Some(schedule.clone());
        let complete = instance.arrived == instance.size;
        if complete && self.batch && self.can_batch(self.collectives.instance(index)) {
            self.run_batch(index, &*schedule);
            return;
        }
        let collectives = &mut self.collectives;
        for (member, agent) in collectives.instances[index].agents.iter().enumerate() {
            if agent.is_some() {
                collectives.agenda.push_back((index, member as u32));
            }
        }
    }

    /// Starts all held instances, complete or not, because nothing else can run; false if there were none.
    pub(crate) fn start_held(&mut self) -> bool {
        let held = self.collectives.held.clone();
        for &index in &held {
            self.start_instance(index);
        }
        self.collectives.held.len() < held.len()
    }

    /// Moves agents on until none can move or a function of the program is needed (`collectives.user`).
    pub(crate) fn run_agents(&mut self) {
        while self.collectives.user.is_none()
            && let Some((index, member)) = self.collectives.agenda.pop_front()
        {
            self.run_agent(index, member);
        }
    }

    fn run_agent(&mut self, index: u32, member: u32) {
        let Some(instance) = self.collectives.instances.get_mut(index) else { return };
        let Some(schedule) = instance.schedule.clone() else { return };
        let Some(mut agent) = instance.agents[member as usize].take() else { return };
        if agent.stage == Stage::Done {
            instance.agents[member as usize] = Some(agent);
            return;
        }
        if agent.stage == Stage::Held {
            agent.stage = Stage::Running;
            agent.scratch = vec![0; schedule.scratch(&agent.member) as usize];
        }
        agent.waiting = None;
        let mut steps = std::mem::take(&mut self.collectives.steps);
        let rounds = schedule.rounds();
        let mut through = true;
        while agent.round < rounds {
            if !agent.sent {
                agent.round = schedule.next(member, agent.round);
                if agent.round >= rounds {
                    break;
                }
            }
            steps.clear();
            schedule.round(&agent.member, agent.round, &mut steps);
            if !self.run_round(index, &mut agent, &steps) {
                through = false;
                break;
            }
            agent.round += 1;
            agent.cursor = 0;
            agent.sent = false;
        }
        self.collectives.steps = steps;
        // Members on several processes may be through before what was agreed on is known here.
        if through && self.collectives.instances[index].agreement.as_ref().is_none_or(|agreement| agreement.outcome.is_some()) {
            agent.stage = Stage::Done;
            self.agent_done(&mut agent);
        }
        self.collectives.instances[index].agents[member as usize] = Some(agent);
    }

    /// One round; false if it must wait for a message or for a function of the program.
    fn run_round(&mut self, index: u32, agent: &mut Agent, steps: &[Step]) -> bool {
        if !agent.sent {
            agent.sent = true;
            for step in steps {
                if let Step::Send { to, from } = *step {
                    self.agent_send(index, agent, to, from);
                }
            }
        }
        let receives = steps.iter().filter(|step| matches!(step, Step::Receive { .. }));
        let count = receives.clone().count() as u32;
        for step in receives.skip(agent.cursor as usize) {
            let Step::Receive { from, into } = *step else { unreachable!("filtered") };
            if !self.agent_receive(index, agent, from, into) {
                return false;
            }
            agent.cursor += 1;
        }
        let local = steps.iter().filter(|step| matches!(step, Step::ReduceLeft { .. } | Step::ReduceRight { .. } | Step::Copy { .. }));
        for step in local.skip((agent.cursor - count) as usize) {
            agent.cursor += 1;
            match *step {
                Step::Copy { from, into } => crate::collective::batch::copy(agent, from, into),
                Step::ReduceLeft { from, into } => {
                    if !self.agent_reduce(index, agent, from, into, into) {
                        return false;
                    }
                }
                Step::ReduceRight { from, into } => {
                    if !self.agent_reduce(index, agent, into, from, into) {
                        return false;
                    }
                }
                _ => unreachable!("filtered"),
            }
        }
        true
    }

    fn agent_send(&mut self, index: u32, agent: &mut Agent, to: u32, from: Slice) {
        let target = self.member_rank(&self.collectives.instances[index].place, to, agent.rank);
        if self.wire.has_overheads {
            agent.clock = self.leave_rank(agent.rank, agent.clock);
        }
        self.profile.message(from.bytes);
        if !self.is_local(target) {
            self.agent_send_away(index, agent, to, target, from);
            return;
        }
        let payload = (from.buffer != Buffer::Nothing && from.bytes != 0 && agent.covers(from)).then(|| {
            let slot = self.pool.alloc(from.bytes as usize);
            self.pool.get_mut(slot).extend_from_slice(buffer_of(agent, from));
            slot
        });
        let key = (to, agent.member.rank, agent.round);
        let at = if self.by_time() {
            let flight = Flight::Collective { instance: index, to, from: agent.member.rank, round: agent.round };
            self.launch(agent.rank, target, from.bytes, agent.clock, flight);
            Time::MAX
        } else {
            agent.clock + self.wire.latency(agent.rank, target, from.bytes)
        };
        let instance = &mut self.collectives.instances[index];
        instance.mail.entry(key).or_default().push_back(Mail { at, bytes: from.bytes, payload });
        let waits = instance.agents[to as usize].as_ref().is_some_and(|agent| agent.waiting == Some(key.1));
        if waits && at != Time::MAX {
            self.collectives.agenda.push_back((index, to));
        }
    }

    /// When a message of a schedule that `rank` begins to send at `clock` leaves it. Without a gap, what a rank sends in
    /// several collectives at a time does not depend on each other.
    pub(crate) fn leave_rank(&mut self, rank: u32, clock: Time) -> Time {
        let costs = &self.wire.overheads;
        if costs.gap == Span::ZERO {
            return clock + costs.send;
        }
        let state = &mut self.ranks[rank as usize];
        let start = clock.max(state.nic_free) + costs.send;
        state.nic_free = start + costs.gap;
        start
    }

    /// A `ByTime` network delivered a message of a schedule.
    pub(crate) fn collective_arrival(&mut self, index: u32, to: u32, from: u32, round: u32, at: Time) {
        let Some(instance) = self.collectives.instances.get_mut(index) else { return };
        if let Some(queue) = instance.mail.get_mut(&(to, from, round))
            && let Some(mail) = queue.iter_mut().find(|mail| mail.at == Time::MAX)
        {
            mail.at = at;
        }
        if instance.agents[to as usize].as_ref().is_some_and(|agent| agent.waiting == Some(from)) {
            self.collectives.agenda.push_back((index, to));
        }
    }

    fn agent_receive(&mut self, index: u32, agent: &mut Agent, from: u32, into: Slice) -> bool {
        let instance = &mut self.collectives.instances[index];
        let key = (agent.member.rank, from, agent.round);
        let ready = instance.mail.get(&key).and_then(|queue| queue.front()).is_some_and(|mail| mail.at != Time::MAX);
        if !ready {
            agent.waiting = Some(from);
            return false;
        }
        let queue = instance.mail.get_mut(&key).expect("found above");
        let mail = queue.pop_front().expect("found above");
        if queue.is_empty() {
            instance.mail.remove(&key);
        }
        if mail.at > agent.clock {
            if agent.request.is_none() {
                self.profile.wait(agent.rank, mail.at.since(agent.clock));
            }
            agent.clock = mail.at;
        }
        if self.wire.has_overheads {
            agent.clock += self.wire.overheads.receive;
        }
        if mail.bytes != into.bytes {
            agent.mismatch(from, mail.bytes, into.bytes);
        }
        if let Some(slot) = mail.payload {
            let bytes = self.pool.get(slot);
            let part = bytes.len().min(into.bytes as usize);
            if into.buffer != Buffer::Nothing && agent.covers(into) {
                buffer_mut(agent, into)[..part].copy_from_slice(&bytes[..part]);
            }
            self.pool.free(slot);
        }
        true
    }

    /// `into = left op right`; false if a function of the program must do it.
    fn agent_reduce(&mut self, index: u32, agent: &mut Agent, left: Slice, right: Slice, into: Slice) -> bool {
        let Some(reduction) = agent.reduction.clone() else { return true };
        if into.bytes == 0 || agent.failure.is_some() || !agent.covers(left) || !agent.covers(right) {
            return true;
        }
        if reduction.kernel.is_some() {
            crate::collective::batch::reduce(agent, left, right, into);
            return true;
        }
        let (left, right) = (buffer_of(agent, left).to_vec(), buffer_of(agent, right).to_vec());
        self.collectives.user =
            Some(UserReduction { rank: agent.rank, instance: index, member: agent.member.rank, reduction, left, right, into });
        false
    }

    /// The function of the program has reduced `work.left` into `work.right`.
    pub(crate) fn user_reduced(&mut self, work: UserReduction) {
        if let Some(instance) = self.collectives.instances.get_mut(work.instance)
            && let Some(agent) = &mut instance.agents[work.member as usize]
        {
            buffer_mut(agent, work.into).copy_from_slice(&work.right);
            self.collectives.agenda.push_front((work.instance, work.member));
        }
    }

    pub(crate) fn agent_done(&mut self, agent: &mut Agent) {
        match agent.request {
            Some(request) => self.finish_request(request, agent.clock),
            None => {
                let state = &mut self.ranks[agent.rank as usize];
                if state.waiting != 0 {
                    state.waiting = 0;
                    self.ready.wake(agent.rank);
                }
            }
        }
    }

    /// Stores the new communicator's handle at `target` when `request` (of an agreement) is collected.
    pub(crate) fn store_outcome(&mut self, request: usize, target: Addr) {
        if let RequestRef::Cold(index) = handle::request(request)
            && let Some(crate::request::Request { body: crate::request::Body::Collective { instance, member }, .. }) =
                self.requests.get(index)
            && let Some(agent) = &mut self.collectives.instances[*instance].agents[*member as usize]
        {
            agent.delivery = Delivery::Handle(target);
        }
    }

    /// Whether a member is through.
    pub(crate) fn is_through(&self, index: u32, member: u32) -> bool {
        let instance = self.collectives.instance(index);
        match &instance.together {
            Some(together) => together.is_complete(),
            None => instance.agents[member as usize].as_ref().is_some_and(|agent| agent.stage == Stage::Done),
        }
    }

    /// Moves a complete member's result into the program's memory, ahead of its completion.
    pub(crate) fn deliver_collective(&mut self, index: u32, member: u32) {
        if let Some(agent) = &mut self.collectives.instances[index].agents[member as usize]
            && agent.stage == Stage::Done
            && !matches!(agent.delivery, Delivery::Handle(_))
        {
            std::mem::take(&mut agent.delivery).deliver(&agent.output);
        }
    }

    /// The mounted rank collects its result: moves it into the program's memory and leaves the instance.
    pub(crate) fn finish_collective(&mut self, index: u32, member: u32) -> Result<usize> {
        self.finish_agent(index, member, None)
    }

    /// The same; the result goes to `target`, where the agent does not know.
    pub(crate) fn finish_agent(&mut self, index: u32, member: u32, target: Option<&Extent>) -> Result<usize> {
        let me = self.current;
        let Some(mut agent) = self.collectives.instances[index].agents[member as usize].take() else { return Ok(0) };
        let before = self.ranks[me as usize].clock;
        // Waiting inside the collective was counted where it happened.
        if agent.clock > before {
            let state = &mut self.ranks[me as usize];
            state.clock = agent.clock;
            state.spins = 0;
        }
        let outcome = self.collectives.instance(index).outcome(member);
        self.leave_instance(index);
        if let Some(failure) = agent.failure.take() {
            return Err(failure);
        }
        agent.delivery.deliver(&agent.output);
        if let Some(target) = target.filter(|target| target.bytes != 0) {
            target.fill(&agent.output);
        }
        match outcome {
            Some(Ok(handle)) => {
                if let Delivery::Handle(target) = agent.delivery {
                    rank::memory::store(target, handle);
                }
                Ok(handle)
            }
            Some(Err(failure)) => Err(failure),
            None => Ok(0),
        }
    }

    pub(crate) fn leave_instance(&mut self, index: u32) {
        let instance = &mut self.collectives.instances[index];
        instance.left -= 1;
        if instance.left > 0 {
            return;
        }
        let place = instance.place.clone();
        self.collectives.latest = None;
        if let (Some(ident), Some(remote)) = (instance.ident, &mut self.remote) {
            remote.spread.instances.remove(&ident);
            remote.spread.readies.remove(&ident);
        }
        self.collectives.instances.remove(index);
        let comm = match place {
            Place::Comm(comm) => comm,
            Place::Group(key, _) => {
                if let Some(list) = self.collectives.meetings.get_mut(&key) {
                    list.retain(|&other| other != index);
                    if list.is_empty() {
                        self.collectives.meetings.remove(&key);
                    }
                }
                return;
            }
        };
        // The communicator may be freed while its last collective is collected.
        if self.comms.alive(comm).is_none() {
            return;
        }
        let home = self.home(comm);
        let communicator = self.comms.at_mut(home);
        if let Some(place) = communicator.instances.iter_mut().find(|place| **place == Some(index)) {
            *place = None;
        }
        // A place in the list is empty only once its instance is over: members pass through the calls in order.
        while communicator.instances.front() == Some(&None) {
            communicator.instances.pop_front();
            communicator.first += 1;
        }
    }
}

/// Packs extents one behind the other.
pub(crate) fn pack(extents: &[Extent]) -> Vec<u8> {
    let mut out = Vec::with_capacity(extents.iter().map(|extent| extent.bytes as usize).sum());
    for extent in extents {
        match &extent.layout {
            None => rank::memory::append(extent.buffer, extent.bytes as usize, &mut out),
            Some((datatype, count)) => datatype.pack(extent.buffer, *count, &mut out),
        }
    }
    out
}
