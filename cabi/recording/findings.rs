//! How findings are made of calls (`-xsim-check`), and told.

use super::sites::Frame;
use super::touched::Watched;
use super::watch::{Maker, Plain};
use super::{CallRecording, Makes, Opened, with};
use crate::alone;
use crate::constants::MPI_SUCCESS;
use crate::function::Function;
use call_recording::parameter::ArgumentForm;
use mpi::handle::REQUEST_SENT;
use mpi::world::{Phase, World};
use rank::Addr;
use rank::memory::{load, store};
use recorder::Leftover;
use std::cell::RefMut;

/// The requests that a call of C waits for, all of them.
#[derive(Clone, Copy)]
pub(super) struct Waits {
    first: Addr,
    count: usize,
}

impl Waits {
    #[inline]
    fn of(function: Function, form: ArgumentForm, words: &[u64]) -> Option<Waits> {
        let (count, first) = match function {
            Function::Wait => (1, words[0]),
            Function::Waitall => (usize::try_from(words[0] as i64).ok()?, words[1]),
            _ => return None,
        };
        // Where threads are, one may start an operation while another one waits.
        let is_plain = form == ArgumentForm::c(false) && first != 0 && !alone::mpi().is_alone();
        is_plain.then_some(Waits { first: Addr(first as usize), count })
    }

    fn requests(self) -> impl Iterator<Item = usize> + Clone {
        (0..self.count).map(move |at| load(self.first.offset(8 * at as i64)))
    }
}

/// A call made within one borrow, and the memory that it touches.
pub struct TouchingCall {
    maker: (Function, u32),
    memory: Plain,
    /// Index of the request that the call makes, among its argument registers.
    request: Option<usize>,
}

/// A call with these words begins: what of it has to be kept, if it is one for [`crate::edge::once`], nobody
/// wants to know more of calls than findings, and none is made.
#[inline(always)]
pub fn begin_quickly(
    world: &mut World,
    function: Function,
    words: &[u64],
    frame: &Frame,
) -> Option<TouchingCall> {
    with(|recording| recording.begin_quickly(world, function, words, frame))?
}

/// Notes the request of a call that is over and has succeeded, if it has made one.
#[inline(always)]
pub fn end_quickly(world: &mut World, words: &[u64], TouchingCall { maker, memory, request }: TouchingCall) {
    let Some(request) = request else { return };
    let request = request_of(world, words[request]);
    let maker = Maker::of(world, maker, memory);
    let me = world.messages.me();
    with(|recording| recording.watch.as_mut().map(|watch| watch.made_plainly(me, maker, request, memory)));
}

/// Returns the request that a call has made, which becomes one of its own if it was complete at once.
#[inline(always)]
fn request_of(world: &mut World, at: u64) -> usize {
    let at = Addr(at as usize);
    let mut request: usize = load(at);
    if request == REQUEST_SENT {
        request = world.messages.requests_mut().distinct_sent();
        store(at, request);
    }
    request
}

impl CallRecording {
    #[inline(always)]
    fn begin_quickly(
        &mut self,
        world: &mut World,
        function: Function,
        words: &[u64],
        frame: &Frame,
    ) -> Option<TouchingCall> {
        let single = self.only_watched?[function as usize].single.as_ref()?;
        if super::raises()
            || world.messages.watch().has_findings()
            || single.request.is_some_and(|request| words[request] == 0)
        {
            return None;
        }
        let site = self.sites.as_ref()?.known(frame, words)?;
        let memory = self.watch.as_mut()?.plainly(world.messages.me(), single, &world.objects, words)?;
        world.messages.watch_mut().call_from(site);
        Some(TouchingCall { maker: (function, site), memory, request: single.request })
    }

    /// [`CallRecording::open`] while nobody wants to know more of calls than findings.
    // Most calls are messages, with one buffer: they are told by a few of their words, with one look at the
    // world, and what a program does with a message is to cost twice as much and not more
    // (`xsim-bench check`).
    #[inline(always)]
    pub(super) fn open_watched(
        &mut self,
        watched: &'static Watched,
        (function, form): (Function, ArgumentForm),
        words: &mut [u64],
        frame: &Frame,
        opened: &mut Opened,
    ) {
        let mut guard = alone::mpi().world();
        let world = &mut *guard;
        if world.is_at_limit() && world.must_stop().is_some() || !watched.any {
            return;
        }
        world.messages.ranks_mut().upcoming_entry();
        let site = self.site(frame, words);
        world.messages.watch_mut().call_from(site);
        self.begin_watching(guard, watched, (function, site), form, words, opened);
        opened.told = opened.watched;
    }

    /// The mounted rank begins a call at a site: what of it is a finding is told.
    #[inline(always)]
    pub(super) fn begin_watching(
        &mut self,
        mut guard: RefMut<'_, World>,
        watched: &'static Watched,
        (function, site): (Function, u32),
        form: ArgumentForm,
        words: &mut [u64],
        opened: &mut Opened,
    ) {
        let world = &mut *guard;
        // Of calls that are not waited for to return.
        if world.messages.watch().has_findings() {
            self.found.append(&mut world.messages.watch_mut().take_findings());
        }
        if let Some(waits) = Waits::of(function, form, words)
            && let Some(watch) = &mut self.watch
            && self.only_watched.is_some()
            && watch.wait_for(world.messages.me(), (function, site), waits.requests(), &mut self.found)
        {
            (opened.watched, opened.waits) = (true, Some(waits));
            world.messages.watch_mut().await_receives(watch.awaited.drain(..));
            world.messages.ranks_mut().go_on_measuring();
            return self.tell_found();
        }
        match (&watched.single, &mut self.watch) {
            (Some(single), Some(watch)) if form == ArgumentForm::c(false) => {
                let me = world.messages.me();
                let memory =
                    watch.touch(me, (function, site), (single, &world.objects, words), &mut self.found);
                if single.request.is_some() {
                    opened.watched = true;
                    opened.makes = Some(Makes { single, function, site, memory });
                }
                if self.only_watched.is_some() {
                    world.messages.ranks_mut().go_on_measuring();
                }
            }
            _ => {
                drop(guard);
                opened.watched = true;
                self.begin_watching_any((function, site), form, words);
            }
        }
        self.tell_found();
    }

    #[inline(never)]
    fn begin_watching_any(&mut self, made: (Function, u32), form: ArgumentForm, words: &mut [u64]) {
        let me = alone::mpi().world().messages.me();
        let level = self.nesting.level(me, words.as_ptr() as usize, |_, _| {});
        if let Some(watch) = &mut self.watch {
            watch.open((me, level), made, form, words, &mut self.found);
            alone::mpi().world().messages.watch_mut().await_receives(watch.awaited.drain(..));
        }
        if self.only_watched.is_some() {
            alone::mpi().world().messages.ranks_mut().go_on_measuring();
        }
    }

    /// Keeps what the mounted rank's call, which returns, has made and freed.
    #[inline(always)]
    pub(super) fn end_watching(&mut self, opened: &Opened, words: &[u64], code: i32) {
        if let Some(waits) = opened.waits {
            return self.end_waiting(waits, code);
        }
        let Some(Makes { single, function, site, memory }) = opened.makes else {
            return self.end_watching_any(words, code);
        };
        let mut guard = alone::mpi().world();
        let world = &mut *guard;
        if let Some(watch) = &mut self.watch
            && let Some(request) = single.request.filter(|_| code == MPI_SUCCESS)
        {
            let request = request_of(world, words[request]);
            let maker = Maker::of_any(world, (function, site), memory);
            watch.made(world.messages.me(), maker, request, (memory, single, &world.objects, words));
        }
        world.messages.ranks_mut().go_on_measuring();
    }

    fn end_waiting(&mut self, waits: Waits, code: i32) {
        let world = &mut *alone::mpi().world();
        if let Some(watch) = self.watch.as_mut().filter(|_| code != MPI_SUCCESS) {
            watch.stay(world.messages.me(), waits.requests());
        }
        world.messages.ranks_mut().go_on_measuring();
    }

    #[inline(never)]
    fn end_watching_any(&mut self, words: &[u64], code: i32) {
        let Some(watch) = &mut self.watch else { return };
        let mut world = alone::mpi().world();
        let me = world.messages.me();
        if world.messages.watch().has_findings() {
            self.found = world.messages.watch_mut().take_findings();
        }
        drop(world);
        let level = self.nesting.level(me, words.as_ptr() as usize, |_, _| {});
        watch.close((me, level), words, code);
        self.tell_found();
        alone::mpi().world().messages.ranks_mut().go_on_measuring();
    }

    /// Tells the findings that were made since.
    #[inline]
    pub(super) fn tell_found(&mut self) {
        if self.found.is_empty() {
            return;
        }
        self.tell_all_found();
    }

    #[cold]
    fn tell_all_found(&mut self) {
        for finding in self.found.drain(..) {
            self.recorders.iter_mut().for_each(|recorder| recorder.found(&finding));
        }
    }

    /// Tells what ranks that have finalized MPI have neither freed nor received.
    // Of the others, in a run that was aborted, nobody knows what they would have done.
    pub(super) fn tell_left_over(&mut self, world: &mut World) {
        self.found = world.messages.watch_mut().take_findings();
        self.tell_found();
        let Some(watch) = &self.watch else { return };
        for rank in (self.first..).take(self.callers.len()) {
            if !matches!(world.messages.ranks()[rank].phase, Phase::Finalized | Phase::Ended) {
                continue;
            }
            let objects = watch.left_over(rank).into_iter();
            let pending = &world.messages.ranks()[rank].pending;
            let messages = world.messages.matcher().unreceived(pending).map(|(envelope, bytes)| {
                let comm = world.objects.comms.by_context(envelope.context, rank);
                let source = comm.and_then(|comm| comm.peer(envelope.source as i32, rank, "source").ok());
                Leftover::Message { source, tag: envelope.tag, bytes }
            });
            for what in objects.chain(messages) {
                self.recorders.iter_mut().for_each(|recorder| recorder.left_over(rank, &what));
            }
        }
    }
}
