//! Enumerations (MPI 5.0 section 15.3.5): the phases of a rank, and the functions that events are of.

use super::{fails, give_text, initialized};
use crate::args::{Handle, InOut, Out, OutText};
use crate::call::Call;
use crate::constants::{MPI_T_ERR_INVALID_HANDLE, MPI_T_ERR_INVALID_ITEM};
use crate::function;
use mpi::error::Result;
use mpi::world::Phase;

/// The handle of the enumeration of phases.
pub(super) const PHASES: usize = 1;
/// That of functions.
pub(super) const FUNCTIONS: usize = 2;

/// Its items: what each is called, by value.
const NAMES: [(Phase, &str); 4] = [
    (Phase::Before, "before"),
    (Phase::Opened, "session"),
    (Phase::Active, "initialized"),
    (Phase::Finalized, "finalized"),
];

/// Returns the value of a phase.
pub(super) fn value_of(phase: Phase) -> i32 {
    NAMES.iter().position(|(known, _)| *known == phase).unwrap_or(NAMES.len() - 1) as i32
}

/// `MPI_T_enum_get_info`.
pub fn get_info(c: &Call, enumtype: Handle, num: Out<i32>, name: OutText, name_len: InOut<i32>) -> Result {
    initialized(c)?;
    let (items, called) = match enumtype.0 {
        PHASES => (NAMES.len(), "xsim_phase"),
        FUNCTIONS => (function::NAMES.len(), "xsim_function"),
        _ => return fails(MPI_T_ERR_INVALID_HANDLE),
    };
    num.set(items as i32);
    give_text(called, name, name_len);
    Ok(())
}

/// `MPI_T_enum_get_item`.
pub fn get_item(
    c: &Call,
    enumtype: Handle,
    index: i32,
    value: Out<i32>,
    name: OutText,
    name_len: InOut<i32>,
) -> Result {
    initialized(c)?;
    let place = usize::try_from(index).unwrap_or(usize::MAX);
    let text = match enumtype.0 {
        PHASES => NAMES.get(place).map(|item| item.1),
        FUNCTIONS => function::NAMES.get(place).copied(),
        _ => return fails(MPI_T_ERR_INVALID_HANDLE),
    };
    let Some(text) = text else { return fails(MPI_T_ERR_INVALID_ITEM) };
    value.set(index);
    give_text(text, name, name_len);
    Ok(())
}
