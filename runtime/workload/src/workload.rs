//! What ranks without a program do, and what they know when they are asked for their next call.

use crate::call::{Answer, Call};
use crate::function::Function;
use engine::Time;
use mpi::Mpi;
use mpi::handle::{COMM_NULL, COMM_SELF, COMM_WORLD};

/// A rank that is asked for its next call.
pub struct Caller<'a> {
    /// The rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Its clock.
    pub clock: Time,
    pub(crate) mpi: &'a Mpi,
    /// The communicators that it has made.
    pub(crate) made: &'a [usize],
}

impl Caller<'_> {
    /// The rank in a communicator, and how many its messages can go to there; `None` where the rank has no such communicator.
    pub fn position(&self, comm: u32) -> Option<(u32, u32)> {
        let world = self.mpi.world();
        let comm = world.objects.comms.get(handle_of(self.made, comm)).ok()?;
        Some((comm.rank(self.rank), comm.peers()))
    }

    /// How many communicators it has made.
    pub fn made(&self) -> u32 {
        self.made.len() as u32
    }
}

/// The handle of a communicator; `MPI_COMM_NULL`, with which calls fail, where the rank has made none of that number.
pub(crate) fn handle_of(made: &[usize], comm: u32) -> usize {
    match comm {
        Call::WORLD => COMM_WORLD,
        Call::SELF => COMM_SELF,
        number => made.get(number as usize - 2).copied().unwrap_or(COMM_NULL),
    }
}

/// What ranks without a program do.
pub trait Workload {
    /// Where a rank is. There is one for each rank.
    type Cursor: Clone + Default;

    /// What a rank calls next, after its last call was answered so; a rank that begins is told [`Answer::Done`].
    fn next(&mut self, caller: &Caller, cursor: &mut Self::Cursor, answer: &Answer) -> Call;

    /// The number of the call's MPI function among the names of the run ([`mpi::Setup`]); `None` of what is no call. Those of [`Function`]
    /// unless the workload has others.
    fn function(&self, _: &Self::Cursor, call: &Call) -> Option<u16> {
        Function::of(call).map(|function| function as u16)
    }

    /// The function with which a rank begins, if it is not one of its calls.
    fn begins_with(&self) -> Option<u16> {
        Some(Function::Init as u16)
    }

    /// Where a rank is, for messages: a part of a sentence, or nothing.
    fn place(&self, _: &Self::Cursor) -> String {
        String::new()
    }
}

impl<W: Workload> Workload for &mut W {
    type Cursor = W::Cursor;
    fn next(&mut self, caller: &Caller, cursor: &mut Self::Cursor, answer: &Answer) -> Call {
        (**self).next(caller, cursor, answer)
    }
    fn function(&self, cursor: &Self::Cursor, call: &Call) -> Option<u16> {
        (**self).function(cursor, call)
    }
    fn begins_with(&self) -> Option<u16> {
        (**self).begins_with()
    }
    fn place(&self, cursor: &Self::Cursor) -> String {
        (**self).place(cursor)
    }
}
