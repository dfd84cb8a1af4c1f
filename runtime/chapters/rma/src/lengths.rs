//! Accesses in runs without payloads: a call says how long its data is, and no memory is touched.
//!
//! They take the path of those with memory (`issue.rs`), so that their times are the same.

use crate::access::TargetAction;
use crate::atomic::{Bytes, Combine};
use crate::issue::{BYTES, Target, outside};
use crate::origin::WindowPair;
use crate::place::TargetMemory;
use crate::state::Rma;
use objects::Objects;
use objects::error::Result;
use objects::op::Predefined;
use objects::win::Flavor;
use p2p::Messages;
use p2p::handle::REQUEST_SENT;
use p2p::request::PROC_NULL;
use p2p::view::BufferView;

/// Effect of an access without data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// `MPI_Put`.
    Put,
    /// `MPI_Get`.
    Get,
    /// `MPI_Accumulate`.
    Accumulate,
    /// `MPI_Get_accumulate`, `MPI_Fetch_and_op`.
    Fetch {
        /// `true` if it combines: with `MPI_NO_OP` it brings nothing.
        combines: bool,
    },
    /// `MPI_Compare_and_swap`.
    CompareAndSwap,
}

/// An access without its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessLength {
    /// The window's handle.
    pub win: usize,
    /// The operation.
    pub kind: AccessKind,
    /// The target in the window's group.
    pub rank: i32,
    /// In the target's displacement units; of a dynamic window any.
    pub displacement: i64,
    /// Bytes of data at the target.
    pub bytes: u64,
    /// Bytes from the displacement on that have to be in the window.
    pub extent: u64,
    /// `true` if it is completed by a request.
    pub wants_request: bool,
}

impl AccessKind {
    fn action(self) -> TargetAction {
        let combine = |op| Combine { op, element: BYTES };
        match self {
            AccessKind::Put => TargetAction::Put,
            AccessKind::Get => TargetAction::Get,
            AccessKind::Accumulate => TargetAction::Accumulate(combine(Predefined::Replace)),
            AccessKind::Fetch { combines: true } => TargetAction::Fetch(combine(Predefined::Replace)),
            AccessKind::Fetch { combines: false } => TargetAction::Fetch(combine(Predefined::NoOp)),
            AccessKind::CompareAndSwap => TargetAction::CompareAndSwap,
        }
    }
}

impl Rma {
    /// Makes the mounted rank's access; returns the handle of a request if one is wanted.
    ///
    /// # Errors
    /// As [`Rma::issue`].
    pub fn issue_length(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        asked: &AccessLength,
    ) -> Result<usize> {
        debug_assert!(!messages.payloads().are_carried(), "who has payloads has memory");
        let &AccessLength { win, kind, rank, displacement, bytes, extent, wants_request } = asked;
        let index = objects.wins.index(&objects.comms, win)?;
        if rank == PROC_NULL {
            return Ok(REQUEST_SENT);
        }
        let object = objects.wins.at(index);
        let (_, _, to) = objects.comms.partner(object.comm, rank, "target_rank")?;
        if object.flavor != Flavor::Dynamic {
            let target = Target { rank, displacement, count: 1, datatype: 0 };
            let (unit, size) = (object.units.get(rank as u32), object.exposed[rank as usize].size);
            let at = target.offset(unit)?;
            if extent != 0 && (at as u64).saturating_add(extent) > size {
                return Err(outside(target, unit, size, (at, at.saturating_add_unsigned(extent))));
            }
        }
        let pair = WindowPair { win: index, me: messages.me(), to };
        let action = kind.action();
        let epoch = self.way(messages, objects, pair, action)?;
        epoch.may_have_request(wants_request)?;
        let place = TargetMemory { at: 0, bytes, blocks: None };
        let result = action.fetches().then(|| BufferView::length(bytes));
        Ok(self.send_access(
            messages,
            objects,
            pair,
            (action, epoch),
            place,
            (Bytes::new(), result),
            wants_request,
        ))
    }
}
