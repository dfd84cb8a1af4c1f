//! Where calls are made: the addresses in the program, or in a library of its, that they return to.
//!
//! The first call of an entry point has its stack unwound. Where the address was found lies as far from the
//! words of the call each time, since both are in frames of the same code; so later calls read it from there.

use call_recording::module;
use recorder::CodeLocation;
use rustc_hash::FxHashMap;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The distance in bytes from a call's argument registers up to its return address, for one entry point.
pub struct Frame(AtomicUsize);

impl Frame {
    /// Nobody has looked.
    const UNKNOWN: usize = 0;
    /// Further is no frame of ours.
    const FURTHEST: usize = 1 << 16;

    /// Makes the frame of an entry point that was not called.
    pub const fn new() -> Frame {
        Frame(AtomicUsize::new(Frame::UNKNOWN))
    }
}

impl Default for Frame {
    fn default() -> Frame {
        Frame::new()
    }
}

/// Sites that are found without hashing.
// A loop of a program has a few calls: of two that meet in one place each pays for hashing.
const RECENT: usize = 256;

/// Returns where the last site with such an address is kept.
#[inline(always)]
fn recent(address: usize) -> usize {
    (address ^ address >> 8) % RECENT
}

/// Returns the return address of a call with these words, once it is known how far from them it is.
#[inline(always)]
fn found(frame: &Frame, words: &[u64]) -> Option<usize> {
    let (at, distance) = (words.as_ptr() as usize, frame.0.load(Relaxed));
    // SAFETY: a word in a frame above the one that holds `words`, of a function that has not returned:
    // `unwind` found it there.
    (distance != Frame::UNKNOWN).then(|| unsafe { *((at + distance) as *const usize) })
}

/// The call sites of a process.
pub struct Sites {
    /// Return address and number of the last site with such an address.
    recent: Box<[(usize, u32); RECENT]>,
    numbers: FxHashMap<usize, u32>,
    /// Return addresses in different clones of a program are of one site.
    originals: FxHashMap<usize, u32>,
    count: u32,
    /// Our own code.
    own: Range<usize>,
}

impl Default for Sites {
    fn default() -> Sites {
        let own = module::of(unwind_frame as *const () as usize).map_or(0..0, |module| module.code);
        let recent = Box::new([(0, 0); RECENT]);
        Sites { recent, numbers: FxHashMap::default(), originals: FxHashMap::default(), count: 0, own }
    }
}

impl Sites {
    /// Returns the number of the site of a call with these words, if it was called from not long ago.
    #[inline(always)]
    pub fn known(&self, frame: &Frame, words: &[u64]) -> Option<u32> {
        let address = found(frame, words)?;
        let (known, number) = self.recent[recent(address)];
        (known == address).then_some(number)
    }

    /// Returns the number of the site of a call with these words; 0 if it cannot be told. `explain` is told
    /// of a new one.
    pub fn of(&mut self, frame: &Frame, words: &[u64], explain: impl FnOnce(u32, &CodeLocation)) -> u32 {
        let Some(address) = self.address(frame, words) else { return 0 };
        let recent = recent(address);
        match self.recent[recent] {
            (known, number) if known == address => number,
            _ => {
                let number = self.number(address, explain);
                self.recent[recent] = (address, number);
                number
            }
        }
    }

    #[cold]
    fn number(&mut self, address: usize, explain: impl FnOnce(u32, &CodeLocation)) -> u32 {
        if let Some(&number) = self.numbers.get(&address) {
            return number;
        }
        let original = rank::original(address);
        let number = match self.originals.get(&original) {
            Some(&number) => number,
            None => {
                self.count += 1;
                self.originals.insert(original, self.count);
                explain(self.count, &module::place(original));
                self.count
            }
        };
        self.numbers.insert(address, number);
        number
    }

    fn address(&self, frame: &Frame, words: &[u64]) -> Option<usize> {
        if let Some(address) = found(frame, words) {
            return Some(address);
        }
        let at = words.as_ptr() as usize;
        let (address, place) = unwind(&self.own)?;
        let distance = place.wrapping_sub(at);
        if distance < Frame::FURTHEST && distance.is_multiple_of(8) {
            // SAFETY: as above; the unwinder names the end of the callee's frame, and the system's calling
            // convention has the return address below it.
            let found = unsafe { *(place as *const usize) };
            if found == address {
                frame.0.store(distance, Relaxed);
            }
        }
        Some(address)
    }
}

/// Returns the address in the program, or in a library of its, that the current call returns to; 0 if it
/// cannot be told.
pub fn calling_site() -> usize {
    static OWN: OnceLock<Range<usize>> = OnceLock::new();
    let own =
        OWN.get_or_init(|| module::of(unwind_frame as *const () as usize).map_or(0..0, |module| module.code));
    unwind(own).map_or(0, |(address, _)| address)
}

/// The callback that the unwinder calls with each frame.
type Visit = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;

unsafe extern "C" {
    fn _Unwind_Backtrace(visit: Visit, argument: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
}

struct FrameSearch<'a> {
    own: &'a Range<usize>,
    inside: bool,
    found: Option<(usize, usize)>,
}

unsafe extern "C" fn unwind_frame(context: *mut c_void, search: *mut c_void) -> c_int {
    const GO_ON: c_int = 0;
    const STOP: c_int = 4;
    // SAFETY: `unwind` hands its own search to the unwinder, which hands it here with a context that is valid
    // during the call.
    let (search, address, end) =
        unsafe { (&mut *search.cast::<FrameSearch>(), _Unwind_GetIP(context), _Unwind_GetCFA(context)) };
    if search.own.contains(&address) {
        search.inside = true;
        return GO_ON;
    }
    if !search.inside {
        return GO_ON;
    }
    search.found = Some((address, end - size_of::<usize>()));
    STOP
}

/// Returns the innermost return address outside our own code, and where it stands on the stack.
#[inline(never)]
fn unwind(own: &Range<usize>) -> Option<(usize, usize)> {
    let mut search = FrameSearch { own, inside: false, found: None };
    // SAFETY: the callback gets the search, which outlives the call, and does not unwind.
    unsafe { _Unwind_Backtrace(unwind_frame, (&raw mut search).cast()) };
    search.found
}
