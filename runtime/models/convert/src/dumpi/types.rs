//! Datatypes and operations of a run, by the numbers that DUMPI gives them (`dumpi/common/constants.h`).

use super::file::Record;
use super::layout::Function;
use crate::writer::{BYTE, Type};
use mpi::datatype::predefined;
use mpi::op::Predefined;
use rustc_hash::FxHashMap;

/// MPI's own datatypes from number 2 on.
const NAMES: [&str; 26] = [
    "MPI_CHAR",
    "MPI_SIGNED_CHAR",
    "MPI_UNSIGNED_CHAR",
    "MPI_BYTE",
    "MPI_WCHAR",
    "MPI_SHORT",
    "MPI_UNSIGNED_SHORT",
    "MPI_INT",
    "MPI_UNSIGNED",
    "MPI_LONG",
    "MPI_UNSIGNED_LONG",
    "MPI_FLOAT",
    "MPI_DOUBLE",
    "MPI_LONG_DOUBLE",
    "MPI_LONG_LONG_INT",
    "MPI_UNSIGNED_LONG_LONG",
    "MPI_LONG_LONG",
    "MPI_PACKED",
    // The bounds, which MPI has no more.
    "",
    "",
    "MPI_FLOAT_INT",
    "MPI_DOUBLE_INT",
    "MPI_LONG_INT",
    "MPI_SHORT_INT",
    "MPI_2INT",
    "MPI_LONG_DOUBLE_INT",
];
const FIRST: i64 = 2;
/// Datatypes of the program come behind.
const LAST: i64 = FIRST + NAMES.len() as i64 - 1;
/// The bounds.
const BOUNDS: std::ops::RangeInclusive<i64> = 20..=21;

/// MPI's own operations from number 1 on.
const OPERATIONS: [&str; 12] = [
    "MPI_MAX",
    "MPI_MIN",
    "MPI_SUM",
    "MPI_PROD",
    "MPI_LAND",
    "MPI_BAND",
    "MPI_LOR",
    "MPI_BOR",
    "MPI_LXOR",
    "MPI_BXOR",
    "MPI_MINLOC",
    "MPI_MAXLOC",
];

/// Sizes of xsim's predefined datatypes, and the reductions that each of them allows.
pub struct Known {
    types: Vec<Option<Type>>,
    reducible: Vec<[bool; OPERATIONS.len()]>,
}

impl Known {
    /// Returns the known datatypes: all of MPI's own.
    pub fn new() -> Known {
        let mut known = Known { types: Vec::new(), reducible: Vec::new() };
        for name in NAMES {
            let found = predefined::named(name)
                .and_then(|handle| predefined::all().find(|(known, _)| *known == handle));
            let reduces = |operation: &str| {
                let op = Predefined::ALL.iter().find(|op| op.name() == operation);
                op.zip(found.as_ref())
                    .is_some_and(|(op, (_, datatype))| op.on(datatype, || name.to_owned()).is_ok())
            };
            known.reducible.push(OPERATIONS.map(reduces));
            known.types.push(found.as_ref().map(|(_, datatype)| Type { name, size: datatype.size }));
        }
        known
    }
}

/// The datatypes of one rank.
pub struct Types<'k> {
    known: &'k Known,
    /// Bytes of MPI's own on the machine of the recording.
    sizes: Vec<u32>,
    /// Sizes of the program's datatypes in bytes, by number.
    made: FxHashMap<i64, u64>,
}

impl<'k> Types<'k> {
    /// Returns the datatypes with what a file says of their sizes.
    pub fn new(known: &'k Known, sizes: Vec<u32>) -> Types<'k> {
        Types { known, sizes, made: FxHashMap::default() }
    }

    /// Returns the bytes of an element.
    pub fn size(&self, number: i64) -> Option<u64> {
        if BOUNDS.contains(&number) {
            return Some(0);
        }
        // A number of the program's is used again when it is free: what the rank called says more than the
        // table, which is of the end.
        self.made
            .get(&number)
            .copied()
            .or_else(|| self.told(number))
            .or_else(|| self.ours(number).map(|datatype| datatype.size))
    }

    fn told(&self, number: i64) -> Option<u64> {
        let size = *self.sizes.get(usize::try_from(number).ok()?)?;
        (size > 0).then_some(size.into())
    }

    fn ours(&self, number: i64) -> Option<Type> {
        (FIRST..=LAST).contains(&number).then(|| self.known.types[(number - FIRST) as usize]).flatten()
    }

    /// Elements of a datatype as a trace has them: of MPI's own where it has the same size here, else bytes.
    ///
    /// # Errors
    /// If nothing says how long the datatype is.
    pub fn elements(&self, count: i64, number: i64) -> Result<(u64, Type), String> {
        let count = u64::try_from(count).map_err(|_| format!("a count of {count}"))?;
        // Who has nothing may say of what.
        if count == 0 {
            return Ok((0, BYTE));
        }
        let size = self.size(number).ok_or_else(|| format!("nothing says how long datatype {number} is"))?;
        match self.ours(number).filter(|datatype| datatype.size == size) {
            Some(datatype) => Ok((count, datatype)),
            None => Ok((count.saturating_mul(size).min(i64::MAX as u64), BYTE)),
        }
    }

    /// Returns what is reduced: elements, their datatype and the operation. What the program defined is told
    /// as bytes.
    ///
    /// # Errors
    /// If nothing says how long the datatype is.
    pub fn reduced(
        &self,
        count: i64,
        number: i64,
        operation: i64,
    ) -> Result<(u64, Type, &'static str), String> {
        let (elements, datatype) = self.elements(count, number)?;
        let place = operation - 1;
        if datatype != BYTE
            && (0..OPERATIONS.len() as i64).contains(&place)
            && self.known.reducible[(number - FIRST) as usize][place as usize]
        {
            return Ok((elements, datatype, OPERATIONS[place as usize]));
        }
        Ok((elements.saturating_mul(datatype.size), BYTE, "MPI_BOR"))
    }

    /// Makes the datatype of a call that makes one; ignores other calls.
    pub fn make(&mut self, function: &Function, record: &Record) {
        let number = |name: &str| record.number(function, name);
        let old = || self.size(number("oldtype"));
        let sum = |name: &str| {
            record
                .numbers(function, name)
                .iter()
                .map(|&length| length.max(0) as u64)
                .fold(0, u64::saturating_add)
        };
        let times = |count: i64| old().map(|size| size.saturating_mul(count.max(0) as u64));
        let size = match function.name {
            "Type_contiguous" => times(number("count")),
            "Type_vector" | "Type_hvector" | "Type_create_hvector" | "Type_create_indexed_block" => {
                times(number("count").saturating_mul(number("blocklength")))
            }
            "Type_indexed" | "Type_hindexed" => old().map(|size| size.saturating_mul(sum("lengths"))),
            "Type_create_hindexed" => old().map(|size| size.saturating_mul(sum("blocklengths"))),
            "Type_struct" => {
                self.structure(record.numbers(function, "lengths"), record.numbers(function, "oldtypes"))
            }
            "Type_create_struct" => {
                self.structure(record.numbers(function, "blocklengths"), record.numbers(function, "oldtypes"))
            }
            "Type_create_subarray" => times(
                record.numbers(function, "subsizes").iter().fold(1, |all: i64, &dim| all.saturating_mul(dim)),
            ),
            "Type_dup" | "Type_create_resized" => old(),
            _ => return,
        };
        match size {
            Some(size) => drop(self.made.insert(number("newtype"), size)),
            None => drop(self.made.remove(&number("newtype"))),
        }
    }

    fn structure(&self, lengths: &[i64], types: &[i64]) -> Option<u64> {
        lengths.iter().zip(types).try_fold(0u64, |sum, (&length, &number)| {
            Some(sum.saturating_add(self.size(number)?.saturating_mul(length.max(0) as u64)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reduced_is_what_ours_can_reduce() {
        let known = Known::new();
        let types = Types::new(&known, Vec::new());
        // 9 is MPI_INT, 3 MPI_SUM; 23 MPI_DOUBLE_INT, 12 MPI_MAXLOC, which takes no MPI_PACKED (19).
        assert_eq!(types.reduced(5, 9, 3), Ok((5, Type { name: "MPI_INT", size: 4 }, "MPI_SUM")));
        assert_eq!(types.reduced(5, 23, 12).unwrap().2, "MPI_MAXLOC");
        assert_eq!(types.reduced(5, 19, 12), Ok((5, BYTE, "MPI_BOR")));
        assert_eq!(types.reduced(5, 9, 20), Ok((20, BYTE, "MPI_BOR")));
        assert!(types.reduced(5, 40, 3).unwrap_err().contains("datatype 40"));
        // A machine whose MPI_LONG is shorter than ours.
        let short = Types::new(&known, [0; 11].into_iter().chain([4]).collect());
        assert_eq!((types.elements(2, 11).unwrap().0, short.elements(2, 11)), (2, Ok((8, BYTE))));
    }
}
