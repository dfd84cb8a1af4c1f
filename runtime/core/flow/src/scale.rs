//! The unit of rates, in which capacities are whole numbers.

/// Capacity of a link: so many bytes in so many picoseconds, neither of them 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// Bytes.
    pub bytes: u64,
    /// Picoseconds in which they pass.
    pub picoseconds: u64,
}

impl Capacity {
    /// Returns the same capacity with the least numbers.
    fn reduced(self) -> Capacity {
        assert!(self.bytes > 0 && self.picoseconds > 0, "a capacity is a finite number above 0");
        let common = gcd(u128::from(self.bytes), u128::from(self.picoseconds)) as u64;
        Capacity { bytes: self.bytes / common, picoseconds: self.picoseconds / common }
    }
}

/// Units of a byte in a picosecond.
///
/// Capacities are exact wherever their common denominator allows, and then a share of up to 16 equal flows
/// is exact too. Other values are rounded down by less than one unit, of which the greatest capacity has
/// some 2^57.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scale {
    units: u128,
}

/// Divisible by every number up to 16.
const DIVISIBLE: u128 = 720_720;
/// Capacities stay below this, so that a sum of rates at a link fits 64 bits.
const MAX_UNITS: u128 = 1 << 58;
/// A byte has at most so many units, so that the work of a message ends after virtual time before it
/// overflows.
const MAX_SCALE: u128 = 1 << 100;

impl Scale {
    /// Chooses the unit for links of these capacities.
    pub fn new(capacities: impl Iterator<Item = Capacity>) -> Scale {
        let mut distinct: Vec<Capacity> = Vec::new();
        for capacity in capacities {
            let capacity = capacity.reduced();
            if !distinct.contains(&capacity) {
                distinct.push(capacity);
            }
        }
        Scale { units: Scale::exact(&distinct).unwrap_or_else(|| Scale::rounded(&distinct)) }
    }

    /// Returns a scale at which all capacities are whole numbers, if there is one.
    fn exact(capacities: &[Capacity]) -> Option<u128> {
        let mut common = 1u128;
        for capacity in capacities {
            let picoseconds = u128::from(capacity.picoseconds);
            common = (common / gcd(common, picoseconds)).checked_mul(picoseconds)?;
        }
        let units = |c: &Capacity| u128::from(c.bytes).checked_mul(common / u128::from(c.picoseconds));
        let mut most = 1u128;
        for capacity in capacities {
            most = most.max(units(capacity)?);
        }
        let times = (MAX_UNITS / most).min(MAX_SCALE / common);
        match times {
            0 => None,
            1..DIVISIBLE => Some(common << times.ilog2()),
            _ => Some((common * DIVISIBLE) << (times / DIVISIBLE).ilog2()),
        }
    }

    /// Returns a power of two that makes the greatest capacity nearly as large as it may be.
    fn rounded(capacities: &[Capacity]) -> u128 {
        let fits = |shift: &u32| capacities.iter().all(|&c| scaled(c, 1 << shift) < MAX_UNITS);
        (0..=MAX_SCALE.ilog2()).rev().find(fits).map_or(1, |shift| 1 << shift)
    }

    /// Returns the units of a byte in a picosecond.
    pub fn units_per_byte(&self) -> u128 {
        self.units
    }

    /// Returns the units of a capacity, rounded down, at least one.
    pub fn units(&self, capacity: Capacity) -> u64 {
        scaled(capacity, self.units).clamp(1, MAX_UNITS) as u64
    }

    /// Returns the work of so many bytes for each unit of weight, rounded up: picoseconds times units.
    ///
    /// Saturates where the work takes longer than virtual time lasts.
    pub(crate) fn work(&self, bytes: u64, weight: u32) -> u128 {
        u128::from(bytes).checked_mul(self.units).map_or(u128::MAX, |work| match weight {
            1 => work,
            weight => work.div_ceil(u128::from(weight)),
        })
    }
}

/// Returns the units of a capacity at a scale, rounded down; saturates.
fn scaled(capacity: Capacity, units: u128) -> u128 {
    let (bytes, picoseconds) = (u128::from(capacity.bytes), u128::from(capacity.picoseconds));
    match bytes.checked_mul(units) {
        Some(product) => product / picoseconds,
        // The quotient first: its remainder is below one unit of 2^64.
        None => ((bytes << 64) / picoseconds).saturating_mul(units >> 64),
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_and_their_sixteenths_are_exact() {
        let capacities =
            [(1, 80), (1, 40), (3, 7), (1, 1000)].map(|(bytes, picoseconds)| Capacity { bytes, picoseconds });
        let scale = Scale::new(capacities.into_iter());
        for capacity in capacities {
            let units = u128::from(scale.units(capacity));
            assert_eq!(
                units * u128::from(capacity.picoseconds),
                scale.units_per_byte() * u128::from(capacity.bytes)
            );
            assert!((1..=16).all(|share| units.is_multiple_of(share)), "{units}");
        }
        assert!(u128::from(scale.units(Capacity { bytes: 3, picoseconds: 7 })) > MAX_UNITS / 8);
    }

    #[test]
    fn capacities_without_a_small_denominator_are_rounded_down() {
        let (fast, slow) =
            (Capacity { bytes: u64::MAX / 3, picoseconds: 1 }, Capacity { bytes: 1, picoseconds: u64::MAX });
        let scale =
            Scale::new([fast, slow, Capacity { bytes: 999_999_937, picoseconds: 1_000_000_007 }].into_iter());
        assert_eq!(scale.units(slow), 1);
        assert!(u128::from(scale.units(fast)) > MAX_UNITS / 3);
    }

    #[test]
    fn slow_links_alone_have_fine_units() {
        let scale = Scale::new(std::iter::once(Capacity { bytes: 1, picoseconds: 80_000_000_000_000 }));
        assert!(scale.units(Capacity { bytes: 1, picoseconds: 80_000_000_000_000 }) > 1 << 50);
        assert!(
            scale.work(u64::MAX, 1) > u128::from(u64::MAX) << 60,
            "no message overflows before virtual time ends"
        );
    }
}
