//! Laws by which things fail: how long a rank or a node lasts.

use engine::{Random, Time};

/// The distribution of the time to a failure. Both laws have the mean that they are told, the mean time
/// between failures of one rank or node.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Law {
    /// A constant rate: what has lasted long fails no sooner than what is new.
    Exponential,
    /// Weibull's, with this shape: below 1 most fail early, above 1 late; 1 is the exponential law. Machines'
    /// logs show early failures: Schroeder and Gibson ("A large-scale study of failures in high-performance
    /// computing systems", DSN 2006) found 0.7 to 0.8.
    Weibull(f64),
}

impl Law {
    /// A time to the failure, with the mean `mean` (seconds).
    // Weibull's by its inverse: x = scale * E^(1/shape) with E exponential of mean 1, whose mean is scale *
    // Gamma(1 + 1/shape). `libm` and not the C library, whose last bits differ from version to version.
    pub(crate) fn draw(self, mean: f64, random: &mut Random) -> f64 {
        let exponential = random.exponential();
        match self {
            Law::Exponential => mean * exponential,
            Law::Weibull(shape) => {
                mean / libm::tgamma(1.0 + 1.0 / shape) * libm::pow(exponential, 1.0 / shape)
            }
        }
    }
}

/// Seconds as an instant of virtual time; `None` if that has ended by then.
pub(crate) fn instant(seconds: f64) -> Option<Time> {
    let ps = seconds * 1e12;
    (ps < u64::MAX as f64).then(|| Time::from_ps(ps as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(law: Law) -> Vec<f64> {
        let mut random = Random::new(3, 0);
        (0..200_000).map(|_| law.draw(50.0, &mut random)).collect()
    }

    #[test]
    fn both_laws_have_the_mean_that_they_are_told() {
        for law in [Law::Exponential, Law::Weibull(0.7), Law::Weibull(1.0), Law::Weibull(3.0)] {
            let draws = draws(law);
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            assert!((mean - 50.0).abs() < 0.5, "{law:?}: {mean}");
        }
    }

    // P(X < x) = 1 - exp(-(x / scale)^shape), at the mean: shape 0.7 has Gamma(1 + 1/0.7) = 1.2658, shape 1
    // is exponential.
    #[test]
    fn a_small_shape_fails_early() {
        let before = |law| draws(law).iter().filter(|&&x| x < 50.0).count() as f64 / 200_000.0;
        assert!((before(Law::Exponential) - 0.6321).abs() < 0.004);
        assert!((before(Law::Weibull(1.0)) - 0.6321).abs() < 0.004);
        assert!((before(Law::Weibull(0.7)) - (1.0 - (-1.2658f64.powf(0.7)).exp())).abs() < 0.004);
    }

    #[test]
    fn what_lasts_beyond_the_end_of_time_does_not_fail() {
        assert_eq!(instant(1.5), Some(Time::from_ps(1_500_000_000_000)));
        assert_eq!(instant(1e12), None);
    }
}
