//! Files of chunks, of which one is in memory at a time.

use crate::anchor::{BIG, END_OF_FILE, HEADER, LITTLE};
use crate::numbers::{MalformedArchive, NumberReader, Put, Result};
use std::io::Read;

/// Byte behind the last record of a chunk, which also fills the rest of the chunk.
const END_OF_CHUNK: u8 = 0;
/// Bytes before the first record: the kind, the order of bytes, the numbers of the first and of the last
/// event.
pub const HEAD: usize = 18;
/// Offset in the header of the number of the last event.
pub const LAST: u64 = 10;

/// Returns the header of a chunk whose first event has this number, from 1.
pub fn header(first: u64) -> Vec<u8> {
    let mut header = vec![HEADER, LITTLE];
    header.full(first);
    header.full(0);
    header
}

/// Reads a file's chunks.
pub struct Chunks<R> {
    from: R,
    /// Bytes of a chunk.
    length: u64,
    chunk: Vec<u8>,
    /// Offset of the chunk in the file.
    base: u64,
    at: usize,
    is_big: bool,
    is_over: bool,
}

impl<R: Read> Chunks<R> {
    /// Returns the chunks from the beginning of a file.
    pub fn new(from: R, length: u64) -> Chunks<R> {
        Chunks { from, length, chunk: Vec::new(), base: 0, at: 0, is_big: false, is_over: false }
    }

    /// Returns where the next byte is in the file.
    pub fn position(&self) -> u64 {
        self.base + self.at as u64
    }

    fn wrong<T>(&self, why: impl Into<String>) -> Result<T> {
        Err(MalformedArchive { at: self.position(), why: why.into() })
    }

    /// The kind of the next record; `None` behind the last one.
    // Only the header says where a chunk ends: what is behind the last record is filled with zeros to the
    // length that the anchor file tells, so that a chunk that is too short is the end of a file that was cut.
    #[inline]
    pub fn kind(&mut self) -> Result<Option<u8>> {
        loop {
            match self.chunk.get(self.at).copied() {
                _ if self.is_over => return Ok(None),
                Some(END_OF_FILE) => self.is_over = true,
                Some(END_OF_CHUNK) | None => self.load()?,
                Some(kind) => {
                    self.at += 1;
                    return Ok(Some(kind));
                }
            }
        }
    }

    fn load(&mut self) -> Result<()> {
        if !self.chunk.is_empty() && (self.chunk.len() as u64) < self.length {
            self.at = self.chunk.len();
            return self.wrong("the file ends here, and its last record is not there");
        }
        self.base += self.chunk.len() as u64;
        self.at = 0;
        self.chunk.clear();
        // No more is asked for than there is, whatever the anchor file says.
        let read = self.from.by_ref().take(self.length).read_to_end(&mut self.chunk);
        if let Err(why) = read {
            return self.wrong(format!("it cannot be read: {why}"));
        }
        match self.chunk.get(..HEAD) {
            Some(&[HEADER, order @ (LITTLE | BIG), ..]) => self.is_big = order == BIG,
            Some(_) => return self.wrong("a chunk should begin here"),
            None => return self.wrong("the file ends here, where a chunk should begin"),
        }
        self.at = HEAD;
        Ok(())
    }

    /// Reads from what is left of the chunk.
    #[inline]
    pub fn take<T>(&mut self, read: impl FnOnce(&mut NumberReader) -> Result<T>) -> Result<T> {
        let mut take = NumberReader::new(&self.chunk[self.at..], self.position(), self.is_big);
        let taken = read(&mut take)?;
        self.at += take.position();
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(file: &[u8]) -> Result<Vec<u8>> {
        let mut chunks = Chunks::new(file, 24);
        let mut kinds = Vec::new();
        while let Some(kind) = chunks.kind()? {
            chunks.take(|take| take.record().map(drop))?;
            kinds.push(kind);
        }
        Ok(kinds)
    }

    #[test]
    fn chunks_are_read_one_after_the_other() {
        let mut file = header(1);
        file.extend([9, 1, 7, 0, 0, 0]);
        file.extend(header(2));
        file.extend([8, 0, 2, 1]);
        assert_eq!(kinds(&file), Ok(vec![9, 8]));
        for (length, at) in [(17, 0), (20, 20), (24, 24), (43, 43), (44, 44)] {
            let error = kinds(&file[..length]).unwrap_err();
            assert_eq!(error.at, at, "{error}");
        }
        file[24] = 9;
        assert_eq!(kinds(&file).unwrap_err().to_string(), "byte 24: a chunk should begin here");
    }
}
