//! The rank crate behind a minimal scheduler, for its integration tests: round robin, no MPI.
//!
//! A program linked with it sees `rank_`, `size_`, `yield_` and the interposed C library
//! functions. The environment chooses the run: `RANKS`, `STACK` (`own`, `own:BYTES`, `shared`, `auto`),
//! `GLOBALS` (`none`, `copy`, `clone`, `auto`).

#[path = "../../../../../cabi/interpose/mod.rs"]
#[allow(dead_code, reason = "libxsim uses the rest")]
mod interpose;

use std::cell::Cell;
use std::time::Duration;

use engine::{Span, Time};
use rank::{Config, GlobalsMode, Program, Ranks, ResumeResult, StackMode};

thread_local! {
    static SIZE: Cell<u32> = const { Cell::new(0) };
    static NOW: Cell<u64> = const { Cell::new(0) };
}

fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn config() -> Config {
    let ranks = setting("RANKS").map_or(4, |n| n.parse().expect("RANKS is a number"));
    let stack = match setting("STACK").unwrap_or_default().split_once(':') {
        Some(("own", bytes)) => StackMode::Own { bytes: Some(bytes.parse().expect("a number of bytes")) },
        Some(("shared", bytes)) => {
            StackMode::Shared { bytes: Some(bytes.parse().expect("a number of bytes")) }
        }
        _ => match setting("STACK").as_deref() {
            Some("own") => StackMode::Own { bytes: Some(256 << 10) },
            Some("shared") => StackMode::Shared { bytes: Some(8 << 20) },
            _ => StackMode::Auto,
        },
    };
    let globals = match setting("GLOBALS").as_deref() {
        Some("none") => GlobalsMode::None,
        Some("copy") => GlobalsMode::Copy,
        Some("clone") => GlobalsMode::Clone,
        _ => GlobalsMode::Auto,
    };
    let watchdog = Duration::from_millis(
        setting("WATCHDOG_MS").map_or(60_000, |ms| ms.parse().expect("a number of milliseconds")),
    );
    let globals_fold =
        setting("FOLD").map_or_else(Vec::new, |names| names.split(',').map(str::to_owned).collect());
    Config { ranks, total: ranks, stack, globals, watchdog, globals_fold, ..Config::default() }
}

fn start(program: Program) -> i32 {
    let config = config();
    SIZE.set(config.ranks);
    let mut ranks = match Ranks::new(program, config) {
        Ok(ranks) => {
            if setting("EXPLAIN").is_some() {
                eprintln!("ranktest: {}", ranks.explanation());
            }
            ranks
        }
        Err(sentence) => {
            eprintln!("ranktest: {sentence}");
            return 2;
        }
    };
    let mut worst = 0;
    let mut alive: Vec<u32> = (0..ranks.len()).collect();
    while !alive.is_empty() {
        let mut kept = 0;
        for k in 0..alive.len() {
            let rank = alive[k];
            match ranks.resume(rank) {
                ResumeResult::Blocked => {
                    alive[kept] = rank;
                    kept += 1;
                }
                ResumeResult::Finished { status } => worst = worst.max(status),
            }
        }
        alive.truncate(kept);
    }
    worst
}

fn hooks() -> rank::hooks::Hooks {
    rank::hooks::Hooks {
        declines: |_| false,
        start,
        entered: || (),
        now: || Time::from_ps(NOW.get()),
        advance: |span: Span| NOW.set(NOW.get() + span.as_ps()),
        exited: |_| (),
        helped: || (),
        killed: |_| (),
        timed: || (),
        held: || (),
    }
}

/// The running rank, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn rank_() -> i32 {
    rank::current().map_or(-1, |rank| rank as i32)
}

/// The number of ranks.
#[unsafe(no_mangle)]
pub extern "C" fn size_() -> i32 {
    SIZE.get() as i32
}

/// Blocks until every other rank has run.
#[unsafe(no_mangle)]
pub extern "C" fn yield_() {
    rank::note_call(&"yield_");
    rank::suspend();
}
