//! A rank's share in a window: when it gets it and gives it back, and the memory that it attaches to a
//! dynamic one.

use crate::check::unsynchronized;
use crate::state::Rma;
use engine::record::Take;
use objects::Objects;
use objects::error::{ErrorClass, Failure, Result};
use objects::win::{Flavor, WIN_NULL};
use p2p::Messages;
use rank::Addr;

impl Rma {
    /// The mounted rank has got a window: what came for it before it was made here is there.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`.
    // Members on other processes may have got the window first and accessed this one's memory: kept by
    // context until it has an index here.
    pub fn made(&mut self, messages: &mut Messages, objects: &Objects, win: usize) -> Result {
        if self.early.is_empty() || win == WIN_NULL {
            return Ok(());
        }
        for (context, kind, body) in std::mem::take(&mut self.early) {
            if objects.wins.by_context(context).is_none() {
                self.early.push((context, kind, body));
                continue;
            }
            self.receive_record(messages, objects, kind, Take(&body));
        }
        Ok(())
    }

    /// Checks that the mounted rank may free a window. Returns the window's communicator.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`; `MPI_ERR_RMA_SYNC` in an epoch of locks, of `MPI_Win_start` or of `MPI_Win_post`.
    pub fn may_free(&self, messages: &Messages, objects: &Objects, win: usize) -> Result<usize> {
        let index = objects.wins.index(&objects.comms, win)?;
        self.is_in_no_epoch(index, messages.me(), "MPI_Win_free")?;
        if self.exposures.contains_key(&(index, messages.me())) {
            return Err(unsynchronized(
                "the window is exposed by MPI_Win_post: call MPI_Win_wait before MPI_Win_free",
            ));
        }
        Ok(objects.wins.at(index).comm)
    }

    /// Gives a window of the mounted rank back.
    pub fn give_back(&mut self, messages: &mut Messages, win: u32) {
        let place = (win, messages.me());
        self.attached.remove(&place);
        self.drop_channels(win, messages.me());
        self.origins.remove(place);
        if let Some(request) = self.syncs.remove(&place) {
            messages.requests_mut().remove(request);
        }
    }

    /// `MPI_Win_attach`.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`, `MPI_ERR_SIZE`; `MPI_ERR_RMA_FLAVOR` for another kind of window; `MPI_ERR_RMA_ATTACH`
    /// for memory that overlaps what is attached.
    // O(pieces attached). Overlapping ones are refused (MPI 5.0 section 12.2.4), or detaching one would take
    // the other's memory away.
    pub fn attach(
        &mut self,
        messages: &Messages,
        objects: &Objects,
        win: usize,
        base: Addr,
        size: i64,
    ) -> Result {
        let index = self.dynamic(objects, win)?;
        let Ok(size) = u64::try_from(size) else {
            return Err(Failure::new(
                ErrorClass::SIZE,
                format!("size {size} is negative: use 0 or more bytes"),
            ));
        };
        let list = self.attached.entry((index, messages.me())).or_default();
        let overlaps = |&(other, bytes): &(usize, u64)| {
            (base.0 as u64) < other as u64 + bytes && (other as u64) < base.0 as u64 + size
        };
        if list.iter().any(overlaps) {
            return Err(Failure::new(
                ErrorClass::RMA_ATTACH,
                format!(
                    "the {size} bytes from {:#x} on overlap memory that is attached: detach that with \
                     MPI_Win_detach first",
                    base.0
                ),
            ));
        }
        list.push((base.0, size));
        Ok(())
    }

    /// Implements `MPI_Win_detach`.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`, `MPI_ERR_RMA_FLAVOR`; `MPI_ERR_BASE` for memory that is not attached.
    pub fn detach(&mut self, messages: &Messages, objects: &Objects, win: usize, base: Addr) -> Result {
        let index = self.dynamic(objects, win)?;
        let list = self.attached.entry((index, messages.me())).or_default();
        let Some(place) = list.iter().position(|&(other, _)| other == base.0) else {
            let text = format!(
                "no memory is attached from {:#x} on: pass the address that MPI_Win_attach was given",
                base.0
            );
            return Err(Failure::new(ErrorClass::BASE, text));
        };
        list.swap_remove(place);
        Ok(())
    }

    fn dynamic(&self, objects: &Objects, win: usize) -> Result<u32> {
        let index = objects.wins.index(&objects.comms, win)?;
        if objects.wins.at(index).flavor != Flavor::Dynamic {
            return Err(Failure::new(
                ErrorClass::RMA_FLAVOR,
                "memory is attached to windows of MPI_Win_create_dynamic alone",
            ));
        }
        Ok(index)
    }
}
