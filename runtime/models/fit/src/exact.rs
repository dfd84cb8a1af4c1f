//! Formulas that give whole numbers exactly, or none.
//!
//! A formula is a constant, a factor of one term, or both (after X. Wu and F. Mueller, "ScalaExtrap:
//! trace-based communication extrapolation for SPMD programs", PPoPP 2011, who solve linear systems over such
//! terms). It has fewer unknowns than there are numbers, so that each formula that is found was also tested;
//! and it is computed in fractions, because a value that is nearly whole is wrong.

use num_rational::Ratio;
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul, CheckedSub, Zero};

/// A fraction.
pub type Exact = Ratio<i128>;

/// A function of the rank count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Term {
    /// Name in formulas, such as `log2(ranks)`.
    pub name: String,
    /// The value at each rank count; `None` where it is no fraction, such as the square root of 8.
    pub values: Vec<Option<Exact>>,
}

/// The reason why there is no formula.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unfit {
    /// None gives the numbers.
    NoFormula,
    /// This term gives them, and has no value at a count that is asked for.
    NoValue(String),
    /// Two formulas that are equally simple give them, and differ at a count that is asked for.
    Ambiguous(String, String),
}

/// Returns the terms that need nothing but the count: its powers and roots, and the logarithm.
pub fn terms(counts: &[u32]) -> Vec<Term> {
    let whole = |value: Option<u32>| value.map(|value| Exact::from(i128::from(value)));
    let root = |degree: u32| move |count: u32| whole(root(count, degree));
    let term = |name: &str, of: &dyn Fn(u32) -> Option<Exact>| Term {
        name: name.to_owned(),
        values: counts.iter().map(|&count| of(count)).collect(),
    };
    let (ranks, square, cube) = (move |count: u32| whole(Some(count)), root(2), root(3));
    let log = move |count: u32| whole(count.is_power_of_two().then(|| count.trailing_zeros()));
    vec![
        term("ranks", &ranks),
        term("1 / ranks", &|count| below(ranks(count)?)),
        term("log2(ranks)", &log),
        term("sqrt(ranks)", &square),
        term("1 / sqrt(ranks)", &|count| below(square(count)?)),
        term("ranks^(1 / 3)", &cube),
        term("1 / ranks^(1 / 3)", &|count| below(cube(count)?)),
        term("ranks^(2 / 3)", &|count| cube(count)?.checked_mul(&cube(count)?)),
        term("1 / ranks^(2 / 3)", &|count| below(cube(count)?.checked_mul(&cube(count)?)?)),
        term("ranks * log2(ranks)", &|count| ranks(count)?.checked_mul(&log(count)?)),
        term("ranks^2", &|count| ranks(count)?.checked_mul(&ranks(count)?)),
    ]
}

/// Returns one divided by `value`; `None` for nought.
pub fn below(value: Exact) -> Option<Exact> {
    (!value.is_zero()).then(|| value.recip())
}

/// Returns the number whose power of this degree is `count`.
pub fn root(count: u32, degree: u32) -> Option<u32> {
    let near = f64::from(count).powf(1.0 / f64::from(degree)).round() as u32;
    (near.saturating_sub(1)..=near + 1).find(|root| root.checked_pow(degree) == Some(count))
}

/// Returns the values at all counts of the simplest formula that gives `seen` at the first of them. Terms
/// have a value for each count. O(terms).
///
/// # Errors
/// Why there is none.
pub fn exact(terms: &[Term], seen: &[Exact], counts: usize) -> Result<Vec<Exact>, Unfit> {
    let Some(first) = seen.first() else { return Err(Unfit::NoFormula) };
    if seen.iter().all(|value| value == first) {
        return Ok(vec![*first; counts]);
    }
    let mut lacking = None;
    for with_constant in [false, true] {
        // As many unknowns as numbers would explain any of them.
        if seen.len() < 2 + usize::from(with_constant) {
            break;
        }
        let mut found: Option<(Vec<Exact>, &Term)> = None;
        for term in terms {
            match through(term, seen, with_constant, counts) {
                None => {}
                Some(None) => drop(lacking.get_or_insert_with(|| term.name.clone())),
                Some(Some(values)) => match &found {
                    Some((other, by)) if *other != values => {
                        return Err(Unfit::Ambiguous(by.name.clone(), term.name.clone()));
                    }
                    Some(_) => {}
                    None => found = Some((values, term)),
                },
            }
        }
        match (found, &lacking) {
            // A term without a value there may be the right one.
            (_, Some(name)) => return Err(Unfit::NoValue(name.clone())),
            (Some((values, _)), None) => return Ok(values),
            (None, None) => {}
        }
    }
    Err(Unfit::NoFormula)
}

/// Returns the values of the formula of this term, if it gives the numbers; of these `None`, if it has none
/// at one of the counts.
fn through(term: &Term, seen: &[Exact], with_constant: bool, counts: usize) -> Option<Option<Vec<Exact>>> {
    let at: Vec<Exact> = term.values[..seen.len()].iter().copied().collect::<Option<_>>()?;
    let (factor, constant) = if with_constant {
        let other = at.iter().position(|value| *value != at[0])?;
        let factor = seen[other].checked_sub(&seen[0])?.checked_div(&at[other].checked_sub(&at[0])?)?;
        (factor, seen[0].checked_sub(&factor.checked_mul(&at[0])?)?)
    } else {
        (if at[0].is_zero() { return None } else { seen[0].checked_div(&at[0])? }, Exact::zero())
    };
    let value = |term: Exact| factor.checked_mul(&term)?.checked_add(&constant);
    if at.iter().zip(seen).any(|(&at, seen)| value(at) != Some(*seen)) {
        return None;
    }
    Some(term.values[..counts].iter().map(|&term| value(term?)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(values: &[i128]) -> Vec<Exact> {
        values.iter().map(|&value| Exact::from(value)).collect()
    }

    fn of(counts: &[u32], seen: &[i128]) -> Result<Exact, Unfit> {
        exact(&terms(counts), &whole(seen), counts.len()).map(|values| *values.last().unwrap())
    }

    #[test]
    fn the_simplest_formula_gives_the_number_at_another_count() {
        assert_eq!(of(&[64, 216, 512, 1000], &[7, 7, 7]), Ok(7.into()));
        assert_eq!(of(&[64, 216, 512, 1000], &[3, 5, 7]), Ok(9.into()), "a side less one");
        assert_eq!(of(&[16, 64, 256, 1024], &[4, 6, 8]), Ok(10.into()));
        assert_eq!(
            of(&[64, 216, 512, 1000], &[5400, 1600, 675]),
            Ok(Exact::new(1728, 5)),
            "what is not whole is told as it is"
        );
    }

    #[test]
    fn what_no_formula_gives_is_refused() {
        assert_eq!(of(&[64, 216, 512, 1000], &[1, 2, 4]), Err(Unfit::NoFormula));
        assert_eq!(of(&[64, 216, 512, 1001], &[4, 6, 8]), Err(Unfit::NoValue("ranks^(1 / 3)".to_owned())));
        assert_eq!(of(&[64, 216, 512], &[]), Err(Unfit::NoFormula));
    }

    #[test]
    fn two_terms_that_part_later_are_ambiguous() {
        let term = |name: &str, last: i128| Term {
            name: name.to_owned(),
            values: whole(&[4, 6, 8, last]).into_iter().map(Some).collect(),
        };
        let both = [term("width", 10), term("height", 12)];
        let found = exact(&both, &whole(&[8, 12, 16]), 4);
        assert_eq!(found, Err(Unfit::Ambiguous("width".to_owned(), "height".to_owned())));
    }

    #[test]
    fn roots_are_whole_or_none() {
        assert_eq!(
            [1000, 1001, 1, 1 << 30].map(|count| root(count, 3)),
            [Some(10), None, Some(1), Some(1024)]
        );
        assert_eq!(root(65536, 2), Some(256));
        assert_eq!(root(u32::MAX, 2), None);
    }

    proptest! {
        #[test]
        fn a_formula_is_found_again(
            constant in -1000i128..1000,
            factor in -1000i128..1000,
            term in 0usize..11,
        ) {
            let counts = [64, 4096, 262_144, 16_777_216];
            let terms = terms(&counts);
            let values: Vec<Exact> =
                terms[term].values.iter().map(|value| value.unwrap() * factor + constant).collect();
            prop_assert_eq!(exact(&terms, &values[..3], 4), Ok(values));
        }
    }
}
