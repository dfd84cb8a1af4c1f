//! Members of a collective on their way through the rounds of its schedule.

use crate::medium::MachineMedium;
use engine::{Span, Time};
use rustc_hash::FxHashMap;
use schedule::{Member, Schedule, Step};
use std::collections::VecDeque;
use std::rc::Rc;

/// One member of a collective.
pub struct MemberAgent {
    /// Clock of the member.
    pub clock: Time,
    /// Round whose messages it has sent.
    round: u32,
    /// Messages that it still receives in the round: the sending member.
    receives: VecDeque<u32>,
    /// Time of its reductions and copies at the end of the round.
    local: Span,
    /// `true` inside a round.
    is_open: bool,
    nic_free: Time,
    member: Member,
}

/// A message that a member sends in a round.
pub struct MemberMessage {
    /// Time at which it leaves.
    pub leaves: Time,
    /// Sending and receiving member.
    pub from: u32,
    /// Receiving member.
    pub to: u32,
    /// Round of the schedule.
    pub round: u32,
    /// Number of the message among those of the two members in the round.
    pub sequence: u32,
    /// Payload.
    pub bytes: u64,
}

/// Key of messages: receiving member, sending member, round.
type RoundKey = (u32, u32, u32);

/// Messages of one round between two members: how many were received, and the arrivals of the next ones.
#[derive(Default)]
struct RoundQueue {
    received: u32,
    sent: u32,
    arrivals: VecDeque<Option<Time>>,
}

/// A collective under way.
pub struct RunningCollective {
    schedule: Rc<dyn Schedule>,
    agents: Vec<Option<Box<MemberAgent>>>,
    mail: FxHashMap<RoundKey, RoundQueue>,
    /// Members that are not through.
    pub left: u32,
}

impl RunningCollective {
    /// Returns a collective of which no member has begun.
    pub fn new(schedule: Rc<dyn Schedule>, size: u32) -> RunningCollective {
        let agents = std::iter::repeat_with(|| None).take(size as usize).collect();
        RunningCollective { schedule, agents, mail: FxHashMap::default(), left: size }
    }

    /// Begins a member's part.
    pub fn enter(&mut self, member: Member, now: Time) {
        let at = member.rank as usize;
        self.agents[at] = Some(Box::new(MemberAgent {
            clock: now,
            round: 0,
            receives: VecDeque::new(),
            local: Span::ZERO,
            is_open: false,
            nic_free: Time::ZERO,
            member,
        }));
    }

    /// Notes when a message arrives. Returns `true` if its member may go on.
    pub fn arrived(&mut self, (to, from, round): RoundKey, sequence: u32, at: Time) -> bool {
        let Some(queue) = self.mail.get_mut(&(to, from, round)) else { return false };
        if let Some(slot) = queue.arrivals.get_mut((sequence - queue.received) as usize) {
            *slot = Some(at);
        }
        let agent = self.agents[to as usize].as_ref();
        agent.is_some_and(|agent| agent.round == round && agent.receives.front() == Some(&from))
    }

    /// Moves a member on, up to a message that has not arrived. Appends what it sends. Returns its end, if it
    /// is through.
    pub fn advance(
        &mut self,
        member: u32,
        medium: &MachineMedium,
        sends: &mut Vec<MemberMessage>,
    ) -> Option<Time> {
        let RunningCollective { schedule, agents, mail, left } = self;
        let agent = agents[member as usize].as_mut()?;
        let mut steps = Vec::new();
        loop {
            if !agent.is_open {
                agent.round = schedule.next(member, agent.round);
                if agent.round >= schedule.rounds() {
                    break;
                }
                steps.clear();
                schedule.round(&agent.member, agent.round, &mut steps);
                agent.open(&steps, medium, mail, sends);
            }
            while let Some(&from) = agent.receives.front() {
                let key = (member, from, agent.round);
                let queue = mail.get_mut(&key)?;
                let at = (*queue.arrivals.front()?)?;
                queue.arrivals.pop_front();
                queue.received += 1;
                agent.receives.pop_front();
                agent.clock = agent.clock.max(at) + medium.overheads.receive;
                // A member sends all messages of a round together.
                if queue.received == queue.sent {
                    mail.remove(&key);
                }
            }
            agent.clock += agent.local;
            agent.round += 1;
            agent.is_open = false;
        }
        let end = agent.clock;
        agents[member as usize] = None;
        *left -= 1;
        Some(end)
    }
}

impl MemberAgent {
    /// Sends the messages of a round, and notes what it receives.
    fn open(
        &mut self,
        steps: &[Step],
        medium: &MachineMedium,
        mail: &mut FxHashMap<RoundKey, RoundQueue>,
        sends: &mut Vec<MemberMessage>,
    ) {
        (self.is_open, self.local) = (true, Span::ZERO);
        let from = self.member.rank;
        for step in steps {
            match step.message() {
                Some(message) if message.sends => {
                    self.clock = medium.overheads.leave(&mut self.nic_free, self.clock);
                    let (leaves, round) = (self.clock, self.round);
                    let queue = mail.entry((message.peer, from, round)).or_default();
                    let sequence = queue.sent;
                    queue.sent += 1;
                    queue.arrivals.push_back(None);
                    let (to, bytes) = (message.peer, message.bytes);
                    sends.push(MemberMessage { leaves, from, to, round, sequence, bytes });
                }
                Some(message) => self.receives.push_back(message.peer),
                None => {
                    self.local += match *step {
                        Step::Copy { into, .. } => medium.copying(into.bytes),
                        Step::ReduceLeft { into, .. } | Step::ReduceRight { into, .. } => {
                            medium.reduction(into.bytes)
                        }
                        _ => Span::ZERO,
                    };
                }
            }
        }
    }
}
