//! Windows (MPI 5.0 chapter 12): one shared object a process, whatever the number of its members. What is
//! done with them is another crate's.

use crate::abi;
use crate::error::ErrorClass;
use crate::handles::{Grouped, Names, OfGroup};
use std::ops::{Deref, DerefMut};

/// `MPI_WIN_NULL`.
pub const WIN_NULL: usize = abi::MPI_WIN_NULL;

/// The call that made a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Flavor {
    /// `MPI_Win_create`.
    Create = abi::MPI_WIN_FLAVOR_CREATE,
    /// `MPI_Win_allocate`.
    Allocate = abi::MPI_WIN_FLAVOR_ALLOCATE,
    /// `MPI_Win_create_dynamic`.
    Dynamic = abi::MPI_WIN_FLAVOR_DYNAMIC,
    /// `MPI_Win_allocate_shared`.
    Shared = abi::MPI_WIN_FLAVOR_SHARED,
}

/// The memory that a member gives: its address in its own process, and how many bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exposed {
    /// The first byte.
    pub base: usize,
    /// Bytes.
    pub size: u64,
}

/// The members' displacement units, in bytes.
// Nearly always one number for all: an array would add half to what a window costs a member.
#[derive(Clone, Debug)]
pub enum Units {
    /// All gave the same.
    Same(i64),
    /// By member.
    Each(Box<[i64]>),
}

impl Units {
    /// Returns the displacement units of these members.
    pub fn of(units: impl Iterator<Item = i64> + Clone) -> Units {
        let first = units.clone().next().unwrap_or(1);
        if units.clone().all(|unit| unit == first) {
            Units::Same(first)
        } else {
            Units::Each(units.collect())
        }
    }
    /// Returns a member's.
    #[inline]
    pub fn get(&self, member: u32) -> i64 {
        match self {
            Units::Same(unit) => *unit,
            Units::Each(units) => units[member as usize],
        }
    }
}

/// A window: 16 bytes a member beyond the memory that the members give, and no more as long as nobody says
/// anything of its own about it.
// Bases and sizes of all members are on every process: an origin finds out whether an access is in bounds
// without asking the target.
#[derive(Debug)]
pub struct Win {
    /// The communicator of its members, which is its own; who has given the window back has given that back.
    pub comm: usize,
    /// The call that made it.
    pub flavor: Flavor,
    /// By member.
    pub exposed: Box<[Exposed]>,
    /// By member.
    pub units: Units,
    /// The one rank (world number) whose it is, if it was made on a communicator that every rank has for
    /// itself.
    pub owner: Option<u32>,
}

impl OfGroup for Win {
    fn comm(&self) -> usize {
        self.comm
    }
    fn owner(&self) -> Option<u32> {
        self.owner
    }
    const NAMING: (ErrorClass, usize, &'static str, &'static str) =
        (ErrorClass::WIN, WIN_NULL, "MPI_WIN_NULL", "window");
}

/// All windows of a process, and their names.
#[derive(Default)]
pub struct Wins {
    all: Grouped<Win>,
    names: Names,
}

impl Deref for Wins {
    type Target = Grouped<Win>;
    fn deref(&self) -> &Grouped<Win> {
        &self.all
    }
}

impl DerefMut for Wins {
    fn deref_mut(&mut self) -> &mut Grouped<Win> {
        &mut self.all
    }
}

impl Wins {
    /// Implements `MPI_Win_set_name`.
    pub fn set_name(&mut self, rank: u32, handle: usize, name: &[u8]) {
        self.names.set(rank, handle, name);
    }

    /// Implements `MPI_Win_get_name`: empty until it is set.
    pub fn name(&self, rank: u32, handle: usize) -> &[u8] {
        self.names.get(rank, handle).unwrap_or_default()
    }

    /// Forgets a rank that gives the window back.
    pub fn forget(&mut self, rank: u32, handle: usize) {
        self.names.remove(rank, handle);
        self.all.forget(rank, handle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Comms;
    use crate::handle::{COMM_NULL, COMM_WORLD};

    fn window(comm: usize) -> Win {
        Win { comm, flavor: Flavor::Create, exposed: Box::new([]), units: Units::Same(1), owner: None }
    }

    #[test]
    fn a_window_is_valid_for_members_until_they_give_it_back() {
        let mut comms = Comms::new(3, (0, 3), (0, 1));
        let mut wins = Wins::default();
        let group = crate::group::Group::from_ranks(vec![0, 2]);
        let comm = comms.make(group, None, None);
        assert_ne!(comm, COMM_NULL);
        let handle = wins.make(&comms, window(comm)).unwrap();
        for (rank, valid) in [(0, true), (1, false), (2, true)] {
            comms.current = rank;
            assert_eq!(wins.get(&comms, handle).is_ok(), valid, "rank {rank}");
        }
        comms.current = 0;
        assert!(!comms.release(comm).unwrap());
        assert_eq!(wins.get(&comms, handle).unwrap_err().class, ErrorClass::WIN);
        assert!(wins.index(&comms, WIN_NULL).unwrap_err().text.contains("MPI_WIN_NULL"));
        assert!(wins.index(&comms, COMM_WORLD).is_err());
    }

    #[test]
    fn units_that_are_alike_are_kept_once() {
        assert!(matches!(Units::of([8, 8, 8].into_iter()), Units::Same(8)));
        let mixed = Units::of([8, 1].into_iter());
        assert_eq!((mixed.get(0), mixed.get(1)), (8, 1));
    }
}
