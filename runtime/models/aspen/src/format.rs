//! Aspen as everybody writes it: indentation by blocks, spaces by rule, lines and comments as they were.

use crate::error::AspenError;
use crate::parse::parse;
use crate::source::{FileId, Sources};
use crate::token::{Comment, Token, TokenKind, Tokens, is_reserved, tokens};

/// Columns for each level.
const INDENT: usize = 2;
/// Words that go on with a statement.
const JOINING: [&str; 7] = ["with", "as", "of", "size", "from", "to", "in"];
/// Words that begin a line where they begin a statement.
const BEGINNING: [&str; 6] = ["param", "data", "enum", "import", "include", "kernel"];

/// Formats a file of [`Sources`]. Formatting twice changes nothing more, and tokens and comments stay what
/// they were. O(its length).
///
/// # Errors
/// It is no Aspen.
pub fn format(sources: &Sources, id: FileId) -> Result<String, AspenError> {
    parse(sources, id)?;
    let text = &sources.file(id).text;
    let pieces = tokens(text, id).map_err(|error| error.located(sources))?;
    let mut printer = Printer {
        source: text,
        written: String::new(),
        open: Vec::new(),
        before: None,
        in_value: false,
        end: 0,
        level: 0,
        negative: false,
    };
    printer.print(&pieces);
    Ok(printer.written)
}

/// Returns `true` if an operator can follow: a number, a name, a closing bracket.
fn ends_operand(token: Token<'_>) -> bool {
    match token.kind {
        TokenKind::Sign => matches!(token.text, ")" | "]"),
        TokenKind::Word => !is_reserved(token.text) || crate::token::unit(token.text).is_some(),
        TokenKind::Number | TokenKind::Text | TokenKind::Path => true,
    }
}

/// A bracket that is open.
struct OpenBracket {
    sign: char,
    /// `true` if formulas are in it, not statements.
    value: bool,
    /// The level of lines inside.
    level: usize,
}

struct Printer<'a> {
    source: &'a str,
    written: String,
    open: Vec<OpenBracket>,
    before: Option<Token<'a>>,
    /// `true` if what stands here outside brackets is a formula.
    in_value: bool,
    /// Offset in the source at which the last piece ended.
    end: usize,
    /// The level of the line that is being written.
    level: usize,
    /// `true` if the last token is a number's sign.
    negative: bool,
}

impl<'a> Printer<'a> {
    fn print(&mut self, pieces: &Tokens<'a>) {
        let (mut tokens, mut comments) = (pieces.tokens.iter().peekable(), pieces.comments.iter().peekable());
        loop {
            match (tokens.peek(), comments.peek()) {
                (Some(token), Some(comment)) if comment.start < token.start => self.comment(comment),
                (None, Some(comment)) => self.comment(comment),
                (Some(token), _) => {
                    self.token(**token);
                    tokens.next();
                    continue;
                }
                (None, None) => break,
            }
            comments.next();
        }
        if !self.written.is_empty() {
            self.written.push('\n');
        }
    }

    /// Returns how many lines the source ends between the last piece and `start`.
    fn lines(&self, start: u32) -> usize {
        self.source[self.end..start as usize].matches('\n').count()
    }

    fn depth(&self) -> usize {
        self.open.last().map_or(0, |open| open.level)
    }

    fn in_formula(&self) -> bool {
        self.open.last().map_or(self.in_value, |open| open.value || open.sign == '{' && self.in_value)
    }

    /// Ends the line, and begins the next one at `level`; one empty line stays if there were some.
    fn break_line(&mut self, lines: usize, level: usize) {
        if self.written.is_empty() {
            return;
        }
        let opened = self.written.ends_with('{');
        self.written.push('\n');
        if lines > 1 && !opened {
            self.written.push('\n');
        }
        self.level = level;
        self.written.push_str(&" ".repeat(level * INDENT));
    }

    fn comment(&mut self, comment: &Comment<'a>) {
        if self.lines(comment.start) > 0 || self.written.is_empty() {
            self.break_line(self.lines(comment.start), self.depth());
        } else {
            self.written.push(' ');
        }
        self.written.push_str(comment.text);
        self.end = comment.start as usize + comment.text.len();
    }

    fn token(&mut self, token: Token<'a>) {
        let mut lines = self.lines(token.start);
        let closes = matches!(token.text, "}" | ")" | "]") && token.kind == TokenKind::Sign;
        if closes {
            lines = lines.min(1);
        }
        let statement = !self.in_formula()
            || token.kind == TokenKind::Word && is_reserved(token.text) && token.text != "in";
        let begins =
            statement && BEGINNING.contains(&token.text) && self.open.last().is_none_or(|open| !open.value);
        if (begins && self.before.is_some_and(|before| before.text != "{"))
            || self.written.rsplit('\n').next().is_some_and(|line| line.contains("//"))
        {
            lines = lines.max(1);
        }
        if lines > 0 {
            let mut level = self.depth();
            if closes {
                level = self.open.len().checked_sub(2).map_or(0, |outer| self.open[outer].level);
            } else if self.continues(token) {
                level += 1;
            }
            self.break_line(lines, level);
        } else if self.before.is_some_and(|before| self.is_spaced(before, token)) {
            self.written.push(' ');
        }
        self.written.push_str(token.text);
        self.end = token.end() as usize;
        self.negative =
            token.kind == TokenKind::Sign && token.text == "-" && !self.before.is_some_and(ends_operand);
        self.follow(token);
        self.before = Some(token);
    }

    /// Keeps account of brackets and formulas.
    fn follow(&mut self, token: Token<'a>) {
        match token.kind {
            TokenKind::Sign => match token.text {
                "(" | "[" => self.push(token.text, true),
                "{" => {
                    let value = self.before.is_some_and(|before| before.text == "=")
                        || self.open.last().is_some_and(|open| open.value);
                    if !value {
                        self.in_value = false;
                    }
                    self.push("{", value);
                }
                ")" | "]" | "}" => {
                    self.open.pop();
                }
                "=" => self.in_value = true,
                _ => {}
            },
            TokenKind::Word
                if is_reserved(token.text)
                    && !matches!(token.text, "in")
                    && crate::token::unit(token.text).is_none() =>
            {
                self.in_value = false;
            }
            _ => {}
        }
    }

    fn push(&mut self, sign: &str, value: bool) {
        // Brackets that are opened in one line indent once.
        self.open.push(OpenBracket {
            sign: sign.chars().next().unwrap_or_default(),
            value,
            level: self.level + 1,
        });
    }

    /// Returns `true` if a line that begins with `token` goes on with the statement before it.
    fn continues(&self, token: Token<'a>) -> bool {
        if self.open.last().is_some_and(|open| open.value) {
            return false;
        }
        let goes_on = |token: Token<'_>, signs: &[&str]| match token.kind {
            TokenKind::Word => JOINING.contains(&token.text),
            TokenKind::Sign => signs.contains(&token.text),
            _ => false,
        };
        let after = ["+", "-", "*", "/", "^", "..", ",", "="];
        goes_on(token, &["+", "-", "*", "/", "^", "..", "="])
            || self.before.is_some_and(|before| goes_on(before, &after))
    }

    fn is_spaced(&self, before: Token<'a>, token: Token<'a>) -> bool {
        let sign =
            |token: Token<'_>, signs: &[&str]| token.kind == TokenKind::Sign && signs.contains(&token.text);
        if sign(token, &[",", ")", "]", ".", "^"]) || sign(before, &["(", "[", ".", "^"]) {
            return false;
        }
        if self.negative {
            return false;
        }
        let is_name = before.kind == TokenKind::Word && !is_reserved(before.text);
        let top = self.open.last();
        match token.text {
            "(" if token.kind == TokenKind::Sign => !is_name,
            "[" if token.kind == TokenKind::Sign => {
                let indexed = (is_name || sign(before, &["]"])) && self.in_formula();
                !indexed && !self.source[token.end() as usize..].trim_start().starts_with(']')
            }
            "{" if token.kind == TokenKind::Sign => !sign(before, &["{"]),
            "}" if token.kind == TokenKind::Sign => top.is_some_and(|open| !open.value),
            _ if sign(before, &["{"]) => top.is_some_and(|open| !open.value),
            _ => true,
        }
    }
}
