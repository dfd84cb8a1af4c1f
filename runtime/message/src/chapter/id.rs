//! Identifiers of chapters' operations where they are carried: in requests, in messages under way, between
//! processes.

/// Which chapter; its number is its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChapterId(pub u8);

impl ChapterId {
    /// Chapters that can be told apart between processes.
    pub const MOST: u8 = 15;
}

/// What a chapter knows one of its operations by, as it likes.
pub type Token = [u32; 2];
