//! Archives of the Open Trace Format, version 2 (OTF2; Score-P, Vampir, Scalasca): what of them has to do
//! with MPI, read and written.
//!
//! An archive `NAME.otf2` is an anchor file of that name, and `NAME.def` with the definitions of all. The
//! directory `NAME` has two files for each location (of MPI: each rank): `N.def` maps its numbers to those of
//! all, and `N.evt` has its events in the order of time.
//!
//! Files are chunks of equal length, each with a header, of records; numbers are as short as they can be
//! ([`numbers`]). The format has no text of its own: this follows the sources of the library (OTF2 3.0,
//! `src/OTF2_Buffer.h`, `src/OTF2_AnchorFile.c`, `src/otf2_events_int.h`, `src/otf2_global_definitions.h`).
//!
//! Memory is that of the definitions and of one chunk, whatever the length of the files.

mod anchor;
mod chunks;
pub mod definitions;
mod event;
pub mod numbers;
mod reader;
mod writer;

pub use definitions::Definitions;
pub use event::{Collective, Event, Message, operation};
pub use reader::{Archive, ArchiveFiles, Events};
pub use writer::{ArchiveDefinitions, ArchiveWriter, Communicator, prepare};
