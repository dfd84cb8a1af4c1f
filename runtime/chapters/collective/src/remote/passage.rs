//! Members of a process on their way through the planes, together with those of other processes.

use crate::agent::Agent;
use crate::agent::AgentMembers;
use schedule::data::steps::{DataPlane, Rows};
use schedule::segments::{ProcessSegment, Segments};
use schedule::time::{Costs, RoundResult, TimePlane};
use schedule::{Kernel, Members, Schedule, Shape};
use std::rc::Rc;

/// The pass that a record of a round is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Plane {
    Time,
    Data,
}

impl Plane {
    pub(crate) fn of(byte: u8) -> Plane {
        if byte == Plane::Data as u8 { Plane::Data } else { Plane::Time }
    }
}

/// A record that another process sent: for which plane, round, process, what.
pub(crate) type RoundRecord = (Plane, u32, u32, Vec<u8>);

/// Remainder of a passage: clocks, data, agents by member.
type Parts = (TimePlane, Option<DataPlane>, Option<Vec<Option<Box<Agent>>>>);

/// Own members in both planes. Neither waits for the other, so that clocks that need nobody's word are
/// through at once.
pub(crate) struct MemberPasses {
    segment: ProcessSegment,
    time: TimePlane,
    /// The data pass, where data takes the schedule's steps.
    data: Option<Box<DataPlane>>,
    /// Agents of an instance whose members are agents: they take their results themselves.
    agents: Option<Vec<Option<Box<Agent>>>>,
}

impl MemberPasses {
    /// Makes passes in time alone.
    pub(crate) fn new(segment: ProcessSegment, time: TimePlane) -> MemberPasses {
        MemberPasses { segment, time, data: None, agents: None }
    }
    /// Builds it with the contributions of all own members, whose blocks follow from `shape`.
    pub(crate) fn with_data(self, schedule: Rc<dyn Schedule>, shape: &Shape, input: Rows) -> MemberPasses {
        let data = DataPlane::new(self.segment.clone(), schedule, shape, input);
        MemberPasses { data: Some(Box::new(data)), ..self }
    }
    /// Builds it with all own members as agents; in a run without payloads there is no `data`.
    pub(crate) fn with_agents(
        self,
        schedule: Rc<dyn Schedule>,
        agents: Vec<Option<Box<Agent>>>,
        data: bool,
    ) -> MemberPasses {
        let members = AgentMembers { agents: &agents, first: self.segment.own().start };
        let data = data
            .then(|| Box::new(DataPlane::new(self.segment.clone(), schedule, &members, members.inputs())));
        MemberPasses { data, agents: Some(agents), ..self }
    }
    pub(crate) fn deliver(&mut self, (plane, round, process, record): RoundRecord) {
        match (plane, &mut self.data) {
            (Plane::Data, Some(data)) => data.deliver(round, process, record),
            _ => self.time.deliver(round, process, record),
        }
    }
    /// Goes on as far as it can; whether all rounds of both planes are over. Reductions of members without
    /// agents are made by `kernel`.
    pub(crate) fn advance(
        &mut self,
        shape: &Shape,
        kernel: Option<Kernel>,
        costs: &impl Costs,
        said: &mut RoundResult,
        records: &mut Vec<(u32, u32, Vec<u8>)>,
    ) -> bool {
        let reduce = |_: u32, left: &[u8], right: &mut Vec<u8>| {
            if let Some(kernel) = kernel {
                kernel(left, right);
            }
        };
        match &self.agents {
            None => advance(&mut self.time, self.data.as_deref_mut(), shape, reduce, costs, said, records),
            Some(agents) => {
                let members = AgentMembers { agents, first: self.segment.own().start };
                let reduce =
                    |member: u32, left: &[u8], right: &mut Vec<u8>| members.combine(member, left, right);
                advance(&mut self.time, self.data.as_deref_mut(), &members, reduce, costs, said, records)
            }
        }
    }
    /// Returns `true` if it moves agents.
    pub(crate) fn has_agents(&self) -> bool {
        self.agents.is_some()
    }
    /// Returns `true` if data takes the schedule's steps.
    pub(crate) fn has_data(&self) -> bool {
        self.data.is_some()
    }
    /// Returns the first of its members.
    pub(crate) fn first(&self) -> u32 {
        self.segment.own().start
    }
    /// Returns what is left when all is over: clocks, data, agents.
    pub(crate) fn into_parts(self) -> Parts {
        (self.time, self.data.map(|data| *data), self.agents)
    }
}

// Both, in one go: a round's clocks and its data to one process leave in one chunk.
fn advance(
    time: &mut TimePlane,
    data: Option<&mut DataPlane>,
    members: &impl Members,
    mut reduce: impl FnMut(u32, &[u8], &mut Vec<u8>),
    costs: &impl Costs,
    said: &mut RoundResult,
    records: &mut Vec<(u32, u32, Vec<u8>)>,
) -> bool {
    let timed = time.advance(members, costs, said);
    let moved = data.is_none_or(|data| data.advance(members, &mut reduce, records));
    timed && moved
}

/// State of an instance with members on other processes, beyond that of its own members.
pub(crate) struct Distributed {
    pub(crate) segments: Rc<Segments>,
    pub(crate) passage: Option<Box<MemberPasses>>,
    /// Records of rounds that came before the word to go.
    pub(crate) early: Vec<RoundRecord>,
    /// Data of other processes, and whose is awaited.
    pub(crate) data: Vec<(u32, Vec<u8>)>,
    pub(crate) awaited: Vec<u32>,
}
