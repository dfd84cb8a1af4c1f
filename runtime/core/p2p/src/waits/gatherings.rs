//! When the members of each blocking collective call entered it. Where they are on several processes, that of
//! the first member brings together what each has seen, and tells all. So it is known however the call itself
//! gets along.

use crate::peers::Peers;
use crate::ranks::Ranks;
use crate::remote::Remote;
use crate::remote::record::{Put, Take};
use crate::remote::stream::Kind;
use crate::types::members::REFERENCE;
use crate::waits::Waits;
use crate::watch::Watch;
use engine::Time;
use objects::comm::Comm;
use recorder::waiting::{CollectiveEntry, Entries, WaitRule};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// First byte of a record: the entries that one process has seen, or those of the whole call.
const PART: u8 = 0;
const WHOLE: u8 = 1;
/// Bytes of a record.
const RECORD: usize = 1 + 2 * 4 + 3 * 12;

/// Distribution of a communicator's members over processes.
pub(crate) struct Members {
    /// Number of members in this process.
    pub here: u32,
    /// Processes that have any, in order; nobody else's if this is one run.
    pub processes: Vec<u32>,
    lead: u32,
}

/// Collective calls that not all members have entered.
#[derive(Default)]
pub(super) struct Gatherings {
    /// By context.
    members: FxHashMap<u32, Members>,
    /// Calls so far, by context and member.
    // Rows and not a table by rank and context: a million members of a communicator are 4 MB.
    calls: FxHashMap<u32, Vec<u32>>,
    /// Members or, on the first one's process, processes that have entered, and when.
    open: FxHashMap<(u32, u32), (u32, Entries)>,
    told: FxHashMap<(u32, u32), (u32, Entries)>,
    complete: Vec<((u32, u32), Entries)>,
}

/// Counts one more part: all of it, once there are `of` parts.
// At most one entry a call under way: the parts are added up as they come, since only the first, the last and
// the root matter.
fn together(
    open: &mut FxHashMap<(u32, u32), (u32, Entries)>,
    id: (u32, u32),
    entries: &Entries,
    of: Option<u32>,
) -> Option<Entries> {
    let (count, all) = open.entry(id).or_insert((0, Entries::NONE));
    *count += 1;
    *all = all.with(entries);
    let (count, all) = (*count, *all);
    if Some(count) == of {
        open.remove(&id);
        return Some(all);
    }
    None
}

impl Gatherings {
    pub(super) fn has_complete(&self) -> bool {
        !self.complete.is_empty()
    }

    pub(super) fn take(&mut self) -> Vec<((u32, u32), Entries)> {
        std::mem::take(&mut self.complete)
    }

    /// A process has told its part: the whole and who is to be told of it, if this was the last one.
    fn part(&mut self, id: (u32, u32), entries: &Entries) -> Option<(Entries, Vec<u32>)> {
        // Until a member of this process has entered, parts are missing.
        let members = self.members.get(&id.0);
        let whole =
            together(&mut self.told, id, entries, members.map(|members| members.processes.len() as u32))?;
        members.map(|members| (whole, members.processes.clone()))
    }
}

impl Watch {
    /// The mounted rank enters a blocking collective of `comm` at `at`; `None` if it has nobody to wait for,
    /// or if nobody wants to know.
    pub fn enter_gathering(
        &mut self,
        (me, peers): (u32, &mut Peers),
        comm: &Comm,
        (rule, root): (WaitRule, i32),
        at: Time,
    ) -> Option<CollectiveEntry> {
        if self.waits.is_none() || comm.is_inter() || comm.size() < 2 {
            return None;
        }
        let (context, member) = (comm.context, comm.rank(me));
        let is_root = member as i32 == root;
        let Waits { own, gatherings, .. } = &mut **self.waits.as_mut()?;
        let of_comm = gatherings.members.entry(context).or_insert_with(|| members(comm, own, peers.remote()));
        let (here, alone, lead) = (of_comm.here, of_comm.processes.len() == 1, of_comm.lead);
        let (calls, member) = (gatherings.calls.entry(context).or_default(), member as usize);
        if calls.len() <= member {
            calls.resize(member + 1, 0);
        }
        let id = (context, calls[member]);
        calls[member] += 1;
        if let Some(all) = together(&mut gatherings.open, id, &Entries::of(me, at, is_root), Some(here)) {
            if alone {
                gatherings.complete.push((id, all));
            } else {
                self.send_part(peers, lead, id, &all);
            }
        }
        Some(CollectiveEntry { id, members: here, rule, is_root })
    }

    fn send_part(&mut self, peers: &mut Peers, lead: u32, id: (u32, u32), entries: &Entries) {
        if lead == peers.others().me {
            self.part_arrived(peers, id, entries);
        } else {
            send_entries(peers, lead, PART, id, entries);
        }
    }

    fn part_arrived(&mut self, peers: &mut Peers, id: (u32, u32), entries: &Entries) {
        let Some(waits) = &mut self.waits else { return };
        let Some((whole, processes)) = waits.gatherings.part(id, entries) else { return };
        waits.gatherings.complete.push((id, whole));
        let me = peers.others().me;
        for process in processes.into_iter().filter(|&process| process != me) {
            send_entries(peers, process, WHOLE, id, &whole);
        }
    }

    /// Another process tells of a collective call.
    pub(crate) fn entries_arrived(&mut self, (ranks, peers): (&Ranks, &mut Peers), mut record: Take) {
        let what = record.u8();
        let id = (record.u32(), record.u32());
        if what == REFERENCE {
            return self.reference_arrived((ranks, peers), id, &mut record);
        }
        let mut one = || (Time::from_ps(record.u64()), record.u32());
        let entries = Entries { last: one(), root: one(), first: one() };
        match (what, &mut self.waits) {
            (PART, _) => self.part_arrived(peers, id, &entries),
            (_, Some(waits)) => waits.gatherings.complete.push((id, entries)),
            (_, None) => {}
        }
    }
}

fn send_entries(peers: &mut Peers, process: u32, what: u8, id: (u32, u32), entries: &Entries) {
    let streams = &mut peers.others().streams;
    // No rank acts because of it.
    let out = streams.begin(process, Kind::Entries, Time::MAX, RECORD);
    out.u8(what);
    out.u32(id.0);
    out.u32(id.1);
    for (at, rank) in [entries.last, entries.root, entries.first] {
        out.u64(at.as_ps());
        out.u32(rank);
    }
    streams.end();
}

/// Returns where the members of a communicator are.
pub(crate) fn members(comm: &Comm, own: &Range<u32>, remote: Option<&Remote>) -> Members {
    let here = comm.group.members_between(own.start, own.end - own.start);
    let Some(remote) = remote.filter(|_| here < comm.size()) else {
        return Members { here, processes: vec![0], lead: 0 };
    };
    let blocks = &remote.blocks;
    let processes = blocks.with_members(&comm.group).collect();
    Members { here, processes, lead: blocks.process(comm.group.world_rank(0)) }
}
