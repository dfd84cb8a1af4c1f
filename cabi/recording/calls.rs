//! Calls that recorders are told of with their arguments, or in words: from the begin of each to its end.

use super::arguments::{Handles, Words};
use super::facts::Facts;
use super::objects::Objects;
use super::open::Open;
use super::parameter::Form;
use super::parked::{Parked, UnderWay};
use super::{Recording, tell_computed};
use crate::call;
use crate::constants::{MPI_ERR_IN_STATUS, MPI_SUCCESS};
use crate::function::Function;
use engine::Time;
use observe::recorder::{Argument, Left};

/// So many arrays of arguments are kept for calls to come.
const SPARE: usize = 16;

/// What is known of a rank.
pub struct Caller {
    /// Calls that have not returned, but for one that [`Recording::last`] has.
    pub under_way: UnderWay,
    objects: Objects,
    /// When its last call returned.
    left: Time,
}

impl Caller {
    /// One that has not called.
    fn new(matches: bool) -> Caller {
        Caller { under_way: UnderWay::None, objects: Objects::new(matches), left: Time::ZERO }
    }
}

/// Statuses of a call that are elsewhere while a call within it may need their room.
pub struct Covered {
    /// The rank, and where the words of the inner call are on its stack.
    by: (u32, usize),
    there: (usize, usize),
    statuses: Box<[u64]>,
}

impl Recording {
    /// The mounted rank begins a call of a function at a site at a time.
    pub fn open_call(&mut self, (me, function, site, entered): (u32, Function, u32, Time), form: Form, words: &mut [u64]) {
        self.put_away(me);
        let caller = self.callers[(me - self.first) as usize].get_or_insert_with(|| Box::new(Caller::new(self.matches)));
        let left = caller.left;
        if caller.under_way.is_empty() || self.is_first(me, words.as_ptr() as usize) {
            tell_computed(&mut self.recorders, me, left, entered);
        }
        let Some(Some(caller)) = self.callers.get_mut((me - self.first) as usize) else { return };
        caller.objects.maker = (function, site);
        let call = Words::of(function, form, words);
        if let Some((place, room)) = call.ignored_statuses() {
            words[place] = self.statuses.room(room) as u64;
        }
        let (mut arguments, mut brief, mut handles) = (Vec::new(), None, Handles::new());
        if self.recognized && call.plan.facts.is_some() {
            let head = function as u64 | u64::from(form.large) << 16 | u64::from(site) << 32;
            let comm = call.comm();
            let facts = match &self.position {
                Some((rank, of, facts)) if (*rank, *of) == (me, comm) => facts.again(),
                _ => {
                    let facts = Facts::of(&call, &mut caller.objects);
                    self.position = Some((me, comm, facts.again()));
                    facts
                }
            };
            facts.tell(head, &call, &mut caller.objects, &mut self.words);
            brief = Some(facts);
        } else {
            // It may free the communicator, and another may be made with its handle.
            self.position = None;
            handles = call.handles_before();
            arguments = self.spare.pop().unwrap_or_default();
            call.arguments(&handles, &mut caller.objects, &mut arguments);
        }
        self.last = Some((me, Open { function, words: call, entered, site, arguments, brief, handles }));
    }

    /// The mounted rank, which has calls under way, begins another with its words there: whether it left those by an exception or a jump. Else
    /// the call is made within them.
    #[cold]
    fn is_first(&mut self, me: u32, at: usize) -> bool {
        let Some(Some(caller)) = self.callers.get_mut((me - self.first) as usize) else { return true };
        // Frames below are gone.
        let recorders = &mut self.recorders;
        caller.under_way.leave(at, |call| recorders.iter_mut().for_each(|recorder| recorder.unfinished(&call.call(me))));
        self.covered.retain(|covered| covered.by.0 != me || covered.by.1 > at);
        let Some(outer) = caller.under_way.unpark(&self.told, &mut caller.objects, &mut self.words) else { return true };
        if let Some(there) = outer.words.statuses().filter(|&there| self.statuses.are_here(there)) {
            self.covered.push(Covered { by: (me, at), there, statuses: self.statuses.take(there) });
        }
        false
    }

    /// The call that was opened last has not returned, and `me` opens another or returns from one: its rank is blocked, or it has called back.
    // As many as there are ranks may lie there for long, so that they keep no room to grow.
    pub fn put_away(&mut self, me: u32) {
        let Some((rank, mut open)) = self.last.take() else { return };
        let Some(Some(caller)) = self.callers.get_mut((rank - self.first) as usize) else { return };
        if rank != me
            && caller.under_way.is_empty()
            && self.recognized
            && let Some(parked) = Parked::of(&open, &mut self.told, &self.words)
        {
            caller.under_way = UnderWay::One(parked);
            return self.keep_room(open.arguments);
        }
        open.arguments.shrink_to_fit();
        if let Some(facts) = &mut open.brief {
            facts.keep(&self.words);
        }
        caller.under_way.push(open);
    }

    /// The mounted rank's call with these words has returned.
    pub fn close_call(&mut self, (me, at): (u32, Time), words: &[u64], code: i32) {
        let last = self.last.take_if(|(rank, _)| *rank == me).map(|(_, open)| open);
        if last.is_none() {
            self.put_away(me);
        }
        let Some(Some(caller)) = self.callers.get_mut((me - self.first) as usize) else { return };
        let back = |caller: &mut Caller, room| caller.under_way.pop(words, &self.told, &mut caller.objects, room);
        let Some(mut open) = last.or_else(|| back(caller, &mut self.words)) else { return };
        open.words.come_back(words);
        caller.left = at;
        // Callbacks may have called meanwhile.
        caller.objects.maker = (open.function, open.site);
        let left = Left { at, code, name: call::code_name(code) };
        self.tell(me, &mut open, &left);
        if let Some(there) = open.words.statuses().filter(|&there| self.statuses.are_here(there)) {
            self.statuses.clear(there);
        }
        if !self.covered.is_empty() {
            self.uncover(me, words.as_ptr() as usize);
        }
        if let Some(Some(caller)) = self.callers.get_mut((me - self.first) as usize) {
            caller.objects.share(&mut self.known);
        }
        self.keep_room(open.arguments);
    }

    /// Room for arguments of calls to come.
    // What a million ranks had while they were blocked in one collective is not kept for good.
    #[inline]
    fn keep_room(&mut self, mut arguments: Vec<Argument>) {
        if arguments.capacity() > 0 && self.spare.len() < SPARE {
            arguments.clear();
            self.spare.push(arguments);
        }
    }

    /// The call is over that `me` made, with its words there, within another one.
    #[cold]
    fn uncover(&mut self, me: u32, at: usize) {
        if let Some(place) = self.covered.iter().position(|covered| covered.by == (me, at)) {
            let Covered { there, statuses, .. } = self.covered.swap_remove(place);
            self.statuses.put_back(there, &statuses);
        }
    }

    /// Tells recorders of a call that has returned, in words as far as all know it by these.
    fn tell(&mut self, me: u32, open: &mut Open, left: &Left) {
        let Some(Some(caller)) = self.callers.get_mut((me - self.first) as usize) else { return };
        let code = left.code;
        // Which recorders know the call, a bit for each: there are few.
        let mut known = 0u64;
        if let Some(facts) = open.brief.take() {
            let on_entry = self.words.len();
            if code == MPI_SUCCESS {
                let brief = facts.brief((me, open.entered), &open.words, &mut caller.objects, &mut self.words);
                for (index, recorder) in self.recorders.iter_mut().enumerate() {
                    known |= u64::from(!recorder.wants_calls() || recorder.recognize(&brief, left)) << index;
                }
            }
            if known.count_ones() as usize == self.recorders.len() {
                return open.words.forget_told(&self.words[..on_entry], &mut caller.objects);
            }
            open.handles = open.words.requests_on_entry(&self.words[..on_entry], &caller.objects);
            open.arguments = self.spare.pop().unwrap_or_default();
            open.words.arguments(&open.handles, &mut caller.objects, &mut open.arguments);
        }
        if code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS {
            let found = open.words.has_found();
            if self.matches && found {
                for matched in &open.words.received(&open.handles, &caller.objects) {
                    self.recorders.iter_mut().for_each(|recorder| recorder.matched(me, matched));
                }
            }
            open.words.results(&mut open.arguments, found, &open.handles, &mut caller.objects);
        }
        for (index, recorder) in self.recorders.iter_mut().enumerate() {
            if known >> index & 1 == 0 {
                recorder.call(&open.call(me), left);
            }
        }
    }
}
