//! Calls about files of a recording, as a replay has them.

use super::arguments::{Arguments, Comm, Received, RecordedType, Refused};
use super::operation::{Operation, request};
use super::{Cursor, Refusal, Replay};
use crate::call::Call;
use crate::file::{AccessEnd, FileAccess, FileAction, FileCall, View};
use crate::workload::Caller;
use mpi::abi::{MPI_MODE_APPEND, MPI_SEEK_END};
use mpi::file::Direction;
use mpi::files::Pointer;
use std::rc::Rc;
use trace::trace::Cell;

/// A call about a file: the file's number, and what is done.
#[derive(Debug)]
pub(super) struct RecordedFile {
    file: Cell,
    does: Does,
}

/// What a call does to a file, with its numbers by rank.
#[derive(Debug)]
enum Does {
    /// Communicator, name, mode, bytes in the file, info object.
    Open(Comm, Rc<str>, Cell, Option<Cell>, Option<Cell>),
    View(RecordedView),
    Hints(Option<Cell>),
    Access(RecordedAccess),
    /// The name of the whole, and the status of the second half.
    EndSplit(&'static str, Option<Received>),
    /// Offset, whence, bytes in the file.
    Seek(Cell, Cell, Option<Cell>),
    SeekShared(Cell, Cell, Option<Cell>),
    SetSize(Cell),
    Preallocate(Cell),
    Atomicity(Cell),
    /// It needs no numbers.
    Plain(FileAction),
}

#[derive(Debug)]
struct RecordedView {
    disp: Cell,
    etype: RecordedType,
    filetype: RecordedType,
    datarep: Rc<str>,
    info: Option<Cell>,
}

#[derive(Debug)]
struct RecordedAccess {
    direction: Direction,
    /// The pointer, or the offset.
    pointer: Result<Pointer, Cell>,
    collective: bool,
    count: Cell,
    datatype: RecordedType,
    status: Option<Received>,
    ends: Ends,
}

#[derive(Clone, Copy, Debug)]
enum Ends {
    Blocking,
    Request(Cell),
    Split(&'static str),
}

/// The names of split collectives.
const SPLITS: [&str; 6] = [
    "MPI_File_read_all",
    "MPI_File_write_all",
    "MPI_File_read_at_all",
    "MPI_File_write_at_all",
    "MPI_File_read_ordered",
    "MPI_File_write_ordered",
];

/// Data representations that are not the program's own.
const REPRESENTATIONS: [&str; 3] = ["native", "internal", "external32"];

/// Returns what a function is that is about a file; `None` of another.
pub(super) fn file(call: &Arguments, name: &str) -> Result<Option<Operation>, Refused> {
    let known = |name: &str| call.known(name);
    let does = match name {
        "File_open" => {
            let filename = call.text("filename").ok_or("its argument filename is not in the trace")?;
            let (comm, info) = (call.comm("comm")?, call.object("info")?);
            Does::Open(comm, filename.into(), known("amode")?, call.number("size"), info)
        }
        "File_close" => Does::Plain(FileAction::Close),
        "File_set_view" => Does::View(view(call)?),
        "File_set_info" => Does::Hints(call.object("info")?),
        "File_seek" => Does::Seek(known("offset")?, known("whence")?, call.number("size")),
        "File_seek_shared" => Does::SeekShared(known("offset")?, known("whence")?, call.number("size")),
        "File_get_position_shared" => Does::Plain(FileAction::SharedPosition),
        "File_set_size" => Does::SetSize(known("size")?),
        "File_preallocate" => Does::Preallocate(known("size")?),
        "File_set_atomicity" => Does::Atomicity(known("flag")?),
        "File_sync" => Does::Plain(FileAction::Sync),
        _ => match access(call, name)? {
            Some(does) => does,
            None => return Ok(None),
        },
    };
    let file = call.object("fh")?.ok_or("its file is not in the trace")?;
    Ok(Some(Operation::File(RecordedFile { file, does })))
}

fn view(call: &Arguments) -> Result<RecordedView, Refused> {
    let datarep = call.text("datarep").ok_or("its argument datarep is not in the trace")?;
    if !REPRESENTATIONS.contains(&datarep) {
        return Err(format!(
            "the data representation \"{datarep}\" is the program's own; it needs native, internal or \
             external32"
        ));
    }
    let one = |name: &str| {
        let types = call.types(name)?;
        types.first().copied().ok_or_else(|| format!("its argument {name} is not in the trace"))
    };
    let (etype, filetype) = (one("etype")?, one("filetype")?);
    let (datarep, info) = (datarep.into(), call.object("info")?);
    Ok(RecordedView { disp: call.known("disp")?, etype, filetype, datarep, info })
}

fn access(call: &Arguments, name: &str) -> Result<Option<Does>, Refused> {
    let Some(plain) = name.strip_prefix("File_") else { return Ok(None) };
    let starts = plain.starts_with("iread") || plain.starts_with("iwrite");
    let plain = if starts { &plain[1..] } else { plain };
    let (direction, form) = match (plain.strip_prefix("read"), plain.strip_prefix("write")) {
        (Some(form), _) => (Direction::Read, form),
        (_, Some(form)) => (Direction::Write, form),
        _ => return Ok(None),
    };
    let split = |whole: &str| {
        let whole = format!("MPI_File_{whole}");
        SPLITS.iter().copied().find(|known| *known == whole).ok_or("there is no replay of this function")
    };
    if let Some(whole) = plain.strip_suffix("_end") {
        return Ok(Some(Does::EndSplit(split(whole)?, call.status())));
    }
    let (form, ends) = match form.strip_suffix("_begin") {
        Some(form) => (form, Ends::Split(split(plain.trim_end_matches("_begin"))?)),
        None if starts => (form, Ends::Request(request(call)?.ok_or("its request is not in the trace")?)),
        None => (form, Ends::Blocking),
    };
    let (pointer, collective) = match form {
        "" => (Ok(Pointer::Individual), false),
        "_all" => (Ok(Pointer::Individual), true),
        "_at" => (Err(call.known("offset")?), false),
        "_at_all" => (Err(call.known("offset")?), true),
        "_shared" => (Ok(Pointer::Shared), false),
        "_ordered" => (Ok(Pointer::Ordered), false),
        _ => return Ok(None),
    };
    let types = call.types("datatype")?;
    let datatype = *types.first().ok_or("its argument datatype is not in the trace")?;
    let (count, status) = (call.known("count")?, call.status());
    Ok(Some(Does::Access(RecordedAccess { direction, pointer, collective, count, datatype, status, ends })))
}

impl Replay<'_> {
    /// Returns a call about a file.
    pub(super) fn file(
        &self,
        caller: &Caller,
        cursor: &Cursor,
        file: &RecordedFile,
    ) -> Result<Call, Refusal> {
        let number = |cell: Cell| self.number(cursor, cell);
        let size = |is_asked: bool, size: &Option<Cell>| -> Result<u64, Refusal> {
            match size {
                Some(size) => Ok(number(*size).max(0) as u64),
                None if is_asked => {
                    Err("the trace does not say how long the file is; record it again".into())
                }
                None => Ok(0),
            }
        };
        let seek = |offset: &Cell, whence: &Cell, end: &Option<Cell>| {
            let whence = number(*whence) as i32;
            Ok::<_, Refusal>((number(*offset), whence, size(whence == MPI_SEEK_END, end)?))
        };
        let does = match &file.does {
            Does::Open(comm, name, amode, bytes, info) => {
                let amode = number(*amode) as i32;
                FileAction::Open {
                    comm: self.comm(caller, cursor, *comm)?,
                    name: name.clone(),
                    amode,
                    size: size(amode & MPI_MODE_APPEND != 0, bytes)?,
                    hints: self.hints(caller, cursor, *info)?,
                }
            }
            Does::View(RecordedView { disp, etype, filetype, datarep, info }) => FileAction::View(View {
                disp: number(*disp),
                etype: self.type_name(cursor, *etype),
                filetype: self.type_name(cursor, *filetype),
                datarep: datarep.clone(),
                hints: self.hints(caller, cursor, *info)?,
            }),
            Does::Hints(info) => FileAction::Hints(self.hints(caller, cursor, *info)?),
            Does::Access(access) => FileAction::Access(self.file_access(cursor, file.file, access)),
            Does::EndSplit(name, _) => FileAction::EndSplit(name),
            Does::Seek(offset, whence, end) => {
                let (offset, whence, end) = seek(offset, whence, end)?;
                FileAction::Seek(offset, whence, end)
            }
            Does::SeekShared(offset, whence, end) => {
                let (offset, whence, end) = seek(offset, whence, end)?;
                FileAction::SeekShared(offset, whence, end)
            }
            Does::SetSize(size) => FileAction::SetSize(number(*size)),
            Does::Preallocate(size) => FileAction::Preallocate(number(*size)),
            Does::Atomicity(flag) => FileAction::Atomicity(number(*flag) != 0),
            Does::Plain(action) => action.clone(),
        };
        Ok(Call::File(Box::new(FileCall { file: self.slot(cursor, file.file), does })))
    }

    fn file_access(&self, cursor: &Cursor, file: Cell, access: &RecordedAccess) -> FileAccess {
        let ends = match access.ends {
            Ends::Blocking => AccessEnd::Blocking,
            Ends::Request(request) => AccessEnd::Request(self.slot(cursor, request)),
            Ends::Split(name) => AccessEnd::Split(name),
        };
        FileAccess {
            direction: access.direction,
            pointer: access.pointer.unwrap_or_else(|offset| Pointer::At(self.number(cursor, offset))),
            collective: access.collective,
            count: self.number(cursor, access.count),
            datatype: self.type_name(cursor, access.datatype),
            found: self.found(cursor, file, access, ends),
            ends,
        }
    }

    /// Returns how many bytes a read found, where its time depends on that: in atomic mode.
    fn found(&self, cursor: &Cursor, file: Cell, access: &RecordedAccess, ends: AccessEnd) -> Option<u64> {
        if !self.plan.has_atomic_files || access.direction == Direction::Write {
            return None;
        }
        let bytes = match ends {
            AccessEnd::Blocking => self.number(cursor, access.status?.bytes),
            AccessEnd::Request(slot) => self.outcome(cursor, slot)?.bytes,
            AccessEnd::Split(_) => self.end_of_split(cursor, self.slot(cursor, file))?,
        };
        u64::try_from(bytes).ok()
    }

    /// Returns the bytes that the second half of a split read says. O(calls up to then).
    fn end_of_split(&self, cursor: &Cursor, file: u32) -> Option<i64> {
        let mut ahead = cursor.clone();
        while let Some(call) = self.plan.next(&mut ahead.position, &self.columns) {
            if let Operation::File(RecordedFile { file: other, does: Does::EndSplit(_, status) }) =
                &self.plan.operations[call as usize]
                && self.slot(&ahead, *other) == file
            {
                return Some(self.number(&ahead, status.as_ref()?.bytes));
            }
        }
        None
    }
}
