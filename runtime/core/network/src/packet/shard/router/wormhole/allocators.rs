//! The allocators of a wormhole router: one iteration of iSLIP each.

use super::{VcStage, Wormhole};

/// An input's request for an output, for the packet in one of its virtual channels.
#[derive(Clone, Copy)]
pub(super) struct AllocationRequest {
    pub(super) input: u32,
    pub(super) output: u32,
    pub(super) lane: u32,
    /// Turns that the virtual channel is away from being next.
    pub(super) turns: u32,
}

/// Keeps the first in turn: the least of `(turns, which)`.
fn nearer(slot: &mut Option<(u32, u32)>, turns: u32, which: u32) {
    if slot.is_none_or(|(least, _)| turns < least) {
        *slot = Some((turns, which));
    }
}

/// Gives free virtual channels of outputs to the heads that request any. Returns pairs of the virtual channel
/// of an input and of an output.
pub(super) fn allocate(worms: &mut Wormhole, first: usize, count: u32, lanes: u32) -> Vec<(u32, u32)> {
    let mut best = std::mem::take(&mut worms.best);
    best.clear();
    best.resize(2 * count as usize, None);
    let (grants, accepts) = best.split_at_mut(count as usize);
    for channel in 0..count {
        let input = &worms.inputs[first + channel as usize];
        if input.stage != VcStage::Allocate {
            continue;
        }
        for lane in input.lanes.0..input.lanes.1 {
            let output = input.output * lanes + u32::from(lane);
            if !worms.owned[first + output as usize] {
                let turns = (channel + count - worms.grant[first + output as usize]) % count;
                nearer(&mut grants[output as usize], turns, channel);
            }
        }
    }
    for (output, grant) in (0..count).zip(grants.iter()) {
        if let &Some((_, channel)) = grant {
            let turns = (output + count - worms.accept[first + channel as usize]) % count;
            nearer(&mut accepts[channel as usize], turns, output);
        }
    }
    // Pointers move for what was accepted alone, which is what keeps iSLIP's from staying in step with each
    // other (McKeown 1999, section II-C).
    let pairs: Vec<(u32, u32)> = (0..count)
        .zip(accepts.iter())
        .filter_map(|(channel, accept)| accept.map(|(_, output)| (channel, output)))
        .collect();
    for &(channel, output) in &pairs {
        worms.grant[first + output as usize] = (channel + 1) % count;
        worms.accept[first + channel as usize] = (output + 1) % count;
    }
    worms.best = best;
    pairs
}

/// Matches the inputs and outputs that `requests` name, each once at most.
pub(super) fn match_ports(worms: &mut Wormhole, base: u32, stride: u32) -> Vec<AllocationRequest> {
    let requests = std::mem::take(&mut worms.requests);
    let mut granted: Vec<Option<(u32, u32)>> = vec![None; stride as usize];
    for (number, request) in (0..).zip(&requests) {
        let turns = (request.input + stride - worms.switch_grant[(base + request.output) as usize]) % stride;
        nearer(&mut granted[request.output as usize], turns, number);
    }
    let mut accepted: Vec<Option<(u32, u32)>> = vec![None; stride as usize];
    for &(_, number) in granted.iter().flatten() {
        let request = requests[number as usize];
        let turns = (request.output + stride - worms.switch_accept[(base + request.input) as usize]) % stride;
        nearer(&mut accepted[request.input as usize], turns, number);
    }
    let matched: Vec<AllocationRequest> =
        accepted.iter().flatten().map(|&(_, number)| requests[number as usize]).collect();
    for request in &matched {
        worms.switch_grant[(base + request.output) as usize] = (request.input + 1) % stride;
        worms.switch_accept[(base + request.input) as usize] = (request.output + 1) % stride;
        worms.turn[(base + request.input) as usize] = request.lane + 1;
    }
    worms.requests = requests;
    matched
}
