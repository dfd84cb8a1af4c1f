//! Texts between Fortran (padded with blanks, the length beside it) and C (ending in a null byte).

use super::sentinel::{Sentinel, is, original};
use rank::Addr;
use rank::memory::{self, load, store};

/// A text for C.
pub struct OwnedText(Vec<u8>);

impl OwnedText {
    /// Returns where C finds it.
    pub fn at(&self) -> Addr {
        Addr(self.0.as_ptr() as usize)
    }
}

fn read(at: Addr, length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    memory::append(at, length, &mut bytes);
    bytes
}

fn without_padding(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.iter().rposition(|&b| b != b' ').map_or(0, |last| last + 1);
    bytes.truncate(end);
    bytes
}

/// Returns a text without its trailing blanks.
pub fn trimmed(at: Addr, length: usize) -> OwnedText {
    let mut bytes = without_padding(read(at, length));
    bytes.push(0);
    OwnedText(bytes)
}

/// A text without blanks at either end.
pub fn stripped(at: Addr, length: usize) -> OwnedText {
    let bytes = without_padding(read(at, length));
    let mut bytes = bytes.trim_ascii_start().to_vec();
    bytes.push(0);
    OwnedText(bytes)
}

/// A text that C writes and Fortran gets padded.
pub struct Result {
    at: Addr,
    length: usize,
    bytes: Vec<u8>,
}

impl Result {
    /// Room for `room` bytes with the null byte.
    pub fn new(at: Addr, length: usize, room: i32) -> Result {
        // Filled with what no text holds, to tell a call that wrote nothing.
        Result { at, length, bytes: vec![0xff; room.max(1) as usize] }
    }
    /// Returns where C puts it.
    pub fn at(&mut self) -> Addr {
        Addr(self.bytes.as_mut_ptr() as usize)
    }
    /// Gives it back, cut or padded to the variable's length.
    pub fn finish(&self) {
        let Some(end) = self.bytes.iter().position(|&b| b == 0) else { return };
        let end = end.min(self.length);
        memory::write(self.at, &self.bytes[..end]);
        memory::write(self.at.offset(end as i64), &vec![b' '; self.length - end]);
    }
}

/// The length of a text that goes in as room and comes back as need: C counts the null byte.
pub struct TextLength {
    at: Addr,
    value: i32,
}

impl TextLength {
    /// Reads the length from the variable.
    pub fn new(at: Addr) -> TextLength {
        let value: i32 = load(at);
        TextLength { at, value: if value > 0 { value.saturating_add(1) } else { value } }
    }
    /// Returns the bytes to make room for.
    pub fn room(&self) -> i32 {
        self.value
    }
    /// Returns where C finds it.
    pub fn at(&mut self) -> Addr {
        Addr(&raw mut self.value as usize)
    }
    /// Gives the need back.
    pub fn finish(&self) {
        store(self.at, (self.value - 1).max(0));
    }
}

/// An array of texts: `count` of them, or up to the first blank one.
pub struct FortranStrings {
    #[expect(dead_code, reason = "the pointers point into it")]
    texts: Vec<OwnedText>,
    pointers: Vec<usize>,
}

impl FortranStrings {
    /// Reads the texts of an array, in which each has `length` bytes.
    pub fn new(at: Addr, length: usize, count: Option<i32>) -> FortranStrings {
        if count.is_none() && is(original(at), Sentinel::ArgvNull) {
            return FortranStrings { texts: Vec::new(), pointers: Vec::new() };
        }
        FortranStrings::strided(at, length, length, count)
    }

    fn strided(at: Addr, length: usize, stride: usize, count: Option<i32>) -> FortranStrings {
        let mut texts = Vec::new();
        while count.is_none_or(|count| (texts.len() as i32) < count) {
            // Commands and arguments of spawned programs lose leading blanks as well (MPI 5.0 section
            // 11.8.2).
            let text = stripped(at.offset((texts.len() * stride) as i64), length);
            if count.is_none() && text.0.len() == 1 {
                break;
            }
            texts.push(text);
        }
        let pointers = texts.iter().map(|t| t.at().0).chain([0]).collect();
        FortranStrings { texts, pointers }
    }

    /// Returns where C finds the array; null if there is none.
    pub fn at(&self) -> Addr {
        if self.pointers.is_empty() { Addr::NULL } else { Addr(self.pointers.as_ptr() as usize) }
    }
}

/// One argument list a command, in the rows of a matrix with `count` rows.
pub struct TextArrays {
    #[expect(dead_code, reason = "the pointers point into it")]
    rows: Vec<FortranStrings>,
    pointers: Vec<usize>,
}

impl TextArrays {
    /// Each text has `length` bytes.
    pub fn new(at: Addr, length: usize, count: i32) -> TextArrays {
        if is(original(at), Sentinel::ArgvsNull) {
            return TextArrays { rows: Vec::new(), pointers: Vec::new() };
        }
        let count = count.max(0) as usize;
        let rows: Vec<FortranStrings> = (0..count)
            .map(|row| {
                FortranStrings::strided(at.offset((row * length) as i64), length, count * length, None)
            })
            .collect();
        let pointers = rows.iter().map(|r| r.at().0).chain([0]).collect();
        TextArrays { rows, pointers }
    }

    /// Returns where C finds the array; null if there is none.
    pub fn at(&self) -> Addr {
        if self.pointers.is_empty() { Addr::NULL } else { Addr(self.pointers.as_ptr() as usize) }
    }
}
