//! Numbers of ranks as sums of what is known of a rank, each times a factor that is a function of the rank
//! count.

use crate::family::Family;
use fit::exact::{Exact, Term, Unfit, exact};
use num_traits::{CheckedMul, CheckedSub, One, Zero};
use smallvec::SmallVec;
use trace::template::Position;

/// The turns of the loops around a number, and its place in an array.
pub type Index = SmallVec<[i64; 3]>;

/// The run, rank and iteration that a number belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SamplePoint {
    /// The index of the run.
    pub run: usize,
    /// The rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Iterations of the loops around, and the index in an array.
    pub index: Index,
    /// The rank in the call's communicator.
    pub position: Position,
}

/// Something that is known of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feature {
    /// 1.
    One,
    /// An index.
    Index(usize),
    /// The rank.
    Rank,
    /// The rank in the call's communicator.
    Member,
    /// [`Family::zeros`].
    Zeros,
    /// The place along a side of a grid.
    Coordinate(usize, usize),
}

impl Feature {
    fn at(self, family: &Family, at: &SamplePoint) -> Option<i64> {
        Some(match self {
            Feature::One => 1,
            Feature::Index(number) => *at.index.get(number)?,
            Feature::Rank => at.rank.into(),
            Feature::Member => at.position.rank.into(),
            Feature::Zeros => family.zeros(at.run, at.rank)?.into(),
            Feature::Coordinate(grid, side) => family.grids[grid].coordinates(at.run, at.rank)[side].into(),
        })
    }
}

/// A sum.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Linear {
    features: Vec<Feature>,
    /// By run.
    factors: Vec<Factors>,
}

/// The factor of each feature, all over one denominator: a rule is asked for each number of each call, and
/// fractions are slow.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Factors {
    above: Vec<i128>,
    below: i128,
}

impl Factors {
    /// Brings these fractions to a common denominator; `None` if they are too large.
    fn of<'a>(factors: impl Iterator<Item = &'a Exact> + Clone) -> Option<Factors> {
        let common = |below: i128, factor: &Exact| {
            i128::checked_mul(below, *factor.denom() / gcd(below, *factor.denom()))
        };
        let below = factors.clone().try_fold(1, common)?;
        let above = factors.map(|factor| i128::checked_mul(*factor.numer(), below / factor.denom()));
        Some(Factors { above: above.collect::<Option<_>>()?, below })
    }

    /// Returns the sum times the denominator.
    fn sum(&self, family: &Family, features: &[Feature], at: &SamplePoint) -> Option<i128> {
        features.iter().zip(&self.above).try_fold(0, |sum, (feature, &factor)| {
            let product =
                if factor == 0 { 0 } else { i128::checked_mul(factor, feature.at(family, at)?.into())? };
            i128::checked_add(sum, product)
        })
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Linear {
    /// Returns the sum with the factors of each feature by run, and others that are the same on all; `None`
    /// if they are too large.
    fn of(
        mut features: Vec<Feature>,
        factors: &[Vec<Exact>],
        fixed: &[(Feature, i64)],
        runs: usize,
    ) -> Option<Linear> {
        let of_run = |run: usize| {
            let fixed = fixed.iter().map(|&(_, factor)| Exact::from(i128::from(factor)));
            let all: Vec<Exact> = factors.iter().map(|factors| factors[run]).chain(fixed).collect();
            Factors::of(all.iter())
        };
        let factors = (0..runs).map(of_run).collect::<Option<_>>()?;
        features.extend(fixed.iter().map(|&(feature, _)| feature));
        Some(Linear { features, factors })
    }

    /// Returns its value; `None` if that is no whole number.
    pub fn at(&self, family: &Family, at: &SamplePoint) -> Option<i64> {
        let factors = &self.factors[at.run];
        let sum = factors.sum(family, &self.features, at)?;
        if sum % factors.below == 0 { i64::try_from(sum / factors.below).ok() } else { None }
    }
}

/// Returns the sum of these features (the first of them 1) that has the values: for each run one, whose
/// factors then must have formulas of these terms. `rows` are ordered by their runs, and there are some of
/// each run but the one that is wanted. O(rows * features^2).
///
/// # Errors
/// Why there is none.
pub fn fit(
    family: &Family,
    terms: &[Term],
    rows: &[&SamplePoint],
    values: &[i64],
    features: &[Feature],
) -> Result<Linear, Unfit> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        match runs.last_mut() {
            Some((_, end)) if rows[*end - 1].run == row.run => *end = place + 1,
            _ => runs.push((place, place + 1)),
        }
    }
    if runs.len() < family.wanted() {
        return Err(Unfit::NoFormula);
    }
    // What does not differ needs no features: most numbers are like that.
    let is_constant =
        runs.iter().all(|&(begin, end)| values[begin..end].iter().all(|&value| value == values[begin]));
    let mut features = if is_constant { vec![Feature::One] } else { features.to_vec() };
    let mut values = values.to_vec();
    // Factors that are known without the rest.
    let mut fixed: Vec<(Feature, i64)> = Vec::new();
    loop {
        let mut solved = Vec::with_capacity(runs.len());
        for &(begin, end) in &runs {
            solved.push(
                solve(family, &rows[begin..end], &values[begin..end], &features).ok_or(Unfit::NoFormula)?,
            );
        }
        let known = |feature: usize| solved.iter().filter_map(move |factors| factors[feature]);
        let Some(unknown) = (0..features.len()).find(|&feature| known(feature).count() < runs.len()) else {
            let factors = (0..features.len())
                .map(|feature| exact(terms, &known(feature).collect::<Vec<_>>(), family.counts.len()));
            return Linear::of(
                features,
                &factors.collect::<Result<Vec<_>, _>>()?,
                &fixed,
                family.counts.len(),
            )
            .ok_or(Unfit::NoFormula);
        };
        // What follows from the others on a run, such as the turn where there is one turn, is not known
        // there: only what runs with more of it agree in is.
        let feature = features.remove(unknown);
        let mut agreed = solved.iter().filter_map(|factors| factors[unknown]);
        let first = agreed
            .next()
            .filter(|first| first.is_integer())
            .and_then(|first| i64::try_from(first.to_integer()).ok());
        if let Some(factor) = first
            && known_again(&mut agreed, factor)
        {
            for (row, value) in rows.iter().zip(&mut values) {
                let part = feature.at(family, row).and_then(|of| of.checked_mul(factor));
                *value = part.and_then(|part| value.checked_sub(part)).ok_or(Unfit::NoFormula)?;
            }
            fixed.push((feature, factor));
        }
    }
}

/// Returns `true` if there are more of these numbers and all are this one.
fn known_again(agreed: &mut dyn Iterator<Item = Exact>, factor: i64) -> bool {
    let mut more = agreed.peekable();
    more.peek().is_some() && more.all(|other| other == Exact::from(i128::from(factor)))
}

/// A row of an echelon form: where its first number that is not 0 is (that is 1), the numbers, and what they
/// sum to.
type Echelon = (usize, Vec<Exact>, Exact);

/// Rows that factors are looked for in before all are looked at: eliminating is much dearer than testing.
const SAMPLE: usize = 128;

/// Returns the factor of each feature, `None` of those that follow from the ones before them; no answer if no
/// factors give the values.
fn solve(
    family: &Family,
    rows: &[&SamplePoint],
    values: &[i64],
    features: &[Feature],
) -> Option<Vec<Option<Exact>>> {
    if rows.len() > 2 * SAMPLE {
        let places = (0..SAMPLE).map(|place| place * (rows.len() - 1) / (SAMPLE - 1));
        let (some, of_some): (Vec<&SamplePoint>, Vec<i64>) =
            places.map(|place| (rows[place], values[place])).unzip();
        let factors = eliminate(family, &some, &of_some, features)?;
        // What does not vary in the sample may vary elsewhere.
        if factors.iter().all(Option::is_some) && is_solved(family, rows, values, features, &factors)? {
            return Some(factors);
        }
    }
    eliminate(family, rows, values, features)
}

/// Returns `true` if the factors give all values; no answer if that cannot be computed.
fn is_solved(
    family: &Family,
    rows: &[&SamplePoint],
    values: &[i64],
    features: &[Feature],
    factors: &[Option<Exact>],
) -> Option<bool> {
    let factors = Factors::of(factors.iter().flatten())?;
    let gives = |(row, &value): (&&SamplePoint, &i64)| {
        let sum = factors.sum(family, features, row);
        sum.is_some() && sum == i128::checked_mul(factors.below, value.into())
    };
    Some(rows.iter().zip(values).all(gives))
}

/// Returns the factors as [`solve`] has them, from all rows.
fn eliminate(
    family: &Family,
    rows: &[&SamplePoint],
    values: &[i64],
    features: &[Feature],
) -> Option<Vec<Option<Exact>>> {
    let mut echelon: Vec<Echelon> = Vec::new();
    for (row, &value) in rows.iter().zip(values) {
        let numbers = features.iter().map(|feature| Some(Exact::from(i128::from(feature.at(family, row)?))));
        let mut numbers: Vec<Exact> = numbers.collect::<Option<_>>()?;
        let mut sum = Exact::from(i128::from(value));
        for (pivot, other, of_other) in &echelon {
            let times = numbers[*pivot];
            if !times.is_zero() {
                for (number, other) in numbers.iter_mut().zip(other) {
                    *number = number.checked_sub(&times.checked_mul(other)?)?;
                }
                sum = sum.checked_sub(&times.checked_mul(of_other)?)?;
            }
        }
        match numbers.iter().position(|number| !number.is_zero()) {
            None if sum.is_zero() => {}
            None => return None,
            Some(pivot) => {
                let scale = Exact::one() / numbers[pivot];
                for number in &mut numbers {
                    *number = number.checked_mul(&scale)?;
                }
                echelon.push((pivot, numbers, sum.checked_mul(&scale)?));
            }
        }
    }
    // From the last pivot back; what is no pivot is 0, because it follows from the others.
    echelon.sort_by_key(|row| row.0);
    let mut factors: Vec<Option<Exact>> = vec![None; features.len()];
    for (pivot, numbers, sum) in echelon.iter().rev() {
        let mut left = *sum;
        for (number, factor) in numbers.iter().zip(&factors).skip(pivot + 1) {
            if let Some(factor) = factor {
                left = left.checked_sub(&number.checked_mul(factor)?)?;
            }
        }
        factors[*pivot] = Some(left);
    }
    Some(factors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Grids;
    use proptest::prelude::*;

    fn all(family: &Family) -> Vec<SamplePoint> {
        let at = |run: usize, rank: u32| SamplePoint {
            run,
            rank,
            index: Index::new(),
            position: Position { rank, peers: family.counts[run] },
        };
        (0..family.wanted()).flat_map(|run| (0..family.counts[run]).map(move |rank| at(run, rank))).collect()
    }

    proptest! {
        #[test]
        fn what_is_linear_in_coordinates_is_found_again(
            by in prop::collection::vec(-20i64..20, 4),
            side in -3i64..4,
        ) {
            let family = Family::new(&[8, 27, 64], 125, Grids::Regular);
            let rows = all(&family);
            let value = |at: &SamplePoint| {
                let grid = &family.grids[0];
                let c = grid.coordinates(at.run, at.rank);
                by[0]
                    + side * i64::from(grid.sides(at.run)[0])
                    + (0..3).map(|d| by[d + 1] * i64::from(c[d])).sum::<i64>()
            };
            prop_assert_eq!(family.grids[0].dimensions(), 3);
            let values: Vec<i64> = rows.iter().map(value).collect();
            let features = [
                Feature::One,
                Feature::Coordinate(0, 0),
                Feature::Coordinate(0, 1),
                Feature::Coordinate(0, 2),
            ];
            let found =
                fit(&family, &family.terms, &rows.iter().collect::<Vec<_>>(), &values, &features).unwrap();
            for rank in 0..125 {
                let position = Position { rank, peers: 125 };
                let at = SamplePoint { run: 3, rank, index: Index::new(), position };
                prop_assert_eq!(found.at(&family, &at), Some(value(&at)));
            }
        }
    }

    #[test]
    fn what_one_run_does_not_tell_is_learned_from_the_others() {
        let family = Family::new(&[2, 4, 8], 16, Grids::Regular);
        let position = Position { rank: 0, peers: 0 };
        let turns = |run: usize| {
            (0..=run as i64).map(move |turn| SamplePoint {
                run,
                rank: 0,
                index: Index::from_slice(&[turn]),
                position,
            })
        };
        let rows: Vec<SamplePoint> = (0..3).flat_map(turns).collect();
        // The bits of the rank count, from the highest.
        let values: Vec<i64> = rows.iter().map(|at| at.run as i64 - at.index[0]).collect();
        let found = fit(
            &family,
            &family.terms,
            &rows.iter().collect::<Vec<_>>(),
            &values,
            &[Feature::One, Feature::Index(0)],
        )
        .unwrap();
        let wanted: Vec<Option<i64>> = turns(3).map(|at| found.at(&family, &at)).collect();
        assert_eq!(wanted, [3, 2, 1, 0].map(Some));
    }

    #[test]
    fn one_number_of_many_that_is_another_is_no_sum() {
        let family = Family::new(&[8, 27, 64], 125, Grids::Regular);
        let rows = all(&family);
        let mut values: Vec<i64> = rows.iter().map(|at| i64::from(at.rank) + 3).collect();
        let rows: Vec<&SamplePoint> = rows.iter().collect();
        assert!(fit(&family, &family.terms, &rows, &values, &[Feature::One, Feature::Rank]).is_ok());
        values[50] += 1;
        assert_eq!(
            fit(&family, &family.terms, &rows, &values, &[Feature::One, Feature::Rank]),
            Err(Unfit::NoFormula)
        );
    }
}
