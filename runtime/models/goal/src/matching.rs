//! Receives that wait for a message, and messages that wait for a receive.

use crate::graph::{ANY_SOURCE, ANY_TAG};
use engine::Time;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// A block, a source and a tag, each of the latter perhaps any.
type MatchKey = (u32, i32, i32);

/// A message without a receive.
#[derive(Clone, Copy)]
pub struct Unexpected {
    /// Send of the message, counted over all ranks.
    pub send: u32,
    /// Time at which its receiver is done with it; `None` if it has not begun.
    pub processed: Option<Time>,
}

/// The queues of all ranks.
#[derive(Default)]
pub struct MatchQueues {
    /// Receives without a message, each with the number of its posting.
    posted: FxHashMap<MatchKey, VecDeque<(u64, u32)>>,
    /// Messages without a receive, by their index among `messages`.
    unexpected: FxHashMap<MatchKey, VecDeque<u32>>,
    /// `None` for a message that a receive took.
    messages: Vec<Option<Unexpected>>,
    postings: u64,
}

/// Returns the keys of receives that accept a message; the first alone where no receive has a wildcard.
fn keys(block: u32, source: i32, tag: i32, has_wildcards: bool) -> impl Iterator<Item = MatchKey> {
    let keys = [
        (block, source, tag),
        (block, ANY_SOURCE, tag),
        (block, source, ANY_TAG),
        (block, ANY_SOURCE, ANY_TAG),
    ];
    keys.into_iter().take(if has_wildcards { 4 } else { 1 })
}

impl MatchQueues {
    /// Takes the receive that was posted first of those that accept a message.
    pub fn take_posted(&mut self, block: u32, source: i32, tag: i32, has_wildcards: bool) -> Option<u32> {
        let first = |key: &MatchKey| self.posted.get(key)?.front().map(|&(number, _)| number);
        let numbers = keys(block, source, tag, has_wildcards).filter_map(|key| Some((first(&key)?, key)));
        let (_, key) = numbers.min()?;
        self.posted.get_mut(&key)?.pop_front().map(|(_, receive)| receive)
    }

    /// Posts a receive that has found no message.
    pub fn post(&mut self, block: u32, source: i32, tag: i32, receive: u32) {
        self.postings += 1;
        self.posted.entry((block, source, tag)).or_default().push_back((self.postings, receive));
    }

    /// Takes the message that arrived first of those that a receive accepts.
    pub fn take_unexpected(&mut self, block: u32, source: i32, tag: i32) -> Option<Unexpected> {
        let queue = self.unexpected.get_mut(&(block, source, tag))?;
        // Receives of other keys have taken some.
        while let Some(index) = queue.pop_front() {
            if let Some(message) = self.messages[index as usize].take() {
                return Some(message);
            }
        }
        None
    }

    /// Adds a message that has found no receive.
    pub fn add_unexpected(
        &mut self,
        block: u32,
        source: i32,
        tag: i32,
        has_wildcards: bool,
        found: Unexpected,
    ) {
        let index = self.messages.len() as u32;
        self.messages.push(Some(found));
        for key in keys(block, source, tag, has_wildcards) {
            self.unexpected.entry(key).or_default().push_back(index);
        }
    }

    /// Returns the sends whose messages no receive took, in the order of their arrival.
    pub fn left(&self) -> impl Iterator<Item = u32> {
        self.messages.iter().flatten().map(|message| message.send)
    }
}
