//! The constants of the standard ABI (MPI 5.0, chapter 20) by their names there, from
//! `cabi/table/constants.txt`: the one place where a number of the ABI is typed.

include!(concat!(env!("OUT_DIR"), "/abi.rs"));
