//! Faults of traces: a kind, the byte at which each was found, and a sentence.

use std::fmt;

/// Kind of a fault of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChakraFaultKind {
    /// The file cannot be read.
    Unreadable,
    /// A file of the trace is missing, or one too many, or its name has no rank.
    Files,
    /// The file ends within a message.
    Truncated,
    /// A message is longer than any of Chakra's.
    TooLong,
    /// A message is none of Chakra's protocol.
    Undecodable,
    /// The first message is no GlobalMetadata.
    NoMetadata,
    /// A node has a type that Chakra does not define.
    UnknownType,
    /// A node lacks an attribute that its type needs.
    MissingAttribute,
    /// An attribute has a value that it cannot have.
    BadAttribute,
    /// Two nodes have one id.
    Duplicate,
    /// A node waits for one that does not exist.
    UnknownDependency,
    /// Nodes wait for each other in a circle.
    Cycle,
    /// A collective names a process group that does not exist, or that its rank is not in.
    Group,
    /// Members of a process group have different collectives.
    Collectives,
    /// A node has no duration, and nothing says how fast its work is done.
    NoRate,
    /// There are too many nodes, or they take too long.
    Size,
}

/// A fault of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChakraFault {
    /// Kind of the fault.
    pub kind: ChakraFaultKind,
    /// File of the fault; empty for one that is not in a file.
    pub file: String,
    /// Offset in the file, or in what a compressed file contains.
    pub byte: Option<u64>,
    /// The reason, a part of a sentence.
    pub reason: String,
}

impl ChakraFault {
    /// Returns a fault at a byte of a file that is not named yet.
    pub fn at(kind: ChakraFaultKind, byte: u64, reason: impl Into<String>) -> ChakraFault {
        ChakraFault { kind, file: String::new(), byte: Some(byte), reason: reason.into() }
    }

    /// Returns a fault of no byte.
    pub fn of(kind: ChakraFaultKind, reason: impl Into<String>) -> ChakraFault {
        ChakraFault { kind, file: String::new(), byte: None, reason: reason.into() }
    }

    /// Names the file, unless it is named.
    pub fn in_file(mut self, file: &str) -> ChakraFault {
        if self.file.is_empty() {
            file.clone_into(&mut self.file);
        }
        self
    }
}

impl fmt::Display for ChakraFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}: ", self.file)?;
        }
        if let Some(byte) = self.byte {
            write!(f, "byte {byte}: ")?;
        }
        f.write_str(&self.reason)
    }
}

impl std::error::Error for ChakraFault {}
