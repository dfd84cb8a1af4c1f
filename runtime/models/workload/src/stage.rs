//! Stages of calls of ranks without a program that wait several times, one after the other.

use crate::bridge::Bridging;
use crate::file::{FileAccess, FileView};
use mpi::comm::bridge::LeadersMeeting;
use mpi::file::Transfer;
use mpi::info::Info;
use std::rc::Rc;

/// Rest of a call whose rank waits.
pub(crate) enum CallStage {
    /// All agree on a window, which gets this number.
    Window(u32),
    /// The barrier before the window with this number is given back.
    FreeWindow(u32),
    /// The barrier of a fence on the window with this handle.
    Fence(usize),
    /// All agree on a file, which gets this number, with these hints.
    Open(u32, Rc<Info>),
    /// The barrier before the file with this number is given back.
    Close(u32),
    /// The answer of a file.
    File(FileStage),
    /// An intercommunicator is made.
    Bridge(Box<BridgeStage>),
    /// The answer to a question about ports.
    Port(PortStage),
    /// A partition of a partitioned receive, by the request for it.
    Arrived(Box<usize>),
    /// A test of a request that the rank has no number of.
    Test(Box<usize>),
}

/// Rest of a call that makes an intercommunicator.
pub(crate) enum BridgeStage {
    /// The local group agrees on a communicator of its own, which lasts as long as the call.
    Local(Bridging),
    /// The other leader's message comes.
    Receives(LocalSide, LeadersMeeting),
    /// The message to the other leader has been taken.
    Sends(LocalSide, LeadersMeeting),
    /// All of the local group agree.
    Agrees(LocalSide),
}

/// The local communicator's handle, and whether it ends with the call.
pub(crate) type LocalSide = (usize, bool);

/// Rest of a call that waits for an answer about ports, by its request.
pub(crate) enum PortStage {
    /// About a published name.
    Name(usize),
    /// The root of the communicator with this handle has met another side.
    Meet(usize, usize),
}

/// Rest of a call that waits for a file's answer.
pub(crate) enum FileStage {
    /// Nothing.
    Met,
    /// The view is set.
    View(usize, Box<FileView>),
    Atomicity(usize, bool),
    /// An access begins there.
    Access(Box<Transfer>, usize, FileAccess),
}
