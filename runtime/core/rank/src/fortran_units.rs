//! Fortran's unit numbers, for each rank its own.
//!
//! libgfortran has one table of units for the process. The first rank that uses a number keeps it; another
//! rank that uses the same number gets one that no program uses. Units 0, 5 and 6 are the standard streams: a
//! rank that opens a file on one, or closes it, gets a number of its own. So does a rank that reads unit 5
//! and has no standard input. Negative numbers are the compiler's.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::CString;

use crate::next::NextSymbol;
use crate::single::Single;
use crate::{now, own_streams, stdio};

/// Numbers handed out begin here.
const FIRST: i32 = 1_000_000_000;
/// The number of standard input.
const INPUT: i32 = 5;

#[derive(Default)]
struct FortranUnits {
    owner: HashMap<i32, u32>,
    moved: BTreeMap<(u32, i32), i32>,
    used: i32,
    /// The numbers handed out that have a file.
    connected: BTreeSet<i32>,
}

static UNITS: Single<Option<FortranUnits>> = Single::new(None);

fn with<R>(f: impl FnOnce(&mut FortranUnits) -> R) -> R {
    // SAFETY: the simulating thread; the closures look up, insert and remove.
    unsafe { UNITS.with(|units| f(units.get_or_insert_default())) }
}

fn is_standard(unit: i32) -> bool {
    matches!(unit, 0 | 5 | 6)
}

/// Returns the running rank, if it has a number of its own for such a unit.
fn rank_with_own(unit: i32) -> Option<u32> {
    now::current().filter(|_| (0..FIRST).contains(&unit))
}

impl FortranUnits {
    fn find(&mut self, rank: u32, unit: i32) -> i32 {
        // A rank keeps the number that it has, also when the unit's first owner ends.
        let is_own = !self.moved.contains_key(&(rank, unit))
            && (is_standard(unit) || *self.owner.entry(unit).or_insert(rank) == rank);
        if is_own { unit } else { self.moved(rank, unit) }
    }

    /// Returns the number that stands for the rank's unit, made at first use.
    fn moved(&mut self, rank: u32, unit: i32) -> i32 {
        *self.moved.entry((rank, unit)).or_insert_with(|| {
            self.used += 1;
            FIRST + self.used - 1
        })
    }
}

/// Returns the number under which libgfortran knows the running rank's unit.
pub fn translate(unit: i32) -> i32 {
    rank_with_own(unit).map_or(unit, |rank| with(|units| units.find(rank, unit)))
}

/// Returns the number for a statement that opens a unit: with a file of its own, or to change how it is used.
pub fn open(unit: i32, has_file: bool) -> i32 {
    let Some(rank) = rank_with_own(unit) else { return unit };
    with(|units| {
        let number =
            if has_file && is_standard(unit) { units.moved(rank, unit) } else { units.find(rank, unit) };
        if number >= FIRST {
            units.connected.insert(number);
        }
        number
    })
}

/// Returns the number for a statement that closes a unit. A standard stream is closed for the running rank
/// alone.
pub fn close(unit: i32) -> i32 {
    let Some(rank) = rank_with_own(unit) else { return unit };
    with(|units| {
        let number = if is_standard(unit) { units.moved(rank, unit) } else { units.find(rank, unit) };
        units.connected.remove(&number);
        number
    })
}

/// Returns the number for a statement that reads or writes. A unit that was never opened is connected to
/// the file that libgfortran would take for its own number.
pub fn transfer(unit: i32, reads: bool, formatted: bool) -> i32 {
    let Some(rank) = rank_with_own(unit) else { return unit };
    let own_input = if reads && unit == INPUT { own_streams::input() } else { None };
    let number = with(|units| {
        let has_input = || own_input.is_none() && !stdio::input_is_empty(0);
        let number = if reads && unit == INPUT && !has_input() {
            units.moved(rank, unit)
        } else {
            units.find(rank, unit)
        };
        (number < FIRST || !units.connected.insert(number)).then_some(number).ok_or(number)
    });
    number.unwrap_or_else(|number| {
        let name = match own_input {
            Some(descriptor) => format!("/proc/self/fd/{descriptor}"),
            None if reads && unit == INPUT => "/dev/null".to_owned(),
            None => format!("fort.{unit}"),
        };
        connect(number, &name, formatted);
        number
    })
}

/// A parameter block of libgfortran, longer than any version's.
type Parameters = [usize; 64];
static OPEN: NextSymbol = NextSymbol::new(c"_gfortran_st_open");
static CLOSE: NextSymbol = NextSymbol::new(c"_gfortran_st_close");

/// Flags of `st_parameter_common` and `st_parameter_open` (libgfortran, io/io.h).
const HAS_IOSTAT: usize = 1 << 5;
const HAS_FILE: usize = 1 << 8;
const HAS_FORM: usize = 1 << 11;
/// Words of `st_parameter_open`: where the status goes, the file's name, the form.
const IOSTAT: usize = 5;
const FILE: usize = 7;
const FORM: usize = 13;

fn call(function: &NextSymbol, parameters: &mut Parameters) {
    // SAFETY: libgfortran's function with a parameter block of its own making, of which the flags name what
    // is set.
    unsafe { function.get::<unsafe extern "C" fn(*mut usize)>()(parameters.as_mut_ptr()) }
}

/// Opens a file as `open(unit, file=name)` does. If it cannot be opened, the statement that needs it finds
/// out.
fn connect(unit: i32, name: &str, formatted: bool) {
    let name = CString::new(name).unwrap_or_default();
    let form = if formatted { c"FORMATTED" } else { c"UNFORMATTED" };
    let mut status = 0i32;
    let mut parameters: Parameters = [0; 64];
    parameters[0] = (unit as usize) << 32 | HAS_IOSTAT | HAS_FILE | HAS_FORM;
    parameters[IOSTAT] = &raw mut status as usize;
    (parameters[FILE], parameters[FILE + 1]) = (name.as_bytes().len(), name.as_ptr() as usize);
    (parameters[FORM], parameters[FORM + 1]) = (form.as_ptr() as usize, form.to_bytes().len());
    call(&OPEN, &mut parameters);
}

/// Forgets the units of a rank that ends; returns their numbers, to be closed.
pub(crate) fn end(rank: u32) -> Vec<i32> {
    // SAFETY: the simulating thread.
    if unsafe { UNITS.with(|units| units.is_none()) } {
        return Vec::new();
    }
    with(|units| {
        let mut ended: Vec<i32> =
            units.owner.iter().filter(|&(_, &owner)| owner == rank).map(|(&unit, _)| unit).collect();
        units.owner.retain(|_, &mut owner| owner != rank);
        let moved: Vec<(u32, i32)> =
            units.moved.range((rank, 0)..=(rank, i32::MAX)).map(|(&key, _)| key).collect();
        ended.extend(moved.iter().filter_map(|key| units.moved.remove(key)));
        for number in &ended {
            units.connected.remove(number);
        }
        ended.sort_unstable();
        ended
    })
}

/// Closes units as `close(unit)` does.
pub(crate) fn close_all(units: &[i32]) {
    // SAFETY: looks up a symbol by a valid name.
    if units.is_empty() || unsafe { libc::dlsym(libc::RTLD_NEXT, c"_gfortran_st_close".as_ptr()) }.is_null() {
        return;
    }
    for &unit in units {
        let mut parameters: Parameters = [0; 64];
        parameters[0] = (unit as usize) << 32;
        call(&CLOSE, &mut parameters);
    }
}
