//! Descriptors 0, 1 and 2, of which each rank has its own.
//!
//! The process's stay where they are. What a rank puts in their place (`dup2`) or closes is noted for it:
//! its output goes there, its input comes from there. A copy that a rank makes of its own output (`dup`),
//! to put it back later, is known as one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::caller::caller;
use crate::output::{self, Stream, StreamTarget};
use crate::single::Single;
use crate::{now, own_streams, stdio};

/// Descriptors that stand for the lines of a stream of the process.
static COPIES: Single<BTreeMap<i32, Stream>> = Single::new(BTreeMap::new());
static ANY: AtomicBool = AtomicBool::new(false);

fn copies<R>(f: impl FnOnce(&mut BTreeMap<i32, Stream>) -> R) -> R {
    // SAFETY: the simulating thread; the closures look up, insert and remove.
    unsafe { COPIES.with(f) }
}

fn stream(descriptor: i32) -> Option<Stream> {
    match descriptor {
        1 => Some(Stream::Out),
        2 => Some(Stream::Error),
        _ => None,
    }
}

/// Returns `true` if a descriptor may be more than a number: one of the first three, or a copy.
#[inline]
fn is_known(descriptor: i32) -> bool {
    (0..=2).contains(&descriptor) || ANY.load(Relaxed)
}

/// The target of a rank's descriptor.
enum DescriptorTarget {
    /// The process's descriptor of this number.
    Real(i32),
    Lines(Stream),
    Closed,
}

fn meaning(rank: u32, descriptor: i32) -> DescriptorTarget {
    if let Some(stream) = stream(descriptor) {
        return match output::target(rank, stream) {
            StreamTarget::Lines(stream) => DescriptorTarget::Lines(stream),
            StreamTarget::File(own) => DescriptorTarget::Real(own),
            StreamTarget::Closed => DescriptorTarget::Closed,
        };
    }
    if descriptor == 0 {
        return DescriptorTarget::Real(own_streams::input().unwrap_or(0));
    }
    copies(|copies| copies.get(&descriptor).copied())
        .map_or(DescriptorTarget::Real(descriptor), DescriptorTarget::Lines)
}

fn fail(error: i32) -> i32 {
    // SAFETY: this thread's errno.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// Makes a copy of a descriptor that only the simulator knows.
fn keep(descriptor: i32) -> i32 {
    // SAFETY: a system call without pointers.
    unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 3) }
}

/// Puts `old` in the place of the rank's standard stream `new`.
fn put(rank: u32, old: i32, new: i32) -> i32 {
    let target = match meaning(rank, old) {
        DescriptorTarget::Closed => return fail(libc::EBADF),
        DescriptorTarget::Lines(stream) => StreamTarget::Lines(stream),
        DescriptorTarget::Real(descriptor) => StreamTarget::File(keep(descriptor)),
    };
    let own = match target {
        StreamTarget::File(own) if own < 0 => return -1,
        StreamTarget::File(own) => own,
        StreamTarget::Lines(stream) if new == 0 => keep(stream as i32),
        _ => -1,
    };
    match stream(new) {
        Some(stream) => {
            stdio::drain_descriptor(rank, new);
            output::redirect(rank, stream, target);
        }
        None => {
            own_streams::set_input(own);
        }
    }
    new
}

/// Implements `dup2` and `dup3` of a rank. `real` duplicates a descriptor of the process to `new`. Returns
/// `None` if the process's own is meant.
pub fn duplicate_to(old: i32, new: i32, real: impl FnOnce(i32) -> i32) -> Option<i32> {
    if !is_known(old) && !is_known(new) {
        return None;
    }
    let rank = caller()?;
    if old == new {
        return Some(if matches!(meaning(rank, old), DescriptorTarget::Closed) {
            fail(libc::EBADF)
        } else {
            new
        });
    }
    if (0..=2).contains(&new) {
        return Some(put(rank, old, new));
    }
    Some(copy(meaning(rank, old), real))
}

/// Copies what a descriptor stands for by `real`, and notes the copy.
fn copy(meaning: DescriptorTarget, real: impl FnOnce(i32) -> i32) -> i32 {
    let (made, of) = match meaning {
        DescriptorTarget::Closed => return fail(libc::EBADF),
        DescriptorTarget::Lines(stream) => (real(stream as i32), Some(stream)),
        DescriptorTarget::Real(descriptor) => (real(descriptor), None),
    };
    if made >= 0 {
        let is_any = copies(|copies| {
            match of {
                Some(stream) => copies.insert(made, stream),
                None => copies.remove(&made),
            };
            !copies.is_empty()
        });
        ANY.store(is_any, Relaxed);
    }
    made
}

/// Implements `dup` of a rank. `real` duplicates a descriptor of the process. Returns `None` if the process's
/// own is meant.
pub fn duplicate(old: i32, real: impl FnOnce(i32) -> i32) -> Option<i32> {
    let rank = caller()?;
    // The lowest number that is free, as after `close(1)`.
    let is_closed =
        |&new: &i32| stream(new).is_some_and(|stream| output::target(rank, stream) == StreamTarget::Closed);
    match [1, 2].into_iter().find(is_closed) {
        Some(new) => Some(put(rank, old, new)),
        None if is_known(old) => Some(copy(meaning(rank, old), real)),
        None => None,
    }
}

/// Implements `close` of a rank. Returns `None` if the process's own is meant.
#[inline]
pub fn close(descriptor: i32) -> Option<i32> {
    if is_known(descriptor) { close_known(descriptor) } else { None }
}

fn close_known(descriptor: i32) -> Option<i32> {
    let rank = caller()?;
    if let Some(stream) = stream(descriptor) {
        if output::target(rank, stream) == StreamTarget::Closed {
            return Some(fail(libc::EBADF));
        }
        stdio::drain_descriptor(rank, descriptor);
        output::redirect(rank, stream, StreamTarget::Closed);
        return Some(0);
    }
    if descriptor == 0 {
        stdio::close_input();
        return Some(0);
    }
    copies(|copies| copies.remove(&descriptor));
    None
}

/// Implements `write` of a rank to a copy of one of its standard streams. Returns `true` if it went to its
/// lines.
#[inline]
pub fn write_copy(descriptor: i32, bytes: &[u8]) -> bool {
    if !ANY.load(Relaxed) || descriptor <= 2 {
        return false;
    }
    let Some((rank, stream)) = caller().zip(copies(|copies| copies.get(&descriptor).copied())) else {
        return false;
    };
    stdio::drain_descriptor(rank, stream as i32);
    output::add_line(rank, stream, bytes);
    true
}

/// Returns `true` if the running rank has closed this standard stream.
pub fn is_closed(descriptor: i32) -> bool {
    let Some(stream) = stream(descriptor) else { return false };
    now::current().is_some_and(|rank| output::target(rank, stream) == StreamTarget::Closed)
}

/// Returns `true` for a descriptor that may be an output stream of the running rank, or a copy of one.
#[inline]
pub fn is_output(descriptor: i32) -> bool {
    descriptor == 1 || descriptor == 2 || ANY.load(Relaxed)
}
