//! What the members of a communicator agree on whoever of them fails: `MPIX_Comm_agree` and `MPIX_Comm_shrink`.
//!
//! A member comes in with what it has to say, or fails before: once that is so of all, the others agree. What they say goes up a binomial tree of those that
//! are there, and what comes of it down again, as in the early returning agreement of Herault et al. ("Practical scalable consensus for pseudo-synchronous distributed
//! systems", SC 2015). The root waits until it is known who has failed.

use crate::CHAPTER;
use engine::Time;
use message::Messages;
use message::chapter::id::Token;
use message::handle;
use message::request::Body;
use objects::Objects;
use objects::comm::Comm;
use objects::error::{ErrorClass, Failure, Result};
use objects::group::Group;
use objects::slab::Slab;
use rank::Addr;
use rustc_hash::FxHashMap;

/// Bytes of what a member says: a flag, and how many failures it has acknowledged.
const FLAG_BYTES: u64 = 8;

/// What is agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// The bits that all have set.
    Flag,
    /// A communicator of those that are there.
    Survivors,
}

/// A member that has come in.
struct Entry {
    rank: u32,
    clock: Time,
    flag: i32,
    /// How many of all that have failed it has acknowledged.
    acknowledged: u32,
    request: u32,
    /// Where the flag goes.
    target: Addr,
}

/// What came of it.
struct Outcome {
    flag: i32,
    /// Somebody has failed that not all have acknowledged: its rank.
    failed: Option<u32>,
    /// The new communicator.
    comm: usize,
}

/// One agreement.
// made by the first member --(others come in or fail)--> outcome --(members leave)--> gone with the last
struct Round {
    subject: Subject,
    comm: u32,
    members: Vec<Option<Entry>>,
    /// Members that have come in, and that have failed before they did.
    there: u32,
    lost: u32,
    outcome: Option<Outcome>,
    /// Members that have not taken the outcome.
    left: u32,
}

/// All agreements under way.
#[derive(Default)]
pub struct Agreements {
    rounds: Slab<Round>,
    /// Of a communicator, the oldest first.
    open: FxHashMap<u32, Vec<u32>>,
    /// The communicator that the mounted rank's last agreement has made.
    made: usize,
}

impl Agreements {
    /// The mounted rank comes in: its request. The flag that all agree on goes to `target`, unless that is null.
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
        let me = messages.current;
        messages.flush_batch();
        let communicator = objects.comms.at(comm);
        let (member, context) = (communicator.rank(me), communicator.context);
        let index = self.round_of(messages, communicator, comm, member, subject)?;
        let request = messages.make_request(me, Body::Chapter { chapter: CHAPTER, token: [index, member] });
        let acknowledged = messages.faults.as_ref().map_or(0, |faults| faults.acknowledged(me, context));
        let round = &mut self.rounds[index];
        round.members[member as usize] = Some(Entry { rank: me, clock: messages.clock(me), flag, acknowledged, request, target });
        round.there += 1;
        round.left += 1;
        self.settle(messages, objects, index);
        Ok(handle::of_cold(request))
    }

    /// The agreement that the member's call belongs to: the first of its communicator in which it is not.
    fn round_of(&mut self, messages: &Messages, communicator: &Comm, comm: u32, member: u32, subject: Subject) -> Result<u32> {
        let open = self.open.entry(comm).or_default();
        if let Some(&index) = open.iter().find(|&&index| self.rounds[index].members[member as usize].is_none()) {
            if self.rounds[index].subject == subject {
                return Ok(index);
            }
            let text = "other members of the communicator call MPIX_Comm_agree where this one calls MPIX_Comm_shrink, or the other way round; all must call the same ones in the same order";
            return Err(Failure::new(ErrorClass::OTHER, text));
        }
        let members: Vec<Option<Entry>> = (0..communicator.size()).map(|_| None).collect();
        let failed = messages.faults.iter().flat_map(|faults| faults.failed());
        let lost = failed.filter(|failed| is_member(communicator, failed.rank)).count() as u32;
        let index = self.rounds.insert(Round { subject, comm, members, there: 0, lost, outcome: None, left: 0 });
        open.push(index);
        Ok(index)
    }

    /// A rank has failed: those wait for it no longer that it has not joined.
    pub fn failed(&mut self, messages: &mut Messages, objects: &mut Objects, rank: u32) {
        let mut open: Vec<u32> = self.open.values().flatten().copied().collect();
        open.sort_unstable();
        for index in open {
            let round = &mut self.rounds[index];
            let communicator = objects.comms.at(round.comm);
            if is_member(communicator, rank) && round.members[communicator.rank(rank) as usize].is_none() {
                round.lost += 1;
                self.settle(messages, objects, index);
            }
        }
    }

    /// If all have come in or failed, they agree.
    fn settle(&mut self, messages: &mut Messages, objects: &mut Objects, index: u32) {
        let round = &mut self.rounds[index];
        if round.outcome.is_some() || round.there + round.lost < round.members.len() as u32 {
            return;
        }
        let communicator = objects.comms.at(round.comm);
        // Who has come in and failed since has had its say; as a member of the new communicator it is one that has failed.
        let lost = |rank: u32| is_member(communicator, rank) && round.members[communicator.rank(rank) as usize].is_none();
        let there: Vec<&Entry> = round.members.iter().flatten().collect();
        let least = there.iter().map(|entry| entry.acknowledged).min().unwrap_or(0) as usize;
        let (mut known, mut failed, mut ranks) = (Time::ZERO, None, 0);
        if let Some(faults) = &messages.faults {
            for (place, one) in faults.failed().iter().enumerate().filter(|(_, one)| lost(one.rank)) {
                known = known.max(faults.known(one));
                ranks += 1;
                failed = failed.or((place >= least).then_some(one.rank));
            }
        }
        let bytes = if round.subject == Subject::Flag { FLAG_BYTES } else { FLAG_BYTES + 4 * ranks };
        let done = walk(messages, &there, known, bytes);
        let flag = there.iter().fold(!0, |flag, entry| flag & entry.flag);
        let requests: Vec<u32> = there.iter().map(|entry| entry.request).collect();
        let comm = match round.subject {
            Subject::Flag => 0,
            Subject::Survivors if communicator.is_self => objects.comms.make_self(None),
            Subject::Survivors => {
                let group = Group::from_ranks(there.iter().map(|entry| entry.rank).collect());
                objects.comms.make(group, None, None)
            }
        };
        round.outcome = Some(Outcome { flag, failed, comm });
        for (request, done) in requests.into_iter().zip(done) {
            messages.finish_request(request, done);
        }
    }

    /// The mounted rank takes the outcome.
    pub(crate) fn leave(&mut self, [index, member]: Token) -> Result {
        let round = &mut self.rounds[index];
        let (entry, outcome) = (round.members[member as usize].as_ref(), round.outcome.as_ref());
        let (Some(entry), Some(outcome)) = (entry, outcome) else { unreachable!("its request is complete") };
        if entry.target != Addr::NULL {
            rank::memory::store(entry.target, outcome.flag);
        }
        let (failed, subject, comm) = (outcome.failed, round.subject, round.comm);
        self.made = outcome.comm;
        round.left -= 1;
        if round.left == 0 {
            self.rounds.remove(index);
            if let Some(open) = self.open.get_mut(&comm) {
                open.retain(|&other| other != index);
            }
        }
        match failed.filter(|_| subject == Subject::Flag) {
            Some(rank) => {
                let text = format!("rank {rank} of MPI_COMM_WORLD has failed, and not all members have acknowledged that");
                Err(Failure::new(ErrorClass::PROC_FAILED, text))
            }
            None => Ok(()),
        }
    }

    /// The communicator that the mounted rank's last agreement has made.
    pub fn made(&self) -> usize {
        self.made
    }

    /// A communicator is no more; another may get its index.
    pub(crate) fn forget(&mut self, comm: u32) {
        self.open.remove(&comm);
    }

    /// Who has neither come in nor failed, in a deadlock's report.
    pub(crate) fn waits(&self, messages: &Messages, objects: &Objects, index: u32) -> Option<String> {
        let round = self.rounds.get(index)?;
        let communicator = objects.comms.at(round.comm);
        let failed = |rank: u32| messages.faults.as_ref().is_some_and(|faults| faults.has_failed(rank));
        let missing =
            (0..).zip(&round.members).filter(|(_, entry)| entry.is_none()).map(|(member, _)| communicator.group.world_rank(member));
        let missing: Vec<u32> = missing.filter(|&rank| !failed(rank)).collect();
        let what = if round.subject == Subject::Flag { "agree" } else { "shrink" };
        Some(format!("{} of MPI_COMM_WORLD to {what} as well, or to fail", message::chapter::ranks_text(&missing)))
    }
}

fn is_member(comm: &Comm, rank: u32) -> bool {
    !comm.is_self && comm.group.rank_of(rank).is_some()
}

/// Up a binomial tree of those that are there and down again: when each has the outcome. The root waits until `known`.
// The parent of i is i without its last bit, so that all children of one come behind it: one pass back and one forth.
fn walk(messages: &mut Messages, there: &[&Entry], known: Time, bytes: u64) -> Vec<Time> {
    let way = |from: usize, to: usize| messages.wire.way(there[from].rank, there[to].rank, bytes);
    let mut times: Vec<Time> = there.iter().map(|entry| entry.clock).collect();
    for child in (1..there.len()).rev() {
        let parent = child & (child - 1);
        times[parent] = times[parent].max(times[child] + way(child, parent));
    }
    if let Some(root) = times.first_mut() {
        *root = known.max(*root);
    }
    for child in 1..there.len() {
        let parent = child & (child - 1);
        times[child] = times[parent] + way(parent, child);
    }
    for _ in 0..2 * there.len().saturating_sub(1) {
        messages.profile.message(bytes);
    }
    times
}
