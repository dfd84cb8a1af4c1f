//! Files that users write, read up to a bound: a path may lead to a device or a pipe that never ends.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// The most bytes of a file of settings: options, rules, a machine.
pub const SETTINGS: u64 = 16 << 20;
/// The most bytes of a file with a line for each of many things: ranks, routers, processes.
pub const LIST: u64 = 1 << 30;

/// Bytes that are looked at at a time.
const CHUNK: u64 = 1 << 20;

/// Reads the text of the file at `path`, if it has at most `most` bytes.
///
/// # Errors
/// Errors of the system; a longer file, and one that is not text, with an error that says so and continues
/// "cannot be read: ".
pub fn read(path: &Path, most: u64) -> Result<String> {
    let mut file = File::open(path)?;
    let mut text = Vec::new();
    loop {
        let from = text.len();
        let room = (most + 1 - from as u64).min(CHUNK);
        if file.by_ref().take(room).read_to_end(&mut text)? == 0 {
            break;
        }
        // No text has such a byte, and what never ends often consists of them.
        if text[from..].contains(&0) {
            return Err(not_text());
        }
        if text.len() as u64 > most {
            return Err(Error::new(
                ErrorKind::FileTooLarge,
                format!("it has more than {} MiB, the most that is read of it", most >> 20),
            ));
        }
    }
    String::from_utf8(text).map_err(|_| not_text())
}

/// Reads the bounds that `3-7` or `3` alone has, both of them in; `None` if it is no number and no two with a
/// dash between them. The first may be the greater one: some say that it must not, others what to do about
/// it.
pub fn bounds(text: &str) -> Option<(u32, u32)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
}

fn not_text() -> Error {
    Error::new(ErrorKind::InvalidData, "it is not a text in UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_two_numbers_or_one() {
        assert_eq!(["3", " 3 - 7", "9-1"].map(bounds), [Some((3, 3)), Some((3, 7)), Some((9, 1))]);
        assert_eq!(["", "-", "3-", "x", "1-2-3", "4294967296"].map(bounds), [None; 6]);
    }

    fn why(path: &Path, most: u64) -> String {
        read(path, most).unwrap_err().to_string()
    }

    #[test]
    fn a_file_is_read_up_to_its_bound() {
        let path = std::env::temp_dir().join(format!("xsim-text-{}", std::process::id()));
        for length in [0, 1, (1 << 20) - 1, 1 << 20, (2 << 20) + 7] {
            std::fs::write(&path, "é".repeat(length / 2) + &"x".repeat(length % 2)).unwrap();
            assert_eq!(read(&path, length as u64).unwrap().len(), length);
            assert_eq!(read(&path, LIST).unwrap().len(), length);
            assert!(length == 0 || why(&path, length as u64 - 1).contains("the most that is read"));
        }
        std::fs::write(&path, [b'a', 0xff]).unwrap();
        assert!(why(&path, 10).contains("not a text"));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(read(&path, 10).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn what_never_ends_is_not_read_for_ever() {
        assert!(why(Path::new("/dev/zero"), LIST).contains("not a text"));
        assert!(why(Path::new("/dev/urandom"), SETTINGS).contains("not a text"));
    }
}
