//! The interface of its node that a message takes.

/// Interfaces of a node at most.
pub(crate) const MAX_INTERFACES: u32 = 64;

/// The interface of its node that a message leaves and enters by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Rail {
    /// By a rank's index in its node: neighbours take different interfaces.
    #[default]
    Rank,
    /// By the part of the node in which a rank is: neighbours share an interface.
    Socket,
    /// By the sum of both ranks' indices in their nodes.
    Peer,
    /// All interfaces together.
    Stripe,
}

const RAILS: [(&str, Rail); 4] =
    [("rank", Rail::Rank), ("socket", Rail::Socket), ("peer", Rail::Peer), ("stripe", Rail::Stripe)];

impl Rail {
    /// Reads a rule's name.
    ///
    /// # Errors
    /// A sentence with all names.
    pub(crate) fn parse(text: &str) -> Result<Rail, String> {
        let rail = RAILS.iter().find(|(word, _)| *word == text).map(|&(_, rail)| rail);
        rail.ok_or_else(|| format!("rail={text} is none of rank, socket, peer and stripe"))
    }

    /// Returns the rule's name.
    pub(crate) fn name(self) -> &'static str {
        RAILS.iter().find(|(_, rail)| *rail == self).map_or("", |(word, _)| word)
    }

    /// Returns the interfaces by which a message leaves and enters, of `count` in each node: the sender has
    /// index `at` of `size` in its node, the receiver `place`. Striped messages take 0.
    pub(crate) fn interfaces(self, at: u32, place: u32, size: u32, count: u32) -> (u32, u32) {
        let part = |index: u32| (u64::from(index) * u64::from(count) / u64::from(size)) as u32;
        match self {
            Rail::Rank => (at % count, place % count),
            Rail::Socket => (part(at), part(place)),
            Rail::Peer => {
                let sum = ((u64::from(at) + u64::from(place)) % u64::from(count)) as u32;
                (sum, sum)
            }
            Rail::Stripe => (0, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_spreads_the_ranks_of_a_node_over_its_interfaces() {
        let leaves = |rail: Rail| (0..8).map(|at| rail.interfaces(at, 1, 8, 4).0).collect::<Vec<_>>();
        assert_eq!(leaves(Rail::Rank), [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(leaves(Rail::Socket), [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(leaves(Rail::Peer), [1, 2, 3, 0, 1, 2, 3, 0]);
        assert_eq!(leaves(Rail::Stripe), [0; 8]);
        assert_eq!(Rail::Socket.interfaces(2, 7, 8, 4), (1, 3));
        assert_eq!(Rail::Peer.interfaces(u32::MAX, u32::MAX, u32::MAX, 64), (62, 62));
    }

    #[test]
    fn names_are_read_and_written_alike() {
        for (name, rail) in RAILS {
            assert_eq!((Rail::parse(name), rail.name()), (Ok(rail), name));
        }
        assert_eq!(Rail::parse("numa").unwrap_err(), "rail=numa is none of rank, socket, peer and stripe");
    }
}
