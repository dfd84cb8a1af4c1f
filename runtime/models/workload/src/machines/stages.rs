//! Calls that wait several times, one after the other: what remains of them.

use super::file::FileStage;
use super::{Begun, Blocked, DONE, Machines};
use crate::requests::array_of;
use crate::workload::Workload;
use mpi::collective::mode::ENDED;
use mpi::error::Result;
use mpi::info::Info;
use rank::Addr;
use std::rc::Rc;

/// What remains of a call whose rank waits.
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
    /// A test of a request that the rank has no number of.
    Test(Box<usize>),
}

impl<W: Workload> Machines<'_, W> {
    /// Blocks a rank before a stage, or goes on with it if it does not have to wait.
    pub(super) fn stage(&mut self, rank: u32, stage: CallStage, word: usize, waits: bool) -> Result<Begun> {
        if !waits || word == ENDED {
            return self.go_on_with(rank, stage, word);
        }
        self.list(rank).stage = Some(stage);
        Ok(Begun::Blocks(Blocked::Stage, word))
    }

    /// Goes on with the call that a rank was blocked in.
    pub(super) fn end_stage(&mut self, rank: u32) -> Result<Begun> {
        let word = self.machines[rank as usize].word;
        let stage = self.list(rank).stage.take().expect("a rank is blocked before a stage");
        self.release(rank);
        self.go_on_with(rank, stage, word)
    }

    fn go_on_with(&mut self, rank: u32, stage: CallStage, word: usize) -> Result<Begun> {
        match stage {
            CallStage::Window(number) => self.made_window(rank, number, word),
            CallStage::FreeWindow(number) => self.freed_window(rank, number, word),
            CallStage::Fence(handle) => {
                self.mpi.end_collective(word, Addr::NULL)?;
                Ok(Begun::waiting(Blocked::Wait, self.mpi.begin_leave_fence(handle)?))
            }
            CallStage::Open(number, hints) => self.opened_file(rank, (number, hints), word),
            CallStage::Close(number) => self.closed_file(rank, number, word),
            CallStage::File(stage) => {
                let value = self.mpi.end_answer(word)?;
                self.file_answered(rank, stage, value)
            }
            CallStage::Test(mut request) => {
                let array = array_of(std::slice::from_mut(&mut *request));
                self.mpi.end_test_all(array)?;
                DONE
            }
        }
    }

    /// Tests a request that the rank has no number of, whatever comes of it.
    pub(super) fn test_own(&mut self, rank: u32, mut request: Box<usize>) -> Result<Begun> {
        let waits = self.mpi.begin_test_all(array_of(std::slice::from_mut(&mut *request)));
        self.stage(rank, CallStage::Test(request), 0, waits)
    }
}
