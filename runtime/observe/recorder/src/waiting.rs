//! Waits of calls: what recorders are told of it, and the wait states that follow. The definitions are
//! Scalasca's (Geimer et al., "The Scalasca performance toolset architecture", Concurrency and Computation
//! 22(6), 2010, and its pattern reference).

use engine::{Span, Time};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// A call that has returned, in what a profile adds up: no argument is read for it.
#[derive(Clone, Copy, Debug)]
pub struct Returned {
    /// The rank, in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// The function's row in the table of MPI functions.
    pub function: u16,
    /// The name.
    pub name: &'static str,
    /// Site of the call in the program, as [`Call::site`](crate::events::Call::site).
    pub site: u32,
    /// Through which callers, function and site included: a number that
    /// [`Recorder::chain`](crate::Recorder::chain) has explained; 0: nobody asked.
    pub chain: u32,
    /// `true` if it was made within another call, by a function of the program that this one called: its time
    /// is a part of that call's.
    pub inner: bool,
    /// The rank's clock on entry and on return.
    pub entered: Time,
    /// The rank's clock on return.
    pub left: Time,
    /// Waiting time: the end of the call, without the overheads of the last message.
    pub wait: Span,
    /// Bytes that its count and datatype say it sends; of a rooted collective the same on all members.
    pub bytes: u64,
    /// Whose act ended the wait, if one did.
    pub cause: Option<WaitCause>,
    /// The time at which the first to leave left of the messages that it has received; those within
    /// collectives aside.
    pub oldest: Option<Time>,
    /// The blocking collective that the call entered, if its members wait for each other.
    pub gathering: Option<CollectiveEntry>,
    /// The kind of the collective that it entered, blocking or not: a number that
    /// [`Recorder::collectives`](crate::Recorder::collectives) will explain; 0: it entered none. Of several
    /// (`MPI_Startall`) the last.
    pub collective: u32,
}

/// A message between two ranks that was received, those within collectives aside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceivedMessage {
    /// The sender, in `MPI_COMM_WORLD`.
    pub from: u32,
    /// The time at which it left.
    pub sent: Time,
    /// The time at which it was there; before the call that took it, if no rank waited for it.
    pub arrived: Time,
    /// Payload, in bytes; not more than there was room for.
    pub bytes: u64,
    /// The tag.
    pub tag: i32,
}

/// Whose act a wait ended with: the last one that the call waited for. Of several at one time it is the one
/// that acted last, then the one with the lowest rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitCause {
    /// The side that kept the other waiting.
    pub side: LateSide,
    /// The time at which what it waited for was there.
    pub at: Time,
    /// The time at which the other side acted: its message left, its receive was posted, it gave the lock
    /// back.
    pub acted: Time,
    /// The rank that acted, in `MPI_COMM_WORLD`.
    pub by: u32,
    /// The time and rank of what it all depended on: messages took the rest, up to `at`. The act above, but
    /// where it met one of the other side that came later: a message above the eager limit leaves when its
    /// receive is posted.
    pub follows: (Time, u32),
}

impl WaitCause {
    /// The greatest of several is the cause of a wait.
    // At a tie the one who acted last kept the others waiting; of several then the least rank, so that the
    // host's order is not seen.
    pub fn order(&self) -> (Time, Time, Reverse<u32>) {
        (self.at, self.acted, Reverse(self.by))
    }
}

/// Side that kept the other waiting, by the act that was late.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LateSide {
    /// A message had not been sent.
    Sender,
    /// A receive had not been posted.
    Receiver,
    /// A target had not exposed its memory (`MPI_Win_post`).
    Target,
    /// An origin had not completed its accesses (`MPI_Win_complete`).
    Origin,
    /// Another rank had the lock of a target's memory.
    Holder,
    /// Nobody: messages were under way.
    Nobody,
}

/// A member's blocking collective call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CollectiveEntry {
    /// Identifier of the collective call on all processes of the run: its context and its sequence number
    /// there.
    pub id: (u32, u32),
    /// Number of members among this process's ranks.
    pub members: u32,
    /// Rule by which its members wait for each other.
    pub rule: WaitRule,
    /// `true` if the rank is its root.
    pub is_root: bool,
}

/// Rules by which the members of a collective wait for each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitRule {
    /// All for all, and no data: `MPI_Barrier`.
    Barrier,
    /// All for all, at the end of an epoch: `MPI_Win_fence`.
    Fence,
    /// All for all, for their data.
    All,
    /// All for the root.
    FromRoot,
    /// The root for the others.
    ToRoot,
}

/// The times at which the members of a collective call entered it, and who of several at one time has the
/// lowest rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entries {
    /// The last.
    pub last: (Time, u32),
    /// The root; of a collective without one `(Time::ZERO, 0)`.
    pub root: (Time, u32),
    /// The first that is not the root.
    pub first: (Time, u32),
}

impl Entries {
    /// Nobody has entered.
    pub const NONE: Entries =
        Entries { last: (Time::ZERO, u32::MAX), root: (Time::ZERO, 0), first: (Time::MAX, u32::MAX) };

    /// Adds the entries of other members.
    #[must_use]
    pub fn with(self, other: &Entries) -> Entries {
        let later = |a: (Time, u32), b: (Time, u32)| if (b.0, !b.1) > (a.0, !a.1) { b } else { a };
        Entries {
            last: later(self.last, other.last),
            root: later(self.root, other.root),
            first: self.first.min(other.first),
        }
    }

    /// Returns the entries of a collective that `rank` alone has entered, at `at`.
    pub fn of(rank: u32, at: Time, is_root: bool) -> Entries {
        let own = (at, rank);
        Entries {
            last: own,
            root: if is_root { own } else { Entries::NONE.root },
            first: if is_root { Entries::NONE.first } else { own },
        }
    }
}

/// The reason why time was lost in a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitState {
    /// A receive waited for a message that had not been sent.
    LateSender,
    /// It did while another message was there, or under way, that its rank received later.
    WrongOrder,
    /// A send waited for a receive that had not been posted.
    LateReceiver,
    /// A member waited in a barrier for the last one.
    WaitAtBarrier,
    /// A member waited in an n-to-n collective for the last one.
    WaitAtNxn,
    /// A member waited for the root of a one-to-n collective.
    LateBroadcast,
    /// The root of an n-to-one collective waited for the first of the others.
    EarlyReduce,
    /// The origin of an epoch waited for a target to expose its memory.
    LatePost,
    /// A target waited for the last origin to complete its accesses.
    EarlyWait,
    /// A member waited in a fence for the last one.
    WaitAtFence,
    /// A rank waited for another to give a lock back.
    LockContention,
}

impl WaitState {
    /// All, in the order of reports; each in the place of its number (`state as usize`).
    pub const ALL: [WaitState; 11] = [
        WaitState::LateSender,
        WaitState::WrongOrder,
        WaitState::LateReceiver,
        WaitState::WaitAtBarrier,
        WaitState::WaitAtNxn,
        WaitState::LateBroadcast,
        WaitState::EarlyReduce,
        WaitState::LatePost,
        WaitState::EarlyWait,
        WaitState::WaitAtFence,
        WaitState::LockContention,
    ];

    /// Returns what people call it.
    pub const fn name(self) -> &'static str {
        match self {
            WaitState::LateSender => "late sender",
            WaitState::WrongOrder => "messages in wrong order",
            WaitState::LateReceiver => "late receiver",
            WaitState::WaitAtBarrier => "wait at barrier",
            WaitState::WaitAtNxn => "wait at NxN",
            WaitState::LateBroadcast => "late broadcast",
            WaitState::EarlyReduce => "early reduce",
            WaitState::LatePost => "late post",
            WaitState::EarlyWait => "early wait",
            WaitState::WaitAtFence => "wait at fence",
            WaitState::LockContention => "lock contention",
        }
    }

    /// Returns what it is called where it is the cause of a loss.
    pub const fn plural(self) -> &'static str {
        match self {
            WaitState::LateSender => "late senders",
            WaitState::WrongOrder => "messages in wrong order",
            WaitState::LateReceiver => "late receivers",
            WaitState::WaitAtBarrier => "waiting at barriers",
            WaitState::WaitAtNxn => "waiting at NxN",
            WaitState::LateBroadcast => "late broadcasts",
            WaitState::EarlyReduce => "early reduces",
            WaitState::LatePost => "late posts",
            WaitState::EarlyWait => "early waits",
            WaitState::WaitAtFence => "waiting at fences",
            WaitState::LockContention => "lock contention",
        }
    }

    /// Returns what it means, in a sentence.
    pub const fn meaning(self) -> &'static str {
        match self {
            WaitState::LateSender => "A receive waited for a message that had not been sent yet.",
            WaitState::WrongOrder => {
                "A receive waited for a message that had not been sent yet, while one that had been sent \
                 before was received later."
            }
            WaitState::LateReceiver => {
                "A send waited for its receive to be posted (synchronous sends, messages above the eager \
                 limit)."
            }
            WaitState::WaitAtBarrier => "A rank waited in a barrier for the last one to enter.",
            WaitState::WaitAtNxn => {
                "A rank waited in a collective of all with all for the last one to enter."
            }
            WaitState::LateBroadcast => "A rank waited for the root of a broadcast or scatter to enter.",
            WaitState::EarlyReduce => {
                "The root of a reduction or gather waited for the first of the others to enter."
            }
            WaitState::LatePost => "MPI_Win_start waited for a target to call MPI_Win_post.",
            WaitState::EarlyWait => "MPI_Win_wait waited for the last origin to call MPI_Win_complete.",
            WaitState::WaitAtFence => "A rank waited in MPI_Win_fence for the last one to enter.",
            WaitState::LockContention => {
                "A rank waited for another to give back the lock of a target's memory."
            }
        }
    }
}

impl Returned {
    /// Returns what the call lost to whoever acted late, a member of its collective aside: the part of its
    /// wait before that one acted. Of a late sender it is not known here whether the messages came in wrong
    /// order: that shows later.
    pub fn lost_to_partner(&self) -> Option<(WaitState, Span, u32)> {
        let WaitCause { side, acted, by, .. } = self.cause?;
        let state = match side {
            LateSide::Sender => WaitState::LateSender,
            LateSide::Receiver => WaitState::LateReceiver,
            LateSide::Target => WaitState::LatePost,
            LateSide::Origin => WaitState::EarlyWait,
            LateSide::Holder => WaitState::LockContention,
            LateSide::Nobody => return None,
        };
        self.lost(state, (acted, by))
    }

    /// Returns what the member lost in its collective to who entered late, when all `entries` are known.
    pub fn lost_in_gathering(&self, entries: &Entries) -> Option<(WaitState, Span, u32)> {
        let CollectiveEntry { rule, is_root, .. } = self.gathering?;
        match (rule, is_root) {
            (WaitRule::Barrier, _) => self.lost(WaitState::WaitAtBarrier, entries.last),
            (WaitRule::Fence, _) => self.lost(WaitState::WaitAtFence, entries.last),
            (WaitRule::All, _) => self.lost(WaitState::WaitAtNxn, entries.last),
            (WaitRule::FromRoot, false) => self.lost(WaitState::LateBroadcast, entries.root),
            (WaitRule::ToRoot, true) => self.lost(WaitState::EarlyReduce, entries.first),
            (WaitRule::FromRoot, true) | (WaitRule::ToRoot, false) => None,
        }
    }

    fn lost(&self, state: WaitState, (acted, by): (Time, u32)) -> Option<(WaitState, Span, u32)> {
        let lost = Span::from_ps(acted.as_ps().saturating_sub(self.entered.as_ps())).min(self.wait);
        (lost != Span::ZERO).then_some((state, lost, by))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn returned(entered: u64, wait: u64) -> Returned {
        Returned {
            rank: 0,
            function: 0,
            name: "MPI_Recv",
            site: 1,
            chain: 0,
            inner: false,
            entered: Time::from_ps(entered),
            left: Time::from_ps(entered + wait),
            wait: Span::from_ps(wait),
            bytes: 0,
            cause: None,
            oldest: None,
            gathering: None,
            collective: 0,
        }
    }

    #[test]
    fn what_is_under_way_is_not_lost_to_the_sender() {
        let cause = |acted| {
            Some(WaitCause {
                side: LateSide::Sender,
                at: Time::from_ps(150),
                acted: Time::from_ps(acted),
                by: 3,
                follows: (Time::from_ps(acted), 3),
            })
        };
        let call = returned(100, 50);
        assert_eq!(
            Returned { cause: cause(130), ..call }.lost_to_partner(),
            Some((WaitState::LateSender, Span::from_ps(30), 3))
        );
        assert_eq!(
            Returned { cause: cause(90), ..call }.lost_to_partner(),
            None,
            "it was sent before the receive was posted"
        );
        assert_eq!(call.lost_to_partner(), None);
    }

    #[test]
    fn the_root_waits_for_the_first_and_all_others_for_the_root_or_the_last() {
        let entries = [(5, 40, false), (6, 70, true), (7, 90, false), (8, 90, false)];
        let all = entries.iter().map(|&(rank, at, root)| Entries::of(rank, Time::from_ps(at), root));
        let all = all.fold(Entries::NONE, |all, one| all.with(&one));
        assert_eq!(all.last, (Time::from_ps(90), 7), "of two at one time the lower rank");
        let lost = |rule, is_root, entered| {
            let gathering = Some(CollectiveEntry { id: (0, 0), members: 4, rule, is_root });
            Returned { gathering, ..returned(entered, 1000) }.lost_in_gathering(&all)
        };
        assert_eq!(
            lost(WaitRule::Barrier, false, 40),
            Some((WaitState::WaitAtBarrier, Span::from_ps(50), 7))
        );
        assert_eq!(lost(WaitRule::Fence, false, 40), Some((WaitState::WaitAtFence, Span::from_ps(50), 7)));
        assert_eq!(lost(WaitRule::All, true, 70), Some((WaitState::WaitAtNxn, Span::from_ps(20), 7)));
        assert_eq!(
            lost(WaitRule::FromRoot, false, 40),
            Some((WaitState::LateBroadcast, Span::from_ps(30), 6))
        );
        assert_eq!(lost(WaitRule::FromRoot, false, 90), None);
        assert_eq!(lost(WaitRule::ToRoot, true, 10), Some((WaitState::EarlyReduce, Span::from_ps(30), 5)));
        assert_eq!(lost(WaitRule::ToRoot, false, 10), None);
    }

    #[test]
    fn states_stand_in_the_places_of_their_numbers() {
        assert!(WaitState::ALL.iter().enumerate().all(|(place, &state)| state as usize == place));
    }
}
