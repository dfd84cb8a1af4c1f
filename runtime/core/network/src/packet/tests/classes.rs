//! Traffic classes share a link by priority or weight.

use super::network;
use crate::message::{Endpoint, Message};
use engine::Time;

/// Three endpoints send 100 KB each, of classes 0, 1 and 2, to a fourth: when each is done, in picoseconds.
fn finish(spec: &str) -> [u64; 3] {
    let mut net = network(spec);
    for class in [2u8, 1, 0] {
        let message = Message {
            source: Endpoint(u32::from(class)),
            destination: Endpoint(3),
            bytes: 102_400,
            id: u64::from(class),
            class,
        };
        net.send(Time::ZERO, &message);
    }
    let mut delivered = Vec::new();
    while net.advance_to_delivery(Time::MAX, &mut delivered) {}
    let mut times = [0; 3];
    delivered.iter().for_each(|d| times[d.id as usize] = d.at.as_ps());
    times
}

const ALONE: u64 = 102_400 * 80;

#[test]
fn strict_priority_lets_the_first_class_through_as_if_it_were_alone() {
    let [first, second, third] = finish("star:n=4,classes=3,packet=1KiB,router=0ns");
    let packet = 1024 * 80;
    assert!(first <= ALONE + 3 * packet, "{first}");
    assert!(second > 2 * ALONE - 3 * packet && second <= 2 * ALONE + 3 * packet, "{second}");
    assert!(third > 3 * ALONE - 3 * packet, "{third}");
}

#[test]
fn weights_share_the_bandwidth_in_their_proportion() {
    // 4:2:1 until class 0 is done at 7/4 of its time alone; then 2:1 until class 1 has sent the other half.
    let [first, second, third] = finish("star:n=4,weights=4:2:1,packet=1KiB,router=0ns");
    let near = |value: u64, times: f64| (value as f64 / (ALONE as f64 * times) - 1.0).abs() < 0.03;
    assert!(near(first, 7.0 / 4.0), "{first}");
    assert!(near(second, 7.0 / 4.0 + 0.75), "{second}");
    assert!(near(third, 3.0), "{third}");
}

#[test]
fn one_class_shares_evenly() {
    let times = finish("star:n=4,packet=1KiB,router=0ns");
    assert!(times.iter().all(|&t| t > 3 * ALONE - 4 * 1024 * 80), "{times:?}");
}
