//! Memory for the statuses that programs ignore and recorders want: one piece for all ranks.
//!
//! A call fills its statuses in when it has waited, with its rank mounted, and is reported before another
//! rank is mounted. So no two calls need the memory at once, except a call that is made within another, which
//! [`super::CallRecording`] sees to. Between calls all of it is 0.

use rank::Addr;
use rank::memory::{load, store};

/// The pieces that there are, each for calls that want up to so many words; kept for good, since blocked
/// calls name them.
#[derive(Default)]
pub struct Statuses {
    /// By the logarithm of their length; 0: nobody has asked for it.
    pieces: Vec<usize>,
}

impl Statuses {
    /// Returns the least piece of so many words; O(1) but for the first time.
    #[inline]
    pub fn room(&mut self, words: usize) -> usize {
        let piece = words.max(1).next_power_of_two();
        let index = piece.trailing_zeros() as usize;
        if index >= self.pieces.len() {
            self.pieces.resize(index + 1, 0);
        }
        let at = &mut self.pieces[index];
        if *at == 0 {
            *at = vec![0u64; piece].leak().as_mut_ptr() as usize;
        }
        *at
    }

    /// Returns `true` if the statuses of a call, so many words, are there.
    #[inline]
    pub fn are_here(&self, (at, words): (usize, usize)) -> bool {
        let index = words.max(1).next_power_of_two().trailing_zeros() as usize;
        at != 0 && self.pieces.get(index) == Some(&at)
    }

    /// Clears the words there: they are 0 from now on.
    #[inline]
    pub fn clear(&self, (at, words): (usize, usize)) {
        (0..words).for_each(|k| store(place(at, k), 0u64));
    }

    /// Takes the words there away.
    pub fn take(&self, there: (usize, usize)) -> Box<[u64]> {
        let taken = (0..there.1).map(|k| load(place(there.0, k))).collect();
        self.clear(there);
        taken
    }

    /// Puts words back that were taken from there.
    pub fn put_back(&self, (at, _): (usize, usize), words: &[u64]) {
        words.iter().enumerate().for_each(|(k, &word)| store(place(at, k), word));
    }
}

fn place(at: usize, k: usize) -> Addr {
    Addr(at).offset(8 * k as i64)
}
