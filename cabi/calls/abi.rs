//! What a program can ask of the standard ABI (MPI 5.0 chapter 20).

use crate::args::{Handle, Out};
use crate::call::Call;
use crate::constants::{MPI_ABI_SUBVERSION, MPI_ABI_VERSION, MPI_ERR_ABI, MPI_ERR_ARG};
use mpi::error::{ErrorClass, Failure, Result};
use mpi::info::Info;
use rank::{Addr, memory};

/// `MPI_Abi_get_version`.
pub fn get_version(_: &Call, abi_major: Out<i32>, abi_minor: Out<i32>) -> Result {
    abi_major.set(MPI_ABI_VERSION);
    abi_minor.set(MPI_ABI_SUBVERSION);
    Ok(())
}

fn give(c: &Call, out: Out<Handle>, pairs: &[(&str, &str)]) -> Result {
    let mut info = Info::default();
    for (key, value) in pairs {
        info.set(key, value)?;
    }
    super::info::give(c, out, info)
}

/// `MPI_Abi_get_info`: the sizes of the integer types, in bytes.
pub fn get_info(c: &Call, info: Out<Handle>) -> Result {
    give(c, info, &[("mpi_aint_size", "8"), ("mpi_count_size", "8"), ("mpi_offset_size", "8")])
}

/// `MPI_Abi_get_fortran_info`: the default kinds that `mpif.h` and the modules are made for, and
/// the optional types, all of which have datatypes here.
pub fn get_fortran_info(c: &Call, info: Out<Handle>) -> Result {
    let mut pairs = vec![
        ("mpi_logical_size", "4"),
        ("mpi_integer_size", "4"),
        ("mpi_real_size", "4"),
        ("mpi_double_precision_size", "8"),
    ];
    pairs.extend(
        [
            "mpi_logical1_supported",
            "mpi_logical2_supported",
            "mpi_logical4_supported",
            "mpi_logical8_supported",
            "mpi_logical16_supported",
            "mpi_integer1_supported",
            "mpi_integer2_supported",
            "mpi_integer4_supported",
            "mpi_integer8_supported",
            "mpi_integer16_supported",
            "mpi_real2_supported",
            "mpi_real4_supported",
            "mpi_real8_supported",
            "mpi_real16_supported",
            "mpi_complex4_supported",
            "mpi_complex8_supported",
            "mpi_complex16_supported",
            "mpi_complex32_supported",
            "mpi_double_complex_supported",
        ]
        .map(|key| (key, "true")),
    );
    give(c, info, &pairs)
}

#[cold]
fn already_set() -> mpi::error::Result {
    Err(Failure::new(
        ErrorClass(MPI_ERR_ABI),
        "xsim's Fortran interface has set it already: default INTEGER and LOGICAL of 4 bytes",
    ))
}

/// `MPI_Abi_set_fortran_info`: the library brings its own Fortran interface, which has set it.
pub fn set_fortran_info(_: &Call, _info: Handle) -> Result {
    already_set()
}

/// `MPI_Abi_set_fortran_booleans`: as for the info.
pub fn set_fortran_booleans(
    _: &Call,
    _logical_size: i32,
    _logical_true: Addr,
    _logical_false: Addr,
) -> Result {
    already_set()
}

/// `MPI_Abi_get_fortran_booleans`: `.true.` is one and `.false.` zero in every size.
pub fn get_fortran_booleans(
    c: &Call,
    logical_size: i32,
    logical_true: Addr,
    logical_false: Addr,
    is_set: Out<bool>,
) -> Result {
    if !matches!(logical_size, 1 | 2 | 4 | 8 | 16) {
        return Err(c.wrong(
            0,
            MPI_ERR_ARG,
            format_args!("it is {logical_size}, and a logical has 1, 2, 4, 8 or 16 bytes"),
        ));
    }
    for (at, value) in [(logical_true, 1u8), (logical_false, 0)] {
        let mut bytes = [0; 16];
        bytes[0] = value;
        memory::write(at, &bytes[..logical_size as usize]);
    }
    is_set.set(true);
    Ok(())
}
