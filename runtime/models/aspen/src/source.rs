//! Files of a model, and places in them.

use crate::error::AspenError;
use std::path::{Path, PathBuf};

/// A longer file is no model.
const LONGEST: u64 = 16 << 20;

/// Index of a file in [`Sources`].
pub type FileId = u32;

/// Bytes `start..end` of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SourceSpan {
    /// The file.
    pub file: FileId,
    /// The first byte.
    pub start: u32,
    /// The byte after its last.
    pub end: u32,
}

impl SourceSpan {
    /// Returns the span from the first byte of `self` to the last of `other`, which is in the same file.
    pub fn to(self, other: SourceSpan) -> SourceSpan {
        SourceSpan { end: other.end.max(self.end), ..self }
    }
}

/// A file's name, as given or as another file names it, and its text.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// For messages.
    pub name: String,
    /// Path of the file, if it is on disk.
    pub path: Option<PathBuf>,
    /// All of it.
    pub text: String,
}

/// All files that were read, in the order of reading.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<SourceFile>,
}

/// Line and column in a message: both count from one, the column in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineColumn {
    /// Line.
    pub line: usize,
    /// Character in it.
    pub column: usize,
}

impl Sources {
    /// Adds a text that is in memory.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        self.push(SourceFile { name: name.into(), path: None, text: text.into() })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, is longer than 16 MiB or is not UTF-8.
    pub fn read(&mut self, path: &Path) -> Result<FileId, AspenError> {
        let name = path.display().to_string();
        let said = |why: String| AspenError::new(format!("{name} cannot be read: {why}"));
        let about = std::fs::metadata(path).map_err(|why| said(why.to_string()))?;
        if !about.is_file() {
            return Err(said("it is not a file".to_owned()));
        }
        if about.len() > LONGEST {
            return Err(said(format!("{} bytes are more than a model has ({LONGEST})", about.len())));
        }
        let text = std::fs::read_to_string(path).map_err(|why| said(why.to_string()))?;
        Ok(self.push(SourceFile { name, path: Some(path.to_owned()), text }))
    }

    fn push(&mut self, source: SourceFile) -> FileId {
        self.files.push(source);
        (self.files.len() - 1) as FileId
    }

    /// Returns a file.
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id as usize]
    }

    /// Returns how many files there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns `true` if there are none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns what a span covers.
    pub fn text(&self, span: SourceSpan) -> &str {
        &self.file(span.file).text[span.start as usize..span.end as usize]
    }

    /// Returns line and column of a span's first character. O(length of the file).
    pub fn place(&self, span: SourceSpan) -> LineColumn {
        let before = &self.file(span.file).text[..span.start as usize];
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        LineColumn { line: before.matches('\n').count() + 1, column: before[line..].chars().count() + 1 }
    }

    /// Returns the line in which a span begins, without its end.
    pub fn line(&self, span: SourceSpan) -> &str {
        let text = &self.file(span.file).text;
        let start = text[..span.start as usize].rfind('\n').map_or(0, |at| at + 1);
        text[start..].lines().next().unwrap_or_default()
    }
}
