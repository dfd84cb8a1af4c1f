//! Calls as profiles are told of them: no values, only which call it was, when, and what it waited for
//! (`Recorder::returned`).

use super::ArgumentRegisters;
use super::host::{self, SimulatedMpi};
use crate::constants::{MPI_IN_PLACE, MPI_PROC_NULL, MPI_ROOT};
use crate::function::Function;
use call_recording::Host;
use call_recording::level::NestingLevel;
use call_recording::parameter::Length;
use engine::{Span, Time};
use mpi::Objects;
use mpi::messages::Messages;
use mpi::waits::{Covered, FoundOut};
use mpi::world::{Phase, World};
use recorder::Recorder;
use recorder::contribution::Giver;
use recorder::waiting::{CollectiveEntry, Returned, WaitRule};
use smallvec::SmallVec;
use std::ops::Range;

/// The origin of a call: its site, its chain of callers, its time and its level.
#[derive(Clone, Copy)]
pub struct CallOrigin {
    /// The number of its site; 0 if nobody asked.
    pub site: u32,
    /// The number of its chain of callers; 0 if nobody asked.
    pub chain: u32,
    /// The rank's clock on entry.
    pub entered: Time,
    /// Within how many callbacks it is made.
    pub level: NestingLevel,
}

/// A call that has not returned.
struct NestedCall {
    function: Function,
    level: NestingLevel,
    origin: CallOrigin,
    /// Time that the rank had waited before the call.
    waited: Span,
    bytes: u64,
    gathering: Option<CollectiveEntry>,
    /// The findings about the call that it is made within.
    covers: Option<Box<Covered>>,
}

/// A rank's calls under way, of which one is made within the other by functions of the program that MPI
/// calls.
#[derive(Default)]
struct NestedCalls {
    open: SmallVec<[NestedCall; 1]>,
    /// When its last call returned.
    left: Time,
}

/// The calls under way of a process's ranks.
pub struct ProcessCalls {
    first: u32,
    callers: Vec<NestedCalls>,
}

impl ProcessCalls {
    /// Makes the table of these ranks, which are in no call.
    pub fn of(own: Range<u32>) -> ProcessCalls {
        ProcessCalls { first: own.start, callers: own.map(|_| NestedCalls::default()).collect() }
    }

    /// The mounted rank begins a call that sends so many bytes: when it had returned from the one before, if
    /// that was not within another.
    pub fn open(
        &mut self,
        world: &mut World,
        function: Function,
        words: &ArgumentRegisters,
        origin: CallOrigin,
        bytes: u64,
    ) -> Option<Time> {
        let me = world.messages.me();
        let caller = &mut self.callers[(me - self.first) as usize];
        let before = caller.open.is_empty().then_some(caller.left);
        let gathering = rule(function).and_then(|rule| {
            let comm = world.objects.comms.get(words.members(&world.objects)?).ok()?;
            world.messages.watching().enter_gathering(comm, rule, words.root(), origin.entered)
        });
        let covers = match caller.open.is_empty() {
            true => {
                world.messages.watch_mut().begin_call(me);
                None
            }
            false => world.messages.watch_mut().begin_call_within(me),
        };
        let waited = waited(&world.messages, me);
        caller.open.push(NestedCall {
            function,
            level: origin.level,
            origin,
            waited,
            bytes,
            gathering,
            covers,
        });
        before
    }

    /// Returns `true` if a rank has calls that are left where a call is made at this level.
    #[inline]
    pub fn leaves(&self, rank: u32, level: NestingLevel) -> bool {
        self.callers[(rank - self.first) as usize].open.iter().any(|open| open.level.is_left_by(level))
    }

    /// Ends the calls of the mounted rank at this level and deeper, which it has left without a return: at
    /// its clock.
    pub fn leave(&mut self, world: &mut World, recorders: &mut [Box<dyn Recorder>], level: NestingLevel) {
        let me = (world.messages.me() - self.first) as usize;
        while let Some(at) = self.callers[me].open.iter().rposition(|open| open.level.is_left_by(level)) {
            self.close_at(world, recorders, at);
        }
    }

    /// Ends the mounted rank's call at this level, which has returned.
    pub fn close(&mut self, world: &mut World, recorders: &mut [Box<dyn Recorder>], level: NestingLevel) {
        let me = (world.messages.me() - self.first) as usize;
        if let Some(at) = self.callers[me].open.iter().rposition(|open| open.level == level) {
            self.close_at(world, recorders, at);
        }
    }

    fn close_at(&mut self, world: &mut World, recorders: &mut [Box<dyn Recorder>], at: usize) {
        let me = world.messages.me();
        let caller = &mut self.callers[(me - self.first) as usize];
        let mut open = caller.open.remove(at);
        let covers = open.covers.take();
        let inner = !caller.open.is_empty();
        caller.left = world.messages.clock(me);
        if let Some(messages) = world.messages.watch_mut().take_received(me) {
            messages
                .for_each(|message| recorders.iter_mut().for_each(|recorder| recorder.received(&message)));
        }
        let FoundOut { cause, oldest, collective } =
            world.messages.watch().found_out(me, open.origin.entered).unwrap_or_default();
        let call = Returned { cause, oldest, collective, ..open.told(&world.messages, me, inner) };
        recorders.iter_mut().for_each(|recorder| recorder.returned(&call));
        if let Some(covered) = covers {
            world.messages.watch_mut().end_call_within(me, *covered);
        }
        if let Some(outer) = self.callers[(me - self.first) as usize].open.last() {
            world.messages.watch_mut().call_from(outer.origin.site);
        }
    }
}

impl NestedCall {
    /// Returns what the rank's call did up to its clock.
    fn told(&self, messages: &Messages, rank: u32, inner: bool) -> Returned {
        let left = messages.clock(rank);
        Returned {
            rank,
            function: self.function as u16,
            name: self.function.name(),
            site: self.origin.site,
            chain: self.origin.chain,
            inner,
            entered: self.origin.entered,
            left,
            wait: (waited(messages, rank) - self.waited).min(left.since(self.origin.entered)),
            bytes: self.bytes,
            cause: None,
            oldest: None,
            gathering: self.gathering,
            collective: 0,
        }
    }
}

impl ProcessCalls {
    /// Ends all calls with the run: with one rank a process it ends within `MPI_Finalize`, which has done its
    /// work. Other calls that have not returned are reported as they are: those of a deadlock, or of an
    /// abort.
    pub fn end(&mut self, world: &mut World, recorders: &mut [Box<dyn Recorder>]) {
        let me = world.messages.me();
        let caller = self.callers.get(me.wrapping_sub(self.first) as usize);
        let last =
            caller.and_then(|caller| caller.open.last()).filter(|open| open.function == Function::Finalize);
        if let Some(level) =
            last.map(|open| open.level).filter(|_| world.messages.ranks()[me].phase != Phase::Active)
        {
            self.close(world, recorders, level);
        }
        for (rank, caller) in (self.first..).zip(std::mem::take(&mut self.callers)) {
            for (depth, open) in caller.open.iter().enumerate() {
                for message in world.messages.watch_mut().take_received(rank).into_iter().flatten() {
                    recorders.iter_mut().for_each(|recorder| recorder.received(&message));
                }
                let call = open.told(&world.messages, rank, depth > 0);
                recorders.iter_mut().for_each(|recorder| recorder.unreturned(&call));
            }
            let clock = world.messages.clock(rank);
            recorders.iter_mut().for_each(|recorder| recorder.finished(rank, clock));
        }
    }
}

fn waited(messages: &Messages, rank: u32) -> Span {
    messages.ranks().profile().waited(rank)
}

/// Returns who waits for whom in a function.
fn rule(function: Function) -> Option<WaitRule> {
    match function {
        Function::Barrier => Some(WaitRule::Barrier),
        Function::Win_fence => Some(WaitRule::Fence),
        Function::Allreduce
        | Function::Allgather
        | Function::Allgatherv
        | Function::Alltoall
        | Function::Alltoallv
        | Function::Alltoallw
        | Function::Reduce_scatter
        | Function::Reduce_scatter_block => Some(WaitRule::All),
        Function::Bcast | Function::Scatter | Function::Scatterv => Some(WaitRule::FromRoot),
        Function::Reduce | Function::Gather | Function::Gatherv => Some(WaitRule::ToRoot),
        _ => None,
    }
}

/// Facts about a call of a program, for profiles.
pub trait CallVolume {
    /// Returns the communicator of those who wait for each other: that of the call, or of its window.
    fn members(&self, objects: &Objects) -> Option<usize>;

    /// Returns the root that the call names; a rank of nobody where there is none.
    fn root(&self) -> i32;

    /// Returns the bytes that counts and datatypes say the call sends; 0 where they are wrong. The world must
    /// not be borrowed.
    fn sent_bytes(&self) -> u64;
}

impl CallVolume for ArgumentRegisters {
    fn members(&self, objects: &Objects) -> Option<usize> {
        self.comm().or_else(|| {
            Some(objects.wins.get(&objects.comms, self.object_handle(self.plan.window?)).ok()?.comm)
        })
    }

    fn root(&self) -> i32 {
        self.plan.root.map_or(-1, |root| self.scalar(root) as i32)
    }

    // Arrays are as long as the one table of lengths says (`ArgumentRegisters::count`), which looks at the
    // communicator.
    fn sent_bytes(&self) -> u64 {
        let Some(sent) = self.plan.sent else { return 0 };
        let is_in_place = sent.buffer.is_some_and(|buffer| self.buffer_at(buffer) == MPI_IN_PLACE);
        let comm = self.comm().unwrap_or_default();
        let gives = match sent.giver {
            Giver::All => true,
            Giver::Sender => sent.dest.is_none_or(|dest| self.scalar(dest) != i64::from(MPI_PROC_NULL)),
            Giver::Root => self.is_root(comm),
            Giver::ToRoot => !matches!(self.root(), MPI_ROOT | MPI_PROC_NULL),
        };
        if !gives {
            return 0;
        }
        let (count, datatype) = if is_in_place { sent.in_place } else { sent.sent };
        if has_one(self, count) {
            return elements(self.scalar(count)).saturating_mul(host::size(self.object_handle(datatype)));
        }
        let is_constant = |index: usize| !has_one(self, index) && self.word(index) < 4096;
        if is_constant(count) || is_constant(datatype) {
            return 0;
        }
        let blocks = self.count(count).unwrap_or(0);
        let own = SimulatedMpi::membership(comm).map_or(0, |comm| comm.rank as usize);
        let counted = if is_in_place && sent.own_block { own..(own + 1).min(blocks) } else { 0..blocks };
        let counts =
            counted.map(|k| (k, elements(self.number(count, k)))).filter(|&(_, elements)| elements > 0);
        if has_one(self, datatype) {
            let size = host::size(self.object_handle(datatype));
            return counts.fold(0, |sum, (_, elements)| sum.saturating_add(elements.saturating_mul(size)));
        }
        counts.fold(0, |sum, (k, elements)| {
            sum.saturating_add(elements.saturating_mul(host::size(self.handle(datatype, k))))
        })
    }
}

/// Returns `true` if the parameter is no array.
fn has_one(call: &ArgumentRegisters, index: usize) -> bool {
    call.parameter(index).length == Length::One
}

/// Returns a count, of which a negative one is none.
fn elements(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}
