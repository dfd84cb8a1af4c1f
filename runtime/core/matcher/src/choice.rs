//! The messages that receives for any source take, and their order.
//!
//! A receive may take a message if the message is the first of its source that the receive accepts, and the
//! receive the first posted that accepts the message. Of the messages that it may take it takes the least by
//! their [`Precedence`].

use crate::envelope::{Envelope, Pattern};
use crate::matching::Matcher;
use crate::node::{Node, flag};
use crate::pending::Pending;
use crate::precedence::Precedence;
use engine::Time;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// Kinds of receives for any source up to which each is asked for its best message.
const MAX_KINDS_ASKED: usize = 4;

/// A receive for any source and the message that it takes, unless a better one arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Arrival of the message.
    pub time: Time,
    /// Rank of the sender in the communicator.
    pub source: u32,
    /// Node of the receive.
    pub receive: u32,
    /// Node of the message.
    pub message: u32,
}

impl Choice {
    /// Returns `true` if this comes before what was found so far.
    fn is_before(&self, other: Option<&Choice>) -> bool {
        other.is_none_or(|other| self.precedence() < other.precedence())
    }
    fn precedence(&self) -> Precedence {
        Precedence { arrival: self.time, source: self.source }
    }
}

impl Matcher {
    /// Returns the first choice of a rank by (time, source, order of posting).
    ///
    /// The rank's other receives for any source are choices once this one is made. O(log messages) where all
    /// accept the same, O(receives x messages) at worst.
    // What the others are depends on how this one is made: one message less, and perhaps a named receive that
    // has its own now.
    pub fn first_choice(&self, rank: u32, at: &Pending) -> Option<Choice> {
        let mut asked: SmallVec<[Pattern; 4]> = SmallVec::new();
        let mut least: Option<Choice> = None;
        let kinds = self.wildcard_kinds(rank, at);
        if kinds > MAX_KINDS_ASKED {
            return self.first_choice_by_message(at);
        }
        for receive in self.posted.iter(at.posted) {
            let node = &self.nodes[receive];
            if !node.has(flag::WILD) {
                continue;
            }
            let pattern = Pattern::of(node);
            if asked.contains(&pattern) {
                continue;
            }
            let best = match asked.is_empty() {
                true => self
                    .unexpected
                    .best(at.unexpected, &pattern, &[], &self.nodes)
                    .map(|(message, _)| message),
                false => self.best_left(at, receive, &pattern),
            };
            let choice = best.map(|message| self.choice(receive, message));
            least = choice.filter(|choice| choice.is_before(least.as_ref())).or(least);
            asked.push(pattern);
            // However many are alike, only the first of them is looked at.
            if asked.len() == kinds {
                break;
            }
        }
        least
    }

    fn choice(&self, receive: u32, message: u32) -> Choice {
        let Node { arrival: time, source, .. } = self.nodes[message];
        Choice { time, source, receive, message }
    }

    /// [`Matcher::first_choice`] of a rank whose receives accept many different things: looks at the
    /// messages. O(messages), of which only those are matched that are earlier than all before.
    // The receives to ask are those that messages lead to. A program that waits for any of N receives with N
    // tags looks at N numbers a call.
    #[inline(never)]
    fn first_choice_by_message(&self, at: &Pending) -> Option<Choice> {
        let mut least: Option<Choice> = None;
        let mut asked: FxHashSet<u32> = FxHashSet::default();
        for message in self.unexpected.iter(at.unexpected) {
            if !self.choice(0, message).is_before(least.as_ref()) {
                continue;
            }
            let first = self.first_posted(at, message);
            let first = first.filter(|&receive| self.nodes[receive].has(flag::WILD) && asked.insert(receive));
            let Some(receive) = first else { continue };
            let best = self.best_left(at, receive, &Pattern::of(&self.nodes[receive]));
            let choice = best.map(|message| self.choice(receive, message));
            least = choice.filter(|choice| choice.is_before(least.as_ref())).or(least);
        }
        least
    }

    /// Returns the best message for a receive for any source that has others before it. Sources whose first
    /// message one of those accepts are left out.
    fn best_left(&self, at: &Pending, receive: u32, pattern: &Pattern) -> Option<u32> {
        let mut left_out: SmallVec<[u32; 8]> = SmallVec::new();
        loop {
            let (message, _) = self.unexpected.best(at.unexpected, pattern, &left_out, &self.nodes)?;
            if self.first_posted(at, message) == Some(receive) {
                return Some(message);
            }
            let Envelope { source, context, .. } = Envelope::of(&self.nodes[message]);
            let from =
                |other: &u32| self.nodes[*other].source == source && self.nodes[*other].context == context;
            // All messages of that source in that context: none may be taken before the first of them is.
            left_out.extend(self.unexpected.iter(at.unexpected).filter(from));
        }
    }

    /// Returns `true` if all receives that a rank has posted are alike, for any source.
    pub fn all_alike(&self, rank: u32, at: &Pending) -> bool {
        at.wildcards != 0
            && self.posted.length(at.posted) == at.wildcards as usize
            && self.wildcard_kinds(rank, at) == 1
    }

    /// Returns what the first posted receive accepts.
    pub fn first_pattern(&self, at: &Pending) -> Option<Pattern> {
        self.posted.front(at.posted).map(|(receive, _)| Pattern::of(&self.nodes[receive]))
    }

    /// Takes the first posted receive, which accepts `pattern`, and its best message that arrives before
    /// `until` out of their queues. O(log messages). The receive still counts as open.
    pub fn take_alike(&mut self, at: &mut Pending, pattern: &Pattern, until: Time) -> Option<(u32, u32)> {
        let (receive, place) = self.posted.front(at.posted)?;
        let (message, found) = self.unexpected.best(at.unexpected, pattern, &[], &self.nodes)?;
        if self.nodes[message].arrival >= until {
            return None;
        }
        self.posted.remove(&mut at.posted, place, &self.nodes);
        self.unexpected.remove(&mut at.unexpected, found, &self.nodes);
        // The next receive is a cache miss, for which there is time while this one takes its message.
        if let Some((next, _)) = self.posted.front(at.posted) {
            self.nodes.prefetch(next);
        }
        Some((receive, message))
    }
}
