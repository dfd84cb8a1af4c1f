//! All ranks of this process, as the scheduler holds them.

use std::fmt::Write;
use std::ops::Range;
use std::time::Duration;

use crate::arguments::Arguments;
use crate::globals::clone::{self, Cloned};
use crate::globals::{self, Private, Swapped, early};
use crate::image::Image;
use crate::lifecycle::{self, Life};
use crate::memory::Addr;
use crate::now;
use crate::prefetch::prefetch;
use crate::program::Program;
use crate::running;
use crate::stack::own::OwnStacks;
use crate::stack::shared::SharedStack;
use crate::stack::switch;
use crate::{crash, debug, fortran_random, output, random, spawned, stdio, watchdog};

/// Where ranks keep their stacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackMode {
    /// A stack for each rank.
    Own {
        /// Bytes of a rank's slot; `None`: the more the fewer there are.
        bytes: Option<usize>,
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
    /// Whether memory that a rank allocates reads as zeros.
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

/// Bytes of an own stack when nothing else is said and there are many. Larger ones lie so far apart that finding their pages takes
/// longer: up to half as long again for a switch among 1,024 ranks.
const DEFAULT_SLOT: usize = 256 << 10;
/// Bytes of the shared stack, and of an own one among few, when nothing else is said: what the system gives a program.
const DEFAULT_WHOLE: usize = 8 << 20;
/// Up to this many ranks, an own stack is as large as the system's.
const MOST_WHOLE: u32 = 128;
/// Copying this much data between ranks takes less than a microsecond.
const SMALL_DATA: usize = 16 << 10;
/// Up to this many ranks, stacks of their own are faster and their memory does not matter.
const MOST_OWN: u32 = 4096;

/// A rank's place: 8 bytes.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// Its slot (own stacks) or record (shared stack), or one of the marks below.
    pub(crate) stack: u32,
    /// Live bytes of its stack divided by 8; with a shared stack, the record's class above that.
    pub(crate) depth: u32,
}

const NEW: u32 = u32::MAX;
const GONE: u32 = u32::MAX - 1;

enum Stacks {
    Own(OwnStacks),
    Shared(Box<SharedStack>),
}

/// How globals are private.
enum Globals {
    Shared,
    Copied(Box<Swapped>),
    /// With the thread-local blocks copied, if there are any.
    Cloned(Box<Cloned>, Option<Box<Swapped>>),
}

impl Globals {
    #[inline]
    fn mount(&mut self, rank: u32) {
        match self {
            Globals::Shared => {}
            Globals::Copied(copied) => copied.mount(rank),
            Globals::Cloned(cloned, thread_local) => {
                if let Some(copied) = thread_local {
                    copied.mount(rank);
                }
                cloned.mount(rank);
            }
        }
    }

    fn start(&mut self, rank: u32) {
        match self {
            Globals::Shared => {}
            Globals::Copied(copied) => copied.mount(rank),
            Globals::Cloned(cloned, thread_local) => {
                if let Some(copied) = thread_local {
                    copied.mount(rank);
                }
                cloned.start(rank);
            }
        }
    }

    fn ended(&mut self, rank: u32) {
        match self {
            Globals::Shared => {}
            Globals::Copied(copied) => copied.ended(rank),
            Globals::Cloned(cloned, thread_local) => {
                if let Some(copied) = thread_local {
                    copied.ended(rank);
                }
                cloned.ended(rank);
            }
        }
    }

    fn saved_bytes(&self) -> usize {
        match self {
            Globals::Shared => 0,
            Globals::Copied(copied) => copied.saved_bytes(),
            Globals::Cloned(cloned, thread_local) => cloned.saved_bytes() + thread_local.as_ref().map_or(0, |copied| copied.saved_bytes()),
        }
    }
}

/// The ranks. Dropping it neither unwinds nor frees suspended ranks' frames.
pub struct Ranks {
    places: Vec<Place>,
    stacks: Stacks,
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
        running::find_thread_state();
        let (stacks, limit, top, mut explanation) = choose_stacks(&config)?;
        let bytes = program.arguments.bytes();
        let images = globals::own_images(&program, &config.globals_libraries);
        let shared = config.globals == GlobalsMode::None;
        let taken_back = early::settle(if shared { &[] } else { &images });
        let mut constructors: Vec<usize> = taken_back.iter().flat_map(Image::constructors).collect();
        match program.init {
            Some(all) => constructors.push(all as usize),
            None => constructors.extend(program.image.constructors()),
        }
        let mut destructors = program.image.destructors();
        destructors.extend(taken_back.iter().rev().flat_map(Image::destructors));
        let (globals, mut swapped) = choose_globals(&images, &config, &mut explanation)?;
        if let Stacks::Shared(shared) = &stacks {
            let (limit, top) = shared.bounds();
            swapped.push(limit..top);
        }
        globals::set_swapped(swapped);
        lifecycle::set(Life {
            main: program.main,
            environment: program.environment,
            constructors,
            destructors,
            private_globals: !matches!(globals, Globals::Shared),
            images,
            // SAFETY: getpid has no precondition.
            process: unsafe { libc::getpid() },
        });
        let reader = (config.first == 0 && config.ranks > 0).then_some(0);
        stdio::begin(config.total, reader);
        crash::begin(config.first);
        watchdog::begin(config.watchdog);
        crate::heap::clear(config.clear_heap);
        let places = crate::memory::table(Place { stack: NEW, depth: 0 }, config.ranks as usize);
        let own = match &stacks {
            Stacks::Own(own) => Some(own.layout()),
            Stacks::Shared(_) => None,
        };
        debug::show(config.first, &places, own);
        Ok(Ranks {
            places,
            globals,
            explanation,
            above: if bytes <= (top - limit) / 8 { bytes } else { 0 },
            stacks,
            arguments: program.arguments,
            switches: 0,
            left: config.ranks - config.spare,
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

    /// Bytes that parked ranks keep: saved globals and parts of the shared stack.
    pub fn saved_bytes(&self) -> usize {
        let globals = self.globals.saved_bytes();
        let stacks = match &self.stacks {
            Stacks::Own(_) => 0,
            Stacks::Shared(shared) => shared.saved_bytes(),
        };
        globals + stacks
    }

    /// How often a rank was resumed.
    pub fn switches(&self) -> u64 {
        self.switches
    }

    /// Runs a rank until it blocks or ends; the first time, from its constructors and `main`.
    ///
    /// # Panics
    /// If the rank has ended, or if the caller is itself a rank.
    // Always: each call and return around the switch is a return that the processor predicts wrongly.
    #[inline(always)]
    pub fn resume(&mut self, rank: u32) -> Outcome {
        assert!(now::current().is_none(), "only the scheduler resumes ranks");
        self.switches += 1;
        let place = self.places[rank as usize];
        if place.stack >= GONE {
            return self.start(rank);
        }
        self.globals.mount(rank);
        let (limit, top, pointer) = match &mut self.stacks {
            Stacks::Own(own) => {
                let (limit, top) = own.bounds(place.stack);
                (limit, top, top - place.depth as usize * 8)
            }
            Stacks::Shared(shared) => {
                shared.mount(rank, &mut self.places);
                let (limit, top) = shared.bounds();
                (limit, top, shared.pointer(place))
            }
        };
        now::mount(rank, limit, top - self.above);
        if Some(rank) == self.reader {
            stdio::swap_input();
        }
        // SAFETY: this rank's stack is in place, suspended at this depth below its top.
        let pointer = unsafe { switch::enter(pointer) };
        self.suspended(rank, top, pointer)
    }

    #[inline(always)]
    fn suspended(&mut self, rank: u32, top: usize, pointer: usize) -> Outcome {
        stdio::drain(rank);
        if Some(rank) == self.reader {
            stdio::swap_input();
        }
        if let Some(status) = now::unmount() {
            self.ended(rank);
            return Outcome::Finished { status };
        }
        let place = &mut self.places[rank as usize];
        match &self.stacks {
            Stacks::Own(_) => place.depth = ((top - pointer) / 8) as u32,
            Stacks::Shared(shared) => *place = shared.suspended(*place, pointer),
        }
        Outcome::Blocked
    }

    #[cold]
    fn ended(&mut self, rank: u32) {
        output::end(rank);
        random::end(rank);
        fortran_random::end(rank);
        let place = std::mem::replace(&mut self.places[rank as usize], Place { stack: GONE, depth: 0 });
        match &mut self.stacks {
            Stacks::Own(own) => own.give_back(place.stack),
            Stacks::Shared(shared) => shared.ended(place),
        }
        self.globals.ended(rank);
        self.left -= 1;
        if self.left == 0 {
            lifecycle::destroy_shared();
        }
    }

    #[cold]
    fn start(&mut self, rank: u32) -> Outcome {
        assert!(self.places[rank as usize].stack == NEW, "rank {rank} has ended and cannot be resumed");
        self.globals.start(rank);
        let (limit, top) = match &mut self.stacks {
            Stacks::Own(own) => {
                let slot = own.take();
                self.places[rank as usize].stack = slot;
                own.bounds(slot)
            }
            Stacks::Shared(shared) => {
                shared.clear(&mut self.places);
                shared.in_place = rank;
                self.places[rank as usize] = SharedStack::fresh();
                shared.bounds()
            }
        };
        let given = spawned::arguments_of(rank);
        self.left += u32::from(given.is_some());
        // Above a shared stack's base is room for what all ranks have alike, and only for that.
        let above = self.above != 0 && given.is_none();
        let arguments = given.as_deref().unwrap_or(&self.arguments);
        let argv = if above { top - self.above } else { Vec::leak(vec![0u64; arguments.bytes() / 8]).as_mut_ptr() as usize };
        // SAFETY: enough free bytes at the top of an empty stack, or of a fresh allocation, both aligned to 8.
        lifecycle::set_arguments(unsafe { arguments.write(argv) }, arguments.count());
        now::mount(rank, limit, top - self.above);
        if Some(rank) == self.reader {
            stdio::swap_input();
        }
        // SAFETY: this stack is in place, and nobody else's.
        let pointer = unsafe { switch::start(top - self.above, lifecycle::entry) };
        self.suspended(rank, top, pointer)
    }

    /// Runs `f` on the scheduler's stack with the rank's stack and globals in place: for user
    /// operations and callbacks, and for its memory (rule 1).
    pub fn mounted<R>(&mut self, rank: u32, f: impl FnOnce() -> R) -> R {
        self.globals.mount(rank);
        if let Stacks::Shared(shared) = &mut self.stacks
            && self.places[rank as usize].stack < GONE
        {
            shared.mount(rank, &mut self.places);
        }
        now::serve(rank);
        let result = f();
        now::serve(now::NOBODY);
        stdio::drain(rank);
        result
    }

    /// Brings into the cache where [`Ranks::prefetch`] looks.
    #[inline]
    pub fn prefetch_place(&self, rank: u32) {
        if let Some(place) = self.places.get(rank as usize) {
            prefetch(std::ptr::from_ref(place) as usize);
        }
        if let Globals::Copied(copied) = &self.globals {
            copied.prefetch_place(rank);
        }
    }

    /// Brings what resuming the rank will touch into the cache.
    #[inline]
    pub fn prefetch(&self, rank: u32) {
        let Some(&place) = self.places.get(rank as usize) else { return };
        if place.stack >= GONE {
            return;
        }
        if let Globals::Copied(copied) = &self.globals {
            copied.prefetch(rank);
        }
        match &self.stacks {
            Stacks::Shared(shared) => shared.prefetch(place),
            Stacks::Own(own) => {
                let (_, top) = own.bounds(place.stack);
                let pointer = top - place.depth as usize * 8;
                for line in 0..4 {
                    prefetch(pointer + line * 64);
                }
                prefetch(top - 64);
            }
        }
    }
}

/// Private globals as `config` asks for, memory that is swapped, and why so.
fn choose_globals(images: &[Image], config: &Config, why: &mut String) -> Result<(Globals, Vec<Range<usize>>), String> {
    let mut private = Private::of(images);
    let missing = private.fold(&images[0], &config.globals_fold);
    if let Some(name) = missing.first() {
        return Err(format!(
            "this program has no variable {name} to fold: give its symbol's name (nm lists them; Fortran common blocks end in _)"
        ));
    }
    let (data, ranks) = (private.bytes(), config.ranks);
    let image: usize = images.iter().flat_map(|image| image.segments()).map(|segment| segment.file.len()).sum();
    // Zero data costs memory only where it is written, but a program that has much writes it.
    let fits = (image + data).saturating_mul(ranks as usize) < memory_bytes() / 2;
    let mode = match config.globals {
        GlobalsMode::Auto if data <= SMALL_DATA => {
            let _ = write!(why, "; globals are copied, since the program has only {data} bytes");
            GlobalsMode::Copy
        }
        GlobalsMode::Auto if !config.globals_fold.is_empty() => {
            let _ = write!(why, "; globals ({data} bytes) are copied, since some are folded");
            GlobalsMode::Copy
        }
        GlobalsMode::Auto => match clone::obstacle(images) {
            None if fits => {
                let _ = write!(why, "; each rank has a clone of the program, since copying {data} bytes of globals would be slower");
                GlobalsMode::Clone
            }
            None => {
                let _ = write!(why, "; globals ({data} bytes) are copied, since {ranks} clones of {} bytes are too many", image + data);
                GlobalsMode::Copy
            }
            Some(obstacle) => {
                let _ = write!(why, "; globals ({data} bytes) are copied, though clones would be faster: {obstacle}");
                GlobalsMode::Copy
            }
        },
        mode => {
            let _ = write!(why, "; globals ({data} bytes) as asked");
            mode
        }
    };
    let ranges = |private: &Private| -> Vec<Range<usize>> { private.regions.iter().map(|region| region.range.clone()).collect() };
    match mode {
        GlobalsMode::None => Ok((Globals::Shared, Vec::new())),
        GlobalsMode::Clone if !config.globals_fold.is_empty() => {
            Err("folded globals need copied globals: leave out the one or the other".into())
        }
        GlobalsMode::Clone => {
            let cloned = Cloned::new(images, ranks)?;
            let private = Private::thread_local(images);
            let swapped = ranges(&private);
            let copied = if swapped.is_empty() { None } else { Some(Box::new(Swapped::new(private, ranks)?)) };
            Ok((Globals::Cloned(Box::new(cloned), copied), swapped))
        }
        GlobalsMode::Copy | GlobalsMode::Auto => {
            let swapped = ranges(&private);
            Ok((Globals::Copied(Box::new(Swapped::new(private, ranks)?)), swapped))
        }
    }
}

/// Memory of this machine.
fn memory_bytes() -> usize {
    // SAFETY: asks for numbers.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    usize::try_from(pages).unwrap_or(1 << 20) * usize::try_from(size).unwrap_or(4096)
}

/// The stacks that `config` asks for, the bounds of one that is free now, and why.
fn choose_stacks(config: &Config) -> Result<(Stacks, usize, usize, String), String> {
    let shared = |bytes: usize| {
        crate::crash::set_stack_size(bytes);
        let shared = SharedStack::new(bytes, config.ranks)?;
        let (limit, top) = shared.bounds();
        Ok::<_, String>((Stacks::Shared(Box::new(shared)), limit, top))
    };
    let own = |bytes: Option<usize>| {
        let bytes = bytes.unwrap_or(if config.ranks <= MOST_WHOLE { DEFAULT_WHOLE } else { DEFAULT_SLOT });
        crate::crash::set_stack_size(bytes);
        let mut own = OwnStacks::new(config.ranks.max(1), bytes)?;
        let slot = own.take();
        let (limit, top) = own.bounds(slot);
        own.give_back(slot);
        Ok::<_, String>(((Stacks::Own(own), limit, top), format!("each rank has a stack of {} KiB", bytes >> 10)))
    };
    let ((stacks, limit, top), explanation) = match config.stack {
        StackMode::Own { bytes } => own(bytes)?,
        StackMode::Shared { bytes } => (shared(bytes)?, "all ranks run on one stack".to_owned()),
        StackMode::Auto if config.ranks > MOST_OWN => {
            (shared(DEFAULT_WHOLE)?, format!("all ranks run on one stack, since there are more than {MOST_OWN}"))
        }
        StackMode::Auto => {
            let (stacks, explanation) = own(None)?;
            (stacks, format!("{explanation}, since there are at most {MOST_OWN}"))
        }
    };
    Ok((stacks, limit, top, explanation))
}

/// Whether memory of a parked rank at this address can be reached without mounting it: true for
/// the heap, false for swapped globals and for the shared stack.
#[inline]
pub fn is_addressable_unmounted(addr: Addr, len: usize) -> bool {
    !globals::is_swapped(addr.0, len)
}
