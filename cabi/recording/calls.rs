//! Calls that recorders are told of with their arguments, or in words: from the begin of each to its end.

use super::ArgumentRegisters;
use super::OpenCall;
use super::TracedObjects;
use super::nesting::{LEFT, LeftCodes};
use super::parked::{OpenCalls, Parked};
use super::short::CallOrigin;
use super::{CallRecording, tell_computed};
use crate::call;
use crate::constants::{MPI_ERR_IN_STATUS, MPI_SUCCESS};
use crate::function::Function;
use call_recording::arguments::Handles;
use call_recording::facts::Facts;
use call_recording::level::NestingLevel;
use call_recording::parameter::ArgumentForm;
use engine::Time;
use recorder::{ArgumentValue, CallReturn};

/// So many arrays of arguments are kept for calls to come.
const SPARE: usize = 16;

/// The recorded state of a rank.
pub struct RecordedRank {
    /// Calls that have not returned, but for one that [`CallRecording::last`] has.
    pub under_way: OpenCalls,
    objects: TracedObjects,
    /// When its last call returned.
    left: Time,
}

impl RecordedRank {
    /// Returns a rank that has not called.
    fn new(matches: bool) -> RecordedRank {
        RecordedRank { under_way: OpenCalls::None, objects: TracedObjects::new(matches), left: Time::ZERO }
    }
}

/// Statuses of a call that are elsewhere while a call within it may need their room.
pub struct SavedStatuses {
    /// The rank, and the level of the inner call.
    by: (u32, NestingLevel),
    there: (usize, usize),
    statuses: Box<[u64]>,
}

impl CallRecording {
    /// The mounted rank begins a call of a function.
    pub fn open_call(
        &mut self,
        (me, function): (u32, Function),
        CallOrigin { site, entered, level, .. }: CallOrigin,
        form: ArgumentForm,
        words: &mut [u64],
    ) {
        self.put_away(me);
        let caller = self.callers[(me - self.first) as usize]
            .get_or_insert_with(|| Box::new(RecordedRank::new(self.matches)));
        let left = caller.left;
        if caller.under_way.is_empty() || self.is_first(me, level) {
            tell_computed(&mut self.recorders, me, left, entered);
        }
        let Some(Some(caller)) = self.callers.get_mut((me - self.first) as usize) else { return };
        caller.objects.maker = (function, site);
        let call = ArgumentRegisters::of(function, form, words);
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
        self.last =
            Some((me, OpenCall { function, level, words: call, entered, site, arguments, brief, handles }));
    }

    /// Returns `true` if none of the calls of the mounted rank is around the one that it begins at this
    /// level. Reads again what is needed of the innermost that is, and takes away its statuses where the new
    /// one may write.
    #[cold]
    fn is_first(&mut self, me: u32, level: NestingLevel) -> bool {
        let Some(Some(caller)) = self.callers.get_mut((me - self.first) as usize) else { return true };
        let Some(outer) = caller.under_way.unpark(&self.told, &mut caller.objects, &mut self.words) else {
            return true;
        };
        if !level.is_outermost()
            && let Some(there) = outer.words.statuses().filter(|&there| self.statuses.are_here(there))
        {
            self.covered.push(SavedStatuses { by: (me, level), there, statuses: self.statuses.take(there) });
        }
        false
    }

    /// Ends the calls of the mounted rank at this level and deeper, which it has left without a return: at
    /// its clock, with what `codes` has for their levels.
    #[cold]
    pub fn leave_calls(&mut self, (me, at): (u32, Time), level: NestingLevel, codes: &LeftCodes) {
        self.put_away(me);
        let Some(Some(caller)) = self.callers.get_mut((me - self.first) as usize) else { return };
        while let Some(mut open) = caller.under_way.leave(level) {
            if open.arguments.is_empty() {
                open.words.unknown_arguments(&mut open.arguments);
            }
            let code = codes.iter().find(|(level, _)| *level == open.level).map_or(LEFT, |&(_, code)| code);
            let left = CallReturn { at, code, name: call::code_name(code) };
            self.recorders.iter_mut().for_each(|recorder| recorder.call(&open.call(me), &left));
            caller.left = at;
        }
        self.covered.retain(|covered| covered.by.0 != me || !covered.by.1.is_left_by(level));
    }

    /// Returns `true` if the mounted rank has calls under way that are left where a call is made at this
    /// level.
    #[inline]
    pub fn leaves_calls(&self, me: u32, level: NestingLevel) -> bool {
        let is_last =
            self.last.as_ref().is_some_and(|(rank, open)| *rank == me && open.level.is_left_by(level));
        let caller = self.callers.get((me - self.first) as usize).and_then(|caller| caller.as_ref());
        is_last || caller.is_some_and(|caller| caller.under_way.leaves(level))
    }

    /// The mounted rank's innermost call calls a function of the program on the rank's stack, which may never
    /// return: what the call said is read while its frame is there.
    #[cold]
    pub fn read_before_callback(&mut self, me: u32) {
        self.put_away(me);
        let Some(Some(caller)) = self.callers.get_mut((me - self.first) as usize) else { return };
        let RecordedRank { under_way, objects, .. } = &mut **caller;
        let Some(open) = under_way.unpark(&self.told, objects, &mut self.words) else { return };
        if let Some(facts) = open.brief.take() {
            facts.put_back(&mut self.words);
            open.handles = open.words.requests_on_entry(&self.words, objects);
            open.words.arguments(&open.handles, objects, &mut open.arguments);
        }
    }

    /// The call that was opened last has not returned, and `me` opens another or returns from one: its rank
    /// is blocked, or it has called back.
    // As many as there are ranks may lie there for long, so that they keep no room to grow.
    pub fn put_away(&mut self, me: u32) {
        let Some((rank, mut open)) = self.last.take() else { return };
        let Some(Some(caller)) = self.callers.get_mut((rank - self.first) as usize) else { return };
        if rank != me
            && caller.under_way.is_empty()
            && self.recognized
            && let Some(parked) = Parked::of(&open, &mut self.told, &self.words)
        {
            caller.under_way = OpenCalls::One(parked);
            return self.keep_room(open.arguments);
        }
        open.arguments.shrink_to_fit();
        if let Some(facts) = &mut open.brief {
            facts.keep(&self.words);
        }
        caller.under_way.push(open);
    }

    /// Ends the mounted rank's call with these words, which has returned.
    pub fn close_call(&mut self, (me, at): (u32, Time), level: NestingLevel, words: &[u64], code: i32) {
        let last = self.last.take_if(|(rank, open)| *rank == me && open.level == level).map(|(_, open)| open);
        if last.is_none() {
            self.put_away(me);
        }
        let Some(Some(caller)) = self.callers.get_mut((me - self.first) as usize) else { return };
        let back = |caller: &mut RecordedRank, room| {
            caller.under_way.pop(level, words, &self.told, &mut caller.objects, room)
        };
        let Some(mut open) = last.or_else(|| back(caller, &mut self.words)) else { return };
        open.words.come_back(words);
        caller.left = at;
        // Callbacks may have called meanwhile.
        caller.objects.maker = (open.function, open.site);
        let left = CallReturn { at, code, name: call::code_name(code) };
        self.tell(me, &mut open, &left);
        if let Some(there) = open.words.statuses().filter(|&there| self.statuses.are_here(there)) {
            self.statuses.clear(there);
        }
        if !self.covered.is_empty() {
            self.uncover(me, level);
        }
        if let Some(Some(caller)) = self.callers.get_mut((me - self.first) as usize) {
            caller.objects.share(&mut self.known);
        }
        self.keep_room(open.arguments);
    }

    /// Room for arguments of calls to come.
    // What a million ranks had while they were blocked in one collective is not kept for good.
    #[inline]
    fn keep_room(&mut self, mut arguments: Vec<ArgumentValue>) {
        if arguments.capacity() > 0 && self.spare.len() < SPARE {
            arguments.clear();
            self.spare.push(arguments);
        }
    }

    /// Puts back the statuses that a call of `me` at this level had covered, which is over.
    #[cold]
    fn uncover(&mut self, me: u32, level: NestingLevel) {
        if let Some(place) = self.covered.iter().position(|covered| covered.by == (me, level)) {
            let SavedStatuses { there, statuses, .. } = self.covered.swap_remove(place);
            self.statuses.put_back(there, &statuses);
        }
    }

    /// Tells recorders of a call that has returned, in words as far as all know it by these.
    fn tell(&mut self, me: u32, open: &mut OpenCall, left: &CallReturn) {
        let Some(Some(caller)) = self.callers.get_mut((me - self.first) as usize) else { return };
        let code = left.code;
        // Which recorders know the call, a bit for each: there are few.
        let mut known = 0u64;
        if let Some(facts) = open.brief.take() {
            let on_entry = self.words.len();
            if code == MPI_SUCCESS {
                let brief =
                    facts.brief((me, open.entered), &open.words, &mut caller.objects, &mut self.words);
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
