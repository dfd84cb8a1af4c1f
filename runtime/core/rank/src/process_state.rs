//! State that the kernel or the C library keeps for the process, private to each rank that changes it.
//!
//! The state of a rank that changed some of it is read when the rank suspends, and the process's own put
//! back; when the rank goes on, its state is restored. So the simulator and all other ranks run with the
//! process's own state. A program that changes nothing pays nothing: a switch comes here only behind one flag
//! for all extras and a look at the floating-point register.
//!
//! State that needs no switch is looked up on request: processors here, signal handlers in
//! [`crate::signals`].

mod affinity;
mod blocked;
mod directory;
mod environment;
mod floats;
mod locale;
mod umask;

use crate::{now, own_streams, signals, timers};

pub use affinity::{get_affinity, set_affinity};
pub use blocked::{after_mask, before_mask};
pub use directory::{change_directory, resolve};
pub use environment::{clear_environment, put_variable, set_variable, unset_variable};
pub(crate) use floats::{begin, differ as floats_differ};
pub use locale::set_locale;
pub use umask::set_umask;

/// Keeps the running rank's state and puts the process's own in place.
pub(crate) fn leave() {
    let Some(rank) = now::current() else { return };
    environment::leave(rank);
    directory::leave(rank);
    umask::leave(rank);
    floats::leave(rank);
    own_streams::leave(rank);
    blocked::leave(rank);
}

/// Puts the running rank's state in place.
pub(crate) fn enter() {
    let Some(rank) = now::current() else { return };
    locale::enter(rank);
    environment::enter(rank);
    directory::enter(rank);
    umask::enter(rank);
    floats::enter(rank);
    own_streams::enter(rank);
    // Last: handlers of signals that waited run now.
    blocked::enter(rank);
    signals::deliver(rank);
}

/// Forgets a rank that has ended, with the process's own state in place.
pub(crate) fn end(rank: u32) {
    affinity::end(rank);
    blocked::end(rank);
    directory::end(rank);
    environment::end(rank);
    floats::end(rank);
    locale::end(rank);
    umask::end(rank);
    own_streams::end(rank);
    signals::end(rank);
    timers::end(rank);
}
