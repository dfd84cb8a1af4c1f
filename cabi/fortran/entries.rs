//! The generated Fortran entry points.
// The plain and the large-count form share their text, so one of them converts to its own type.
#![allow(non_snake_case, missing_docs, clippy::useless_conversion)]

// Which wrappers are in use follows from which rows have an implementation.
#[allow(unused_imports)]
use crate::args::{
    self, CText, Counts, Flags, Handle, Handles, InOut, Ints, Out, OutCount, OutStatuses, OutText, Ranges,
    StatusPointer, Texts, Weights,
};
use crate::bodies;
use crate::call::Object;
use crate::edge;
use crate::function::Function;
use crate::{calls, constants, fortran, recording};
use rank::Addr;

include!(concat!(env!("OUT_DIR"), "/fortran.rs"));
