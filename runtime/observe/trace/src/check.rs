//! Checks of the calls of a trace: messages sent and never received, requests that nobody waits for,
//! collectives that differ.
//!
//! Each finding has the rank, the place in the program and which turns of the loops around it it was found
//! in.
//!
//! Loops are not unfolded. An iteration after which the rank's requests are what they were before it does
//! what each of the following will do, so that these are counted and not made. A call's effect depends on its
//! numbers and on requests alone, and a loop's calls have the same numbers in each iteration. So nothing
//! changes any more after an iteration or two, once each of its calls has found what the iteration before has
//! left.

mod effects;
mod requests;

use crate::roles::Roles;
use crate::template::{Field, Peer};
use crate::trace::{Act, Instance, Made, RankCall, RankView, Trace};
use effects::{ChannelTraffic, Effects, Sequence};
use recorder::Class;
use requests::Requests;
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// Identity of a call: its rank, its number among the rank's calls, its call site and its function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct CallIdentity {
    rank: u32,
    number: u64,
    site: u32,
    function: u32,
}

/// A communicator by what all its members know.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Comm {
    World,
    /// `MPI_COMM_SELF` of this rank.
    Own(u32),
    /// Made by the program; both groups of an intercommunicator are one.
    Made(Instance),
}

/// Messages between two ranks: communicator, ranks in it, tag.
type Channel = (Comm, i32, i32, i64);

pub(crate) struct Checker<'a> {
    trace: &'a Trace,
    roles: Vec<Roles>,
    channels: BTreeMap<Channel, ChannelTraffic>,
    collectives: BTreeMap<(Comm, u32), Sequence>,
    findings: Vec<String>,
}

/// Returns what is wrong, a sentence each.
///
/// O(what ranks do folded, once for each rank), for loops whose requests are not what they were after a turn
/// or two O(their calls).
pub fn check(trace: &Trace) -> Vec<String> {
    let roles = trace.templates.iter().map(|template| Roles::of(trace, template)).collect();
    let mut checker = Checker {
        trace,
        roles,
        channels: BTreeMap::new(),
        collectives: BTreeMap::new(),
        findings: Vec::new(),
    };
    for rank in 0..trace.ranks {
        checker.rank(rank);
    }
    checker.unmatched();
    checker.mismatched();
    checker.findings
}

/// A rank on its way through its calls.
struct Rank<'c> {
    checker: &'c Checker<'c>,
    view: &'c RankView<'c>,
    requests: Requests,
    effects: Effects,
    /// Calls up to now.
    number: u64,
}

impl Rank<'_> {
    fn acts(&mut self, acts: &[Act]) {
        for act in acts {
            match act {
                Act::Call(made) => self.call(*made),
                Act::Loop { turns, body } => self.repeat(*turns, body),
            }
        }
    }

    fn call(&mut self, made: Made) {
        let event = self.view.event(made);
        let at = CallIdentity {
            rank: self.view.rank,
            number: self.number,
            site: event.template.site,
            function: event.template.function,
        };
        if event.template.code == 0 {
            self.checker.message(self.view, &event, at, &mut self.effects);
            self.checker.collective(self.view, &event, &mut self.effects);
            self.requests.call(self.checker, self.view, &event, at, &mut self.effects);
        }
        self.number = self.number.saturating_add(1);
    }

    // Requests are looked at after turns 1, 2, 4, 8 and so on: to keep them costs as much as they are many,
    // which a short body may not.
    fn repeat(&mut self, turns: u64, body: &[Act]) {
        let mut done = 0;
        while done < turns {
            done += 1;
            if !done.is_power_of_two() || done == turns {
                self.acts(body);
                continue;
            }
            let (first, before, outside) =
                (self.number, self.requests.clone(), std::mem::take(&mut self.effects));
            self.acts(body);
            let turn = std::mem::replace(&mut self.effects, outside);
            self.effects.add(turn.clone());
            if self.requests.act_like(&before) {
                let later = (self.number - first).saturating_mul(turns - done);
                self.effects.add(turn.repeated(turns - done, later));
                self.requests.make_later(first, later);
                self.number = self.number.saturating_add(later);
                return;
            }
        }
    }
}

impl<'a> Checker<'a> {
    fn rank(&mut self, rank: u32) {
        let view = self.trace.rank(rank);
        let mut calls = Rank {
            checker: self,
            view: &view,
            requests: Requests::default(),
            effects: Effects::default(),
            number: 0,
        };
        calls.acts(view.acts());
        let Rank { requests, effects, .. } = calls;
        // Who sends in a channel is one rank, and who receives is one: what came last on one of them did on
        // all.
        for (channel, messages) in effects.channels {
            self.channels.entry(channel).or_default().add(&messages);
        }
        self.collectives.extend(effects.collectives.into_iter().map(|(comm, calls)| ((comm, rank), calls)));
        requests.end(self);
        let twice: BTreeMap<_, _> = effects.twice.into_iter().collect();
        for times in twice.into_values() {
            self.find(format!("{times} requests are waited for that were not made, or were complete before"));
        }
    }

    pub(crate) fn roles(&self, event: &RankCall) -> &Roles {
        &self.roles[self.trace.calls[event.call() as usize].0 as usize]
    }

    pub(crate) fn name(&self, event: &RankCall) -> &'a str {
        &self.trace.functions[event.template.function as usize].name
    }

    pub(crate) fn place(&self, at: CallIdentity) -> String {
        let function = &self.trace.functions[at.function as usize].name;
        format!("rank {}, call {}, {function} at {}", at.rank, at.number, self.trace.site(at.site))
    }

    pub(crate) fn find(&mut self, what: String) {
        self.findings.push(what);
    }

    /// Returns the communicator of a call, and the rank in it that makes it.
    pub(crate) fn comm(&self, view: &RankView, event: &RankCall) -> Option<(Comm, u32)> {
        let field = self.roles(event).find(event, "comm")?;
        let own = view.position(event).rank;
        match field.field {
            Field::Comm(Some(name)) if self.trace.names[*name as usize] == "MPI_COMM_SELF" => {
                Some((Comm::Own(view.rank), 0))
            }
            Field::Comm(Some(_)) => Some((Comm::World, view.rank)),
            Field::Comm(None) => {
                let number = u32::try_from(field.number()?).ok()?;
                let (one, other, _) = self.trace.comms.instance(view.rank, number)?;
                Some((Comm::Made(one.min(other)), own))
            }
            _ => None,
        }
    }

    fn message(&self, view: &RankView, event: &RankCall, at: CallIdentity, effects: &mut Effects) {
        let name = self.name(event);
        let Some((comm, own)) = self.comm(view, event).filter(|_| !name.ends_with("_init")) else { return };
        let (roles, position) = (self.roles(event), view.position(event));
        let number = |names: [&str; 2]| {
            names.iter().find_map(|name| roles.find(event, name)).and_then(|argument| argument.number())
        };
        let rank = |number: i64| Peer::of(number).rank(position);
        let to = number(["dest", "dest"]).map(rank).filter(|&to| to >= 0).zip(number(["sendtag", "tag"]));
        let from = number(["source", "source"]).map(rank).zip(number(["recvtag", "tag"]));
        let answered = roles
            .find(event, "status")
            .filter(|status| *status.field == Field::Status)
            .map(|status| status.numbers);
        let found = roles.find(event, "flag").is_none_or(|flag| flag.number() == Some(1));
        if let Some((to, tag)) = to {
            effects.sent((comm, own as i32, to, tag), at);
        }
        if let ("MPI_Mprobe" | "MPI_Improbe", Some(status), true) = (name, answered, found) {
            // Nobody else can have it: it will be received.
            return effects.received((comm, rank(status[0]), own as i32, status[1]), at);
        }
        // What is started is received when it is waited for; what is probed otherwise is received later.
        if name.contains("robe") || !name.to_lowercase().contains("recv") || name.starts_with("MPI_I") {
            return;
        }
        if let Some((source, tag)) = from.filter(|(source, _)| *source >= 0 || *source == -1) {
            let (source, tag) = answered.map_or((source, tag), |status| (rank(status[0]), status[1]));
            effects.received((comm, source, own as i32, tag), at);
        }
    }

    fn collective(&self, view: &RankView, event: &RankCall, effects: &mut Effects) {
        let name = self.name(event);
        if !is_collective(name) {
            return;
        }
        let Some((comm, _)) = self.comm(view, event) else { return };
        let root = self.root(view, event).filter(|_| matches!(comm, Comm::World));
        let mut hasher = FxHasher::default();
        (name, root).hash(&mut hasher);
        effects.collective(comm, hasher.finish());
    }

    /// Returns the root of a collective call, however it is told.
    fn root(&self, view: &RankView, event: &RankCall) -> Option<i32> {
        let root = self.roles(event).find(event, "root").and_then(|root| root.number())?;
        Some(Peer::of(root).rank(view.position(event)))
    }

    fn unmatched(&mut self) {
        for ((_, source, to, tag), messages) in std::mem::take(&mut self.channels) {
            let (more, less, last) = match messages.sent.cmp(&messages.received) {
                std::cmp::Ordering::Equal => continue,
                std::cmp::Ordering::Greater => {
                    (messages.sent - messages.received, "sent and not received", messages.last_sent)
                }
                std::cmp::Ordering::Less => {
                    (messages.received - messages.sent, "received and not sent", messages.last_received)
                }
            };
            let last = last.map(|at| self.place(at)).unwrap_or_default();
            self.find(format!(
                "messages from {source} to {to} with tag {tag}: {more} {less}; the last is {last}"
            ));
        }
    }

    fn mismatched(&mut self) {
        let mut first: FxHashMap<Comm, (u32, Sequence)> = FxHashMap::default();
        for ((comm, rank), calls) in std::mem::take(&mut self.collectives) {
            let (other, known) = *first.entry(comm).or_insert((rank, calls));
            if known != calls {
                let found = self.first_difference(comm, other, rank);
                self.find(found);
            }
        }
    }

    /// Returns the first collective call of a communicator in which two ranks differ; O(calls up to that
    /// one).
    fn first_difference(&self, comm: Comm, one: u32, other: u32) -> String {
        let views = [one, other].map(|rank| self.trace.rank(rank));
        let [mut a, mut b] = [0, 1].map(|which| self.collectives_of(&views[which], comm));
        let mut place = 0u64;
        let (a, b) = loop {
            let (a, b) = (a.next(), b.next());
            let what = |call: &Option<Told<'a>>| call.map(|(name, root, _)| (name, root));
            if what(&a) != what(&b) || a.is_none() {
                break (a, b);
            }
            place += 1;
        };
        let shown = |call: Option<Told>, rank: u32| match call {
            Some((_, root, at)) => {
                let root = root.map(|root| format!(" with root {root}")).unwrap_or_default();
                format!("{}{root}", self.place(at))
            }
            None => format!("rank {rank}, which makes {place} in all"),
        };
        format!("collective {place} of a communicator differs: {}; {}", shown(a, one), shown(b, other))
    }

    /// Returns the collective calls of a rank in a communicator.
    fn collectives_of<'v>(
        &'v self,
        view: &'v RankView<'a>,
        comm: Comm,
    ) -> impl Iterator<Item = Told<'a>> + use<'v, 'a> {
        (0..).zip(view.calls()).filter_map(move |(number, event)| {
            let name = self.name(&event);
            let is_of = event.template.code == 0
                && is_collective(name)
                && self.comm(view, &event).is_some_and(|(of, _)| of == comm);
            let root = self.root(view, &event);
            let at = CallIdentity {
                rank: view.rank,
                number,
                site: event.template.site,
                function: event.template.function,
            };
            is_of.then_some((name, root, at))
        })
    }
}

/// A collective call: its function, its root and where it was.
type Told<'a> = (&'a str, Option<i32>, CallIdentity);

/// Returns `true` if all members of a communicator make the call.
fn is_collective(name: &str) -> bool {
    const NAMES: [&str; 21] = [
        "barrier",
        "bcast",
        "gather",
        "scatter",
        "allgather",
        "alltoall",
        "reduce",
        "allreduce",
        "scan",
        "exscan",
        "reduce_scatter",
        "comm_dup",
        "comm_split",
        "comm_create",
        "cart_create",
        "cart_sub",
        "graph_create",
        "dist_graph",
        "neighbor_",
        "comm_idup",
        "intercomm_merge",
    ];
    let name = name.trim_start_matches("MPI_").to_lowercase();
    let name = name
        .strip_prefix('i')
        .filter(|rest| !name.starts_with("intercomm") && !rest.is_empty())
        .unwrap_or(&name);
    let local = name.ends_with("_local")
        || name.ends_with("_init")
        || name.starts_with("comm_create_") && !name.starts_with("comm_create_group");
    !local && !name.starts_with("comm_create_group") && NAMES.iter().any(|known| name.starts_with(known))
}

/// Returns `true` if a field lists requests.
pub(crate) fn is_requests(field: &Field) -> bool {
    match field {
        Field::Handle(class, _) => *class == Class::Request,
        Field::List(runs) => runs.iter().all(|(_, field)| is_requests(field)),
        _ => false,
    }
}
