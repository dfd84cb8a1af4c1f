//! Calls that wait several times, one after the other: what remains of them.

use super::{Begun, Blocked, DONE, Machines};
use crate::requests::array_of;
use crate::stage::CallStage;
use crate::workload::Workload;
use mpi::collective::mode::ENDED;
use mpi::error::Result;
use rank::Addr;

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
            CallStage::Bridge(stage) => self.go_on_bridging(rank, *stage, word),
            CallStage::Port(stage) => self.answered(rank, stage),
            // As a test that finds it: the rank takes the partition once it is there.
            CallStage::Arrived(mut look) => {
                self.reach_all(rank, array_of(std::slice::from_mut(&mut *look)))?;
                self.mpi.end_wait(*look)?;
                DONE
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
