//! Numbers with which formulas are computed: plain numbers, or formulas in parameters that stay open.

use crate::tree::Relation;

/// A function of the language that takes numbers and gives one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Function {
    /// The natural logarithm.
    Log,
    /// The logarithm to base 2.
    Log2,
    /// The integer that is not greater.
    Floor,
    /// The integer that is not less.
    Ceil,
    /// The square root.
    Sqrt,
    /// The greatest of all.
    Max,
    /// The least of all.
    Min,
}

impl Function {
    /// Returns the function of a name.
    pub fn named(name: &str) -> Option<Function> {
        let all = [
            Function::Log,
            Function::Log2,
            Function::Floor,
            Function::Ceil,
            Function::Sqrt,
            Function::Max,
            Function::Min,
        ];
        all.into_iter().find(|function| function.name() == name)
    }

    /// Returns its name in the language.
    pub fn name(self) -> &'static str {
        match self {
            Function::Log => "log",
            Function::Log2 => "log2",
            Function::Floor => "floor",
            Function::Ceil => "ceil",
            Function::Sqrt => "sqrt",
            Function::Max => "max",
            Function::Min => "min",
        }
    }

    /// Returns its value.
    pub fn of(self, values: &[f64]) -> f64 {
        let first = values.first().copied().unwrap_or(f64::NAN);
        match self {
            Function::Log => first.ln(),
            Function::Log2 => first.log2(),
            Function::Floor => first.floor(),
            Function::Ceil => first.ceil(),
            Function::Sqrt => first.sqrt(),
            Function::Max => values.iter().copied().fold(first, f64::max),
            Function::Min => values.iter().copied().fold(first, f64::min),
        }
    }
}

impl Relation {
    /// Returns `true` if it holds.
    pub fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Relation::Equal => a == b,
            Relation::Different => a != b,
            Relation::Less => a < b,
            Relation::Greater => a > b,
            Relation::AtMost => a <= b,
            Relation::AtLeast => a >= b,
        }
    }

    /// Returns its sign.
    pub fn sign(self) -> &'static str {
        match self {
            Relation::Equal => "==",
            Relation::Different => "!=",
            Relation::Less => "<",
            Relation::Greater => ">",
            Relation::AtMost => "<=",
            Relation::AtLeast => ">=",
        }
    }
}

/// A number, or something that becomes one when its parameters are known.
pub trait Number: Clone + std::fmt::Debug {
    /// Returns a number that is known.
    fn new(value: f64) -> Self;
    /// Returns its value, if it is known.
    fn known(&self) -> Option<f64>;
    /// Returns the sum.
    fn plus(&self, other: &Self) -> Self;
    /// Returns the product.
    fn times(&self, other: &Self) -> Self;
    /// Returns the quotient.
    fn over(&self, other: &Self) -> Self;
    /// Returns the power.
    fn power(&self, other: &Self) -> Self;
    /// Returns a function's value.
    fn apply(function: Function, values: &[Self]) -> Self;
    /// Returns 1 if a comparison holds, else 0.
    fn compare(how: Relation, a: &Self, b: &Self) -> Self;

    /// Returns `true` if it is a formula that has grown too large to be of use.
    fn is_too_large(&self) -> bool {
        false
    }

    /// Returns the difference.
    fn minus(&self, other: &Self) -> Self {
        self.plus(&other.times(&Self::new(-1.0)))
    }

    /// Returns zero.
    fn zero() -> Self {
        Self::new(0.0)
    }
}

impl Number for f64 {
    fn new(value: f64) -> f64 {
        value
    }

    fn known(&self) -> Option<f64> {
        Some(*self)
    }

    fn plus(&self, other: &f64) -> f64 {
        self + other
    }

    fn minus(&self, other: &f64) -> f64 {
        self - other
    }

    fn times(&self, other: &f64) -> f64 {
        self * other
    }

    fn over(&self, other: &f64) -> f64 {
        self / other
    }

    fn power(&self, other: &f64) -> f64 {
        self.powf(*other)
    }

    fn apply(function: Function, values: &[f64]) -> f64 {
        function.of(values)
    }

    fn compare(how: Relation, a: &f64, b: &f64) -> f64 {
        f64::from(u8::from(how.holds(*a, *b)))
    }
}
