//! The anchor file: what an archive is, and how long the chunks of its files are.

use crate::numbers::{NumberReader, Put, Result};

/// Lengths that chunks may have; the library's own are from 2^18 on.
const CHUNKS: std::ops::RangeInclusive<u64> = 64..=1 << 24;

/// Lengths of chunks, from the anchor file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Anchor {
    /// Bytes of a chunk of a file with events.
    pub events: u64,
    /// Bytes of a chunk of a file with definitions.
    pub definitions: u64,
}

/// The kinds of bytes at the beginning of a file, the second of which says the order of bytes.
pub const HEADER: u8 = 3;
/// Least byte first.
pub const LITTLE: u8 = 0x42;
/// Greatest byte first.
pub const BIG: u8 = 0x23;
/// Behind the last record of a file.
pub const END_OF_FILE: u8 = 2;

impl Anchor {
    /// Reads the file.
    ///
    /// # Errors
    /// If it is something else, or an archive that is stored in a way that is not read.
    pub fn read(file: &[u8]) -> Result<Anchor> {
        let order = file.get(1).copied().unwrap_or(0);
        let mut take = NumberReader::new(file, 0, order == BIG);
        if take.byte()? != HEADER || ![LITTLE, BIG].contains(&take.byte()?) || take.text()? != "OTF2" {
            return NumberReader::new(file, 0, false).wrong("it is no anchor file of OTF2");
        }
        // Versions of the anchor, of the format, of the library (three bytes).
        take.slice(5)?;
        let chunk = |take: &mut NumberReader| {
            let bytes = take.full()?;
            if CHUNKS.contains(&bytes) { Ok(bytes) } else { take.wrong(format!("chunks of {bytes} bytes")) }
        };
        let (events, definitions) = (chunk(&mut take)?, chunk(&mut take)?);
        match take.byte()? {
            1 => {}
            2 => {
                return take.wrong(
                    "its files are in a SIONlib container, which is not read: otf2-snapshots and Score-P \
                     write plain files by default",
                );
            }
            other => return take.wrong(format!("its files are stored in a way that is not known ({other})")),
        }
        if take.byte()? != 1 {
            return take.wrong("its files are compressed, which is not read");
        }
        Ok(Anchor { events, definitions })
    }

    /// The file of an archive with so many locations and definitions.
    pub fn write(self, locations: u64, definitions: u64) -> Vec<u8> {
        let mut file = vec![HEADER, LITTLE];
        file.text("OTF2");
        // Anchor 3, format 2, and the library whose records these are.
        file.extend([3, 2, 3, 0, 0]);
        file.full(self.events);
        file.full(self.definitions);
        // Plain files that are not compressed.
        file.extend([1, 1]);
        file.full(locations);
        file.full(definitions);
        ["", "xsim", ""].into_iter().for_each(|text| file.text(text));
        // No properties; the identifier is the same for all, so that files are the same on every run.
        file.extend(0u32.to_le_bytes());
        file.full(0x7873_696d);
        // No snapshots and no thumbnails.
        file.extend([0; 8]);
        file.push(END_OF_FILE);
        file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_cut_is_refused() {
        let anchor = Anchor { events: 1 << 20, definitions: 1 << 18 };
        let file = anchor.write(4, 20);
        assert_eq!(Anchor::read(&file), Ok(anchor));
        (0..30).for_each(|length| assert!(Anchor::read(&file[..length]).is_err(), "{length}"));
        let mut other = file.clone();
        other[28] = 2;
        assert!(Anchor::read(&other).unwrap_err().why.contains("SIONlib"));
        other[15] = 1;
        assert!(Anchor::read(&other).unwrap_err().to_string().starts_with("byte 20: chunks of"));
    }
}
