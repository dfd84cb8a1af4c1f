//! Entry of a member into a collective: which instance its call belongs to, whether the call is the one that
//! others made, and when the members start.
//!
//! Members of an instance that is not complete are held until the last has entered, or until nothing else can
//! run: then their agents start at their entry clocks.

use crate::agent::agent_done;
use crate::agent::{Agent, AgentState};
use crate::agreement::{Contribution, Resolve};
use crate::calls::CallId;
use crate::delivery::Delivery;
use crate::instance::{CollectiveInstance, Collectives};
use crate::membership::{InstanceScope, home, members_of};
use crate::reduction::Reduction;
use crate::signature::CallSignature;
use objects::Objects;
use objects::error::{ErrorClass, Failure, Result};
use p2p::Messages;
use rustc_hash::FxHashMap;
use schedule::{Kind, Member, Shape};
use std::rc::Rc;

/// Arguments with which a member enters a collective.
pub(crate) struct Entry {
    pub place: InstanceScope,
    pub signature: CallSignature,
    pub shape: Shape,
    /// False for the root's own group in an intercommunicator.
    pub root_known: bool,
    pub member: Member,
    pub input: Vec<u8>,
    pub output_bytes: u64,
    pub reduction: Option<Rc<Reduction>>,
    pub delivery: Delivery,
    pub agreement: Option<(Contribution, Resolve)>,
    pub blocking: bool,
}

impl Collectives {
    /// Enters the mounted rank into the next collective of its communicator. Returns `(instance, member,
    /// request)`.
    pub(crate) fn enter_collective(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        entry: Entry,
    ) -> Result<(u32, u32, Option<u32>)> {
        let me = messages.me();
        let member = entry.member.rank;
        // The only thing that fails: nothing has been changed by then, so that a refused call leaves no trace
        // but its number.
        let index = self.join(messages, objects, member, &entry)?;
        let blocking = entry.blocking;
        let request = (!blocking).then(|| {
            messages
                .requests_mut()
                .make(me, p2p::request::Body::Chapter { chapter: crate::CHAPTER, token: [index, member] })
        });
        let instance = &mut self.instances[index];
        messages.watch_mut().note_collective(me, instance.taken);
        if entry.root_known && !instance.root_known {
            // Those who do not know the root (MPI_PROC_NULL) know nothing else of the call either.
            instance.root_known = true;
            instance.shape = entry.shape;
        }
        let mut agent = Agent {
            rank: me,
            clock: messages.ranks()[me].clock,
            stage: AgentState::Held,
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
            nic_free: messages.ranks()[me].nic_free,
            request,
            failure: None,
            refused: false,
            gone: false,
            missing: None,
        };
        // Its group's other members cannot wait for it either: its stage is final before any of them looks.
        if !entry.root_known {
            // In the root's group of an intercommunicator, and not the root (MPI_PROC_NULL): it has no steps,
            // whatever the others do and whenever.
            agent.stage = AgentState::Done;
            agent_done(messages, &mut agent);
        }
        instance.agents[member as usize] = Some(Box::new(agent));
        instance.arrived += 1;
        let complete = instance.arrived == instance.size;
        if let Some((contribution, resolve)) = entry.agreement {
            self.contribute_to_agreement(messages, objects, index, member, (contribution, resolve), complete);
        }
        if self.instance(index).ident.is_some() {
            self.entered_spread(messages, objects, index, member);
            return Ok((index, member, request));
        }
        // Without a gap a rank's messages do not hold each other up: what it does meanwhile changes nothing.
        let holds = blocking || self.gathers(messages, false);
        let instance = &mut self.instances[index];
        if instance.started {
            self.movable.push_back((index, member));
        } else if complete || !holds {
            self.start_instance(messages, objects, index);
        } else {
            self.hold(index);
        }
        Ok((index, member, request))
    }

    /// Checks that the mounted rank's call is the one that others made.
    // Compared with the first who came, whoever that was: the sentence names both, and which of the two is
    // wrong is for people to say.
    pub(crate) fn agree_on(
        &self,
        messages: &Messages,
        objects: &Objects,
        index: u32,
        comm: u32,
        signature: &CallSignature,
        shape: &Shape,
    ) -> Result {
        let instance = &self.instances[index];
        let (theirs, first) = (instance.signature, instance.first_rank);
        let describe = || objects.comms.describe(objects::comm::Comms::handle(comm));
        if !theirs.agrees(signature) || !makes_alike(messages.ranks().names(), &theirs, signature) {
            return Err(Failure::new(
                ErrorClass::OTHER,
                format!(
                    "mismatched collectives on {}: rank {first} of MPI_COMM_WORLD called {}, this rank {}; \
                     all members must call the same collectives in the same order with matching arguments",
                    describe(),
                    theirs.describe(messages.ranks().names()),
                    signature.describe(messages.ranks().names())
                ),
            ));
        }
        // The two sides of an intercommunicator may differ, and who does not know the root knows no size.
        if shape.sides.is_none() && instance.root_known && !instance.shape.matches(shape) {
            let class =
                if instance.shape.bytes > shape.bytes { ErrorClass::TRUNCATE } else { ErrorClass::COUNT };
            return Err(Failure::new(
                class,
                format!(
                    "mismatched arguments of a collective on {}: rank {first} of MPI_COMM_WORLD called {} \
                     with {}, this rank with {}; all members must give matching counts, datatypes and \
                     operations",
                    describe(),
                    theirs.describe(messages.ranks().names()),
                    instance.shape.describe(),
                    shape.describe()
                ),
            ));
        }
        Ok(())
    }

    /// Finds or makes the instance that the member's next call belongs to.
    fn join(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        member: u32,
        entry: &Entry,
    ) -> Result<u32> {
        let me = messages.me();
        let comm = match &entry.place {
            InstanceScope::Comm(comm) => *comm,
            InstanceScope::Group(key, group) => {
                let instances = &self.instances;
                let open = |index: &&u32| {
                    let instance = &instances[**index];
                    !instance.joined.contains(member)
                        && matches!(&instance.place, InstanceScope::Group(_, have) if have.same(group))
                };
                // Groups have no calls to count: the first instance of this group that the member is not in
                // yet is the one.
                let known = self.meetings.get(key).and_then(|list| list.iter().find(open).copied());
                let index = known.unwrap_or_else(|| {
                    let index = self.make_instance(messages, objects, entry, me);
                    self.made_instance(messages, objects, index, member, CallId::Call(0));
                    self.meetings.entry(*key).or_default().push(index);
                    index
                });
                self.instances[index].joined.insert(member);
                self.joined_group(messages, *key, group, member);
                return Ok(index);
            }
        };
        // Both sides of an intercommunicator count and find instances in the object with the smaller index.
        // One of the two sides keeps the calls, so that both find the same instance.
        let home = home(objects, comm);
        let total = entry.shape.size;
        // Nobody else can ever join it: each rank's calls on its own `MPI_COMM_SELF` are instances that
        // nobody has to find.
        if objects.comms.at(home).is_self {
            return Ok(self.make_instance(messages, objects, entry, me));
        }
        let call_id = self.call_id(home, member);
        let index = match self.instance_of(home, call_id) {
            Some(index) => {
                self.agree_on(messages, objects, index, comm, &entry.signature, &entry.shape)?;
                if !self.instance(index).holds_agents() {
                    self.expand(messages, objects, index);
                }
                index
            }
            None => {
                let index = self.make_instance(messages, objects, entry, me);
                self.admit_refused(messages, objects, index, call_id);
                self.made_instance(messages, objects, index, member, call_id);
                index
            }
        };
        self.note_entry(messages, objects, home, member, total, index);
        Ok(index)
    }

    /// Records that a member's next call on a communicator belongs to this instance.
    pub(crate) fn note_entry(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        comm: u32,
        member: u32,
        members: u32,
        index: u32,
    ) {
        if let Some(call_id) = self.starting {
            return self.note_start(comm, call_id, index);
        }
        let here = self.rows_of(messages, objects, comm, members);
        self.calls.make(comm).enter(member, here, index);
    }

    fn make_instance(&mut self, messages: &mut Messages, objects: &Objects, entry: &Entry, me: u32) -> u32 {
        let index =
            self.make_held(messages, objects, entry.place.clone(), entry.signature, entry.shape.clone());
        let instance = self.instance_mut(index);
        instance.first_rank = me;
        instance.root_known = entry.root_known;
        instance.agents = (0..entry.shape.size).map(|_| None).collect();
        index
    }

    /// Makes an instance that nobody has entered, with room for no agents.
    pub(crate) fn make_held(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        place: InstanceScope,
        signature: CallSignature,
        shape: Shape,
    ) -> u32 {
        self.latest = None;
        // Among one there is nothing to choose, nor between groups.
        let chooses = messages.watch().follows_waits() && shape.size > 1 && shape.sides.is_none();
        let taken =
            if chooses { self.taken.number(&shape, members_of(objects, &place), &self.policy) } else { 0 };
        self.instances.insert(CollectiveInstance {
            taken,
            place,
            ident: None,
            here: shape.size,
            signature,
            first_rank: messages.me(),
            schedule: None,
            size: shape.size,
            left: shape.size,
            shape,
            root_known: true,
            agents: Vec::new(),
            arrived: 0,
            started: false,
            gathering: None,
            start: self.starting,
            held_at: None,
            joined: objects::handles::RankSet::default(),
            mail: FxHashMap::default(),
            agreement: None,
        })
    }
}

/// Returns `true` unless both calls agree on new objects of different functions, as a duplicate on one rank
/// and a split on another.
// What becomes of members' contributions, the first call says for all. `MPI_Comm_dup_with_info` does what
// `MPI_Comm_dup` does: hints have no effect.
fn makes_alike(names: &[&'static str], one: &CallSignature, other: &CallSignature) -> bool {
    let name = |signature: &CallSignature| {
        names.get(usize::from(signature.function)).map(|name| name.trim_end_matches("_with_info"))
    };
    one.kind != Kind::Agree || one.function == other.function || name(one) == name(other)
}
