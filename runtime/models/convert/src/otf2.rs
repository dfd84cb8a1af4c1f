//! Archives of OTF2, as Score-P and other tools write them: regions of MPI's functions, and in these what
//! they sent, received and took part in.

mod calls;
mod collective;
mod comms;
mod export;
mod import;
mod requests;

pub use export::export;
pub use import::{import, read};
