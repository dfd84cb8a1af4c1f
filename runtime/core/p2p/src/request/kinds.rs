//! What requests are, and what is known of them.

use super::persistent::Template;
use crate::chapter::id::{ChapterId, Token};
use crate::handle;
use engine::Time;
use rank::{Addr, memory};
use std::rc::Rc;

pub use objects::abi::{
    MPI_ANY_SOURCE as ANY_SOURCE, MPI_ANY_TAG as ANY_TAG, MPI_PROC_NULL as PROC_NULL, MPI_ROOT as ROOT,
    MPI_UNDEFINED as UNDEFINED,
};

/// The contents of a status (MPI 5.0 chapter 3.2.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// Rank of the sender.
    pub source: i32,
    /// Tag.
    pub tag: i32,
    /// Error class, where statuses carry it.
    pub error: i32,
    /// Payload bytes.
    pub bytes: u64,
    /// `true` if the request was cancelled.
    pub cancelled: bool,
}

impl Status {
    /// The empty status.
    pub const EMPTY: Status =
        Status { source: ANY_SOURCE, tag: ANY_TAG, error: 0, bytes: 0, cancelled: false };
    /// The status of a receive from `MPI_PROC_NULL`.
    pub const PROC_NULL: Status =
        Status { source: PROC_NULL, tag: ANY_TAG, error: 0, bytes: 0, cancelled: false };
}

/// Null handles after which there may be many, and handles that are looked at in one step then.
const MAX_STEPPED: u32 = 4;
const AT_ONCE: u32 = 32;

/// The program's array of request handles.
#[derive(Clone, Copy, Debug)]
pub struct RequestArray {
    /// First handle.
    pub at: Addr,
    /// Number of handles.
    pub count: u32,
    /// `true` if a handle takes 64 bits (C) or 32 (Fortran).
    pub wide: bool,
}

impl RequestArray {
    /// Handle `index`.
    #[inline]
    pub fn get(&self, index: u32) -> usize {
        if self.wide {
            memory::load::<usize>(self.at.offset(i64::from(index) * 8))
        } else {
            memory::load::<i32>(self.at.offset(i64::from(index) * 4)) as usize
        }
    }
    /// Replaces handle `index`.
    #[inline]
    pub fn set(&self, index: u32, handle: usize) {
        if self.wide {
            memory::store::<usize>(self.at.offset(i64::from(index) * 8), handle);
        } else {
            memory::store::<i32>(self.at.offset(i64::from(index) * 4), handle as i32);
        }
    }
    /// Replaces all handles.
    #[inline]
    pub fn fill(&self, handle: usize) {
        if self.wide {
            (0..i64::from(self.count))
                .for_each(|index| memory::store::<usize>(self.at.offset(index * 8), handle));
        } else {
            (0..i64::from(self.count))
                .for_each(|index| memory::store::<i32>(self.at.offset(index * 4), handle as i32));
        }
    }
    /// Returns all handles that are not null, with their places: of a long array that is waited for piece by
    /// piece most are null in the end.
    #[inline]
    pub fn active(self) -> impl Iterator<Item = (u32, usize)> {
        self.active_from(0)
    }
    /// [`RequestArray::active`] from this place on.
    #[inline]
    fn active_from(self, mut next: u32) -> impl Iterator<Item = (u32, usize)> {
        std::iter::from_fn(move || {
            let index = self.behind_nulls(next);
            next = index + 1;
            (index < self.count).then(|| (index, self.get(index)))
        })
    }
    /// Returns the first index from `from` on whose handle is not null.
    #[inline]
    pub fn next_active(&self, from: u32) -> Option<u32> {
        Some(self.behind_nulls(from)).filter(|&index| index < self.count)
    }
    /// Returns how many null handles it begins with.
    #[inline]
    pub fn nulls(&self) -> u32 {
        self.behind_nulls(0)
    }
    /// Returns all but its first handles.
    #[inline]
    pub fn behind(self, first: u32) -> RequestArray {
        let width = if self.wide { 8 } else { 4 };
        RequestArray {
            at: self.at.offset(i64::from(first) * width),
            count: self.count - first,
            wide: self.wide,
        }
    }
    /// Returns the first place from `index` on whose handle is not null, or the array's end.
    #[inline]
    fn behind_nulls(&self, from: u32) -> u32 {
        let mut index = from;
        while index < self.count && self.get(index) == handle::REQUEST_NULL {
            index += 1;
            if index == from + MAX_STEPPED {
                index = self.behind_long_nulls(index);
            }
        }
        index
    }
    /// Returns the index behind whole steps of null handles, without a branch for each of them.
    #[inline(never)]
    fn behind_long_nulls(&self, mut index: u32) -> u32 {
        let steps = i64::from(AT_ONCE);
        let (null_wide, null) = (handle::REQUEST_NULL as u64, handle::REQUEST_NULL as u32);
        while index + AT_ONCE <= self.count {
            let are_null = if self.wide {
                let from = self.at.offset(i64::from(index) * 8);
                (0..steps).fold(0, |set, step| set | (memory::load::<u64>(from.offset(step * 8)) ^ null_wide))
                    == 0
            } else {
                let from = self.at.offset(i64::from(index) * 4);
                (0..steps).fold(0, |set, step| set | (memory::load::<u32>(from.offset(step * 4)) ^ null)) == 0
            };
            if !are_null {
                break;
            }
            index += AT_ONCE;
        }
        index
    }
    /// Returns all handles.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |index| self.get(index))
    }
}

/// An array of request handles that is looked through from some place on, and then from its beginning to
/// there.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// The handles.
    pub requests: RequestArray,
    /// Index of the first handle that is looked at.
    pub from: u32,
}

impl Round {
    /// Returns all handles that are not null, with their places, in the order of the round.
    #[inline]
    pub fn active(self) -> impl Iterator<Item = (u32, usize)> {
        let Round { requests, from } = self;
        let until = RequestArray { count: from, ..requests };
        requests.active_from(from).chain(until.active())
    }
}

/// The callbacks of a generalized request; each returns an MPI error code.
pub struct Generalized {
    /// `query_fn`: fills the status.
    pub query: Rc<dyn Fn(&mut Status) -> i32>,
    /// `free_fn`.
    pub free: Rc<dyn Fn() -> i32>,
    /// `cancel_fn`, told whether the request is complete.
    pub cancel: Rc<dyn Fn(bool) -> i32>,
}

/// The kind of a request in the request table, with its data.
pub enum Body {
    /// A send that completes when it is matched.
    Synchronous {
        /// Number among what the rank sends over a shared network; else 0.
        sequence: u64,
    },
    /// A persistent request; its active part, if started.
    Persistent {
        /// The operation that it starts.
        template: Box<Template>,
        /// The request of the started operation.
        active: Option<usize>,
    },
    /// An operation of another chapter, a nonblocking collective for one.
    Chapter {
        /// Number of the chapter.
        chapter: ChapterId,
        /// The chapter's identifier of the operation.
        token: Token,
    },
    /// A generalized request.
    Generalized(Box<Generalized>),
    /// A send of a rank of another process, which waits for its match here.
    Away {
        /// Number of the sender's process.
        process: u32,
        /// Its request there.
        request: u32,
        /// Number among what the rank sends over a shared network; else 0.
        sequence: u64,
    },
}

/// A request in the table.
pub struct Request {
    /// Whose (world rank).
    pub owner: u32,
    /// When it completes, once known.
    pub done: Option<Time>,
    /// `true` if the owner is blocked for it.
    pub waited: bool,
    /// `true` if its completion and its end are reported to the array that it stands in.
    pub watched: bool,
    /// `true` if the program freed it while active.
    pub orphan: bool,
    /// The request's kind and data.
    pub body: Body,
}

/// State of an array of requests whose rank is to wait for all of them.
#[derive(Clone, Copy, Debug)]
pub struct Awaited {
    /// `true` if some are not complete.
    pub waits: bool,
    /// `true` if those that are complete then have been completed without being looked at again, but for what
    /// was noted down.
    pub all_ignored: bool,
    /// Bytes that completing sends among the others would copy out.
    pub unread: u64,
}

/// Completion state of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Completion {
    /// Nothing to wait for: null or inactive.
    Null,
    /// It completes, or has completed, then.
    At(Time),
    /// Not known yet.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn null_handles_are_passed_over_up_to_the_first_that_is_not(
            nulls in 0..200_usize,
            rest in proptest::collection::vec(any::<bool>(), 0..100),
        ) {
            let null = |is: bool| if is { handle::REQUEST_NULL } else { handle::REQUEST_SENT };
            let mut handles = vec![handle::REQUEST_NULL; nulls];
            handles.extend(rest.into_iter().map(null));
            let array =
                RequestArray { at: Addr(handles.as_ptr() as usize), count: handles.len() as u32, wide: true };
            let first = handles.iter().take_while(|&&handle| handle == handle::REQUEST_NULL).count();
            prop_assert_eq!(array.nulls() as usize, first);
            let active: Vec<_> = array.active().collect();
            let model: Vec<_> = handles
                .iter()
                .enumerate()
                .filter(|(_, handle)| **handle != handle::REQUEST_NULL)
                .map(|(at, &handle)| (at as u32, handle))
                .collect();
            prop_assert_eq!(&active, &model);
            let behind: Vec<_> = array.behind(array.nulls()).iter().collect();
            prop_assert_eq!(&behind[..], &handles[first..]);
            for from in [0, first / 2, first, handles.len()] {
                let round: Vec<_> = Round { requests: array, from: from as u32 }.active().collect();
                let turned = model.partition_point(|&(at, _)| (at as usize) < from);
                prop_assert_eq!(round, [&model[turned..], &model[..turned]].concat());
            }
        }
    }
}
