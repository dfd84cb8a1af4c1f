//! Error classes, codes and strings that the program adds (MPI 5.0 section 9.5).
//!
//! Every rank numbers its own additions from `MPI_ERR_LASTCODE` + 1, as separate processes
//! would; ranks that add nothing cost nothing.

use super::{ErrorClass, Failure, Result};
use crate::abi;
use rustc_hash::FxHashMap;

/// `MPI_MAX_ERROR_STRING` of the standard ABI, the terminating zero included.
pub const MAX_ERROR_STRING: usize = abi::MPI_MAX_ERROR_STRING as usize;

/// One class or code that a rank added.
// Codes and classes are one sequence of numbers, as MPI has one `MPI_LASTUSEDCODE` for both (MPI 5.0 section
// 9.5).
struct Added {
    class: ErrorClass,
    text: Option<Box<str>>,
    live: bool,
    /// Number of live codes within a class.
    codes: u32,
}

/// Error classes and codes that the ranks of this process added.
#[derive(Default)]
pub struct ErrorCodes {
    ranks: FxHashMap<u32, Vec<Added>>,
}

impl ErrorCodes {
    /// Implements `MPI_Add_error_class`.
    pub fn add_class(&mut self, rank: u32) -> Result<ErrorClass> {
        let class = self.next(rank)?;
        self.ranks.entry(rank).or_default().push(Added { class, text: None, live: true, codes: 0 });
        Ok(class)
    }

    /// Implements `MPI_Add_error_code`. Returns a new code within `class`, which may be predefined or added.
    pub fn add_code(&mut self, rank: u32, class: ErrorClass) -> Result<ErrorClass> {
        if self.class_of(rank, class) != Ok(class) {
            return Err(Failure::new(
                ErrorClass::ARG,
                format!(
                    "{} is not an error class; pass a predefined class or one from MPI_Add_error_class",
                    class.0
                ),
            ));
        }
        let code = self.next(rank)?;
        if let Ok(added) = self.added_mut(rank, class, "") {
            added.codes += 1;
        }
        self.ranks.entry(rank).or_default().push(Added { class, text: None, live: true, codes: 0 });
        Ok(code)
    }

    /// Implements `MPI_Add_error_string`; an empty text takes the string away.
    pub fn add_string(&mut self, rank: u32, code: ErrorClass, text: &str) -> Result {
        if text.len() >= MAX_ERROR_STRING {
            return Err(Failure::new(
                ErrorClass::ARG,
                format!(
                    "the error string has {} bytes; MPI_MAX_ERROR_STRING allows {}",
                    text.len(),
                    MAX_ERROR_STRING - 1
                ),
            ));
        }
        self.added_mut(rank, code, "has no string that can be set")?.text =
            (!text.is_empty()).then(|| text.into());
        Ok(())
    }

    /// Implements `MPI_Remove_error_string`.
    pub fn remove_string(&mut self, rank: u32, code: ErrorClass) -> Result {
        self.added_mut(rank, code, "has no string that can be removed")?.text = None;
        Ok(())
    }

    /// Implements `MPI_Remove_error_code`; the code's string must have been removed before.
    pub fn remove_code(&mut self, rank: u32, code: ErrorClass) -> Result {
        let added = self.added_mut(rank, code, "is not an added error code")?;
        if added.class == code {
            return Err(Failure::new(
                ErrorClass::ARG,
                format!("{} is an error class, not a code; remove it with MPI_Remove_error_class", code.0),
            ));
        }
        if added.text.is_some() {
            return Err(Failure::new(
                ErrorClass::ARG,
                format!(
                    "error code {} still has a string; remove it first with MPI_Remove_error_string",
                    code.0
                ),
            ));
        }
        added.live = false;
        let class = added.class;
        if let Ok(added) = self.added_mut(rank, class, "") {
            added.codes -= 1;
        }
        self.trim(rank);
        Ok(())
    }

    /// Implements `MPI_Remove_error_class`; codes within the class, and its string, must have been removed
    /// before.
    pub fn remove_class(&mut self, rank: u32, class: ErrorClass) -> Result {
        let added = self.added_mut(rank, class, "is not an added error class")?;
        if added.class != class {
            return Err(Failure::new(
                ErrorClass::ARG,
                format!("{} is an error code, not a class; remove it with MPI_Remove_error_code", class.0),
            ));
        }
        if added.codes > 0 {
            return Err(Failure::new(
                ErrorClass::ARG,
                format!("error class {} still has {} codes; remove them first", class.0, added.codes),
            ));
        }
        if added.text.is_some() {
            return Err(Failure::new(
                ErrorClass::ARG,
                format!(
                    "error class {} still has a string; remove it first with MPI_Remove_error_string",
                    class.0
                ),
            ));
        }
        added.live = false;
        self.trim(rank);
        Ok(())
    }

    /// Gives removed numbers at the end back.
    // Only from the end: a number in the middle may not be handed out again while later ones are in use, as
    // the last used code only shrinks when the last is removed.
    fn trim(&mut self, rank: u32) {
        if let Some(added) = self.ranks.get_mut(&rank) {
            while added.last().is_some_and(|last| !last.live) {
                added.pop();
            }
        }
    }

    /// Implements `MPI_Error_class`.
    pub fn class_of(&self, rank: u32, code: ErrorClass) -> Result<ErrorClass> {
        if code.describe().is_some() || code == ErrorClass::LAST {
            return Ok(code);
        }
        self.added(rank, code).map(|added| added.class).ok_or_else(|| {
            Failure::new(
                ErrorClass::ARG,
                format!("{} is not an error code: neither predefined nor added by this rank", code.0),
            )
        })
    }

    /// Implements `MPI_Error_string`. Returns the name and the sentence of a predefined class, or the added
    /// text.
    pub fn string(&self, rank: u32, code: ErrorClass) -> Result<String> {
        if let Some((name, text)) = code.describe() {
            return Ok(format!("{name}: {text}"));
        }
        self.class_of(rank, code)?;
        Ok(self.added(rank, code).and_then(|added| added.text.as_deref()).unwrap_or("").to_owned())
    }

    /// Returns the value of the attribute `MPI_LASTUSEDCODE` for `rank`.
    pub fn last_used(&self, rank: u32) -> i32 {
        ErrorClass::LAST.0 + self.ranks.get(&rank).map_or(0, |added| added.len() as i32)
    }

    fn next(&self, rank: u32) -> Result<ErrorClass> {
        self.last_used(rank).checked_add(1).map(ErrorClass).ok_or_else(|| {
            Failure::new(ErrorClass::OTHER, "this rank has added every error code that an int can hold")
        })
    }

    fn added(&self, rank: u32, code: ErrorClass) -> Option<&Added> {
        let index = usize::try_from(i64::from(code.0) - i64::from(ErrorClass::LAST.0) - 1).ok()?;
        self.ranks.get(&rank)?.get(index).filter(|added| added.live)
    }

    fn added_mut(&mut self, rank: u32, code: ErrorClass, wrong: &str) -> Result<&mut Added> {
        usize::try_from(i64::from(code.0) - i64::from(ErrorClass::LAST.0) - 1)
            .ok()
            .and_then(|index| self.ranks.get_mut(&rank)?.get_mut(index))
            .filter(|added| added.live)
            .ok_or_else(|| {
                Failure::new(
                    ErrorClass::ARG,
                    format!("{} {wrong}; only classes and codes that this rank added can change", code.0),
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predefined_classes_are_sorted_and_fit_the_string_limit() {
        assert!(super::super::PREDEFINED.is_sorted_by(|a, b| a.0 < b.0));
        for (_, name, text) in super::super::PREDEFINED {
            assert!(name.len() + 2 + text.len() < MAX_ERROR_STRING);
        }
        assert_eq!(ErrorClass::TRUNCATE.0, 15);
        assert_eq!(ErrorClass::ABI.0, 62);
    }

    #[test]
    fn each_rank_numbers_its_own_codes() {
        let mut codes = ErrorCodes::default();
        let class = codes.add_class(7).unwrap();
        assert_eq!(class.0, 16384);
        let code = codes.add_code(7, class).unwrap();
        assert_eq!(codes.class_of(7, code).unwrap(), class);
        assert_eq!(codes.last_used(7), code.0);
        assert_eq!(codes.last_used(8), ErrorClass::LAST.0);
        assert!(codes.class_of(8, code).is_err());
        codes.add_string(7, code, "no fuel").unwrap();
        assert_eq!(codes.string(7, code).unwrap(), "no fuel");
        assert!(codes.remove_class(7, class).is_err());
        assert!(codes.remove_code(7, code).is_err());
        codes.remove_string(7, code).unwrap();
        codes.remove_code(7, code).unwrap();
        codes.remove_class(7, class).unwrap();
        assert!(codes.string(7, code).is_err());
    }

    #[test]
    fn predefined_strings_cannot_change() {
        let mut codes = ErrorCodes::default();
        assert!(codes.add_string(0, ErrorClass::TYPE, "x").is_err());
        assert!(codes.string(0, ErrorClass::TYPE).unwrap().starts_with("MPI_ERR_TYPE: "));
    }
}
