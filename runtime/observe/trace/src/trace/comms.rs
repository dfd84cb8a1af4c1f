//! The communicators that the program made: who is what in which.

use crate::codec::{Put, Reader, Result};
use crate::column::Column;
use recorder::CommMembership;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A communicator, told apart by the first member of its (local) group and that one's number for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Instance {
    /// The rank in `MPI_COMM_WORLD`.
    pub leader: u32,
    /// The leader's number.
    pub number: u32,
}

/// Communicators that ranks have under one number, with a vector over these ranks for each fact.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Numbered {
    count: u64,
    /// World rank, rank, size, peers, leader, leader's number, leader and number of the group that messages
    /// go to.
    columns: [Column; 8],
}

/// All of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Comms {
    numbered: Vec<Numbered>,
}

impl Comms {
    /// Reads them, of so many ranks.
    ///
    /// # Errors
    /// If they are something else.
    pub fn read(reader: &mut Reader, ranks: u32) -> Result<Comms> {
        let numbered = |reader: &mut Reader| {
            let count = reader.number()?;
            let column = |reader: &mut Reader| {
                let column = Column::read(reader, ranks.into())?;
                if column.len() == count {
                    Ok(column)
                } else {
                    reader.wrong("a column of communicators of another length than they have")
                }
            };
            let mut columns = Vec::new();
            for _ in 0..8 {
                columns.push(column(reader)?);
            }
            Ok(Numbered { count, columns: columns.try_into().expect("eight columns") })
        };
        let count = reader.count(17, "communicators")?;
        Ok(Comms { numbered: (0..count).map(|_| numbered(reader)).collect::<Result<_>>()? })
    }

    /// Appends them, for [`Comms::read`].
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.number(self.numbered.len() as u64);
        for numbered in &self.numbered {
            bytes.number(numbered.count);
            numbered.columns.iter().for_each(|column| column.write(bytes));
        }
    }

    /// Returns how many numbers there are.
    pub fn len(&self) -> usize {
        self.numbered.len()
    }

    /// Returns `true` if the program made none.
    pub fn is_empty(&self) -> bool {
        self.numbered.is_empty()
    }

    fn facts(&self, rank: u32, number: u32) -> Option<(&[Column; 8], u64)> {
        let numbered = self.numbered.get((number as usize).checked_sub(1)?)?;
        let ranks = &numbered.columns[0];
        let (mut low, mut high) = (0, numbered.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if ranks.at(middle)? < i64::from(rank) { low = middle + 1 } else { high = middle }
        }
        (ranks.at(low)? == i64::from(rank)).then_some((&numbered.columns, low))
    }

    /// Returns what a rank is in its communicator `number`; O(log ranks) lookups in a column.
    pub fn member(&self, rank: u32, number: u32) -> Option<CommMembership> {
        let (columns, at) = self.facts(rank, number)?;
        let fact = |column: usize| columns[column].at(at).and_then(|value| u32::try_from(value).ok());
        Some(CommMembership { rank: fact(1)?, peers: fact(3)?, leaders: (fact(4)?, fact(6)?) })
    }

    /// Returns which communicator that is, and which has the group that messages go to: the same but for an
    /// intercommunicator; and the size of the first.
    pub fn instance(&self, rank: u32, number: u32) -> Option<(Instance, Instance, u32)> {
        let (columns, at) = self.facts(rank, number)?;
        let fact = |column: usize| columns[column].at(at).and_then(|value| u32::try_from(value).ok());
        let instance = |column: usize| Some(Instance { leader: fact(column)?, number: fact(column + 1)? });
        Some((instance(4)?, instance(6)?, fact(2)?))
    }

    /// Returns the members of all communicators, in their order and by their ranks in `MPI_COMM_WORLD`;
    /// O(members).
    ///
    /// # Errors
    /// If a communicator has something else than ranks 0 and up that differ.
    pub fn groups(&self) -> std::result::Result<FxHashMap<Instance, Rc<[u32]>>, String> {
        let mut members: FxHashMap<Instance, Vec<(u32, u32)>> = FxHashMap::default();
        self.each(|rank, _, place, (instance, ..)| members.entry(instance).or_default().push((place, rank)));
        let mut groups = FxHashMap::default();
        for (instance, mut members) in members {
            members.sort_unstable();
            let group: Rc<[u32]> = members.iter().map(|member| member.1).collect();
            let mut ranks = group.to_vec();
            ranks.sort_unstable();
            ranks.dedup();
            let in_order = (0..).zip(&members).all(|(place, member)| member.0 == place);
            if ranks.len() < members.len() || !in_order {
                let Instance { leader, number } = instance;
                return Err(format!("the trace does not say who is in comm#{number} of rank {leader}"));
            }
            groups.insert(instance, group);
        }
        Ok(groups)
    }

    /// Visits all that ranks have: the rank, its number for it, the rank in it, and what [`Comms::instance`]
    /// returns; O(members).
    pub fn each(&self, mut visit: impl FnMut(u32, u32, u32, (Instance, Instance, u32))) {
        for (number, numbered) in (1..).zip(&self.numbered) {
            let mut ranks = Vec::new();
            numbered.columns[0].each(|rank| ranks.push(rank));
            for rank in ranks {
                let rank = rank as u32;
                if let (Some(member), Some(instances)) =
                    (self.member(rank, number), self.instance(rank, number))
                {
                    visit(rank, number, member.rank, instances);
                }
            }
        }
    }
}
