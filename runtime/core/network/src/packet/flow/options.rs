//! Options of flows that other flow simulators have: factors by size, a window, shares by latency, and links
//! that flows do not share.

use crate::by_size::pieces;
use engine::Span;
use flow::Capacity;
use std::str::FromStr;

/// One part of a factor: factors are whole millionths.
const ONE: u64 = 1_000_000;
/// The greatest factor.
const MAX_FACTOR: u64 = 1000 * ONE;
/// The weight of a flow over the least latency of the network, where shares go by latency. The weights at a
/// link sum up to less than 2^32: with cross traffic, of 20 times the weight, those of 838,000 flows.
const NEAREST_WEIGHT: u64 = 256;

/// A factor for messages from each of some sizes on.
///
/// Reads `FACTOR;BYTES:FACTOR;...`, sizes in ascending order, as costs by size are written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SizeFactors(Vec<(u64, u64)>);

impl Default for SizeFactors {
    fn default() -> SizeFactors {
        SizeFactors(vec![(0, ONE)])
    }
}

impl SizeFactors {
    /// Returns the factor for a message, in millionths.
    fn of(&self, bytes: u64) -> u64 {
        self.0.iter().rev().find(|(from, _)| *from <= bytes).map_or(ONE, |&(_, factor)| factor)
    }

    /// Returns the least factor of any message, in millionths.
    fn least(&self) -> u64 {
        self.0.iter().map(|&(_, factor)| factor).min().unwrap_or(ONE)
    }
}

impl FromStr for SizeFactors {
    type Err = String;

    fn from_str(text: &str) -> Result<SizeFactors, String> {
        let read = |factor: &str| {
            let factor = factor.trim();
            let millionths = factor.parse::<f64>().map_or(0.0, |factor| (factor * ONE as f64).round());
            match (1.0..=MAX_FACTOR as f64).contains(&millionths) {
                true => Ok(millionths as u64),
                false => Err(format!("'{factor}' is not a factor from 0.000001 to 1000")),
            }
        };
        pieces(text, ("factor", "0.9"), ONE, read).map(SizeFactors)
    }
}

/// The rules by which messages are flows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FlowOptions {
    /// Bytes from which on a message is a flow.
    pub(crate) min: u64,
    /// Bytes of a flow that are under way at a time, at most.
    pub(crate) window: Option<u64>,
    /// `true` if flows share a link in inverse proportion to their latencies.
    pub(crate) by_latency: bool,
    /// `true` if each flow has the whole bandwidth of links between routers.
    pub(crate) fat_core: bool,
    /// `true` if the acknowledgements of a flow take a twentieth of its rate on its way back.
    pub(crate) cross_traffic: bool,
    /// The part of a path's bandwidth that a message can have.
    pub(crate) bandwidth: SizeFactors,
    /// The factor of a path's latency.
    pub(crate) latency: SizeFactors,
}

impl FlowOptions {
    /// Returns the options without any, for messages from so many bytes on.
    pub(crate) fn new(min: u64) -> FlowOptions {
        FlowOptions {
            min,
            window: None,
            by_latency: false,
            fat_core: false,
            cross_traffic: false,
            bandwidth: SizeFactors::default(),
            latency: SizeFactors::default(),
        }
    }

    /// Returns the latency of a message over a path of this latency, in picoseconds.
    #[inline]
    pub(crate) fn latency(&self, path: u64, bytes: u64) -> u64 {
        scaled(path, self.latency.of(bytes))
    }

    /// Returns a lower bound on the latency of any message over a path of this latency or more.
    pub(crate) fn least_latency(&self, path: Span) -> Span {
        Span::from_ps(scaled(path.as_ps(), self.latency.least()))
    }

    /// Returns the picoseconds that the bytes of a message take which a path would pass in `span`.
    #[inline]
    pub(crate) fn span(&self, span: u64, bytes: u64) -> u64 {
        match self.bandwidth.of(bytes) {
            ONE.. => span,
            factor => {
                let longer = (u128::from(span) * u128::from(ONE)).div_ceil(u128::from(factor));
                u64::try_from(longer).unwrap_or(u64::MAX)
            }
        }
    }

    /// Returns the bound on the rate of a message of so many bytes and this latency (in picoseconds); `None`
    /// where shared links bound it alone.
    ///
    /// `path` is the capacity of the slowest link of its path, `fat` that of the slowest one that flows do
    /// not share.
    pub(crate) fn bound(
        &self,
        bytes: u64,
        latency: u64,
        path: Option<Capacity>,
        fat: Option<Capacity>,
    ) -> Option<Capacity> {
        let by_size = match self.bandwidth.of(bytes) {
            // A factor above one cannot widen a link.
            ONE.. => None,
            factor => path.map(|path| reduced(path, factor)),
        };
        let by_window = self
            .window
            .filter(|_| latency > 0)
            .map(|window| Capacity { bytes: window, picoseconds: latency.saturating_mul(2) });
        [by_size, by_window, fat].into_iter().flatten().reduce(|one, other| {
            let is_less = u128::from(other.bytes) * u128::from(one.picoseconds)
                < u128::from(one.bytes) * u128::from(other.picoseconds);
            if is_less { other } else { one }
        })
    }

    /// Returns the weight of a flow of this latency, where `nearest` is the least of the network, in
    /// picoseconds.
    #[inline]
    pub(crate) fn weight(&self, latency: u64, nearest: u64) -> u32 {
        if !self.by_latency {
            return 1;
        }
        let weight = (NEAREST_WEIGHT * nearest + latency / 2).checked_div(latency).unwrap_or(NEAREST_WEIGHT);
        weight.clamp(1, NEAREST_WEIGHT) as u32
    }
}

/// Returns a time times a factor in millionths, rounded; saturates.
fn scaled(ps: u64, factor: u64) -> u64 {
    match factor {
        ONE => ps,
        factor => {
            let product = u128::from(ps) * u128::from(factor) + u128::from(ONE / 2);
            u64::try_from(product / u128::from(ONE)).unwrap_or(u64::MAX)
        }
    }
}

/// Returns a capacity times a factor in millionths that is below one.
fn reduced(capacity: Capacity, factor: u64) -> Capacity {
    let (mut bytes, mut picoseconds) =
        (u128::from(capacity.bytes) * u128::from(factor), u128::from(capacity.picoseconds) * u128::from(ONE));
    while bytes.max(picoseconds) > u128::from(u64::MAX) {
        (bytes, picoseconds) = (bytes / 2, picoseconds / 2);
    }
    Capacity { bytes: bytes.max(1) as u64, picoseconds: picoseconds.max(1) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_those_of_the_last_size_reached() {
        let factors: SizeFactors = "0.8;257:0.3381;1KiB:2".parse().unwrap();
        let expected = [(0, 800_000), (256, 800_000), (257, 338_100), (1023, 338_100), (1024, 2_000_000)];
        for (bytes, factor) in expected {
            assert_eq!(factors.of(bytes), factor, "{bytes}");
        }
        assert_eq!(factors.least(), 338_100);
        assert_eq!("64:0.5".parse::<SizeFactors>().unwrap().of(63), ONE);
    }

    #[test]
    fn factors_that_are_none_are_refused_with_their_text() {
        for (text, sentence) in [
            ("0", "'0' is not a factor"),
            ("-1", "'-1' is not a factor"),
            ("nan", "'nan' is not a factor"),
            ("1001", "'1001' is not a factor"),
            ("half", "'half' is not a factor"),
            ("1;0.5", "'0.5' lacks the bytes"),
            ("1;8:2;8:3", "follows that from 8"),
            ("x:1", "'x' is not a number of bytes"),
        ] {
            let error = text.parse::<SizeFactors>().unwrap_err();
            assert!(error.contains(sentence), "{text}: {error}");
        }
        let many = (0..=64).map(|size| format!("{size}:1")).collect::<Vec<_>>().join(";");
        assert!(many.parse::<SizeFactors>().unwrap_err().contains("more than 64"));
    }

    #[test]
    fn the_least_of_all_bounds_bounds_a_flow() {
        let link = Capacity { bytes: 1, picoseconds: 100 };
        let mut options = FlowOptions::new(0);
        assert_eq!(options.bound(1000, 500, Some(link), None), None);
        options.window = Some(4);
        assert_eq!(options.bound(1000, 0, Some(link), None), None, "no round trip, no window");
        assert_eq!(
            options.bound(1000, 500, Some(link), None),
            Some(Capacity { bytes: 4, picoseconds: 1000 })
        );
        options.bandwidth = "0.001".parse().unwrap();
        let bound = options.bound(1000, 500, Some(link), Some(link)).unwrap();
        assert_eq!(bound.bytes as f64 / bound.picoseconds as f64, 1e-5);
        let widest = Capacity { bytes: u64::MAX, picoseconds: u64::MAX };
        let bound = reduced(widest, 500_000);
        assert!((bound.bytes as f64 / bound.picoseconds as f64 - 0.5).abs() < 1e-9);
    }

    #[test]
    fn weights_are_in_inverse_proportion_to_latency() {
        let mut options = FlowOptions::new(0);
        assert_eq!(options.weight(10, 1), 1);
        options.by_latency = true;
        let weights = [1000, 2000, 4000, 3_000_000, 0].map(|latency| options.weight(latency, 1000));
        assert_eq!(weights, [256, 128, 64, 1, 256]);
    }
}
