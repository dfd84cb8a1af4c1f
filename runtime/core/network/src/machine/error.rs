//! Why a machine cannot be read or built.

use std::fmt;
use std::sync::Arc;

/// A sentence for the user; for a specification or a file also the place in it, shown by a caret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MachineError {
    sentence: String,
    place: Option<(MachineText, usize)>,
    context: Option<String>,
}

/// Text that a machine was read from, into which errors point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MachineText {
    text: Arc<str>,
    /// `true` if it is a file's: then errors show the line.
    is_file: bool,
}

impl MachineText {
    /// Makes the text of a specification.
    pub(crate) fn specification(text: &str) -> MachineText {
        MachineText { text: text.into(), is_file: false }
    }

    /// Makes the text of a machine file.
    pub(crate) fn file(text: &str) -> MachineText {
        MachineText { text: text.into(), is_file: true }
    }

    /// Makes an error about the character at byte `at`.
    pub(crate) fn error(&self, at: usize, sentence: impl Into<String>) -> MachineError {
        MachineError { sentence: sentence.into(), place: Some((self.clone(), at)), context: None }
    }

    /// Returns `true` if `text` stands at byte `at`.
    pub(crate) fn has(&self, at: usize, text: &str) -> bool {
        self.text.get(at..).is_some_and(|rest| rest.starts_with(text))
    }

    /// Returns the line with byte `at` in it, its number from 1, and the characters before the byte. A
    /// specification is one line.
    fn line(&self, at: usize) -> (String, usize, usize) {
        let text = &*self.text;
        let start = if self.is_file { text[..at].rfind('\n').map_or(0, |newline| newline + 1) } else { 0 };
        let line = if self.is_file { text[start..].lines().next().unwrap_or_default() } else { text };
        let shown = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        (
            shown,
            text[..start].matches('\n').count() + 1,
            text[start..].char_indices().take_while(|(byte, _)| start + byte < at).count(),
        )
    }
}

impl MachineError {
    /// Makes an error about no particular character.
    pub fn new(sentence: impl Into<String>) -> MachineError {
        MachineError { sentence: sentence.into(), place: None, context: None }
    }

    /// Returns this error, said to be in a file or a part of one.
    pub(crate) fn within(mut self, context: impl Into<String>) -> MachineError {
        self.context = Some(context.into());
        self
    }

    /// Returns an error about the same place with another sentence.
    pub(crate) fn instead(self, sentence: String) -> MachineError {
        MachineError { sentence, ..self }
    }

    /// Returns the sentence alone.
    pub fn sentence(&self) -> &str {
        &self.sentence
    }

    /// Returns the byte of the specification or file that the error is about.
    pub fn position(&self) -> Option<usize> {
        self.place.as_ref().map(|&(_, at)| at)
    }
}

impl From<String> for MachineError {
    fn from(sentence: String) -> MachineError {
        MachineError::new(sentence)
    }
}

impl fmt::Display for MachineError {
    /// Writes the sentence; then, if there is a place, the specification or the file's line and a caret below
    /// it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place.as_ref().map(|(source, at)| (source.line(*at), source.is_file));
        if let Some(context) = &self.context {
            match &place {
                Some(((_, number, _), true)) => write!(f, "{context}, line {number}: ")?,
                _ => write!(f, "{context}: ")?,
            }
        }
        f.write_str(&self.sentence)?;
        if let Some(((line, _, before), _)) = place {
            write!(f, "\n  {line}\n  {:before$}^", "")?;
        }
        Ok(())
    }
}
impl std::error::Error for MachineError {}
