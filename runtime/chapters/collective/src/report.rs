//! Collectives in a deadlock's report: how many members have entered, who is missing.

use crate::instance::{CollectiveInstance, Collectives};
use crate::membership::member_rank;
use crate::remote::spread::{Ident, is_spread};
use engine::record::{Put, Take};
use objects::Objects;
use objects::comm::Comms;
use p2p::Messages;
use p2p::chapter::{Explanation, Wait, ranks_text};
use rustc_hash::FxHashMap;

/// Maximum number of missing members that are named for a collective.
const MISSING: usize = 8;

/// A collective with members on several processes that not all have entered.
#[derive(Default)]
struct IncompleteCollective {
    comm: String,
    size: u32,
    arrived: u32,
    missing: Vec<u32>,
    /// Some members on each other process, who are missing if it knows nothing of the collective.
    // A process that knows nothing of a call cannot name its members as missing: those who know of the call
    // name them for it.
    elsewhere: Vec<(u32, u32)>,
    /// Processes that know of it.
    known: Vec<u32>,
}

fn name_of(ident: Ident) -> Vec<u8> {
    let mut name = Vec::new();
    ident.put(&mut name);
    name
}

/// Returns what a rank waits for that is blocked in this instance.
pub(crate) fn wait_for(instance: &CollectiveInstance, objects: &Objects) -> Wait {
    let (_, arrived, size) = instance.describe();
    let comm = objects.comms.describe(Comms::handle(instance.comm()));
    let missing: Vec<u32> = instance.missing().take(MISSING + 1).collect();
    Wait { text: entered(&comm, arrived, size, &missing), name: instance.ident.map(name_of) }
}

fn entered(comm: &str, arrived: u32, size: u32, missing: &[u32]) -> String {
    if arrived == size {
        return format!("{comm}, all {size} members entered");
    }
    let names: Vec<String> = missing.iter().take(MISSING).map(u32::to_string).collect();
    format!(
        "{comm}, {arrived} of {size} members entered; missing {}{}",
        names.join(", "),
        if (size - arrived) as usize > names.len() { ", ..." } else { "" }
    )
}

/// Returns what this process tells the others.
pub(crate) fn open(collectives: &Collectives, messages: &Messages, objects: &Objects) -> Vec<u8> {
    let mut out = Vec::new();
    for instance in collectives.instances() {
        if let Some(ident) = instance.ident {
            out.u8(1);
            out.bytes(&name_of(ident));
            open_of(instance, messages, objects).put(&mut out);
        }
    }
    out.u8(0);
    // Members elsewhere may wait for what all of this process were refused.
    for (comm, calls) in collectives.calls.refused() {
        let ranks: Vec<u32> = calls.refused_ranks().into_iter().collect();
        if !ranks.is_empty() && objects.comms.alive(comm).is_some_and(|comm| is_spread(messages, comm)) {
            out.u8(1);
            out.bytes(objects.comms.describe(Comms::handle(comm)).as_bytes());
            out.bytes(ranks_text(&ranks).as_bytes());
        }
    }
    out.u8(0);
    out
}

fn open_of(instance: &CollectiveInstance, messages: &Messages, objects: &Objects) -> IncompleteCollective {
    let (_, arrived, size) = instance.describe();
    let world_rank = |member| member_rank(objects, &instance.place, member, u32::MAX);
    let missing = instance.missing().filter(|&member| messages.ranks().is_local(world_rank(member)));
    let missing = missing.take(MISSING + 1).collect();
    let comm = objects.comms.describe(Comms::handle(instance.comm()));
    let remote = messages.peers().remote().expect("it has members on other processes");
    let mut named = vec![0; remote.blocks.processes() as usize];
    let mut elsewhere = Vec::new();
    for member in 0..size {
        let process = remote.blocks.process(world_rank(member));
        named[process as usize] += 1;
        if process != remote.me && named[process as usize] <= MISSING + 1 {
            elsewhere.push((process, member));
        }
    }
    IncompleteCollective { comm, size, arrived, missing, elsewhere, known: vec![remote.me] }
}

impl IncompleteCollective {
    fn put(&self, out: &mut Vec<u8>) {
        out.bytes(self.comm.as_bytes());
        out.u32(self.size);
        out.u32(self.arrived);
        out.u32(self.missing.len() as u32);
        self.missing.iter().for_each(|&member| out.u32(member));
        out.u32(self.elsewhere.len() as u32);
        for &(process, member) in &self.elsewhere {
            out.u32(process);
            out.u32(member);
        }
        out.u32(self.known[0]);
    }
    /// Adds what the next process wrote.
    fn add(&mut self, from: &mut Take) {
        (self.comm, self.size) = (text(from), from.u32());
        self.arrived += from.u32();
        let missing = from.u32();
        self.missing.extend((0..missing).map(|_| from.u32()));
        let elsewhere = from.u32();
        self.elsewhere = (0..elsewhere).map(|_| (from.u32(), from.u32())).collect();
        self.known.push(from.u32());
    }
    fn text(mut self) -> String {
        let absent = self.elsewhere.iter().filter(|(process, _)| !self.known.contains(process));
        self.missing.extend(absent.map(|(_, member)| member));
        self.missing.sort_unstable();
        entered(&self.comm, self.arrived, self.size, &self.missing)
    }
}

fn text(from: &mut Take) -> String {
    String::from_utf8_lossy(from.bytes()).into_owned()
}

/// Returns what all processes told, together.
// Added up by name, in the order of processes: each tells only what it has seen, and together that is what
// one process would say.
pub(crate) fn explain(told: &[Vec<u8>]) -> Explanation {
    let (mut open, mut notes) = (FxHashMap::<Vec<u8>, IncompleteCollective>::default(), Vec::new());
    for record in told {
        let mut from = Take(record);
        while from.u8() != 0 {
            let name = from.bytes().to_vec();
            open.entry(name).or_default().add(&mut from);
        }
        while from.u8() != 0 {
            let (comm, ranks) = (text(&mut from), text(&mut from));
            notes.push(format!(
                "a collective on {comm} was refused to {ranks} before: others may wait for it"
            ));
        }
    }
    Explanation { waits: open.into_iter().map(|(name, open)| (name, open.text())).collect(), notes }
}
