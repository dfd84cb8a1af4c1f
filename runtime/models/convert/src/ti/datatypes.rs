//! Datatypes by the numbers that SMPI gives them (`src/smpi/mpi/smpi_datatype.cpp`, 4.0).

use crate::writer::Type;

macro_rules! types {
    ($($number:literal $name:literal $size:literal)*) => {
        /// Datatypes that have a name and a size in MPI.
        const TYPES: &[(u32, Type)] = &[$(($number, Type { name: concat!("MPI_", $name), size: $size })),*];
    };
}

types! {
    0 "DOUBLE" 8  1 "INT" 4  2 "CHAR" 1  3 "SHORT" 2  4 "LONG" 8  5 "FLOAT" 4  6 "BYTE" 1
    7 "LONG_LONG_INT" 8  8 "SIGNED_CHAR" 1  9 "UNSIGNED_CHAR" 1
    10 "UNSIGNED_SHORT" 2  11 "UNSIGNED" 4  12 "UNSIGNED_LONG" 8  13 "UNSIGNED_LONG_LONG" 8
    14 "LONG_DOUBLE" 16  15 "WCHAR" 4  16 "C_BOOL" 1
    17 "INT8_T" 1  18 "INT16_T" 2  19 "INT32_T" 4  20 "INT64_T" 8
    21 "UINT8_T" 1  22 "UINT16_T" 2  23 "UINT32_T" 4  24 "UINT64_T" 8
    25 "C_COMPLEX" 8  26 "C_DOUBLE_COMPLEX" 16  27 "C_LONG_DOUBLE_COMPLEX" 32  28 "AINT" 8  29 "OFFSET" 8
    30 "FLOAT_INT" 8  31 "LONG_INT" 12  32 "DOUBLE_INT" 12  33 "SHORT_INT" 6  34 "2INT" 8
    38 "REAL" 4  39 "REAL4" 4  40 "REAL8" 8  41 "REAL16" 16  42 "COMPLEX8" 8  43 "COMPLEX16" 16
    45 "INTEGER1" 1  46 "INTEGER2" 2  47 "INTEGER4" 4  48 "INTEGER8" 8  57 "PACKED" 1  59 "COUNT" 8
}

/// The datatype with this number.
pub fn numbered(number: u32) -> Option<Type> {
    TYPES.iter().find(|(known, _)| *known == number).map(|(_, datatype)| *datatype)
}

/// The number of a datatype, by its name in MPI; those of Fortran have that of their kind in C.
pub fn number(name: &str) -> Option<u32> {
    let name = match name {
        "MPI_DOUBLE_PRECISION" => "MPI_DOUBLE",
        "MPI_INTEGER" => "MPI_INT",
        "MPI_DOUBLE_COMPLEX" => "MPI_C_DOUBLE_COMPLEX",
        name => name,
    };
    TYPES.iter().find(|(_, known)| known.name == name).map(|(number, _)| *number)
}

/// The number of bytes, in which volumes are written.
pub const BYTES: u32 = 6;

/// An operation that is defined for a datatype: nobody tells which one it was.
// SMPI replays reductions without an operation. Ours asks which one it is, because algorithms are chosen by
// whether it commutes; all of these do.
pub fn operation(datatype: Type) -> Option<&'static str> {
    Some(match datatype.name {
        "MPI_BYTE" => "MPI_BOR",
        "MPI_C_BOOL" => "MPI_LOR",
        "MPI_FLOAT_INT" | "MPI_LONG_INT" | "MPI_DOUBLE_INT" | "MPI_SHORT_INT" | "MPI_2INT" => "MPI_MAXLOC",
        // Characters and what was packed have none.
        "MPI_PACKED" | "MPI_WCHAR" | "MPI_CHAR" => return None,
        _ => "MPI_SUM",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_have_the_sizes_of_ours_and_an_operation() {
        use mpi::datatype::predefined;
        for (number, datatype) in TYPES {
            let handle =
                predefined::named(datatype.name).unwrap_or_else(|| panic!("{number}: {}", datatype.name));
            let ours = predefined::all().find(|(known, _)| *known == handle).unwrap().1;
            assert_eq!(ours.size, datatype.size, "{}", datatype.name);
            let Some(operation) = operation(*datatype) else { continue };
            let op = mpi::op::Predefined::ALL.iter().find(|op| op.name() == operation).unwrap();
            assert!(op.on(&ours, || datatype.name.to_owned()).is_ok(), "{} of {}", op.name(), datatype.name);
        }
    }
}
