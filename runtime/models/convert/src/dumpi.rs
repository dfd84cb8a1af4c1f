//! DUMPI, the traces of SST (`libdumpi`): a file of each rank with all arguments of its calls and their
//! times.

mod calls;
mod comms;
mod file;
mod import;
mod layout;
mod types;

pub use import::{import, read};
