//! The value of a formula.

use crate::error::{AspenError, suggestion};
use crate::names::{NameResolution, NameTable, ScopeId};
use crate::number::{Function, Number};
use crate::source::SourceSpan;
use crate::tree::{Condition, Domain, Expr, ExprKind, Operator};
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::rc::Rc;

/// Functions and how many arguments they take.
const FUNCTIONS: [(&str, RangeInclusive<usize>); 8] = [
    ("log", 1..=1),
    ("log2", 1..=1),
    ("floor", 1..=1),
    ("ceil", 1..=1),
    ("sqrt", 1..=1),
    ("max", 2..=99),
    ("min", 2..=99),
    ("lookup", 3..=3),
];

/// Value of a formula.
#[derive(Clone, Debug)]
pub(crate) enum FormulaValue<N> {
    Number(N),
    Array(Rc<[N]>),
    Table(Rc<[Vec<N>]>),
}

/// A name that holds for a while: an argument, a counter, a sample.
#[derive(Clone, Debug)]
pub(crate) struct LocalBinding<N> {
    pub scope: ScopeId,
    pub name: Rc<str>,
    pub value: FormulaValue<N>,
}

#[derive(Clone, Debug)]
enum Cached<N> {
    Not,
    Open,
    Value(FormulaValue<N>),
}

/// Values of a model's parameters, computed once each.
pub(crate) struct ParameterValues<'n, N> {
    names: &'n NameTable,
    cached: RefCell<Vec<Cached<N>>>,
}

impl<'n, N: Number> ParameterValues<'n, N> {
    pub(crate) fn new(names: &'n NameTable) -> ParameterValues<'n, N> {
        ParameterValues { names, cached: RefCell::new(vec![Cached::Not; names.parameters.len()]) }
    }

    /// Gives a parameter a value instead of its formula.
    pub(crate) fn set(&self, parameter: usize, value: N) {
        self.cached.borrow_mut()[parameter] = Cached::Value(FormulaValue::Number(value));
    }

    pub(crate) fn parameter(&self, parameter: usize) -> Result<FormulaValue<N>, AspenError> {
        let cached = self.cached.borrow()[parameter].clone();
        match cached {
            Cached::Value(value) => Ok(value),
            Cached::Open => {
                let name = &self.names.parameters[parameter].name;
                Err(AspenError::at(name.span, format!("'{}' is defined by itself", name.text)))
            }
            Cached::Not => self.compute(parameter),
        }
    }

    /// Computes a parameter after all that it needs: a chain of them may be longer than a stack is deep.
    fn compute(&self, parameter: usize) -> Result<FormulaValue<N>, AspenError> {
        let mut ahead = vec![(parameter, false)];
        while let Some((parameter, is_ready)) = ahead.pop() {
            let of = &self.names.parameters[parameter];
            if is_ready {
                let value = self.formula(of.value_scope, &[], &of.value)?;
                self.cached.borrow_mut()[parameter] = Cached::Value(value);
            } else if matches!(self.cached.borrow()[parameter], Cached::Not) {
                ahead.push((parameter, true));
                crate::names::each_name(&of.value, &mut |name, _| {
                    if let Some(NameResolution::Parameter(need)) = self.names.find(of.value_scope, name) {
                        ahead.push((need, false));
                    }
                });
                self.cached.borrow_mut()[parameter] = Cached::Open;
            }
        }
        self.parameter(parameter)
    }

    fn name(
        &self,
        scope: ScopeId,
        locals: &[LocalBinding<N>],
        name: &str,
        span: SourceSpan,
    ) -> Result<FormulaValue<N>, AspenError> {
        if let Some(local) = locals.iter().rev().find(|local| local.scope == scope && *local.name == *name) {
            return Ok(local.value.clone());
        }
        match self.names.find(scope, name) {
            Some(NameResolution::Parameter(parameter)) => self.parameter(parameter),
            Some(NameResolution::Enumerator(number)) => Ok(FormulaValue::Number(N::new(number as f64))),
            None => {
                let also = locals.iter().filter(|local| local.scope == scope).map(|local| &*local.name);
                Err(self.names.unknown(scope, name, span, also))
            }
        }
    }

    /// Returns the value of a trait: a number, or nothing where it is a word that stands for none.
    pub(crate) fn worth(
        &self,
        scope: ScopeId,
        locals: &[LocalBinding<N>],
        value: &Expr,
    ) -> Result<Option<N>, AspenError> {
        match &value.kind {
            ExprKind::Name(name) if !self.knows(scope, locals, name) => Ok(None),
            _ => self.number(scope, locals, value).map(Some),
        }
    }

    fn knows(&self, scope: ScopeId, locals: &[LocalBinding<N>], name: &str) -> bool {
        locals.iter().any(|local| local.scope == scope && *local.name == *name)
            || self.names.find(scope, name).is_some()
    }

    /// Returns a formula's value as a number.
    pub(crate) fn number(
        &self,
        scope: ScopeId,
        locals: &[LocalBinding<N>],
        formula: &Expr,
    ) -> Result<N, AspenError> {
        match self.formula(scope, locals, formula)? {
            FormulaValue::Number(number) => Ok(number),
            FormulaValue::Array(_) | FormulaValue::Table(_) => Err(AspenError::at(
                formula.span,
                "this is an array; a number is needed, such as an element of it: name[0]",
            )),
        }
    }

    pub(crate) fn formula(
        &self,
        scope: ScopeId,
        locals: &[LocalBinding<N>],
        formula: &Expr,
    ) -> Result<FormulaValue<N>, AspenError> {
        let number = |formula: &Expr| self.number(scope, locals, formula);
        let all = |formulas: &[Expr]| formulas.iter().map(number).collect::<Result<Vec<N>, AspenError>>();
        Ok(FormulaValue::Number(match &formula.kind {
            ExprKind::Number(value) | ExprKind::Unit(value) => N::new(*value),
            ExprKind::Name(name) => return self.name(scope, locals, name, formula.span),
            ExprKind::Element(name, indices) => {
                let array = self.name(scope, locals, name, formula.span)?;
                element(&array, &all(indices)?, name, indices)?
            }
            ExprKind::Negative(inner) => N::zero().minus(&number(inner)?),
            ExprKind::Binary(operator, a, b) => binary(*operator, &number(a)?, &number(b)?, formula, b)?,
            ExprKind::Call(name, values) if name == "lookup" => {
                let values: Vec<FormulaValue<N>> = values
                    .iter()
                    .map(|value| self.formula(scope, locals, value))
                    .collect::<Result<_, _>>()?;
                lookup(&values, formula.span)?
            }
            ExprKind::Call(name, values) => {
                arity(name, values.len()).map_err(|sentence| AspenError::at(formula.span, sentence))?;
                let function = Function::named(name)
                    .ok_or_else(|| AspenError::at(formula.span, format!("'{name}' is no function")))?;
                let value = N::apply(function, &all(values)?);
                finite(&value, formula.span, || format!("'{name}' has no value there"))?;
                value
            }
            ExprKind::Array(values) => return Ok(FormulaValue::Array(all(values)?.into())),
            ExprKind::Table(rows) => {
                let rows = rows.iter().map(|row| all(row)).collect::<Result<Vec<_>, _>>()?;
                return Ok(FormulaValue::Table(rows.into()));
            }
        }))
    }

    /// Returns 1 if a condition holds, 0 if not.
    pub(crate) fn condition(
        &self,
        scope: ScopeId,
        locals: &[LocalBinding<N>],
        condition: &Condition,
    ) -> Result<N, AspenError> {
        match condition {
            Condition::Compare(how, a, b) => {
                Ok(N::compare(*how, &self.number(scope, locals, a)?, &self.number(scope, locals, b)?))
            }
            Condition::And(a, b) => {
                Ok(self.condition(scope, locals, a)?.times(&self.condition(scope, locals, b)?))
            }
            Condition::Or(a, b) => {
                let (a, b) = (self.condition(scope, locals, a)?, self.condition(scope, locals, b)?);
                Ok(a.plus(&b).minus(&a.times(&b)))
            }
        }
    }

    /// Returns the least and greatest values of a parameter, if it has a range and they are known.
    pub(crate) fn range(&self, parameter: usize) -> Result<Option<(f64, f64)>, AspenError> {
        let of = &self.names.parameters[parameter];
        match &of.domain {
            Some(Domain::Range(least, most)) => {
                let (least, most) = (self.number(of.scope, &[], least)?, self.number(of.scope, &[], most)?);
                Ok(least.known().zip(most.known()))
            }
            _ => Ok(None),
        }
    }
}

fn finite<N: Number>(value: &N, span: SourceSpan, why: impl FnOnce() -> String) -> Result<(), AspenError> {
    match value.known() {
        Some(value) if !value.is_finite() => Err(AspenError::at(span, why())),
        None if value.is_too_large() => {
            Err(AspenError::at(span, "this formula grows too large when parameters in it stay open"))
        }
        _ => Ok(()),
    }
}

fn binary<N: Number>(operator: Operator, a: &N, b: &N, whole: &Expr, right: &Expr) -> Result<N, AspenError> {
    let value = match operator {
        Operator::Plus => a.plus(b),
        Operator::Minus => a.minus(b),
        Operator::Times => a.times(b),
        Operator::Over if b.known() == Some(0.0) => {
            return Err(AspenError::at(right.span, "this is 0, and nothing can be divided by it"));
        }
        Operator::Over => a.over(b),
        Operator::Power => a.power(b),
    };
    finite(&value, whole.span, || "this is no number, or too large for one".to_owned())?;
    Ok(value)
}

fn element<N: Number>(
    array: &FormulaValue<N>,
    indices: &[N],
    name: &str,
    formulas: &[Expr],
) -> Result<N, AspenError> {
    let index = |at: usize, length: usize| -> Result<usize, AspenError> {
        let span = formulas[at].span;
        let value = indices[at]
            .known()
            .ok_or_else(|| AspenError::at(span, "an index must be a number that is known"))?;
        // Towards zero, as a C++ conversion does in the reference.
        if value.trunc() >= 0.0 && value.trunc() < length as f64 {
            return Ok(value as usize);
        }
        let last = length.wrapping_sub(1);
        let range =
            if length == 0 { "it is empty".to_owned() } else { format!("its elements are 0 to {last}") };
        Err(AspenError::at(span, format!("'{name}' has no element {value}: {range}")))
    };
    match (array, indices.len()) {
        (FormulaValue::Array(values), 1) => Ok(values[index(0, values.len())?].clone()),
        (FormulaValue::Table(rows), 2) => {
            let row = &rows[index(0, rows.len())?];
            Ok(row[index(1, row.len())?].clone())
        }
        (FormulaValue::Array(_), _) => {
            Err(AspenError::at(formulas[1].span, format!("'{name}' is an array, which takes one index")))
        }
        (FormulaValue::Table(_), _) => Err(AspenError::at(
            formulas[0].span,
            format!("'{name}' is a table, which takes two indices: {name}[0][0]"),
        )),
        (FormulaValue::Number(_), _) => {
            Err(AspenError::at(formulas[0].span, format!("'{name}' is a number, not an array")))
        }
    }
}

/// Evaluates `lookup(values, places, x)`: the value at `x` on straight lines between the points, and on the
/// first and last of these lines beyond them.
fn lookup<N: Number>(arguments: &[FormulaValue<N>], span: SourceSpan) -> Result<N, AspenError> {
    let [FormulaValue::Array(values), FormulaValue::Array(places), FormulaValue::Number(x)] = arguments
    else {
        return Err(AspenError::at(
            span,
            "lookup takes an array of values, an array of places, and a number",
        ));
    };
    if values.len() != places.len() || values.len() < 2 {
        let (a, b) = (values.len(), places.len());
        return Err(AspenError::at(
            span,
            format!("lookup needs as many values as places, at least two, and there are {a} and {b}"),
        ));
    }
    let known: Option<Vec<f64>> = places.iter().map(N::known).collect();
    let (Some(known), Some(at)) = (known, x.known()) else {
        return Err(AspenError::at(span, "lookup needs places and a number that are known"));
    };
    if !known.is_sorted_by(|a, b| a < b) {
        return Err(AspenError::at(span, "lookup needs places that ascend"));
    }
    let line = known[1..known.len() - 1].partition_point(|&place| place < at);
    let part = (at - known[line]) / (known[line + 1] - known[line]);
    Ok(values[line].plus(&values[line + 1].minus(&values[line]).times(&N::new(part))))
}

/// Checks that the function `name` exists and takes `arguments` arguments. The error is a sentence.
pub(crate) fn arity(name: &str, arguments: usize) -> Result<(), String> {
    match FUNCTIONS.iter().find(|(known, _)| *known == name) {
        None => {
            let all: Vec<&str> = FUNCTIONS.iter().map(|(name, _)| *name).collect();
            let hint = suggestion(name, all.iter().copied());
            Err(format!("there is no function '{name}'{hint} (there are {})", all.join(", ")))
        }
        Some((_, takes)) if takes.contains(&arguments) => Ok(()),
        Some((_, takes)) => {
            Err(format!("'{name}' takes {} arguments, and {arguments} are given", takes.start()))
        }
    }
}
