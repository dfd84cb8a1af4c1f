//! Division of a 32-bit number by a fixed divisor as one multiplication.

/// A divisor known when the network is built, so that coordinates cost a
/// multiplication each instead of a division (Lemire, Kaser and Kurz, "Faster remainder by
/// direct computation", Software: Practice and Experience 49(6), 2019, theorem 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Divisor {
    /// ceil(2^64 / divisor); 0 stands for the 2^64 that a divisor of 1 would need.
    magic: u64,
    divisor: u32,
}

impl Divisor {
    /// `divisor` must not be zero.
    pub(crate) fn new(divisor: u32) -> Divisor {
        assert!(divisor != 0, "a network dimension of size zero");
        Divisor { magic: (u64::MAX / u64::from(divisor)).wrapping_add(1), divisor }
    }

    pub(crate) fn divisor(self) -> u32 {
        self.divisor
    }

    /// `(x / divisor, x % divisor)`.
    #[inline]
    pub(crate) fn split(self, x: u32) -> (u32, u32) {
        if self.magic == 0 {
            return (x, 0);
        }
        let quotient = ((u128::from(x) * u128::from(self.magic)) >> 64) as u32;
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
            prop_assert_eq!(Divisor::new(d).split(x), (x / d, x % d));
            prop_assert_eq!(Divisor::new(d).split(u32::MAX), (u32::MAX / d, u32::MAX % d));
        }
    }
}
