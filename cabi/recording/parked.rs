//! Calls that have not returned while other ranks call: what is kept of them.
//!
//! A million ranks may be blocked in one collective or with a dozen requests each. So what ranks say alike is
//! kept once, and what stands on the rank's own stack is read again when it is back.

use super::ArgumentRegisters;
use super::OpenCall;
use super::TracedObjects;
use crate::function::Function;
use call_recording::arguments::Handles;
use call_recording::facts::Facts;
use call_recording::level::NestingLevel;
use call_recording::parameter::ArgumentForm;
use engine::Time;
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

/// The calls of a rank that have not returned, but for one that nobody has called after.
pub enum OpenCalls {
    None,
    /// One that is blocked.
    One(Parked),
    /// The innermost last: of functions of the program that MPI calls, or of what cannot be read again.
    Some(Vec<OpenCall>),
}

/// A blocked call.
pub struct Parked {
    frame: usize,
    entered: Time,
    site: u32,
    /// The number of the words on entry in [`WordSequences`]; `NOTHING` if the arguments can be read again
    /// from the stack.
    told: u32,
    function: Function,
    form: ArgumentForm,
}

/// Words of calls on entry, each sequence stored once: no more than calls of the trace that differ.
#[derive(Default)]
pub struct WordSequences {
    all: IndexSet<Box<[u64]>, FxBuildHasher>,
    /// The one that was asked for last: ranks that do alike come one after the other.
    last: usize,
}

/// It said nothing in words.
const NOTHING: u32 = u32::MAX;

impl WordSequences {
    fn number(&mut self, words: &[u64]) -> u32 {
        if self.all.get_index(self.last).is_none_or(|known| **known != *words) {
            self.last = self.all.get_index_of(words).unwrap_or_else(|| self.all.insert_full(words.into()).0);
        }
        u32::try_from(self.last).expect("a trace has fewer than 2^32 calls that differ")
    }
}

impl Parked {
    /// Parks a call that said `words` on entry, if it was told in words; `None` if not all of it can be read
    /// again.
    pub fn of(open: &OpenCall, told: &mut WordSequences, words: &[u64]) -> Option<Parked> {
        let told = match open.brief {
            Some(_) => told.number(words),
            // By reference the program may have given the call the same variable for a result.
            None if open.words.plan.keeps_arguments && !open.words.form().fortran => NOTHING,
            None => return None,
        };
        if open.level != NestingLevel::OUTERMOST {
            return None;
        }
        let OpenCall { function, entered, site, .. } = *open;
        Some(Parked { frame: open.words.frame(), entered, site, told, function, form: open.words.form() })
    }

    /// Returns the call without what it said.
    fn unread(&self) -> OpenCall {
        let Parked { frame, entered, site, function, form, .. } = *self;
        let words = ArgumentRegisters::at(function, form, frame);
        let level = NestingLevel::OUTERMOST;
        OpenCall {
            function,
            level,
            words,
            entered,
            site,
            arguments: Vec::new(),
            brief: None,
            handles: Handles::new(),
        }
    }

    /// Returns the call as it was, of the mounted rank, with what it said on entry in `words` if it was told
    /// in words.
    fn open(&self, told: &WordSequences, objects: &mut TracedObjects, words: &mut Vec<u64>) -> OpenCall {
        let mut open = self.unread();
        if self.told == NOTHING {
            open.words.arguments(&open.handles, objects, &mut open.arguments);
        } else {
            words.clear();
            words.extend_from_slice(&told.all[self.told as usize]);
            open.brief = Some(Facts::of(&open.words, objects));
        }
        open
    }
}

impl OpenCalls {
    /// Returns `true` if there is no call.
    #[inline]
    pub fn is_empty(&self) -> bool {
        matches!(self, OpenCalls::None)
    }

    /// One more, within the others.
    pub fn push(&mut self, open: OpenCall) {
        match self {
            OpenCalls::Some(all) => all.push(open),
            _ => *self = OpenCalls::Some(vec![open]),
        }
    }

    /// Takes out the call at this level, which returns, with what it said on entry in `room` if it was told
    /// in words, whose words are there.
    pub fn pop(
        &mut self,
        level: NestingLevel,
        words: &[u64],
        told: &WordSequences,
        objects: &mut TracedObjects,
        room: &mut Vec<u64>,
    ) -> Option<OpenCall> {
        match std::mem::replace(self, OpenCalls::None) {
            OpenCalls::None => None,
            OpenCalls::One(mut parked) => {
                parked.frame = words.as_ptr() as usize;
                Some(parked.open(told, objects, room))
            }
            OpenCalls::Some(mut all) => {
                let last = all.iter().rposition(|open| open.level == level).map(|at| all.remove(at));
                if let Some(facts) = last.as_ref().and_then(|last| last.brief.as_ref()) {
                    facts.put_back(room);
                }
                if !all.is_empty() {
                    *self = OpenCalls::Some(all);
                }
                last
            }
        }
    }

    /// Returns the innermost call, within which the rank makes another; reads again all of it that is needed.
    pub fn unpark(
        &mut self,
        told: &WordSequences,
        objects: &mut TracedObjects,
        room: &mut Vec<u64>,
    ) -> Option<&mut OpenCall> {
        if matches!(self, OpenCalls::One(_))
            && let OpenCalls::One(parked) = std::mem::replace(self, OpenCalls::None)
        {
            let mut open = parked.open(told, objects, room);
            if let Some(facts) = &mut open.brief {
                facts.keep(room);
            }
            self.push(open);
        }
        if let OpenCalls::Some(all) = self { all.last_mut() } else { None }
    }

    /// Returns `true` if there are calls that are left where a call is made at this level.
    pub fn leaves(&self, level: NestingLevel) -> bool {
        match self {
            OpenCalls::None => false,
            OpenCalls::One(_) => NestingLevel::OUTERMOST.is_left_by(level),
            OpenCalls::Some(all) => all.iter().any(|open| open.level.is_left_by(level)),
        }
    }

    /// Takes the innermost of the calls that are left where a call is made at this level.
    pub fn leave(&mut self, level: NestingLevel) -> Option<OpenCall> {
        match self {
            OpenCalls::One(_) if NestingLevel::OUTERMOST.is_left_by(level) => {
                let OpenCalls::One(parked) = std::mem::replace(self, OpenCalls::None) else { return None };
                Some(parked.unread())
            }
            OpenCalls::Some(all) => {
                let left = all.iter().rposition(|open| open.level.is_left_by(level)).map(|at| all.remove(at));
                if all.is_empty() {
                    *self = OpenCalls::None;
                }
                left
            }
            _ => None,
        }
    }

    /// Returns all calls, from the outermost; of one that was parked its arguments are not known any more.
    pub fn calls(self) -> Vec<OpenCall> {
        match self {
            OpenCalls::None => Vec::new(),
            OpenCalls::One(parked) => vec![parked.unread()],
            OpenCalls::Some(all) => all,
        }
    }
}
