//! Text of a crash report, for which nothing may be allocated.

use crate::output;

/// Text without allocation; what does not fit is cut off.
pub(crate) struct FixedText {
    bytes: [u8; 512],
    len: usize,
}

impl FixedText {
    pub(crate) fn new() -> FixedText {
        FixedText { bytes: [0; 512], len: 0 }
    }
    /// Writes the text to standard error.
    pub(crate) fn say(&mut self) {
        output::write_fully(2, &self.bytes[..self.len]);
        self.len = 0;
    }
}

impl std::fmt::Write for FixedText {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let n = text.len().min(self.bytes.len() - self.len);
        self.bytes[self.len..self.len + n].copy_from_slice(&text.as_bytes()[..n]);
        self.len += n;
        Ok(())
    }
}
