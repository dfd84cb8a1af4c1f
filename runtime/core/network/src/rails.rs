//! Interfaces of nodes in a network with routers: a node has several of the network's endpoints.

use crate::divisor::Divisor;
use crate::message::Endpoint;
use crate::spec::Rail;

/// The endpoints of a network that are the interfaces of each node.
///
/// The interfaces of a node are consecutive endpoints, or those of `wired` nodes are dealt: the first
/// interfaces of all come before the second ones, as in a cluster optimized for rails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NodeRails {
    count: u32,
    rail: Rail,
    wired: Divisor,
    /// Endpoints of as many nodes as are wired together.
    block: Divisor,
}

/// Settings of a network's interfaces, as specified.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RailSettings {
    /// Interfaces of a node.
    pub(crate) count: u32,
    /// Rule by which a message takes one.
    pub(crate) rail: Rail,
    /// Nodes whose interfaces are dealt.
    pub(crate) wired: u32,
}

impl NodeRails {
    /// Returns the rails of settings, which have been checked: the product of counts is below 2^32.
    pub(crate) fn new(settings: RailSettings) -> NodeRails {
        let RailSettings { count, rail, wired } = settings;
        NodeRails { count, rail, wired: Divisor::new(wired), block: Divisor::new(wired * count) }
    }

    /// Returns how many whole nodes so many endpoints make.
    pub(crate) fn nodes(&self, endpoints: u64) -> u64 {
        endpoints / u64::from(self.block.divisor()) * u64::from(self.wired.divisor())
    }

    /// Returns the endpoints that so many nodes need, which are wired in whole groups.
    pub(crate) fn endpoints(&self, nodes: u64) -> u64 {
        nodes.div_ceil(u64::from(self.wired.divisor())) * u64::from(self.block.divisor())
    }

    /// Returns the endpoint that is an interface of a node.
    pub(crate) fn endpoint(&self, node: u32, interface: u32) -> Endpoint {
        let (group, index) = self.wired.split(node);
        Endpoint(group * self.block.divisor() + interface * self.wired.divisor() + index)
    }

    /// Returns the endpoints of all interfaces of a node.
    pub(crate) fn all(&self, node: u32) -> impl Iterator<Item = Endpoint> + '_ {
        (0..self.count).map(move |interface| self.endpoint(node, interface))
    }

    /// Returns `true` if long messages take all interfaces at once.
    pub(crate) fn is_striped(&self) -> bool {
        self.rail == Rail::Stripe
    }

    /// Returns the endpoints by which a message leaves and enters: of a node and an index in it each, of
    /// `size` in a node.
    pub(crate) fn path(&self, from: (u32, u32), to: (u32, u32), size: u32) -> (Endpoint, Endpoint) {
        let (leaves, enters) = self.rail.interfaces(from.1, to.1, size, self.count);
        (self.endpoint(from.0, leaves), self.endpoint(to.0, enters))
    }

    /// Returns the parts of a striped message: bytes and interface. Each interface has as many bytes as
    /// another, or one more.
    pub(crate) fn parts(&self, bytes: u64) -> impl Iterator<Item = (u64, u32)> + use<> {
        let count = u64::from(self.count);
        (0..self.count).map(move |index| (bytes / count + u64::from(u64::from(index) < bytes % count), index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;
    use crate::nodes::tests::{arrivals, machine};
    use engine::Time;
    use proptest::prelude::*;

    fn rails(wired: u32) -> NodeRails {
        NodeRails::new(RailSettings { count: 4, rail: Rail::Rank, wired })
    }

    #[test]
    fn interfaces_of_a_node_are_consecutive_or_dealt() {
        let all = |wired, node| rails(wired).all(node).map(|endpoint| endpoint.0).collect::<Vec<_>>();
        assert_eq!((all(1, 0), all(1, 3)), (vec![0, 1, 2, 3], vec![12, 13, 14, 15]));
        assert_eq!((all(2, 0), all(2, 1)), (vec![0, 2, 4, 6], vec![1, 3, 5, 7]));
        assert_eq!(all(2, 3), [9, 11, 13, 15]);
    }

    #[test]
    fn nodes_are_wired_in_whole_groups() {
        assert_eq!((rails(1).nodes(18), rails(4).nodes(31), rails(4).nodes(32)), (4, 4, 8));
        assert_eq!((rails(1).endpoints(5), rails(4).endpoints(5)), (20, 32));
    }

    #[test]
    fn parts_of_a_striped_message_add_up() {
        let bytes: Vec<u64> = rails(1).parts(10).map(|(bytes, _)| bytes).collect();
        assert_eq!(bytes, [3, 3, 2, 2]);
    }

    /// Returns the specifications of two switches of four nodes each with these settings, at each level of
    /// detail.
    fn trees(settings: &str) -> [String; 2] {
        ["packet", "flow"].map(|level| {
            format!("taperedtree:down=16x2,up=16,l=10ns,b=100Gbps,level={level},{settings}/star:4,l=0,b=inf")
        })
    }

    /// Returns the nanoseconds that messages of 1 MB take, sent at once.
    fn times(specification: &str, pairs: &[(u32, u32)]) -> Vec<u64> {
        let messages: Vec<_> = pairs.iter().map(|&(from, to)| (Time::ZERO, from, to, 1_000_000)).collect();
        let arrivals = arrivals(&mut *machine(specification, 32), &messages);
        arrivals.iter().map(|at| at.as_ps() / 1000).collect()
    }

    #[test]
    fn ranks_on_different_rails_do_not_share_an_interface() {
        for tree in trees("nics=4,rail=rank") {
            let found = times(&tree, &[(0, 4), (1, 5)]);
            assert!(found.iter().all(|&time| time < 82_000), "{tree}: {found:?}");
        }
        for tree in trees("nics=2,rail=socket").into_iter().chain(trees("nics=2,rail=peer")) {
            // Ranks 0 and 1 are one part of the node; sums of 0 + 1 and 1 + 2 are on one rail.
            let found = times(&tree, &[(0, 5), (1, 6)]);
            assert!(found.iter().all(|&time| time > 150_000), "{tree}: {found:?}");
        }
    }

    #[test]
    fn a_striped_message_takes_all_interfaces() {
        for tree in trees("nics=4,rail=stripe") {
            let found = times(&tree, &[(0, 4)]);
            assert!((20_000..22_000).contains(&found[0]), "{tree}: {found:?}");
        }
    }

    #[test]
    fn wired_nodes_have_each_rail_at_one_switch() {
        let most = |wired: u32| {
            let tree = format!(
                "taperedtree:down=4x8,up=4,l=1us,b=100Gbps,level=flow,nics=4,wired={wired}/star:4,l=0"
            );
            let messages = [(Time::ZERO, 0, 4, 0)];
            arrivals(&mut *machine(&tree, 32), &messages)[0].as_ps() / 1_000_000
        };
        assert_eq!((most(1), most(4)), (4, 2), "links of a microsecond between neighbouring nodes");
    }

    #[test]
    fn settings_that_do_not_fit_say_what_to_do() {
        let tree = "taperedtree:down=16x2,up=16,level=flow";
        for (settings, why) in [
            ("rail=peer", "rail=... needs several interfaces a node; add nics=2"),
            ("wired=4", "wired=... needs several interfaces a node; add nics=2"),
            ("nics=0", "nics=0 is not a number from 1 to 64"),
            ("nics=65", "nics=65 is not a number from 1 to 64"),
            ("nics=4,rail=numa", "rail=numa is none of rank, socket, peer and stripe"),
            ("nics=4,wired=0", "wired=0 is impossible: at least 1"),
            ("nics=4,wired=4294967295", "wired=4294967295 is not a number of nodes from 1 to"),
        ] {
            let error = Machine::parse(&format!("{tree},{settings}/star:4")).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        let error =
            Machine::parse(&format!("{tree},nics=4/star:4")).unwrap().build(33).unwrap_err().to_string();
        assert!(error.contains("has 32 endpoints, too few for 36"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn every_message_arrives_once_and_not_before_the_lookahead(
            messages in prop::collection::vec((0u64..5_000_000, 0u32..32, 0u32..32, 0u64..20_000), 1..40),
            rail in 0..4usize,
            level in 0..2usize,
        ) {
            let rail = ["rank", "socket", "peer", "stripe"][rail];
            let mut network = machine(&trees(&format!("nics=4,wired=4,rail={rail}"))[level], 32);
            let mut messages: Vec<_> = messages
                .into_iter()
                .filter(|message| message.1 != message.2)
                .map(|message| (Time::from_ps(message.0), message.1, message.2, message.3))
                .collect();
            messages.sort();
            for (arrival, message) in arrivals(&mut *network, &messages).into_iter().zip(&messages) {
                let least = message.0 + network.lookahead(Endpoint(message.2));
                prop_assert!(arrival < Time::MAX && arrival >= least);
            }
        }
    }
}
