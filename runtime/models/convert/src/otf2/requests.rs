//! Calls that wait to be told: a receive with a request is told its message when it is complete, and a trace
//! tells it when it is posted.
//!
//! So calls queue up behind a receive until that is known. Memory is that of the calls between the two, at
//! most [`MAX_KEPT`].

use ::otf2::{Collective, Message};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// The most calls that are kept.
const MAX_KEPT: usize = 1 << 20;

/// A call with its messages and requests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// One that has nothing but its name: `MPI_Init`, `MPI_Finalize`.
    Plain(&'static str),
    Send(&'static str, Message),
    Recv(Message),
    /// Both messages of an exchange, of which there may be one alone.
    Exchange(Option<Message>, Option<Message>),
    /// With the request's number.
    Isend(&'static str, Message, u64),
    Irecv(Outcome<Message>, u64),
    Collective(Collective),
    Icollective(Outcome<Collective>, u64),
    /// Completion of these requests: by a test if `true`, else by a wait.
    Complete(Vec<u64>, bool),
    /// A test of one that is not.
    Vain(u64),
    /// The function, the communicator that it is made from, and the new one if the rank is in it.
    Make(&'static str, u32, Option<u32>),
}

/// Outcome of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome<T> {
    /// An outcome that is not known yet.
    Open,
    /// It was cancelled.
    Cancelled,
    /// This.
    Known(T),
}

/// A call with times in picoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// Length of the computation before the call.
    pub computed: u64,
    /// Duration of the call.
    pub took: u64,
    pub what: What,
}

impl Item {
    fn is_open(&self) -> bool {
        matches!(self.what, What::Irecv(Outcome::Open, _) | What::Icollective(Outcome::Open, _))
    }
}

/// The calls of a rank that are not made yet.
#[derive(Default)]
pub struct Queue {
    items: VecDeque<Item>,
    /// Number of calls that have left the queue.
    left: u64,
    /// The ones that are to be told something, by their requests: their places, those that left counted, and
    /// where they stand in the file.
    open: FxHashMap<u64, (u64, u64)>,
}

impl Queue {
    /// Appends a call, which stands at this byte.
    ///
    /// # Errors
    /// If too many wait, or the request of one that is under way is used again.
    pub fn push(&mut self, item: Item, at: u64) -> Result<(), String> {
        if self.items.len() >= MAX_KEPT {
            let oldest = self.open.iter().min_by_key(|(_, place)| **place);
            let (request, (_, at)) = oldest.expect("nothing waits without a reason");
            return Err(format!(
                "the request {request}, which was made at byte {at}, is not complete after {MAX_KEPT} more \
                 calls"
            ));
        }
        if let What::Irecv(Outcome::Open, request) | What::Icollective(Outcome::Open, request) = item.what {
            if self.has(request) {
                return Err(format!("the request {request} is made anew before it is complete"));
            }
            self.open.insert(request, (self.left + self.items.len() as u64, at));
        }
        self.items.push_back(item);
        Ok(())
    }

    fn told(&mut self, request: u64) -> Option<&mut What> {
        let (place, _) = self.open.remove(&request)?;
        // Made calls are never open.
        Some(&mut self.items[(place - self.left) as usize].what)
    }

    /// Records that the receive with this request has this message, or none.
    ///
    /// # Errors
    /// If there is no such receive.
    pub fn received(&mut self, request: u64, outcome: Outcome<Message>) -> Result<(), String> {
        match self.told(request) {
            Some(What::Irecv(open, _)) => *open = outcome,
            _ => {
                return Err(format!(
                    "the request {request} has received a message, and no receive with it is under way"
                ));
            }
        }
        Ok(())
    }

    /// Notes that the collective with this request was this one.
    ///
    /// # Errors
    /// If there is no such one.
    pub fn joined(&mut self, request: u64, collective: Collective) -> Result<(), String> {
        match self.told(request) {
            Some(What::Icollective(open, _)) => *open = Outcome::Known(collective),
            _ => {
                return Err(format!(
                    "the request {request} is complete, and no collective with it is under way"
                ));
            }
        }
        Ok(())
    }

    /// Returns `true` if a receive with this request is under way.
    pub fn has(&self, request: u64) -> bool {
        self.open.contains_key(&request)
    }

    /// Takes out the next call of which all is known.
    pub fn pop(&mut self) -> Option<Item> {
        if self.items.front()?.is_open() {
            return None;
        }
        self.left += 1;
        self.items.pop_front()
    }

    /// Returns the request that was made first of those under way, and the byte where.
    pub fn oldest(&self) -> Option<(u64, u64)> {
        self.open.iter().min_by_key(|(_, place)| **place).map(|(&request, &(_, at))| (request, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(what: What) -> Item {
        Item { computed: 0, took: 0, what }
    }

    #[test]
    fn calls_wait_for_what_is_known_of_those_before() {
        let mut queue = Queue::default();
        let message = Message { peer: 1, comm: 0, tag: 2, bytes: 3 };
        for request in [7, 8] {
            queue.push(item(What::Irecv(Outcome::Open, request)), 100 + request).unwrap();
        }
        queue.push(item(What::Recv(message)), 120).unwrap();
        assert_eq!((queue.pop(), queue.oldest()), (None, Some((7, 107))));
        queue.received(8, Outcome::Known(message)).unwrap();
        assert_eq!(queue.pop(), None);
        queue.received(7, Outcome::Cancelled).unwrap();
        assert_eq!(queue.pop(), Some(item(What::Irecv(Outcome::Cancelled, 7))));
        assert_eq!(queue.pop(), Some(item(What::Irecv(Outcome::Known(message), 8))));
        assert_eq!((queue.pop(), queue.pop()), (Some(item(What::Recv(message))), None));
        assert!(queue.received(7, Outcome::Cancelled).unwrap_err().contains("no receive with it"));
    }

    #[test]
    fn what_waits_without_end_is_refused() {
        let mut queue = Queue::default();
        queue.push(item(What::Irecv(Outcome::Open, 1)), 40).unwrap();
        assert!(queue.push(item(What::Irecv(Outcome::Open, 1)), 50).is_err());
        (1..MAX_KEPT).for_each(|_| queue.push(item(What::Plain("MPI_Init")), 60).unwrap());
        let error = queue.push(item(What::Plain("MPI_Init")), 60).unwrap_err();
        assert!(error.contains("request 1, which was made at byte 40"), "{error}");
    }
}
