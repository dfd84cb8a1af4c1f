//! The network trait: every message comes out once, in order of time, however time is advanced.

use super::SMALL;
use crate::message::{Delivered, Endpoint, Message};
use crate::model::Interfaces;
use crate::packet::parse;
use engine::Time;
use proptest::prelude::*;

fn network(spec: &str) -> Box<dyn Interfaces + Send> {
    parse(spec).unwrap().interfaces(1).unwrap()
}

fn drain(spec: &str, messages: &[(u64, u32, u32, u64)], step: Option<u64>) -> Vec<Delivered> {
    let mut net = network(spec);
    let endpoints = net.endpoints() as u32;
    let mut delivered = Vec::new();
    for (id, &(at, source, destination, bytes)) in messages.iter().enumerate() {
        let message = Message {
            source: Endpoint(source % endpoints),
            destination: Endpoint(destination % endpoints),
            bytes,
            id: id as u64,
            class: 0,
        };
        net.send(Time::from_ps(at), &message);
        if step.is_some() && at > 0 {
            while net.advance_to_delivery(Time::from_ps(at - 1), &mut delivered) {}
        }
    }
    let mut until = 0;
    while let Some(next) = net.next_event() {
        until = step.map_or(u64::MAX, |step| until.max(next.as_ps()) + step);
        while net.advance_to_delivery(Time::from_ps(until), &mut delivered) {}
    }
    assert_eq!(net.stuck(), None);
    delivered
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn every_message_comes_once_in_order_however_time_is_advanced(
        kind in 0..SMALL.len(),
        mut messages in
            prop::collection::vec((0u64..3_000_000, any::<u32>(), any::<u32>(), 0u64..20_000), 1..60),
        step in 1u64..1_000_000,
        is_flow: bool,
    ) {
        messages.sort_unstable();
        let level = if is_flow { "level=flow" } else { "buf=8KiB,packet=1KiB" };
        let spec = format!("{},{level}", SMALL[kind]);
        let fine = drain(&spec, &messages, None);
        let coarse = drain(&spec, &messages, Some(step));
        prop_assert_eq!(&fine, &coarse);
        prop_assert!(fine.is_sorted_by_key(|d| (d.at, d.id)));
        let mut ids: Vec<u64> = fine.iter().map(|d| d.id).collect();
        ids.sort_unstable();
        prop_assert!(ids.into_iter().eq(0..messages.len() as u64));
        for d in &fine {
            let (at, source, destination, _) = messages[d.id as usize];
            let net = network(&spec);
            let n = net.endpoints() as u32;
            if source % n != destination % n {
                prop_assert!(d.at.as_ps() >= at + net.lookahead(Endpoint(destination % n)).as_ps());
            }
        }
    }
}

#[test]
fn messages_of_one_instant_leave_in_the_order_in_which_they_were_sent() {
    // Some before, whose places are free again when the others come, and one that is sent later for an
    // earlier time.
    let mut messages: Vec<(u64, u32, u32, u64)> = (0..20).map(|i| (i * 1000, 0, 1, 100)).collect();
    messages.extend([(50_000_000, 0, 1, 9000)].repeat(10));
    messages.push((49_000_000, 0, 1, 100));
    for spec in ["star:n=3", "star:n=3,level=flow"] {
        let delivered = drain(spec, &messages[..20], Some(1));
        assert!(delivered.iter().map(|d| d.id).eq(0..20));
        let delivered = drain(spec, &messages, None);
        assert!(delivered.iter().map(|d| d.id).eq((0..20).chain([30]).chain(20..30)), "{delivered:?}");
    }
}
