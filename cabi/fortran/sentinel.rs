//! Fortran variables whose address is what counts: `MPI_BOTTOM`, `MPI_IN_PLACE` and so on.
//! Each is a common block, of exactly the size that `mpif.h` and the modules declare, so that
//! the program's symbol and the library's are one.

use crate::constants::{MPI_BUFFER_AUTOMATIC, MPI_IN_PLACE, MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY};
use rank::Addr;
use std::ffi::CStr;
use std::sync::{Mutex, OnceLock};

macro_rules! commons {
    ($($name:ident: $($symbol:ident)* = $bytes:literal;)*) => {
        $($(
            /// The common block's memory; never read or written, only its address matters.
            #[unsafe(no_mangle)]
            #[allow(non_upper_case_globals)]
            pub static mut $symbol: [u8; $bytes] = [0; $bytes];
        )*)*
        /// The common blocks.
        #[derive(Clone, Copy)]
        pub(crate) enum Sentinel {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                $name,
            )*
        }
        /// Their names, in every spelling.
        fn names() -> Vec<Vec<&'static CStr>> {
            vec![$(vec![$(
                CStr::from_bytes_with_nul(concat!(stringify!($symbol), "\0").as_bytes()).unwrap_or_default()
            ),*]),*]
        }
        /// Their addresses in this process, each in every spelling.
        fn spelled() -> Vec<Vec<usize>> {
            vec![$(vec![$((&raw const $symbol) as usize),*]),*]
        }
    };
}
commons! {
    Bottom: xsim_bottom_ xsim_bottom xsim_bottom__ XSIM_BOTTOM = 4;
    InPlace: xsim_in_place_ xsim_in_place xsim_in_place__ XSIM_IN_PLACE = 4;
    BufferAutomatic: xsim_buffer_automatic_ xsim_buffer_automatic xsim_buffer_automatic__
        XSIM_BUFFER_AUTOMATIC = 4;
    StatusIgnore: xsim_status_ignore_ xsim_status_ignore xsim_status_ignore__ XSIM_STATUS_IGNORE = 32;
    StatusesIgnore: xsim_statuses_ignore_ xsim_statuses_ignore xsim_statuses_ignore__
        XSIM_STATUSES_IGNORE = 32;
    ErrcodesIgnore: xsim_errcodes_ignore_ xsim_errcodes_ignore xsim_errcodes_ignore__
        XSIM_ERRCODES_IGNORE = 4;
    Unweighted: xsim_unweighted_ xsim_unweighted xsim_unweighted__ XSIM_UNWEIGHTED = 4;
    WeightsEmpty: xsim_weights_empty_ xsim_weights_empty xsim_weights_empty__ XSIM_WEIGHTS_EMPTY = 4;
    ArgvNull: xsim_argv_null_ xsim_argv_null xsim_argv_null__ XSIM_ARGV_NULL = 1;
    ArgvsNull: xsim_argvs_null_ xsim_argvs_null xsim_argvs_null__ XSIM_ARGVS_NULL = 1;
}

/// The addresses in the one spelling that the program's compiler uses: the linker puts a common
/// block that the program has into the program.
fn addresses() -> &'static [usize] {
    static ADDRESSES: OnceLock<Vec<usize>> = OnceLock::new();
    ADDRESSES.get_or_init(|| {
        let library = object_of(addresses as *const () as usize);
        spelled()
            .iter()
            .map(|all| all.iter().copied().find(|&at| object_of(at) != library).unwrap_or(all[0]))
            .collect()
    })
}

/// Returns where the executable or library that holds an address begins.
fn object_of(address: usize) -> usize {
    // SAFETY: a plain structure of pointers, for which zeros are a value.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the address is only looked up, and `found` is ours.
    unsafe { libc::dladdr(address as *const libc::c_void, &raw mut found) };
    found.dli_fbase as usize
}

/// Returns `true` if an address in the program as loaded is that common block.
#[inline]
pub(crate) fn is(loaded: Addr, which: Sentinel) -> bool {
    loaded.0 == addresses()[which as usize]
}

/// The address in the program as loaded: with an image for each rank, each has its own commons. Programs that
/// are spawned have theirs, too: for one of these the first program's.
#[inline]
pub(crate) fn original(at: Addr) -> Addr {
    let loaded = rank::original(at.0);
    Addr(if rank::loaded::count() == 0 { loaded } else { of_first(loaded) })
}

/// By number of the program, less one: the sentinels' addresses, each in every spelling.
static OTHERS: Mutex<Vec<Vec<Vec<usize>>>> = Mutex::new(Vec::new());

#[cold]
fn of_first(loaded: usize) -> usize {
    // Nothing is half done under it.
    let mut others = OTHERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for number in others.len() as u8..rank::loaded::count() {
        let own = |name: &&CStr| rank::loaded::symbol(number + 1, name);
        others.push(names().iter().map(|all| all.iter().map(own).collect()).collect());
    }
    let which = others.iter().find_map(|program| program.iter().position(|all| all.contains(&loaded)));
    which.map_or(loaded, |which| addresses()[which])
}

/// A choice buffer.
#[inline]
pub fn buffer(at: Addr) -> Addr {
    let loaded = original(at);
    if is(loaded, Sentinel::Bottom) {
        Addr::NULL
    } else if is(loaded, Sentinel::InPlace) {
        Addr(MPI_IN_PLACE)
    } else if is(loaded, Sentinel::BufferAutomatic) {
        Addr(MPI_BUFFER_AUTOMATIC)
    } else {
        at
    }
}

/// A status, which has the same eight integers in Fortran.
#[inline]
pub fn status(at: Addr) -> Addr {
    let loaded = original(at);
    if is(loaded, Sentinel::StatusIgnore) || is(loaded, Sentinel::StatusesIgnore) { Addr::NULL } else { at }
}

/// An array of statuses.
#[inline]
pub fn statuses(at: Addr) -> Addr {
    status(at)
}

/// The error codes of a spawn.
pub fn errcodes(at: Addr) -> Addr {
    if is(original(at), Sentinel::ErrcodesIgnore) { Addr::NULL } else { at }
}

/// Edge weights.
pub fn weights(at: Addr) -> Addr {
    let loaded = original(at);
    if is(loaded, Sentinel::Unweighted) {
        Addr(MPI_UNWEIGHTED)
    } else if is(loaded, Sentinel::WeightsEmpty) {
        Addr(MPI_WEIGHTS_EMPTY)
    } else {
        at
    }
}
