//! Writes archives: events as they come, of all ranks in turn, and the definitions behind them.

use crate::anchor::Anchor;
use crate::chunks::{HEAD, LAST, header};
use crate::definitions::{COMM_GROUP, COMM_LOCATIONS, COMM_SELF, CPU_THREAD, MPI, kind};
use crate::event::Event;
use crate::numbers::{NONE, Put};
use crate::reader::{ArchiveFile, path};
use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes of a chunk of events.
const CHUNK: usize = 1 << 20;
/// The least and the most bytes that the library lets a chunk have.
const CHUNKS: (usize, usize) = (1 << 18, 1 << 24);
/// Bytes of events that are kept in memory, of all locations.
const BUFFERS: usize = 64 << 20;
/// Behind the last record: of the file, and of what was in memory.
const END: [u8; 2] = [2, 1];
/// The kind of a record with a time, and all its bytes.
const TIMESTAMP: u8 = 5;
const TIMESTAMP_BYTES: usize = 9;

/// A communicator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Communicator {
    /// Name of the communicator.
    pub name: String,
    /// Places among the ranks of the archive; `None` if it is that of each rank alone.
    pub members: Option<Vec<u32>>,
    /// The number of the one that it was made from.
    pub parent: Option<u32>,
    /// `true` if events say when ranks get it.
    pub has_events: bool,
}

/// Contents of an archive besides its events.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ArchiveDefinitions {
    /// Ticks of its clock in a second.
    pub ticks: u64,
    /// Names of ranks. Each is a process with one location, which has the number of its place.
    pub ranks: Vec<String>,
    /// Names of regions, by their numbers. What begins with `MPI_` is a function of MPI's.
    pub regions: Vec<String>,
    /// Communicators, by their numbers.
    pub communicators: Vec<Communicator>,
}

/// Encodes the events of one location.
#[derive(Clone, Default)]
struct LocationWriter {
    /// Bytes that are not in the file yet; their offset there follows.
    bytes: Vec<u8>,
    written: u64,
    /// Bytes of the chunk under way, and where it begins.
    used: usize,
    begin: u64,
    events: u64,
    time: u64,
}

/// Makes the directory of an archive with this anchor file, beside it and without its ending, where there is
/// none.
///
/// # Errors
/// What the system says, or a sentence: the name has no ending, or a file has that of the directory.
pub fn prepare(anchor: &Path) -> io::Result<PathBuf> {
    let directory = anchor.with_extension("");
    if directory == anchor {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the name of an archive ends in .otf2"));
    }
    if directory.exists() && !directory.is_dir() {
        let why = format!(
            "its files go to the directory {}, and a file is there; choose another name",
            directory.display()
        );
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
    }
    fs::create_dir_all(&directory)?;
    Ok(directory)
}

/// Writes an archive.
pub struct ArchiveWriter {
    anchor: PathBuf,
    contents: ArchiveDefinitions,
    locations: Vec<LocationWriter>,
    /// Bytes of one location that are kept.
    most: usize,
    record: Vec<u8>,
    /// The time of the last event of all.
    last: u64,
}

impl ArchiveWriter {
    /// Begins one: `NAME.otf2`, with the files beside it.
    ///
    /// # Errors
    /// What the system says of a file.
    pub fn create(anchor: &Path, contents: ArchiveDefinitions) -> io::Result<ArchiveWriter> {
        let directory = prepare(anchor)?;
        // What another archive of this name has left would be read as this one's.
        for file in fs::read_dir(&directory)? {
            let file = file?.path();
            let is_of_archive = file.extension().is_some_and(|suffix| suffix == "evt" || suffix == "def")
                && file
                    .file_stem()
                    .and_then(|stem| stem.to_str())
                    .is_some_and(|stem| stem.parse::<u64>().is_ok());
            if is_of_archive {
                fs::remove_file(file)?;
            }
        }
        let locations: Vec<LocationWriter> = vec![LocationWriter::default(); contents.ranks.len()];
        let most = (BUFFERS / locations.len().max(1)).clamp(256, CHUNK);
        let mut writer = ArchiveWriter {
            anchor: anchor.to_owned(),
            contents,
            locations,
            most,
            record: Vec::new(),
            last: 0,
        };
        for place in 0..writer.locations.len() {
            fs::File::create(path(anchor, ArchiveFile::Events(place as u64)))?;
            writer.begin(place);
        }
        Ok(writer)
    }

    fn begin(&mut self, place: usize) {
        let location = &mut self.locations[place];
        location.bytes.extend(header(location.events + 1));
        location.used = HEAD;
    }

    /// Returns what a rank does next, at a time not before that of the event before.
    ///
    /// # Errors
    /// What the system says of the file.
    ///
    /// # Panics
    /// If there is no such rank.
    #[inline]
    pub fn event(&mut self, rank: u32, time: u64, event: &Event) -> io::Result<()> {
        let place = rank as usize;
        self.record.clear();
        event.put(&mut self.record);
        self.last = self.last.max(time);
        if self.locations[place].used + TIMESTAMP_BYTES + self.record.len() + END.len() > CHUNK {
            self.close(place)?;
            self.begin(place);
        }
        let location = &mut self.locations[place];
        let before = location.bytes.len();
        // A chunk begins with a time, so that it can be read without the one before.
        if time > location.time || location.used == HEAD {
            location.bytes.push(TIMESTAMP);
            location.bytes.full(time);
            location.time = time;
        }
        location.bytes.extend_from_slice(&self.record);
        location.used += location.bytes.len() - before;
        location.events += 1;
        if location.bytes.len() >= self.most { self.flush(place) } else { Ok(()) }
    }

    // Files are opened each time: there may be more ranks than a process may have files.
    fn flush(&mut self, place: usize) -> io::Result<()> {
        let location = &mut self.locations[place];
        let file =
            fs::OpenOptions::new().write(true).open(path(&self.anchor, ArchiveFile::Events(place as u64)))?;
        file.write_all_at(&location.bytes, location.written)?;
        location.written += location.bytes.len() as u64;
        location.bytes.clear();
        Ok(())
    }

    /// Ends a chunk that others come behind.
    fn close(&mut self, place: usize) -> io::Result<()> {
        let location = &mut self.locations[place];
        let filled = location.bytes.len() + CHUNK - location.used;
        location.bytes.resize(filled, 0);
        self.number(place)?;
        self.locations[place].begin += CHUNK as u64;
        Ok(())
    }

    /// Writes what there is, and the number of the last event into the header of the chunk.
    fn number(&mut self, place: usize) -> io::Result<()> {
        self.flush(place)?;
        let location = &self.locations[place];
        let file =
            fs::OpenOptions::new().write(true).open(path(&self.anchor, ArchiveFile::Events(place as u64)))?;
        file.write_all_at(&location.events.to_le_bytes(), location.begin + LAST)
    }

    /// Writes the rest of all files. Without it there is no archive: the anchor file comes last.
    ///
    /// # Errors
    /// What the system says of a file, or that a communicator has more members than a chunk holds.
    pub fn finish(&mut self) -> io::Result<()> {
        for place in 0..self.locations.len() {
            self.locations[place].bytes.extend(END);
            self.number(place)?;
            let mut local = header(1);
            local.extend(END);
            fs::write(path(&self.anchor, ArchiveFile::Local(place as u64)), local)?;
        }
        let (file, chunk, definitions) = self.definitions()?;
        fs::write(path(&self.anchor, ArchiveFile::Definitions), file)?;
        let anchor = Anchor { events: CHUNK as u64, definitions: chunk as u64 };
        fs::File::create(&self.anchor)?.write_all(&anchor.write(self.locations.len() as u64, definitions))
    }

    /// Returns the file of all definitions, the length of its chunks, and how many there are.
    fn definitions(&self) -> io::Result<(Vec<u8>, usize, u64)> {
        let records = DefinitionRecords::of(self);
        let longest = records.all.iter().map(Vec::len).max().unwrap_or(0);
        let chunk = (longest + HEAD + END.len()).next_power_of_two().max(CHUNKS.0);
        if chunk > CHUNKS.1 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "OTF2 has no room for a communicator of that many ranks",
            ));
        }
        let mut file: Vec<u8> = Vec::new();
        let (mut begin, mut number) = (0, 0u64);
        file.extend(header(1));
        for record in &records.all {
            if file.len() - begin + record.len() + END.len() > chunk {
                file[begin + LAST as usize..][..8].copy_from_slice(&number.to_le_bytes());
                begin += chunk;
                file.resize(begin, 0);
                file.extend(header(number + 1));
            }
            file.extend(record);
            number += 1;
        }
        file[begin + LAST as usize..][..8].copy_from_slice(&number.to_le_bytes());
        file.extend(END);
        Ok((file, chunk, number))
    }
}

/// Records of definitions, and the numbers of texts.
#[derive(Default)]
struct DefinitionRecords {
    all: Vec<Vec<u8>>,
    strings: HashMap<String, u32>,
}

impl DefinitionRecords {
    fn of(writer: &ArchiveWriter) -> DefinitionRecords {
        let ArchiveWriter { contents, locations, last, .. } = writer;
        let mut records = DefinitionRecords::default();
        records.put(kind::CLOCK_PROPERTIES, |out| {
            out.number(contents.ticks);
            // All clocks begin with 0, and what ranks compute before their first event counts from there.
            out.number(0);
            out.number(*last);
            // When that was on a calendar is not said.
            out.number(u64::MAX);
        });
        let [machine, class] = ["simulated machine", "machine"].map(|text| records.string(text));
        records.put(kind::SYSTEM_TREE_NODE, |out| {
            [0, machine, class, NONE].into_iter().for_each(|number| out.short(number))
        });
        for (place, (name, location)) in (0u32..).zip(contents.ranks.iter().zip(locations)) {
            let name = records.string(name);
            records.put(kind::LOCATION_GROUP, |out| {
                out.short(place);
                out.short(name);
                // A process on the node, which no other has started.
                out.push(1);
                out.short(0);
                out.short(NONE);
            });
            records.put(kind::LOCATION, |out| {
                out.number(place.into());
                out.short(name);
                out.push(CPU_THREAD);
                out.number(location.events);
                out.short(place);
            });
        }
        for (place, name) in (0u32..).zip(&contents.regions) {
            records.region(place, name);
        }
        records.communicators(contents);
        records
    }

    fn put(&mut self, kind: u8, put: impl FnOnce(&mut Vec<u8>)) {
        let mut record = Vec::new();
        record.record(kind, put);
        self.all.push(record);
    }

    /// Returns the number of a text; defines it first, if it is new.
    fn string(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.strings.get(text) {
            return number;
        }
        let number = self.strings.len() as u32;
        self.strings.insert(text.to_owned(), number);
        self.put(kind::STRING, |out| {
            out.short(number);
            out.text(text);
        });
        number
    }

    fn region(&mut self, place: u32, name: &str) {
        let is_mpi = name.starts_with("MPI_");
        let (name, empty) = (self.string(name), self.string(""));
        self.put(kind::REGION, |out| {
            out.short(place);
            out.short(name);
            out.short(empty);
            // Its type, as versions before 1.1 had it; no file and no lines.
            out.push(0);
            [NONE, 0, 0, name].into_iter().for_each(|number| out.short(number));
            // A function of MPI's or of the program's.
            out.extend([1, if is_mpi { MPI } else { 1 }]);
            out.short(0);
        });
    }

    fn communicators(&mut self, contents: &ArchiveDefinitions) {
        let ranks: Vec<u32> = (0..contents.ranks.len() as u32).collect();
        let all = self.string("MPI");
        self.group((0, all, COMM_LOCATIONS), &ranks);
        let empty = self.string("");
        self.group((1, empty, COMM_SELF), &[]);
        let mut groups = 1;
        for (place, communicator) in (0u32..).zip(&contents.communicators) {
            let name = self.string(&communicator.name);
            let group = match &communicator.members {
                None => 1,
                Some(members) => {
                    groups += 1;
                    self.group((groups, empty, COMM_GROUP), members);
                    groups
                }
            };
            self.put(kind::COMM, |out| {
                [place, name, group, communicator.parent.unwrap_or(NONE)]
                    .into_iter()
                    .for_each(|number| out.short(number));
                out.short(communicator.has_events.into());
            });
        }
    }

    fn group(&mut self, (number, name, group): (u32, u32, u8), members: &[u32]) {
        self.put(kind::GROUP, |out| {
            out.short(number);
            out.short(name);
            // Its type, as versions before 1.2 had it.
            out.push(0);
            out.short(members.len() as u32);
            members.iter().for_each(|&member| out.number(member.into()));
            out.extend([group, MPI]);
            out.short(0);
        });
    }
}
