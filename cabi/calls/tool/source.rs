//! Sources of events (MPI 5.0 section 15.3.8): the virtual clock, which all events have.

use super::{give_no_info, give_text, initialized, place};
use crate::args::{Handle, InOut, Out, OutCount, OutText};
use crate::call::Call;
use crate::constants::MPI_T_SOURCE_ORDERED;
use mpi::error::Result;

/// Virtual time counts picoseconds.
const TICKS_PER_SECOND: i64 = 1_000_000_000_000;

/// Sources: the clock alone.
const COUNT: usize = 1;

/// `MPI_T_source_get_num`.
pub fn get_num(c: &Call, number: Out<i32>) -> Result {
    initialized(c)?;
    number.set(COUNT as i32);
    Ok(())
}

/// `MPI_T_source_get_info`.
pub fn get_info(
    c: &Call,
    index: i32,
    name: OutText,
    name_len: InOut<i32>,
    desc: OutText,
    desc_len: InOut<i32>,
    ordering: Out<i32>,
    ticks_per_second: OutCount,
    max_ticks: OutCount,
    info: Out<Handle>,
) -> Result {
    place(c, index, COUNT)?;
    give_text("xsim_clock", name, name_len);
    give_text("The calling rank's virtual clock, in picoseconds since its start.", desc, desc_len);
    ordering.set(MPI_T_SOURCE_ORDERED);
    ticks_per_second.set(TICKS_PER_SECOND);
    max_ticks.set(i64::MAX);
    give_no_info(c, info)
}

/// `MPI_T_source_get_timestamp`.
pub fn get_timestamp(c: &Call, index: i32, timestamp: OutCount) -> Result {
    place(c, index, COUNT)?;
    let now = c.mpi.world().messages.ranks_mut().read_clock();
    timestamp.set(i64::try_from(now.as_ps()).unwrap_or(i64::MAX));
    Ok(())
}
