//! The C entry points, generated from `cabi/table`: `PMPI_X`, and `MPI_X` weak over it so
//! that a profiler which defines `MPI_X` comes first.

// Which wrappers are in use follows from which rows have an implementation.
#[allow(unused_imports)]
use crate::args::{
    self, CText, Counts, Flags, Handle, Handles, InOut, Ints, Out, OutCount, OutStatuses, OutText, Ranges,
    StatusPointer, Texts, Weights,
};
use crate::bodies;
use crate::call::Object;
use crate::calls;
use crate::edge;
use crate::function::Function;
use crate::recording;
use rank::Addr;

include!(concat!(env!("OUT_DIR"), "/exports.rs"));
