//! Reads archives: definitions whole, events one after the other.

use crate::anchor::Anchor;
use crate::chunks::Chunks;
use crate::definitions::{Definitions, LocationMapping};
use crate::event::{Collective, Event, Message};
use crate::numbers::Result;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A file of an archive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArchiveFile {
    /// The anchor file, which describes the archive.
    Anchor,
    /// The definitions of all.
    Definitions,
    /// The definitions of a location.
    Local(u64),
    /// The events of a location.
    Events(u64),
}

/// Location of an archive's files: on disk, or in memory.
pub enum ArchiveFiles<'a> {
    /// On disk; this is the anchor file.
    Disk(PathBuf),
    /// In memory, one behind the other, each with its length before it as four bytes, least first: anchor,
    /// definitions, and for locations from 0 definitions and events. What is not there is empty.
    Memory(&'a [u8]),
}

impl ArchiveFiles<'_> {
    /// Returns the archive with this anchor file.
    pub fn of(anchor: &Path) -> ArchiveFiles<'static> {
        ArchiveFiles::Disk(anchor.to_owned())
    }

    /// Returns what a file is called.
    pub fn name(&self, file: ArchiveFile) -> String {
        match self {
            ArchiveFiles::Disk(anchor) => path(anchor, file).display().to_string(),
            ArchiveFiles::Memory(_) => format!("{file:?}"),
        }
    }

    fn open(&self, file: ArchiveFile) -> io::Result<Box<dyn Read + '_>> {
        Ok(match self {
            ArchiveFiles::Disk(anchor) => Box::new(std::fs::File::open(path(anchor, file))?),
            ArchiveFiles::Memory(bytes) => Box::new(packed(bytes, file)),
        })
    }
}

pub(crate) fn path(anchor: &Path, file: ArchiveFile) -> PathBuf {
    match file {
        ArchiveFile::Anchor => anchor.to_owned(),
        ArchiveFile::Definitions => anchor.with_extension("def"),
        ArchiveFile::Local(location) => anchor.with_extension("").join(format!("{location}.def")),
        ArchiveFile::Events(location) => anchor.with_extension("").join(format!("{location}.evt")),
    }
}

fn packed(mut bytes: &[u8], file: ArchiveFile) -> &[u8] {
    let skipped = match file {
        ArchiveFile::Anchor => 0,
        ArchiveFile::Definitions => 1,
        ArchiveFile::Local(location) => location.saturating_mul(2).saturating_add(2),
        ArchiveFile::Events(location) => location.saturating_mul(2).saturating_add(3),
    };
    for number in 0.. {
        let Some((length, rest)) = bytes.split_first_chunk::<4>() else { return &[] };
        let length = (u32::from_le_bytes(*length) as usize).min(rest.len());
        if number == skipped {
            return &rest[..length];
        }
        bytes = &rest[length..];
    }
    &[]
}

/// An archive.
pub struct Archive<'a> {
    files: ArchiveFiles<'a>,
    anchor: Anchor,
    /// Definitions that the numbers in events refer to.
    pub definitions: Definitions,
}

/// The most bytes of an anchor file that are looked at.
const ANCHOR: u64 = 1 << 16;

impl<'a> Archive<'a> {
    /// Reads the anchor file and the definitions.
    ///
    /// # Errors
    /// A sentence with the file, the byte and the reason.
    pub fn open(files: ArchiveFiles<'a>) -> std::result::Result<Archive<'a>, String> {
        let mut anchor = Vec::new();
        let read =
            files.open(ArchiveFile::Anchor).and_then(|file| file.take(ANCHOR).read_to_end(&mut anchor));
        read.map_err(|why| unreadable(&files, ArchiveFile::Anchor, &why))?;
        let anchor =
            Anchor::read(&anchor).map_err(|why| format!("{}: {why}", files.name(ArchiveFile::Anchor)))?;
        let file = files
            .open(ArchiveFile::Definitions)
            .map_err(|why| unreadable(&files, ArchiveFile::Definitions, &why))?;
        let definitions = Definitions::read(file, anchor.definitions);
        let definitions =
            definitions.map_err(|why| format!("{}: {why}", files.name(ArchiveFile::Definitions)))?;
        Ok(Archive { files, anchor, definitions })
    }

    /// Opens the events of a location.
    ///
    /// # Errors
    /// A sentence with the file, the byte and the reason.
    pub fn events(&self, location: u64) -> std::result::Result<Events<'_>, String> {
        let file = ArchiveFile::Local(location);
        // A location whose numbers are those of all needs no file, and old writers make none.
        let local = match self.files.open(file) {
            Ok(from) => LocationMapping::read(from, self.anchor.definitions)
                .map_err(|why| format!("{}: {why}", self.files.name(file)))?,
            Err(why) if why.kind() == io::ErrorKind::NotFound => LocationMapping::default(),
            Err(why) => return Err(unreadable(&self.files, file, &why)),
        };
        let file = ArchiveFile::Events(location);
        let from = self.files.open(file).map_err(|why| unreadable(&self.files, file, &why))?;
        Ok(Events { chunks: Chunks::new(from, self.anchor.events), local, time: 0 })
    }

    /// Returns what the file with a location's events is called.
    pub fn name(&self, location: u64) -> String {
        self.files.name(ArchiveFile::Events(location))
    }
}

fn unreadable(files: &ArchiveFiles, file: ArchiveFile, why: &io::Error) -> String {
    format!("{} cannot be read: {why}", files.name(file))
}

/// A record of its own before each event at another time than the one before.
const TIMESTAMP: u8 = 5;
/// Attributes of the next event.
const ATTRIBUTES: u8 = 6;
/// Behind what was written when the buffers of the location were full; nothing says that the rank did
/// anything.
const BUFFER_FLUSH: u8 = 10;

/// The events of a location, in the order of time.
pub struct Events<'a> {
    chunks: Chunks<Box<dyn Read + 'a>>,
    local: LocationMapping,
    time: u64,
}

impl Events<'_> {
    /// Reads the next event, with its time in ticks and the byte of the file where it stands; `None` behind
    /// the last. Numbers are those of the definitions of all.
    ///
    /// # Errors
    /// The byte, and what is wrong there.
    #[allow(clippy::should_implement_trait, reason = "it fails")]
    pub fn next(&mut self) -> Result<Option<(u64, u64, Event)>> {
        loop {
            let at = self.chunks.position();
            let Some(kind) = self.chunks.kind()? else { return Ok(None) };
            match kind {
                TIMESTAMP => {
                    let time = self.chunks.take(|take| {
                        let time = take.full()?;
                        if time < self.time {
                            take.wrong(format!("time goes back from {} to {time}", self.time))
                        } else {
                            Ok(time)
                        }
                    })?;
                    self.time = time;
                }
                ATTRIBUTES | BUFFER_FLUSH => self.chunks.take(|take| take.record().map(drop))?,
                kind => {
                    let event = self.chunks.take(|take| Event::take(kind, take))?;
                    return Ok(Some((self.local.time(self.time), at, self.meant(event))));
                }
            }
        }
    }

    fn meant(&self, event: Event) -> Event {
        let message = |message: Message| Message { comm: self.local.comm(message.comm), ..message };
        let collective =
            |collective: Collective| Collective { comm: self.local.comm(collective.comm), ..collective };
        match event {
            Event::Enter(region) => Event::Enter(self.local.region(region)),
            Event::Leave(region) => Event::Leave(self.local.region(region)),
            Event::Send(of) => Event::Send(message(of)),
            Event::Isend(of, request) => Event::Isend(message(of), request),
            Event::Recv(of) => Event::Recv(message(of)),
            Event::Irecv(of, request) => Event::Irecv(message(of), request),
            Event::CollectiveEnd(of) => Event::CollectiveEnd(collective(of)),
            Event::IcollectiveComplete(of, request) => Event::IcollectiveComplete(collective(of), request),
            Event::CommCreate(comm) => Event::CommCreate(self.local.comm(comm)),
            Event::CommDestroy(comm) => Event::CommDestroy(self.local.comm(comm)),
            other => other,
        }
    }
}
