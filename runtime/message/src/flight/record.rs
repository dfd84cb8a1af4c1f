//! What is told to another process when a shared network has delivered it.

use crate::remote::stream::Kind;
use engine::Time;

/// A record that lacks nothing but its arrival.
pub struct Record {
    /// To whom it goes.
    pub process: u32,
    /// Of what kind it is.
    pub kind: Kind,
    /// What it says, behind room for its arrival.
    pub body: Vec<u8>,
}

impl Record {
    /// It has arrived at `at`: that is the first thing it says, eight bytes in picoseconds.
    pub fn fill_in(&mut self, at: Time) {
        self.body[..size_of::<u64>()].copy_from_slice(&at.as_ps().to_le_bytes());
    }
}
