//! Position of a rank in a communicator of a file that is read.

use crate::writer::given;
use recorder::{ArgumentValue, CommMembership, ObjectArgument, Value};

/// The contexts of `MPI_COMM_WORLD` and of `MPI_COMM_SELF`; those that ranks make come behind.
const WORLD: u32 = 0;
const OWN: u32 = 1;

/// A communicator as one rank has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    object: ObjectArgument,
    context: u32,
    /// Members.
    pub size: u32,
    /// The rank in it.
    pub rank: u32,
    leader: u32,
}

impl Place {
    /// Returns `MPI_COMM_WORLD`.
    pub fn world(ranks: u32, rank: u32) -> Place {
        Place {
            object: ObjectArgument::Named("MPI_COMM_WORLD"),
            context: WORLD,
            size: ranks,
            rank,
            leader: 0,
        }
    }

    /// Returns `MPI_COMM_SELF`.
    pub fn own(rank: u32) -> Place {
        Place { object: ObjectArgument::Named("MPI_COMM_SELF"), context: OWN, size: 1, rank: 0, leader: rank }
    }

    /// Returns a communicator that ranks have made: `number` counts those of the rank from 1, `comm` those of
    /// all. `None` if the rank is no member. O(members).
    pub fn made(number: u32, comm: u32, members: &[u32], rank: u32) -> Option<Place> {
        let place = members.iter().position(|&member| member == rank)?;
        let object = ObjectArgument::Made { number, slot: number };
        Some(Place {
            object,
            context: comm.saturating_add(OWN + 1),
            size: members.len() as u32,
            rank: place as u32,
            leader: members[0],
        })
    }

    /// Returns the communicator as an argument.
    pub fn of(&self, name: &'static str) -> ArgumentValue {
        let member =
            Some(CommMembership { rank: self.rank, peers: self.size, leaders: (self.leader, self.leader) });
        given(name, Value::Comm { object: self.object, context: Some(self.context), size: self.size, member })
    }
}

/// Returns the argument for no communicator, as the one that a call makes for those who are not in it.
pub fn nowhere(name: &'static str) -> ArgumentValue {
    given(
        name,
        Value::Comm { object: ObjectArgument::Named("MPI_COMM_NULL"), context: None, size: 0, member: None },
    )
}
