//! All ranks of this process, as the scheduler holds them.

use crate::another::{self, Common};
use crate::arguments::ArgumentVector;
use crate::config::{Config, GlobalsMode, StackMode};
use crate::globals::choice::{self, Globals};
use crate::globals::{self, early, late};
use crate::image::Image;
use crate::lifecycle::{self, Life};
use crate::memory::Addr;
use crate::now;
use crate::prefetch::prefetch;
use crate::program::Program;
use crate::programs::Programs;
use crate::running;
use crate::stack::own::OwnStacks;
use crate::stack::shared::SharedStack;
use crate::stack::switch::Suspended;
use crate::stack::{self, switch};
use crate::{
    crash, debug, fortran_random, helpers, output, process_state, random, sanitizer, spawned, stdio, watchdog,
};

/// State of a rank after it was resumed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResumeResult {
    /// It called [`crate::suspend`].
    Blocked,
    /// It left `main` or called `exit`.
    Finished {
        /// The exit status.
        status: i32,
    },
}

/// Bytes of a stack when nothing else is said: what the system gives a program.
const DEFAULT_WHOLE: usize = 8 << 20;
/// Up to this many ranks, an own stack is as large as the system's. With more it lies so far from the next
/// that finding its pages takes longer: half as long again for a message at 2,000 ranks.
const MAX_RANKS_WITH_WHOLE_STACKS: u32 = 1024;
/// Bytes of an own stack with more ranks, up to [`MAX_RANKS_WITH_OWN_STACKS`].
const DEFAULT_PART: usize = 2 << 20;
/// Bytes of an own stack with more than [`MAX_RANKS_WITH_OWN_STACKS`] ranks: eight share a page of the page
/// table.
const DEFAULT_SLOT: usize = 256 << 10;
/// Up to this many ranks, stacks of their own are faster and their memory does not matter.
const MAX_RANKS_WITH_OWN_STACKS: u32 = 4096;
/// Maximum bytes of all own stacks together, where the system's limit on stacks is raised. One stack has at
/// most [`MAX_RAISED`].
const MAX_RAISED_SUM: usize = 1 << 40;
const MAX_RAISED: usize = 16 << 30;

/// The position of a rank's stack, in 8 bytes.
#[derive(Clone, Copy)]
pub(crate) struct StackPosition {
    /// The slot (own stacks) or record (shared stack), or one of the marks below.
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

/// The ranks. Dropping it neither unwinds nor frees suspended ranks' frames.
pub struct Ranks {
    places: Vec<StackPosition>,
    stacks: Stacks,
    globals: Globals,
    life: &'static Life,
    /// Once a rank runs another program.
    programs: Option<Box<Programs>>,
    explanation: String,
    arguments: ArgumentVector,
    /// Bytes of arguments above the base of each stack; 0 if they are too many and live on the heap.
    above: usize,
    switches: u64,
    left: u32,
    /// The rank that may read standard input.
    reader: Option<u32>,
    /// AddressSanitizer is in the program.
    is_sanitized: bool,
}

impl Ranks {
    /// Prepares the ranks; none runs yet.
    ///
    /// # Errors
    /// A sentence, if the stacks or globals asked for cannot be had.
    pub fn new(program: Program, config: Config) -> Result<Ranks, String> {
        running::find_thread_state();
        process_state::begin();
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
        let (globals, mut swapped) = choice::globals(&images, &config, &mut explanation)?;
        if let Stacks::Shared(shared) = &stacks {
            let (limit, top) = shared.bounds();
            swapped.push(limit..top);
            if config.ranks > 1 {
                helpers::note_moved(helpers::STACK);
            }
        }
        globals::add_swapped(swapped);
        let cloned = if matches!(globals, Globals::Cloned(..)) { images[1..].to_vec() } else { Vec::new() };
        another::allow(Common { config: config.clone(), environment: program.environment as usize, cloned });
        let life = lifecycle::set(Life::new(
            program.main,
            program.environment,
            (constructors, destructors),
            images,
            &globals,
        ));
        let reader = (config.first == 0 && config.ranks > 0).then_some(0);
        if !shared {
            late::begin(&config.globals_libraries, config.ranks, config.first == 0);
        }
        stdio::begin(config.total, reader);
        crash::begin(config.first);
        watchdog::begin(config.watchdog);
        crate::heap::clear(config.clear_heap);
        let places = crate::memory::table(StackPosition { stack: NEW, depth: 0 }, config.ranks as usize);
        let own = match &stacks {
            Stacks::Own(own) => Some(own.layout()),
            Stacks::Shared(_) => None,
        };
        debug::show(config.first, &places, own);
        Ok(Ranks {
            places,
            globals,
            life,
            programs: None,
            explanation,
            above: if bytes <= (top - limit) / 8 { bytes } else { 0 },
            stacks,
            arguments: program.arguments,
            switches: 0,
            left: config.ranks - config.spare,
            reader,
            is_sanitized: sanitizer::is_present(),
        })
    }

    /// Returns the number of ranks of this process.
    pub fn len(&self) -> u32 {
        self.places.len() as u32
    }

    /// Returns `true` if this process has no ranks.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns what was chosen for globals and stacks, and why.
    pub fn explanation(&self) -> &str {
        &self.explanation
    }

    /// Returns the bytes that parked ranks keep: saved globals and parts of the shared stack.
    pub fn saved_bytes(&self) -> usize {
        let globals =
            self.globals.saved_bytes() + self.programs.as_ref().map_or(0, |programs| programs.saved_bytes());
        let stacks = match &self.stacks {
            Stacks::Own(_) => 0,
            Stacks::Shared(shared) => shared.saved_bytes(),
        };
        globals + stacks
    }

    /// Returns how often a rank was resumed.
    pub fn switches(&self) -> u64 {
        self.switches
    }

    /// Runs a rank until it blocks or ends; the first time, from its constructors and `main`.
    ///
    /// # Panics
    /// If the rank has ended, or if the caller is itself a rank.
    // Always: each call and return around the switch is a return that the processor predicts wrongly.
    #[inline(always)]
    pub fn resume(&mut self, rank: u32) -> ResumeResult {
        assert!(now::current().is_none(), "only the scheduler resumes ranks");
        self.switches += 1;
        let place = self.places[rank as usize];
        if place.stack >= GONE {
            return self.start(rank);
        }
        self.mount_globals(rank);
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
    fn suspended(&mut self, rank: u32, top: usize, pointer: usize) -> ResumeResult {
        stdio::drain(rank);
        if Some(rank) == self.reader {
            stdio::swap_input();
        }
        if now::unmount()
            && let Some(status) = self.take_end()
        {
            self.ended(rank);
            return ResumeResult::Finished { status };
        }
        let place = &mut self.places[rank as usize];
        match &self.stacks {
            Stacks::Own(_) => place.depth = ((top - pointer) / 8) as u32,
            Stacks::Shared(shared) => *place = shared.suspended(*place, pointer),
        }
        ResumeResult::Blocked
    }

    /// Takes note of what the rank that ran has changed; returns its exit status if it has ended.
    #[cold]
    fn take_end(&mut self) -> Option<i32> {
        if late::is_any() {
            let ranks = self.places.len() as u32;
            self.programs.get_or_insert_with(|| Box::new(Programs::new(ranks, self.life)));
        }
        now::take_end()
    }

    #[cold]
    fn ended(&mut self, rank: u32) {
        output::end(rank);
        random::end(rank);
        fortran_random::end(rank);
        process_state::end(rank);
        let place =
            std::mem::replace(&mut self.places[rank as usize], StackPosition { stack: GONE, depth: 0 });
        match &mut self.stacks {
            // Helpers that the rank left behind may use its stack.
            Stacks::Own(_) if helpers::has_own(rank) => {}
            Stacks::Own(own) => {
                if self.is_sanitized {
                    let (limit, top) = own.bounds(place.stack);
                    sanitizer::unmark(limit..top);
                }
                own.give_back(place.stack);
            }
            Stacks::Shared(shared) => shared.ended(place),
        }
        match &mut self.programs {
            None => self.globals.ended(rank),
            Some(programs) => programs.ended(rank, &mut self.globals),
        }
        self.left -= 1;
        if self.left == 0 {
            lifecycle::destroy_shared(self.life);
            self.programs.iter().for_each(|programs| programs.destroy_shared());
        }
    }

    #[cold]
    fn start(&mut self, rank: u32) -> ResumeResult {
        assert!(self.places[rank as usize].stack == NEW, "rank {rank} has ended and cannot be resumed");
        let given = spawned::given(rank);
        if let Some(program) = given.as_ref().map(|given| given.program).filter(|&program| program != 0) {
            let ranks = self.places.len() as u32;
            self.programs
                .get_or_insert_with(|| Box::new(Programs::new(ranks, self.life)))
                .assign(rank, program);
        }
        match &mut self.programs {
            None => self.globals.start(rank),
            Some(programs) => programs.start(rank, &mut self.globals),
        }
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
        self.left += u32::from(given.is_some());
        // Above a shared stack's base is room for what all ranks have alike, and only for that.
        let above = self.above != 0 && given.is_none();
        let arguments = given.as_ref().map_or(&self.arguments, |given| &given.arguments);
        let argv = if above {
            top - self.above
        } else {
            Vec::leak(vec![0u64; arguments.bytes() / 8]).as_mut_ptr() as usize
        };
        // SAFETY: enough free bytes at the top of an empty stack, or of a fresh allocation, both aligned to
        // 8.
        lifecycle::set_arguments(unsafe { arguments.write(argv) }, arguments.count());
        now::mount(rank, limit, top - self.above);
        if Some(rank) == self.reader {
            stdio::swap_input();
        }
        // SAFETY: this stack is in place, and nobody else's.
        let pointer = unsafe { switch::start(top - self.above, lifecycle::entry) };
        self.suspended(rank, top, pointer)
    }

    #[inline(always)]
    fn mount_globals(&mut self, rank: u32) {
        match &mut self.programs {
            None => self.globals.mount(rank),
            Some(programs) => programs.mount(rank, &mut self.globals),
        }
    }

    /// Runs `f` on the scheduler's stack with the rank's stack and globals in place: for user
    /// operations and callbacks, and for its memory (rule 1).
    pub fn mounted<R>(&mut self, rank: u32, f: impl FnOnce() -> R) -> R {
        self.mount_globals(rank);
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

    /// Returns where a rank is suspended, with its stack in place but not its globals. Returns `None` if it
    /// has not begun or has ended.
    pub fn suspended_at(&mut self, rank: u32) -> Option<Suspended> {
        let place = self.places[rank as usize];
        if place.stack >= GONE {
            return None;
        }
        let (pointer, top) = match &mut self.stacks {
            Stacks::Own(own) => {
                let (_, top) = own.bounds(place.stack);
                (top - place.depth as usize * 8, top)
            }
            Stacks::Shared(shared) => {
                shared.mount(rank, &mut self.places);
                (shared.pointer(place), shared.bounds().1)
            }
        };
        // SAFETY: this rank's stack is in place, suspended at this depth below its top.
        Some(unsafe { switch::suspended(pointer, top) })
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

/// Returns the system's limit on a program's stack (`ulimit -s`) if it is larger than the usual 8 MiB.
fn raised_limit() -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes one rlimit.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) } == 0;
    let bytes = if limit.rlim_cur == libc::RLIM_INFINITY { usize::MAX } else { limit.rlim_cur as usize };
    (known && bytes > DEFAULT_WHOLE).then_some(bytes)
}

/// Returns stacks of their own for the ranks.
fn own_stacks(config: &Config, bytes: Option<usize>) -> Result<(OwnStacks, String), String> {
    let ranks = config.ranks.max(1);
    if let Some(bytes) = bytes {
        return Ok((OwnStacks::new(ranks, bytes)?, format!("each rank has a stack of {} KiB", bytes >> 10)));
    }
    if let Some(limit) = raised_limit() {
        let bytes = limit.min(MAX_RAISED).min(MAX_RAISED_SUM / ranks as usize) & !4095;
        if bytes > DEFAULT_WHOLE
            && let Ok(stacks) = OwnStacks::new(ranks, bytes)
        {
            return Ok((
                stacks,
                format!("each rank has a stack of {} KiB, since ulimit -s is raised", bytes >> 10),
            ));
        }
    }
    let bytes = if ranks <= MAX_RANKS_WITH_WHOLE_STACKS {
        DEFAULT_WHOLE
    } else if ranks <= MAX_RANKS_WITH_OWN_STACKS {
        DEFAULT_PART
    } else {
        DEFAULT_SLOT
    };
    Ok((OwnStacks::new(ranks, bytes)?, format!("each rank has a stack of {} KiB", bytes >> 10)))
}

/// Chooses the stacks that `config` asks for, the bounds of one that is free now, and why.
fn choose_stacks(config: &Config) -> Result<(Stacks, usize, usize, String), String> {
    let shared = |bytes: Option<usize>| {
        let usual = || raised_limit().unwrap_or(DEFAULT_WHOLE).min(stack::shared::MAX_STACK_BYTES);
        let shared = SharedStack::new(bytes.unwrap_or_else(usual), config.ranks)?;
        let (limit, top) = shared.bounds();
        Ok::<_, String>((Stacks::Shared(Box::new(shared)), limit, top))
    };
    let own = |bytes: Option<usize>| {
        let (mut own, explanation) = own_stacks(config, bytes)?;
        let slot = own.take();
        let (limit, top) = own.bounds(slot);
        own.give_back(slot);
        Ok::<_, String>(((Stacks::Own(own), limit, top), explanation))
    };
    if let Some(why) = sanitizer::refusal() {
        return Err(why.to_owned());
    }
    let ((stacks, limit, top), explanation) = match config.stack {
        StackMode::Shared { .. } if sanitizer::is_present() => {
            return Err(
                "AddressSanitizer cannot follow ranks on one stack; give each its own (-xsim-stack-mode own)"
                    .to_owned(),
            );
        }
        StackMode::Auto if sanitizer::is_present() => {
            let (stacks, explanation) = own(None)?;
            (stacks, format!("{explanation}, since AddressSanitizer is in the program"))
        }
        StackMode::Own { bytes } => own(bytes)?,
        StackMode::Shared { bytes } => (shared(bytes)?, "all ranks run on one stack".to_owned()),
        StackMode::Auto if config.ranks > MAX_RANKS_WITH_OWN_STACKS => (
            shared(None)?,
            format!("all ranks run on one stack, since there are more than {MAX_RANKS_WITH_OWN_STACKS}"),
        ),
        StackMode::Auto => {
            let (stacks, explanation) = own(None)?;
            (stacks, format!("{explanation}, since there are at most {MAX_RANKS_WITH_OWN_STACKS}"))
        }
    };
    Ok((stacks, limit, top, explanation))
}

/// Returns `true` if memory of a parked rank at this address can be reached without mounting it: true for the
/// heap, false for swapped globals and for the shared stack.
#[inline]
pub fn is_addressable_unmounted(addr: Addr, len: usize) -> bool {
    !globals::is_swapped(addr.0, len)
}
