//! Identifiers of chapters' operations where they are carried: in requests, in messages under way, between
//! processes.

/// Number of a chapter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChapterId(pub u8);

impl ChapterId {
    /// Chapters that can be told apart between processes.
    pub const COUNT: u8 = 15;
}

/// Identifier of an operation within its chapter, which alone interprets it.
pub type Token = [u32; 2];
