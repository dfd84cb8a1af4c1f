//! Formulas in parameters that stay open, kept multiplied out and added up as they are made.

use crate::number::{Function, Number};
use crate::tree::Relation;
use std::cmp::Ordering;
use std::fmt;
use std::rc::Rc;

/// Products of sums with more terms than this stay products.
const MAX_TERMS: usize = 64;
/// Sums are multiplied out up to this power.
const MAX_POWER: f64 = 4.0;
/// Names, numbers and functions in a formula; more are of no use to anybody.
const MAX_PARTS: u32 = 10_000;
/// The size of what has more.
const TOO_LARGE: u32 = u32::MAX;

/// A sum of terms, each a number times powers of names and functions; equal terms are one.
///
/// Parameters are taken to be positive, as sizes are: the square root of `n^2` is `n`.
#[derive(Clone, PartialEq, Debug)]
pub struct Formula {
    terms: Rc<[FormulaTerm]>,
    /// Number of parts; shared ones are counted each time.
    size: u32,
}

#[derive(Clone, PartialEq, Debug)]
struct FormulaTerm {
    coefficient: f64,
    /// Ascending, none with exponent zero.
    factors: Vec<(Atom, f64)>,
}

/// A factor that is not divided further.
#[derive(Clone, PartialEq, Debug)]
enum Atom {
    Name(Rc<str>),
    Apply(Function, Vec<Formula>),
    Compare(Relation, Formula, Formula),
    /// A sum that is raised to a power or divided by.
    Sum(Formula),
    Power(Formula, Formula),
}

impl Formula {
    /// Returns a parameter that stays open.
    pub fn open(name: &str) -> Formula {
        Formula::of(1.0, vec![(Atom::Name(name.into()), 1.0)])
    }

    fn of(coefficient: f64, factors: Vec<(Atom, f64)>) -> Formula {
        if coefficient == 0.0 {
            Formula::whole(Rc::new([]))
        } else {
            Formula::whole(Rc::new([FormulaTerm { coefficient, factors }]))
        }
    }

    /// Terms that are in order.
    fn whole(terms: Rc<[FormulaTerm]>) -> Formula {
        let factors = terms.iter().flat_map(|term| &term.factors);
        let size = factors.fold(terms.len() as u32, |size, (atom, _)| size.saturating_add(atom.size()));
        if size > MAX_PARTS { Formula::too_large() } else { Formula { terms, size } }
    }

    /// Returns what has too many parts, and all that is made of it.
    fn too_large() -> Formula {
        Formula { terms: Rc::new([]), size: TOO_LARGE }
    }

    fn atom(atom: Atom) -> Formula {
        Formula::of(1.0, vec![(atom, 1.0)])
    }

    /// Terms that may be equal to others, in any order.
    fn sum(mut terms: Vec<FormulaTerm>) -> Formula {
        terms.sort_by(|a, b| compare_factors(&a.factors, &b.factors));
        let mut whole: Vec<FormulaTerm> = Vec::with_capacity(terms.len());
        for term in terms {
            match whole.last_mut() {
                Some(last) if compare_factors(&last.factors, &term.factors).is_eq() => {
                    last.coefficient += term.coefficient
                }
                _ => whole.push(term),
            }
        }
        whole.retain(|term| term.coefficient != 0.0);
        Formula::whole(whole.into())
    }

    /// Returns the term, if there is one only.
    fn single(&self) -> Option<&FormulaTerm> {
        match &*self.terms {
            [term] => Some(term),
            _ => None,
        }
    }

    /// Returns the value when the one name that is open has this value.
    pub fn at(&self, value: f64) -> f64 {
        self.terms
            .iter()
            .map(|term| {
                term.factors.iter().map(|(atom, power)| atom.at(value).powf(*power)).product::<f64>()
                    * term.coefficient
            })
            .sum()
    }
}

impl Atom {
    fn size(&self) -> u32 {
        let sum = |formulas: &[&Formula]| {
            formulas.iter().fold(1u32, |sum, formula| sum.saturating_add(formula.size))
        };
        match self {
            Atom::Name(_) => 1,
            Atom::Apply(_, values) => sum(&values.iter().collect::<Vec<_>>()),
            Atom::Compare(_, a, b) | Atom::Power(a, b) => sum(&[a, b]),
            Atom::Sum(inner) => sum(&[inner]),
        }
    }

    fn at(&self, value: f64) -> f64 {
        match self {
            Atom::Name(_) => value,
            Atom::Apply(function, values) => {
                function.of(&values.iter().map(|one| one.at(value)).collect::<Vec<f64>>())
            }
            Atom::Compare(how, a, b) => f64::from(u8::from(how.holds(a.at(value), b.at(value)))),
            Atom::Sum(sum) => sum.at(value),
            Atom::Power(base, power) => base.at(value).powf(power.at(value)),
        }
    }
}

fn multiplied(a: &FormulaTerm, b: &FormulaTerm) -> FormulaTerm {
    let mut factors = a.factors.clone();
    for (atom, power) in &b.factors {
        match factors.binary_search_by(|(other, _)| compare_atoms(other, atom)) {
            Ok(at) => {
                factors[at].1 += power;
                if factors[at].1 == 0.0 {
                    factors.remove(at);
                }
            }
            Err(at) => factors.insert(at, (atom.clone(), *power)),
        }
    }
    FormulaTerm { coefficient: a.coefficient * b.coefficient, factors }
}

impl Number for Formula {
    fn new(value: f64) -> Formula {
        Formula::of(value, Vec::new())
    }

    fn is_too_large(&self) -> bool {
        self.size == TOO_LARGE
    }

    fn known(&self) -> Option<f64> {
        match &*self.terms {
            [] if self.is_too_large() => None,
            [] => Some(0.0),
            [term] if term.factors.is_empty() => Some(term.coefficient),
            _ => None,
        }
    }

    fn plus(&self, other: &Formula) -> Formula {
        if self.is_too_large() || other.is_too_large() {
            return Formula::too_large();
        }
        if self.terms.is_empty() {
            return other.clone();
        }
        if other.terms.is_empty() {
            return self.clone();
        }
        Formula::sum(self.terms.iter().chain(other.terms.iter()).cloned().collect())
    }

    fn times(&self, other: &Formula) -> Formula {
        if self.is_too_large() || other.is_too_large() {
            return Formula::too_large();
        }
        match (self.known(), other.known()) {
            (Some(0.0), _) | (_, Some(0.0)) => return Formula::zero(),
            (Some(1.0), _) => return other.clone(),
            (_, Some(1.0)) => return self.clone(),
            _ => {}
        }
        if self.terms.len() * other.terms.len() > MAX_TERMS {
            let whole = |formula: &Formula| match formula.single() {
                Some(_) => formula.clone(),
                None => Formula::atom(Atom::Sum(formula.clone())),
            };
            return whole(self).times(&whole(other));
        }
        Formula::sum(
            self.terms.iter().flat_map(|a| other.terms.iter().map(move |b| multiplied(a, b))).collect(),
        )
    }

    fn over(&self, other: &Formula) -> Formula {
        self.times(&other.power(&Formula::new(-1.0)))
    }

    fn power(&self, other: &Formula) -> Formula {
        if self.is_too_large() || other.is_too_large() {
            return Formula::too_large();
        }
        let Some(power) = other.known() else {
            return Formula::atom(Atom::Power(self.clone(), other.clone()));
        };
        if power == 0.0 {
            return Formula::new(1.0);
        }
        if let Some(known) = self.known() {
            return Formula::new(known.powf(power));
        }
        match self.single() {
            Some(term) if term.coefficient > 0.0 || power.fract() == 0.0 => {
                let factors =
                    term.factors.iter().map(|(atom, inner)| (atom.clone(), inner * power)).collect();
                Formula::of(term.coefficient.powf(power), factors)
            }
            None if power.fract() == 0.0 && power > 0.0 && power <= MAX_POWER => {
                (1..power as usize).fold(self.clone(), |product, _| product.times(self))
            }
            _ => Formula::of(1.0, vec![(Atom::Sum(self.clone()), power)]),
        }
    }

    fn apply(function: Function, values: &[Formula]) -> Formula {
        if values.iter().any(Formula::is_too_large) {
            return Formula::too_large();
        }
        if let Some(known) = values.iter().map(Number::known).collect::<Option<Vec<f64>>>() {
            return Formula::new(function.of(&known));
        }
        match function {
            Function::Sqrt => values[0].power(&Formula::new(0.5)),
            Function::Max | Function::Min => {
                let mut different: Vec<Formula> = Vec::new();
                for value in values {
                    // max(max(a, b), c) is one function of three.
                    let inner = match value.single() {
                        Some(FormulaTerm { coefficient: 1.0, factors }) => match factors.as_slice() {
                            [(Atom::Apply(same, inner), 1.0)] if *same == function => inner.clone(),
                            _ => vec![value.clone()],
                        },
                        _ => vec![value.clone()],
                    };
                    for one in inner {
                        if !different.contains(&one) {
                            different.push(one);
                        }
                    }
                }
                match different.as_slice() {
                    [one] => one.clone(),
                    _ => Formula::atom(Atom::Apply(function, different)),
                }
            }
            _ => Formula::atom(Atom::Apply(function, values.to_vec())),
        }
    }

    fn compare(how: Relation, a: &Formula, b: &Formula) -> Formula {
        match (a.known(), b.known()) {
            (Some(a), Some(b)) => Formula::new(f64::from(u8::from(how.holds(a, b)))),
            _ if a.is_too_large() || b.is_too_large() => Formula::too_large(),
            _ => Formula::atom(Atom::Compare(how, a.clone(), b.clone())),
        }
    }
}

fn compare_factors(a: &[(Atom, f64)], b: &[(Atom, f64)]) -> Ordering {
    let pairs = a.iter().zip(b).map(|((a, p), (b, q))| compare_atoms(a, b).then(p.total_cmp(q)));
    pairs.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
}

fn compare_formulas(a: &Formula, b: &Formula) -> Ordering {
    let pairs = a.terms.iter().zip(b.terms.iter());
    let pairs = pairs
        .map(|(a, b)| compare_factors(&a.factors, &b.factors).then(a.coefficient.total_cmp(&b.coefficient)));
    pairs.fold(Ordering::Equal, Ordering::then).then(a.terms.len().cmp(&b.terms.len()))
}

fn compare_atoms(a: &Atom, b: &Atom) -> Ordering {
    let rank = |atom: &Atom| match atom {
        Atom::Name(_) => 0,
        Atom::Apply(..) => 1,
        Atom::Compare(..) => 2,
        Atom::Sum(_) => 3,
        Atom::Power(..) => 4,
    };
    match (a, b) {
        (Atom::Name(a), Atom::Name(b)) => a.cmp(b),
        (Atom::Apply(f, a), Atom::Apply(g, b)) => {
            let pairs = a.iter().zip(b).map(|(a, b)| compare_formulas(a, b));
            f.cmp(g).then(pairs.fold(Ordering::Equal, Ordering::then)).then(a.len().cmp(&b.len()))
        }
        (Atom::Compare(f, a, c), Atom::Compare(g, b, d)) => {
            f.sign().cmp(g.sign()).then_with(|| compare_formulas(a, b)).then_with(|| compare_formulas(c, d))
        }
        (Atom::Sum(a), Atom::Sum(b)) => compare_formulas(a, b),
        (Atom::Power(a, c), Atom::Power(b, d)) => compare_formulas(a, b).then_with(|| compare_formulas(c, d)),
        _ => rank(a).cmp(&rank(b)),
    }
}

/// A number as short as it reads back, in the language's own notation.
pub(crate) struct Plain(pub f64);

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        if size != 0.0 && !(1e-4..1e15).contains(&size) {
            write!(f, "{:e}", self.0)
        } else {
            write!(f, "{}", self.0)
        }
    }
}

impl fmt::Display for Formula {
    /// Writes it as the language writes it, the highest powers first. A condition in it stands for 1 where it
    /// holds and 0 elsewhere.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_too_large() {
            return write!(f, "a formula of more than {MAX_PARTS} parts");
        }
        if self.terms.is_empty() {
            return f.write_str("0");
        }
        let degree = |term: &FormulaTerm| term.factors.iter().map(|(_, power)| power).sum::<f64>();
        let mut terms: Vec<&FormulaTerm> = self.terms.iter().collect();
        terms.sort_by(|a, b| degree(b).total_cmp(&degree(a)));
        for (at, term) in terms.iter().enumerate() {
            match (at, term.coefficient < 0.0) {
                (0, true) => f.write_str("-")?,
                (0, false) => {}
                (_, true) => f.write_str(" - ")?,
                (_, false) => f.write_str(" + ")?,
            }
            write_term(f, term)?;
        }
        Ok(())
    }
}

fn write_term(f: &mut fmt::Formatter<'_>, term: &FormulaTerm) -> fmt::Result {
    let coefficient = term.coefficient.abs();
    let (above, below): (Vec<_>, Vec<_>) = term.factors.iter().partition(|(_, power)| *power > 0.0);
    let mut separator = "";
    if coefficient != 1.0 || above.is_empty() {
        write!(f, "{}", Plain(coefficient))?;
        separator = " * ";
    }
    for (atom, power) in above {
        f.write_str(separator)?;
        write_power(f, atom, *power)?;
        separator = " * ";
    }
    for (atom, power) in below {
        f.write_str(" / ")?;
        write_power(f, atom, -power)?;
    }
    Ok(())
}

fn write_power(f: &mut fmt::Formatter<'_>, atom: &Atom, power: f64) -> fmt::Result {
    match atom {
        Atom::Name(name) => f.write_str(name)?,
        Atom::Apply(function, values) => {
            write!(f, "{}(", function.name())?;
            for (at, value) in values.iter().enumerate() {
                write!(f, "{}{value}", if at == 0 { "" } else { ", " })?;
            }
            f.write_str(")")?;
        }
        Atom::Compare(how, a, b) => write!(f, "({a} {} {b})", how.sign())?,
        Atom::Sum(sum) => write!(f, "({sum})")?,
        Atom::Power(base, exponent) if power == 1.0 => write!(f, "({base})^({exponent})")?,
        Atom::Power(base, exponent) => write!(f, "(({base})^({exponent}))")?,
    }
    if power == 1.0 { Ok(()) } else { write!(f, "^{}", Plain(power)) }
}
