//! Runs a whole collective at once, in a loop over clocks.
//!
//! Allowed when all members are here and blocked in it, message times are a formula, and reductions are
//! MPI's own. Rounds are aligned (see [`schedule`](super::schedule)), so running them in lockstep gives the same
//! picosecond and the same bits as event by event; a test compares the two on random programs.

use crate::collective::agent::{Agent, Stage, buffer_mut, buffer_of};
use crate::collective::instance::Instance;
use crate::collective::schedule::{Active, Buffer, Schedule, Slice, Step};
use crate::error::{ErrorClass, Failure};
use crate::node::NIL;
use crate::world::World;
use engine::{Span, Time};

/// The members of an instance, by number.
pub(crate) type Agents = [Option<Box<Agent>>];

/// A message of the round.
struct Post {
    from: u32,
    next: u32,
    at: Time,
    bytes: u64,
    /// Where its payload begins in the round's arena; none for messages that carry nothing.
    payload: Option<usize>,
}

/// The messages of one round, by receiver.
pub(crate) struct Posts {
    /// Of each receiver: its first message that was not taken, and its last.
    lists: Vec<(u32, u32)>,
    posts: Vec<Post>,
    arena: Vec<u8>,
    touched: Vec<u32>,
}

impl Posts {
    pub(crate) fn new(members: usize) -> Posts {
        Posts { lists: vec![(NIL, NIL); members], posts: Vec::new(), arena: Vec::new(), touched: Vec::new() }
    }
    pub(crate) fn push(&mut self, to: u32, from: u32, at: Time, bytes: u64, payload: Option<&[u8]>) {
        let payload = payload.map(|payload| {
            let offset = self.arena.len();
            self.arena.extend_from_slice(payload);
            offset
        });
        let post = self.posts.len() as u32;
        self.posts.push(Post { from, next: NIL, at, bytes, payload });
        let (head, tail) = &mut self.lists[to as usize];
        match *tail {
            NIL => {
                self.touched.push(to);
                *head = post;
            }
            last => self.posts[last as usize].next = post,
        }
        *tail = post;
    }
    /// The oldest message from `from` to `to` that was not taken; most come in the order in which they are taken.
    fn take(&mut self, to: u32, from: u32) -> Option<u32> {
        let (mut before, mut at) = (NIL, self.lists[to as usize].0);
        while at != NIL {
            let Post { from: sender, next, .. } = self.posts[at as usize];
            if sender == from {
                match before {
                    NIL => self.lists[to as usize].0 = next,
                    before => self.posts[before as usize].next = next,
                }
                if next == NIL {
                    self.lists[to as usize].1 = before;
                }
                return Some(at);
            }
            (before, at) = (at, next);
        }
        None
    }
    /// The payload of the oldest message from `from` to `to` that was not taken.
    pub(crate) fn payload(&mut self, to: u32, from: u32) -> Option<&[u8]> {
        let found = self.take(to, from)?;
        let post = &self.posts[found as usize];
        Some(&self.arena[post.payload?..][..post.bytes as usize])
    }
    pub(crate) fn clear(&mut self) {
        for to in self.touched.drain(..) {
            self.lists[to as usize] = (NIL, NIL);
        }
        self.posts.clear();
        self.arena.clear();
    }
}

/// What a message from this part of a member's buffer carries.
pub(crate) fn carried(agent: &mut Agent, from: Slice) -> Option<&[u8]> {
    (from.buffer != Buffer::Nothing && from.bytes != 0 && agent.covers(from)).then(|| buffer_of(agent, from))
}

pub(super) fn members(active: Option<Active>, size: u32) -> impl Iterator<Item = u32> {
    let Active { first, stride, count } = active.unwrap_or(Active { first: 0, stride: 1, count: size });
    (0..u64::from(count)).map(move |index| ((u64::from(first) + index * u64::from(stride)) % u64::from(size.max(1))) as u32)
}

impl World {
    /// Whether an instance whose members have all entered may run here.
    pub(crate) fn can_batch(&self, instance: &Instance) -> bool {
        !self.by_time()
            && instance.agents.iter().flatten().all(|agent| {
                (agent.request.is_none() || !self.messages.wire.has_overheads)
                    && agent.reduction.as_ref().is_none_or(|reduction| reduction.kernel.is_some())
            })
    }

    /// Runs all rounds of an instance; all members are through afterwards.
    pub(crate) fn run_batch(&mut self, index: u32, schedule: &dyn Schedule) {
        let instance = self.collectives.instance_mut(index);
        let size = instance.size;
        let silent = instance.shape.carries_nothing();
        let mut agents = std::mem::take(&mut instance.agents);
        let place = instance.place.clone();
        let entry: Vec<Time> = agents.iter().flatten().map(|agent| agent.clock).collect();
        if !silent {
            for agent in agents.iter_mut().flatten() {
                agent.scratch = vec![0; schedule.scratch(&agent.member) as usize];
            }
        }
        let mut clocks: Vec<u64> = entry.iter().map(|clock| clock.as_ps()).collect();
        let mut posts: Option<Posts> = None;
        for round in 0..schedule.rounds() {
            let posts = posts.get_or_insert_with(|| Posts::new(size as usize));
            self.batch_round(&place, schedule, round, &mut agents, &mut clocks, posts);
        }
        for (member, agent) in agents.iter_mut().flatten().enumerate() {
            agent.clock = Time::from_ps(clocks[member]);
            agent.stage = Stage::Done;
            if !self.messages.wire.has_overheads && agent.request.is_none() {
                self.messages.profile.wait(agent.rank, agent.clock.since(entry[member]));
            }
        }
        // Woken last to first, so that they run in the order of ranks.
        for agent in agents.iter_mut().rev().flatten() {
            self.agent_done(agent);
        }
        self.collectives.instance_mut(index).agents = agents;
    }

    fn batch_round(
        &mut self,
        place: &crate::collective::instance::Place,
        schedule: &dyn Schedule,
        round: u32,
        agents: &mut Agents,
        clocks: &mut [u64],
        posts: &mut Posts,
    ) {
        let size = agents.len() as u32;
        let mut steps: Vec<Step> = Vec::new();
        posts.clear();
        for member in members(schedule.active(round), size) {
            let Some(agent) = &mut agents[member as usize] else { continue };
            steps.clear();
            schedule.round(&agent.member, round, &mut steps);
            for step in &steps {
                if let Step::Send { to, from } = *step {
                    let target = self.member_rank(place, to, agent.rank);
                    let clock = &mut clocks[member as usize];
                    if self.messages.wire.has_overheads {
                        *clock = self.leave_rank(agent.rank, Time::from_ps(*clock)).as_ps();
                    }
                    let at = Time::from_ps(*clock) + self.messages.wire.latency(agent.rank, target, from.bytes);
                    let payload = carried(agent, from);
                    posts.push(to, member, at, from.bytes, payload);
                    self.count_messages(1, from.bytes);
                }
            }
        }
        for member in members(schedule.active(round), size) {
            let Some(agent) = &mut agents[member as usize] else { continue };
            steps.clear();
            schedule.round(&agent.member, round, &mut steps);
            for step in &steps {
                self.batch_step(agent, member, step, &mut clocks[member as usize], posts);
            }
        }
    }

    /// A step that sends nothing; `member` is the agent's number among those that `posts` are for.
    pub(crate) fn batch_step(&mut self, agent: &mut Agent, member: u32, step: &Step, clock: &mut u64, posts: &mut Posts) {
        match *step {
            Step::Send { .. } => {}
            Step::Receive { from, into } => self.batch_receive(agent, member, from, into, clock, posts),
            Step::Copy { from, into } => copy(agent, from, into),
            Step::ReduceLeft { from, into } => reduce(agent, from, into, into),
            Step::ReduceRight { from, into } => reduce(agent, into, from, into),
        }
    }

    fn batch_receive(&mut self, agent: &mut Agent, member: u32, from: u32, into: Slice, clock: &mut u64, posts: &mut Posts) {
        let Some(found) = posts.take(member, from) else {
            agent.failure.get_or_insert_with(|| Failure::new(ErrorClass::INTERN, format!("no message from member {from} in its round")));
            return;
        };
        let post = &posts.posts[found as usize];
        let arrival = post.at.as_ps();
        if self.messages.wire.has_overheads {
            if arrival > *clock {
                self.messages.profile.wait(agent.rank, Span::from_ps(arrival - *clock));
            }
            *clock = (Time::from_ps(arrival.max(*clock)) + self.messages.wire.overheads.receive).as_ps();
        } else {
            *clock = arrival.max(*clock);
        }
        if post.bytes != into.bytes {
            agent.mismatch(from, post.bytes, into.bytes);
        }
        if let Some(offset) = post.payload
            && into.buffer != Buffer::Nothing
            && agent.covers(into)
        {
            let part = post.bytes.min(into.bytes) as usize;
            buffer_mut(agent, into)[..part].copy_from_slice(&posts.arena[offset..offset + part]);
        }
    }
}

pub(crate) fn copy(agent: &mut Agent, from: Slice, into: Slice) {
    if !agent.covers(from) || !agent.covers(into) {
        return;
    }
    if from.buffer == into.buffer {
        let bytes = buffer_of(agent, from).to_vec();
        buffer_mut(agent, into).copy_from_slice(&bytes);
        return;
    }
    // Different buffers of the member: the target is taken out while it is written.
    let mut target = std::mem::take(agent.vec_mut(into.buffer));
    let range = into.offset as usize..(into.offset + into.bytes) as usize;
    target[range].copy_from_slice(buffer_of(agent, from));
    *agent.vec_mut(into.buffer) = target;
}

/// `into = left op right` with MPI's own operation; `into` is one of the two.
pub(crate) fn reduce(agent: &mut Agent, left: Slice, right: Slice, into: Slice) {
    let Some(kernel) = agent.reduction.as_ref().and_then(|reduction| reduction.kernel) else { return };
    if into.bytes == 0 || !agent.covers(left) || !agent.covers(right) {
        return;
    }
    if right == into && left.buffer != into.buffer {
        let mut target = std::mem::take(agent.vec_mut(into.buffer));
        let range = into.offset as usize..(into.offset + into.bytes) as usize;
        kernel(buffer_of(agent, left), &mut target[range]);
        *agent.vec_mut(into.buffer) = target;
        return;
    }
    let first = buffer_of(agent, left).to_vec();
    let mut second = buffer_of(agent, right).to_vec();
    kernel(&first, &mut second);
    buffer_mut(agent, into).copy_from_slice(&second);
}
