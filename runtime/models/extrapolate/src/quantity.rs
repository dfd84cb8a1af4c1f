//! A number of ranks at all rank counts: the rule that it follows.

use crate::family::Family;
use crate::linear::{self, Feature, Linear, SamplePoint};
use fit::exact::{Term, Unfit};
use std::collections::BTreeMap;

/// The meaning of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NumberMeaning {
    /// A number like others.
    Plain,
    /// A rank of the call's communicator.
    Peer,
}

/// A number of a rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Whose.
    pub at: SamplePoint,
    /// The number; of a rank that it is, not how it was told.
    pub value: i64,
}

/// The formula by which a number follows from a rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RankFormula {
    /// A sum.
    Linear(Linear),
    /// A constant times two to the power of a sum.
    Power(i64, Linear),
}

/// The rule by which a rank or another number follows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RankRule {
    /// It is itself a sum or a power.
    Value(RankFormula),
    /// The rank so far behind the caller, or before it, round the communicator.
    Shift { forwards: bool, by: RankFormula },
    /// So far along each side of a grid, round it.
    Grid { grid: usize, by: Vec<(bool, Linear)> },
    /// The caller's number with these bits turned.
    Xor(RankFormula),
}

/// A number's rule, or one for each kind of ranks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// All ranks have this one.
    One(RankRule),
    /// By the class of the partition in this place.
    Split(usize, BTreeMap<i64, RankRule>),
}

impl RankFormula {
    fn at(&self, family: &Family, at: &SamplePoint) -> Option<i64> {
        match self {
            RankFormula::Linear(linear) => linear.at(family, at),
            RankFormula::Power(odd, exponent) => {
                let exponent =
                    u32::try_from(exponent.at(family, at)?).ok().filter(|&exponent| exponent < 62)?;
                odd.checked_mul(1 << exponent)
            }
        }
    }
}

impl RankRule {
    fn at(&self, family: &Family, at: &SamplePoint) -> Option<i64> {
        let (rank, peers) = (i64::from(at.position.rank), i64::from(at.position.peers.max(1)));
        match self {
            RankRule::Value(value) => value.at(family, at),
            RankRule::Shift { forwards, by } => {
                let by = by.at(family, at)?;
                Some(
                    (if *forwards { rank.checked_add(by)? } else { rank.checked_sub(by)? }).rem_euclid(peers),
                )
            }
            RankRule::Xor(bits) => Some(rank ^ bits.at(family, at)?),
            RankRule::Grid { grid, by } => {
                let grid = &family.grids[*grid];
                let mut to = grid.coordinates(at.run, at.position.rank);
                for ((to, &side), (forwards, by)) in to.iter_mut().zip(grid.sides(at.run)).zip(by) {
                    let by = by.at(family, at)?;
                    *to = (i64::from(*to) + if *forwards { by } else { -by }).rem_euclid(side.into()) as u32;
                }
                Some(grid.rank(at.run, &to).into())
            }
        }
    }
}

impl Quantity {
    /// Returns its value.
    ///
    /// # Errors
    /// A sentence: the number is not whole there, or no trace has a rank of this kind.
    pub fn at(&self, family: &Family, at: &SamplePoint) -> Result<i64, String> {
        let rule = match self {
            Quantity::One(rule) => rule,
            Quantity::Split(partition, rules) => {
                let class = family.class(family.partitions[*partition], at.run, at.rank);
                rules.get(&class).ok_or_else(|| {
                    format!("ranks like {} of {} are in none of the traces", at.rank, family.counts[at.run])
                })?
            }
        };
        rule.at(family, at).ok_or_else(|| {
            format!("its formula gives rank {} of {} no whole number", at.rank, family.counts[at.run])
        })
    }
}

/// Returns the rule that all rows follow; `what` they are. Rows are ordered by run. O(rows), times the rules
/// that are tried.
///
/// # Errors
/// Why there is none: the most that any attempt came to.
pub fn fit(family: &Family, rows: &[Row], what: NumberMeaning) -> Result<Quantity, Unfit> {
    let mut fitting = QuantityFit { family, terms: &[], why: Unfit::NoFormula };
    let all: Vec<&Row> = rows.iter().collect();
    if let Some(rule) = fitting.rule(&all, what) {
        return Ok(Quantity::One(rule));
    }
    for partition in 0..family.partitions.len() {
        if let Some(classes) = split(family, partition, &all, |row| (row.at.run, row.at.rank)) {
            let rules: Option<BTreeMap<i64, RankRule>> =
                classes.into_iter().map(|(class, rows)| Some((class, fitting.rule(&rows, what)?))).collect();
            if let Some(rules) = rules {
                return Ok(Quantity::Split(partition, rules));
            }
        }
    }
    Err(fitting.why)
}

/// Returns the rows of each class, each in their order; `None` if all are of one, or one of the traces has
/// none of a class that another has, from which nothing could be learned.
pub fn split<R: Copy>(
    family: &Family,
    partition: usize,
    rows: &[R],
    place: impl Fn(R) -> (usize, u32),
) -> Option<BTreeMap<i64, Vec<R>>> {
    let mut classes: BTreeMap<i64, Vec<R>> = BTreeMap::new();
    for &row in rows {
        let (run, rank) = place(row);
        classes.entry(family.class(family.partitions[partition], run, rank)).or_default().push(row);
    }
    let runs = |rows: &Vec<R>| {
        let mut runs: Vec<usize> = rows.iter().map(|&row| place(row).0).collect();
        runs.dedup();
        runs.len()
    };
    (classes.len() > 1 && classes.values().all(|rows| runs(rows) == family.wanted())).then_some(classes)
}

struct QuantityFit<'f> {
    family: &'f Family,
    /// Terms of which factors may be functions.
    terms: &'f [Term],
    why: Unfit,
}

impl QuantityFit<'_> {
    /// Returns a rule whose factors are the same on any number of ranks, else one whose factors are functions
    /// of it.
    fn rule(&mut self, rows: &[&Row], what: NumberMeaning) -> Option<RankRule> {
        let family = self.family;
        [&[], family.terms.as_slice()].into_iter().find_map(|terms| {
            self.terms = terms;
            self.any_rule(rows, what)
        })
    }

    fn any_rule(&mut self, rows: &[&Row], what: NumberMeaning) -> Option<RankRule> {
        let at: Vec<&SamplePoint> = rows.iter().map(|row| &row.at).collect();
        let values: Vec<i64> = rows.iter().map(|row| row.value).collect();
        let bases = self.bases(rows);
        if what == NumberMeaning::Plain {
            return self.value(&at, &values, &bases).map(RankRule::Value);
        }
        // A root, or one relative to the caller, before what has to be solved for.
        let simple = &bases[..1];
        if let Some(value) = self.value(&at, &values, simple) {
            return Some(RankRule::Value(value));
        }
        if values.iter().zip(&at).any(|(&value, at)| value < 0 || value >= i64::from(at.position.peers)) {
            return self.value(&at, &values, &bases).map(RankRule::Value);
        }
        self.shift(&at, &values, simple)
            .or_else(|| {
                (0..self.family.grids.len()).find_map(|grid| self.grid(&at, &values, grid, &bases[0]))
            })
            .or_else(|| self.value(&at, &values, &bases).map(RankRule::Value))
            .or_else(|| {
                let bits: Vec<i64> =
                    values.iter().zip(&at).map(|(value, at)| value ^ i64::from(at.position.rank)).collect();
                self.value(&at, &bits, &bases).map(RankRule::Xor)
            })
            .or_else(|| self.shift(&at, &values, &bases))
    }

    fn value(&mut self, at: &[&SamplePoint], values: &[i64], bases: &[Vec<Feature>]) -> Option<RankFormula> {
        let linear = bases.iter().find_map(|basis| self.linear(at, values, basis)).map(RankFormula::Linear);
        linear.or_else(|| {
            let odd = values[0].checked_shr(values[0].trailing_zeros())?;
            let exponent = |&value: &i64| {
                (value > 0 && value >> value.trailing_zeros() == odd).then(|| value.trailing_zeros().into())
            };
            let exponents: Vec<i64> = values.iter().map(exponent).collect::<Option<_>>()?;
            bases
                .iter()
                .find_map(|basis| self.linear(at, &exponents, basis))
                .map(|exponent| RankFormula::Power(odd, exponent))
        })
    }

    fn linear(&mut self, at: &[&SamplePoint], values: &[i64], basis: &[Feature]) -> Option<Linear> {
        // What two simple rules say differently is not decided by one that is less simple.
        if matches!(self.why, Unfit::Ambiguous(..)) {
            return None;
        }
        match linear::fit(self.family, self.terms, at, values, basis) {
            Ok(linear) => Some(linear),
            Err(why) => {
                // A formula that nearly was one says more than that there is none.
                if self.why == Unfit::NoFormula || matches!(why, Unfit::Ambiguous(..)) {
                    self.why = why;
                }
                None
            }
        }
    }

    /// Returns what a number may be a sum of, the simplest first.
    fn bases(&self, rows: &[&Row]) -> Vec<Vec<Feature>> {
        let first = &rows[0].at;
        let simple: Vec<Feature> =
            std::iter::once(Feature::One).chain((0..first.index.len()).map(Feature::Index)).collect();
        let with =
            |more: &mut dyn Iterator<Item = Feature>| simple.iter().copied().chain(more).collect::<Vec<_>>();
        let mut bases = vec![simple.clone(), with(&mut std::iter::once(Feature::Rank))];
        if rows.iter().any(|row| row.at.position.rank != row.at.rank) {
            bases.push(with(&mut std::iter::once(Feature::Member)));
        }
        if self.family.counts.iter().all(|count| count.is_power_of_two()) {
            bases.push(with(&mut std::iter::once(Feature::Zeros)));
        }
        for (number, grid) in self.family.grids.iter().enumerate() {
            bases.push(with(&mut (0..grid.dimensions()).map(|side| Feature::Coordinate(number, side))));
        }
        bases
    }

    fn shift(&mut self, at: &[&SamplePoint], values: &[i64], bases: &[Vec<Feature>]) -> Option<RankRule> {
        [true, false].into_iter().find_map(|forwards| {
            let distance = |(value, at): (&i64, &&SamplePoint)| {
                let distance = value - i64::from(at.position.rank);
                (if forwards { distance } else { -distance }).rem_euclid(at.position.peers.into())
            };
            let distances: Vec<i64> = values.iter().zip(at).map(distance).collect();
            self.value(at, &distances, bases).map(|by| RankRule::Shift { forwards, by })
        })
    }

    fn grid(
        &mut self,
        at: &[&SamplePoint],
        values: &[i64],
        number: usize,
        basis: &[Feature],
    ) -> Option<RankRule> {
        let family = self.family;
        let grid = &family.grids[number];
        // Only a communicator of all ranks is such a grid.
        if at.iter().any(|at| at.position.peers != family.counts[at.run]) {
            return None;
        }
        let places: Vec<_> = at.iter().map(|at| grid.coordinates(at.run, at.position.rank)).collect();
        let targets: Vec<_> =
            at.iter().zip(values).map(|(at, &value)| grid.coordinates(at.run, value as u32)).collect();
        let side = |side: usize| {
            [true, false].into_iter().find_map(|forwards| {
                let moved = |((from, to), at): (
                    (&crate::family::Coordinates, &crate::family::Coordinates),
                    &&SamplePoint,
                )| {
                    let moved = i64::from(to[side]) - i64::from(from[side]);
                    (if forwards { moved } else { -moved }).rem_euclid(grid.sides(at.run)[side].into())
                };
                let moved: Vec<i64> = places.iter().zip(&targets).zip(at).map(moved).collect();
                self.linear(at, &moved, basis).map(|by| (forwards, by))
            })
        };
        let by: Option<Vec<_>> = (0..grid.dimensions()).map(side).collect();
        by.map(|by| RankRule::Grid { grid: number, by })
    }
}
