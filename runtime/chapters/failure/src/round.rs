//! One agreement, on the process that keeps it: who has come in, who has failed before, what comes of it and
//! when.

use crate::agreement::Subject;
use crate::members::{Members, Survivors};
use engine::Time;
use engine::record::{Put, Take};
use objects::group::Group;
use p2p::Messages;
use p2p::chapter::ranks_text;

/// Bytes of what a member says: a flag, and how many failures it has acknowledged.
const FLAG_BYTES: u64 = 8;

/// The identity of an agreement on all processes: all members agree in the same order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct AgreementKey {
    /// The communicator's context.
    pub(crate) context: u32,
    /// The agreement's sequence number on that communicator.
    pub(crate) number: u32,
    /// The rank that the communicator is of, for `MPI_COMM_SELF` and its duplicates.
    pub(crate) alone: Option<u32>,
}

impl AgreementKey {
    pub(crate) fn put(self, out: &mut Vec<u8>) {
        out.u32(self.context);
        out.u32(self.number);
        out.u32(self.alone.unwrap_or(u32::MAX));
    }
    pub(crate) fn take(from: &mut Take) -> AgreementKey {
        let (context, number, alone) = (from.u32(), from.u32(), from.u32());
        AgreementKey { context, number, alone: (alone != u32::MAX).then_some(alone) }
    }
    /// Returns the key as bytes.
    pub(crate) fn bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.put(&mut bytes);
        bytes
    }
}

/// A member that has come in.
pub(crate) struct Entry {
    pub(crate) rank: u32,
    pub(crate) clock: Time,
    pub(crate) flag: i32,
    /// Number of failures, of all in the run, that the member has acknowledged.
    pub(crate) acknowledged: u32,
    /// The member's process, and the number by which it has the member's part.
    pub(crate) process: u32,
    pub(crate) part: u32,
}

/// The outcome of an agreement, as a member sees it.
#[derive(Clone, Copy)]
pub(crate) struct AgreementResult {
    /// Flags that the members of each side get; sides as [`Members::side`] has them.
    pub(crate) flags: [i32; 2],
    /// Somebody has failed that not all have acknowledged: its rank.
    pub(crate) failed: Option<u32>,
    /// The new communicator, as its side has it.
    pub(crate) comms: [usize; 2],
}

/// A member that leaves.
pub(crate) struct Leaving {
    pub(crate) process: u32,
    pub(crate) part: u32,
    pub(crate) at: Time,
}

/// The outcome of an agreement, on the process that keeps it.
pub(crate) struct AgreementOutcome {
    pub(crate) subject: Subject,
    pub(crate) flags: [i32; 2],
    pub(crate) failed: Option<u32>,
    pub(crate) survivors: Survivors,
    pub(crate) leaving: Vec<Leaving>,
}

/// One agreement.
// made by the first member --(others come in or fail)--> settled, and gone
pub(crate) struct AgreementRound {
    pub(crate) subject: Subject,
    members: Vec<Option<Entry>>,
    /// Members that have come in, and that have failed before they did.
    there: u32,
    lost: u32,
}

impl AgreementRound {
    /// The error sentence for members that agree on different things.
    pub(crate) const DIFFER: &str = "other members of the communicator call MPIX_Comm_agree where this one \
        calls MPIX_Comm_shrink, or the other way round; all must call the same ones in the same order";

    /// Makes a round into which no member has come.
    pub(crate) fn new(subject: Subject, group: &Group, messages: &Messages) -> AgreementRound {
        let failed = messages.faults().into_iter().flat_map(|faults| faults.failed());
        let lost = failed.filter(|failed| group.rank_of(failed.rank).is_some()).count() as u32;
        AgreementRound { subject, members: (0..group.size()).map(|_| None).collect(), there: 0, lost }
    }

    /// Enters a member.
    pub(crate) fn enter(&mut self, member: u32, entry: Entry) {
        self.members[member as usize] = Some(entry);
        self.there += 1;
    }

    /// Records that a member has failed. Returns `true` if it will not come in.
    pub(crate) fn lose(&mut self, member: u32) -> bool {
        let lost = self.members[member as usize].is_none();
        self.lost += u32::from(lost);
        lost
    }

    /// Returns `true` if all have come in or failed.
    pub(crate) fn is_complete(&self) -> bool {
        self.there + self.lost >= self.members.len() as u32
    }

    /// Returns what comes of it, when all are there or lost.
    pub(crate) fn settle(self, messages: &mut Messages, members: &Members) -> AgreementOutcome {
        // Who has come in and failed since has had its say; as a member of the new communicator it is one
        // that has failed.
        let lost = |rank: u32| {
            members.group.rank_of(rank).is_some_and(|member| self.members[member as usize].is_none())
        };
        let numbered =
            || (0..).zip(&self.members).filter_map(|(member, entry)| Some((member, entry.as_ref()?)));
        let there: Vec<&Entry> = numbered().map(|(_, entry)| entry).collect();
        let least = there.iter().map(|entry| entry.acknowledged).min().unwrap_or(0) as usize;
        let (mut known, mut failed, mut ranks) = (Time::ZERO, None, 0);
        if let Some(faults) = messages.faults() {
            for (place, one) in faults.failed().iter().enumerate().filter(|(_, one)| lost(one.rank)) {
                known = known.max(faults.known(one));
                ranks += 1;
                failed = failed.or((place >= least).then_some(one.rank));
            }
        }
        let bytes = match self.subject {
            // Of each side.
            Subject::Flag if members.are_two_sides() => FLAG_BYTES + 4,
            Subject::Flag => FLAG_BYTES,
            Subject::Survivors => FLAG_BYTES + 4 * ranks,
        };
        let times = walk(messages, &there, known, bytes);
        let leave = |(entry, at): (&&Entry, Time)| Leaving { process: entry.process, part: entry.part, at };
        AgreementOutcome {
            subject: self.subject,
            flags: members.flags(numbered().map(|(member, entry)| (member, entry.flag))),
            failed,
            survivors: members.survivors(numbered().map(|(member, _)| member)),
            leaving: there.iter().zip(times).map(leave).collect(),
        }
    }

    /// Returns who has neither come in nor failed, in a deadlock's report.
    pub(crate) fn missing(&self, messages: &Messages, group: &Group) -> String {
        let failed = |rank: u32| messages.faults().is_some_and(|faults| faults.has_failed(rank));
        let missing = (0..)
            .zip(&self.members)
            .filter(|(_, entry)| entry.is_none())
            .map(|(member, _)| group.world_rank(member));
        let missing: Vec<u32> = missing.filter(|&rank| !failed(rank)).collect();
        let what = if self.subject == Subject::Flag { "agree" } else { "shrink" };
        format!("{} of MPI_COMM_WORLD to {what} as well, or to fail", ranks_text(&missing))
    }
}

/// Up a binomial tree of those that are there and down again: when each has the outcome. The root waits until
/// `known`.
// The parent of i is i without its last bit, so that all children of one come behind it: one pass back and
// one forth.
fn walk(messages: &mut Messages, there: &[&Entry], known: Time, bytes: u64) -> Vec<Time> {
    let way = |from: usize, to: usize| messages.fabric().wire().way(there[from].rank, there[to].rank, bytes);
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
        messages.ranks_mut().profile_mut().internal_message(bytes);
    }
    times
}
