//! A formula in the number of ranks through numbers that were seen.
//!
//! As in A. Calotoiu, T. Hoefler, M. Poke, F. Wolf: "Using automated performance modeling to find scalability
//! bugs in complex codes" (SC 2013) a formula is a constant and one term, a power of the ranks or their
//! logarithm. The simplest that fits is taken, so that what is seen at few rank counts is not explained by
//! much.

/// A formula of Aspen's, and how far it is from what was seen.
#[derive(Clone, Debug)]
pub struct Approximation {
    /// In `ranks`.
    pub text: String,
    /// The greatest difference from a number, divided by that.
    pub error: f64,
    /// `true` if the ranks are in it.
    pub varies: bool,
    candidate: Candidate,
    whole: bool,
}

impl Approximation {
    /// Returns its value on so many ranks.
    pub fn at(&self, ranks: f64) -> f64 {
        let value = self.candidate.at(ranks);
        // As the text says it.
        let value = if self.candidate.crosses_nought() { value.max(0.0) } else { value };
        if self.whole { (value + 0.5).floor() } else { value }
    }
}

/// A term of formulas: how it is written, and its value on so many ranks.
type Term = (&'static str, fn(f64) -> f64);

/// By how much they are to be preferred.
const TERMS: [Term; 11] = [
    ("ranks", |p| p),
    ("1 / ranks", |p| 1.0 / p),
    ("log2(ranks)", f64::log2),
    ("sqrt(ranks)", f64::sqrt),
    ("1 / sqrt(ranks)", |p| 1.0 / p.sqrt()),
    ("ranks^(1 / 3)", f64::cbrt),
    ("1 / ranks^(1 / 3)", |p| 1.0 / p.cbrt()),
    ("ranks^(2 / 3)", |p| p.cbrt() * p.cbrt()),
    ("1 / ranks^(2 / 3)", |p| 1.0 / (p.cbrt() * p.cbrt())),
    ("ranks * log2(ranks)", |p| p * p.log2()),
    ("ranks^2", |p| p * p),
];
/// Differences up to this are those of rounding.
const EXACT: f64 = 1e-9;
/// Factor by which a formula with another number must reduce the error.
const BETTER: f64 = 2.0;

/// A constant, and a factor of a term.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    constant: f64,
    factor: f64,
    term: Option<Term>,
}

impl Candidate {
    fn at(&self, ranks: f64) -> f64 {
        self.constant + self.term.map_or(0.0, |(_, value)| self.factor * value(ranks))
    }

    /// Returns `true` if it falls below nought at some rank count.
    fn crosses_nought(&self) -> bool {
        self.constant * self.factor < 0.0
    }

    fn text(&self) -> String {
        let Some((name, _)) = self.term else { return number(self.constant) };
        let factor = number(self.factor.abs());
        let sign = if self.factor < 0.0 { "-" } else { "" };
        let term = match (name.strip_prefix("1 / "), factor.as_str()) {
            (Some(below), factor) => format!("{factor} / {below}"),
            (None, "1") => name.to_owned(),
            (None, factor) => format!("{factor} * {name}"),
        };
        match self.constant {
            0.0 => format!("{sign}{term}"),
            constant => format!("{} {} {term}", number(constant), if sign.is_empty() { "+" } else { "-" }),
        }
    }
}

fn number(value: f64) -> String {
    let digits: f64 = format!("{value:.12e}").parse().unwrap_or(value);
    if digits == 0.0 || (1e-4..1e15).contains(&digits.abs()) {
        format!("{digits}")
    } else {
        format!("{digits:e}")
    }
}

/// Returns how far off a value is, measured by what was seen.
fn off(value: f64, seen: f64) -> f64 {
    (value - seen).abs() / if seen == 0.0 { 1.0 } else { seen.abs() }
}

fn error(value: impl Fn(f64) -> f64, seen: &[(f64, f64)]) -> f64 {
    seen.iter().map(|&(ranks, seen)| off(value(ranks), seen)).fold(0.0, f64::max)
}

/// Returns the formulas that so many numbers can tell from others, the simplest first, each with the least
/// sum of squared relative differences.
fn candidates(seen: &[(f64, f64)]) -> Vec<(usize, Candidate)> {
    let weight = |value: f64| if value == 0.0 { 1.0 } else { 1.0 / (value * value) };
    let sum = |of: &dyn Fn(f64, f64) -> f64| {
        seen.iter().map(|&(ranks, value)| weight(value) * of(ranks, value)).sum::<f64>()
    };
    let (one, values) = (sum(&|_, _| 1.0), sum(&|_, value| value));
    // What does not differ is itself, without the rounding of a mean.
    let constant = if seen.iter().all(|&(_, value)| value == seen[0].1) { seen[0].1 } else { values / one };
    let mut all = vec![(1, Candidate { constant, factor: 0.0, term: None })];
    for (numbers, term) in [(1, 2), (2, 3)]
        .into_iter()
        .filter(|&(_, least)| seen.len() >= least)
        .flat_map(|(n, _)| TERMS.map(|term| (n, term)))
    {
        let at = term.1;
        let (square, first, product) = (
            sum(&|ranks, _| at(ranks) * at(ranks)),
            sum(&|ranks, _| at(ranks)),
            sum(&|ranks, value| at(ranks) * value),
        );
        let (constant, factor) = match numbers {
            1 => (0.0, product / square),
            _ => {
                let determinant = one * square - first * first;
                (
                    (values * square - first * product) / determinant,
                    (one * product - first * values) / determinant,
                )
            }
        };
        if constant.is_finite() && factor.is_finite() {
            all.push((numbers + 1, Candidate { constant, factor, term: Some(term) }));
        }
    }
    all
}

/// Returns the formula for numbers seen at rank counts. Where `whole`, the numbers are integers, which a
/// formula has to give after rounding.
pub fn fit(seen: &[(f64, f64)], whole: bool) -> Approximation {
    let mut best: Option<(usize, f64, Candidate)> = None;
    for (numbers, candidate) in candidates(seen) {
        let error = error(|ranks| candidate.at(ranks), seen);
        let is_better = best.is_none_or(|(other, least, _)| {
            // What is exact is not improved, and a number more must pay.
            least > EXACT && error < if numbers > other { least / BETTER } else { least }
        });
        if is_better {
            best = Some((numbers, error, candidate));
        }
    }
    let nothing = Candidate { constant: 0.0, factor: 0.0, term: None };
    let (_, found, candidate) = best.unwrap_or((0, 0.0, nothing));
    let (text, varies) = (candidate.text(), candidate.term.is_some());
    // Beyond the ranks that were seen a line may fall below nought.
    let text = if candidate.crosses_nought() { format!("max(0, {text})") } else { text };
    let is_integer = !varies && candidate.constant.round() == candidate.constant;
    if !whole || is_integer {
        return Approximation { text, error: found, varies, candidate, whole: false };
    }
    // A term that is whole by itself need not be rounded, but its factor may not be exact.
    let error = error(|ranks| (candidate.at(ranks) + 0.5).floor(), seen);
    Approximation { text: format!("floor({text} + 0.5)"), error, varies, candidate, whole: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl Fn(f64) -> f64, ranks: &[f64], whole: bool) -> Approximation {
        fit(&ranks.iter().map(|&ranks| (ranks, values(ranks))).collect::<Vec<_>>(), whole)
    }

    #[test]
    fn the_simplest_formula_that_fits_is_taken() {
        let ranks = [8.0, 27.0, 64.0];
        let same = of(|_| 45.0, &ranks, true);
        assert_eq!((same.text.as_str(), same.error, same.varies, same.at(125.0)), ("45", 0.0, false, 45.0));
        assert_eq!(of(|p| 90.0 / p.cbrt(), &ranks, true).at(125.0), 18.0);
        assert_eq!(of(|p| 100.0 - p, &ranks, false).at(125.0), 0.0);
        assert_eq!(of(|p| 3.0 * p, &ranks, false).text, "3 * ranks");
        assert_eq!(of(|p| p, &ranks, false).text, "ranks");
        assert_eq!(of(|p| 5e-6 / p, &ranks, false).text, "5e-6 / ranks");
        assert_eq!(of(|p| 90.0 / p.cbrt(), &ranks, true).text, "floor(90 / ranks^(1 / 3) + 0.5)");
        assert_eq!(of(|p| 2.0 + 4.0 * p.log2(), &[2.0, 8.0, 32.0, 128.0], false).text, "2 + 4 * log2(ranks)");
        assert_eq!(of(|p| 100.0 - p, &ranks, false).text, "max(0, 100 - ranks)");
    }

    #[test]
    fn few_numbers_are_not_explained_by_much() {
        assert_eq!(of(|p| p * p.sqrt(), &[16.0], false).text, "64");
        // Two numbers tell a factor of a term, and no constant beside it.
        assert!(!of(|p| 7.0 + 3.0 * p, &[4.0, 16.0], false).text.contains('+'));
        assert_eq!(of(|p| 7.0 + 3.0 * p, &[4.0, 16.0, 64.0], false).text, "7 + 3 * ranks");
    }

    #[test]
    fn noise_is_no_term() {
        let seen = [(8.0, 1.01), (27.0, 0.99), (64.0, 1.02), (125.0, 1.0)];
        let found = fit(&seen, false);
        assert!(found.text.starts_with("1.00") && found.error < 0.02, "{found:?}");
    }
}
