//! Random numbers that are the same on every host.

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

#[inline]
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Random {
    /// Returns an independent stream for each `stream` of a seed.
    pub fn new(seed: u64, stream: u64) -> Random {
        Random(
            mix(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ mix(stream.wrapping_add(0xd1b5_4a32_d192_ed03))),
        )
    }

    /// Returns the next 64 bits.
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "there is always a next one")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Draws evenly from 0 to below `count`.
    #[inline]
    pub fn below(&mut self, count: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(count)) >> 64) as u32
    }

    /// Draws evenly from above 0 to 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Draws from the exponential law with mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -logarithm(self.unit())
    }
}

/// Returns the natural logarithm of a normal number in (0, 1], by operations that every host rounds alike:
/// the C library's differs between versions and processors in the last bit, which would change arrival times.
#[inline]
fn logarithm(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) as i64 - 1023) as f64;
    let mut mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1.0;
    }
    // ln m = 2 artanh((m-1)/(m+1)), whose argument is at most 0.1716.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let q = s * s;
    let series = 1.0
        + q * (1.0 / 3.0
            + q * (1.0 / 5.0
                + q * (1.0 / 7.0
                    + q * (1.0 / 9.0 + q * (1.0 / 11.0 + q * (1.0 / 13.0 + q * (1.0 / 15.0 + q / 17.0)))))));
    exponent * std::f64::consts::LN_2 + 2.0 * s * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_right() {
        let mut random = Random::new(1, 2);
        for _ in 0..10_000 {
            let x = random.unit();
            assert!((logarithm(x) - x.ln()).abs() <= 1e-13 * x.ln().abs().max(1e-3), "{x}");
        }
        assert_eq!(logarithm(1.0), 0.0);
    }

    #[test]
    fn exponential_gaps_have_mean_one_and_the_right_tail() {
        let mut random = Random::new(7, 0);
        let values: Vec<f64> = (0..200_000).map(|_| random.exponential()).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let tail = values.iter().filter(|&&v| v > 3.0).count() as f64 / values.len() as f64;
        assert!((mean - 1.0).abs() < 0.01 && (tail - (-3.0f64).exp()).abs() < 0.002, "{mean} {tail}");
    }
}
