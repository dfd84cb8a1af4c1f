//! Data representations that convert by functions of the program (MPI 5.0 section 14.5.3).
//!
//! A function of the program runs with nothing of the simulated MPI borrowed. A write is converted before it
//! begins, and a read when its bytes are there, as a deferred callback of the main loop. The lengths of
//! predefined datatypes in the file come before anything is computed from them.

use objects::datatype::{Constructor, Datatype};
use objects::error::{ErrorClass, Failure, Result};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// A conversion function: the program's memory and its datatype's handle, how many of the datatype's
/// elements, and the bytes in the file, which begin with the first of them; its error code.
pub type Convert = Rc<dyn Fn(usize, usize, u64, usize) -> i32>;
/// An extent function: of a predefined datatype's handle the bytes in the file, or the error code.
pub type Extent = Rc<dyn Fn(usize) -> std::result::Result<i64, i32>>;

/// Functions that a program registers for a data representation.
#[derive(Clone)]
pub struct ConversionFunctions {
    /// From the file; none leaves data as it is.
    pub read: Option<Convert>,
    /// To the file; none leaves data as it is.
    pub write: Option<Convert>,
    /// Function that returns the bytes of a predefined datatype in the file.
    pub extent: Extent,
}

/// A representation of the program's own.
pub struct Conversion {
    pub(crate) name: Rc<str>,
    /// Functions that the program has registered.
    pub functions: ConversionFunctions,
    /// Bytes in the file, of the predefined datatypes that the program was asked about.
    extents: RefCell<FxHashMap<usize, u64>>,
}

impl fmt::Debug for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversion")
            .field("name", &self.name)
            .field("extents", &self.extents)
            .finish_non_exhaustive()
    }
}

/// Returns what a function of the program failed with.
pub(crate) fn failed(what: &str, code: i32) -> Box<Failure> {
    Failure::new(
        ErrorClass::CONVERSION,
        format!("the {what} function of the data representation failed with error code {code}"),
    )
}

impl Conversion {
    pub(crate) fn new(name: Rc<str>, functions: ConversionFunctions) -> Conversion {
        Conversion { name, functions, extents: RefCell::default() }
    }

    /// Adds the predefined datatypes in this one of which the program was not asked the extent yet, by
    /// handle.
    pub(crate) fn unknown(&self, datatype: &Datatype, out: &mut Vec<usize>) {
        if let Constructor::Named(handle) = datatype.constructor {
            if !self.extents.borrow().contains_key(&handle) && !out.contains(&handle) {
                out.push(handle);
            }
            return;
        }
        datatype.constructor.datatypes().iter().for_each(|old| self.unknown(old, out));
    }

    /// Asks the program about predefined datatypes. The world must not be borrowed.
    ///
    /// # Errors
    /// `MPI_ERR_CONVERSION` if its function fails or has no such datatype.
    pub fn ask(&self, handles: &[usize]) -> Result {
        for &handle in handles {
            let bytes = (self.functions.extent)(handle).map_err(|code| failed("extent", code))?;
            let bytes = u64::try_from(bytes).map_err(|_| {
                Failure::new(
                    ErrorClass::CONVERSION,
                    format!(
                        "the extent function of the data representation answers {bytes} bytes: answer 0 or \
                         more"
                    ),
                )
            })?;
            self.extents.borrow_mut().insert(handle, bytes);
        }
        Ok(())
    }

    /// Returns the bytes of a predefined datatype in the file.
    pub(crate) fn bytes_of(&self, datatype: &Datatype) -> Result<u64> {
        let known = match datatype.constructor {
            Constructor::Named(handle) => self.extents.borrow().get(&handle).copied(),
            _ => None,
        };
        known.ok_or_else(|| {
            Failure::new(
                ErrorClass::TYPE,
                "a datatype that is made of no other is not known to the data representation: use predefined \
                 ones",
            )
        })
    }

    /// Converts what is written: elements in the program's memory with their datatype's handle, and so many
    /// bytes in the file. The world must not be borrowed.
    ///
    /// # Errors
    /// `MPI_ERR_CONVERSION`.
    pub fn encode(
        &self,
        (buffer, datatype): (usize, usize),
        (elements, bytes): (u64, u64),
    ) -> Result<Option<Vec<u8>>> {
        let Some(write) = &self.functions.write else { return Ok(None) };
        let mut bytes = vec![0u8; bytes as usize];
        match write(buffer, datatype, elements, bytes.as_mut_ptr() as usize) {
            0 => Ok(Some(bytes)),
            code => Err(failed("write", code)),
        }
    }
}
