//! Why a machine cannot be read or built.

use std::fmt;

/// A sentence for the user; for a specification also the place in it, shown by a caret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MachineError {
    sentence: String,
    place: Option<(String, usize)>,
    context: Option<String>,
}

impl MachineError {
    /// An error about no particular character.
    pub fn new(sentence: impl Into<String>) -> MachineError {
        MachineError { sentence: sentence.into(), place: None, context: None }
    }

    /// An error about the character at byte `at` of `specification`.
    pub fn pointing(specification: &str, at: usize, sentence: impl Into<String>) -> MachineError {
        MachineError { sentence: sentence.into(), place: Some((specification.to_owned(), at)), context: None }
    }

    /// The same error, said to be in a file or a part of one.
    pub(crate) fn within(mut self, context: impl Into<String>) -> MachineError {
        self.context = Some(context.into());
        self
    }

    /// The same error, which names one more thing that would have been right.
    pub(crate) fn or(mut self, also: &str) -> MachineError {
        self.sentence = format!("{}; {also} would do as well", self.sentence);
        self
    }

    /// The sentence alone.
    pub fn sentence(&self) -> &str {
        &self.sentence
    }

    /// The byte of the specification that the error is about.
    pub fn position(&self) -> Option<usize> {
        self.place.as_ref().map(|&(_, at)| at)
    }
}

impl fmt::Display for MachineError {
    /// The sentence; then, if there is a place, the specification and a caret below it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(context) = &self.context {
            write!(f, "{context}: ")?;
        }
        f.write_str(&self.sentence)?;
        if let Some((specification, at)) = &self.place {
            let line: String = specification.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            let before = specification.char_indices().take_while(|(byte, _)| byte < at).count();
            write!(f, "\n  {line}\n  {:before$}^", "")?;
        }
        Ok(())
    }
}
impl std::error::Error for MachineError {}
