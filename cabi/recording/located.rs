//! Places of the program's calls, for sentences: file, line and function.

use super::chains::Frames;
use super::sites::calling_site;
use call_recording::module;
use mpi::runner::{Outcome, Runner};
use rank::Ranks;
use recorder::Symbols;
use rustc_hash::FxHashMap;

/// Bytes that reading debug information may take of a stack.
const STACK_BYTES: usize = 96 << 10;

/// The ranks of this process as the main loop drives them, with where those that wait have called.
// They are part of it: behind a reference each switch would load their address.
pub struct Located {
    ranks: Ranks,
    names: Option<Box<SiteNames>>,
}

/// The names of call sites found so far.
#[derive(Default)]
struct SiteNames {
    frames: Frames,
    symbols: Symbols,
    known: FxHashMap<usize, String>,
}

impl Located {
    /// Drives `ranks`.
    pub fn new(ranks: Ranks) -> Located {
        Located { ranks, names: None }
    }

    /// Returns the ranks.
    pub fn ranks(&self) -> &Ranks {
        &self.ranks
    }
}

impl Runner for Located {
    // Always, as for `Ranks::resume`.
    #[inline(always)]
    fn resume(&mut self, rank: u32) -> Outcome {
        Runner::resume(&mut self.ranks, rank)
    }
    fn mounted(&mut self, rank: u32, call: impl FnOnce()) {
        Runner::mounted(&mut self.ranks, rank, call);
    }
    fn call_site(&mut self, rank: u32) -> Option<String> {
        let suspended = self.ranks.suspended_at(rank)?;
        let SiteNames { frames, symbols, known } = &mut **self.names.get_or_insert_default();
        let address = frames.call_site(&suspended)?;
        Some(known.entry(address).or_insert_with(|| symbols.name(&module::place(address))).clone())
    }
    #[inline(always)]
    fn prefetch(&mut self, rank: u32, later: u32) {
        Runner::prefetch(&mut self.ranks, rank, later);
    }
}

/// Returns where the program makes the call that is under way on the current stack. Returns `None` if it
/// cannot be found, or if too little of a rank's stack is left to look for it.
#[cold]
pub fn current_call() -> Option<String> {
    let here = 0u8;
    let (at, (limit, top)) = (&raw const here as usize, rank::stack_bounds());
    if (limit..top).contains(&at) && at - limit < STACK_BYTES {
        return None;
    }
    match calling_site() {
        0 => None,
        address => Some(Symbols::default().name(&module::place(rank::original(address)))),
    }
}
