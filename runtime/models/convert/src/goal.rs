//! GOAL: for each rank the operations that it has to do, and which of them wait for which, as a text and in
//! its binary form.

mod binary;
mod collective;
mod export;
mod import;
mod parse;
mod text;
mod turns;

pub use binary::is_binary;
pub use export::export;

use crate::writer::Writer;
use ::goal::{GoalGraph, LogGops};
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Seek};
use std::path::Path;
use trace::Trace;

/// The most ranks of a file that is read into memory whole.
const MAX_RANKS_IN_MEMORY: u32 = 1 << 16;

/// Writes a trace of a file, whichever of the two it is. Returns a note about what the trace fixes of it.
pub fn import(from: &Path, to: &Path, model: &LogGops) -> Result<Option<String>, String> {
    let graph = graph(from)?;
    let mut writer = Writer::create(to, graph.ranks)?;
    let choices =
        import::convert(&graph, &mut writer, model).map_err(|why| format!("{}: {why}", from.display()))?;
    writer.finish()?;
    Ok((choices > 0).then(|| {
        format!(
            "{choices} of {} ranks have operations that do not wait for each other: \
             the trace has them in the order of the LogGOPS model with {model}; \
             xsim replay {} runs the graph itself",
            graph.ranks,
            from.display()
        )
    }))
}

/// Returns a trace of a file's bytes, in memory.
pub fn read(bytes: &[u8], model: &LogGops) -> Result<Trace, String> {
    let graph = graph_of(Cursor::new(bytes))?;
    if graph.ranks > MAX_RANKS_IN_MEMORY {
        return Err(format!("{} ranks are too many to be read at once", graph.ranks));
    }
    let mut writer = Writer::in_memory(graph.ranks);
    import::convert(&graph, &mut writer, model)?;
    writer.into_trace()
}

/// Reads the graph of a file, whichever of the two it is.
///
/// # Errors
/// A sentence with the file, the line or byte and the reason.
pub fn graph(from: &Path) -> Result<GoalGraph, String> {
    let cannot = |why: String| format!("{}: {why}", from.display());
    let file = File::open(from).map_err(|why| cannot(format!("it cannot be read: {why}")))?;
    graph_of(BufReader::new(file)).map_err(cannot)
}

/// Reads the graph that a file's bytes are.
///
/// # Errors
/// A sentence with the line or byte and the reason.
pub fn graph_of(mut from: impl BufRead + Seek) -> Result<GoalGraph, String> {
    let mut begin = Vec::new();
    let read = (&mut from).take(8).read_to_end(&mut begin).and_then(|_| from.rewind());
    read.map_err(|why| format!("it cannot be read: {why}"))?;
    if is_binary(&begin) { binary::graph(from) } else { import::graph(from) }
}
