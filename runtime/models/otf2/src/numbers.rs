//! Numbers and texts as files have them.
//!
//! Most numbers are a byte with the count of the bytes that follow, least first, without the zeros at the
//! end. 0 is one byte, and so is the greatest of all (0xff), which means that there is none. Times and
//! lengths of long records stand in full.

/// A defect of a file, and its location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MalformedArchive {
    /// The byte, from 0.
    pub at: u64,
    /// The reason.
    pub why: String,
}

impl std::fmt::Display for MalformedArchive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "byte {}: {}", self.at, self.why)
    }
}

/// Result of reading, with [`MalformedArchive`] as its error.
pub type Result<T> = std::result::Result<T, MalformedArchive>;

/// No such thing: of references in definitions, of roots.
pub const NONE: u32 = u32::MAX;

/// Reads numbers from bytes that are in memory.
#[derive(Clone, Debug)]
pub struct NumberReader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Offset of the first byte in its file.
    base: u64,
    /// `true` if the machine that wrote the file had the greatest byte first.
    is_big: bool,
}

impl<'a> NumberReader<'a> {
    /// Returns the reader of bytes that begin at `base` of their file.
    pub fn new(bytes: &'a [u8], base: u64, is_big: bool) -> NumberReader<'a> {
        NumberReader { bytes, at: 0, base, is_big }
    }

    /// Returns the bytes that were read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Returns the bytes that are left.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Returns an error at the next byte.
    ///
    /// # Errors
    /// Always.
    pub fn wrong<T>(&self, why: impl Into<String>) -> Result<T> {
        Err(MalformedArchive { at: self.base + self.at as u64, why: why.into() })
    }

    /// Reads so many bytes.
    ///
    /// # Errors
    /// If there are fewer.
    #[inline]
    pub fn slice(&mut self, length: usize) -> Result<&'a [u8]> {
        let Some(slice) = self.bytes.get(self.at..).and_then(|rest| rest.get(..length)) else {
            return self.wrong(format!("{length} bytes should follow, and there are {}", self.left()));
        };
        self.at += length;
        Ok(slice)
    }

    /// Reads a byte.
    ///
    /// # Errors
    /// If there is none.
    #[inline]
    pub fn byte(&mut self) -> Result<u8> {
        self.slice(1).map(|slice| slice[0])
    }

    /// Reads so many bytes as a number.
    #[inline]
    fn plain(&mut self, length: usize) -> Result<u64> {
        let slice = self.slice(length)?;
        let mut bytes = [0; 8];
        if self.is_big {
            bytes[8 - length..].copy_from_slice(slice);
            return Ok(u64::from_be_bytes(bytes));
        }
        bytes[..length].copy_from_slice(slice);
        Ok(u64::from_le_bytes(bytes))
    }

    /// Reads a number of 64 bits in full.
    ///
    /// # Errors
    /// If there are not as many bytes.
    #[inline]
    pub fn full(&mut self) -> Result<u64> {
        self.plain(8)
    }

    /// Reads a number of 32 bits in full.
    ///
    /// # Errors
    /// If there are not as many bytes.
    pub fn full_short(&mut self) -> Result<u32> {
        Ok(self.plain(4)? as u32)
    }

    #[inline]
    fn number(&mut self, most: usize, none: u64) -> Result<u64> {
        match self.byte()? {
            0xff => Ok(none),
            length if usize::from(length) <= most => self.plain(length.into()),
            length => {
                self.at -= 1;
                self.wrong(format!("a number of {length} bytes, where {most} are the most"))
            }
        }
    }

    /// Reads a number of at most 64 bits.
    ///
    /// # Errors
    /// If it is none.
    #[inline]
    pub fn u64(&mut self) -> Result<u64> {
        self.number(8, u64::MAX)
    }

    /// Reads a number of at most 32 bits.
    ///
    /// # Errors
    /// If it is none.
    #[inline]
    pub fn u32(&mut self) -> Result<u32> {
        self.number(4, NONE.into()).map(|number| number as u32)
    }

    /// Reads a text with a zero behind it; bytes that are no UTF-8 are replaced.
    ///
    /// # Errors
    /// If it has no end.
    pub fn text(&mut self) -> Result<String> {
        let rest = &self.bytes[self.at..];
        let Some(length) = rest.iter().position(|&byte| byte == 0) else {
            return self.wrong("a text without an end");
        };
        self.at += length + 1;
        Ok(String::from_utf8_lossy(&rest[..length]).into_owned())
    }

    /// Reads the contents of a record, behind the byte that says of what kind: its length is a byte, or 0xff
    /// and eight bytes.
    ///
    /// # Errors
    /// If it is longer than what is left.
    #[inline]
    pub fn record(&mut self) -> Result<NumberReader<'a>> {
        let length = match self.byte()? {
            0xff => self.full()?,
            length => length.into(),
        };
        let base = self.base + self.at as u64;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        Ok(NumberReader { bytes: self.slice(length)?, at: 0, base, is_big: self.is_big })
    }
}

/// Appends numbers as files have them.
pub trait Put {
    /// Appends a number in full.
    fn full(&mut self, number: u64);
    /// Appends one that is as short as it can be.
    fn number(&mut self, number: u64);
    /// Appends one of 32 bits, of which the greatest means none.
    fn short(&mut self, number: u32);
    /// Appends a text; what is behind a zero in it is left out.
    fn text(&mut self, text: &str);
    /// Appends a record of this kind with what `put` appends.
    fn record(&mut self, kind: u8, put: impl FnOnce(&mut Vec<u8>));
}

impl Put for Vec<u8> {
    fn full(&mut self, number: u64) {
        self.extend(number.to_le_bytes());
    }

    fn number(&mut self, number: u64) {
        if number == u64::MAX {
            return self.push(0xff);
        }
        let length = 8 - number.leading_zeros() as usize / 8;
        self.push(length as u8);
        self.extend(&number.to_le_bytes()[..length]);
    }

    fn short(&mut self, number: u32) {
        if number == NONE { self.push(0xff) } else { self.number(number.into()) }
    }

    fn text(&mut self, text: &str) {
        self.extend(text.bytes().take_while(|&byte| byte != 0));
        self.push(0);
    }

    fn record(&mut self, kind: u8, put: impl FnOnce(&mut Vec<u8>)) {
        self.extend([kind, 0]);
        let begin = self.len();
        put(self);
        let length = self.len() - begin;
        if length < 0xff {
            self[begin - 1] = length as u8;
            return;
        }
        // Few records are that long: those of groups, and of long texts.
        self[begin - 1] = 0xff;
        self.splice(begin..begin, (length as u64).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        let put = |number| {
            let mut bytes = Vec::new();
            bytes.number(number);
            bytes
        };
        assert_eq!(put(0), [0]);
        assert_eq!(put(10), [1, 10]);
        assert_eq!(put(16384), [2, 0, 0x40]);
        assert_eq!(put(u64::MAX), [0xff]);
        let mut bytes = Vec::new();
        bytes.short(NONE);
        assert_eq!(bytes, [0xff]);
    }

    #[test]
    fn numbers_of_machines_with_the_greatest_byte_first_are_read() {
        assert_eq!(NumberReader::new(&[2, 0x40, 0], 0, true).u32(), Ok(16384));
        assert_eq!(NumberReader::new(&[0, 0, 0, 0, 0, 0, 1, 0], 0, true).full(), Ok(256));
    }

    #[test]
    fn errors_name_the_byte() {
        let error = NumberReader::new(&[5, 1, 1, 1, 1, 1], 100, false).u32().unwrap_err();
        assert_eq!(error.to_string(), "byte 100: a number of 5 bytes, where 4 are the most");
        let error = NumberReader::new(&[3, 1], 7, false).u64().unwrap_err();
        assert_eq!(error.to_string(), "byte 8: 3 bytes should follow, and there are 1");
        let error = NumberReader::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], 0, false)
            .record()
            .unwrap_err();
        assert_eq!(error.at, 9);
        assert!(NumberReader::new(b"no end", 0, false).text().is_err());
    }

    proptest! {
        #[test]
        fn what_was_put_is_taken(
            numbers in prop::collection::vec(any::<u64>(), 0..100),
            text in "[a-z]{0,300}",
        ) {
            let mut bytes = Vec::new();
            bytes.record(7, |bytes| {
                numbers.iter().for_each(|&number| bytes.number(number));
                bytes.text(&text);
            });
            let mut take = NumberReader::new(&bytes, 0, false);
            prop_assert_eq!(take.byte(), Ok(7));
            let mut record = take.record().unwrap();
            for &number in &numbers {
                prop_assert_eq!(record.u64(), Ok(number));
            }
            prop_assert_eq!(record.text(), Ok(text));
            prop_assert_eq!((record.left(), take.left()), (0, 0));
        }
    }
}
