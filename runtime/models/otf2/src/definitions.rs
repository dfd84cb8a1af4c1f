//! Definitions of the numbers in events.

use crate::chunks::Chunks;
use crate::numbers::{MalformedArchive, NumberReader, Result};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::io::Read;

/// Kinds of records in the file of all (`otf2_global_definitions.h`); those of locations have the same
/// numbers but for two.
pub(crate) mod kind {
    pub const CLOCK_PROPERTIES: u8 = 5;
    pub const STRING: u8 = 10;
    pub const SYSTEM_TREE_NODE: u8 = 12;
    pub const LOCATION_GROUP: u8 = 13;
    pub const LOCATION: u8 = 14;
    pub const REGION: u8 = 15;
    pub const GROUP: u8 = 18;
    pub const COMM: u8 = 22;
    pub const INTER_COMM: u8 = 43;
    /// Mapping of one location's numbers to those of the global definitions.
    pub const MAPPING_TABLE: u8 = 5;
    /// Offset of one location's clock, to be added to its times.
    pub const CLOCK_OFFSET: u8 = 6;
}

/// MPI among the paradigms.
pub(crate) const MPI: u8 = 4;
/// Groups of communicators: which locations ranks are, a list of ranks, and the one rank itself.
pub(crate) const COMM_LOCATIONS: u8 = 4;
pub(crate) const COMM_GROUP: u8 = 5;
pub(crate) const COMM_SELF: u8 = 6;
/// The members of a group are locations, and not places among those that are ranks.
const GLOBAL_MEMBERS: u32 = 1;
/// A location that runs code.
pub(crate) const CPU_THREAD: u8 = 1;
/// Mappings of regions and of communicators.
const MAPS_REGIONS: u8 = 3;
const MAPS_COMMS: u8 = 6;

/// A location: a source of events, such as a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Location {
    number: u64,
    kind: u8,
    group: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct GroupDefinition {
    kind: u8,
    paradigm: u8,
    members: Vec<u64>,
    flags: u32,
}

/// A communicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Comm {
    name: u32,
    group: u32,
    /// The one that it was made from; [`NONE`](crate::numbers::NONE) where that is not known.
    pub parent: u32,
    /// `true` if events say when ranks get it ([`crate::Event::CommCreate`]).
    pub has_events: bool,
}

/// Members of a communicator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Members {
    /// The rank alone.
    Own,
    /// These, all ranks counted, in this order.
    Listed(Vec<u32>),
}

/// Definitions of all locations.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Definitions {
    /// Ticks of the clock in a second.
    pub ticks: u64,
    strings: FxHashMap<u32, String>,
    locations: Vec<Location>,
    groups: FxHashMap<u32, GroupDefinition>,
    /// Communicators by their numbers.
    pub comms: BTreeMap<u32, Comm>,
    /// Numbers of the intercommunicators, which connect two groups.
    pub inter_comms: Vec<u32>,
    regions: FxHashMap<u32, u32>,
}

impl Definitions {
    /// Reads the file of all, in chunks of this length; memory is that of the file.
    ///
    /// # Errors
    /// The byte, and what is wrong there.
    pub fn read(from: impl Read, chunk: u64) -> Result<Definitions> {
        let mut chunks = Chunks::new(from, chunk);
        let mut all = Definitions::default();
        while let Some(kind) = chunks.kind()? {
            chunks.take(|take| all.record(kind, &mut take.record()?))?;
        }
        if all.ticks == 0 {
            return Err(MalformedArchive {
                at: chunks.position(),
                why: "nothing says how many ticks of the clock a second has".to_owned(),
            });
        }
        Ok(all)
    }

    fn record(&mut self, kind: u8, record: &mut NumberReader) -> Result<()> {
        match kind {
            kind::CLOCK_PROPERTIES => self.ticks = record.u64()?,
            kind::STRING => drop(self.strings.insert(record.u32()?, record.text()?)),
            kind::LOCATION => {
                let number = record.u64()?;
                record.u32()?;
                let kind = record.byte()?;
                record.u64()?;
                self.locations.push(Location { number, kind, group: record.u32()? });
            }
            // What is behind the name changed from version to version.
            kind::REGION => drop(self.regions.insert(record.u32()?, record.u32()?)),
            kind::GROUP => {
                let number = record.u32()?;
                let group = group(record)?;
                self.groups.insert(number, group);
            }
            kind::COMM => {
                let (number, name) = (record.u32()?, record.u32()?);
                let (group, parent) = (record.u32()?, record.u32()?);
                let has_events = record.left() > 0 && record.u32()? & 1 != 0;
                self.comms.insert(number, Comm { name, group, parent, has_events });
            }
            kind::INTER_COMM => self.inter_comms.push(record.u32()?),
            _ => {}
        }
        Ok(())
    }

    /// Returns the name of a region.
    pub fn region(&self, region: u32) -> Option<&str> {
        self.strings.get(self.regions.get(&region)?).map(String::as_str)
    }

    /// Returns all regions that have a name.
    pub fn regions(&self) -> impl Iterator<Item = (u32, &str)> {
        self.regions.iter().filter_map(|(&region, name)| Some((region, self.strings.get(name)?.as_str())))
    }

    /// Returns the locations that are ranks of MPI, in the order of these: those of a group that says so,
    /// else the first that runs code of each process.
    pub fn ranks(&self) -> Vec<u64> {
        let mut named: Vec<_> = self
            .groups
            .iter()
            .filter(|(_, group)| group.kind == COMM_LOCATIONS && group.paradigm == MPI)
            .collect();
        named.sort_unstable_by_key(|(number, _)| **number);
        if let Some((_, group)) = named.first() {
            return group.members.clone();
        }
        let mut first: BTreeMap<u32, u64> = BTreeMap::new();
        for location in self.locations.iter().filter(|location| location.kind == CPU_THREAD) {
            let least = first.entry(location.group).or_insert(location.number);
            *least = location.number.min(*least);
        }
        let mut ranks: Vec<u64> = first.into_values().collect();
        ranks.sort_unstable();
        ranks
    }

    /// Returns what a communicator is called.
    pub fn name(&self, comm: &Comm) -> &str {
        self.strings.get(&comm.name).map_or("", String::as_str)
    }

    /// Returns the members of a communicator of MPI, if the definitions say who they are. `ranks` has the
    /// rank of each location.
    pub fn members(&self, comm: &Comm, ranks: &FxHashMap<u64, u32>) -> Option<Members> {
        let group = self.groups.get(&comm.group).filter(|group| group.paradigm == MPI)?;
        match group.kind {
            COMM_SELF => Some(Members::Own),
            COMM_GROUP | COMM_LOCATIONS => {
                let are_locations = group.kind == COMM_LOCATIONS || group.flags & GLOBAL_MEMBERS != 0;
                let rank = |&member: &u64| {
                    let rank =
                        if are_locations { ranks.get(&member).copied() } else { u32::try_from(member).ok() };
                    rank.filter(|&rank| (rank as usize) < ranks.len())
                };
                group.members.iter().map(rank).collect::<Option<Vec<u32>>>().map(Members::Listed)
            }
            _ => None,
        }
    }
}

fn group(record: &mut NumberReader) -> Result<GroupDefinition> {
    record.u32()?;
    record.byte()?;
    let count = record.u32()?;
    // Each has a byte at least: a count that lies asks for no memory.
    if count as usize > record.left() {
        return record.wrong(format!("a group of {count} members in {} bytes", record.left()));
    }
    let members = (0..count).map(|_| record.u64()).collect::<Result<_>>()?;
    if record.left() == 0 {
        return record.wrong("a group as versions of OTF2 before 1.2 had it, which are not read");
    }
    Ok(GroupDefinition { members, kind: record.byte()?, paradigm: record.byte()?, flags: record.u32()? })
}

/// Mapping of one location's numbers and times to those of all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LocationMapping {
    regions: FxHashMap<u32, u32>,
    comms: FxHashMap<u32, u32>,
    /// Times, and how far the clock is behind there; in order.
    offsets: Vec<(u64, i64)>,
}

impl LocationMapping {
    /// Reads the file of a location's definitions; memory is that of the file.
    ///
    /// # Errors
    /// The byte, and what is wrong there.
    pub fn read(from: impl Read, chunk: u64) -> Result<LocationMapping> {
        let mut chunks = Chunks::new(from, chunk);
        let mut all = LocationMapping::default();
        while let Some(kind) = chunks.kind()? {
            chunks.take(|take| {
                let record = &mut take.record()?;
                match kind {
                    kind::MAPPING_TABLE => all.mapping(record),
                    kind::CLOCK_OFFSET => {
                        all.offsets.push((record.full()?, record.u64()? as i64));
                        Ok(())
                    }
                    _ => Ok(()),
                }
            })?;
        }
        all.offsets.sort_by_key(|offset| offset.0);
        Ok(all)
    }

    fn mapping(&mut self, record: &mut NumberReader) -> Result<()> {
        let what = record.byte()?;
        let (count, is_sparse) = (record.u64()?, record.byte()? != 0);
        let map = match what {
            MAPS_REGIONS => &mut self.regions,
            MAPS_COMMS => &mut self.comms,
            _ => return Ok(()),
        };
        if count > record.left() as u64 {
            return record.wrong(format!("{count} numbers in {} bytes", record.left()));
        }
        for place in 0..count {
            let from = if is_sparse { record.u64()? } else { place };
            if let (Ok(from), Ok(to)) = (u32::try_from(from), u32::try_from(record.u64()?)) {
                map.insert(from, to);
            }
        }
        Ok(())
    }

    /// Returns a region's number in the definitions of all.
    #[inline]
    pub fn region(&self, region: u32) -> u32 {
        if self.regions.is_empty() { region } else { self.regions.get(&region).copied().unwrap_or(region) }
    }

    /// Returns a communicator's number there.
    #[inline]
    pub fn comm(&self, comm: u32) -> u32 {
        if self.comms.is_empty() { comm } else { self.comms.get(&comm).copied().unwrap_or(comm) }
    }

    /// Returns a time on the clock of all: between two instants at which a clock was compared with that of
    /// the others, the difference is interpolated.
    #[inline]
    pub fn time(&self, time: u64) -> u64 {
        let at = |(_, offset): (u64, i64)| time.saturating_add_signed(offset);
        let behind = self.offsets.partition_point(|offset| offset.0 < time);
        match (behind.checked_sub(1).map(|before| self.offsets[before]), self.offsets.get(behind)) {
            (None, None) => time,
            (Some(one), None) => at(one),
            (None, Some(&one)) => at(one),
            (Some((from, first)), Some(&(to, last))) => {
                let share = (time - from) as f64 / (to - from) as f64;
                let offset = first.saturating_add(((last as f64 - first as f64) * share).round() as i64);
                time.saturating_add_signed(offset)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_interpolated_between_comparisons() {
        let local = LocationMapping { offsets: vec![(100, 10), (200, 30)], ..LocationMapping::default() };
        assert_eq!([50, 100, 150, 200, 300].map(|time| local.time(time)), [60, 110, 170, 230, 330]);
        assert_eq!(LocationMapping::default().time(7), 7);
    }

    #[test]
    fn counts_that_lie_are_refused() {
        let group_of = |bytes: &[u8]| group(&mut NumberReader::new(bytes, 0, false)).unwrap_err().why;
        assert!(
            group_of(&[0xff, 5, 4, 0xfe, 0xff, 0xff, 0xff, 0])
                .contains("a group of 4294967294 members in 1 bytes")
        );
        assert!(group_of(&[0, 5, 0]).contains("before 1.2"));
        let mut local = LocationMapping::default();
        assert!(
            local
                .mapping(&mut NumberReader::new(&[3, 1, 200, 1, 0], 0, false))
                .unwrap_err()
                .why
                .contains("200 numbers")
        );
    }
}
