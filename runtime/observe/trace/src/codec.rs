//! Whole numbers as bytes, as trace files have them: small ones take one byte (LEB128), signed ones zigzag
//! first.

use std::fmt;

/// The reason why bytes are no trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// Offset of the defect, from the beginning of the bytes that were read.
    pub at: usize,
    /// Description of the defect.
    pub why: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.at, self.why)
    }
}

impl std::error::Error for Malformed {}

/// Result of reading, with [`Malformed`] as its error.
pub type Result<T> = std::result::Result<T, Malformed>;

/// Appends numbers; O(bytes).
pub trait Put {
    /// Appends seven bits a byte, least significant first, the top bit set in all but the last.
    fn number(&mut self, value: u64);
    /// Appends two's complement with the sign moved to the lowest bit, then as [`Put::number`].
    fn signed(&mut self, value: i64);
    /// Appends as [`Put::number`] does, up to 128 bits.
    fn wide(&mut self, value: u128);
    /// Appends a text's length in bytes, and the text in UTF-8.
    fn text(&mut self, text: &str);
}

/// Moves the sign to the lowest bit.
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Returns the inverse of [`zigzag`].
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

impl Put for Vec<u8> {
    #[inline]
    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }
    #[inline]
    fn signed(&mut self, value: i64) {
        self.number(zigzag(value));
    }
    fn wide(&mut self, mut value: u128) {
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }
    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.extend_from_slice(text.as_bytes());
    }
}

/// Reads numbers from the front of bytes.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Returns a reader at the beginning of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }
    /// Returns how many bytes were read.
    pub fn at(&self) -> usize {
        self.at
    }
    /// Returns how many are left.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }
    /// Returns an error at the place reached.
    pub fn wrong<T>(&self, why: impl Into<String>) -> Result<T> {
        Err(Malformed { at: self.at, why: why.into() })
    }
    /// Reads one byte.
    ///
    /// # Errors
    /// At the end.
    #[inline]
    pub fn byte(&mut self) -> Result<u8> {
        let Some(&byte) = self.bytes.get(self.at) else {
            return self.wrong("it ends in the middle of something");
        };
        self.at += 1;
        Ok(byte)
    }
    /// Reads so many bytes as they are.
    ///
    /// # Errors
    /// If there are fewer.
    pub fn slice(&mut self, length: usize) -> Result<&'a [u8]> {
        if length > self.left() {
            return self.wrong(format!("{length} bytes should follow, but there are {}", self.left()));
        }
        let slice = &self.bytes[self.at..self.at + length];
        self.at += length;
        Ok(slice)
    }
    /// Returns what [`Put::wide`] wrote.
    ///
    /// # Errors
    /// At the end, or for a number of more than 128 bits.
    pub fn wide(&mut self) -> Result<u128> {
        let (mut value, mut shift) = (0u128, 0);
        loop {
            let byte = self.byte()?;
            let part = u128::from(byte & 0x7f);
            if shift > 127 || part << shift >> shift != part {
                return self.wrong("a number has more bits than it may have");
            }
            value |= part << shift;
            shift += 7;
            if byte < 0x80 {
                return Ok(value);
            }
        }
    }
    /// Returns what [`Put::number`] wrote.
    ///
    /// # Errors
    /// At the end, or for a number of more than 64 bits.
    #[inline]
    pub fn number(&mut self) -> Result<u64> {
        let value = self.wide()?;
        u64::try_from(value).or_else(|_| self.wrong("a number has more bits than it may have"))
    }
    /// Returns what [`Put::signed`] wrote.
    ///
    /// # Errors
    /// As for [`Reader::number`].
    pub fn signed(&mut self) -> Result<i64> {
        self.number().map(unzigzag)
    }
    /// Reads a number below `end`, which counts `what`.
    ///
    /// # Errors
    /// If it is not below.
    pub fn index(&mut self, end: usize, what: &str) -> Result<u32> {
        let value = self.number()?;
        if value >= end as u64 {
            self.wrong(format!("{what} {value} is named, but there are {end}"))
        } else {
            Ok(value as u32)
        }
    }
    /// Returns how many of something follow, each of at least `least` bytes: what could not be there is
    /// refused before room is made for it.
    ///
    /// # Errors
    /// If the bytes left cannot hold them.
    pub fn count(&mut self, least: usize, what: &str) -> Result<usize> {
        let value = self.number()?;
        if value > (self.left() / least.max(1)) as u64 {
            return self.wrong(format!("{value} {what} should follow, but only {} bytes do", self.left()));
        }
        Ok(value as usize)
    }
    /// Returns what [`Put::text`] wrote.
    ///
    /// # Errors
    /// If it is too long or no UTF-8.
    pub fn text(&mut self) -> Result<&'a str> {
        let length = self.count(1, "bytes of text")?;
        let at = self.at;
        std::str::from_utf8(self.slice(length)?)
            .map_err(|_| Malformed { at, why: "a text is not UTF-8".into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_read_back(number: u64, signed: i64, wide: u128, text: String) {
            let mut bytes = Vec::new();
            bytes.number(number);
            bytes.signed(signed);
            bytes.wide(wide);
            bytes.text(&text);
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(reader.number().unwrap(), number);
            prop_assert_eq!(reader.signed().unwrap(), signed);
            prop_assert_eq!(reader.wide().unwrap(), wide);
            prop_assert_eq!(reader.text().unwrap(), text);
            prop_assert_eq!(reader.left(), 0);
        }
    }

    #[test]
    fn what_is_too_long_is_refused() {
        assert!(Reader::new(&[0xff; 30]).number().is_err());
        assert!(Reader::new(&[0xff; 30]).wide().is_err());
        assert!(Reader::new(&[0x80]).number().is_err());
        assert!(Reader::new(&[0xff, 0xff, 0x7f, 1]).text().is_err());
        assert_eq!(
            Reader::new(&[7]).index(7, "site").unwrap_err().to_string(),
            "byte 1: site 7 is named, but there are 7"
        );
    }
}
