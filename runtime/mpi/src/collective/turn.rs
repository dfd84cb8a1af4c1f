//! Which call of a communicator is meant: collectives match in the order in which each member makes them, persistent ones in the order of their
//! initialization (MPI 5.0, section 6.13), so that members may start them in any order.

use crate::error::Result;
use crate::request::Starter;
use crate::world::{Mpi, World};
use rustc_hash::FxHashMap;

/// A call of a communicator, as a member counts them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Turn {
    /// Its number among all calls but those of persistent collectives.
    Call(u32),
    /// Of a persistent collective: its number among their initializations, and how often it was started before.
    Start(u32, u32),
}

/// A communicator's persistent collectives.
#[derive(Default)]
pub(crate) struct Persistent {
    /// How many a member has made.
    made: FxHashMap<u32, u32>,
    /// The instances of those that are started, by turn.
    open: FxHashMap<(u32, u32), u32>,
}

impl World {
    /// The mounted rank's next call on the communicator with this index; of an intercommunicator, its home.
    pub(super) fn turn(&self, comm: u32, member: u32) -> Turn {
        match self.collectives.starting {
            Some((number, times)) => Turn::Start(number, times),
            None => Turn::Call(self.objects.comms.at(comm).call_of(member)),
        }
    }
    /// The instance of a turn, if a member has made it.
    pub(super) fn instance_of(&self, comm: u32, turn: Turn) -> Option<u32> {
        let communicator = self.objects.comms.at(comm);
        match turn {
            Turn::Call(call) => communicator.instances.get((call - communicator.first) as usize).copied().flatten(),
            Turn::Start(number, times) => communicator.persistent.as_ref()?.open.get(&(number, times)).copied(),
        }
    }
    /// The mounted rank has started a persistent collective: its turn belongs to this instance.
    pub(super) fn note_start(&mut self, comm: u32, turn: (u32, u32), index: u32) {
        self.objects.comms.at_mut(comm).persistent.get_or_insert_default().open.insert(turn, index);
    }
    /// All members have left the instance of a turn.
    pub(super) fn forget_start(&mut self, comm: u32, turn: (u32, u32)) {
        if let Some(persistent) = &mut self.objects.comms.at_mut(comm).persistent {
            persistent.open.remove(&turn);
        }
    }
}

impl Mpi {
    /// A persistent collective of the mounted rank on a communicator: the handle of its request.
    pub fn persistent_collective(&self, comm: usize, start: Starter) -> Result<usize> {
        let number = {
            let mut world = self.world();
            let index = world.objects.comms.index(comm)?;
            let (_, member, _) = world.membership(index);
            let home = world.home(index);
            let made = world.objects.comms.at_mut(home).persistent.get_or_insert_default().made.entry(member).or_default();
            *made += 1;
            *made - 1
        };
        Ok(self.persistent(crate::request::Template::Collective { start, number, times: 0 }))
    }
}
