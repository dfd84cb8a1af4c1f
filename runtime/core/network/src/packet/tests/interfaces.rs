//! Whose packet an interface sends next, where messages of several pairs wait in it.

use super::network;
use crate::message::{Delivered, Endpoint, Message};
use crate::model::Shared;
use crate::packet::parse;
use crate::traffic::{Pace, TrafficPattern, TrafficRun};
use crate::{Machine, Network};
use engine::Time;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

/// Sends messages (time, source, destination, bytes) and returns when each is delivered, in picoseconds.
fn arrivals(network: &mut dyn Shared, messages: &[(u64, u32, u32, u64)]) -> Vec<u64> {
    let mut delivered: Vec<Delivered> = Vec::new();
    for (id, &(at, source, destination, bytes)) in (0..).zip(messages) {
        let message =
            Message { source: Endpoint(source), destination: Endpoint(destination), bytes, id, class: 0 };
        while network.advance_to_delivery(Time::from_ps(at.saturating_sub(1)), &mut delivered) {}
        assert_eq!(network.send(Time::from_ps(at), &message), None, "message {id} stays in its node");
    }
    while network.advance_to_delivery(Time::MAX, &mut delivered) {}
    delivered.sort_by_key(|delivered| delivered.id);
    assert_eq!(delivered.len(), messages.len());
    delivered.into_iter().map(|delivered| delivered.at.as_ps()).collect()
}

/// Bytes of a packet, and the picoseconds that it takes on a link.
const PACKET: u64 = 1000;
const SLOT: u64 = 80_000;

/// Returns when each message of endpoint 0 has left: a list of flows with lists of messages. The packet
/// behind the one on the link is chosen when that sets off.
fn reference(messages: &[(u64, u32, u64)], in_turn: bool) -> Vec<u64> {
    struct Interface {
        flows: VecDeque<(u32, VecDeque<(usize, u64)>)>,
        chosen: Option<(usize, u64, bool)>,
        busy: u64,
        left: Vec<u64>,
    }
    impl Interface {
        fn choose(&mut self) -> Option<(usize, u64, bool)> {
            let (flow, mut waiting) = self.flows.pop_front()?;
            let (message, bytes) = waiting.pop_front()?;
            let rest = bytes.saturating_sub(PACKET);
            if rest > 0 {
                waiting.push_front((message, rest));
            }
            if !waiting.is_empty() {
                self.flows.push_back((flow, waiting));
            }
            Some((message, bytes.clamp(1, PACKET), rest == 0))
        }
        fn start(&mut self, now: u64) {
            let Some((message, bytes, is_last)) = self.chosen.take() else { return };
            self.busy = now + bytes * SLOT / PACKET;
            if is_last {
                self.left[message] = self.busy;
            }
            self.chosen = self.choose();
        }
    }
    let mut this = Interface { flows: VecDeque::new(), chosen: None, busy: 0, left: vec![0; messages.len()] };
    let mut coming = messages.iter().enumerate().peekable();
    loop {
        let at = coming.peek().map(|&(_, &(at, ..))| at);
        if this.chosen.is_some() && at.is_none_or(|at| this.busy <= at) {
            this.start(this.busy);
            continue;
        }
        let Some((message, &(at, destination, bytes))) = coming.next() else { return this.left };
        let flow = if in_turn { destination } else { 0 };
        match this.flows.iter_mut().find(|other| other.0 == flow) {
            Some((_, waiting)) => waiting.push_back((message, bytes)),
            None => this.flows.push_back((flow, VecDeque::from([(message, bytes)]))),
        }
        if this.chosen.is_none() {
            this.chosen = this.choose();
            if this.busy <= at {
                this.start(at);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn an_interface_sends_a_packet_of_each_pair_in_turn(
        mut messages in prop::collection::vec((0u64..4_000, 1u32..6, 0u64..6_000), 1..60),
    ) {
        messages.sort_by_key(|message| message.0);
        messages.iter_mut().for_each(|message| message.0 *= 997);
        let sent: Vec<_> =
            messages.iter().map(|&(at, destination, bytes)| (at, 0, destination, bytes)).collect();
        for (queue, in_turn) in [("rr", true), ("fifo", false)] {
            let mut star = network(&format!(
                "star:n=6,packet={PACKET},outq=0,l=0,b=100Gbps,router=0,buf=1MiB,nicq={queue}"
            ));
            let found = arrivals(&mut *star, &sent);
            // Nothing else uses the second link of a message: its last packet passes that at once, behind
            // shorter ones of its pair.
            let expected = reference(&messages, in_turn);
            let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
            let mut order: Vec<usize> = (0..messages.len()).collect();
            order.sort_by_key(|&message| expected[message]);
            for message in order {
                let (_, destination, bytes) = messages[message];
                let last = match bytes % PACKET {
                    0 if bytes > 0 => PACKET,
                    rest => rest.max(1),
                };
                prop_assert!(found[message] >= expected[message] + last * SLOT / PACKET);
                let behind = ends.insert(destination, found[message]).unwrap_or(0);
                prop_assert!(found[message] >= behind);
                prop_assert!(
                    found[message] <= expected[message] + SLOT + last * SLOT / PACKET,
                    "{queue}: {message} of {messages:?}"
                );
            }
        }
    }
}

fn nodes(queue: &str) -> Box<dyn Shared> {
    let text = format!("star:n=4,l=1us,b=10Gbps,router=0ns,{queue}level=packet/star:16,l=0.1us,b=100Gbps");
    match Machine::parse(&text)
        .and_then(|machine| machine.build(64))
        .unwrap_or_else(|error| panic!("{error}"))
        .network
    {
        Network::Shared(network) => network,
        Network::Formula(_) => panic!("{text} is a packet network"),
    }
}

#[test]
fn a_short_message_waits_for_a_packet_of_each_other_pair_of_its_node() {
    // The rank pairs 0-16 to 3-19 of nodes 0 and 1, or one pair that sends four times; then eight bytes from
    // rank 15 to node 2.
    let of_pairs: Vec<_> = (0..4).map(|rank| (0, rank, 16 + rank, 4 << 20)).collect();
    let of_one = vec![(0, 0, 16, 4 << 20); 4];
    let packet = 4096 * 800;
    let alone = arrivals(&mut *nodes(""), &[(1000, 15, 32, 8)])[0];
    for (long, pairs) in [(of_pairs, 4), (of_one, 1)] {
        let messages: Vec<_> = long.into_iter().chain([(1000, 15, 32, 8)]).collect();
        let last = |queue| *arrivals(&mut *nodes(queue), &messages).last().unwrap();
        // The packet on the link and the one chosen behind it come first.
        let waited = last("") - alone;
        assert!(waited <= (pairs + 2) * packet, "{waited} ps behind {pairs} pairs");
        assert!(last("nicq=fifo,") - alone > 4000 * packet);
    }
}

#[test]
fn pairs_share_an_interface_evenly() {
    let ends = arrivals(&mut *nodes(""), &[(0, 0, 16, 1 << 20), (0, 1, 17, 1 << 20), (0, 1, 33, 1 << 20)]);
    let (least, most) = (ends.iter().min().unwrap(), ends.iter().max().unwrap());
    // The first pair is two packets ahead, as nothing waited when it began.
    assert!(most - least <= 3 * 2 * 4096 * 800, "{ends:?}");
    assert!(*least >= 3 * 253 * 4096 * 800, "{ends:?}");
}

/// Returns the results of synthetic traffic in which messages of several packets wait.
fn simulated(queue: &str, threads: u32) -> String {
    let traffic = TrafficRun {
        spec: parse(&format!("torus:4x4x2,packet=512,l=20ns{queue}")).unwrap(),
        jobs: Vec::new(),
        pattern: TrafficPattern::Stencil3d,
        grid: None,
        size: 5000,
        pace: Pace::Interval("100ns".parse().unwrap()),
        fixed: false,
        packets: 60,
        seed: 5,
        threads,
        margins: (0.0, 0.0),
    };
    format!("{:?}", traffic.run(&|_, _| ()).unwrap().simulated.total)
}

#[test]
fn pairs_take_turns_in_synthetic_traffic_if_asked_for_on_any_number_of_threads() {
    let in_turn = simulated(",nicq=rr", 1);
    assert_eq!([2, 4].map(|threads| simulated(",nicq=rr", threads)), [in_turn.clone(), in_turn.clone()]);
    assert_eq!(simulated("", 1), simulated(",nicq=fifo", 1));
    assert_ne!(simulated("", 1), in_turn);
}
