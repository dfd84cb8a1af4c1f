//! Agreements of a communicator's members, whoever of them fails: `MPIX_Comm_agree` and `MPIX_Comm_shrink`.
//!
//! A member comes in with its contribution, or fails before. Once that is so of all, the others agree. The
//! contributions go up a binomial tree of those that are there, and the result comes down again. It is the
//! early returning agreement of Herault et al. ("Practical scalable consensus for pseudo-synchronous
//! distributed systems", SC 2015). The root waits until it is known who has failed.
//!
//! The process of the communicator's first member keeps the round (`round.rs`), whether that member lives or
//! not; the others tell it who comes in, and it tells them what comes of it (`remote.rs`).

use crate::CHAPTER;
use crate::members::Members;
use crate::round::{AgreementKey, AgreementResult, AgreementRound, Entry};
use objects::Objects;
use objects::error::{ErrorClass, Failure, FailureScope, Result};
use objects::group::Group;
use objects::handle::COMM_NULL;
use objects::slab::Slab;
use p2p::Messages;
use p2p::chapter::id::Token;
use p2p::handle;
use p2p::request::Body;
use rank::Addr;
use rustc_hash::{FxHashMap, FxHashSet};

/// The subject of an agreement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// The bits that all have set.
    Flag,
    /// A communicator of those that are there.
    Survivors,
}

/// An agreement that a rank of this process is in.
pub(crate) struct EnteredAgreement {
    key: AgreementKey,
    subject: Subject,
    /// The rank's side ([`Members::side`]).
    side: usize,
    /// Address of the flag.
    target: Addr,
    request: u32,
    outcome: Option<AgreementResult>,
}

/// All agreements under way.
#[derive(Default)]
pub struct Agreements {
    parts: Slab<EnteredAgreement>,
    /// Number of agreements that each member of this process has entered, by communicator, then by member.
    counts: FxHashMap<(u32, Option<u32>), Vec<u32>>,
    /// Agreements that this process keeps.
    pub(crate) rounds: FxHashMap<AgreementKey, AgreementRound>,
    /// Members of communicators, by context, as far as this process keeps their agreements or they are of two
    /// sides.
    pub(crate) members: FxHashMap<u32, Members>,
    /// Contexts whose members this process has told who keeps the agreements.
    pub(crate) introduced: FxHashSet<u32>,
    /// The communicator that the mounted rank's last agreement has made.
    made: usize,
}

impl Agreements {
    /// Enters the mounted rank. Returns its request. The flag that all agree on goes to `target`, unless that
    /// is null.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if other members agree on something else.
    pub fn enter(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        comm: u32,
        subject: Subject,
        (flag, target): (i32, Addr),
    ) -> Result<usize> {
        let me = messages.me();
        messages.flush_batch();
        let communicator = objects.comms.at(comm);
        let context = communicator.context;
        let members = if communicator.is_inter() {
            self.members.entry(context).or_insert_with(|| Members::of(communicator, me)).clone()
        } else {
            Members::of(communicator, me)
        };
        let Some(member) = members.group.rank_of(me) else {
            unreachable!("who has the communicator is a member")
        };
        let alone = communicator.is_self.then_some(me);
        let counts =
            self.counts.entry((context, alone)).or_insert_with(|| vec![0; members.group.size() as usize]);
        let count = &mut counts[member as usize];
        let key = AgreementKey { context, number: *count, alone };
        if self.rounds.get(&key).is_some_and(|round| round.subject != subject) {
            return Err(Failure::new(ErrorClass::OTHER, AgreementRound::DIFFER));
        }
        *count += 1;
        let part = self.parts.insert(EnteredAgreement {
            key,
            subject,
            side: members.side(member),
            target,
            request: 0,
            outcome: None,
        });
        let request =
            messages.requests_mut().make(me, Body::Chapter { chapter: CHAPTER, token: [part, member] });
        self.parts[part].request = request;
        let acknowledged = messages.faults().map_or(0, |faults| faults.acknowledged(me, context));
        let process = messages.peers().own_number();
        let entry = Entry { rank: me, clock: messages.clock(me), flag, acknowledged, process, part };
        match keeper(messages, &members.group) {
            Some(keeper) => self.tell_entry(messages, keeper, key, subject, entry, &members),
            None => {
                self.members.entry(context).or_insert(members);
                self.entered(messages, objects, key, subject, (member, entry));
            }
        }
        Ok(handle::of_cold(request))
    }

    /// Records that a member has come into a round that this process keeps.
    pub(crate) fn entered(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        key: AgreementKey,
        subject: Subject,
        (member, entry): (u32, Entry),
    ) {
        let Some(members) = self.members_of(key) else { unreachable!("who comes first tells it") };
        let round =
            self.rounds.entry(key).or_insert_with(|| AgreementRound::new(subject, &members.group, messages));
        if round.subject != subject {
            messages.peers_mut().fail(AgreementRound::DIFFER);
        }
        round.enter(member, entry);
        self.settle(messages, objects, key, &members);
    }

    /// Returns the members that agree.
    fn members_of(&self, key: AgreementKey) -> Option<Members> {
        key.alone.map_or_else(|| self.members.get(&key.context).cloned(), |rank| Some(Members::alone(rank)))
    }

    /// Ends the wait for a rank that has failed in agreements that it has not joined.
    pub fn failed(&mut self, messages: &mut Messages, objects: &mut Objects, rank: u32) {
        let mut open: Vec<AgreementKey> = self.rounds.keys().copied().collect();
        open.sort_unstable();
        for key in open {
            let Some(members) = self.members_of(key) else { continue };
            if let (Some(member), Some(round)) = (members.group.rank_of(rank), self.rounds.get_mut(&key))
                && round.lose(member)
            {
                self.settle(messages, objects, key, &members);
            }
        }
    }

    /// Settles an agreement if all members have come in or failed.
    fn settle(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        key: AgreementKey,
        members: &Members,
    ) {
        if !self.rounds.get(&key).is_some_and(AgreementRound::is_complete) {
            return;
        }
        let Some(round) = self.rounds.remove(&key) else { return };
        let settled = round.settle(messages, members);
        let context = objects.comms.next_context();
        self.tell_outcome(messages, &settled, context);
        let here = messages.peers().own_number();
        let comms = match settled.subject {
            Subject::Flag => [COMM_NULL; 2],
            Subject::Survivors if key.alone.is_some() => [objects.comms.make_self(None), COMM_NULL],
            Subject::Survivors => settled.survivors.make(objects),
        };
        let outcome = AgreementResult { flags: settled.flags, failed: settled.failed, comms };
        for left in settled.leaving.iter().filter(|left| left.process == here) {
            self.finish(messages, left.part, outcome, left.at);
        }
    }

    /// Tells a rank of this process what came of its agreement.
    pub(crate) fn finish(
        &mut self,
        messages: &mut Messages,
        part: u32,
        outcome: AgreementResult,
        at: engine::Time,
    ) {
        let part = &mut self.parts[part];
        part.outcome = Some(outcome);
        messages.finish_request(part.request, at);
    }

    /// Gives the mounted rank the outcome.
    pub(crate) fn leave(&mut self, messages: &mut Messages, [index, _]: Token) -> Result {
        let part = self.parts.remove(index);
        let Some(EnteredAgreement {
            key,
            subject,
            side,
            target,
            outcome: Some(AgreementResult { flags, failed, comms }),
            ..
        }) = part
        else {
            unreachable!("its request is complete")
        };
        if target != Addr::NULL {
            rank::memory::store(target, flags[side]);
        }
        self.made = comms[side];
        match failed.filter(|_| subject == Subject::Flag) {
            Some(rank) => {
                let me = messages.me();
                if let Some(faults) = messages.faults_mut() {
                    faults.falls_behind(me);
                }
                let text = format!(
                    "rank {rank} of MPI_COMM_WORLD has failed, and not all members have acknowledged that"
                );
                Err(Failure::new(ErrorClass::PROC_FAILED, text).within(FailureScope::Context(key.context)))
            }
            None => Ok(()),
        }
    }

    /// Returns the communicator that the mounted rank's last agreement has made.
    pub fn made(&self) -> usize {
        self.made
    }

    /// Returns what a rank waits for, in a deadlock's report, and what that is called on all processes.
    pub(crate) fn waits(&self, messages: &Messages, part: u32) -> Option<(String, Vec<u8>)> {
        let part = self.parts.get(part)?;
        Some((self.missing(messages, part.key).unwrap_or_default(), part.key.bytes()))
    }

    /// Returns who has neither come in nor failed, where this process keeps the round.
    pub(crate) fn missing(&self, messages: &Messages, key: AgreementKey) -> Option<String> {
        Some(self.rounds.get(&key)?.missing(messages, &self.members_of(key)?.group))
    }
}

/// Returns the process that keeps the agreements of these members, unless it is this one.
fn keeper(messages: &Messages, group: &Group) -> Option<u32> {
    let remote = messages.peers().remote()?;
    let process = remote.blocks.process(group.world_rank(0));
    (process != remote.me).then_some(process)
}
