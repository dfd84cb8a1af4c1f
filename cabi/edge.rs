//! The edge that every MPI call passes on its way in and out: computation before it is charged, failures
//! become error codes through the error handler of the object concerned, panics stop here. What passes is the
//! exception of a function of the program (`thrown.rs`), behind all that could hold it up.

use crate::alone;
use crate::call::{Call, Object, Quick, Wait, code_name};
use crate::constants::{MPI_ERR_INTERN, MPI_ERR_UNSUPPORTED_OPERATION, MPI_SUCCESS};
use crate::function::{Function, Property, course};
use crate::state;
use crate::threads;
use crate::thrown;
use engine::{EndOfTime, Time};
use mpi::Mpi;
use mpi::call::failure::Stop;
use mpi::error::{ErrorClass, Failure, Result};
use mpi::world::{Phase, World};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs one call that returns an error code.
#[inline(always)]
pub fn call(function: Function, object: Object, body: impl FnOnce(&Call) -> Result) -> i32 {
    let mut body = Some(body);
    called(function, object, &mut |c| body.take().map_or(Ok(()), |body| body(c)))
}

/// [`call`], compiled once for all functions.
// With a copy in each function the library has a sixth more code, which has to be compiled.
#[inline(never)]
fn called(function: Function, object: Object, body: &mut dyn FnMut(&Call) -> Result) -> i32 {
    let begun = begin_quickly(function, object, |_| Quick::Undone, |c| body(c).map(|()| None));
    begun.code().unwrap_or(MPI_SUCCESS)
}

/// The result of the first half of a call in two halves: the error code if all is done, else what it waits
/// for.
///
/// Two words that travel in registers: between the halves the rank is blocked, and what it has on its stack
/// costs.
#[derive(Clone, Copy)]
pub struct CallStart {
    /// The word of the call's [`Wait`], or the error code if the call is over.
    word: u64,
    /// When it was entered; [`CallStart::OVER`].
    entered: Time,
}

impl CallStart {
    /// Instead of the time of entry: the call is over. No clock gets there.
    const OVER: Time = Time::MAX;

    fn over(code: i32) -> CallStart {
        CallStart { word: u64::from(code as u32), entered: CallStart::OVER }
    }
    /// Returns the error code, if the call is over.
    #[inline(always)]
    pub fn code(self) -> Option<i32> {
        (self.entered == CallStart::OVER).then_some(self.word as i32)
    }
}

/// Begins a call: makes all of it if `body` answers `None`, else returns what its second half, [`end`], is
/// given after [`wait`].
#[inline(always)]
pub fn begin(
    function: Function,
    object: Object,
    body: impl FnOnce(&Call) -> Result<Option<Wait>>,
) -> CallStart {
    let mut body = Some(body);
    begun(function, object, &mut |c| body.take().map_or(Ok(None), |body| body(c)))
}

/// [`begin`], compiled once for all functions.
#[inline(never)]
fn begun(
    function: Function,
    object: Object,
    body: &mut dyn FnMut(&Call) -> Result<Option<Wait>>,
) -> CallStart {
    begin_quickly(function, object, |_| Quick::Undone, |c| body(c))
}

/// [`begin`], compiled for this function: for collectives, which are called most.
#[inline(always)]
pub fn begin_inlined(
    function: Function,
    object: Object,
    body: impl FnOnce(&Call) -> Result<Option<Wait>>,
) -> CallStart {
    begin_quickly(function, object, |_| Quick::Undone, body)
}

/// [`call`], compiled for this function: for those that are called most.
#[inline(always)]
pub fn call_inlined(function: Function, object: Object, body: impl FnOnce(&Call) -> Result) -> i32 {
    call_quickly(function, object, |_| Quick::Undone, body)
}

/// [`call`], as [`begin_quickly`] does it.
#[inline(always)]
pub fn call_quickly(
    function: Function,
    object: Object,
    quick: impl FnOnce(&mut World) -> Quick,
    body: impl FnOnce(&Call) -> Result,
) -> i32 {
    let begun = begin_quickly(function, object, quick, |c| body(c).map(|()| None));
    begun.code().unwrap_or(MPI_SUCCESS)
}

/// [`begin`], but `quick` is tried before `body`.
// Entering the call, a plain message and leaving then look at the world once, and nothing is put together
// that only failures need.
#[inline(always)]
pub fn begin_quickly(
    function: Function,
    object: Object,
    quick: impl FnOnce(&mut World) -> Quick,
    body: impl FnOnce(&Call) -> Result<Option<Wait>>,
) -> CallStart {
    let mpi = alone::mpi();
    let told = || Call { mpi, function, object: Cell::new(object) };
    // No guard with a destructor: a rank's frames are kept small while it is blocked.
    if mpi.is_guarded() {
        // What any thread may call asks nothing of the world.
        if function.is(Property::Threads) && rank::threads::owner().is_some() {
            return CallStart::over(beside(&told(), body));
        }
        threads::pass(mpi, function);
    }
    rank::note_call(function.name_place());
    // A panic is a defect of ours (or the end of virtual time). It ends at this frame, before the program's
    // frames, whose unwinding is not ours to decide; nothing of the call is used after it.
    let begun = catch_unwind(AssertUnwindSafe(|| {
        // Here, where the function is a constant: other calls pay nothing for it.
        if function.is(Property::Polls) {
            mpi.world().messages.ranks_mut().enter_poll();
        }
        let (entered, ordinary, over) = {
            let world = &mut *mpi.world();
            let (entered, ordinary) = world.enter_call(function as u16, course(function));
            let over = match if ordinary { quick(world) } else { Quick::Undone } {
                Quick::Undone => false,
                Quick::Waits(Wait(word)) => return CallStart { word, entered },
                Quick::Over if !world.leave_call(function as u16, entered) => {
                    return CallStart::over(MPI_SUCCESS);
                }
                Quick::Over => true,
            };
            (entered, ordinary, over)
        };
        let c = told();
        if over {
            stop_after(&c);
            return CallStart::over(MPI_SUCCESS);
        }
        if !ordinary && let Err(failure) = outside(&c) {
            return CallStart::over(failed(&c, &failure));
        }
        // A collective call of others than those that have failed never ends: who knows that does not enter
        // it.
        if function.is(Property::Collective)
            && let Object::Comm(comm) = object
            && mpi.world().messages.faults().is_some()
            && let Err(failure) = mpi.may_enter(comm.0)
        {
            return CallStart::over(left(&c, entered, Err(failure)));
        }
        match body(&c) {
            Ok(Some(Wait(word))) => CallStart { word, entered },
            Ok(None) => CallStart::over(left(&c, entered, Ok(()))),
            Err(failure) => CallStart::over(left(&c, entered, Err(failure))),
        }
    }))
    .unwrap_or_else(|panic| CallStart::over(panicked(&told(), panic)));
    if let Some(code) = begun.code() {
        depart(mpi, code);
    }
    begun
}

/// Makes a call that any thread may make, on a thread that a rank started.
#[cold]
fn beside(c: &Call, body: impl FnOnce(&Call) -> Result<Option<Wait>>) -> i32 {
    let result = catch_unwind(AssertUnwindSafe(|| body(c)));
    match result {
        Ok(Ok(_)) => MPI_SUCCESS,
        Ok(Err(failure)) => failure.class.0,
        Err(panic) => panicked(c, panic),
    }
}

/// Makes a call, if it is a quick one that succeeds: its code; else `None`, and nothing is done. `before` is
/// asked whether it may be tried, and what it answers is told to `after`, behind the call, within the same
/// look at the world.
// For who listens to calls that are made often, and is to be no second call for each of them. Not where
// computation is charged: who enters twice would pay twice.
#[inline(always)]
pub fn once<T>(
    function: Function,
    before: impl FnOnce(&mut World) -> Option<T>,
    quick: impl FnOnce(&mut World) -> Quick,
    after: impl FnOnce(&mut World, T),
) -> Option<i32> {
    let mpi = alone::mpi();
    if mpi.is_guarded() {
        return None;
    }
    rank::note_call(function.name_place());
    let told = || Call { mpi, function, object: Cell::new(Object::None) };
    // As in `begin_quickly`.
    let over = catch_unwind(AssertUnwindSafe(|| {
        let world = &mut *mpi.world();
        if !world.is_uncharged() {
            return None;
        }
        let found = before(world)?;
        let last = world.last_call();
        let (entered, ordinary) = world.enter_call(function as u16, course(function));
        if !ordinary || !matches!(quick(world), Quick::Over) {
            world.not_entered(last);
            return None;
        }
        after(world, found);
        Some(world.leave_call(function as u16, entered))
    }));
    match over {
        Ok(None) => None,
        Ok(Some(ends)) => {
            if ends {
                stop_after(&told());
            }
            Some(MPI_SUCCESS)
        }
        Err(panic) => Some(panicked(&told(), panic)),
    }
}

/// Blocks the rank between the halves of a call.
#[inline(always)]
pub fn wait() {
    let mpi = alone::mpi();
    if mpi.is_alone() { wait_alone(mpi) } else { mpi.block() }
}

/// The rank itself does what a scheduler does otherwise, so that virtual time may end in it.
#[cold]
#[inline(never)]
fn wait_alone(mpi: &Mpi) {
    outside_mpi(rank::last_call().unwrap_or("MPI"), || mpi.block());
}

/// Leaves a call that is over: all that is left is to return this code, or to throw what a function of the
/// program has thrown.
#[inline(always)]
fn depart(mpi: &Mpi, code: i32) {
    if mpi.is_guarded() {
        threads::depart(mpi);
        rank::timers::ring();
    }
    if thrown::any() {
        thrown::rethrow(mpi, code);
    }
}

/// The guard that every entry point holds while it runs: a panic of ours that gets here ends the process
/// instead of entering the program's frames. Exceptions of the program pass.
pub struct Boundary(());

impl Boundary {
    /// The program has called.
    #[inline(always)]
    pub fn enter() -> Boundary {
        Boundary(())
    }
    /// The entry point returns.
    #[inline(always)]
    pub fn leave(self) {
        std::mem::forget(self);
    }
}

impl Drop for Boundary {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "xsim: internal error in {}; please report it",
                rank::last_call().unwrap_or("no MPI function yet")
            );
            std::process::abort();
        }
    }
}

/// Ends a call, once what it waited for has happened.
#[inline(always)]
pub fn end(
    function: Function,
    object: Object,
    begun: CallStart,
    body: impl FnOnce(&Call, Wait) -> Result,
) -> i32 {
    let mpi = alone::mpi();
    let c = Call { mpi, function, object: Cell::new(object) };
    let code = catch_unwind(AssertUnwindSafe(|| left(&c, begun.entered, body(&c, Wait(begun.word)))))
        .unwrap_or_else(|panic| panicked(&c, panic));
    depart(mpi, code);
    code
}

/// The call's work is done: its code.
#[inline(always)]
fn left(c: &Call, entered: Time, result: Result) -> i32 {
    let over = c.mpi.world().leave_call(c.function as u16, entered);
    if over {
        stop_after(c);
    }
    match result {
        Ok(()) => MPI_SUCCESS,
        Err(failure) => left_failing(c, &failure),
    }
}

/// The rank leaves a call when somebody has failed or aborted: after a failure it does not go on.
#[cold]
#[inline(never)]
fn stop_after(c: &Call) {
    let ends = c.mpi.world().must_stop_after();
    if let Some(ends) = ends {
        stop_as(c, ends);
    }
}

/// The calling rank stops because somebody has failed or aborted.
fn stop_as(c: &Call, how: Stop) -> ! {
    match how {
        Stop::Ends(status) => stop(status),
        Stop::Rests => c.mpi.rest(),
    }
}

/// A collective call that fails before the rank has entered it counts as called, whatever the error
/// handler does.
#[cold]
#[inline(never)]
fn left_failing(c: &Call, failure: &Failure) -> i32 {
    if let (true, false, Object::Comm(comm)) =
        (c.function.is(Property::Collective), failure.entered, c.object.get())
    {
        c.mpi.refuse_collective(comm.0);
    }
    failed(c, failure)
}

/// A call outside the time between `MPI_Init` and `MPI_Finalize`, when it may be one of a session's, or after
/// somebody aborted.
#[cold]
fn outside(c: &Call) -> Result {
    let (phase, session, ends) = {
        let mut world = c.mpi.world();
        let me = world.messages.me();
        (world.messages.ranks()[me].phase, world.objects.sessions.any(me), world.must_stop())
    };
    if let Some(ends) = ends {
        stop_as(c, ends);
    }
    c.mpi.catch_up();
    if phase == Phase::Active || session || c.function.is(Property::Anytime) {
        return Ok(());
    }
    let when = match phase {
        Phase::Before | Phase::Opened => "before MPI_Init: call MPI_Init or MPI_Session_init first",
        _ => "after MPI_Finalize: only a few functions may be, or any while a session is open",
    };
    Err(Failure::new(ErrorClass::OTHER, format!("it was called {when}")))
}

/// Runs one call that returns a value and cannot fail.
#[inline(always)]
pub fn value<T>(function: Function, body: impl FnOnce(&Call) -> T) -> T {
    let mpi = alone::mpi();
    let c = Call { mpi, function, object: Cell::new(Object::None) };
    // What any thread may call at any time sees to itself.
    let enters = mpi.is_guarded() && !function.is(Property::Threads);
    if enters {
        threads::pass(mpi, function);
    }
    let value = catch_unwind(AssertUnwindSafe(|| body(&c)));
    if enters {
        threads::depart(mpi);
    }
    match value {
        Ok(value) => value,
        Err(panic) => {
            panicked(&c, panic);
            std::process::abort()
        }
    }
}

/// Fails, for a function in the table without an implementation.
#[cold]
pub fn not_built(function: Function, object: Object) -> i32 {
    call(function, object, |_| {
        Err(Failure::new(
            ErrorClass(MPI_ERR_UNSUPPORTED_OPERATION),
            "it is not built into xsim yet; see docs/limitations.md",
        ))
    })
}

/// A function in the table without an implementation, which has no way to return an error.
#[cold]
pub fn no_value(function: Function) -> ! {
    eprintln!("xsim: {} is not built into xsim yet; see docs/limitations.md", function.name());
    std::process::exit(1)
}

/// Hands a failure to the error handler of the call's object and gives the code to return.
#[cold]
fn failed(c: &Call, failure: &Failure) -> i32 {
    // A function that has thrown is why the call failed: what it threw tells the program.
    if c.object.get() == Object::Tool || thrown::any() && thrown::is_held(c.mpi) {
        return failure.class.0;
    }
    crate::failure::raise(c, failure)
}

/// Ends the run because of an error of the calling rank: says what happened, stops all ranks.
#[cold]
pub fn fatal(c: &Call, failure: &Failure) -> ! {
    let site = crate::recording::current_call().map_or_else(String::new, |site| format!(", at {site}"));
    let what =
        format!("{} failed: {} [{}]{site}", c.function.name(), failure.text, class_name(failure.class));
    end_run(c.mpi, &what, failure.class.0.clamp(1, 125))
}

/// Ends the run with an exit status because the calling rank cannot go on: says why, stops all ranks.
#[cold]
pub fn end_run(mpi: &Mpi, why: &str, status: i32) -> ! {
    let (me, at) = {
        let mut world = mpi.world();
        let me = world.messages.me();
        world.set_abort(status);
        (me, world.messages.clock(me))
    };
    rank::output::flush();
    eprintln!("xsim: rank {me} at {at}: {why}");
    stop(status)
}

/// The calling rank starts a thread, whose work takes no virtual time. The first time in a process whose
/// computation is measured this is reported, at the end if there are several processes.
#[cold]
pub fn helped(mpi: &Mpi) {
    if mpi.guard() {
        let processes = mpi.processes().0;
        let mut world = mpi.world();
        if world.note_helper() && processes == 1 {
            drop(world);
            let me = mpi.world().messages.me();
            rank::output::flush();
            eprintln!("xsim: {}", mpi::run::uncharged(me));
        }
    }
}

/// Lets other ranks run before the mounted one, which has computed for long, goes on.
pub fn held(mpi: &Mpi) {
    // In a function of the program that MPI has called, what called it may be in the middle of something.
    if mpi.try_world().is_some() && !mpi.is_alone() {
        outside_mpi("computing", || mpi.let_others_run());
    }
}

/// Ends the calling rank; the run goes on to its end.
pub fn stop(status: i32) -> ! {
    if rank::current().is_none() {
        alone::stop(status);
    }
    rank::exit_current(status)
}

fn class_name(class: ErrorClass) -> String {
    code_name(class.0).map_or_else(|| format!("error code {}", class.0), str::to_owned)
}

/// Waits until no other thread is in MPI, for a thread that asks something of the simulator outside MPI,
/// where a process is one rank.
pub fn turn() -> Option<threads::Turn> {
    state::installed().filter(|mpi| mpi.is_alone()).map(|_| threads::Turn::take())
}

/// Runs what the program asks of the simulator outside MPI: `name` says what, should virtual time end in it.
pub fn outside_mpi<R>(name: &str, body: impl FnOnce() -> R) -> R {
    if rank::threads::owner().is_some() {
        threads::refuse(name);
    }
    let _turn = turn();
    match EndOfTime::catch(body) {
        Ok(result) => result,
        Err(EndOfTime(why)) => end_run(alone::mpi(), &format!("{name}: {why}"), 1),
    }
}

#[cold]
fn panicked(c: &Call, panic: Box<dyn std::any::Any + Send>) -> i32 {
    if let Some(EndOfTime(why)) = panic.downcast_ref() {
        let why = format!("{}: {why}", c.function.name());
        if rank::current().is_some() && c.mpi.try_world().is_some() {
            end_run(c.mpi, &why, 1);
        }
        eprintln!("xsim: {why}");
        std::process::exit(1);
    }
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no reason given");
    eprintln!("xsim: internal error in {}: {text}; please report it", c.function.name());
    if rank::current().is_some() && c.mpi.try_world().is_some() {
        c.mpi.world().set_abort(MPI_ERR_INTERN);
        rank::exit_current(MPI_ERR_INTERN);
    }
    std::process::exit(MPI_ERR_INTERN)
}
