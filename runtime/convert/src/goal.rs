//! GOAL: for each rank the operations that it has to do, and which of them wait for which, as a text and in
//! its binary form.

mod binary;
mod collective;
mod export;
mod import;
mod order;
mod parse;
mod schedule;
mod text;

pub use binary::is_binary;
pub use export::export;
pub use order::LogGops;

use std::io::Read;
use std::path::Path;
use trace::Trace;

/// A trace of what a file says, whichever of the two it is.
pub fn import(from: &Path, to: &Path, model: &LogGops) -> Result<(), String> {
    let mut begin = Vec::new();
    // A file that cannot be read is told of by who reads it.
    let _ = std::fs::File::open(from).and_then(|file| file.take(8).read_to_end(&mut begin));
    if is_binary(&begin) { binary::import(from, to, model) } else { import::import(from, to, model) }
}

/// A trace of a file's bytes, in memory.
pub fn read(bytes: &[u8], model: &LogGops) -> Result<Trace, String> {
    if is_binary(bytes) { binary::read(bytes, model) } else { import::read(bytes, model) }
}
