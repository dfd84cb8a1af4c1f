//! One rank a process: the rank is the process itself, on its own stack, and everything else is done inside
//! its blocking calls.

pub use crate::order::threads::Door;
use crate::progress::{Ending, Left, drive};
pub use crate::run::Over;
use crate::runner::{Outcome, Runner};
use crate::world::{Mpi, Phase, Setup, World};

/// The process as its one rank, which has called the main loop from its own stack.
// There is no stack to switch to: running the rank means to return from the loop, which it has called.
struct Process {
    /// The door that knows where its only thread has called.
    door: Option<&'static dyn Door>,
}

impl Runner for Process {
    fn resume(&mut self, _: u32) -> Outcome {
        Outcome::GoesOnOutside
    }
    // Its memory is always in place.
    fn mounted(&mut self, _: u32, call: impl FnOnce()) {
        call();
    }
    fn call_site(&mut self, _: u32) -> Option<String> {
        self.door?.call_site()
    }
}

impl Mpi {
    /// Makes the state of a process that is one rank. `setup` has as many ranks as processes, of which some
    /// may be started while the run goes on: such a process waits here until its rank begins. Its threads
    /// come in through `door`; without one it has one thread.
    pub fn alone(setup: Setup, over: Over, door: Option<&'static dyn Door>) -> Mpi {
        let mpi = Mpi::new(setup);
        mpi.alone.set(Some(over));
        mpi.guard();
        {
            let mut world = mpi.world();
            world.order.threads.door = door;
            // A handle of what is gone could come to name what another thread receives.
            world.messages.requests_mut().complete_in_sight();
            if let Some(remote) = world.messages.peers_mut().remote_mut() {
                // The rank may compute for long after a send: what it sent must not wait for its next call.
                remote.streams.send_at_once();
            }
            if world.messages.ranks().local_started() == 0 {
                world.join();
            }
            world.messages.ranks_mut().measure_process();
            let me =
                world.messages.ready_mut().next_strand().expect("one rank a process, and it has not begun");
            world.mount(me.rank());
        }
        mpi
    }

    /// Returns `true` if this process is one rank.
    #[inline]
    pub fn is_alone(&self) -> bool {
        self.alone.get().is_some()
    }

    /// Blocks the rank until it is woken.
    #[cold]
    pub(crate) fn wait_alone(&self, over: Over) {
        let (door, several) = {
            let threads = &self.world().order.threads;
            (threads.door, threads.several())
        };
        let Some(door) = door.filter(|_| several) else { return self.wait_first(over) };
        self.wait_beside(over, door);
    }

    /// Blocks the rank, of which no thread but this one has called: as far as what it waits for has not
    /// happened when another calls, [`Mpi::wait_beside`] that one.
    fn wait_first(&self, over: Over) {
        let mut ending = Ending::default();
        match self.serve(&mut ending) {
            Left::Outside => self.world().messages.ranks_mut().mark_varying(),
            Left::Over => self.run_is_over(over, ending),
            Left::Aside(_) => {
                let door = self.world().order.threads.door;
                self.wait_beside(over, door.expect("nobody is let in without a door"));
            }
        }
    }

    /// Ends the run while the rank waits.
    pub(crate) fn run_is_over(&self, over: Over, ending: Ending) -> ! {
        let status = self.world().aborted().unwrap_or(1);
        let ending = self.world().end(ending);
        over(Ending { status, ..ending })
    }

    /// Does what there is to do, until the rank can go on or the run is over.
    // No progress line: the terminal is the program's own.
    pub(crate) fn serve(&self, ending: &mut Ending) -> Left {
        let door = {
            let threads = &self.world().order.threads;
            // Of several threads the one that drives is not the one that the report is about.
            threads.door.filter(|_| !threads.several())
        };
        let mut process = Process { door };
        drive(self, &mut process, ending, &mut |_| {})
    }

    /// Serves the run after the rank has ended, with this exit status, until all ranks of the run have.
    pub fn end_alone(&self, status: i32) -> Ending {
        let mut ending = Ending::default();
        {
            let mut world = self.world();
            let me = world.messages.me();
            let began = world.messages.ranks()[me].phase != Phase::Before;
            // Threads that are left are the process's own affair.
            world.order.threads.door = None;
            world.rank_ended(me, status, &mut ending);
            // A process that only asked for a version is no mistake.
            ending.strangers *= u32::from(began);
        }
        // Woken for messages that nobody will receive: it has ended, and only its process goes on.
        while self.serve(&mut ending) == Left::Outside {}
        self.world().end(ending)
    }
}

impl World {
    /// Returns the exit status of a run that a rank aborted.
    fn aborted(&self) -> Option<i32> {
        self.run.abort.as_ref().map(|abort| abort.status)
    }
}
