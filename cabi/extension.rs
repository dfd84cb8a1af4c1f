//! What a program may ask of the simulator itself. `include/xsim.h` is made from this file.

use crate::alone;
use crate::folding::text;
use crate::{edge, recording};
use engine::Span;
use rank::Addr;
use rank::memory::load;
use recorder::RegionEvent;
use std::ffi::{c_char, c_double, c_int};

/// Always 1. Declared weak by a program that also runs elsewhere, it tells whether xsim is there.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_running() -> c_int {
    1
}

/// Virtual seconds since the calling rank's start: MPI_Wtime, without need of MPI_Init.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_time() -> c_double {
    edge::outside_mpi("xsim_time", || alone::mpi().world().messages.ranks_mut().read_clock().as_seconds())
}

/// Lets the calling rank compute for this many seconds of virtual time, as if its processor had
/// been busy. Answers 0, or -1 if `seconds` is negative, no number, or beyond 213 days.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_compute(seconds: c_double) -> c_int {
    let Some(span) = Span::from_seconds(seconds) else { return -1 };
    edge::outside_mpi("xsim_compute", || {
        let mut world = alone::mpi().world();
        let me = world.messages.me();
        if world.messages.clock(me).as_ps().checked_add(span.as_ps()).is_none() {
            return -1;
        }
        world.messages.ranks_mut().charge(me, span);
        0
    })
}

/// The calling rank fails: it stops here, at its virtual time, and does not return. What it has sent before
/// is delivered. The run ends at that time, unless it is tolerant of failures (-xsim-ft,
/// docs/reference/failures.md).
#[unsafe(no_mangle)]
pub extern "C" fn xsim_fail() {
    let mut world = alone::mpi().world();
    world.messages.ranks_mut().read_clock();
    world.fail_here();
    let tolerant = world.is_tolerant();
    drop(world);
    if tolerant { alone::mpi().rest() } else { edge::stop(mpi::failure::STATUS) }
}

/// Fails the calling rank as [`xsim_fail`] does: it has sent itself a signal that kills it. Without -xsim-ft
/// the run ends with the status of a process that was killed.
pub fn rank_killed(signal: c_int) {
    let tolerant = alone::mpi().world().is_tolerant();
    if tolerant {
        xsim_fail();
    }
    let how = match signal {
        libc::SIGKILL => "it killed itself with SIGKILL".to_owned(),
        libc::SIGALRM => "its alarm sent SIGALRM, for which it has no handler".to_owned(),
        other => format!("its timer sent signal {other}, for which it has no handler"),
    };
    let why =
        format!("{how}: the run ends, as a job does that loses a process; with -xsim-ft it fails alone");
    edge::end_run(alone::mpi(), &why, 128 + signal)
}

/// Lets the calling rank compute so many floating-point operations, as many a second as its processor does:
/// `-xsim-flops`, or `flops` of the simulated machine. A run of which that is not known ends with a sentence.
/// Answers 0, or -1 if `flops` is negative, no number, or would take beyond 213 days.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_compute_flops(flops: c_double) -> c_int {
    let rate = edge::outside_mpi("xsim_compute_flops", || alone::mpi().world().messages.ranks().flop_rate());
    let Some(rate) = rate else {
        let why = format!(
            "the program computes {flops} floating-point operations, but nothing says how many a processor \
             does in a second: start it with -xsim-flops, such as -xsim-flops 5Gflops"
        );
        edge::end_run(alone::mpi(), &why, 1);
    };
    xsim_compute(flops / rate)
}

/// With `on` 0, charges what the calling rank has computed so far; with 1, forgets what it has computed since
/// it was last charged. So the program's own bookkeeping between the two costs no virtual time where
/// computation is measured (`-xsim-compute measured`), if it makes no MPI call. Answers 0.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_measure(on: c_int) -> c_int {
    edge::outside_mpi("xsim_measure", || {
        let mut world = alone::mpi().world();
        if on == 0 {
            world.messages.ranks_mut().computed();
        } else {
            world.messages.ranks_mut().begin();
        }
    });
    0
}

/// Has the calling rank's calls recorded from now on, if the run records a trace (`-xsim-trace`,
/// docs/reference/traces.md). They are from the beginning, until `xsim_trace_off`. Answers 0.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_trace_on() -> c_int {
    trace(true)
}

/// Leaves the calling rank's calls out of the trace from now on. Answers 0.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_trace_off() -> c_int {
    trace(false)
}

fn trace(on: bool) -> c_int {
    let me = alone::mpi().world().messages.me();
    recording::listen(me, on);
    0
}

/// The calling rank goes into a region of the program, which profiles tell apart by its name
/// (`-xsim-profile`, docs/reference/report.md), within those that it is in. Answers 0.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_region_begin(name: *const c_char) -> c_int {
    region("xsim_region_begin", RegionEvent::Begin(&text(name)))
}

/// The calling rank leaves the region that it went into last. Answers 0, or -1, with nothing done, if that is
/// one of another name.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_region_end(name: *const c_char) -> c_int {
    region("xsim_region_end", RegionEvent::End(&text(name)))
}

fn region(function: &str, region: RegionEvent) -> c_int {
    let fits = edge::outside_mpi(function, || {
        let (me, now) = {
            let mut world = alone::mpi().world();
            (world.messages.me(), world.messages.ranks_mut().read_clock())
        };
        recording::region(me, now, region)
    });
    if fits { 0 } else { -1 }
}

/// Returns the calling virtual rank: its rank in MPI_COMM_WORLD, without need of MPI_Init.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_rank() -> c_int {
    edge::outside_mpi("xsim_rank", || alone::mpi().world().messages.me()) as c_int
}

/// Returns how many virtual ranks the run has.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_size() -> c_int {
    edge::outside_mpi("xsim_size", || alone::mpi().world().messages.ranks().size()) as c_int
}

/// Returns the native process that the calling virtual rank runs in, from 0.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_real_rank() -> c_int {
    alone::mpi().processes().1 as c_int
}

/// Returns how many native processes the run has.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_real_size() -> c_int {
    alone::mpi().processes().0 as c_int
}

/// The names that Fortran's compilers make of the functions, which take arguments by reference.
mod fortran {
    use super::*;

    macro_rules! functions {
        ($($name:ident $function:ident $returns:ty;)*) => { $(
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> $returns {
                $function()
            }
        )* };
    }
    functions! {
        xsim_running_ xsim_running c_int;
        xsim_time_ xsim_time c_double;
        xsim_rank_ xsim_rank c_int;
        xsim_trace_on_ xsim_trace_on c_int;
        xsim_trace_off_ xsim_trace_off c_int;
        xsim_size_ xsim_size c_int;
        xsim_real_rank_ xsim_real_rank c_int;
        xsim_real_size_ xsim_real_size c_int;
    }

    /// A subroutine.
    #[unsafe(no_mangle)]
    pub extern "C" fn xsim_fail_() {
        xsim_fail();
    }
    /// Behaves as [`xsim_compute`]: an `integer function` of a `double precision`, as the next one.
    #[unsafe(no_mangle)]
    pub extern "C" fn xsim_compute_(seconds: Addr) -> c_int {
        xsim_compute(load(seconds))
    }
    #[unsafe(no_mangle)]
    pub extern "C" fn xsim_compute_flops_(flops: Addr) -> c_int {
        xsim_compute_flops(load(flops))
    }
    /// A name has its length behind the arguments, and blanks at its end.
    fn name(at: Addr, length: usize) -> String {
        let bytes: Vec<u8> = (0..length as i64).map(|i| load(at.offset(i))).collect();
        String::from_utf8_lossy(&bytes).trim_end().to_owned()
    }
    #[unsafe(no_mangle)]
    pub extern "C" fn xsim_region_begin_(at: Addr, length: usize) -> c_int {
        region("xsim_region_begin", RegionEvent::Begin(&name(at, length)))
    }
    #[unsafe(no_mangle)]
    pub extern "C" fn xsim_region_end_(at: Addr, length: usize) -> c_int {
        region("xsim_region_end", RegionEvent::End(&name(at, length)))
    }
    #[unsafe(no_mangle)]
    pub extern "C" fn xsim_measure_(on: Addr) -> c_int {
        xsim_measure(load(on))
    }
}
