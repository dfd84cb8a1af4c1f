//! The file around a trace's contents (FORMAT.md): what it is, its version, how long the
//! contents are and their check sum, and these, compressed. What a process saves while the program runs
//! ([`crate::saved`]) is in such a file too, with another beginning.

use crate::codec::{Malformed, Put, Reader, Result};
use std::io::{Read, Write};

/// Kinds of trace files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceFileKind {
    /// A trace of all that is known of a run.
    Trace,
    /// The part of a trace that one process saved, of a run that may not have come to its end.
    Part,
}

impl TraceFileKind {
    /// Returns what the file begins with; the last byte is the version of the format.
    pub const fn magic(self) -> [u8; 8] {
        match self {
            TraceFileKind::Trace => *b"xsimtrc\x04",
            TraceFileKind::Part => *b"xsimtrp\x03",
        }
    }

    /// Returns the first version that is read.
    const fn oldest(self) -> u8 {
        match self {
            TraceFileKind::Trace => 1,
            TraceFileKind::Part => 3,
        }
    }
}

/// The version of the format of whole traces. Those before are read, too.
pub const VERSION: u8 = TraceFileKind::Trace.magic()[MAGIC - 1];
/// Length of [`TraceFileKind::magic`] in bytes.
pub const MAGIC: usize = TraceFileKind::Trace.magic().len();
/// Contents of up to so many bytes may be as small as they like when compressed; beyond, [`RATIO`] holds.
const SMALL: u64 = 64 << 20;
/// The most bytes of contents for each compressed byte of a file, in addition to [`SMALL`].
const RATIO: u64 = 1000;
/// Brotli's quality and window (in bits): the best, and as far back as it can look.
const QUALITY: u32 = 11;
const WINDOW: u32 = 24;
/// Contents from here on are compressed with less care, which is many times faster.
const LARGE: usize = 16 << 20;
const QUALITY_OF_LARGE: u32 = 6;

/// Returns `true` if a file that begins so is a trace or a part of one, of this version or another.
pub fn is_trace(begin: &[u8]) -> bool {
    [TraceFileKind::Trace, TraceFileKind::Part]
        .iter()
        .any(|kind| begin.starts_with(&kind.magic()[..MAGIC - 1]))
}

/// Returns the file with these contents.
pub fn pack(kind: TraceFileKind, contents: &[u8]) -> Vec<u8> {
    let mut bytes = kind.magic().to_vec();
    bytes.number(contents.len() as u64);
    bytes.extend(crc32fast::hash(contents).to_le_bytes());
    compress(contents, if contents.len() < LARGE { QUALITY } else { QUALITY_OF_LARGE }, &mut bytes);
    bytes
}

/// Returns about how many bytes these are in a file; much faster than [`pack`].
pub fn packed(contents: &[u8]) -> usize {
    let mut bytes = Vec::new();
    compress(contents, QUALITY_OF_LARGE, &mut bytes);
    bytes.len()
}

fn compress(contents: &[u8], quality: u32, bytes: &mut Vec<u8>) {
    let mut writer = brotli::CompressorWriter::new(bytes, 1 << 16, quality, WINDOW);
    writer.write_all(contents).and_then(|()| writer.flush()).expect("memory takes what is written");
}

const NO_TRACE: &str =
    "this is no trace of xsim; xsim trace convert makes one of a GOAL, SimGrid, OTF2 or DUMPI file";

/// Returns what is in a file, of which version, and its contents. The memory is bounded by a thousand times
/// the file's size and 64 MiB.
///
/// # Errors
/// If it is no trace, of another version, or damaged.
pub fn unpack(bytes: &[u8]) -> Result<(TraceFileKind, u8, Vec<u8>)> {
    let at = |at: usize, why: String| Err(Malformed { at, why });
    let kind = if bytes.starts_with(&TraceFileKind::Part.magic()[..MAGIC - 1]) {
        TraceFileKind::Part
    } else {
        TraceFileKind::Trace
    };
    let magic = kind.magic();
    if let Some(place) = bytes.iter().zip(&magic[..MAGIC - 1]).position(|(byte, expected)| byte != expected) {
        return at(place, NO_TRACE.into());
    }
    let version = match bytes.get(MAGIC - 1) {
        None => return at(bytes.len(), "the file ends within its first eight bytes".into()),
        Some(version) if (kind.oldest()..=magic[MAGIC - 1]).contains(version) => *version,
        Some(version) => {
            return at(
                MAGIC - 1,
                format!(
                    "a trace of version {version}, of which this xsim reads {} to {}",
                    kind.oldest(),
                    magic[MAGIC - 1]
                ),
            );
        }
    };
    let mut reader = Reader::new(&bytes[MAGIC..]);
    let moved = |why: Malformed| Malformed { at: why.at + MAGIC, ..why };
    let declared = reader.number().map_err(moved)?;
    let begin = MAGIC + reader.at();
    let sum = reader.slice(4).map_err(moved)?;
    let sum = u32::from_le_bytes(sum.try_into().expect("four bytes"));
    let packed = &bytes[begin + 4..];
    if declared > SMALL + RATIO * packed.len() as u64 {
        return at(begin, format!("{declared} bytes of contents cannot be in a file of {}", bytes.len()));
    }
    let mut contents = Vec::new();
    // One byte more would be too many.
    let mut decoder = brotli::Decompressor::new(packed, 1 << 16).take(declared + 1);
    if let Err(why) = decoder.read_to_end(&mut contents) {
        return at(
            begin + 4,
            format!(
                "the contents cannot be decompressed behind their byte {}: the file is damaged, or it ends \
                 too early ({why})",
                contents.len()
            ),
        );
    }
    if contents.len() as u64 != declared {
        return at(
            begin,
            format!("the contents should have {declared} bytes, but they have {}", contents.len()),
        );
    }
    if crc32fast::hash(&contents) != sum {
        return at(begin, "the contents have another check sum than the file says: it is damaged".into());
    }
    Ok((kind, version, contents))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn contents_come_back_and_damage_is_seen(contents: Vec<u8>, place: usize, change in 1u8..) {
            let mut bytes = pack(TraceFileKind::Trace, &contents);
            prop_assert_eq!(unpack(&bytes).unwrap(), (TraceFileKind::Trace, VERSION, contents.clone()));
            let place = place % bytes.len();
            prop_assert!(unpack(&bytes[..place]).is_err());
            bytes[place] ^= change;
            prop_assert!(unpack(&bytes).map_or(true, |(kind, version, read)| kind == TraceFileKind::Part
                || version != VERSION
                || read == contents));
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_byte() {
        let says = |bytes: &[u8]| unpack(bytes).unwrap_err().to_string();
        assert_eq!(says(b"\x7fELF"), format!("byte 0: {NO_TRACE}"));
        assert_eq!(says(b"xsim"), "byte 4: the file ends within its first eight bytes");
        assert_eq!(says(b"xsimtrc\x09"), "byte 7: a trace of version 9, of which this xsim reads 1 to 4");
        let mut lying = TraceFileKind::Trace.magic().to_vec();
        lying.number(1 << 60);
        lying.extend([0; 20]);
        assert!(says(&lying).contains("bytes of contents cannot be in a file of 37"), "{}", says(&lying));
    }
}
