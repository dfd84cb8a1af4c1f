//! Lines of a text that may be longer than memory, and errors that name them.

use std::io::BufRead;

/// The most bytes of one line. A line has as many numbers as there are ranks, where each of these has a block
/// of its own.
const LONGEST: u64 = 1 << 28;

/// The lines of a text, each with its number.
pub struct Lines<R> {
    from: R,
    line: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// Returns the lines, from the first.
    pub fn new(from: R) -> Lines<R> {
        Lines { from, line: Vec::new(), number: 0 }
    }

    /// Reads the next line, without its end, and its number from 1; `None` behind the last.
    ///
    /// # Errors
    /// If it cannot be read, is no text or too long.
    pub fn next(&mut self) -> Result<Option<(u64, &str)>, String> {
        self.line.clear();
        self.number += 1;
        let number = self.number;
        let read = std::io::Read::take(&mut self.from, LONGEST).read_until(b'\n', &mut self.line);
        let read = read.map_err(|why| at(number, &format!("it cannot be read: {why}")))?;
        if read == 0 {
            return Ok(None);
        }
        if read as u64 == LONGEST && !self.line.ends_with(b"\n") {
            return Err(at(number, "it has more than 2^28 bytes"));
        }
        let line = std::str::from_utf8(&self.line).map_err(|_| at(number, "it is no text"))?;
        Ok(Some((number, line.trim_end_matches(['\n', '\r']))))
    }
}

/// Returns an error in a line.
pub fn at(number: u64, why: &str) -> String {
    format!("line {number}: {why}")
}
