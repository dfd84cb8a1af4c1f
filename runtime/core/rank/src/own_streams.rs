//! Standard streams that a rank has for itself: variables that it assigned, and an input of its own.
//!
//! The program and the C library find the streams through the variables `stdin`, `stdout` and `stderr`.
//! A rank that assigns one (`stdout = fopen(...)`) has its value in place while it runs. A rank that
//! reopened `stdin`, or put another file on descriptor 0, has that file, with a buffer of its own, behind
//! the C library's one stream object.

use crate::caller::caller;
use crate::per_rank::PerRank;
use crate::stdio::{self, StdinView, VARIABLES};

/// Bytes of an input's buffer.
const BUFFER_BYTES: usize = 4096;

/// Values of the variables while the rank runs; 0 for one that it has not assigned.
static ASSIGNED: PerRank<[usize; VARIABLES]> = PerRank::new();
static INPUTS: PerRank<OwnStdin> = PerRank::new();

struct OwnStdin {
    descriptor: i32,
    /// State of `stdin` for this rank while it is suspended, and for all others while it runs.
    other: StdinView,
    _buffer: Box<[u8]>,
}

/// Takes the variables that the rank, which has just been suspended, has assigned.
#[cold]
pub(crate) fn take_assigned(rank: u32) {
    let own = stdio::take_variables();
    if own != [0; VARIABLES] {
        ASSIGNED.put_exchanged(rank, own);
    }
}

/// Keeps the rank's streams and puts the process's in place.
pub(crate) fn leave(rank: u32) {
    ASSIGNED.with(rank, |own| *own = stdio::take_variables());
    exchange_input(rank);
}

/// Puts the rank's streams in place.
pub(crate) fn enter(rank: u32) {
    ASSIGNED.with(rank, |own| stdio::put_variables(own));
    exchange_input(rank);
}

fn exchange_input(rank: u32) {
    INPUTS.with(rank, |input| input.other = stdio::show_input(&input.other));
}

/// Makes `descriptor`, which is closed with it, the calling rank's standard input. False outside ranks.
pub fn set_input(descriptor: i32) -> bool {
    let Some(rank) = caller() else { return false };
    let mut buffer = vec![0u8; BUFFER_BYTES].into_boxed_slice();
    let bytes = buffer.as_mut_ptr_range();
    let shown = stdio::show_input(&StdinView::fresh(descriptor, bytes.start as usize..bytes.end as usize));
    let last = INPUTS.remove(rank);
    // The process's stream is kept by the first input that takes its place.
    let other = last.as_ref().map_or(shown, |last| last.other);
    INPUTS.put_exchanged(rank, OwnStdin { descriptor, other, _buffer: buffer });
    last.iter().for_each(close);
    true
}

/// Returns the descriptor of the running rank's own standard input, if it has one.
pub fn input() -> Option<i32> {
    caller().and_then(|rank| INPUTS.with(rank, |input| input.descriptor))
}

/// Forgets a rank that has ended.
pub(crate) fn end(rank: u32) {
    ASSIGNED.remove(rank);
    INPUTS.remove(rank).iter().for_each(close);
}

fn close(input: &OwnStdin) {
    // SAFETY: opened for this rank, and no other code knows it. By number, since `close` is interposed.
    unsafe { libc::syscall(libc::SYS_close, input.descriptor) };
}
