//! Info objects of a recording, which say how collective accesses to files are buffered.

use super::arguments::{Arguments, Refused};
use super::{Cursor, Refusal, Replay};
use crate::call::Call;
use crate::workload::Caller;
use mpi::info::Info;
use std::rc::Rc;
use trace::trace::Cell;

/// A call about an info object.
#[derive(Debug)]
pub(super) enum InfoOperation {
    Create(Cell),
    /// The object that is copied, and the new one.
    Dup(Cell, Cell),
    Set(Cell, Box<str>, Box<str>),
    Delete(Cell, Box<str>),
    Free(Cell),
}

/// Returns what a function is that makes or changes an info object; `None` of another.
pub(super) fn info(call: &Arguments, name: &str) -> Result<Option<InfoOperation>, Refused> {
    let object = |name: &str| call.object(name);
    let text = |name: &str| call.text(name).map(Box::<str>::from);
    let operation = match name {
        "Info_create" => object("info")?.map(InfoOperation::Create),
        "Info_dup" => object("info")?.zip(object("newinfo")?).map(|(of, new)| InfoOperation::Dup(of, new)),
        "Info_set" => match (object("info")?, text("key"), text("value")) {
            (Some(info), Some(key), Some(value)) => Some(InfoOperation::Set(info, key, value)),
            _ => None,
        },
        "Info_delete" => object("info")?.zip(text("key")).map(|(info, key)| InfoOperation::Delete(info, key)),
        "Info_free" => object("info")?.map(InfoOperation::Free),
        _ => None,
    };
    Ok(operation)
}

impl Replay<'_> {
    /// Makes or changes an info object of a rank.
    pub(super) fn change_info(&self, caller: &Caller, cursor: &Cursor, operation: &InfoOperation) -> Call {
        let slot = |cell: Cell| self.slot(cursor, cell);
        let mut made = self.made.borrow_mut();
        let infos = &mut made.entry(caller.rank).or_default().infos;
        let find = |infos: &[(u32, Rc<Info>)], number: u32| {
            infos.iter().find(|(known, _)| *known == number).map(|(_, info)| info.clone())
        };
        let (number, info) = match operation {
            InfoOperation::Create(info) => (slot(*info), Some(Rc::default())),
            InfoOperation::Dup(of, new) => (slot(*new), find(infos, slot(*of))),
            InfoOperation::Set(info, key, value) => {
                let mut changed = find(infos, slot(*info));
                if let Some(info) = &mut changed {
                    // What MPI refused then is refused again.
                    _ = Rc::make_mut(info).set(key, value);
                }
                (slot(*info), changed)
            }
            InfoOperation::Delete(info, key) => {
                let mut changed = find(infos, slot(*info));
                if let Some(info) = &mut changed {
                    _ = Rc::make_mut(info).delete(key);
                }
                (slot(*info), changed)
            }
            InfoOperation::Free(info) => (slot(*info), None),
        };
        infos.retain(|(known, _)| *known != number);
        infos.extend(info.map(|info| (number, info)));
        Call::Local
    }

    /// Returns the hints in an info object of a rank; none where there is no object.
    pub(super) fn hints(
        &self,
        caller: &Caller,
        cursor: &Cursor,
        info: Option<Cell>,
    ) -> Result<Rc<Info>, Refusal> {
        let Some(info) = info else { return Ok(Rc::default()) };
        let number = self.slot(cursor, info);
        let made = self.made.borrow();
        let known = made.get(&caller.rank).and_then(|made| {
            made.infos.iter().find(|(known, _)| *known == number).map(|(_, info)| info.clone())
        });
        known.ok_or_else(|| "its hints are in an info object that no MPI_Info_create made".into())
    }
}
