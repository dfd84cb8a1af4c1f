//! Collectives whose data needs the schedule's own steps, with members on several processes: each process runs the rounds of its own
//! members at once, and sends each other process one record a round, with the messages that cross.
//!
//! Who sends to whom follows from the schedule, so a process knows whose records a round needs.

use crate::collective::agent::Agent;
use crate::collective::batch::{Agents, Posts, carried};
use crate::collective::contributions::Data;
use crate::collective::schedule::{Kind, Schedule, Shape, Step};
use crate::group::Group;
use crate::remote::record::{Put, Take};
use crate::remote::rounds::active_in;
use crate::remote::segments::Segments;
use crate::world::World;
use engine::Time;
use std::ops::Range;
use std::rc::Rc;

/// One process's members on their way through the rounds.
pub(crate) struct Lockstep {
    me: u32,
    segments: Rc<Segments>,
    own: Range<u32>,
    schedule: Rc<dyn Schedule>,
    agents: Box<Agents>,
    clocks: Vec<u64>,
    round: u32,
    /// The messages to own members, once the round has begun, and the processes whose records it needs.
    posts: Posts,
    expected: Option<Vec<u32>>,
    /// Records of other processes: round, process.
    inbox: Vec<(u32, u32, Vec<u8>)>,
    /// Whether the agents are those of the instance.
    given: bool,
}

/// Records for others: process, round.
pub(crate) type Records = Vec<(u32, u32, Vec<u8>)>;

impl Lockstep {
    /// Own members, in order, before the first round.
    pub(crate) fn new(me: u32, segments: Rc<Segments>, schedule: Rc<dyn Schedule>, mut agents: Vec<Option<Box<Agent>>>) -> Lockstep {
        let own = segments.of_process(me);
        for agent in agents.iter_mut().flatten() {
            agent.scratch = vec![0; schedule.scratch(&agent.member) as usize];
        }
        let clocks = agents.iter().flatten().map(|agent| agent.clock.as_ps()).collect();
        let posts = Posts::new(own.len());
        let agents = agents.into();
        Lockstep { me, segments, own, schedule, agents, clocks, round: 0, posts, expected: None, inbox: Vec::new(), given: false }
    }
    /// The agents are those of the instance, which takes them back.
    pub(crate) fn with_agents(self) -> Lockstep {
        Lockstep { given: true, ..self }
    }
    pub(crate) fn has_agents(&self) -> bool {
        self.given
    }
    /// The first of its members.
    pub(crate) fn first(&self) -> u32 {
        self.own.start
    }
    /// The agents, in order, with the clocks at which they are through.
    pub(crate) fn into_agents(self) -> impl Iterator<Item = Box<Agent>> {
        self.agents.into_iter().flatten().zip(self.clocks).map(|(mut agent, clock)| {
            agent.clock = Time::from_ps(clock);
            agent
        })
    }
    /// A record from another process.
    pub(crate) fn deliver(&mut self, round: u32, process: u32, record: Vec<u8>) {
        self.inbox.push((round, process, record));
    }
    /// The clock of one of its members.
    pub(crate) fn clock(&self, member: u32) -> u64 {
        self.clocks[(member - self.own.start) as usize]
    }
    /// The results, when all rounds are over.
    pub(crate) fn results(&mut self, shape: &Shape) -> Data {
        let mut outputs = self.agents.iter_mut().flatten().map(|agent| (agent.member.rank, std::mem::take(&mut agent.output)));
        if shape.kind == Kind::Reduce {
            return outputs.find(|(member, _)| *member == shape.root).map_or(Data::Nothing, |(_, output)| Data::One(output));
        }
        let mut all = Vec::new();
        let mut stride = 0;
        for (_, output) in outputs {
            stride = output.len();
            all.extend_from_slice(&output);
        }
        if stride == 0 { Data::Nothing } else { Data::Each(all, stride) }
    }
    fn has(&self, process: u32) -> bool {
        self.inbox.iter().any(|(round, from, _)| *round == self.round && *from == process)
    }
    fn active(&self) -> Vec<u32> {
        active_in(self.schedule.active(self.round), self.segments.size(), &self.own)
    }
}

/// A message of a round to a member of another process.
fn put_message(out: &mut Vec<u8>, to: u32, from: u32, at: Time, bytes: u64, payload: Option<&[u8]>) {
    out.u32(to);
    out.u32(from);
    out.u64(at.as_ps());
    out.u64(bytes);
    out.u8(u8::from(payload.is_some()));
    if let Some(payload) = payload {
        out.bytes(payload);
    }
}

impl World {
    /// Goes on as far as it can, among the members of `group`; whether all rounds are over.
    pub(crate) fn advance_lockstep(&mut self, lockstep: &mut Lockstep, group: &Group, records: &mut Records) -> bool {
        while lockstep.round < lockstep.schedule.rounds() {
            if lockstep.expected.is_none() {
                self.open_round(lockstep, group, records);
            }
            if !lockstep.expected.as_ref().expect("opened above").iter().all(|&process| lockstep.has(process)) {
                return false;
            }
            self.close_round(lockstep);
            lockstep.round += 1;
            lockstep.expected = None;
        }
        true
    }

    fn open_round(&mut self, lockstep: &mut Lockstep, group: &Group, records: &mut Records) {
        lockstep.posts.clear();
        let first = records.len();
        let (mut steps, mut expected) = (Vec::new(), Vec::new());
        for member in lockstep.active() {
            let index = (member - lockstep.own.start) as usize;
            let agent = lockstep.agents[index].as_mut().expect("all members are in");
            steps.clear();
            lockstep.schedule.round(&agent.member, lockstep.round, &mut steps);
            for step in &steps {
                match *step {
                    Step::Send { to, from } => {
                        let at = Time::from_ps(lockstep.clocks[index])
                            + self.messages.wire.latency(agent.rank, group.world_rank(to), from.bytes);
                        let payload = carried(agent, from);
                        self.count_messages(1, from.bytes);
                        if lockstep.own.contains(&to) {
                            lockstep.posts.push(to - lockstep.own.start, member, at, from.bytes, payload);
                            continue;
                        }
                        let process = lockstep.segments.process(to);
                        let found = records[first..].iter().position(|(other, ..)| *other == process);
                        let place = found.map_or(records.len(), |found| first + found);
                        if found.is_none() {
                            records.push((process, lockstep.round, Vec::new()));
                        }
                        put_message(&mut records[place].2, to, member, at, from.bytes, payload);
                    }
                    Step::Receive { from, .. } if !lockstep.own.contains(&from) => {
                        let process = lockstep.segments.process(from);
                        if !expected.contains(&process) {
                            expected.push(process);
                        }
                    }
                    _ => {}
                }
            }
        }
        debug_assert!(!expected.contains(&lockstep.me));
        lockstep.expected = Some(expected);
    }

    fn close_round(&mut self, lockstep: &mut Lockstep) {
        let mut left = 0;
        while let Some(at) = lockstep.inbox[left..].iter().position(|(round, ..)| *round == lockstep.round) {
            left += at;
            let (.., record) = lockstep.inbox.swap_remove(left);
            let mut record = Take(&record);
            while !record.is_empty() {
                let (to, from, at, bytes) = (record.u32(), record.u32(), Time::from_ps(record.u64()), record.u64());
                let payload = (record.u8() != 0).then(|| record.bytes());
                lockstep.posts.push(to - lockstep.own.start, from, at, bytes, payload);
            }
        }
        let mut steps = Vec::new();
        for member in lockstep.active() {
            let index = (member - lockstep.own.start) as usize;
            let agent = lockstep.agents[index].as_mut().expect("all members are in");
            steps.clear();
            lockstep.schedule.round(&agent.member, lockstep.round, &mut steps);
            for step in &steps {
                self.batch_step(agent, index as u32, step, &mut lockstep.clocks[index], &mut lockstep.posts);
            }
        }
    }
}
