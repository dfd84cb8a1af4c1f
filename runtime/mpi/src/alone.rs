//! One rank a process: the rank is the process itself, on its own stack, and everything else is done inside its blocking calls.

use crate::progress::{Ending, Next};
use crate::world::{Mpi, Phase, Setup, World};

/// What is done when the run is over while the process's rank waits in a call: it cannot return.
pub type Over = fn(Ending) -> !;

/// Why nothing is left to do.
enum Served {
    /// The rank can go on.
    Runs,
    Done,
    Deadlock,
}

impl Mpi {
    /// The state of a process that is one rank; `setup` has as many ranks as processes.
    pub fn alone(setup: Setup, over: Over) -> Mpi {
        let mpi = Mpi::new(setup);
        mpi.alone.set(Some(over));
        {
            let mut world = mpi.world();
            if let Some(remote) = &mut world.remote {
                // The rank may compute for long after a send: what it sent must not wait for its next call.
                remote.streams.send_at_once();
            }
            world.clock_host = rank::host::HostClock::of_process();
            let me = world.ready.next().expect("one rank a process, and it has not begun");
            world.mount(me);
        }
        mpi
    }

    /// Whether this process is one rank.
    #[inline]
    pub fn is_alone(&self) -> bool {
        self.alone.get().is_some()
    }

    /// Does what there is to do, until the rank can go on or nothing is left.
    fn serve(&self) -> Served {
        loop {
            let next = self.world().next();
            match next {
                Next::Run(_) => return Served::Runs,
                Next::Reduce(mut work) => {
                    let mut right = std::mem::take(&mut work.right);
                    work.reduction.call(&work.left, &mut right);
                    work.right = right;
                    self.world().user_reduced(*work);
                }
                Next::Unload(_, index) => {
                    let mut world = self.world();
                    let me = world.me();
                    let clock = world.clock(me);
                    let _ = world.finish_receive(index);
                    world.ranks[me as usize].clock = clock;
                }
                Next::Done => return Served::Done,
                Next::Deadlock => return Served::Deadlock,
            }
        }
    }

    /// Blocks the rank until it is woken.
    #[cold]
    pub(crate) fn wait_alone(&self, over: Over) {
        let mut ending = Ending::default();
        match self.serve() {
            Served::Runs => return,
            Served::Done => {}
            Served::Deadlock => ending.deadlocked(&mut self.world()),
        }
        let status = self.world().aborted().unwrap_or(1);
        let ending = self.world().end(ending);
        over(Ending { status, ..ending })
    }

    /// The rank has ended, with this exit status: does its part until all ranks of the run have.
    pub fn end_alone(&self, status: i32) -> Ending {
        let mut ending = Ending::default();
        {
            let mut world = self.world();
            let me = world.me();
            let began = world.phase(me) != Phase::Before;
            world.rank_ended(me, status, &mut ending);
            // A process that only asked for a version is no mistake.
            ending.strangers *= u32::from(began);
        }
        loop {
            match self.serve() {
                Served::Runs => {}
                Served::Done => break,
                Served::Deadlock => {
                    ending.deadlocked(&mut self.world());
                    break;
                }
            }
        }
        self.world().end(ending)
    }
}

impl World {
    /// The exit status of a run that a rank aborted.
    fn aborted(&self) -> Option<i32> {
        self.abort.as_ref().map(|abort| abort.status)
    }
}
