//! Validation of a constructor's arguments, each on its own.

use super::array::{validate_darray, validate_subarray};
use super::constructor::{Constructor, arg};
use crate::error::{ErrorClass, Failure, Result};

fn count(name: &str, value: i64) -> Result {
    if value < 0 {
        return Err(Failure::new(ErrorClass::COUNT, format!("{name} is {value}; it must not be negative")));
    }
    Ok(())
}

fn lengths(name: &str, values: &[i64]) -> Result {
    match values.iter().position(|&value| value < 0) {
        Some(at) => Err(arg(format!("{name}[{at}] is {}; it must not be negative", values[at]))),
        None => Ok(()),
    }
}

// Apart from compiling, which may then take every number for right; and each argument by itself, in the order
// of the call, so that the first wrong one is named.
impl Constructor {
    /// Checks the arguments on their own.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT` or `MPI_ERR_ARG`, naming the argument and its value.
    pub fn validate(&self) -> Result {
        use Constructor::*;
        match self {
            Contiguous { count: n, .. } => count("count", *n),
            Vector { count: n, blocklength, .. } | Hvector { count: n, blocklength, .. } => {
                count("count", *n)?;
                lengths("blocklength", &[*blocklength])
                    .map_err(|_| arg(format!("blocklength is {blocklength}; it must not be negative")))
            }
            Indexed { blocklengths, displacements, .. }
            | Hindexed { blocklengths, displacements, .. }
            | Struct { blocklengths, displacements, .. } => {
                debug_assert_eq!(blocklengths.len(), displacements.len());
                lengths("array_of_blocklengths", blocklengths)
            }
            IndexedBlock { blocklength, .. } | HindexedBlock { blocklength, .. } => {
                if *blocklength < 0 {
                    return Err(arg(format!("blocklength is {blocklength}; it must not be negative")));
                }
                Ok(())
            }
            Subarray { sizes, subsizes, starts, .. } => validate_subarray(sizes, subsizes, starts),
            Darray(darray) => validate_darray(darray),
            Named(_)
            | Dup { .. }
            | Resized { .. }
            | F90Real { .. }
            | F90Complex { .. }
            | F90Integer { .. }
            | ValueIndex { .. } => Ok(()),
        }
    }
}
