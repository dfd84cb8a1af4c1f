//! What findings are made of (`-xsim-check`): the objects that ranks have made and not freed, the memory that their pending operations touch, and what members
//! of collectives have of the same blocks.
//!
//! A call is asked for no more than that: its numbers are not read unless a buffer or a block of a collective follows from them.

use super::arguments::{Handles, Words};
use super::host;
use super::objects::Objects;
use super::parameter::Form;
use super::touched::{Compared, Memory, Single, Watched};
use crate::alone;
use crate::constants::{MPI_REQUEST_NULL, MPI_SUCCESS};
use crate::function::Function;
use mpi::regions::{Pending, Region, Regions};
use mpi::types::members::Block;
use mpi::world::World;
use observe::recorder::{Class, Finding, Leftover, Party, Touch};
use smallvec::SmallVec;
use std::ops::Range;

/// A call that has not returned.
struct Open {
    function: Function,
    site: u32,
    /// Where its words are on the rank's stack.
    frame: usize,
    regions: Regions,
    arguments: Arguments,
}

struct Arguments {
    words: Words,
    handles: Handles,
}

#[derive(Default)]
struct Caller {
    open: Vec<Open>,
    /// But for requests.
    objects: Option<Box<Objects>>,
    pending: Pending<(Function, u32)>,
}

/// First byte, one past the last, and what is done with them.
pub type Plain = ((usize, usize), Touch);

/// So many lists of handles are kept for calls to come.
const SPARE: usize = 16;

/// The ranks of a process.
pub struct Watch {
    first: u32,
    callers: Vec<Caller>,
    /// Room that no call needs.
    spare: Vec<Handles>,
}

impl Watch {
    /// Of these ranks.
    pub fn of(own: Range<u32>) -> Watch {
        Watch { first: own.start, callers: own.map(|_| Caller::default()).collect(), spare: Vec::new() }
    }

    /// `rank`, which is mounted, begins a call at a site: what of it is a finding goes to `found`.
    pub fn open(&mut self, rank: u32, (function, site): (Function, u32), form: Form, words: &mut [u64], found: &mut Vec<Finding>) {
        let caller = &mut self.callers[(rank - self.first) as usize];
        // Their frames are gone: they were left by an exception or a jump.
        let at = words.as_ptr() as usize;
        while caller.open.pop_if(|open| open.frame <= at).is_some() {}
        let watched = Watched::of(function);
        let me = Party { rank, function: function.name(), site, process: None };
        let words = Words::of(function, form, words);
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
        if matches!(function, Function::Start | Function::Startall) {
            for &request in &handles {
                let regions = caller.pending.regions(request);
                caller.tell_conflicts(&regions, me, found);
                caller.pending.start(request);
            }
        }
        // Few ranks have two: no room is kept for more.
        caller.open.reserve_exact(1);
        caller.open.push(Open { function, site, frame: at, regions, arguments: Arguments { words, handles } });
    }

    /// `rank` begins a call of one buffer, with these words, at a site: the memory that it touches.
    // Beside `open`, which would read a message's arguments by the table: this is what most calls of a program come to.
    #[inline(always)]
    pub fn touch(
        &mut self,
        rank: u32,
        maker: (Function, u32),
        (single, objects, words): (&Single, &mpi::Objects, &[u64]),
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
        maker: (Function, u32),
        request: usize,
        (memory, single, objects, words): (Memory, &Single, &mpi::Objects, &[u64]),
    ) {
        let pending = &mut self.callers[(rank - self.first) as usize].pending;
        match memory {
            _ if request == MPI_REQUEST_NULL => {}
            Memory::Plain(bounds, touch) => pending.add_plain(request, maker, bounds, touch),
            Memory::None => pending.add(request, maker, Regions::new(), false),
            Memory::Shaped => pending.add(request, maker, single.region(objects, words).into_iter().collect(), false),
        }
    }

    /// A call of `rank` with these words, which touches no more than this and is made quickly: the memory, if no operation under way may touch it, too.
    #[inline(always)]
    pub fn plainly(&mut self, rank: u32, single: &Single, objects: &mpi::Objects, words: &[u64]) -> Option<Plain> {
        let Memory::Plain(bounds, touch) = single.memory(objects, words) else { return None };
        let pending = &mut self.callers[(rank - self.first) as usize].pending;
        (!pending.may_conflict(bounds, touch)).then_some((bounds, touch))
    }

    /// That call has made a request.
    #[inline(always)]
    pub fn made_plainly(&mut self, rank: u32, maker: (Function, u32), request: usize, (bounds, touch): Plain) {
        self.callers[(rank - self.first) as usize].pending.add_plain(request, maker, bounds, touch);
    }

    /// `rank` begins to wait for these requests: whether that is all that has to be kept of its call.
    #[inline(always)]
    pub fn wait_for(&mut self, rank: u32, requests: impl Iterator<Item = usize>) -> bool {
        self.callers[(rank - self.first) as usize].pending.wait_for(requests.filter(|&request| request != MPI_REQUEST_NULL))
    }

    /// The call has failed in which `rank` waited last: these requests are left.
    #[cold]
    pub fn stay(&mut self, rank: u32, requests: impl Iterator<Item = usize> + Clone) {
        self.callers[(rank - self.first) as usize].pending.stay(|request| requests.clone().any(|left| left == request));
    }

    /// The mounted rank's call has returned.
    pub fn close(&mut self, rank: u32, words: &[u64], code: i32) {
        let caller = &mut self.callers[(rank - self.first) as usize];
        let Some(Open { function, site, mut regions, mut arguments, .. }) = caller.open.pop() else { return };
        let (watched, maker) = (Watched::of(function), (function, site));
        arguments.words.come_back(words);
        caller.settle(function, &arguments, code);
        let Arguments { words, mut handles } = arguments;
        // What a million ranks had while they were blocked in one call is not kept for good.
        if self.spare.len() < SPARE && handles.spilled() {
            handles.clear();
            self.spare.push(handles);
        }
        if code != MPI_SUCCESS || !words.has_found() {
            return;
        }
        for &(_, index) in &words.plan.results {
            let Some(class) = words.parameter(index).class().filter(|_| words.word(index) != 0) else { continue };
            if class == Class::Request {
                let request = words.distinct(index);
                if request != MPI_REQUEST_NULL {
                    let regions = match watched.is_persistent {
                        true => watched.touched.iter().filter_map(|touched| words.region(touched)).collect(),
                        false => std::mem::take(&mut regions),
                    };
                    caller.pending.add(request, maker, regions, watched.is_persistent);
                }
                continue;
            }
            let objects = caller.objects.get_or_insert_with(|| Box::new(Objects::new(false)));
            objects.maker = maker;
            for k in 0..words.handles(index) {
                objects.object(class, words.handle(index, k));
            }
        }
    }

    /// What a rank has neither freed nor completed.
    pub fn left_over(&self, rank: u32) -> Vec<Leftover> {
        let caller = &self.callers[(rank - self.first) as usize];
        let requests = caller.pending.left_over();
        let requests = requests.map(|(function, site)| Leftover::Object { class: Class::Request, function: function.name(), site });
        caller.objects.iter().flat_map(|objects| objects.left_over()).chain(requests).collect()
    }
}

impl Caller {
    #[cold]
    #[inline(never)]
    fn tell_conflicts_of(&mut self, region: Option<Region>, rank: u32, (function, site): (Function, u32), found: &mut Vec<Finding>) {
        self.tell_conflicts(region.as_slice(), Party { rank, function: function.name(), site, process: None }, found);
    }

    /// Tells of the operations under way that touch what one of the regions of a call touches.
    fn tell_conflicts(&mut self, regions: &[Region], me: Party, found: &mut Vec<Finding>) {
        self.pending.conflicts(regions, |mine: Touch, (function, site), theirs| {
            let other = Party { function: function.name(), site, ..me };
            found.push(Finding::Overlap { call: (me, mine), pending: Some((other, theirs)) });
        });
    }

    /// Forgets the objects that a call has freed and the operations that it has completed.
    fn settle(&mut self, function: Function, Arguments { words, handles }: &Arguments, code: i32) {
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

/// Whether the call has completed its `k`th request, which keeps its handle if it is persistent.
fn completes(function: Function, words: &Words, k: usize) -> bool {
    if !words.has_found() {
        return false;
    }
    match (function, words.plan.indices) {
        (Function::Wait | Function::Waitall | Function::Test | Function::Testall, _) => true,
        (Function::Request_get_status | Function::Request_get_status_all, _) => true,
        (Function::Request_get_status_any | Function::Request_get_status_some, Some(indices))
        | (Function::Waitany | Function::Waitsome | Function::Testany | Function::Testsome, Some(indices)) => {
            (0..words.handles(indices)).any(|place| words.completed(place) == k)
        }
        _ => false,
    }
}

/// Hands over what the mounted rank has of the blocks of a collective call.
fn compare(function: Function, words: &Words, compared: &[Compared]) {
    let Some(comm) = words.comm() else { return };
    let Some(membership) = host::membership(comm).filter(|membership| !membership.is_inter) else { return };
    let is_root = words.plan.root.is_some_and(|root| words.scalar(root) == i64::from(membership.rank));
    let blocks: SmallVec<[Block; 2]> =
        compared.iter().filter_map(|compared| words.block(compared, is_root, membership.rank == 0)).collect();
    let mut world = alone::mpi().world();
    let World { messages, objects, .. } = &mut *world;
    messages.compare_members(objects, function as u16, comm, &blocks);
}
