//! `rand`, `random` and `drand48` with a sequence for each rank, the same as in a process of its own.

use std::collections::HashMap;

use crate::helpers;
use crate::single::Single;

/// glibc's `struct random_data` and `struct drand48_data`, opaque, and the table `random` begins with.
#[repr(C, align(16))]
pub struct Generators {
    /// `struct random_data` (48 bytes).
    pub random: [u64; 6],
    /// `struct drand48_data` (24 bytes).
    pub drand48: [u64; 3],
    table: [i32; 32],
    /// The table that `initstate` would return as the previous one.
    pub state: usize,
}

unsafe extern "C" {
    fn initstate_r(seed: u32, table: *mut i32, bytes: usize, data: *mut [u64; 6]) -> i32;
}

impl Generators {
    fn new() -> Box<Generators> {
        // glibc sets up an all-zero drand48 state at its first use, as for an unseeded process.
        let mut made = Box::new(Generators { random: [0; 6], drand48: [0; 3], table: [0; 32], state: 0 });
        made.state = made.table.as_ptr() as usize;
        // SAFETY: structures of the sizes that glibc states, at their final addresses; 1 is the
        // seed that the C standard gives an unseeded `rand`.
        unsafe { initstate_r(1, made.table.as_mut_ptr(), size_of::<[i32; 32]>(), &mut made.random) };
        made
    }
}

struct RankGenerators {
    last: Option<(u32, *mut Generators)>,
    ranks: Option<HashMap<u32, Box<Generators>>>,
}

static ALL: Single<RankGenerators> = Single::new(RankGenerators { last: None, ranks: None });

/// Returns the running rank's generators, made at first use; `None` outside ranks and on threads that they
/// started.
///
/// The pointer is valid until the rank ends.
#[inline]
pub fn generators() -> Option<*mut Generators> {
    let rank = helpers::caller()?;
    // SAFETY: the simulating thread; the closure only looks up and inserts. Boxes do not move.
    unsafe {
        ALL.with(|all| match all.last {
            Some((last, found)) if last == rank => Some(found),
            _ => {
                let found: *mut Generators =
                    &mut **all.ranks.get_or_insert_default().entry(rank).or_insert_with(Generators::new);
                all.last = Some((rank, found));
                Some(found)
            }
        })
    }
}

/// Drops what is kept for a rank that has ended.
pub(crate) fn end(rank: u32) {
    // SAFETY: the simulating thread; the closure only removes.
    unsafe {
        ALL.with(|all| {
            if let Some(ranks) = &mut all.ranks {
                ranks.remove(&rank);
                all.last = None;
            }
        });
    }
}
