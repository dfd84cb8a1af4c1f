//! Fortran's unit numbers, for each rank its own.
//!
//! libgfortran has one table of units for the process. The first rank that uses a number keeps it;
//! another rank that uses the same number gets one that no program uses. Units 0, 5 and 6 are the
//! standard streams and negative numbers are the compiler's.

use std::collections::{BTreeMap, HashMap};

use crate::now;
use crate::single::Single;

/// Numbers handed out begin here.
const FIRST: i32 = 1_000_000_000;

#[derive(Default)]
struct Units {
    owner: HashMap<i32, u32>,
    moved: BTreeMap<(u32, i32), i32>,
    used: i32,
}

static UNITS: Single<Option<Units>> = Single::new(None);

/// The number under which libgfortran is to know the running rank's unit.
pub fn translate(unit: i32) -> i32 {
    let Some(rank) = now::current() else { return unit };
    if unit < 0 || matches!(unit, 0 | 5 | 6) || unit >= FIRST {
        return unit;
    }
    // SAFETY: the simulating thread; the closure only looks up and inserts.
    unsafe {
        UNITS.with(|units| {
            let units = units.get_or_insert_default();
            if *units.owner.entry(unit).or_insert(rank) == rank {
                return unit;
            }
            *units.moved.entry((rank, unit)).or_insert_with(|| {
                units.used += 1;
                FIRST + units.used - 1
            })
        })
    }
}

/// Forgets the units of a rank that ends; returns their numbers, to be closed.
pub(crate) fn end(rank: u32) -> Vec<i32> {
    // SAFETY: the simulating thread; the closure only removes.
    unsafe {
        UNITS.with(|units| {
            let Some(units) = units else { return Vec::new() };
            let mut ended: Vec<i32> = units.owner.iter().filter(|&(_, &owner)| owner == rank).map(|(&unit, _)| unit).collect();
            units.owner.retain(|_, &mut owner| owner != rank);
            let moved: Vec<(u32, i32)> = units.moved.range((rank, 0)..=(rank, i32::MAX)).map(|(&key, _)| key).collect();
            ended.extend(moved.iter().filter_map(|key| units.moved.remove(key)));
            ended.sort_unstable();
            ended
        })
    }
}

/// Closes units as `close(unit)` does.
pub(crate) fn close(units: &[i32]) {
    if units.is_empty() {
        return;
    }
    // SAFETY: looks up a symbol by a valid name.
    let close = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_gfortran_st_close".as_ptr()) };
    if close.is_null() {
        return;
    }
    for &unit in units {
        // libgfortran's st_parameter_close: flags, unit, then only what flags announce.
        let mut parameters = [0u64; 64];
        parameters[0] = (unit as u64) << 32;
        // SAFETY: libgfortran's function takes its parameter block, of which no optional part is
        // announced; the block is longer than any version's.
        unsafe {
            let close: unsafe extern "C" fn(*mut u64) = std::mem::transmute(close);
            close(parameters.as_mut_ptr());
        }
    }
}
