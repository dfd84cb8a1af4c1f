//! The constants of the standard ABI, generated from `cabi/table/constants.txt`.
#![allow(missing_docs, dead_code)]

include!(concat!(env!("OUT_DIR"), "/constants.rs"));
