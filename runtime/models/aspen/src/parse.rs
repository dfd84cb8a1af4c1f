//! From text to tree.
//!
//! The grammar reads tokens with winnow's combinators. Where it stops, the farthest token that something
//! failed at, and all that would have been right there, make the message; so no rule has to say what it
//! expected.

mod application;
mod expression;
mod machine;

use crate::error::AspenError;
use crate::source::{FileId, SourceSpan, Sources};
use crate::token::{self, Token, TokenKind};
use crate::tree::{Global, ModelFile, Name};
use std::cell::{Cell, RefCell};
use winnow::combinator::{alt, eof, opt, peek, preceded, repeat, separated};
use winnow::error::EmptyError;
use winnow::prelude::*;
use winnow::stream::{Stateful, Stream, TokenSlice};
use winnow::token::any;

/// Blocks and parentheses within each other; deeper ones would need a larger stack.
const DEEPEST: usize = 200;
/// Operators in one formula, which is a tree as deep as that if they all bind alike.
const MAX_OPERATORS: usize = 500;

/// State of the parser, and its farthest failure.
#[derive(Debug)]
struct ParserState {
    file: FileId,
    /// Tokens left at the farthest failure.
    left: Cell<usize>,
    /// Alternatives expected at the farthest failure.
    expected: RefCell<Vec<&'static str>>,
    depth: Cell<usize>,
    /// Operators since the outermost formula began.
    operators: Cell<usize>,
    /// Tokens left at the last of them.
    counted: Cell<usize>,
    /// `true` if parentheses are open.
    in_formula: Cell<bool>,
    /// The reason why it cannot be read although nothing is wrong with it.
    excess: RefCell<Option<String>>,
}

type Input<'a> = Stateful<TokenSlice<'a, Token<'a>>, &'a ParserState>;
type Parsed<T> = Result<T, EmptyError>;

impl ParserState {
    fn failed(&self, left: usize, expected: &'static str) {
        if left < self.left.get() {
            self.left.set(left);
            self.expected.borrow_mut().clear();
        }
        let mut all = self.expected.borrow_mut();
        if left == self.left.get() && !all.contains(&expected) {
            all.push(expected);
        }
    }

    /// Notes what is too much for the parser; what stands there is the farthest that anybody will look at.
    fn refuse(&self, left: usize, why: String) {
        self.failed(left, "");
        self.excess.borrow_mut().get_or_insert(why);
    }

    fn span(&self, token: &Token<'_>) -> SourceSpan {
        SourceSpan { file: self.file, start: token.start, end: token.end() }
    }
}

/// Parses one token for which `fits` holds; `what` says so in messages.
fn one<'a>(
    what: &'static str,
    fits: impl Fn(&Token<'a>) -> bool,
) -> impl Parser<Input<'a>, &'a Token<'a>, EmptyError> {
    move |input: &mut Input<'a>| {
        let left = input.eof_offset();
        any.verify(|token: &Token<'a>| fits(token))
            .parse_next(input)
            .inspect_err(|_: &EmptyError| input.state.failed(left, what))
    }
}

/// Parses a word of the language.
fn keyword<'a>(word: &'static str) -> impl Parser<Input<'a>, SourceSpan, EmptyError> {
    spanned(one(word, move |token| token.kind == TokenKind::Word && token.text == word))
}

/// Parses a sign.
fn sign<'a>(sign: &'static str) -> impl Parser<Input<'a>, SourceSpan, EmptyError> {
    spanned(one(sign, move |token| token.kind == TokenKind::Sign && token.text == sign))
}

fn spanned<'a>(
    mut parser: impl Parser<Input<'a>, &'a Token<'a>, EmptyError>,
) -> impl Parser<Input<'a>, SourceSpan, EmptyError> {
    move |input: &mut Input<'a>| {
        let token = parser.parse_next(input)?;
        Ok(input.state.span(token))
    }
}

/// Parses a name without dots.
fn name(input: &mut Input<'_>) -> Parsed<Name> {
    named("a name").parse_next(input)
}

/// Parses a name without dots, called `what` in messages.
fn named<'a>(what: &'static str) -> impl Parser<Input<'a>, Name, EmptyError> {
    move |input: &mut Input<'a>| {
        let token = one(what, |token| token.kind == TokenKind::Word && !token::is_reserved(token.text))
            .parse_next(input)?;
        Ok(Name { text: token.text.to_owned(), span: input.state.span(token) })
    }
}

/// Parses a name that may have dots.
fn path(input: &mut Input<'_>) -> Parsed<Name> {
    let names: Vec<Name> = separated(1.., name, sign(".")).parse_next(input)?;
    let span = names[0].span.to(names[names.len() - 1].span);
    let text = names.iter().map(|name| name.text.as_str()).collect::<Vec<_>>().join(".");
    Ok(Name { text, span })
}

/// Returns what a text says, its quotes left out.
fn text(input: &mut Input<'_>) -> Parsed<Name> {
    let token = one("a text in \"quotes\"", |token| token.kind == TokenKind::Text).parse_next(input)?;
    Ok(Name { text: token.text[1..token.text.len() - 1].to_owned(), span: input.state.span(token) })
}

/// Parses one level deeper, unless that is too deep.
fn deeper<'a, T>(mut parser: impl Parser<Input<'a>, T, EmptyError>) -> impl Parser<Input<'a>, T, EmptyError> {
    move |input: &mut Input<'a>| {
        let progress = input.state;
        if progress.depth.get() == DEEPEST {
            progress.refuse(
                input.eof_offset(),
                format!("blocks and parentheses are more than {DEEPEST} deep here"),
            );
            return Err(EmptyError);
        }
        progress.depth.set(progress.depth.get() + 1);
        let parsed = parser.parse_next(input);
        progress.depth.set(progress.depth.get() - 1);
        parsed
    }
}

/// Parses all of a list's items, one after the other, until something else comes.
fn all<'a, T>(item: impl Parser<Input<'a>, T, EmptyError>) -> impl Parser<Input<'a>, Vec<T>, EmptyError> {
    repeat(0.., item)
}

/// Parses `"include" path`.
fn include(input: &mut Input<'_>) -> Parsed<Global> {
    let file = alt((
        one("a file's name", |token| token.kind == TokenKind::Path),
        one("a file's name", |token| token.kind == TokenKind::Text),
    ));
    let token = preceded(keyword("include"), file).parse_next(input)?;
    Ok(Global::Include(Name { text: token.text.trim_matches('"').to_owned(), span: input.state.span(token) }))
}

fn file(input: &mut Input<'_>) -> Parsed<ModelFile> {
    let parsed = match opt(peek(keyword("model"))).parse_next(input)? {
        Some(_) => application::application.map(ModelFile::Application).parse_next(input)?,
        None => machine::machine.map(ModelFile::Machine).parse_next(input)?,
    };
    let left = input.eof_offset();
    eof.parse_next(input).inspect_err(|_: &EmptyError| input.state.failed(left, "the end of the file"))?;
    Ok(parsed)
}

/// Reads a file of [`Sources`]: a model of an application, or machines and parts of machines. O(its length).
///
/// # Errors
/// It is neither; the message says where and what would have been right there.
pub fn parse(sources: &Sources, id: FileId) -> Result<ModelFile, AspenError> {
    let text = &sources.file(id).text;
    parsed(text, id, file).map_err(|error| error.located(sources))
}

/// Reads a single formula, as for `--param n=2*kilo`.
///
/// # Errors
/// It is none; the message says where and what would have been right there.
pub fn parse_formula(sources: &Sources, id: FileId) -> Result<crate::tree::Expr, AspenError> {
    let formula =
        |input: &mut Input<'_>| (expression::expression, eof).map(|(formula, _)| formula).parse_next(input);
    parsed(&sources.file(id).text, id, formula).map_err(|error| error.located(sources))
}

fn parsed<T>(text: &str, id: FileId, grammar: impl Fn(&mut Input<'_>) -> Parsed<T>) -> Result<T, AspenError> {
    let tokens = token::tokens(text, id)?.tokens;
    let progress = ParserState {
        file: id,
        left: Cell::new(usize::MAX),
        expected: RefCell::default(),
        depth: Cell::new(0),
        operators: Cell::new(0),
        counted: Cell::new(usize::MAX),
        in_formula: Cell::new(false),
        excess: RefCell::default(),
    };
    let mut input = Stateful { input: TokenSlice::new(&tokens), state: &progress };
    grammar(&mut input).map_err(|EmptyError| {
        let at = tokens.len() - progress.left.get().min(tokens.len());
        explain(&progress, tokens.get(at), text)
    })
}

/// Returns the error "expected ..., found ...".
fn explain(progress: &ParserState, found: Option<&Token<'_>>, text: &str) -> AspenError {
    let end = text.trim_end().len() as u32;
    let span =
        found.map_or(SourceSpan { file: progress.file, start: end, end }, |token| progress.span(token));
    if let Some(why) = progress.excess.take() {
        return AspenError::at(span, why);
    }
    let expected = progress.expected.borrow();
    // Descriptions have spaces, words and signs of the language have none.
    let quoted =
        |&what: &&'static str| if what.contains(' ') { what.to_owned() } else { format!("'{what}'") };
    let shown: Vec<String> = expected.iter().map(quoted).collect();
    let list = match shown.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "something else".to_owned(),
    };
    let what = match found {
        None => "the file ends".to_owned(),
        Some(token)
            if token.kind == TokenKind::Word
                && token::is_reserved(token.text)
                && expected.contains(&"a name") =>
        {
            format!("'{}' is here, a word of the language that cannot be a name", token.text)
        }
        Some(token) => format!("'{}' is here", token.text),
    };
    AspenError::at(span, format!("expected {list}, but {what}"))
}
