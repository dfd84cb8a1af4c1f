//! Hints for collective buffering.

use crate::direction::Direction;
use objects::info::Info;

/// Cases in which accesses are buffered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum When {
    /// Accesses whose members' bytes lie between each other's.
    #[default]
    Interleaved,
    /// Wherever anything is accessed.
    Always,
    /// Each member asks the servers for itself.
    Never,
}

/// A file's hints, by ROMIO's names: `cb_nodes`, `cb_buffer_size`, `romio_cb_read`, `romio_cb_write`.
/// What cannot be understood is as if it were not there (MPI 5.0 section 14.2.8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hints {
    /// `romio_cb_read` or `romio_cb_write`: `automatic`, `enable`, `disable`.
    pub when: When,
    /// Aggregators (`cb_nodes`); 0: as many as there are nodes.
    pub nodes: u32,
    /// Bytes of an aggregator's buffer (`cb_buffer_size`).
    pub buffer: u64,
}

impl Default for Hints {
    fn default() -> Hints {
        Hints { when: When::default(), nodes: 0, buffer: 16 << 20 }
    }
}

impl Hints {
    pub(crate) fn of(info: &Info, direction: Direction) -> Hints {
        let text = |key: &str| info.get(key).ok().flatten();
        let number = |key: &str| {
            text(key).and_then(|value| value.trim().parse::<u64>().ok()).filter(|&number| number > 0)
        };
        let key = if direction == Direction::Read { "romio_cb_read" } else { "romio_cb_write" };
        let when = match text(key) {
            Some("enable") => When::Always,
            Some("disable") => When::Never,
            _ => When::Interleaved,
        };
        let nodes = number("cb_nodes").and_then(|nodes| u32::try_from(nodes).ok()).unwrap_or(0);
        Hints { when, nodes, buffer: number("cb_buffer_size").unwrap_or(Hints::default().buffer) }
    }

    /// Encodes the hints in a word; the buffer is in another.
    pub(crate) fn word(self) -> u64 {
        u64::from(self.nodes) << 2 | self.when as u64
    }

    pub(crate) fn from_words(word: u64, buffer: u64) -> Hints {
        let when = match word & 3 {
            0 => When::Interleaved,
            1 => When::Always,
            _ => When::Never,
        };
        Hints { when, nodes: (word >> 2) as u32, buffer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_survive_their_way() {
        for when in [When::Interleaved, When::Always, When::Never] {
            let hints = Hints { when, nodes: u32::MAX, buffer: u64::MAX };
            assert_eq!(Hints::from_words(hints.word(), hints.buffer), hints);
        }
    }

    #[test]
    fn hints_that_say_nothing_change_nothing() {
        let mut info = Info::default();
        for (key, value) in [("cb_nodes", "many"), ("cb_buffer_size", "0"), ("romio_cb_write", "perhaps")] {
            info.set(key, value).unwrap();
        }
        assert_eq!(Hints::of(&info, Direction::Write), Hints::default());
        for (key, value) in [("cb_nodes", "3"), ("cb_buffer_size", "4096"), ("romio_cb_write", "enable")] {
            info.set(key, value).unwrap();
        }
        assert_eq!(Hints::of(&info, Direction::Write), Hints { when: When::Always, nodes: 3, buffer: 4096 });
        assert_eq!(Hints::of(&info, Direction::Read).when, When::Interleaved);
    }
}
