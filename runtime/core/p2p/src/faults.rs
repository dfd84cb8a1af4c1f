//! Ranks that have failed and communicators that were revoked, and what becomes of messages by that
//! (docs/reference/failures.md).
//!
//! When something has happened is one thing, and from when on a rank reckons with it another: a failure is
//! known to all a delay later, a revocation when its message has come. Both reach a rank as an alarm, a
//! decision that is made when nothing can come before it (`mpi/alarms.rs`): then what the rank waits for and
//! cannot get ends with an error.

pub mod ending;
pub mod failures;
mod point_to_point;
mod under_way;

use engine::{Span, Time};
use objects::error::{ErrorClass, Failure};
use objects::group::Group;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use under_way::UnderWay;

/// A rank that has failed.
#[derive(Clone, Copy, Debug)]
pub struct Failed {
    /// Its world number.
    pub rank: u32,
    /// When it did.
    pub at: Time,
}

/// Why an operation cannot come to its end, and from when on its rank knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// `MPIX_ERR_PROC_FAILED`, `MPIX_ERR_PROC_FAILED_PENDING` or `MPIX_ERR_REVOKED`.
    pub class: ErrorClass,
    /// From when on.
    pub known: Time,
    /// The rank that has failed (world number); for a revocation the rank itself.
    pub rank: u32,
}

/// A receive that has ended with an error.
#[derive(Clone, Copy)]
struct FailedReceive {
    /// The rank that posted it. No other may complete, resume, cancel or free it.
    owner: u32,
    /// The number of receives of this process that had ended so before.
    number: u64,
    fault: Fault,
}

/// A send that has ended with an error.
#[derive(Clone, Copy)]
struct FailedSend {
    context: Option<u32>,
    fault: Fault,
}

/// A revoked communicator, as one of its ranks sees it.
#[derive(Clone, Copy)]
struct Revoked {
    /// When the rank is told.
    at: Time,
    /// `true` if it has been.
    known: bool,
}

/// Failed ranks, revoked communicators, and the ranks that have been notified of them.
// In a box that programs without failures do not have: what they pay is a question whether it is there, off
// the plain path.
#[derive(Default)]
pub struct Faults {
    /// From a failure until all know.
    delay: Span,
    /// In the order in which they failed, at one time by rank.
    failed: Vec<Failed>,
    /// Their places in that, by rank.
    places: FxHashMap<u32, u32>,
    /// When ranks stop that have not yet.
    doomed: FxHashMap<u32, Time>,
    /// Times at which a rank has to check for failures and revocations, by rank.
    alarms: FxHashMap<u32, BTreeSet<Time>>,
    /// By rank and context.
    revoked: FxHashMap<(u32, u32), Revoked>,
    /// Number of failed ranks that a rank has acknowledged in a communicator, by rank and context: the first
    /// so many of all.
    acknowledged: FxHashMap<(u32, u32), u32>,
    /// Receives that have ended with an error, by their node.
    // Contexts are shared by all members of a communicator: only the rank says whose a receive is.
    receives: FxHashMap<u32, FailedReceive>,
    /// Number of receives that have ended with an error.
    ended_receives: u64,
    /// Sends that have, by their request.
    sends: FxHashMap<u32, FailedSend>,
    /// Receives and sends that may end so yet.
    under_way: UnderWay,
    /// Up to when ranks know who has failed.
    learned: FxHashMap<u32, Time>,
    /// Ranks that an error has told that they know too little.
    behind: FxHashSet<u32>,
}

impl Faults {
    /// Nobody has failed; who does is known so much later.
    pub fn new(delay: Span) -> Faults {
        Faults { delay, ..Faults::default() }
    }

    /// Returns who has failed, in order.
    pub fn failed(&self) -> &[Failed] {
        &self.failed
    }

    /// Returns `true` if a rank has failed.
    pub fn has_failed(&self, rank: u32) -> bool {
        self.places.contains_key(&rank)
    }

    /// From when on it is known that this failed.
    pub fn known(&self, failed: &Failed) -> Time {
        failed.at + self.delay
    }

    /// Stops a rank of this process that may be spawned at a time, if it has begun by then, or when it
    /// begins.
    pub fn doom_later(&mut self, rank: u32, at: Time) {
        self.doomed.insert(rank, at);
    }

    /// Returns when a rank stops that has not yet.
    pub fn doom_of(&self, rank: u32) -> Option<Time> {
        self.doomed.get(&rank).copied()
    }

    /// Returns the time of the first thing that a rank has to look at. O(1) where there is none.
    #[inline]
    pub fn first_alarm(&self, rank: u32) -> Option<Time> {
        if self.alarms.is_empty() { None } else { self.alarms.get(&rank)?.first().copied() }
    }

    /// Lets a rank look at what it has to up to `time`: it gets to know of revocations.
    pub fn take_alarms(&mut self, rank: u32, time: Time) {
        if let Some(alarms) = self.alarms.get_mut(&rank) {
            while alarms.first().is_some_and(|&first| first <= time) {
                alarms.pop_first();
            }
            if alarms.is_empty() {
                self.alarms.remove(&rank);
            }
        }
        let revoked = self.revoked.iter_mut().filter(|((of, _), revoked)| *of == rank && revoked.at <= time);
        revoked.for_each(|(_, revoked)| revoked.known = true);
    }

    /// A rank will not look at anything any more.
    pub fn forget(&mut self, rank: u32) {
        self.alarms.remove(&rank);
        self.doomed.remove(&rank);
    }

    /// A rank has stopped.
    // Processes tell each other of failures that they have decided within one window of time, in any order.
    // Nobody has looked beyond by then.
    pub fn note_failed(&mut self, failed: Failed) {
        self.doomed.remove(&failed.rank);
        let place = self.failed.partition_point(|other| (other.at, other.rank) < (failed.at, failed.rank));
        self.failed.insert(place, failed);
        for (place, failed) in (0..).zip(&self.failed).skip(place) {
            self.places.insert(failed.rank, place);
        }
    }

    /// Lets a rank know who has failed by `clock`: it has waited until nothing can come before that.
    pub fn learn(&mut self, rank: u32, clock: Time) {
        self.learned.insert(rank, clock);
        self.behind.remove(&rank);
    }

    /// Records that an operation of this rank has failed because another rank has or a communicator is
    /// revoked: it looks around at its next call.
    pub fn falls_behind(&mut self, rank: u32) {
        self.behind.insert(rank);
    }

    /// Returns `true` if a rank is to look around.
    pub fn is_behind(&self, rank: u32) -> bool {
        self.behind.contains(&rank)
    }

    /// Returns `true` if a rank knows of a failure.
    // By when it has waited for all that may have come before, and not by what is decided: that is the host's
    // to say. Of one instant comes first what is of the least rank.
    fn knows(&self, rank: u32, failed: &Failed) -> bool {
        let learned = self.learned.get(&rank);
        learned.is_some_and(|&learned| {
            self.known(failed) <= learned && (failed.at, failed.rank) < (learned, rank)
        })
    }

    /// Returns how many of those that have failed a rank has acknowledged in a communicator.
    pub fn acknowledged(&self, rank: u32, context: u32) -> u32 {
        self.acknowledged.get(&(rank, context)).copied().unwrap_or(0)
    }

    /// Returns the members of a group that have failed and are known by `clock` to have, with their places
    /// among all that have, in the order of these.
    pub fn known_in<'a>(&'a self, group: &'a Group, clock: Time) -> impl Iterator<Item = (u32, Failed)> + 'a {
        let known = (0..).zip(&self.failed).take_while(move |(_, failed)| self.known(failed) <= clock);
        known
            .map(|(place, &failed)| (place, failed))
            .filter(|(_, failed)| group.rank_of(failed.rank).is_some())
    }

    /// A rank acknowledges the first so many of all that have failed, in a communicator.
    pub fn acknowledge(&mut self, rank: u32, context: u32, count: u32) {
        let known = self.acknowledged.entry((rank, context)).or_default();
        *known = count.max(*known);
    }

    /// Returns `true` if a rank, which begins a call, knows that a communicator is revoked: by when it has
    /// looked around, as [`Faults::knows`].
    fn knows_revoked(&self, rank: u32, context: u32) -> bool {
        let (revoked, learned) = (self.revoked.get(&(rank, context)), self.learned.get(&rank));
        revoked.is_some_and(|revoked| learned.is_some_and(|&learned| revoked.at <= learned))
    }

    /// Returns `true` if a rank has been told that a communicator is revoked.
    pub fn is_revoked(&self, rank: u32, context: u32) -> bool {
        self.revocation(rank, context).is_some()
    }

    /// Returns why nothing goes on in a context, if a rank has been told that its communicator is revoked.
    fn revocation(&self, rank: u32, context: u32) -> Option<Fault> {
        let revoked = self.revoked.get(&(rank, context)).filter(|revoked| revoked.known)?;
        Some(Fault { class: ErrorClass::REVOKED, known: revoked.at, rank })
    }

    /// Returns the first failed member of a group that `rank` has not acknowledged in a communicator.
    fn first_unacknowledged(&self, rank: u32, context: u32, group: &Group) -> Option<Failed> {
        let new = &self.failed[self.acknowledged(rank, context) as usize..];
        new.iter().find(|failed| group.rank_of(failed.rank).is_some()).copied()
    }

    /// Notes that a receive of a rank has ended with an error.
    fn end_receive(&mut self, receive: u32, owner: u32, fault: Fault) {
        let number = self.ended_receives;
        self.ended_receives += 1;
        self.receives.insert(receive, FailedReceive { owner, number, fault });
    }

    /// Returns `true` for a receive for any source that has ended until its rank acknowledges a failure.
    pub fn is_pending(&self, receive: u32) -> bool {
        self.receives
            .get(&receive)
            .is_some_and(|failed| failed.fault.class == ErrorClass::PROC_FAILED_PENDING)
    }

    /// Forgets that a receive has ended so. Returns `false` for another one.
    pub fn take_pending(&mut self, receive: u32) -> bool {
        let is_pending = self.is_pending(receive);
        if is_pending {
            self.receives.remove(&receive);
        }
        is_pending
    }

    /// Returns `true` if a receive has ended with an error.
    pub(crate) fn has_ended(&self, receive: u32) -> bool {
        self.receives.contains_key(&receive)
    }

    fn fault(&self, class: ErrorClass, failed: &Failed) -> Fault {
        Fault { class, known: self.known(failed), rank: failed.rank }
    }
}

impl Fault {
    /// Returns the fault for an operation without a request: `MPIX_ERR_PROC_FAILED` replaces
    /// `MPIX_ERR_PROC_FAILED_PENDING`, since its rank cannot go on waiting.
    pub fn without_request(self) -> Fault {
        let pending = self.class == ErrorClass::PROC_FAILED_PENDING;
        Fault { class: if pending { ErrorClass::PROC_FAILED } else { self.class }, ..self }
    }

    /// Returns what the program is told.
    #[cold]
    pub fn failure(&self) -> Box<Failure> {
        let text = match self.class {
            ErrorClass::REVOKED => "the communicator is revoked".to_owned(),
            ErrorClass::PROC_FAILED_PENDING => {
                format!(
                    "rank {} of MPI_COMM_WORLD has failed and may be the source: acknowledge that to go on \
                     waiting",
                    self.rank
                )
            }
            _ => format!("rank {} of MPI_COMM_WORLD has failed", self.rank),
        };
        Failure::new(self.class, text)
    }
}
