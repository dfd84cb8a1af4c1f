//! Calls that MPI does not promise to work, folded by their places: overlapping buffers, type signatures that
//! do not match.

use super::FindingCount;
use crate::events::{Finding, Party, Touch};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A place in the program.
// Sites have a number on each process, and a process knows the names of its own alone: who brings the parts
// together asks the other's.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) enum Spot {
    Here(String),
    Elsewhere { process: u32, number: u32 },
}

/// A function and where it was called.
type Called = (String, Spot);

/// One kind of finding at one place.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) enum FaultFinding {
    Overlap { call: (Called, Touch), pending: Option<(Called, Touch)> },
    Types { receive: (Called, String), send: (Called, String) },
    Collective { member: (Called, String), first: (Called, String) },
    Disturbed { operation: (Called, Touch), freed: bool },
    Stale { call: Called },
    Unbuffered { send: Called, waits: String },
}

/// Findings of one process: their number, by rank.
// Ranks come in the order in which the host runs them, so that they are counted when all are known.
#[derive(Default)]
pub(super) struct FaultFindings {
    found: FxHashMap<FaultFinding, BTreeMap<u32, u64>>,
    /// For each call site, what was waited for when its sends were first found to need a buffer.
    waits: FxHashMap<Called, String>,
}

impl FaultFindings {
    pub fn add(&mut self, finding: &Finding, sites: &FxHashMap<u32, String>) {
        let called = |party: &Party| {
            let site = match party.process {
                Some(process) => Spot::Elsewhere { process, number: party.site },
                None => {
                    Spot::Here(sites.get(&party.site).map_or("an unknown place", String::as_str).to_owned())
                }
            };
            (party.function.to_owned(), site)
        };
        let (rank, fault) = match finding {
            Finding::Overlap { call, pending } => (
                call.0.rank,
                FaultFinding::Overlap {
                    call: (called(&call.0), call.1),
                    pending: pending.map(|(pending, touch)| (called(&pending), touch)),
                },
            ),
            Finding::Types { receive, send } => (
                receive.0.rank,
                FaultFinding::Types {
                    receive: (called(&receive.0), receive.1.clone()),
                    send: (called(&send.0), send.1.clone()),
                },
            ),
            Finding::Collective { member, first } => (
                member.0.rank,
                FaultFinding::Collective {
                    member: (called(&member.0), member.1.clone()),
                    first: (called(&first.0), first.1.clone()),
                },
            ),
            Finding::Disturbed { operation, freed } => (
                operation.0.rank,
                FaultFinding::Disturbed { operation: (called(&operation.0), operation.1), freed: *freed },
            ),
            Finding::Stale { call } => (call.rank, FaultFinding::Stale { call: called(call) }),
            Finding::Unbuffered { send, waits } => {
                let called = called(send);
                let waits = self.waits.entry(called.clone()).or_insert_with(|| waits.clone()).clone();
                (send.rank, FaultFinding::Unbuffered { send: called, waits })
            }
        };
        *self.found.entry(fault).or_default().entry(rank).or_default() += 1;
    }

    /// Takes out all of them with their tallies; none are left.
    pub fn take(&mut self) -> Vec<(FaultFinding, FindingCount)> {
        let tally = |ranks: BTreeMap<u32, u64>| {
            let mut tally = FindingCount::default();
            ranks.into_iter().for_each(|(rank, count)| {
                tally.add_all(&FindingCount { count, ranks: 1, first: rank, last: rank })
            });
            tally
        };
        let mut all: Vec<_> =
            std::mem::take(&mut self.found).into_iter().map(|(fault, ranks)| (fault, tally(ranks))).collect();
        all.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        all
    }
}

impl FaultFinding {
    /// Fills in the names of all places: `name` tells of those of other processes.
    pub fn placed(mut self, name: impl Fn(u32, u32) -> Option<String>) -> FaultFinding {
        let place = |called: &mut Called| {
            if let Spot::Elsewhere { process, number } = called.1 {
                called.1 = Spot::Here(name(process, number).unwrap_or_else(|| "an unknown place".to_owned()));
            }
        };
        match &mut self {
            FaultFinding::Overlap { call, pending } => {
                place(&mut call.0);
                pending.iter_mut().for_each(|pending| place(&mut pending.0));
            }
            FaultFinding::Types { receive: one, send: other }
            | FaultFinding::Collective { member: one, first: other } => {
                place(&mut one.0);
                place(&mut other.0);
            }
            FaultFinding::Disturbed { operation: (called, _), .. }
            | FaultFinding::Stale { call: called }
            | FaultFinding::Unbuffered { send: called, .. } => {
                place(called);
            }
        }
        self
    }

    /// Returns what the program should do instead.
    pub fn way(&self) -> &'static str {
        match self {
            FaultFinding::Overlap { pending: Some(_), .. } => {
                "complete that operation first, or use other memory"
            }
            FaultFinding::Overlap { pending: None, .. } => {
                "use other memory, or MPI_IN_PLACE where the function knows it"
            }
            FaultFinding::Types { .. } => "send and receive with the same types",
            FaultFinding::Disturbed { .. } => "complete the operation first, or use other memory",
            FaultFinding::Stale { .. } => {
                "keep one handle of a request, or set its copies to MPI_REQUEST_NULL"
            }
            FaultFinding::Unbuffered { .. } => {
                "post the receives before such sends are waited for, or use MPI_Sendrecv"
            }
            FaultFinding::Collective { .. } => "give all members the same types, counts and operations",
        }
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spot::Here(name) => f.write_str(name),
            Spot::Elsewhere { process, .. } => write!(f, "a place on process {process}"),
        }
    }
}

fn does(touch: Touch) -> &'static str {
    match touch {
        Touch::Reads => "sends from",
        Touch::Writes => "receives into",
    }
}

impl fmt::Display for FaultFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultFinding::Overlap {
                call: ((function, at), touch),
                pending: Some(((other, place), others)),
            } => {
                write!(
                    f,
                    "{function} at {at} {} memory that {other} at {place} {}, which was not complete",
                    does(*touch),
                    does(*others)
                )
            }
            FaultFinding::Overlap { call: ((function, at), touch), pending: None } => {
                write!(
                    f,
                    "{function} at {at} {} memory that another buffer of the same call overlaps",
                    does(*touch)
                )
            }
            FaultFinding::Types { receive: ((function, at), room), send: ((other, place), sent) } => {
                write!(f, "{function} at {at} received as {room} what {other} at {place} had sent as {sent}")
            }
            FaultFinding::Disturbed { operation: ((function, at), touch), freed } => {
                let what = if *freed { "freed" } else { "written" };
                write!(
                    f,
                    "memory that {function} at {at} {} was {what} before the operation was complete",
                    does(*touch)
                )
            }
            FaultFinding::Stale { call: (function, at) } => {
                write!(f, "{function} at {at} was given a request that had been completed before")
            }
            FaultFinding::Unbuffered { send: (function, at), waits } => {
                write!(
                    f,
                    "{function} at {at} completes only because its message is buffered: without buffers \
                     nothing could wake {waits}"
                )
            }
            FaultFinding::Collective { member: ((function, at), room), first: ((_, place), given) }
                if at == place =>
            {
                write!(f, "{function} at {at} took part with {room} where the root, or rank 0, had {given}")
            }
            FaultFinding::Collective { member: ((function, at), room), first: ((other, place), given) } => {
                write!(
                    f,
                    "{function} at {at} took part with {room} where the root, or rank 0, had {given} in \
                     {other} at {place}"
                )
            }
        }
    }
}
