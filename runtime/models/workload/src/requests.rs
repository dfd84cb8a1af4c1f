//! The open requests of ranks: most ranks have none, and a rank that has some has them for a short while.

use crate::call::{Awaited, Envelope, Requests};
use crate::stage::CallStage;
use mpi::handle::{MESSAGE_NULL, REQUEST_NULL};
use mpi::request::RequestArray;
use mpi::topology::Cart;
use rank::Addr;
use rustc_hash::FxHashSet;
use std::rc::Rc;

/// A rank without open requests.
pub(crate) const NONE: u32 = u32::MAX;

/// The requests that one rank has made and not completed all of.
#[derive(Default)]
pub(crate) struct Open {
    /// Handles by number; [`REQUEST_NULL`] for those that are complete, and of numbers that are not used.
    pub(crate) handles: Vec<usize>,
    /// Requests, by number, that the call in which the rank is names; `None` for all.
    pub(crate) asked: Option<Rc<[u32]>>,
    /// Handles of messages that were probed and not received, by number; [`MESSAGE_NULL`] of numbers that are
    /// not used.
    pub(crate) messages: Vec<usize>,
    /// The topology for the communicator that the rank makes of a part of a grid (`MPI_Cart_sub`).
    pub(crate) part: Option<Cart>,
    /// The envelope that a blocked probe of the rank waits for, and the message's number if the probe takes
    /// the message (`MPI_Mprobe`).
    pub(crate) probed: Option<(Envelope, Option<u32>)>,
    /// The rest of the call that the rank is blocked in, if it waits several times.
    pub(crate) stage: Option<CallStage>,
}

impl Open {
    /// Puts a request with this number.
    #[inline]
    pub(crate) fn put(&mut self, number: u32, handle: usize) {
        put(&mut self.handles, number, handle, REQUEST_NULL);
    }

    /// Puts a message with this number.
    pub(crate) fn put_message(&mut self, number: u32, handle: usize) {
        put(&mut self.messages, number, handle, MESSAGE_NULL);
    }

    /// Takes the message with this number; [`MESSAGE_NULL`] if there is none.
    pub(crate) fn take_message(&mut self, number: u32) -> usize {
        let place = self.messages.get_mut(number as usize);
        let handle = place.map_or(MESSAGE_NULL, |place| std::mem::replace(place, MESSAGE_NULL));
        let used =
            self.messages.iter().rposition(|&handle| handle != MESSAGE_NULL).map_or(0, |last| last + 1);
        self.messages.truncate(used);
        handle
    }

    /// Returns all handles, if these are the numbers of all; nothing is asked for by itself then.
    #[inline]
    pub(crate) fn whole(&mut self, awaited: &Awaited) -> Option<RequestArray> {
        (awaited.counts_up && awaited.numbers.len() == self.handles.len()).then(|| {
            self.asked = None;
            self.all()
        })
    }

    /// Returns all handles.
    #[inline]
    pub(crate) fn all(&mut self) -> RequestArray {
        array_of(&mut self.handles)
    }

    /// Sets the requests that the rank's present call names.
    pub(crate) fn ask(&mut self, requests: Requests) {
        self.asked = match requests {
            // All of them in their order need no copy.
            Requests::These(these) if !these.iter().copied().eq(0..self.handles.len() as u32) => {
                Some(distinct(these))
            }
            _ => None,
        };
    }
}

/// Returns the numbers without those that come again, as a damaged trace may have them.
fn distinct(numbers: Rc<[u32]>) -> Rc<[u32]> {
    if numbers.windows(2).all(|pair| pair[0] < pair[1]) {
        return numbers;
    }
    let mut known = FxHashSet::default();
    let distinct: Vec<u32> = numbers.iter().copied().filter(|&number| known.insert(number)).collect();
    if distinct.len() == numbers.len() { numbers } else { distinct.into() }
}

/// Returns these handles, as MPI is given them.
#[inline]
pub(crate) fn array_of(handles: &mut [usize]) -> RequestArray {
    RequestArray { at: Addr(handles.as_mut_ptr() as usize), count: handles.len() as u32, wide: true }
}

#[inline]
fn put(handles: &mut Vec<usize>, number: u32, handle: usize, nothing: usize) {
    let place = number as usize;
    if place == handles.len() {
        return handles.push(handle);
    }
    if place > handles.len() {
        handles.resize(place + 1, nothing);
    }
    handles[place] = handle;
}

/// Lists of requests, used again by other ranks when a rank has none any more.
#[derive(Default)]
pub(crate) struct Lists {
    lists: Vec<Open>,
    free: Vec<u32>,
}

impl Lists {
    #[inline]
    pub(crate) fn get(&mut self, list: u32) -> &mut Open {
        &mut self.lists[list as usize]
    }

    /// Takes a list of its own for a rank.
    pub(crate) fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.lists.push(Open::default());
            self.lists.len() as u32 - 1
        })
    }

    /// Clears a list, all of whose requests are complete. Returns `true` if it was given back.
    #[inline]
    pub(crate) fn clear(&mut self, list: u32) -> bool {
        let open = &mut self.lists[list as usize];
        open.handles.clear();
        let over = open.messages.is_empty();
        if over {
            self.free.push(list);
        }
        over
    }

    /// Gives a list back if all its requests are complete: whether it was.
    pub(crate) fn release(&mut self, list: u32) -> bool {
        let open = &mut self.lists[list as usize];
        let used = open.handles.iter().rposition(|&handle| handle != REQUEST_NULL).map_or(0, |last| last + 1);
        open.handles.truncate(used);
        open.asked = None;
        let over = used == 0 && open.messages.is_empty();
        if over {
            self.free.push(list);
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_is_named_twice_is_completed_once() {
        let distinct = |numbers: &[u32]| distinct(numbers.into()).to_vec();
        assert_eq!(distinct(&[1, 2, 5]), [1, 2, 5]);
        assert_eq!(distinct(&[5, 1, 2]), [5, 1, 2]);
        assert_eq!(distinct(&[0, 3, 0, 3, 1]), [0, 3, 1]);
    }
}
