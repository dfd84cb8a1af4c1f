//! The calls of implementations that entry points share, generated from `cabi/table`
//! (`abi-table/src/bodies.rs`).

// Which wrappers are in use follows from which rows have an implementation. Names are MPI's.
#![allow(unused_imports, non_snake_case)]
#![allow(clippy::too_many_arguments, clippy::redundant_closure)]
#![allow(missing_docs, reason = "each is an MPI function")]

use crate::args::{
    self, CText, Counts, Flags, Handle, Handles, InOut, Ints, Out, OutCount, OutStatuses, OutText, Ranges,
    StatusPointer, Texts, Weights,
};
use crate::call::Object;
use crate::calls;
use crate::edge;
use crate::function::Function;
use rank::Addr;

include!(concat!(env!("OUT_DIR"), "/bodies.rs"));
