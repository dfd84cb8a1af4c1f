//! All ranks of this process, as the scheduler holds them.

use std::time::Duration;

use crate::arguments::Arguments;
use crate::globals::copy::Copied;
use crate::globals::{self, Private};
use crate::lifecycle::{self, Life};
use crate::memory::Addr;
use crate::program::Program;
use crate::running::{self, NOBODY};
use crate::stack::own::OwnStacks;
use crate::stack::{self, Switch};
use crate::{crash, output, random, stdio, watchdog};

/// Where ranks keep their stacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackMode {
    /// A stack of this many bytes for each rank.
    Own {
        /// Bytes of a rank's slot.
        bytes: usize,
    },
    /// One stack of this many bytes for all; a blocked rank keeps a copy of its live part.
    Shared {
        /// Bytes of the one stack.
        bytes: usize,
    },
    /// Chosen by the number of ranks.
    Auto,
}

/// How each rank gets globals of its own.
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

/// How to run the ranks of this process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Ranks of this process.
    pub ranks: u32,
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
    /// Parts of file names of libraries whose globals are private as well, besides those outside
    /// the system's directories.
    pub globals_libraries: Vec<String>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            ranks: 1,
            first: 0,
            total: 1,
            stack: StackMode::Auto,
            globals: GlobalsMode::Auto,
            watchdog: Duration::from_secs(60),
            globals_libraries: Vec::new(),
        }
    }
}

/// What became of a rank that was resumed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It called [`crate::suspend`].
    Blocked,
    /// It left `main` or called `exit`.
    Finished {
        /// Its exit status.
        status: i32,
    },
}

/// Bytes of an own stack when nothing else is said.
const DEFAULT_SLOT: usize = 256 << 10;

/// A rank's place: 8 bytes.
#[derive(Clone, Copy)]
struct Place {
    /// Its slot (own stacks).
    stack: u32,
    /// Live bytes of its stack divided by 8, or one of the marks below.
    depth: u32,
}

const NEW: u32 = u32::MAX;
const GONE: u32 = u32::MAX - 1;

/// How globals are private.
enum Globals {
    Shared,
    Copied(Box<Copied>),
}

/// The ranks. Dropping it neither unwinds nor frees suspended ranks' frames.
pub struct Ranks {
    places: Vec<Place>,
    stacks: OwnStacks,
    switch: Switch,
    globals: Globals,
    explanation: String,
    arguments: Arguments,
    /// Bytes of arguments above the base of each stack; 0 if they are too many and live on the heap.
    above: usize,
    switches: u64,
    left: u32,
    /// The rank that may read standard input.
    reader: Option<u32>,
}

impl Ranks {
    /// Prepares the ranks; none runs yet.
    ///
    /// # Errors
    /// A sentence, if the stacks or globals asked for cannot be had.
    pub fn new(program: Program, config: Config) -> Result<Ranks, String> {
        let slot = match config.stack {
            StackMode::Own { bytes } => bytes,
            StackMode::Shared { .. } | StackMode::Auto => DEFAULT_SLOT,
        };
        running::find_thread_state();
        // One slot more than ranks, as scratch for the probe.
        let mut stacks = OwnStacks::new(config.ranks.max(1), slot)?;
        let probe = stacks.take();
        let (limit, top) = stacks.bounds(probe);
        let switch = Switch::new(limit, top)?;
        stacks.give_back(probe);
        let bytes = program.arguments.bytes();
        let constructors = match program.init {
            Some(all) => vec![all as usize],
            None => program.image.constructors(),
        };
        let images = globals::own_images(&program, &config.globals_libraries);
        let private = Private::of(&images);
        let data = private.bytes();
        let (globals, explanation) = match config.globals {
            GlobalsMode::None => (Globals::Shared, "globals are shared by all ranks, as asked".to_owned()),
            _ => {
                let explanation = format!("globals are copied: {data} bytes of data, {} ranks", config.ranks);
                (Globals::Copied(Box::new(Copied::new(private, config.ranks)?)), explanation)
            }
        };
        lifecycle::set(Life {
            main: program.main,
            count: program.arguments.count(),
            environment: program.environment,
            constructors,
            destructors: program.image.destructors(),
            private_globals: !matches!(globals, Globals::Shared),
            images,
            // SAFETY: getpid has no precondition.
            process: unsafe { libc::getpid() },
        });
        let reader = (config.first == 0 && config.ranks > 0).then_some(0);
        stdio::begin(config.total, reader);
        crash::begin(config.first);
        watchdog::begin(config.watchdog);
        Ok(Ranks {
            places: vec![Place { stack: 0, depth: NEW }; config.ranks as usize],
            switch,
            globals,
            explanation,
            above: if bytes <= stacks.slot_bytes() / 8 { bytes } else { 0 },
            stacks,
            arguments: program.arguments,
            switches: 0,
            left: config.ranks,
            reader,
        })
    }

    /// Ranks of this process.
    pub fn len(&self) -> u32 {
        self.places.len() as u32
    }

    /// Whether this process has no ranks.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// What was chosen for globals and stacks, and why.
    pub fn explanation(&self) -> &str {
        &self.explanation
    }

    /// Bytes that parked ranks keep: saved globals.
    pub fn saved_bytes(&self) -> usize {
        match &self.globals {
            Globals::Shared => 0,
            Globals::Copied(copied) => copied.saved_bytes(),
        }
    }

    /// How often a rank was resumed.
    pub fn switches(&self) -> u64 {
        self.switches
    }

    /// Runs a rank until it blocks or ends; the first time, from its constructors and `main`.
    ///
    /// # Panics
    /// If the rank has ended, or if the caller is itself a rank.
    #[inline]
    pub fn resume(&mut self, rank: u32) -> Outcome {
        assert!(running::current().is_none(), "only the scheduler resumes ranks");
        self.switches += 1;
        let place = self.places[rank as usize];
        if place.depth >= GONE {
            return self.start(rank);
        }
        if let Globals::Copied(copied) = &mut self.globals {
            copied.mount(rank);
        }
        let (limit, top) = self.stacks.bounds(place.stack);
        stack::set_running(limit, top - self.above);
        running::set_current(rank);
        if Some(rank) == self.reader {
            stdio::swap_input();
        }
        // SAFETY: the slot holds this rank's stack, suspended at this depth below its top.
        let pointer = unsafe { self.switch.resume(top - place.depth as usize * 8) };
        running::set_current(NOBODY);
        self.suspended(rank, top, pointer)
    }

    #[inline]
    fn suspended(&mut self, rank: u32, top: usize, pointer: usize) -> Outcome {
        stdio::drain(rank);
        if Some(rank) == self.reader {
            stdio::swap_input();
        }
        if let Some(status) = running::take_finished() {
            output::end(rank);
            random::end(rank);
            self.stacks.give_back(self.places[rank as usize].stack);
            self.places[rank as usize].depth = GONE;
            self.left -= 1;
            if let Globals::Copied(copied) = &mut self.globals {
                copied.ended(rank);
            }
            if self.left == 0 {
                lifecycle::destroy_shared();
            }
            return Outcome::Finished { status };
        }
        self.places[rank as usize].depth = ((top - pointer) / 8) as u32;
        Outcome::Blocked
    }

    #[cold]
    fn start(&mut self, rank: u32) -> Outcome {
        assert!(self.places[rank as usize].depth == NEW, "rank {rank} has ended and cannot be resumed");
        if let Globals::Copied(copied) = &mut self.globals {
            copied.mount(rank);
        }
        let slot = self.stacks.take();
        self.places[rank as usize].stack = slot;
        let (limit, top) = self.stacks.bounds(slot);
        let argv = if self.above != 0 { top - self.above } else { Vec::leak(vec![0u64; self.arguments.bytes() / 8]).as_mut_ptr() as usize };
        // SAFETY: enough free bytes at the top of an empty stack, or of a fresh allocation, both aligned to 8.
        lifecycle::set_arguments(unsafe { self.arguments.write(argv) });
        stack::set_running(limit, top - self.above);
        running::set_current(rank);
        if Some(rank) == self.reader {
            stdio::swap_input();
        }
        let pointer = self.switch.start(lifecycle::entry);
        running::set_current(NOBODY);
        self.suspended(rank, top, pointer)
    }

    /// Runs `f` on the scheduler's stack with the rank's stack and globals in place: for user
    /// operations and callbacks, and for its memory (rule 1).
    pub fn mounted<R>(&mut self, rank: u32, f: impl FnOnce() -> R) -> R {
        if let Globals::Copied(copied) = &mut self.globals {
            copied.mount(rank);
        }
        f()
    }

    /// Brings what resuming the rank will touch into the cache.
    #[inline]
    pub fn prefetch(&self, rank: u32) {
        let Some(place) = self.places.get(rank as usize) else { return };
        if place.depth >= GONE {
            return;
        }
        let (_, top) = self.stacks.bounds(place.stack);
        let pointer = top - place.depth as usize * 8;
        if let Globals::Copied(copied) = &self.globals {
            copied.prefetch(rank);
        }
        for line in 0..4 {
            prefetch(pointer + line * 64);
        }
        prefetch(top - 64);
    }
}

#[inline]
pub(crate) fn prefetch(address: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint and faults on no address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address as *const i8);
    }
}

/// Whether memory of a parked rank at this address can be reached without mounting it: true for
/// the heap, false for swapped globals and for the shared stack.
#[inline]
pub fn is_addressable_unmounted(addr: Addr, len: usize) -> bool {
    !globals::is_swapped(addr.0, len)
}
