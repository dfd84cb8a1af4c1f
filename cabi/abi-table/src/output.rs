//! Files that a build script writes.

use std::fs;
use std::path::{Path, PathBuf};

/// A directory that generated files are written into.
pub struct Output {
    directory: PathBuf,
}

impl Output {
    /// Makes an output into `directory`, which exists.
    pub fn new(directory: &Path) -> Output {
        Output { directory: directory.to_owned() }
    }

    /// Writes Rust items.
    ///
    /// # Panics
    /// If `text` is not Rust, with the parser's reason and the path to look at; if the file cannot be
    /// written.
    pub fn rust(&self, name: &str, text: &str) {
        self.text(name, text);
        if let Err(why) = syn::parse_file(text) {
            panic!(
                "the generator of {} made text that is not Rust: {why}",
                self.directory.join(name).display()
            );
        }
    }

    /// Writes a text in another language.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn text(&self, name: &str, text: &str) {
        let path = self.directory.join(name);
        fs::write(&path, text).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    }
}
