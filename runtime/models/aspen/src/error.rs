//! Reasons why a model cannot be read or evaluated.

use crate::source::{LineColumn, SourceSpan, Sources};
use std::fmt;

/// A sentence for the user; where it is about a place in a file, also that place, shown by a caret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AspenError {
    sentence: String,
    span: Option<SourceSpan>,
    shown: Option<SourceLine>,
}

/// A position with its line, copied so that an error outlives its sources.
#[derive(Clone, PartialEq, Eq, Debug)]
struct SourceLine {
    file: String,
    place: LineColumn,
    line: String,
    /// Number of characters that the caret's line marks, at least one.
    width: usize,
}

impl AspenError {
    /// Returns an error about no particular place.
    pub fn new(sentence: impl Into<String>) -> AspenError {
        AspenError { sentence: sentence.into(), span: None, shown: None }
    }

    /// Returns an error about `span`.
    pub fn at(span: SourceSpan, sentence: impl Into<String>) -> AspenError {
        AspenError { sentence: sentence.into(), span: Some(span), shown: None }
    }

    /// Returns this error, which can be shown with its line. O(length of the file).
    pub fn located(mut self, sources: &Sources) -> AspenError {
        if let Some(span) = self.span
            && self.shown.is_none()
        {
            let (place, line) = (sources.place(span), sources.line(span));
            let marked = sources.text(span).lines().next().unwrap_or_default().chars().count();
            let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            self.shown = Some(SourceLine {
                file: sources.file(span.file).name.clone(),
                place,
                line,
                width: marked.max(1),
            });
        }
        self
    }

    /// Returns the sentence alone.
    pub fn sentence(&self) -> &str {
        &self.sentence
    }

    /// Returns what it is about.
    pub fn span(&self) -> Option<SourceSpan> {
        self.span
    }

    /// Returns line and column, once [`located`](AspenError::located).
    pub fn place(&self) -> Option<LineColumn> {
        self.shown.as_ref().map(|shown| shown.place)
    }
}

impl fmt::Display for AspenError {
    /// Writes `file:line:column: sentence`; then the line and carets below what the sentence is about.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(SourceLine { file, place, line, width }) = &self.shown else {
            return f.write_str(&self.sentence);
        };
        write!(f, "{file}:{}:{}: {}", place.line, place.column, self.sentence)?;
        // A generated file may be one line.
        let (from, most) = (place.column.saturating_sub(100).max(1) - 1, 160);
        let part: String = line.chars().skip(from).take(most).collect();
        let (before, carets) = (place.column - 1 - from, (*width).min(most));
        write!(f, "\n  {part}\n  {:before$}{}", "", "^".repeat(carets))
    }
}

impl std::error::Error for AspenError {}

/// Returns "did you mean 'x'?" for the name among `known` that is nearest to `name`, if one is near; else
/// nothing.
pub(crate) fn suggestion<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let near = known
        .map(|other| (distance(name, other), other))
        .filter(|&(far, other)| far < name.len() && far <= 1 + other.len().min(name.len()) / 4);
    near.min().map(|(_, other)| format!("; did you mean '{other}'?")).unwrap_or_default()
}

/// Returns how many characters must be put in, left out or replaced (Levenshtein), case aside.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    if a.len().abs_diff(b.len()) > 4 || a.len() > 64 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.chars().enumerate() {
            let cost = (diagonal + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], cost);
        }
    }
    row.pop().unwrap_or_default()
}
