//! One-sided calls of a recording, as a replay has them.

use super::arguments::{Arguments, Comm, Length, Refused, request};
use super::{Cursor, Refusal, Replay};
use crate::call::Call;
use crate::window::{WindowAccess, WindowAction, WindowCall};
use crate::workload::Caller;
use mpi::rma::{AccessKind, Flush};
use mpi::win::Flavor;
use std::rc::Rc;
use trace::trace::Cell;

/// A call about a window: the window's number, and what is done.
#[derive(Debug)]
pub(super) struct RecordedWindow {
    win: Cell,
    does: RecordedWindowAction,
}

/// An action on a window, with its numbers by rank.
#[derive(Debug)]
enum RecordedWindowAction {
    /// Size, displacement unit, communicator.
    Make(Flavor, Cell, Cell, Comm),
    /// It needs no numbers.
    Plain(WindowAction),
    Access(RecordedWindowAccess),
    Fence(Cell),
    /// The members of the group, and the assertion.
    Post(Box<[Cell]>, Cell),
    Start(Box<[Cell]>, Cell),
    /// `MPI_Win_test`.
    Test(Cell),
    /// Type, rank, assertion.
    Lock(Cell, Cell, Cell),
    LockAll(Cell),
    Unlock(Cell),
    Flush(Cell, bool),
}

#[derive(Debug)]
struct RecordedWindowAccess {
    kind: AccessKind,
    rank: Cell,
    displacement: Cell,
    length: Length,
    /// `true` if the data lies side by side at the target.
    is_dense: bool,
    request: Option<Cell>,
}

/// Returns what a function is that is about a window; `None` of another.
pub(super) fn window(call: &Arguments, name: &str) -> Result<Option<RecordedWindow>, Refused> {
    let known = |name: &str| call.known(name);
    let flavor = |flavor| -> Result<RecordedWindowAction, Refused> {
        Ok(RecordedWindowAction::Make(flavor, known("size")?, known("disp_unit")?, call.comm("comm")?))
    };
    let plain = |action| Ok::<_, Refused>(RecordedWindowAction::Plain(action));
    let does = match name {
        "Win_create" => flavor(Flavor::Create)?,
        "Win_allocate" => flavor(Flavor::Allocate)?,
        "Win_allocate_shared" => flavor(Flavor::Shared)?,
        "Win_create_dynamic" => {
            RecordedWindowAction::Make(Flavor::Dynamic, Cell::Same(0), Cell::Same(1), call.comm("comm")?)
        }
        "Win_free" => plain(WindowAction::Free)?,
        "Win_fence" => RecordedWindowAction::Fence(known("assert")?),
        "Win_post" => RecordedWindowAction::Post(members(call)?, known("assert")?),
        "Win_start" => RecordedWindowAction::Start(members(call)?, known("assert")?),
        "Win_complete" => plain(WindowAction::Complete)?,
        "Win_wait" => plain(WindowAction::Wait)?,
        "Win_test" => RecordedWindowAction::Test(known("flag")?),
        "Win_lock" => RecordedWindowAction::Lock(known("lock_type")?, known("rank")?, known("assert")?),
        "Win_lock_all" => RecordedWindowAction::LockAll(known("assert")?),
        "Win_unlock" => RecordedWindowAction::Unlock(known("rank")?),
        "Win_unlock_all" => plain(WindowAction::UnlockAll)?,
        "Win_flush" => RecordedWindowAction::Flush(known("rank")?, false),
        "Win_flush_local" => RecordedWindowAction::Flush(known("rank")?, true),
        "Win_flush_all" => plain(WindowAction::Flush(Flush::All, false))?,
        "Win_flush_local_all" => plain(WindowAction::Flush(Flush::All, true))?,
        "Win_sync" => plain(WindowAction::Sync)?,
        _ => match access(call, name)? {
            Some(access) => RecordedWindowAction::Access(access),
            None => return Ok(None),
        },
    };
    let win = call.object("win")?.ok_or("its window is not in the trace")?;
    Ok(Some(RecordedWindow { win, does }))
}

fn access(call: &Arguments, name: &str) -> Result<Option<RecordedWindowAccess>, Refused> {
    let combines = call.name("op") != Some("MPI_NO_OP");
    let kind = match name {
        "Put" | "Rput" => AccessKind::Put,
        "Get" | "Rget" => AccessKind::Get,
        "Accumulate" | "Raccumulate" => AccessKind::Accumulate,
        "Get_accumulate" | "Rget_accumulate" | "Fetch_and_op" => AccessKind::Fetch { combines },
        "Compare_and_swap" => AccessKind::CompareAndSwap,
        _ => return Ok(None),
    };
    let one_element = matches!(name, "Fetch_and_op" | "Compare_and_swap");
    let (length, datatype) = if one_element {
        ((Cell::Same(1), call.datatype("datatype")?), "datatype")
    } else {
        (call.length("target_count", "target_datatype")?, "target_datatype")
    };
    Ok(Some(RecordedWindowAccess {
        kind,
        rank: call.known("target_rank")?,
        // An address in a dynamic window is not in the trace, and decides nothing.
        displacement: call.number("target_disp").unwrap_or(Cell::Same(0)),
        length,
        is_dense: call.name(datatype).is_some(),
        request: if name.starts_with('R') { request(call)? } else { None },
    }))
}

/// Returns the members of a call's group.
fn members(call: &Arguments) -> Result<Box<[Cell]>, Refused> {
    call.numbers("members")
        .map(Vec::into_boxed_slice)
        .map_err(|_| "the trace does not have the members of its group; record the program again".to_owned())
}

impl RecordedWindow {
    /// Returns what says whether it has found something, if it is a poll.
    pub(super) fn flag(&self) -> Option<Cell> {
        if let RecordedWindowAction::Test(flag) = self.does { Some(flag) } else { None }
    }
}

impl Replay<'_> {
    /// Returns a call about a window.
    pub(super) fn window(
        &self,
        caller: &Caller,
        cursor: &Cursor,
        window: &RecordedWindow,
    ) -> Result<Call, Refusal> {
        let number = |cell: Cell| self.number(cursor, cell);
        let short = |cell: Cell| number(cell) as i32;
        // Windows have no communicator of their own in a trace: ranks are as those of MPI_COMM_WORLD.
        let rank = |cell: Cell| self.rank(caller, Call::WORLD, number(cell));
        let does = match &window.does {
            RecordedWindowAction::Make(flavor, size, unit, comm) => {
                let comm = self.comm(caller, cursor, *comm)?;
                WindowAction::Make(*flavor, number(*size), number(*unit), comm)
            }
            RecordedWindowAction::Plain(action) => action.clone(),
            RecordedWindowAction::Access(access) => {
                let bytes = self.bytes(cursor, access.length);
                let extent = if access.is_dense { bytes } else { 0 };
                let request = access.request.map(|request| self.slot(cursor, request));
                let (kind, displacement) = (access.kind, number(access.displacement));
                let rank = rank(access.rank)?;
                WindowAction::Access(WindowAccess { kind, rank, displacement, bytes, extent }, request)
            }
            RecordedWindowAction::Fence(assert) => WindowAction::Fence(short(*assert)),
            RecordedWindowAction::Post(members, assert) => {
                WindowAction::Post(self.group(caller, cursor, members)?, short(*assert))
            }
            RecordedWindowAction::Start(members, assert) => {
                WindowAction::Start(self.group(caller, cursor, members)?, short(*assert))
            }
            RecordedWindowAction::Test(flag) if self.is_vain(cursor, Some(*flag)) => return Ok(Call::Local),
            RecordedWindowAction::Test(_) => WindowAction::Wait,
            RecordedWindowAction::Lock(kind, target, assert) => {
                WindowAction::Lock(short(*kind), rank(*target)?, short(*assert))
            }
            RecordedWindowAction::LockAll(assert) => WindowAction::LockAll(short(*assert)),
            RecordedWindowAction::Unlock(target) => WindowAction::Unlock(rank(*target)?),
            RecordedWindowAction::Flush(target, local) => {
                WindowAction::Flush(Flush::Target(rank(*target)?), *local)
            }
        };
        Ok(Call::Window(Box::new(WindowCall { win: self.slot(cursor, window.win), does })))
    }

    /// Returns the members of a group, all ranks of the run counted.
    fn group(&self, caller: &Caller, cursor: &Cursor, members: &[Cell]) -> Result<Rc<[u32]>, Refusal> {
        let member = |&cell: &Cell| {
            let rank = self.rank(caller, Call::WORLD, self.number(cursor, cell))?;
            u32::try_from(rank)
                .ok()
                .filter(|&rank| rank < self.trace.ranks)
                .map(|rank| rank + caller.first)
                .ok_or_else(|| format!("its group has the rank {rank}, which the trace does not have").into())
        };
        members.iter().map(member).collect()
    }
}
