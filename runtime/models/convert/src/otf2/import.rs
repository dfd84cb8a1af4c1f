//! From an archive to a trace, one rank after the other.

use super::calls::{Functions, Rank};
use super::comms::Comms;
use crate::writer::Writer;
use ::otf2::{Archive, ArchiveFiles};
use std::path::Path;
use trace::Trace;

/// The most ranks of an archive that is read into memory whole.
const MAX_RANKS_IN_MEMORY: usize = 1 << 12;

/// Imports a trace of an archive.
pub fn import(from: &Path, to: &Path) -> Result<(), String> {
    let archive = Archive::open(ArchiveFiles::of(from))?;
    let locations = ranks(&archive, from)?;
    let mut writer = Writer::create(to, locations.len() as u32)?;
    convert(&archive, &locations, &mut writer)?;
    writer.finish()
}

/// Reads a trace of an archive whose files lie one behind the other ([`ArchiveFiles::Memory`]), in memory.
pub fn read(bytes: &[u8]) -> Result<Trace, String> {
    let archive = Archive::open(ArchiveFiles::Memory(bytes))?;
    let locations = ranks(&archive, Path::new("the archive"))?;
    if locations.len() > MAX_RANKS_IN_MEMORY {
        return Err(format!("{} ranks are too many to be read at once", locations.len()));
    }
    let mut writer = Writer::in_memory(locations.len() as u32);
    convert(&archive, &locations, &mut writer)?;
    writer.into_trace()
}

fn ranks(archive: &Archive, from: &Path) -> Result<Vec<u64>, String> {
    let locations = archive.definitions.ranks();
    match locations.len() {
        0 => Err(format!("{}: its definitions name no rank of MPI", from.display())),
        count if count > i32::MAX as usize => Err(format!("{}: it has {count} ranks", from.display())),
        _ => Ok(locations),
    }
}

fn convert(archive: &Archive, locations: &[u64], writer: &mut Writer) -> Result<(), String> {
    let comms = Comms::of(&archive.definitions, locations);
    let functions = Functions::of(&archive.definitions);
    for (number, &location) in (0u32..).zip(locations) {
        let wrong = |why: &str| format!("{}: {why}", archive.name(location));
        let mut events = archive.events(location)?;
        let mut rank = Rank::new(number, writer, &functions, &comms, archive.definitions.ticks);
        while let Some((time, at, event)) = events.next().map_err(|why| wrong(&why.to_string()))? {
            rank.event(time, at, event).map_err(|why| wrong(&format!("byte {at}: {why}")))?;
        }
        rank.finish().map_err(|why| wrong(&why))?;
    }
    Ok(())
}
