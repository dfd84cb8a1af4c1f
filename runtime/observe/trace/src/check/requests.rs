//! Requests of a rank: which call made each, and whether it was completed.

use super::effects::Effects;
use super::{CallIdentity, Channel, Checker};
use crate::roles::Argument;
use crate::template::{Field, Peer, Position};
use crate::trace::{RankCall, RankView};
use std::collections::BTreeMap;

/// A request that was made.
#[derive(Clone)]
struct TracedRequest {
    at: CallIdentity,
    is_persistent: bool,
    is_active: bool,
    /// Channel of a receive, which may have wildcards; `None` for other requests.
    receives: Option<Channel>,
    /// Channel of a persistent send; `None` for other requests.
    sends: Option<Channel>,
}

/// The requests of a rank that there are.
#[derive(Clone, Default)]
pub(super) struct Requests {
    made: BTreeMap<i64, TracedRequest>,
}

/// Returns the slots of requests in an argument; `None` for the standard's null.
fn slots(argument: &Argument) -> Vec<Option<i64>> {
    fn add(field: &Field, numbers: &mut impl Iterator<Item = i64>, all: &mut Vec<Option<i64>>) {
        match field {
            Field::Handle(_, None) => all.push(numbers.next()),
            Field::Handle(..) => all.push(None),
            Field::List(runs) => {
                runs.iter().for_each(|(length, field)| (0..*length).for_each(|_| add(field, numbers, all)))
            }
            _ => {}
        }
    }
    let mut all = Vec::new();
    add(argument.field, &mut argument.numbers.iter().copied(), &mut all);
    all
}

impl Requests {
    /// Applies a call to the requests of its rank. Messages and repeated waits are added to `effects`.
    pub(super) fn call(
        &mut self,
        checker: &Checker,
        view: &RankView,
        event: &RankCall,
        at: CallIdentity,
        effects: &mut Effects,
    ) {
        let name = checker.name(event);
        let find = |name: &str| {
            checker.roles(event).find(event, name).filter(|argument| super::is_requests(argument.field))
        };
        let several = find("array_of_requests").map(|argument| slots(&argument));
        let one = find("request").map(|argument| slots(&argument));
        match name {
            "MPI_Start" | "MPI_Startall" => {
                for slot in one.or(several).unwrap_or_default().into_iter().flatten() {
                    self.start(slot, at, effects);
                }
            }
            "MPI_Wait" | "MPI_Test" | "MPI_Waitall" | "MPI_Testall" | "MPI_Waitany" | "MPI_Testany"
            | "MPI_Waitsome" | "MPI_Testsome" => {
                self.complete(checker, event, &one.or(several).unwrap_or_default(), at, effects);
            }
            "MPI_Request_free" => {
                for slot in one.unwrap_or_default().into_iter().flatten() {
                    self.made.remove(&slot);
                }
            }
            "MPI_Cancel" | "MPI_Request_get_status" | "MPI_Grequest_complete" => {}
            _ => {
                if let Some(Some(slot)) = one.and_then(|slots| slots.first().copied()) {
                    let made = self.of(checker, view, event, at);
                    self.made.insert(slot, made);
                }
            }
        }
    }

    /// Returns the request that a call makes.
    fn of(&self, checker: &Checker, view: &RankView, event: &RankCall, at: CallIdentity) -> TracedRequest {
        let (name, roles, position) = (checker.name(event), checker.roles(event), view.position(event));
        let number = |name: &str| roles.find(event, name).and_then(|argument| argument.number());
        let comm = checker.comm(view, event);
        let channel = |peer: &str, tags: [&str; 2], sends: bool| {
            let ((comm, own), peer) = comm.zip(number(peer))?;
            let tag = tags.iter().find_map(|tag| number(tag))?;
            let peer = Peer::of(peer).rank(position);
            Some(if sends { (comm, own as i32, peer, tag) } else { (comm, peer, own as i32, tag) })
        };
        let is_persistent = name.ends_with("_init");
        let sends = channel("dest", ["sendtag", "tag"], true).filter(|_| is_persistent);
        let receives = channel("source", ["recvtag", "tag"], false);
        TracedRequest { at, is_persistent, is_active: !is_persistent, receives, sends }
    }

    fn start(&mut self, slot: i64, at: CallIdentity, effects: &mut Effects) {
        let Some(made) = self.made.get_mut(&slot) else { return };
        made.is_active = true;
        if let Some(channel) = made.sends.filter(|&(_, _, to, _)| to >= 0) {
            effects.sent(channel, at);
        }
    }

    fn complete(
        &mut self,
        checker: &Checker,
        event: &RankCall,
        slots: &[Option<i64>],
        at: CallIdentity,
        effects: &mut Effects,
    ) {
        let find = |name: &str| checker.roles(event).find(event, name);
        let number = |name: &str| find(name).and_then(|argument| argument.number());
        if number("flag") == Some(0) {
            return;
        }
        let statuses: Vec<[i64; 4]> = find("status")
            .or_else(|| find("array_of_statuses"))
            .map(|argument| {
                argument
                    .numbers
                    .chunks_exact(4)
                    .map(|status| [status[0], status[1], status[2], status[3]])
                    .collect()
            })
            .unwrap_or_default();
        // Which of the requests the statuses are of.
        let which: Vec<usize> = match (number("index"), find("array_of_indices")) {
            (Some(index), _) => usize::try_from(index).into_iter().collect(),
            (None, Some(indices)) => {
                indices.numbers.iter().filter_map(|&index| usize::try_from(index).ok()).collect()
            }
            // A wait for any of which nobody knows which it was: one of those that are open.
            (None, None) if find("index").is_some() => {
                let is_open = |slot: &Option<i64>| slot.is_some_and(|slot| self.made.contains_key(&slot));
                slots.iter().position(is_open).into_iter().collect()
            }
            (None, None) => (0..slots.len()).collect(),
        };
        for (status, index) in (0..).zip(which) {
            let Some(Some(slot)) = slots.get(index).copied() else { continue };
            match self.made.get_mut(&slot) {
                None => *effects.twice.entry((at.site, at.function)).or_default() += 1,
                Some(made) => {
                    let status: Option<&[i64; 4]> = statuses.get(status);
                    let cancelled = status.is_some_and(|status| status[3] != 0);
                    if let Some((comm, source, own, tag)) =
                        made.receives.filter(|_| made.is_active && !cancelled)
                    {
                        let world = Position { rank: at.rank, peers: checker.trace.ranks };
                        let source = if source == -1 {
                            status.map_or(-1, |status| Peer::of(status[0]).rank(world))
                        } else {
                            source
                        };
                        let tag = if tag == -2 { status.map_or(-2, |status| status[1]) } else { tag };
                        if source >= 0 {
                            effects.received((comm, source, own, tag), at);
                        }
                    }
                    made.is_active = false;
                    if !made.is_persistent {
                        self.made.remove(&slot);
                    }
                }
            }
        }
    }

    /// Returns `true` if the following calls find here what they would find in others.
    // Where a request was made is told and changes nothing.
    pub(super) fn act_like(&self, others: &Requests) -> bool {
        let what = |(slot, made): (&i64, &TracedRequest)| {
            (*slot, made.is_persistent, made.is_active, made.receives, made.sends)
        };
        self.made.len() == others.made.len() && self.made.iter().map(what).eq(others.made.iter().map(what))
    }

    /// Requests that calls from number `first` on made were made so many calls later.
    pub(super) fn make_later(&mut self, first: u64, later: u64) {
        for made in self.made.values_mut().filter(|made| made.at.number >= first) {
            made.at.number = made.at.number.saturating_add(later);
        }
    }

    /// Finds the requests that are left active behind the rank's last call.
    pub(super) fn end(self, checker: &mut Checker) {
        for made in self.made.values().filter(|made| made.is_active) {
            let place = checker.place(made.at);
            checker.find(format!("a request is never waited for: {place}"));
        }
    }
}
