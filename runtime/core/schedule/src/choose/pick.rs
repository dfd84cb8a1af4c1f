//! Answers of a decision table.

use crate::algorithm::Parameters;

/// An algorithm's name and parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pick {
    pub(super) name: &'static str,
    pub(super) parameters: Parameters,
}

impl From<&'static str> for Pick {
    fn from(name: &'static str) -> Pick {
        Pick { name, parameters: Parameters::default() }
    }
}
