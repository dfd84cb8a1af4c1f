//! Packets between nodes and the formula inside them: a packet network whose every endpoint is a node of
//! analytic levels.
//!
//! A message inside a node takes the formula's time and is answered at once, unless it shares the node's
//! memory. One between nodes takes the latency of its hops to the source's gateways, then the packet network,
//! then the latency of the hops from the destination's gateways. Its bytes take the packet network's time
//! alone: the levels inside are taken to be no narrower.

use crate::analytic::Analytic;
use crate::by_size::BySize;
use crate::divisor::Divisor;
use crate::level_paths::LevelPaths;
use crate::message::{Delivered, DeliveryQueue, Endpoint, Message};
use crate::model::{Formula, Interfaces, Shared};
use crate::packet::{FLOW_MIN, FlowNetwork, LinkSeries, NetworkReport};
use crate::rails::NodeRails;
use engine::{Span, Time};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A packet network of analytic nodes. Endpoint `node * size + place` is at `place` in the node at the
/// packet network's endpoint `node`.
pub(crate) struct NodeNetwork {
    outer: Box<dyn Interfaces + Send>,
    inside: Analytic,
    /// The messages inside all nodes, if they share anything.
    shared: Option<FlowNetwork<LevelPaths>>,
    /// The MPI library's own time for messages between nodes.
    delay: BySize,
    size: Divisor,
    /// The interfaces of each node; `None` if it has one.
    rails: Option<NodeRails>,
    /// Parts of striped messages that are in the packet network, by the message's number.
    parts: FxHashMap<u64, u32>,
    /// Messages on their way to the packet network: by time, then in the order of their sending.
    leaving: BTreeMap<(Time, u64), InterNodeMessage>,
    sent: u64,
    /// The way from the gateways of the messages in the packet network, where it takes time.
    inwards: FxHashMap<u64, Span>,
    /// Messages that the packet network has delivered, on their way to their place.
    entering: DeliveryQueue,
    /// The least time from any place to the packet network.
    least_out: Span,
    /// Messages that would arrive after the end of virtual time.
    lost: u64,
}

/// A message between nodes, and the pair of ranks that it takes turns as in its node's interface.
struct InterNodeMessage {
    message: Message,
    flow: u64,
    /// Nodes of the sender and the receiver of a message that is divided among their interfaces.
    striped: Option<(u32, u32)>,
}

impl NodeNetwork {
    /// Returns the nodes of a network. `inside` is one node; `shared` has all of them, if messages inside a
    /// node share anything.
    pub(crate) fn new(
        outer: Box<dyn Interfaces + Send>,
        inside: Analytic,
        shared: Option<FlowNetwork<LevelPaths>>,
        delay: BySize,
        rails: Option<NodeRails>,
    ) -> NodeNetwork {
        let size = u32::try_from(inside.endpoints()).expect("sizes are 32-bit");
        let least_out = inside.least_outwards();
        let (leaving, inwards, entering, parts) = Default::default();
        NodeNetwork {
            outer,
            inside,
            shared,
            delay,
            size: Divisor::new(size),
            rails,
            parts,
            leaving,
            sent: 0,
            inwards,
            entering,
            least_out,
            lost: 0,
        }
    }

    /// Gives the next message that leaves to the packet network.
    fn inject(&mut self) {
        let Some(((at, _), InterNodeMessage { message, flow, striped })) = self.leaving.pop_first() else {
            return;
        };
        match (striped, self.rails) {
            (Some((from, to)), Some(rails)) => {
                for (bytes, interface) in rails.parts(message.bytes) {
                    let (source, destination) =
                        (rails.endpoint(from, interface), rails.endpoint(to, interface));
                    *self.parts.entry(message.id).or_default() += 1;
                    self.outer.send_of_pair(at, &Message { source, destination, bytes, ..message }, flow);
                }
            }
            _ => self.outer.send_of_pair(at, &message, flow),
        }
    }

    /// Counts a delivery; returns `true` if it is the last of its message's.
    fn is_whole(&mut self, id: u64) -> bool {
        let Some(left) = self.parts.get_mut(&id) else { return true };
        *left -= 1;
        let is_last = *left == 0;
        if is_last {
            self.parts.remove(&id);
        }
        is_last
    }

    /// Returns the number of nodes.
    fn nodes(&self) -> u64 {
        let endpoints = self.outer.endpoints();
        self.rails.map_or(endpoints, |rails| rails.nodes(endpoints))
    }

    /// Returns the least time that the packet network takes to a node.
    fn lookahead_between(&self, node: u32) -> Span {
        match &self.rails {
            None => self.outer.lookahead(Endpoint(node)),
            Some(rails) => rails.all(node).map(|to| self.outer.lookahead(to)).min().unwrap_or(Span::ZERO),
        }
    }

    fn enter(&mut self, delivered: Delivered) {
        if !self.is_whole(delivered.id) {
            return;
        }
        let inwards = self.inwards.remove(&delivered.id).unwrap_or(Span::ZERO);
        match delivered.at.saturating_add(inwards) {
            Time::MAX => self.lost += 1,
            at => self.entering.push(Delivered { at, ..delivered }),
        }
    }
}

impl Shared for NodeNetwork {
    fn endpoints(&self) -> u64 {
        self.nodes() * self.inside.endpoints()
    }

    fn lookahead(&self, to: Endpoint) -> Span {
        let (node, place) = self.size.split(to.0);
        let between = (self.nodes() > 1).then(|| {
            let outer = self.lookahead_between(node).as_ps();
            Span::from_ps(outer.saturating_add(
                (self.least_out + self.inside.inwards(Endpoint(place)) + self.delay.least()).as_ps(),
            ))
        });
        let within = (self.inside.endpoints() > 1).then(|| self.inside.lookahead(Endpoint(place)));
        between.into_iter().chain(within).min().unwrap_or(Span::ZERO)
    }

    fn send(&mut self, at: Time, message: &Message) -> Option<Time> {
        let ((from, source), (to, destination)) =
            (self.size.split(message.source.0), self.size.split(message.destination.0));
        if from == to {
            if let Some(shared) = &mut self.shared {
                return shared.send(at, message);
            }
            return Some(at + self.inside.latency(Endpoint(source), Endpoint(destination), message.bytes));
        }
        let inwards = self.inside.inwards(Endpoint(destination)) + self.delay.time(message.bytes);
        if inwards != Span::ZERO {
            self.inwards.insert(message.id, inwards);
        }
        let leaves = at.saturating_add(self.inside.outwards(Endpoint(source)));
        if leaves == Time::MAX {
            self.lost += 1;
            return None;
        }
        let flow = u64::from(message.source.0) << 32 | u64::from(message.destination.0);
        let ends = match &self.rails {
            None => (Endpoint(from), Endpoint(to)),
            Some(rails) => rails.path((from, source), (to, destination), self.size.divisor()),
        };
        // Striping costs each interface a message, which short ones are not worth.
        let is_striped =
            message.bytes >= FLOW_MIN.into() && self.rails.is_some_and(|rails| rails.is_striped());
        let striped = is_striped.then_some((from, to));
        let message = Message { source: ends.0, destination: ends.1, ..*message };
        self.leaving.insert((leaves, self.sent), InterNodeMessage { message, flow, striped });
        self.sent += 1;
        None
    }

    fn next_event(&self) -> Option<Time> {
        let leaving = self.leaving.keys().next().map(|&(at, _)| at);
        let inside = self.shared.as_ref().and_then(Shared::next_event);
        [leaving, self.entering.next(), inside, self.outer.next_event()].into_iter().flatten().min()
    }

    fn keep_series(&mut self) {
        self.outer.keep_series();
    }

    fn series(&self, end: Time) -> Option<LinkSeries> {
        self.outer.series(end)
    }

    fn report(&self, end: Time) -> NetworkReport {
        let mut report = self.outer.report(end);
        report.places *= self.size.divisor();
        report.rails = self.rails;
        report
    }

    fn advance_to_delivery(&mut self, limit: Time, delivered: &mut Vec<Delivered>) -> bool {
        let mut arrived = Vec::new();
        loop {
            let until = limit.min(self.entering.next().unwrap_or(Time::MAX));
            let leaving = self.leaving.keys().next().map_or(Time::MAX, |&(at, _)| at);
            let inside = self.shared.as_ref().and_then(Shared::next_event).unwrap_or(Time::MAX);
            let outside = self.outer.next_event().unwrap_or(Time::MAX);
            let next = leaving.min(inside).min(outside);
            if next > until || next == Time::MAX {
                break;
            }
            // Messages enter the packet network before what happens in it at the same time, and neither
            // network overtakes what the other may deliver.
            if next == leaving {
                self.inject();
                continue;
            }
            let until = until.min(Time::from_ps(leaving.as_ps() - 1));
            if next == outside {
                self.outer.advance_to_delivery(until.min(inside), &mut arrived);
                arrived.drain(..).for_each(|delivered| self.enter(delivered));
            } else if let Some(shared) = &mut self.shared {
                shared.advance_to_delivery(until.min(outside), &mut arrived);
                arrived.drain(..).for_each(|delivered| self.entering.push(delivered));
            }
        }
        self.entering.deliver_first(limit, delivered)
    }

    fn stuck(&self) -> Option<String> {
        let lost = (self.lost > 0 && self.next_event().is_none()).then(|| {
            format!(
                "virtual time ends at 2^64 picoseconds (213 days), before {} messages between nodes could \
                 arrive; lower l",
                self.lost
            )
        });
        lost.or_else(|| self.outer.stuck()).or_else(|| self.shared.as_ref().and_then(Shared::stuck))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Machine, Network};
    use proptest::prelude::*;

    pub(crate) fn machine(specification: &str, ranks: u32) -> Box<dyn Shared> {
        match Machine::parse(specification)
            .and_then(|machine| machine.build(ranks))
            .unwrap_or_else(|error| panic!("{error}"))
            .network
        {
            Network::Shared(network) => network,
            Network::Formula(_) => panic!("{specification} is a packet network"),
        }
    }

    /// Returns when each message arrives.
    pub(crate) fn arrivals(network: &mut dyn Shared, messages: &[(Time, u32, u32, u64)]) -> Vec<Time> {
        let mut arrivals = vec![Time::MAX; messages.len()];
        let mut delivered = Vec::new();
        let mut waiting = (0..).zip(messages).peekable();
        loop {
            // At one instant messages are sent first.
            let limit = waiting.peek().map_or(u64::MAX, |(_, message)| message.0.as_ps()).checked_sub(1);
            let limit = limit.map(Time::from_ps);
            if limit.is_some_and(|limit| network.advance_to_delivery(limit, &mut delivered)) {
                assert!(delivered.is_sorted_by_key(|delivered| delivered.id), "{delivered:?}");
                let at = delivered[0].at;
                assert!(delivered.iter().all(|delivered| delivered.at == at) && Some(at) <= limit);
                assert!(network.next_event().is_none_or(|event| event > at));
            } else if let Some((id, &(at, source, destination, bytes))) = waiting.next() {
                let message = Message {
                    source: Endpoint(source),
                    destination: Endpoint(destination),
                    bytes,
                    id,
                    class: 0,
                };
                if let Some(arrival) = network.send(at, &message) {
                    delivered.push(Delivered { id, at: arrival });
                }
            } else {
                return arrivals;
            }
            for Delivered { id, at } in delivered.drain(..) {
                assert_eq!(
                    std::mem::replace(&mut arrivals[id as usize], at),
                    Time::MAX,
                    "{id} arrived twice"
                );
            }
        }
    }

    /// Returns the tree of the tests at the flow level.
    fn flows() -> String {
        TREE.replace("level=packet", "level=flow")
    }

    const TREE: &str = "fattree:m=4,n=2,l=10ns,b=100Gbps,router=90ns,level=packet";

    #[test]
    fn a_message_takes_the_formula_inside_and_packets_or_flows_between() {
        for tree in [TREE.to_owned(), flows()] {
            let mut bare = machine(&tree, 8);
            let mut nodes = machine(&format!("{tree}/star:4,l=1us,b=200Gbps"), 32);
            assert_eq!(nodes.endpoints(), 32);
            let at = Time::from_ps(5_000);
            let between = arrivals(&mut *bare, &[(at, 0, 7, 10_000)])[0];
            let found = arrivals(&mut *nodes, &[(at, 1, 30, 10_000), (at, 1, 2, 10_000)]);
            assert_eq!(found, [between + Span::from_ns(2_000), at + Span::from_ps(2_000_000 + 400_000)]);
        }
    }

    #[test]
    fn ways_to_the_gateway_reorder_messages() {
        let mut nodes = machine(&format!("{TREE}/mesh:4,l=1us,b=100Gbps"), 32);
        let far_then_near = [(Time::ZERO, 3, 4, 0), (Time::from_ps(10), 0, 4, 0)];
        let found = arrivals(&mut *nodes, &far_then_near);
        assert_eq!(
            found[0].since(found[1]),
            Span::from_ps(3_000_000 - 10),
            "the second leaves its node first"
        );
    }

    #[test]
    fn a_machine_of_nodes_is_read_and_printed() {
        let text = format!("{TREE}/mesh:2x2,l=1ns,b=inf/star:2,l=1ns,b=1Tbps/rank:gap=1ns,place=round-robin");
        let machine = Machine::parse(&text).unwrap();
        assert_eq!(machine.to_string(), text);
        let built = machine.build(20).unwrap();
        assert_eq!((built.network.endpoints(), built.placement.endpoint(9).0), (64, 9));
        assert_eq!(built.specification, text[..text.len() - "/rank:gap=1ns,place=round-robin".len()]);
        for (bad, why) in [
            (format!("{TREE}/star:l=1us"), "need a size"),
            (format!("{TREE}/stra:2"), "stra"),
            ("star:2/torus:sides=4x4,level=packet".to_owned(), "outermost"),
            (format!("{TREE}/star:2,level=packet"), "outermost"),
        ] {
            let error = Machine::parse(&bad).unwrap_err().to_string();
            assert!(error.contains(why), "{bad}: {error}");
        }
        let error = Machine::parse(&format!("{TREE}/star:2")).unwrap().build(17).unwrap_err().to_string();
        assert!(error.contains("too few"), "{error}");
    }

    #[test]
    fn large_nodes_are_built_without_looking_at_each_endpoint() {
        let started = std::time::Instant::now();
        for node in [
            "star:2147483648",
            "ring:4294967295",
            "torus:65536x32768",
            "mesh:4294967295x1",
            "tree:2147483648",
            "star:65536/ring:32768",
        ] {
            let nodes = machine(&format!("star:level=packet,b=1Gbps/{node},l=1ns"), 64);
            assert!(
                nodes.endpoints() >= 1 << 31 && nodes.lookahead(Endpoint(3)) <= Span::from_ns(2),
                "{node}"
            );
        }
        // Of a few microseconds each; one that visited its endpoints would take seconds.
        assert!(started.elapsed() < std::time::Duration::from_secs(1), "{:?}", started.elapsed());
        let error = Machine::parse("star:n=4,level=packet/star:2147483648")
            .unwrap()
            .build(64)
            .unwrap_err()
            .to_string();
        assert!(error.contains("4 nodes of 2147483648 endpoints each are more than the 2^32 - 1"), "{error}");
    }

    #[test]
    fn the_least_way_out_is_that_of_the_best_endpoint() {
        for node in [
            "star:5,l=3ns",
            "mesh:3x4,l=1ns/star:2,l=7ns",
            "tree:9,l=2ns",
            "ring:6,dir=1,l=5ns",
            "torus:3x3,l=4ns/none:2",
        ] {
            let inside = crate::spec::build(&levels(node), None).unwrap().network;
            let ways = (0..inside.endpoints() as u32).map(|place| inside.outwards(Endpoint(place)));
            assert_eq!(Some(inside.least_outwards()), ways.min(), "{node}");
        }
    }

    fn levels(specification: &str) -> Vec<crate::LevelSpec> {
        match Machine::parse(specification).unwrap_or_else(|error| panic!("{error}")).network {
            crate::NetworkSpec::Levels(levels) => levels,
            crate::NetworkSpec::Packet { .. } => panic!("{specification} has a formula"),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn nodes_without_latency_are_the_packet_network(
            messages in prop::collection::vec((0u64..5_000_000, 0u32..32, 0u32..32, 0u64..20_000), 1..60),
        ) {
            let mut messages: Vec<_> = messages
                .into_iter()
                .filter(|m| m.1 / 4 != m.2 / 4)
                .map(|m| (Time::from_ps(m.0), m.1, m.2, m.3))
                .collect();
            messages.sort();
            // In turn, pairs of ranks are served differently from pairs of nodes.
            let tree = TREE.replace("level", "nicq=fifo,level");
            let bare: Vec<_> = messages.iter().map(|m| (m.0, m.1 / 4, m.2 / 4, m.3)).collect();
            let expected = arrivals(&mut *machine(&tree, 8), &bare);
            prop_assert_eq!(
                arrivals(&mut *machine(&format!("{tree}/star:4,l=0,b=inf"), 32), &messages),
                expected
            );
            let expected = arrivals(&mut *machine(&flows(), 8), &bare);
            prop_assert_eq!(
                arrivals(&mut *machine(&format!("{}/star:4,l=0,b=inf", flows()), 32), &messages),
                expected
            );
        }

        #[test]
        fn lookahead_is_a_lower_bound(
            messages in prop::collection::vec((0u64..5_000_000, 0u32..32, 0u32..32, 0u64..20_000), 1..60),
            inside in 0..3usize,
            is_flow: bool,
        ) {
            let tree = if is_flow { flows() } else { TREE.to_owned() };
            let mut network = machine(
                &format!(
                    "{tree}/{}",
                    ["star:4,l=1us,b=100Gbps", "mesh:2x2,l=3ns,b=inf", "ring:4,dir=1,l=0,b=inf"][inside]
                ),
                32,
            );
            let mut messages: Vec<_> = messages
                .into_iter()
                .filter(|m| m.1 != m.2)
                .map(|m| (Time::from_ps(m.0), m.1, m.2, m.3))
                .collect();
            messages.sort();
            for (arrival, message) in arrivals(&mut *network, &messages).into_iter().zip(&messages) {
                prop_assert!(arrival >= message.0 + network.lookahead(Endpoint(message.2)));
            }
        }
    }
}
