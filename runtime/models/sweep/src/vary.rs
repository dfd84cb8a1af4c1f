//! Variables: `l=0.1us..10us*10`, `np=64,512,4096`.

use crate::quantity::{quantities, quantity, split};

/// The most values of a variable, and the most points of a sweep: more is a typing error.
const MAX_POINTS: usize = 100_000;

/// Something that is varied, and its values in the order in which they were given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// The name.
    pub name: String,
    /// The values as text.
    pub values: Vec<String>,
}

impl Variable {
    /// Reads `NAME=VALUES`: values with commas between them, or semicolons where values have commas; `A..B*F`
    /// is A, A F, A F², ... up to B, and `A..B+S` is A, A + S, ... up to B.
    ///
    /// # Errors
    /// A sentence, if it is something else.
    pub fn parse(text: &str) -> Result<Variable, String> {
        let (name, values) = text
            .split_once('=')
            .filter(|(name, _)| !name.trim().is_empty())
            .ok_or("write a name and values: l=1us,2us or np=64..4096*2")?;
        let separator = if values.contains(';') { ';' } else { ',' };
        let mut all: Vec<String> = Vec::new();
        // One value with commas ends with a semicolon.
        let values = values.trim_end().strip_suffix(';').unwrap_or(values);
        for value in values.split(separator).map(str::trim) {
            match value.split_once("..") {
                _ if value.is_empty() => return Err(format!("a value of {name} is empty")),
                Some((first, rest)) => all.extend(range(first, rest)?),
                None => all.push(value.to_owned()),
            }
            if all.len() > MAX_POINTS {
                return Err(format!("{name} has more than {MAX_POINTS} values"));
            }
        }
        if let Some(twice) = all.iter().enumerate().find(|(place, value)| all[..*place].contains(value)) {
            return Err(format!("{name} has the value {} twice", twice.1));
        }
        Ok(Variable { name: name.trim().to_owned(), values: all })
    }

    /// Returns the values as numbers of one unit, if all are.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        quantities(&self.values).map(|(numbers, _)| numbers)
    }

    /// Returns the name with the unit of [`Variable::numbers`].
    pub fn label(&self) -> String {
        match quantities(&self.values) {
            Some((_, unit)) if !unit.is_empty() => format!("{} [{unit}]", self.name),
            _ => self.name.clone(),
        }
    }
}

/// Returns the values of `first..last*factor` or `first..last+step`, all in the unit of `first`, or of `last`
/// where that has none.
fn range(first: &str, rest: &str) -> Result<Vec<String>, String> {
    let wrong = || {
        format!(
            "{first}..{rest}: a range is A..B*FACTOR or A..B+STEP, such as 0.1us..10us*10 or 1..5+1, with \
             units of one kind"
        )
    };
    let at = rest.find(['*', '+']).ok_or_else(wrong)?;
    let is_factor = rest.as_bytes()[at] == b'*';
    let ((from, first_unit), last, by) =
        (split(first).ok_or_else(wrong)?, split(&rest[..at]), split(&rest[at + 1..]));
    let (last, by) = (last.ok_or_else(wrong)?, by.ok_or_else(wrong)?);
    let unit = if first_unit.is_empty() { last.1 } else { first_unit };
    let within = |(number, other): (f64, &str)| Some(number * ratio(other, unit)?);
    let to = within(last).ok_or_else(wrong)?;
    let by = if is_factor { Some(by.0).filter(|_| by.1.is_empty()) } else { within(by) }.ok_or_else(wrong)?;
    if from > to || by <= 0.0 || is_factor && (by <= 1.0 || from <= 0.0) {
        return Err(wrong());
    }
    let value = |step: i32| if is_factor { from * by.powi(step) } else { from + f64::from(step) * by };
    // What rounding adds is no reason to leave the end out.
    let steps: Vec<f64> =
        (0..=MAX_POINTS as i32).map(value).take_while(|&value| value <= to * (1.0 + 1e-9)).collect();
    Ok(steps.into_iter().map(|value| format!("{}{unit}", rounded(value))).collect())
}

/// Returns how many of one unit are one of the other; none at all stands for the other.
fn ratio(unit: &str, of: &str) -> Option<f64> {
    if unit == of || unit.is_empty() {
        return Some(1.0);
    }
    let (one, other) = (quantity(&format!("1{unit}"))?, quantity(&format!("1{of}"))?);
    (one.1 == other.1).then_some(one.0 / other.0)
}

/// Rounds a value to twelve significant digits, which hides what a product of doubles adds.
fn rounded(value: f64) -> f64 {
    format!("{value:.11e}").parse().unwrap_or(value)
}

/// A run of a sweep: the place of each variable's value in its list.
pub type Point = Vec<usize>;

/// All combinations of values, the last variable's first.
pub struct Points<'a>(pub &'a [Variable]);

impl Points<'_> {
    /// Returns all points.
    ///
    /// # Errors
    /// A sentence, if they are too many, or a variable is named twice.
    pub fn all(&self) -> Result<Vec<Point>, String> {
        let count = self
            .0
            .iter()
            .try_fold(1usize, |count, variable| count.checked_mul(variable.values.len()))
            .filter(|&count| count <= MAX_POINTS);
        count.ok_or_else(|| format!("these are more than {MAX_POINTS} runs"))?;
        if let Some((_, twice)) = self
            .0
            .iter()
            .enumerate()
            .find(|(place, one)| self.0[..*place].iter().any(|other| other.name == one.name))
        {
            return Err(format!("{} is varied twice: give all its values at once", twice.name));
        }
        let mut points = vec![Vec::new()];
        for variable in self.0 {
            points = points
                .iter()
                .flat_map(|point: &Point| {
                    (0..variable.values.len()).map(|value| [point.as_slice(), &[value]].concat())
                })
                .collect();
        }
        Ok(points)
    }

    /// Returns a point as it is shown: `np=64 l=1us`.
    pub fn name(&self, point: &Point) -> String {
        self.0
            .iter()
            .zip(point)
            .map(|(variable, &value)| format!("{}={}", variable.name, variable.values[value]))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        Variable::parse(text).unwrap().values
    }

    #[test]
    fn values_are_lists_and_ranges() {
        assert_eq!(values("l=0.1us..10us*10"), ["0.1us", "1us", "10us"]);
        assert_eq!(values("l=100ns..1ms*100"), ["100ns", "10000ns", "1000000ns"]);
        assert_eq!(values("np=64..4096*2"), ["64", "128", "256", "512", "1024", "2048", "4096"]);
        assert_eq!(values("np=1..4+1,8"), ["1", "2", "3", "4", "8"]);
        assert_eq!(values("l=0.1..0.4us+0.1us"), ["0.1us", "0.2us", "0.3us", "0.4us"]);
        assert_eq!(values("mn=star:l=1us;torus:4x4,l=1us"), ["star:l=1us", "torus:4x4,l=1us"]);
        assert_eq!(values("mn=torus:4x4,l=1us;"), ["torus:4x4,l=1us"]);
        assert_eq!(Variable::parse("coll.allreduce=ring").unwrap().name, "coll.allreduce");
        assert_eq!(Variable::parse("b=100Mbps,1Gbps").unwrap().label(), "b [bit/s]");
    }

    #[test]
    fn what_is_no_list_of_values_is_told() {
        for (text, said) in [
            ("np", "a name and values"),
            ("=1", "a name and values"),
            ("np=1,,2", "empty"),
            ("np=1,2,1", "the value 1 twice"),
            ("np=1..8", "A..B*FACTOR"),
            ("np=8..1*2", "A..B*FACTOR"),
            ("np=1..8*1", "A..B*FACTOR"),
            ("l=1ns..1kB*10", "one kind"),
            ("l=1us..2us*2us", "one kind"),
            ("np=1..1000000000+1", "more than"),
        ] {
            let why = Variable::parse(text).unwrap_err();
            assert!(why.contains(said), "{text}: {why}");
        }
    }

    #[test]
    fn points_are_all_combinations() {
        let variables = ["np=2,4", "l=1us,2us,3us"].map(|text| Variable::parse(text).unwrap());
        let points = Points(&variables);
        let all = points.all().unwrap();
        assert_eq!(
            (all.len(), points.name(&all[0]), points.name(&all[4])),
            (6, "np=2 l=1us".to_owned(), "np=4 l=2us".to_owned())
        );
        let twice = ["np=2", "np=4"].map(|text| Variable::parse(text).unwrap());
        assert!(Points(&twice).all().unwrap_err().contains("np is varied twice"));
    }
}
