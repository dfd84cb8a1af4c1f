//! What profiles are told of calls: no values, only which call it was, when, and what it waited for (`Recorder::returned`).

use super::arguments::Words;
use super::parameter::{Form, Length};
use crate::function::Function;
use engine::{Span, Time};
use mpi::Objects;
use mpi::messages::Messages;
use mpi::waits::FoundOut;
use mpi::world::{Phase, World};
use observe::Recorder;
use observe::waiting::{Gathering, Returned, Rule};
use smallvec::SmallVec;
use std::ops::Range;

/// Where and when a call is made.
#[derive(Clone, Copy)]
pub struct Origin {
    /// The number of its site; 0 if nobody asked.
    pub site: u32,
    /// The number of its chain of callers; 0 if nobody asked.
    pub chain: u32,
    /// The rank's clock on entry.
    pub entered: Time,
}

/// A call that has not returned.
struct Open {
    function: Function,
    /// Where its words are on the stack.
    frame: usize,
    origin: Origin,
    /// How long the rank had waited before.
    waited: Span,
    bytes: u64,
    gathering: Option<Gathering>,
}

/// A rank's calls under way, of which one is made within the other by functions of the program that MPI calls.
#[derive(Default)]
struct Caller {
    open: SmallVec<[Open; 1]>,
    /// When its last call returned.
    left: Time,
}

/// The calls under way of a process's ranks.
pub struct Short {
    first: u32,
    callers: Vec<Caller>,
}

impl Short {
    /// Of these ranks.
    pub fn of(own: Range<u32>) -> Short {
        Short { first: own.start, callers: own.map(|_| Caller::default()).collect() }
    }

    /// The mounted rank begins a call: when it had returned from the one before, if that was not within another.
    pub fn open(&mut self, world: &mut World, function: Function, form: Form, words: &mut [u64], origin: Origin) -> Option<Time> {
        let (me, frame) = (world.messages.me(), words.as_ptr() as usize);
        let caller = &mut self.callers[(me - self.first) as usize];
        // Their frames are gone: they were left by an exception or a jump.
        while caller.open.last().is_some_and(|open| open.frame <= frame) {
            caller.open.pop();
        }
        let before = caller.open.is_empty().then_some(caller.left);
        let words = Words::of(function, form, words);
        let gathering = rule(function).and_then(|rule| {
            let comm = world.objects.comms.get(words.members(&world.objects)?).ok()?;
            world.messages.enter_gathering(comm, rule, words.root(), origin.entered)
        });
        world.messages.begin_waiting();
        let waited = waited(&world.messages, me);
        let bytes = words.sent_bytes(world);
        caller.open.push(Open { function, frame, origin, waited, bytes, gathering });
        before
    }

    /// The mounted rank's call has returned.
    pub fn close(&mut self, world: &mut World, recorders: &mut [Box<dyn Recorder>]) {
        let me = world.messages.me();
        let caller = &mut self.callers[(me - self.first) as usize];
        let Some(open) = caller.open.pop() else { return };
        let inner = !caller.open.is_empty();
        caller.left = world.messages.clock(me);
        if let Some(messages) = world.messages.take_received(me) {
            messages.for_each(|message| recorders.iter_mut().for_each(|recorder| recorder.received(&message)));
        }
        let FoundOut { cause, oldest, collective } = world.messages.found_out(open.origin.entered).unwrap_or_default();
        let call = Returned { cause, oldest, collective, ..open.told(&world.messages, me, inner) };
        recorders.iter_mut().for_each(|recorder| recorder.returned(&call));
    }
}

impl Open {
    /// What the rank's call did up to its clock.
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

impl Short {
    /// The run is over: with one rank a process it ends within `MPI_Finalize`, which has done its work.
    /// Other calls that have not returned are told of as they are: those of a deadlock, or of an abort.
    pub fn end(&mut self, world: &mut World, recorders: &mut [Box<dyn Recorder>]) {
        let me = world.messages.me();
        let caller = self.callers.get(me.wrapping_sub(self.first) as usize);
        let finalizes = caller.and_then(|caller| caller.open.last()).is_some_and(|open| open.function == Function::Finalize);
        if finalizes && world.messages.phase(me) != Phase::Active {
            self.close(world, recorders);
        }
        for (rank, caller) in (self.first..).zip(std::mem::take(&mut self.callers)) {
            for (depth, open) in caller.open.iter().enumerate() {
                for message in world.messages.take_received(rank).into_iter().flatten() {
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
    messages.profile.waited(rank)
}

/// Who waits for whom in a function.
fn rule(function: Function) -> Option<Rule> {
    match function {
        Function::Barrier => Some(Rule::Barrier),
        Function::Win_fence => Some(Rule::Fence),
        Function::Allreduce
        | Function::Allgather
        | Function::Allgatherv
        | Function::Alltoall
        | Function::Alltoallv
        | Function::Alltoallw
        | Function::Reduce_scatter
        | Function::Reduce_scatter_block => Some(Rule::All),
        Function::Bcast | Function::Scatter | Function::Scatterv => Some(Rule::FromRoot),
        Function::Reduce | Function::Gather | Function::Gatherv => Some(Rule::ToRoot),
        _ => None,
    }
}

impl Words {
    /// The communicator of those who wait for each other: that of the call, or of its window.
    fn members(&self, objects: &Objects) -> Option<usize> {
        self.comm().or_else(|| Some(objects.wins.get(&objects.comms, self.object_handle(self.plan.window?)).ok()?.comm))
    }

    /// The root that the call names; a rank of nobody where there is none.
    fn root(&self) -> i32 {
        self.plan.root.map_or(-1, |root| self.scalar(root) as i32)
    }

    /// Bytes that count and datatype say the call sends; 0 where they are wrong.
    fn sent_bytes(&self, world: &World) -> u64 {
        const IN_PLACE: u64 = 1;
        let Some(sent) = self.plan.sent else { return 0 };
        let in_place = self.kind_of_buffer(sent.buffer) == IN_PLACE;
        let (count, datatype) = if in_place { sent.in_place } else { (sent.count, sent.datatype) };
        let count = match self.parameter(count).length {
            Length::One => self.scalar(count),
            _ if (0..4096).contains(&self.word(count)) => 0,
            _ => {
                let comm = self.comm().unwrap_or_default();
                let peers = world.objects.comms.get(comm).map_or(0, |comm| comm.peers() as usize);
                (0..peers).map(|k| self.number(count, k)).sum()
            }
        };
        let types = &world.objects.types;
        let handle = self.object_handle(datatype);
        let size = types.plain_size(handle).or_else(|| types.usable(world.messages.me(), handle).ok().map(|kind| kind.size));
        size.unwrap_or(0).saturating_mul(u64::try_from(count).unwrap_or(0))
    }
}
