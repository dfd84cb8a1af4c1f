//! Versions and clocks (MPI 5.0 chapters 9 and 20).

use crate::args::{Out, OutText};
use crate::constants::{MPI_ABI_SUBVERSION, MPI_ABI_VERSION, MPI_MAX_LIBRARY_VERSION_STRING, MPI_SUBVERSION, MPI_VERSION};
use crate::edge::Call;
use mpi::error::Result;

/// `MPI_Get_version`.
pub fn get_version(_: &Call, version: Out<i32>, subversion: Out<i32>) -> Result {
    version.set(MPI_VERSION);
    subversion.set(MPI_SUBVERSION);
    Ok(())
}

/// `MPI_Get_library_version`.
pub fn get_library_version(_: &Call, version: OutText, resultlen: Out<i32>) -> Result {
    let text = concat!("xsim ", env!("CARGO_PKG_VERSION"), ", MPI on virtual ranks");
    resultlen.set(version.set(text.as_bytes(), MPI_MAX_LIBRARY_VERSION_STRING as usize) as i32);
    Ok(())
}

/// `MPI_Abi_get_version`.
pub fn abi_get_version(_: &Call, abi_major: Out<i32>, abi_minor: Out<i32>) -> Result {
    abi_major.set(MPI_ABI_VERSION);
    abi_minor.set(MPI_ABI_SUBVERSION);
    Ok(())
}

/// `MPI_Wtick`: virtual time counts picoseconds.
pub fn wtick(_: &Call) -> f64 {
    1e-12
}
