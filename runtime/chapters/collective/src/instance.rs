//! The collective calls under way: each an instance, which its members enter one by one, go through and
//! leave.

use crate::agent::Agent;
use crate::agreement::Agreement;
use crate::bridges::Bridges;
use crate::calls::CallTable;
use crate::gathering::Gathering;
use crate::gathering::latest::LastCall;
use crate::membership::InstanceScope;
use crate::reduction::UserReduction;
use crate::signature::CallSignature;
use engine::{Span, Time};
use objects::error::Result;
use objects::slab::Slab;
use p2p::Messages;
use p2p::faults::Fault;
use rustc_hash::FxHashMap;
use schedule::{Schedule, Shape, Step};
use std::collections::VecDeque;
use std::rc::Rc;

/// A message of a schedule, on its way or arrived.
// The payload is in the pool and not in the letter: most letters of a barrier carry none, and a letter is
// moved several times.
pub(crate) struct ArrivedMessage {
    pub(crate) at: Time,
    pub(crate) bytes: u64,
    /// Pool buffer of the payload, if it carries any.
    pub(crate) payload: Option<u32>,
    /// The rank for want of whose data it is incomplete.
    pub(crate) missing: Option<u32>,
}

/// One collective call of a communicator.
// made by the first member --(others enter)--> all are in --> started --(members leave)--> gone with the last
//
// Its members are either in `gathering` (a bit each) or in `agents`, both only between processes, where
// agents wait for those elsewhere (`holds_agents`). Either way `arrived` counts who is in and `left` who has
// not gone.
pub(crate) struct CollectiveInstance {
    /// Among whom it is.
    pub(crate) place: InstanceScope,
    /// The name among all processes, where it has members on several.
    pub(crate) ident: Option<crate::remote::spread::Ident>,
    /// Members on this process.
    pub(crate) here: u32,
    pub(super) signature: CallSignature,
    /// The number of its kind, while a recorder wants to know; else 0.
    pub(crate) taken: u32,
    // For sentences about members that called something else.
    pub(crate) first_rank: u32,
    /// Chosen when the instance starts: the root of an intercommunicator's collective may be known only then.
    pub(super) schedule: Option<Rc<dyn Schedule>>,
    pub(crate) shape: Shape,
    pub(crate) root_known: bool,
    pub(crate) size: u32,
    pub(crate) agents: Vec<Option<Box<Agent>>>,
    pub(crate) arrived: u32,
    pub(crate) left: u32,
    pub(crate) started: bool,
    /// While its members are held in a few words each, and once they are through that way.
    pub(crate) gathering: Option<Box<Gathering>>,
    /// Number of the persistent collective and of its start; `None` for any other call.
    pub(super) start: Option<(u32, u32)>,
    /// The index in the list of those held.
    // So that taking an instance from the list of those held is O(1) among any number.
    pub(super) held_at: Option<u32>,
    /// Members of a group's instance that have entered. A call enters the first instance of its group that
    /// the member has not entered.
    pub(crate) joined: objects::handles::RankSet,
    // By receiver, sender and round; a queue each, because a schedule may send twice to one member in one
    // round.
    pub(super) mail: FxHashMap<(u32, u32, u32), VecDeque<ArrivedMessage>>,
    pub(crate) agreement: Option<Agreement>,
}

/// All instances of a process.
#[derive(Default)]
pub struct Collectives {
    pub(super) instances: Slab<CollectiveInstance>,
    /// The calls on each communicator.
    pub(crate) calls: CallTable,
    // Instances by index and not by reference: one may be over, and its index another's, before its turn
    // comes; members that are done are passed over.
    pub(super) movable: VecDeque<(u32, u32)>,
    pub(super) held: Vec<u32>,
    pub(super) steps: Vec<Step>,
    /// Instances of groups: those with one key differ in the group, or follow one another.
    pub(super) meetings: FxHashMap<(u32, i32, u32), Vec<u32>>,
    /// A reduction that waits for a function of the program.
    pub(crate) user: Option<UserReduction>,
    /// Reductions with functions of the program whose members are all in.
    pub(super) functions: VecDeque<u32>,
    pub(crate) latest: Option<LastCall>,
    /// The number of the persistent collective that the mounted rank is starting.
    pub(crate) starting: Option<(u32, u32)>,
    /// `true` if collectives whose members are all here may run in one loop over clocks.
    pub(crate) batch: bool,
    /// The rules by which algorithms are chosen.
    pub(crate) policy: schedule::choose::Policy,
    /// Leaders that meet to make an intercommunicator.
    pub bridges: Bridges,
    /// Number of times that all processes have agreed to start their deferred instances.
    pub(crate) epoch: u64,
    /// Members that leave with an error because another has failed or the communicator is revoked, and why.
    pub(crate) broken: FxHashMap<(u32, u32), Fault>,
    /// Algorithms that calls took, if a recorder needs them.
    pub(crate) taken: crate::taken::Taken,
    /// Instances with members on other processes.
    pub(crate) spread: crate::remote::spread::DistributedInstances,
}

impl Collectives {
    /// Makes a state with nothing under way. `batch` says whether collectives whose members are all here may
    /// run in one loop over clocks.
    pub fn new(batch: bool, policy: schedule::choose::Policy) -> Collectives {
        Collectives { batch, policy, ..Collectives::default() }
    }
    /// Returns the instance with this index, which is under way.
    pub(crate) fn instance(&self, index: u32) -> &CollectiveInstance {
        &self.instances[index]
    }
    pub(crate) fn instance_mut(&mut self, index: u32) -> &mut CollectiveInstance {
        &mut self.instances[index]
    }
    /// Notes that an instance waits for its members.
    pub(crate) fn hold(&mut self, index: u32) {
        let instance = &mut self.instances[index];
        if instance.held_at.is_none() {
            instance.held_at = Some(self.held.len() as u32);
            self.held.push(index);
        }
    }
    /// Notes that an instance waits no more.
    pub(crate) fn unhold(&mut self, index: u32) {
        if let Some(at) = self.instances[index].held_at.take() {
            self.held.swap_remove(at as usize);
            if let Some(&moved) = self.held.get(at as usize) {
                self.instances[moved].held_at = Some(at);
            }
        }
    }
    /// Marks a member as one that can move on.
    pub(crate) fn mark_movable(&mut self, index: u32, member: u32) {
        self.movable.push_back((index, member));
    }
    /// Returns `true` if a member or a function of the program can go on.
    pub(crate) fn has_movable(&self) -> bool {
        !self.movable.is_empty() || self.user.is_some() || !self.functions.is_empty()
    }
    /// Returns `true` if members are held that could start.
    // Without a known root nothing could begin: to count those would make the main loop start them over and
    // over.
    pub(crate) fn has_held(&self) -> bool {
        self.held.iter().any(|&index| self.instances[index].root_known)
    }
    /// Delivers a message of a schedule that arrives from another process, to member `key.0` from member
    /// `key.1` in round `key.2`.
    pub(crate) fn deliver(&mut self, index: u32, key: (u32, u32, u32), mail: ArrivedMessage) {
        let instance = &mut self.instances[index];
        instance.mail.entry(key).or_default().push_back(mail);
        if instance.agents[key.0 as usize].as_ref().is_some_and(|agent| agent.waiting == Some(key.1)) {
            self.movable.push_back((index, key.0));
        }
    }
    /// Returns all instances.
    pub(crate) fn instances(&self) -> impl Iterator<Item = &CollectiveInstance> {
        self.instances.iter().map(|(_, instance)| instance)
    }

    /// Returns `true` if collectives of this process may gather. With a gap, what the rank of a nonblocking
    /// one sends meanwhile delays the messages of its collective: such a member is run event by event.
    // On a shared network nothing is known before it happens, and with a gap the interface of a rank that
    // goes on is not the collective's alone. Where ranks fail, a member may be told before it is through.
    pub(crate) fn gathers(&self, messages: &Messages, blocking: bool) -> bool {
        self.batch
            && !messages.fabric().is_shared()
            && messages.faults().is_none()
            && (blocking || messages.fabric().wire().overheads.gap == Span::ZERO)
    }

    /// Queues a reduction with functions, whose members are all in, for the main loop.
    pub(super) fn queue_functions(&mut self, index: u32) {
        self.unhold(index);
        self.instance_mut(index).start();
        self.functions.push_back(index);
    }
}

impl CollectiveInstance {
    /// Returns what was called, how many members have entered (and not left), and how many there are.
    pub(crate) fn describe(&self) -> (CallSignature, u32, u32) {
        (self.signature, self.arrived, self.size)
    }
    /// Returns the members that have not entered.
    pub(crate) fn missing(&self) -> impl Iterator<Item = u32> {
        (0..self.size).filter(|&member| !self.is_in(member))
    }
    /// Returns `true` if a member has entered (and not left).
    pub(crate) fn is_in(&self, member: u32) -> bool {
        match &self.gathering {
            Some(gathering) => gathering.has(member),
            None => self.agents[member as usize].is_some(),
        }
    }
    /// Returns `true` if its members are held as agents until all are in everywhere.
    pub(crate) fn holds_agents(&self) -> bool {
        self.gathering.is_some() && !self.agents.is_empty()
    }
    /// Returns `true` if a message of its schedule is there.
    pub(crate) fn has_mail(&self) -> bool {
        !self.mail.is_empty()
    }
    pub(crate) fn is_started(&self) -> bool {
        self.started
    }
    pub(crate) fn start(&mut self) {
        self.started = true;
    }
    /// Returns the agreement's outcome for a member, if there is one.
    #[inline]
    pub(crate) fn outcome(&self, member: u32) -> Option<Result<usize>> {
        let outcome = self.agreement.as_ref()?.outcome.as_ref()?;
        Some(outcome.as_ref().map(|outcome| outcome.of(member)).map_err(Clone::clone))
    }
    /// Returns the communicator's index; `MPI_COMM_WORLD`'s for a group's instance.
    pub(crate) fn comm(&self) -> u32 {
        match self.place {
            InstanceScope::Comm(comm) => comm,
            InstanceScope::Group(..) => 0,
        }
    }
}
