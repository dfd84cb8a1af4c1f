//! Windows of ranks without a program: making and freeing them, epochs and accesses.

use super::{Begun, Blocked, DONE, Machines};
use crate::call::Answer;
use crate::stage::CallStage;
use crate::window::{WindowAccess, WindowAction, WindowCall};
use crate::workload::Workload;
use mpi::error::{ErrorClass, Failure, Result};
use mpi::group::Group;
use mpi::rma::AccessLength;

impl<W: Workload> Machines<'_, W> {
    pub(super) fn begin_window(&mut self, rank: u32, WindowCall { win, does }: WindowCall) -> Result<Begun> {
        let mpi = self.mpi;
        if let WindowAction::Make(flavor, size, unit, comm) = does {
            let (word, waits) = mpi.begin_window(flavor, size, unit, self.comm(rank, comm))?;
            return self.stage(rank, CallStage::Window(win), word, waits);
        }
        let handle = self.window(rank, win)?;
        let waits = |request: Option<usize>| Ok(Begun::waiting(Blocked::Wait, request));
        match does {
            WindowAction::Make(..) => unreachable!("it was made above"),
            WindowAction::Free => {
                let word = mpi.begin_free_window(handle)?;
                self.stage(rank, CallStage::FreeWindow(win), word, true)
            }
            WindowAction::Access(access, request) => self.access(rank, handle, access, request),
            WindowAction::Fence(assert) => match mpi.enter_fence(handle, assert)? {
                Some(word) => self.stage(rank, CallStage::Fence(handle), word, true),
                None => waits(mpi.begin_leave_fence(handle)?),
            },
            WindowAction::Post(ranks, assert) => {
                mpi.post(handle, &Group::from_ranks(ranks.to_vec()), assert)?;
                DONE
            }
            WindowAction::Start(ranks, assert) => {
                let group = Group::from_ranks(ranks.to_vec());
                waits(mpi.begin_epoch(handle, |rma, messages, objects| {
                    rma.start(messages, objects, handle, &group, assert)
                })?)
            }
            WindowAction::Complete => waits(
                mpi.begin_epoch(handle, |rma, messages, objects| rma.complete(messages, objects, handle))?,
            ),
            WindowAction::Wait => waits(mpi.begin_epoch(handle, |rma, messages, objects| {
                rma.exposure(messages, objects, handle).map(Some)
            })?),
            WindowAction::Lock(kind, target, assert) => {
                waits(mpi.begin_epoch(handle, |rma, messages, objects| {
                    rma.lock(messages, objects, handle, (kind, target, assert))
                })?)
            }
            WindowAction::LockAll(assert) => {
                mpi.rma(|rma, messages, objects| rma.lock_all(messages, objects, handle, assert))?;
                DONE
            }
            WindowAction::Unlock(target) => waits(mpi.begin_epoch(handle, |rma, messages, objects| {
                rma.unlock(messages, objects, handle, target)
            })?),
            WindowAction::UnlockAll => {
                waits(mpi.begin_epoch(handle, |rma, messages, objects| {
                    rma.unlock_all(messages, objects, handle)
                })?)
            }
            WindowAction::Flush(which, local) => {
                waits(mpi.begin_epoch(handle, |rma, messages, objects| {
                    rma.flush(messages, objects, handle, which, local)
                })?)
            }
            WindowAction::Sync => {
                let request = Box::new(mpi.sync_request(handle)?);
                self.test_own(rank, request)
            }
        }
    }

    fn access(
        &mut self,
        rank: u32,
        win: usize,
        WindowAccess { kind, rank: target, displacement, bytes, extent }: WindowAccess,
        number: Option<u32>,
    ) -> Result<Begun> {
        let wants_request = number.is_some();
        let asked = AccessLength { win, kind, rank: target, displacement, bytes, extent, wants_request };
        let request = self.mpi.rma(|rma, messages, objects| rma.issue_length(messages, objects, &asked))?;
        match number {
            Some(number) => self.open(rank, number, request),
            None => DONE,
        }
    }

    /// Returns the handle of a rank's window.
    fn window(&self, rank: u32, win: u32) -> Result<usize> {
        self.windows.get(&(rank, win)).copied().ok_or_else(|| {
            Failure::new(ErrorClass::WIN, format!("the rank has not made a window with the number {win}"))
        })
    }

    pub(super) fn made_window(&mut self, rank: u32, win: u32, word: usize) -> Result<Begun> {
        let handle = self.mpi.end_window(word)?;
        self.windows.insert((rank, win), handle);
        Ok(Begun::Done(Answer::Done))
    }

    pub(super) fn freed_window(&mut self, rank: u32, win: u32, word: usize) -> Result<Begun> {
        let handle = self.window(rank, win)?;
        self.mpi.end_free_window(word, handle)?;
        self.windows.remove(&(rank, win));
        Ok(Begun::Done(Answer::Done))
    }
}
