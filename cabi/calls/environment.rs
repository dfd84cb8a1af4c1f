//! Versions and clocks (MPI 5.0 chapters 9 and 20).

use crate::args::{Handle, Out, OutText};
use crate::call::Call;
use crate::constants::{
    MPI_MAX_LIBRARY_VERSION_STRING, MPI_MAX_PROCESSOR_NAME, MPI_SUBVERSION, MPI_THREAD_FUNNELED,
    MPI_THREAD_SINGLE, MPI_VERSION,
};
use crate::recording;
use crate::threads;
use mpi::error::{ErrorClass, Failure, Result};
use mpi::world::Phase;
use rank::Addr;
use recorder::RegionEvent;

/// `MPI_Get_version`.
pub fn get_version(_: &Call, version: Out<i32>, subversion: Out<i32>) -> Result {
    version.set(MPI_VERSION);
    subversion.set(MPI_SUBVERSION);
    Ok(())
}

/// `MPI_Get_library_version`.
pub fn get_library_version(_: &Call, version: OutText, resultlen: Out<i32>) -> Result {
    let text = concat!("xsim ", env!("CARGO_PKG_VERSION"), ", MPI on virtual ranks");
    resultlen.set(version.set(text.as_bytes(), MPI_MAX_LIBRARY_VERSION_STRING as usize) as i32);
    Ok(())
}

/// `MPI_Wtick`: virtual time counts picoseconds.
pub fn wtick(_: &Call) -> f64 {
    1e-12
}

/// `MPI_Init`.
pub fn init(c: &Call, _argc: Addr, _argv: Addr) -> Result {
    begin(c)
}

/// `MPI_Init_thread`: one thread of a rank may call MPI; where the process is one rank, all may.
pub fn init_thread(c: &Call, _argc: Addr, _argv: Addr, required: i32, provided: Out<i32>) -> Result {
    begin(c)?;
    let level = required.clamp(MPI_THREAD_SINGLE, most_threads(c));
    threads::granted(level);
    if level < required && !c.mpi.is_alone() && c.me() == 0 {
        eprintln!(
            "xsim: the program asked for threads that call MPI and has MPI_THREAD_FUNNELED, because ranks \
             share a process; for more, start it with 'mpirun -np N PROGRAM -xsim-one-rank' \
             (docs/how-to/python.md)"
        );
    }
    provided.set(level);
    Ok(())
}

/// The highest level of threads that there is.
// Ranks of one process run on its one thread: a second one would be of no rank.
pub fn most_threads(c: &Call) -> i32 {
    if c.mpi.is_alone() { threads::most() } else { MPI_THREAD_FUNNELED }
}

fn begin(c: &Call) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    match world.messages.ranks()[me].phase {
        Phase::Before | Phase::Opened => {
            world.messages.ranks_mut()[me].phase = Phase::Active;
            Ok(())
        }
        Phase::Active => Err(Failure::new(
            ErrorClass::OTHER,
            "it was called a second time: call it once, and ask MPI_Initialized where that is not known",
        )),
        Phase::Finalized | Phase::Ended => Err(Failure::new(
            ErrorClass::OTHER,
            "it was called after MPI_Finalize: MPI cannot be initialized again",
        )),
    }
}

/// `MPI_Finalize`.
pub fn finalize(c: &Call) -> Result {
    super::attribute::delete_self(c)?;
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.messages.ranks_mut()[me].phase = Phase::Finalized;
    // With a session open the run goes on, up to the process's exit.
    if c.mpi.is_alone() && !world.objects.sessions.any(me) {
        // The report is written before this call ends.
        let clock = world.messages.clock(me);
        world.messages.ranks_mut().leave_call(c.function as u16, clock);
        drop(world);
        let failed = crate::alone::end(0);
        if failed != 0 {
            std::process::exit(failed);
        }
    }
    Ok(())
}

/// Ends the process if a thread that a rank started calls: how far the rank is may change meanwhile.
fn refuse_helper(c: &Call) {
    if rank::threads::owner().is_some() {
        threads::refuse(c.function.name());
    }
}

/// `MPI_Initialized`.
pub fn initialized(c: &Call, flag: Out<bool>) -> Result {
    refuse_helper(c);
    let world = c.mpi.world();
    flag.set(!matches!(world.messages.ranks()[world.messages.me()].phase, Phase::Before | Phase::Opened));
    Ok(())
}

/// `MPI_Finalized`.
pub fn finalized(c: &Call, flag: Out<bool>) -> Result {
    refuse_helper(c);
    let world = c.mpi.world();
    flag.set(matches!(world.messages.ranks()[world.messages.me()].phase, Phase::Finalized | Phase::Ended));
    Ok(())
}

/// `MPI_Abort`: all ranks stop, whatever the communicator.
pub fn abort(c: &Call, _comm: Handle, errorcode: i32) -> Result {
    let (me, at) = {
        let mut world = c.mpi.world();
        let me = world.messages.me();
        world.set_abort(errorcode & 0xff);
        (me, world.messages.clock(me))
    };
    rank::output::flush();
    eprintln!("xsim: rank {me} called MPI_Abort({errorcode}) at {at}: the run ends");
    crate::edge::stop(errorcode & 0xff)
}

/// `MPI_Query_thread`.
pub fn query_thread(c: &Call, provided: Out<i32>) -> Result {
    let level = if c.mpi.is_alone() { threads::level() } else { most_threads(c) };
    provided.set(level);
    Ok(())
}

/// `MPI_Is_thread_main`.
pub fn is_thread_main(c: &Call, flag: Out<bool>) -> Result {
    flag.set(if c.mpi.is_alone() { threads::is_first() } else { rank::threads::owner().is_none() });
    Ok(())
}

/// `MPI_Get_processor_name`: the endpoint of the simulated machine.
pub fn get_processor_name(c: &Call, name: OutText, resultlen: Out<i32>) -> Result {
    let world = c.mpi.world();
    let text = format!("node{}", world.messages.fabric().wire().node_of(world.messages.me()));
    resultlen.set(name.set(text.as_bytes(), MPI_MAX_PROCESSOR_NAME as usize) as i32);
    Ok(())
}

/// `MPI_Wtime`: virtual seconds since the program's start.
pub fn wtime(c: &Call) -> f64 {
    if c.mpi.is_guarded() {
        rank::timers::ring();
        return threads::read_any_clock(c.mpi).as_seconds();
    }
    let now = c.mpi.world().messages.ranks_mut().read_clock();
    now.as_seconds()
}

/// `MPI_Pcontrol`: profiles tell the levels apart.
pub fn pcontrol(c: &Call, level: i32) -> Result {
    let (me, now) = {
        let world = c.mpi.world();
        let me = world.messages.me();
        (me, world.messages.clock(me))
    };
    recording::region(me, now, RegionEvent::Level(level));
    Ok(())
}

/// `MPI_Alloc_mem`.
pub fn alloc_mem(_: &Call, size: i64, _info: Handle, baseptr: Addr) -> Result {
    let Some(at) = rank::heap::allocate(size as usize) else {
        return Err(Failure::new(ErrorClass::NO_MEM, format!("there is no memory for {size} bytes")));
    };
    rank::memory::store(baseptr, at.0);
    Ok(())
}

/// `MPI_Free_mem`.
pub fn free_mem(_: &Call, base: Addr) -> Result {
    // SAFETY: the program gives back what MPI_Alloc_mem gave it.
    unsafe { rank::heap::release(base) };
    Ok(())
}

/// `MPI_Get_hw_resource_info`: a simulated machine names no resource of the host.
pub fn get_hw_resource_info(c: &Call, hw_info: Out<Handle>) -> Result {
    super::info::create(c, hw_info)
}
