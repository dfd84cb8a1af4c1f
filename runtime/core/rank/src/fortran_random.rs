//! Fortran's `random_number` with a sequence for each rank.
//!
//! libgfortran keeps one state for the thread. When another rank than the last draws numbers, the
//! state is exchanged through `random_seed`, libgfortran's own way to read and set it. A rank that never
//! seeded begins with a state made from its number, so a run can be repeated (libgfortran alone
//! begins with a random state).

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::null_mut;

use crate::helpers;
use crate::next::NextSymbol;
use crate::single::Single;

/// gfortran's descriptor of a default-integer array of one dimension (libgfortran.h, since GCC 8).
#[repr(C)]
struct GfortranDescriptor {
    base: *mut i32,
    offset: isize,
    element: usize,
    version: i32,
    rank: i8,
    kind: i8,
    attribute: i16,
    span: isize,
    stride: isize,
    lower: isize,
    upper: isize,
}

/// `BT_INTEGER`.
const INTEGER: i8 = 1;

impl GfortranDescriptor {
    fn of(values: &mut [i32]) -> GfortranDescriptor {
        GfortranDescriptor {
            base: values.as_mut_ptr(),
            offset: -1,
            element: 4,
            version: 0,
            rank: 1,
            kind: INTEGER,
            attribute: 0,
            span: 4,
            stride: 1,
            lower: 1,
            upper: values.len() as isize,
        }
    }
}

static SEED: NextSymbol = NextSymbol::new(c"_gfortran_random_seed_i4");
type Seed = unsafe extern "C" fn(*mut i32, *mut GfortranDescriptor, *mut GfortranDescriptor);

struct States {
    /// Whose state libgfortran holds.
    owner: Option<u32>,
    parked: Option<HashMap<u32, Vec<i32>>>,
}
static STATES: Single<States> = Single::new(States { owner: None, parked: None });

fn size() -> usize {
    let mut size = 0;
    // SAFETY: libgfortran's function with one of its three arguments.
    unsafe { SEED.get::<Seed>()(&mut size, null_mut(), null_mut()) };
    usize::try_from(size).unwrap_or(0)
}

fn get() -> Vec<i32> {
    let mut state = vec![0; size()];
    // SAFETY: as above, with an array of the size that it asked for.
    unsafe { SEED.get::<Seed>()(null_mut(), null_mut(), &mut GfortranDescriptor::of(&mut state)) };
    state
}

fn put(mut state: Vec<i32>) {
    // SAFETY: as above.
    unsafe { SEED.get::<Seed>()(null_mut(), &mut GfortranDescriptor::of(&mut state), null_mut()) };
}

/// Returns the state that a rank begins with: words of the splitmix64 sequence from its global number.
fn first(rank: u32) -> Vec<i32> {
    let mut word = crate::crash::global(rank) as u64;
    let mut next = || {
        word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) as i32
    };
    (0..size()).map(|_| next()).collect()
}

/// Makes libgfortran's random state the running rank's. To be called before it is used.
#[inline]
pub fn mount() {
    let Some(rank) = helpers::caller() else { return };
    // SAFETY: the simulating thread; a copy of a field.
    if unsafe { STATES.with(|states| states.owner) } != Some(rank) {
        exchange(rank);
    }
}

#[cold]
fn exchange(rank: u32) {
    // SAFETY: the simulating thread; libgfortran's random_seed neither suspends nor calls the program.
    unsafe {
        STATES.with(|states| {
            let parked = states.parked.get_or_insert_default();
            if let Some(owner) = states.owner {
                parked.insert(owner, get());
            }
            put(parked.remove(&rank).unwrap_or_else(|| first(rank)));
            states.owner = Some(rank);
        });
    }
}

/// Implements `random_seed()` without arguments, which would seed from the system: the rank's first state
/// again. Returns `false` outside ranks.
pub fn reseed() -> bool {
    let Some(rank) = helpers::caller() else { return false };
    mount();
    put(first(rank));
    true
}

/// Drops what is kept for a rank that has ended.
pub(crate) fn end(rank: u32) {
    // SAFETY: the simulating thread; the closure only removes.
    unsafe {
        STATES.with(|states| {
            if let Some(parked) = &mut states.parked {
                parked.remove(&rank);
                if states.owner == Some(rank) {
                    states.owner = None;
                }
            }
        });
    }
}

/// An argument that only libgfortran looks into.
pub type Opaque = *mut c_void;
