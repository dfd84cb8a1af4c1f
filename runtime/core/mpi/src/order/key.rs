//! In which order what is open is decided.

use engine::Time;

/// Sort key of decisions, which are made in ascending order.
// What processes tell each other of a decision: order needs no more, and the decision itself stays where its
// rank is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct Key {
    pub(crate) time: Time,
    /// False for the news of a match that was held ([`What::Told`](crate::order::decision::What::Told)).
    // Whether a match is held is the host's to say. One that is not is told at once, before anything of its
    // instant is decided: so news comes before everything else of the instant, and where nothing takes time
    // on the way nobody can see which way it took.
    pub(crate) rest: bool,
    pub(crate) rank: u32,
    /// Source of the message. A poll has the greatest value, so that it follows all receives of its instant.
    pub(crate) source: u32,
}

impl Key {
    /// After all decisions.
    pub(crate) const LAST: Key = Key { time: Time::MAX, rest: true, rank: u32::MAX, source: u32::MAX };

    /// Returns the key before all decisions of an instant.
    pub(crate) fn at(time: Time) -> Key {
        Key { time, ..Key::default() }
    }
}
