//! Division of a 32-bit number by a fixed divisor as one multiplication.

/// A divisor known when the network is built, so that coordinates cost a multiplication each instead of a
/// division.
///
/// The quotient is floor((x + 1) * m / 2^64) with m = floor((2^64 - 1) / d) = (2^64 - 1 - e) / d, where 0 <=
/// e < d. That product is (x + 1) / d less (x + 1) * (1 + e) / (d * 2^64), which is positive and at most 1 /
/// d, since x + 1 and 1 + e are at most 2^32. For x = q * d + r, (x + 1) / d is q + (r + 1) / d, hence at
/// most q + 1: what is left is at least q and below q + 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Divisor {
    magic: u64,
    divisor: u32,
}

impl Divisor {
    /// `divisor` must not be zero.
    pub(crate) fn new(divisor: u32) -> Divisor {
        assert!(divisor != 0, "a network dimension of size zero");
        Divisor { magic: u64::MAX / u64::from(divisor), divisor }
    }

    pub(crate) fn divisor(self) -> u32 {
        self.divisor
    }

    /// `(x / divisor, x % divisor)`.
    #[inline]
    pub(crate) fn split(self, x: u32) -> (u32, u32) {
        let quotient = ((u128::from(u64::from(x) + 1) * u128::from(self.magic)) >> 64) as u32;
        (quotient, x - quotient * self.divisor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn splits_as_the_hardware_does(x: u32, d in prop_oneof![1u32..=64, 1u32..=u32::MAX]) {
            for x in [x, u32::MAX, x / d * d, (x / d * d).wrapping_sub(1)] {
                prop_assert_eq!(Divisor::new(d).split(x), (x / d, x % d));
            }
        }
    }
}
