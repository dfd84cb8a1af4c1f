//! A message as a network sees it.

use engine::Time;

/// A place where a rank can be attached: from 0 to before the network's number of endpoints.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct Endpoint(pub u32);

/// What a rank gives to a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Where it leaves.
    pub source: Endpoint,
    /// Where it goes; may equal `source`.
    pub destination: Endpoint,
    /// Payload bytes, zero included.
    pub bytes: u64,
    /// The caller's name for it, given back on delivery.
    pub id: u64,
    /// Traffic class, 0 unless the caller distinguishes any.
    pub class: u8,
}

/// A message that reached its destination whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivered {
    /// `Message::id`.
    pub id: u64,
    /// When its last byte arrived.
    pub at: Time,
}
