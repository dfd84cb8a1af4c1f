//! Envelopes of messages, and the patterns of receives that accept them.

use crate::node::{Node, flag};

/// The fields of a message by which receives match it.
#[derive(Clone, Copy, Debug)]
pub struct Envelope {
    /// Context of the communicator.
    pub context: u32,
    /// Rank of the sender in the communicator.
    pub source: u32,
    /// Tag.
    pub tag: i32,
    /// Fingerprint of these, which queues compare first.
    pub key: u32,
}

/// The messages that a receive or probe accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// Context of the communicator.
    pub context: u32,
    /// Sender in the communicator; `None` is any.
    pub source: Option<u32>,
    /// Tag; `None` is any.
    pub tag: Option<i32>,
}

impl Envelope {
    /// Returns the envelope of a message from `source` in the communicator of this context.
    #[inline(always)]
    pub fn new(context: u32, source: u32, tag: i32) -> Envelope {
        Envelope { context, source, tag, key: fingerprint(context, source, tag) }
    }
    /// Returns what a message says of itself.
    #[inline]
    pub fn of(message: &Node) -> Envelope {
        Envelope { context: message.context, source: message.source, tag: message.tag, key: message.key }
    }
}

impl PartialEq for Envelope {
    #[inline(always)]
    fn eq(&self, other: &Envelope) -> bool {
        // The fingerprint follows from the rest.
        self.context == other.context && self.source == other.source && self.tag == other.tag
    }
}

impl Pattern {
    /// Returns what a posted receive accepts.
    #[inline]
    pub fn of(node: &Node) -> Pattern {
        Pattern {
            context: node.context,
            source: (!node.has(flag::WILD)).then_some(node.source),
            tag: (!node.has(flag::ANY_TAG)).then_some(node.tag),
        }
    }
    /// Returns the pattern that accepts messages with this envelope alone.
    pub fn exactly(envelope: &Envelope) -> Pattern {
        Pattern { context: envelope.context, source: Some(envelope.source), tag: Some(envelope.tag) }
    }
    /// Returns `true` if a message with this envelope fits.
    #[inline]
    pub fn accepts(&self, message: &Node) -> bool {
        message.context == self.context
            && self.tag.is_none_or(|tag| tag == message.tag)
            && self.source.is_none_or(|source| source == message.source)
    }
    /// Returns `true` if some message could fit both.
    // In wider numbers, so that no tag or source is taken for "any".
    #[inline]
    pub fn overlaps(&self, other: &Pattern) -> bool {
        let meets = |a: Option<i64>, b: Option<i64>| a.is_none() || b.is_none() || a == b;
        self.context == other.context
            && meets(self.tag.map(i64::from), other.tag.map(i64::from))
            && meets(self.source.map(i64::from), other.source.map(i64::from))
    }
}

/// Returns the fingerprint of an envelope: 15 bits of the source in the upper half, as many of tag and
/// context in the lower. Tags below 2^15 differ.
// Two halves, so that a receive for any source or any tag compares the other half by a mask. 15 bits each:
// the top bit of a half says "any" in the fingerprint of a receive. Equal fingerprints are not equal
// envelopes; who finds one looks at the node.
#[inline(always)]
pub fn fingerprint(context: u32, source: u32, tag: i32) -> u32 {
    upper(source) | lower(context, tag)
}

#[inline(always)]
pub(crate) fn upper(source: u32) -> u32 {
    (source & 0x7fff) << 16
}

// The context is spread by an odd factor (of the golden ratio), because contexts and tags are both small
// numbers from zero.
#[inline(always)]
pub(crate) fn lower(context: u32, tag: i32) -> u32 {
    let tag = tag as u32;
    (tag ^ tag >> 15).wrapping_add(context.wrapping_mul(0x9e37)) & 0x7fff
}
