//! In which order what is open is decided.

use engine::Time;

/// What orders items.
// What processes tell each other of an item: order needs no more, and the item itself stays where its rank is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct Key {
    pub(crate) time: Time,
    pub(crate) rank: u32,
    /// Of the message; the greatest for a poll, which so comes after all receives of its instant.
    pub(crate) source: u32,
}

impl Key {
    /// After all items.
    pub(crate) const LAST: Key = Key { time: Time::MAX, rank: u32::MAX, source: u32::MAX };

    /// Before all items of an instant.
    pub(crate) fn at(time: Time) -> Key {
        Key { time, ..Key::default() }
    }
}
