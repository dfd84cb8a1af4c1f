//! Times that each rank computed before each of its calls, as a text for the program (`times.c` reads it).

use crate::Options;
use crate::spelling::is_left_out;
use std::fmt::Write;
use trace::Trace;
use trace::times::Reading;

/// Returns the text. For each rank, and behind the last one, it has a line of 20 digits with the byte that
/// its times begin at. Then it has a line of times for each rank in ps, `3*5` for three of 5. Calls of
/// functions that are left out count for the call behind them. O(calls of all ranks).
///
/// # Errors
/// A sentence, if the trace has no exact times.
pub fn text(trace: &Trace, options: &Options) -> Result<String, String> {
    if trace.times.is_empty() {
        return Err(
            "it does not say what each rank computed before each call: record with -xsim-trace-times exact, \
             or have times drawn"
                .to_owned(),
        );
    }
    let is_left_out: Vec<bool> =
        trace.functions.iter().map(|function| is_left_out(&function.name, options)).collect();
    let (mut index, mut lines) = (String::new(), String::new());
    let begin = 21 * (u64::from(trace.ranks) + 1);
    for rank in 0..trace.ranks {
        let _ = writeln!(index, "{:020}", begin + lines.len() as u64);
        of_rank(trace, rank, &is_left_out, &mut lines)
            .map_err(|why| format!("the times of rank {rank}: {why}"))?;
    }
    let _ = writeln!(index, "{:020}", begin + lines.len() as u64);
    Ok(index + &lines)
}

fn of_rank(trace: &Trace, rank: u32, is_left_out: &[bool], lines: &mut String) -> trace::codec::Result<()> {
    let mut times = trace.times.get(&rank).map(|times| Reading::new(times)).transpose()?;
    let (mut run, mut earlier) = ((0u64, 0u64), 0u64);
    for event in trace.rank(rank).calls() {
        let time =
            times.as_mut().map_or(Ok(None), Reading::next)?.map_or(0, |(computed, _)| computed.as_ps());
        earlier = earlier.saturating_add(time);
        if is_left_out[event.template.function as usize] {
            continue;
        }
        let time = std::mem::take(&mut earlier);
        if run.0 > 0 && run.1 != time {
            write_run(run, lines);
            run.0 = 0;
        }
        run = (run.0 + 1, time);
    }
    if run.0 > 0 {
        write_run(run, lines);
    }
    // Where a line ends the next one begins, so that none is empty.
    lines.push('\n');
    Ok(())
}

fn write_run((count, time): (u64, u64), lines: &mut String) {
    let separator = if lines.is_empty() || lines.ends_with('\n') { "" } else { " " };
    let _ = if count == 1 {
        write!(lines, "{separator}{time}")
    } else {
        write!(lines, "{separator}{count}*{time}")
    };
}
