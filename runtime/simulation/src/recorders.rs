//! Who listens to the calls of a run, as its options say. A new recorder is a file in `runtime/observe` and a line here.

use crate::options::Options;
use observe::{Log, RankList, Recorder};

/// What is wrong with the options of recorders.
///
/// # Errors
/// A sentence.
pub fn check(options: &Options) -> Result<(), String> {
    let Some(ranks) = &options.log_ranks else { return Ok(()) };
    if options.log.is_none() {
        return Err("-xsim-log-ranks chooses ranks for a log: say where it goes, such as -xsim-log calls.log".to_owned());
    }
    if ranks.last() >= options.np {
        return Err(format!("-xsim-log-ranks names rank {}, but there are ranks 0 to {} only", ranks.last(), options.np - 1));
    }
    Ok(())
}

/// The recorders of process number `process`.
///
/// # Errors
/// A sentence, if one cannot begin.
pub fn recorders(options: &Options, process: u32) -> Result<Vec<Box<dyn Recorder>>, String> {
    let mut recorders: Vec<Box<dyn Recorder>> = Vec::new();
    if let Some(path) = &options.log {
        recorders.push(Box::new(Log::create(path, options.log_ranks.clone().unwrap_or_else(RankList::all), process)?));
    }
    Ok(recorders)
}
