//! Configuration of ranks.

use std::time::Duration;

/// Placement of the ranks' stacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackMode {
    /// A stack for each rank.
    Own {
        /// Bytes of a rank's slot; `None`: the more the fewer there are.
        bytes: Option<usize>,
    },
    /// One stack for all; a blocked rank keeps a copy of its live part.
    Shared {
        /// Bytes of the one stack; `None`: what the system gives a program, within limits.
        bytes: Option<usize>,
    },
    /// Chosen by the number of ranks.
    Auto,
}

/// Method that gives each rank globals of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GlobalsMode {
    /// Chosen by the size of the program's data and the number of ranks.
    Auto,
    /// All ranks of the process share the program's globals.
    None,
    /// A rank's globals are copied in when it runs.
    Copy,
    /// Each rank runs on a copy of the program's image.
    Clone,
}

/// Settings for the ranks of this process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Ranks of this process.
    pub ranks: u32,
    /// The last of these, which may never start: they are given their arguments ([`crate::spawned::give`]).
    pub spare: u32,
    /// Global number of the first of them.
    pub first: u32,
    /// Ranks of all processes.
    pub total: u32,
    /// Stacks.
    pub stack: StackMode,
    /// Globals.
    pub globals: GlobalsMode,
    /// A rank that makes no MPI call for this long is named; zero never.
    pub watchdog: Duration,
    /// `true` if memory that a rank allocates reads as zeros.
    pub clear_heap: bool,
    /// Parts of file names of libraries whose globals are private as well, besides those outside
    /// the system's directories.
    pub globals_libraries: Vec<String>,
    /// Symbols of variables that all ranks of the process share, for scratch that need not be private.
    pub globals_fold: Vec<String>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            ranks: 1,
            spare: 0,
            first: 0,
            total: 1,
            stack: StackMode::Auto,
            globals: GlobalsMode::Auto,
            watchdog: Duration::from_secs(60),
            clear_heap: true,
            globals_libraries: Vec::new(),
            globals_fold: Vec::new(),
        }
    }
}
