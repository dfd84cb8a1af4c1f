//! Recorders' view of the calls of ranks without a program: which call it was, when, and what it waited for
//! ([`Recorder::returned`]). Recorders that want arguments hear nothing: there are none.

use crate::call::{Call, Collective};
use engine::{Span, Time};
use mpi::remote::block::Block;
use mpi::request::ROOT;
use mpi::schedule::{Blocks, Kind};
use mpi::waits::FoundOut;
use mpi::{Mpi, World};
use recorder::waiting::{CollectiveEntry, Returned, WaitRule};
use recorder::{CallProfile, CriticalPath, Recorder};

/// A call that has not returned.
#[derive(Clone, Copy)]
struct Open {
    call: Made,
    /// The time that the rank had waited in all before the call.
    waited: Span,
    bytes: u64,
    gathering: Option<CollectiveEntry>,
}

/// A call's function, call site and time of entry.
#[derive(Clone, Copy)]
pub(super) struct Made {
    pub function: u16,
    pub name: &'static str,
    pub site: u32,
    pub entered: Time,
}

/// Results of the recorders.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The profile: time by call site and function.
    pub profile: Option<CallProfile>,
    /// The critical path: the calls and messages that determine the run's time.
    pub critical_path: Option<CriticalPath>,
    /// The reason why something of it could not be written or read: a sentence.
    pub failed: Option<String>,
}

/// Recorders, and the calls under way of this process's ranks.
pub(super) struct Listening {
    recorders: Vec<Box<dyn Recorder>>,
    open: Block<Option<Open>>,
    /// The time at which the last call of each returned.
    left: Block<Time>,
    /// Sites that recorders know, by number.
    known: Vec<bool>,
}

impl Listening {
    /// Prepares recorders for this process's ranks of a run that has not begun. Follows waits, and messages
    /// of the ranks for which a recorder wants them.
    pub(super) fn new(world: &mut World, recorders: Vec<Box<dyn Recorder>>) -> Listening {
        let (first, local) = (world.messages.ranks().first(), world.messages.ranks().local());
        world.messages.watching().follow_waits();
        if recorders.iter().any(|recorder| recorder.wants_messages()) {
            let wants =
                |rank| recorders.iter().any(|recorder| recorder.wants_messages() && recorder.wants(rank));
            world.messages.watch_mut().follow_messages(wants);
        }
        Listening {
            recorders,
            open: Block::new(first, local),
            left: Block::new(first, local),
            known: Vec::new(),
        }
    }

    /// Notes that a call is about to be made at this site, and its name.
    pub(super) fn site(&mut self, number: u32, name: impl FnOnce() -> String) {
        let at = number as usize;
        if self.known.len() <= at {
            self.known.resize(at + 1, false);
        }
        if !std::mem::replace(&mut self.known[at], true) {
            let name = name();
            self.recorders.iter_mut().for_each(|recorder| recorder.named_site(number, &name));
        }
    }

    /// Notes the call that the mounted rank has entered, and reports what it computed before; `comm` is the
    /// communicator's handle, of a collective.
    pub(super) fn entered(&mut self, world: &mut World, call: &Call, comm: Option<usize>, made: Made) {
        let me = world.messages.me();
        let left = self.left[me as usize];
        if made.entered > left {
            self.recorders
                .iter_mut()
                .for_each(|recorder| recorder.computed(me, left, made.entered.since(left)));
        }
        let comm = comm.and_then(|comm| world.objects.comms.get(comm).ok());
        // A root between groups is named by no rank.
        let own = comm.map(|comm| if comm.is_inter() { ROOT } else { comm.rank(me) as i32 });
        let bytes = sent(call, own);
        let gathering = match (call, comm) {
            (Call::Collective(collective), Some(comm)) if !comm.is_inter() => {
                rule(collective.kind).and_then(|rule| {
                    world.messages.watching().enter_gathering(
                        comm,
                        rule,
                        collective.root.unwrap_or(-1),
                        made.entered,
                    )
                })
            }
            _ => None,
        };
        let me = world.messages.me();
        world.messages.watch_mut().begin_call(me);
        let waited = world.messages.ranks().profile().rank(me).wait;
        self.open[me as usize] = Some(Open { call: made, waited, bytes, gathering });
    }

    /// Reports the mounted rank's call, which has returned.
    pub(super) fn returned(&mut self, world: &mut World) {
        let me = world.messages.me();
        let Some(open) = self.open[me as usize].take() else { return };
        self.left[me as usize] = world.messages.clock(me);
        self.tell_received(world, me);
        let FoundOut { cause, oldest, collective } =
            world.messages.watch().found_out(world.messages.me(), open.call.entered).unwrap_or_default();
        let call = Returned { cause, oldest, collective, ..open.told(world, me) };
        self.recorders.iter_mut().for_each(|recorder| recorder.returned(&call));
        self.tell_gathered(world);
    }

    fn tell_received(&mut self, world: &mut World, rank: u32) {
        for message in world.messages.watch_mut().take_received(rank).into_iter().flatten() {
            self.recorders.iter_mut().for_each(|recorder| recorder.received(&message));
        }
    }

    fn tell_gathered(&mut self, world: &mut World) {
        for (id, entries) in world.messages.watch_mut().gathered() {
            self.recorders.iter_mut().for_each(|recorder| recorder.gathered(id, &entries));
        }
    }

    /// Ends the run, on all processes. Returns what they have found, on process 0.
    pub(super) fn end(mut self, mpi: &Mpi) -> Found {
        self.tell_ends(&mut mpi.world());
        let ended: Vec<_> = self.recorders.iter_mut().map(|recorder| recorder.end()).collect();
        let mut found = Found::default();
        for (recorder, ended) in self.recorders.iter_mut().zip(ended) {
            found.failed = found.failed.or(ended.err());
            // Who has others' parts puts them together; what cannot be written is known there.
            let Some(parts) = mpi.gather_bytes(recorder.part()) else { continue };
            found.failed = found.failed.or(recorder.merge(parts).err());
            found.profile =
                found.profile.or_else(|| recorder.profile().map(|profile| mpi.world().complete(profile)));
            found.critical_path = found.critical_path.or_else(|| recorder.critical_path());
        }
        found
    }

    /// Tells of the calls that have not returned, and when each rank ended.
    fn tell_ends(&mut self, world: &mut World) {
        for rank in world.messages.ranks().own() {
            if let Some(open) = self.open[rank as usize].take() {
                self.tell_received(world, rank);
                let call = open.told(world, rank);
                self.recorders.iter_mut().for_each(|recorder| recorder.unreturned(&call));
            }
            let clock = world.messages.clock(rank);
            self.recorders.iter_mut().for_each(|recorder| recorder.finished(rank, clock));
        }
        self.tell_gathered(world);
        let kinds = world.chapters.collectives.kinds();
        self.recorders.iter_mut().for_each(|recorder| recorder.collectives(&kinds));
        if let Some(traffic) = world.messages.watch().traffic() {
            self.recorders.iter_mut().for_each(|recorder| recorder.traffic(traffic));
        }
    }
}

impl Open {
    /// Returns what the rank's call did up to its clock.
    fn told(&self, world: &World, rank: u32) -> Returned {
        let left = world.messages.clock(rank);
        let Made { function, name, site, entered } = self.call;
        Returned {
            rank,
            function,
            name,
            site,
            chain: 0,
            inner: false,
            entered,
            left,
            wait: (world.messages.ranks().profile().rank(rank).wait - self.waited).min(left.since(entered)),
            bytes: self.bytes,
            cause: None,
            oldest: None,
            gathering: self.gathering,
            collective: 0,
        }
    }
}

/// Returns who waits for whom in a collective.
fn rule(kind: Kind) -> Option<WaitRule> {
    match kind {
        Kind::Barrier => Some(WaitRule::Barrier),
        Kind::Allreduce | Kind::Allgather | Kind::Alltoall | Kind::ReduceScatter => Some(WaitRule::All),
        Kind::Bcast | Kind::Scatter => Some(WaitRule::FromRoot),
        Kind::Reduce | Kind::Gather => Some(WaitRule::ToRoot),
        _ => None,
    }
}

/// Returns the bytes that a call says it sends, made by the rank that a root is named by. As of a
/// program's calls, those of a broadcast and a scatter count at the root (`recorder::contribution`).
fn sent(call: &Call, own: Option<i32>) -> u64 {
    let is_elsewhere = |collective: &Collective| {
        matches!(collective.kind, Kind::Bcast | Kind::Scatter) && collective.root != own
    };
    let of = |collective: &Collective| match &collective.blocks {
        _ if is_elsewhere(collective) => 0,
        Some((Blocks::Each(begins), _)) => begins.last().copied().unwrap_or(0),
        Some((Blocks::Uniform(bytes) | Blocks::Same(bytes), _)) => *bytes,
        None => collective.bytes,
    };
    match call {
        Call::Send(_, envelope) | Call::Isend(_, envelope, _) => envelope.bytes,
        Call::SendReceive(exchange) | Call::IsendReceive(exchange, _) => exchange.to.bytes,
        Call::Collective(collective) | Call::Icollective(collective, _) => of(collective),
        _ => 0,
    }
}
