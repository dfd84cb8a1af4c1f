//! The communicators of an archive: who is in which, and how ranks get them.
//!
//! An archive says who is in a communicator, and, before version 3, not which call made it. Those of which it
//! does not say when ranks get them are made behind `MPI_Init`, in the order of their numbers, which is the
//! same on all ranks.

use crate::place::Place;
use ::otf2::Definitions;
use ::otf2::definitions::{Comm, Members};
use ::otf2::numbers::NONE;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Kind of a communicator.
#[derive(Clone, Debug)]
enum Kind {
    World,
    Own,
    Made(Rc<[u32]>),
}

/// All of them, by their numbers in the archive.
pub struct Comms {
    ranks: u32,
    kinds: BTreeMap<u32, Kind>,
    parents: FxHashMap<u32, u32>,
    /// `true` for a communicator if events say when ranks get it.
    told: FxHashMap<u32, bool>,
    /// For each rank the ones that it gets behind `MPI_Init`.
    first: Vec<Vec<u32>>,
}

impl Comms {
    /// Collects the communicators of an archive whose ranks are these locations; O(members).
    pub fn of(definitions: &Definitions, locations: &[u64]) -> Comms {
        let ranks = locations.len() as u32;
        let places: FxHashMap<u64, u32> = locations.iter().copied().zip(0..).collect();
        let mut comms = Comms {
            ranks,
            kinds: BTreeMap::new(),
            parents: FxHashMap::default(),
            told: FxHashMap::default(),
            first: Vec::new(),
        };
        let mut first = vec![Vec::new(); ranks as usize];
        let world = comms.world(definitions, &places);
        for (&number, comm) in &definitions.comms {
            let kind = if world == Some(number) {
                Some(Kind::World)
            } else {
                comms.kind(definitions, comm, &places)
            };
            let Some(kind) = kind else { continue };
            match &kind {
                Kind::Made(members) if !comm.has_events => {
                    members.iter().for_each(|&rank| first[rank as usize].push(number))
                }
                _ => {}
            }
            comms.kinds.insert(number, kind);
            comms.parents.insert(number, comm.parent);
            comms.told.insert(number, comm.has_events);
        }
        comms.first = first;
        comms
    }

    /// Returns the communicator of that name with all ranks in their order, else the first that has them:
    /// Score-P lists some that no program sees.
    fn world(&self, definitions: &Definitions, places: &FxHashMap<u64, u32>) -> Option<u32> {
        let mut all = definitions.comms.iter().filter(|(_, comm)| {
            let Some(Kind::Made(members)) = self.kind(definitions, comm, places) else { return false };
            members.len() == self.ranks as usize && members.is_sorted()
        });
        let first = all.next()?;
        let named =
            std::iter::once(first).chain(all).find(|(_, comm)| definitions.name(comm) == "MPI_COMM_WORLD");
        Some(*named.unwrap_or(first).0)
    }

    fn kind(&self, definitions: &Definitions, comm: &Comm, places: &FxHashMap<u64, u32>) -> Option<Kind> {
        match definitions.members(comm, places)? {
            Members::Own => Some(Kind::Own),
            Members::Listed(members) => {
                let mut sorted = members.clone();
                sorted.sort_unstable();
                sorted.dedup();
                // A rank twice, or nobody: nothing that ranks could have.
                (sorted.len() == members.len() && !members.is_empty()).then(|| Kind::Made(members.into()))
            }
        }
    }

    /// Returns the communicators that a rank gets behind `MPI_Init`.
    pub fn first(&self, rank: u32) -> &[u32] {
        &self.first[rank as usize]
    }

    /// Returns `true` if events say when ranks get some.
    pub fn are_told(&self) -> bool {
        self.told.values().any(|&told| told)
    }

    /// Returns the communicator that another one was made from.
    pub fn parent(&self, comm: u32) -> Option<u32> {
        self.parents.get(&comm).copied().filter(|&parent| parent != NONE)
    }
}

/// The communicators of one rank.
pub struct Own<'c> {
    comms: &'c Comms,
    rank: u32,
    /// By number, once the rank has used it.
    places: FxHashMap<u32, Place>,
    made: u32,
}

impl<'c> Own<'c> {
    /// Returns the state before its first call.
    pub fn new(comms: &'c Comms, rank: u32) -> Own<'c> {
        Own { comms, rank, places: FxHashMap::default(), made: 0 }
    }

    /// Returns what the rank is in a communicator.
    ///
    /// # Errors
    /// If it is in no such one, or has not got it yet.
    pub fn place(&mut self, comm: u32) -> Result<Place, String> {
        if let Some(&place) = self.places.get(&comm) {
            return Ok(place);
        }
        let rank = self.rank;
        let place = match self.comms.kinds.get(&comm) {
            Some(Kind::World) => Place::world(self.comms.ranks, rank),
            Some(Kind::Own) => Place::own(rank),
            Some(Kind::Made(_)) => {
                return Err(format!("communicator {comm} is used before the rank gets it"));
            }
            None => return Err(format!("the definitions do not say who is in communicator {comm}")),
        };
        self.places.insert(comm, place);
        Ok(place)
    }

    /// Gives the rank a communicator; once more if it has had it.
    ///
    /// # Errors
    /// If it is none of its members.
    pub fn make(&mut self, comm: u32) -> Result<Place, String> {
        let Some(Kind::Made(members)) = self.comms.kinds.get(&comm) else {
            return Err(format!("communicator {comm} is made, and the definitions do not say who is in it"));
        };
        let place = Place::made(self.made + 1, comm, members, self.rank);
        let place =
            place.ok_or_else(|| format!("the rank gets communicator {comm}, of which it is no member"))?;
        self.made += 1;
        self.places.insert(comm, place);
        Ok(place)
    }
}
