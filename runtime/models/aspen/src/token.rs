//! Words, numbers and signs of a file, and its comments.

use crate::error::AspenError;
use crate::source::{FileId, SourceSpan};
use winnow::ascii::{digit0, digit1};
use winnow::combinator::{alt, not, opt, preceded, repeat};
use winnow::error::EmptyError;
use winnow::prelude::*;
use winnow::stream::{LocatingSlice, Location};
use winnow::token::{any, none_of, one_of, take_while};

/// Kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenKind {
    /// A name or a word of the language.
    Word,
    /// A number without a sign.
    Number,
    /// A text with its quotes.
    Text,
    /// A sign such as `{` or `==`.
    Sign,
    /// The path after `include`.
    Path,
}

/// A word, number or sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token<'a> {
    /// Kind of the token.
    pub kind: TokenKind,
    /// The text as written.
    pub text: &'a str,
    /// The first byte.
    pub start: u32,
}

impl Token<'_> {
    /// Returns the byte after its last.
    pub fn end(&self) -> u32 {
        self.start + self.text.len() as u32
    }
}

/// `// ...`, without the end of its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Comment<'a> {
    /// With its slashes.
    pub text: &'a str,
    /// The first byte.
    pub start: u32,
}

/// A file in pieces.
#[derive(Clone, Debug, Default)]
pub struct Tokens<'a> {
    /// In order.
    pub tokens: Vec<Token<'a>>,
    /// In order.
    pub comments: Vec<Comment<'a>>,
}

/// Words that are no names, as in the reference implementation.
pub const KEYWORDS: [&str; 33] = [
    "param",
    "enum",
    "sample",
    "in",
    "with",
    "as",
    "of",
    "size",
    "model",
    "kernel",
    "data",
    "import",
    "include",
    "to",
    "from",
    "call",
    "iterate",
    "map",
    "par",
    "seq",
    "execute",
    "if",
    "else",
    "switch",
    "probability",
    "resource",
    "conflict",
    "property",
    "power",
    "static",
    "dynamic",
    "or",
    "and",
];

/// Units, and what they stand for.
pub const UNITS: [(&str, f64); 9] = [
    ("nano", 1e-9),
    ("micro", 1e-6),
    ("milli", 1e-3),
    ("kilo", 1e3),
    ("mega", 1e6),
    ("giga", 1e9),
    ("tera", 1e12),
    ("peta", 1e15),
    ("exa", 1e18),
];

/// Returns `true` if a word cannot be a name.
pub fn is_reserved(word: &str) -> bool {
    KEYWORDS.contains(&word) || unit(word).is_some()
}

/// Returns what a unit stands for.
pub fn unit(word: &str) -> Option<f64> {
    UNITS.iter().find(|(name, _)| *name == word).map(|&(_, value)| value)
}

type Text<'a> = LocatingSlice<&'a str>;

fn word<'a>(input: &mut Text<'a>) -> Result<&'a str, EmptyError> {
    (
        one_of(|c: char| c.is_ascii_alphabetic() || c == '_'),
        take_while(0.., |c: char| c.is_ascii_alphanumeric() || c == '_'),
    )
        .take()
        .parse_next(input)
}

/// Reads `5`, `5.`, `.5` or `5.5`, with an exponent or without; in `1..10` the dots are a sign.
fn number<'a>(input: &mut Text<'a>) -> Result<&'a str, EmptyError> {
    let whole = (digit1, opt(('.', not('.'), digit0)).void()).void();
    let part = ('.', digit1).void();
    let exponent = opt((one_of(['e', 'E']), opt(one_of(['+', '-'])), digit1));
    (alt((whole, part)), exponent).take().parse_next(input)
}

fn text<'a>(input: &mut Text<'a>) -> Result<&'a str, EmptyError> {
    let inside = repeat::<_, _, (), _, _>(
        0..,
        alt((preceded('\\', none_of('\n')).void(), none_of(['"', '\\', '\n']).void())),
    );
    ('"', inside, '"').take().parse_next(input)
}

fn sign<'a>(input: &mut Text<'a>) -> Result<&'a str, EmptyError> {
    let two = alt(("..", "==", "<=", ">=", "!="));
    alt((two, one_of(|c: char| "<>=[](){}.,+-*/^".contains(c)).take())).parse_next(input)
}

/// Divides a text. O(its length).
///
/// # Errors
/// A character that has no meaning, a text without an end, a number that runs into a word.
pub fn tokens(text_of_file: &str, file: FileId) -> Result<Tokens<'_>, AspenError> {
    let mut input = LocatingSlice::new(text_of_file);
    let mut found = Tokens::default();
    let space = |input: &mut Text<'_>| {
        take_while::<_, _, EmptyError>(0.., [' ', '\t', '\r', '\n', '\u{feff}', '\u{c}'])
            .void()
            .parse_next(input)
            .unwrap_or_default();
    };
    loop {
        space(&mut input);
        let start = input.current_token_start() as u32;
        if input.is_empty() {
            return Ok(found);
        }
        if input.starts_with("//") {
            let comment: &str = take_while::<_, _, EmptyError>(2.., |c: char| c != '\n')
                .parse_next(&mut input)
                .unwrap_or_default();
            found.comments.push(Comment { text: comment.trim_end(), start });
            continue;
        }
        let is_path =
            found.tokens.last().is_some_and(|last| last.kind == TokenKind::Word && last.text == "include");
        let path = |input: &mut Text<'_>| {
            take_while::<_, _, EmptyError>(1.., |c: char| !c.is_whitespace()).void().parse_next(input)
        };
        let before = input;
        let kind = match text_of_file.as_bytes()[start as usize] {
            b'"' => text.parse_next(&mut input).map(|_| TokenKind::Text),
            _ if is_path => path(&mut input).map(|()| TokenKind::Path),
            b'0'..=b'9' => number.parse_next(&mut input).map(|_| TokenKind::Number),
            b'.' if before[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                number.parse_next(&mut input).map(|_| TokenKind::Number)
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => word.parse_next(&mut input).map(|_| TokenKind::Word),
            _ => sign.parse_next(&mut input).map(|_| TokenKind::Sign),
        };
        let Ok(kind) = kind else {
            return Err(meaningless(text_of_file, start, file));
        };
        let end = input.current_token_start() as u32;
        let token = Token { kind, text: &text_of_file[start as usize..end as usize], start };
        if kind == TokenKind::Number && input.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return Err(run_together(token, &mut input, file));
        }
        found.tokens.push(token);
    }
}

fn meaningless(text: &str, start: u32, file: FileId) -> AspenError {
    let rest = &text[start as usize..];
    let character = rest.chars().next().unwrap_or_default();
    let span = |length: usize| SourceSpan { file, start, end: start + length as u32 };
    match character {
        '"' => {
            let line = rest.lines().next().unwrap_or_default();
            AspenError::at(span(line.len()), "this text has no end: a second \" is missing in its line")
        }
        '!' => AspenError::at(span(1), "'!' alone has no meaning; 'differs from' is written !="),
        '&' | '|' => {
            AspenError::at(span(character.len_utf8()), "conditions are joined by the words 'and' and 'or'")
        }
        ';' => AspenError::at(span(1), "';' has no meaning: statements end where the next one begins"),
        _ => AspenError::at(
            span(character.len_utf8()),
            format!("the character {character:?} has no meaning here"),
        ),
    }
}

fn run_together(number: Token<'_>, input: &mut Text<'_>, file: FileId) -> AspenError {
    let unit_or_word = word.parse_next(input).unwrap_or_default();
    let span = SourceSpan { file, start: number.start, end: input.current_token_start() as u32 };
    let _: Result<char, EmptyError> = any.parse_next(input);
    AspenError::at(
        span,
        format!(
            "'{}{unit_or_word}' is no number: a product is written {}*{unit_or_word}",
            number.text, number.text
        ),
    )
}
