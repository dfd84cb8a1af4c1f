//! Formulas and conditions.
//!
//! `^` binds tighter than a sign before it (`-2^2` is -4) and to the right; `and` and `or` bind alike, from
//! left to right.

use super::{Input, MAX_OPERATORS, Parsed, all, deeper, keyword, name, one, path, sign};
use crate::source::SourceSpan;
use crate::token::{TokenKind, unit};
use crate::tree::{Condition, Expr, ExprKind, Operator, Relation};
use winnow::combinator::{Infix, Prefix};
use winnow::combinator::{alt, delimited, expression as climb, fail, opt, separated};
use winnow::error::EmptyError;
use winnow::prelude::*;
use winnow::stream::Stream;

fn joined(operator: Operator) -> fn(Expr, Expr) -> Expr {
    macro_rules! join {
        ($operator:ident) => {
            |a, b| Expr {
                span: a.span.to(b.span),
                kind: ExprKind::Binary(Operator::$operator, Box::new(a), Box::new(b)),
            }
        };
    }
    match operator {
        Operator::Plus => join!(Plus),
        Operator::Minus => join!(Minus),
        Operator::Times => join!(Times),
        Operator::Over => join!(Over),
        Operator::Power => join!(Power),
    }
}

/// Parses an operator's sign, unless the formula has too many already. One that is looked at again, because
/// it binds less tightly than what is before it, counts once.
fn operator<'a>(text: &'static str) -> impl Parser<Input<'a>, SourceSpan, EmptyError> {
    move |input: &mut Input<'a>| {
        let (progress, left) = (input.state, input.eof_offset());
        let span = sign(text).parse_next(input)?;
        if left < progress.counted.replace(left.min(progress.counted.get())) {
            progress.operators.set(progress.operators.get() + 1);
        }
        if progress.operators.get() > MAX_OPERATORS {
            let why = format!(
                "this formula has more than {MAX_OPERATORS} operators; parameters can stand for parts of it"
            );
            progress.refuse(left, why);
            return Err(EmptyError);
        }
        Ok(span)
    }
}

fn infix<'a>(input: &mut Input<'a>) -> Parsed<Infix<Input<'a>, Expr, EmptyError>> {
    macro_rules! left {
        ($level:literal, $operator:ident) => {
            Infix::Left($level, |_, a, b| Ok(joined(Operator::$operator)(a, b)))
        };
    }
    alt((
        operator("+").map(|_| left!(1, Plus)),
        operator("-").map(|_| left!(1, Minus)),
        operator("*").map(|_| left!(3, Times)),
        operator("/").map(|_| left!(3, Over)),
        operator("^").map(|_| Infix::Right(7, |_, a, b| Ok(joined(Operator::Power)(a, b)))),
    ))
    .parse_next(input)
}

fn prefix<'a>(input: &mut Input<'a>) -> Parsed<Prefix<Input<'a>, Expr, EmptyError>> {
    operator("-")
        .map(|_| Prefix(5, |_, a: Expr| Ok(Expr { span: a.span, kind: ExprKind::Negative(Box::new(a)) })))
        .parse_next(input)
}

/// Parses a formula.
pub(super) fn expression(input: &mut Input<'_>) -> Parsed<Expr> {
    let progress = input.state;
    let outermost = !progress.in_formula.replace(true);
    if outermost {
        progress.operators.set(0);
        progress.counted.set(usize::MAX);
    }
    let parsed = deeper(climb(operand).prefix(prefix).infix(infix).postfix(fail)).parse_next(input);
    if outermost {
        progress.in_formula.set(false);
    }
    parsed
}

/// Parses `[ formula ]`.
pub(super) fn quantity(input: &mut Input<'_>) -> Parsed<Expr> {
    delimited(sign("["), expression, sign("]")).parse_next(input)
}

/// Formulas between commas, maybe none.
pub(super) fn list(input: &mut Input<'_>) -> Parsed<Vec<Expr>> {
    separated(0.., expression, sign(",")).parse_next(input)
}

/// Parses `name(a, b)`.
pub(super) fn call(input: &mut Input<'_>) -> Parsed<Expr> {
    let function = name(input)?;
    let (_, arguments, end) = (sign("("), list, sign(")")).parse_next(input)?;
    Ok(Expr { span: function.span.to(end), kind: ExprKind::Call(function.text, arguments) })
}

fn operand(input: &mut Input<'_>) -> Parsed<Expr> {
    alt((number, scale, named, delimited(sign("("), expression, sign(")")))).parse_next(input)
}

fn number(input: &mut Input<'_>) -> Parsed<Expr> {
    let token = one("a formula", |token| token.kind == TokenKind::Number).parse_next(input)?;
    let value = token.text.parse().unwrap_or(f64::NAN);
    Ok(Expr { kind: ExprKind::Number(value), span: input.state.span(token) })
}

fn scale(input: &mut Input<'_>) -> Parsed<Expr> {
    let token = one("a formula", |token| token.kind == TokenKind::Word && unit(token.text).is_some())
        .parse_next(input)?;
    let value = unit(token.text).unwrap_or(f64::NAN);
    Ok(Expr { kind: ExprKind::Unit(value), span: input.state.span(token) })
}

/// Parses `n`, `model.n`, `array[i]`, `table[i][j]` or `f(x)`.
fn named(input: &mut Input<'_>) -> Parsed<Expr> {
    let first = path(input)?;
    let (span, plain) = (first.span, !first.text.contains('.'));
    if plain && let Some((_, arguments, end)) = opt((sign("("), list, sign(")"))).parse_next(input)? {
        return Ok(Expr { span: span.to(end), kind: ExprKind::Call(first.text, arguments) });
    }
    let element = |input: &mut Input<'_>| -> Parsed<(Expr, SourceSpan)> {
        let (_, index, end) = (sign("["), expression, sign("]")).parse_next(input)?;
        Ok((index, end))
    };
    let mut indices = Vec::new();
    let mut whole = span;
    while indices.len() < 2
        && let Some((index, end)) = opt(element).parse_next(input)?
    {
        indices.push(index);
        whole = span.to(end);
    }
    let kind =
        if indices.is_empty() { ExprKind::Name(first.text) } else { ExprKind::Element(first.text, indices) };
    Ok(Expr { kind, span: whole })
}

/// Parses a formula, or an array or table of them.
pub(super) fn value(input: &mut Input<'_>) -> Parsed<Expr> {
    fn row(input: &mut Input<'_>) -> Parsed<Vec<Expr>> {
        delimited(sign("{"), list, sign("}")).parse_next(input)
    }
    let table = |input: &mut Input<'_>| -> Parsed<Expr> {
        let (start, rows, end) = (sign("{"), separated(1.., row, sign(",")), sign("}")).parse_next(input)?;
        Ok(Expr { kind: ExprKind::Table(rows), span: start.to(end) })
    };
    let array = |input: &mut Input<'_>| -> Parsed<Expr> {
        let (start, values, end) = (sign("{"), list, sign("}")).parse_next(input)?;
        Ok(Expr { kind: ExprKind::Array(values), span: start.to(end) })
    };
    alt((table, array, expression)).parse_next(input)
}

/// Comparisons joined by `and` and `or`.
pub(super) fn condition(input: &mut Input<'_>) -> Parsed<Condition> {
    let mut comparison = |input: &mut Input<'_>| -> Parsed<Condition> {
        let (a, how, b) = (expression, compared, expression).parse_next(input)?;
        Ok(Condition::Compare(how, a, b))
    };
    let first = comparison.parse_next(input)?;
    let more =
        all((alt((keyword("and").value(true), keyword("or").value(false))), comparison)).parse_next(input)?;
    let join = |a, (and, b)| {
        if and { Condition::And(Box::new(a), Box::new(b)) } else { Condition::Or(Box::new(a), Box::new(b)) }
    };
    Ok(more.into_iter().fold(first, join))
}

fn compared(input: &mut Input<'_>) -> Parsed<Relation> {
    alt((
        sign("==").value(Relation::Equal),
        sign("!=").value(Relation::Different),
        sign("<=").value(Relation::AtMost),
        sign(">=").value(Relation::AtLeast),
        sign("<").value(Relation::Less),
        sign(">").value(Relation::Greater),
    ))
    .parse_next(input)
}
