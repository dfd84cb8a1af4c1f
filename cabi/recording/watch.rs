//! The material of findings (`-xsim-check`): the objects that ranks have made and not freed, the memory that
//! their pending operations touch, and what members of collectives have of the same blocks.
//!
//! A call is asked for no more than that: its numbers are not read unless a buffer or a block of a collective
//! follows from them.

use super::ArgumentRegisters;
use super::TracedObjects;
use super::host::SimulatedMpi;
use super::touched::TouchesMemory;
use super::touched::{Compared, Memory, SingleBuffer, Watched};
use crate::alone;
use crate::constants::{MPI_REQUEST_NULL, MPI_SUCCESS};
use crate::function::Function;
use call_recording::Host;
use call_recording::arguments::Handles;
use call_recording::level::NestingLevel;
use call_recording::parameter::ArgumentForm;
use mpi::handle::RequestRef;
use mpi::regions::{Known, Pending, Region, Regions};
use mpi::types::SentMessage;
use mpi::types::members::Block;
use mpi::world::World;
use rank::Addr;
use rank::memory::load;
use recorder::{Class, Finding, Leftover, Party, Touch};
use smallvec::SmallVec;
use std::ops::Range;

/// A call that has not returned.
struct WatchedCall {
    function: Function,
    site: u32,
    level: NestingLevel,
    regions: Regions,
    arguments: RecordedArguments,
}

struct RecordedArguments {
    words: ArgumentRegisters,
    handles: Handles,
}

#[derive(Default)]
struct WatchedCalls {
    open: Vec<WatchedCall>,
    /// But for requests.
    objects: Option<Box<TracedObjects>>,
    pending: Pending<Maker>,
}

/// The call that made a request.
#[derive(Clone, Copy)]
pub struct Maker {
    function: Function,
    site: u32,
    /// A [`sample`] of the memory that the operation reads, where that is all that it touches.
    content: u64,
    /// The message that a standard send has sent, and its receiver.
    sent: (SentMessage, u32),
}

/// First byte, one past the last, and what is done with them.
pub type Plain = ((usize, usize), Touch);

/// So many lists of handles are kept for calls to come.
const SPARE: usize = 16;

/// The watched calls of a process's ranks.
pub struct CallWatch {
    first: u32,
    callers: Vec<WatchedCalls>,
    /// Room that no call needs.
    spare: Vec<Handles>,
    /// The messages of the requests that the call waits for.
    pub awaited: Vec<(SentMessage, u32)>,
}

impl CallWatch {
    /// Makes the watch of these ranks, which have made no call.
    pub fn of(own: Range<u32>) -> CallWatch {
        CallWatch {
            first: own.start,
            callers: own.map(|_| WatchedCalls::default()).collect(),
            spare: Vec::new(),
            awaited: Vec::new(),
        }
    }

    /// `rank`, which is mounted, begins a call at a site: what of it is a finding goes to `found`.
    pub fn open(
        &mut self,
        (rank, level): (u32, NestingLevel),
        (function, site): (Function, u32),
        form: ArgumentForm,
        words: &mut [u64],
        found: &mut Vec<Finding>,
    ) {
        let caller = &mut self.callers[(rank - self.first) as usize];
        caller.open.retain(|open| !open.level.is_left_by(level));
        let watched = Watched::of(function);
        let me = Party { rank, function: function.name(), site, process: None };
        let words = ArgumentRegisters::of(function, form, words);
        let regions: Regions = watched.touched.iter().filter_map(|touched| words.region(touched)).collect();
        if !watched.compared.is_empty() {
            compare(function, &words, &watched.compared);
        }
        let mut handles = self.spare.pop().unwrap_or_default();
        words.put_handles(&mut handles);
        if !watched.is_persistent {
            for (at, region) in regions.iter().enumerate() {
                if regions[..at].iter().any(|other| region.conflicts(other)) {
                    found.push(Finding::Overlap { call: (me, region.touch), pending: None });
                }
            }
            if watched.apart.is_some_and(|buffers| words.is_aliased(buffers)) {
                found.push(Finding::Overlap { call: (me, Touch::Writes), pending: None });
            }
            caller.tell_conflicts(&regions, me, found);
        }
        if completes_any(function) {
            // The handles of requests alone: these functions replace no other.
            let requests: SmallVec<[usize; 16]> = match words.plan.requests {
                Some(requests) if handles.is_empty() => {
                    (0..words.handles(requests)).map(|k| words.handle(requests, k)).collect()
                }
                _ => handles.iter().copied().collect(),
            };
            self.look_at(rank, (function, site), requests.into_iter(), found);
        }
        let caller = &mut self.callers[(rank - self.first) as usize];
        if matches!(function, Function::Start | Function::Startall) {
            for &request in &handles {
                let regions = caller.pending.regions(request);
                caller.tell_conflicts(&regions, me, found);
                caller.pending.start(request);
            }
        }
        // Few ranks have two: no room is kept for more.
        caller.open.reserve_exact(1);
        caller.open.push(WatchedCall {
            function,
            site,
            level,
            regions,
            arguments: RecordedArguments { words, handles },
        });
    }

    /// `rank` begins a call of one buffer, with these words, at a site: the memory that it touches.
    // Beside `open`, which would read a message's arguments by the table: this is what most calls of a
    // program come to.
    #[inline(always)]
    pub fn touch(
        &mut self,
        rank: u32,
        maker: (Function, u32),
        (single, objects, words): (&SingleBuffer, &mpi::Objects, &[u64]),
        found: &mut Vec<Finding>,
    ) -> Memory {
        let memory = single.memory(objects, words);
        let caller = &mut self.callers[(rank - self.first) as usize];
        let may = match memory {
            Memory::None => false,
            Memory::Plain(bounds, touch) => caller.pending.may_conflict(bounds, touch),
            Memory::Shaped => true,
        };
        if may {
            caller.tell_conflicts_of(single.region(objects, words), rank, maker, found);
        }
        memory
    }

    /// A call of `rank` that touches no more than this has made a request.
    #[inline(always)]
    pub fn made(
        &mut self,
        rank: u32,
        maker: Maker,
        request: usize,
        (memory, single, objects, words): (Memory, &SingleBuffer, &mpi::Objects, &[u64]),
    ) {
        let pending = &mut self.callers[(rank - self.first) as usize].pending;
        match memory {
            _ if request == MPI_REQUEST_NULL => {}
            Memory::Plain(bounds, touch) => pending.add_plain(request, maker, bounds, touch),
            Memory::None => pending.add(request, maker, Regions::new(), false),
            Memory::Shaped => {
                pending.add(request, maker, single.region(objects, words).into_iter().collect(), false)
            }
        }
    }

    /// Returns the memory that a call of `rank` with these words touches, if no operation under way may touch
    /// it, too. The call touches no more than `single` and is made quickly.
    #[inline(always)]
    pub fn plainly(
        &mut self,
        rank: u32,
        single: &SingleBuffer,
        objects: &mpi::Objects,
        words: &[u64],
    ) -> Option<Plain> {
        let Memory::Plain(bounds, touch) = single.memory(objects, words) else { return None };
        let pending = &mut self.callers[(rank - self.first) as usize].pending;
        (!pending.may_conflict(bounds, touch)).then_some((bounds, touch))
    }

    /// That call has made a request.
    #[inline(always)]
    pub fn made_plainly(&mut self, rank: u32, maker: Maker, request: usize, (bounds, touch): Plain) {
        self.callers[(rank - self.first) as usize].pending.add_plain(request, maker, bounds, touch);
    }

    /// `rank` begins to wait for these requests, or tests them: what is a finding goes to `found`.
    #[inline]
    pub fn look_at(
        &mut self,
        rank: u32,
        (function, site): (Function, u32),
        requests: impl Iterator<Item = usize>,
        found: &mut Vec<Finding>,
    ) {
        let party = |function: Function, site| Party { rank, function: function.name(), site, process: None };
        let CallWatch { first, callers, awaited, .. } = self;
        let pending = &callers[(rank - *first) as usize].pending;
        let waits = matches!(function, Function::Wait | Function::Waitall);
        awaited.clear();
        pending.look_at(requests.filter(|&request| request != MPI_REQUEST_NULL), |request, known| {
            let maker = match known {
                Known::Plain(maker, bounds, touch) => {
                    if touch == Touch::Reads && maker.content != sample(bounds) {
                        found.push(Finding::Disturbed {
                            operation: (party(maker.function, maker.site), Touch::Reads),
                            freed: false,
                        });
                    }
                    maker
                }
                Known::More(maker) => maker,
                Known::Nothing => {
                    // Others are errors of the call.
                    if matches!(mpi::handle::request(request), RequestRef::Sent) {
                        found.push(Finding::Stale { call: party(function, site) });
                    }
                    return;
                }
            };
            if waits && maker.sent.0 != SentMessage::NONE {
                awaited.push(maker.sent);
            }
        });
    }

    /// `rank` frees a block of memory that begins there.
    pub fn freed(&mut self, rank: u32, block: usize, found: &mut Vec<Finding>) {
        // Where the block ends, its allocator alone knows.
        self.callers[(rank - self.first) as usize].pending.lose((block, block + 1), |maker, touch| {
            let party = Party { rank, function: maker.function.name(), site: maker.site, process: None };
            found.push(Finding::Disturbed { operation: (party, touch), freed: true });
        });
    }

    /// `rank` begins to wait for these requests: whether that is all that has to be kept of its call.
    #[inline(always)]
    pub fn wait_for(
        &mut self,
        rank: u32,
        call: (Function, u32),
        requests: impl Iterator<Item = usize> + Clone,
        found: &mut Vec<Finding>,
    ) -> bool {
        if !self.callers[(rank - self.first) as usize].pending.is_plain() {
            return false;
        }
        self.look_at(rank, call, requests.clone(), found);
        self.callers[(rank - self.first) as usize]
            .pending
            .wait_for(requests.filter(|&request| request != MPI_REQUEST_NULL))
    }

    /// Keeps these requests, which are left of the call that has failed in which `rank` waited last.
    #[cold]
    pub fn stay(&mut self, rank: u32, requests: impl Iterator<Item = usize> + Clone) {
        self.callers[(rank - self.first) as usize]
            .pending
            .stay(|request| requests.clone().any(|left| left == request));
    }

    /// Ends the mounted rank's call, which has returned.
    pub fn close(&mut self, (rank, level): (u32, NestingLevel), words: &[u64], code: i32) {
        let caller = &mut self.callers[(rank - self.first) as usize];
        let Some(at) = caller.open.iter().rposition(|open| open.level == level) else { return };
        let WatchedCall { function, site, mut regions, mut arguments, .. } = caller.open.remove(at);
        let (watched, maker) = (Watched::of(function), (function, site));
        arguments.words.come_back(words);
        caller.settle(function, &arguments, code);
        let RecordedArguments { words, mut handles } = arguments;
        // What a million ranks had while they were blocked in one call is not kept for good.
        if self.spare.len() < SPARE && handles.spilled() {
            handles.clear();
            self.spare.push(handles);
        }
        if code != MPI_SUCCESS || !words.has_found() {
            return;
        }
        for &(_, index) in &words.plan.results {
            let Some(class) = words.parameter(index).class().filter(|_| words.word(index) != 0) else {
                continue;
            };
            if class == Class::Request {
                let request = words.distinct(index);
                if request != MPI_REQUEST_NULL {
                    let regions = match watched.is_persistent {
                        true => watched.touched.iter().filter_map(|touched| words.region(touched)).collect(),
                        false => std::mem::take(&mut regions),
                    };
                    caller.pending.add(
                        request,
                        Maker::unread(&alone::mpi().world(), maker),
                        regions,
                        watched.is_persistent,
                    );
                }
                continue;
            }
            let objects = caller.objects.get_or_insert_with(|| Box::new(TracedObjects::new(false)));
            objects.maker = maker;
            for k in 0..words.handles(index) {
                objects.object(class, words.handle(index, k));
            }
        }
    }

    /// Returns what a rank has neither freed nor completed.
    pub fn left_over(&self, rank: u32) -> Vec<Leftover> {
        let caller = &self.callers[(rank - self.first) as usize];
        let requests = caller.pending.left_over();
        let requests = requests.map(|Maker { function, site, .. }| Leftover::Object {
            class: Class::Request,
            function: function.name(),
            site,
        });
        caller.objects.iter().flat_map(|objects| objects.left_over()).chain(requests).collect()
    }
}

impl Maker {
    /// Makes that of a call which has returned, and touches no more than this.
    #[inline(always)]
    pub fn of(world: &World, maker: (Function, u32), (bounds, touch): Plain) -> Maker {
        let content = if touch == Touch::Reads { sample(bounds) } else { 0 };
        Maker { content, ..Maker::unread(world, maker) }
    }

    /// [`Maker::of`] any call with one buffer.
    #[inline(always)]
    pub fn of_any(world: &World, maker: (Function, u32), memory: Memory) -> Maker {
        match memory {
            Memory::Plain(bounds, touch) => Maker::of(world, maker, (bounds, touch)),
            Memory::None | Memory::Shaped => Maker::unread(world, maker),
        }
    }

    #[inline(always)]
    fn unread(world: &World, (function, site): (Function, u32)) -> Maker {
        let is_standard = function == Function::Isend;
        let sent =
            if is_standard { world.messages.watch().unmatched_message() } else { (SentMessage::NONE, 0) };
        Maker { function, site, content: 0, sent }
    }
}

/// Returns a number that tells what memory holds from what it held: of its bytes, or of six words of it, the
/// first and the last among them.
// All bytes would take as long as the message.
#[inline(always)]
fn sample((first, end): (usize, usize)) -> u64 {
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    match (end - first).checked_sub(size_of::<u64>()) {
        Some(last) if last <= size_of::<u64>() => mix(mix(0, load(Addr(first))), load(Addr(first + last))),
        Some(last) => {
            let places = [0, last >> 3, last >> 2, last >> 1, last - (last >> 2), last];
            places.into_iter().map(|at| load(Addr(first + at))).fold(0, mix)
        }
        None => (first..end).map(|at| load::<u8>(Addr(at)).into()).fold(0, mix),
    }
}

impl WatchedCalls {
    #[cold]
    #[inline(never)]
    fn tell_conflicts_of(
        &mut self,
        region: Option<Region>,
        rank: u32,
        (function, site): (Function, u32),
        found: &mut Vec<Finding>,
    ) {
        self.tell_conflicts(
            region.as_slice(),
            Party { rank, function: function.name(), site, process: None },
            found,
        );
    }

    /// Tells of the operations under way that touch what one of the regions of a call touches.
    fn tell_conflicts(&mut self, regions: &[Region], me: Party, found: &mut Vec<Finding>) {
        self.pending.conflicts(regions, |mine: Touch, Maker { function, site, .. }, theirs| {
            let other = Party { function: function.name(), site, ..me };
            found.push(Finding::Overlap { call: (me, mine), pending: Some((other, theirs)) });
        });
    }

    /// Forgets the objects that a call has freed and the operations that it has completed.
    fn settle(
        &mut self,
        function: Function,
        RecordedArguments { words, handles }: &RecordedArguments,
        code: i32,
    ) {
        let is_complete = |k: usize| code == MPI_SUCCESS && completes(function, words, k);
        if handles.is_empty()
            && let Some(requests) = words.plan.requests
        {
            // The program may use the memory again while it still has the request.
            for k in (0..words.handles(requests)).filter(|&k| is_complete(k)) {
                self.pending.complete(words.handle(requests, k));
            }
        }
        let mut before = handles.iter();
        for &(index, class) in &words.plan.replaced {
            for ((k, after), &handle) in words.list(index).enumerate().zip(before.by_ref()) {
                let is_gone = after != handle;
                if class == Class::Request {
                    if is_gone {
                        self.pending.remove(handle);
                    } else if self.pending.is_restartable(handle) && is_complete(k) {
                        self.pending.complete(handle);
                    }
                } else if is_gone && let Some(objects) = &mut self.objects {
                    objects.forget(class, handle);
                }
            }
        }
    }
}

/// Returns `true` if the function waits for requests or tests them.
fn completes_any(function: Function) -> bool {
    matches!(
        function,
        Function::Wait
            | Function::Waitall
            | Function::Waitany
            | Function::Waitsome
            | Function::Test
            | Function::Testall
            | Function::Testany
            | Function::Testsome
    )
}

/// Returns `true` if the call has completed its `k`th request, which keeps its handle if it is persistent.
fn completes(function: Function, words: &ArgumentRegisters, k: usize) -> bool {
    if !words.has_found() {
        return false;
    }
    match (function, words.plan.indices) {
        (Function::Wait | Function::Waitall | Function::Test | Function::Testall, _) => true,
        (Function::Request_get_status | Function::Request_get_status_all, _) => true,
        (Function::Request_get_status_any | Function::Request_get_status_some, Some(indices))
        | (Function::Waitany | Function::Waitsome, Some(indices))
        | (Function::Testany | Function::Testsome, Some(indices)) => {
            (0..words.handles(indices)).any(|place| words.completed(place) == k)
        }
        _ => false,
    }
}

/// Hands over what the mounted rank has of the blocks of a collective call.
fn compare(function: Function, words: &ArgumentRegisters, compared: &[Compared]) {
    let Some(comm) = words.comm() else { return };
    let Some(membership) = SimulatedMpi::membership(comm).filter(|membership| !membership.is_inter) else {
        return;
    };
    let is_root = words.plan.root.is_some_and(|root| words.scalar(root) == i64::from(membership.rank));
    let blocks: SmallVec<[Block; 2]> =
        compared.iter().filter_map(|compared| words.block(compared, is_root, membership.rank == 0)).collect();
    let mut world = alone::mpi().world();
    let World { messages, objects, .. } = &mut *world;
    messages.watching().compare_members(objects, function as u16, comm, &blocks);
}
