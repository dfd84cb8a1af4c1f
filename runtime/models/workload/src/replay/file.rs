//! Calls about files of a recording, as a replay has them.

use super::arguments::{Arguments, Comm, Received, RecordedType, Refused, request};
use super::{Cursor, Refusal, Replay};
use crate::call::Call;
use crate::file::{AccessEnd, FileAccess, FileAction, FileCall, FileView};
use crate::workload::Caller;
use mpi::abi::{MPI_MODE_APPEND, MPI_SEEK_END};
use mpi::error::ErrorClass;
use mpi::file::Direction;
use mpi::files::Pointer;
use std::rc::Rc;
use trace::trace::Cell;

/// A call about a file: the file's number, and what is done.
#[derive(Debug)]
pub(super) struct RecordedFile {
    file: Cell,
    does: RecordedFileAction,
}

/// An action on a file, with its numbers by rank.
#[derive(Debug)]
enum RecordedFileAction {
    /// Communicator, name, mode, bytes in the file, info object.
    /// And the error with which it failed.
    Open(Comm, Rc<str>, Cell, Option<Cell>, Option<Cell>, Option<i32>),
    View(RecordedView),
    Hints(Option<Cell>),
    Access(RecordedFileAccess),
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
struct RecordedFileAccess {
    direction: Direction,
    /// The pointer, or the offset.
    pointer: Result<Pointer, Cell>,
    collective: bool,
    count: Cell,
    datatype: RecordedType,
    status: Option<Received>,
    ends: RecordedEnd,
}

#[derive(Clone, Copy, Debug)]
enum RecordedEnd {
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

/// Errors of an opening that follow from the members' modes, or none.
const MODES_DIFFER: [i32; 3] = [0, ErrorClass::AMODE.0, ErrorClass::NOT_SAME.0];

/// Data representations that are not the program's own.
const REPRESENTATIONS: [&str; 3] = ["native", "internal", "external32"];

/// Returns what a function is that is about a file; `None` of another.
pub(super) fn file(call: &Arguments, name: &str) -> Result<Option<RecordedFile>, Refused> {
    let known = |name: &str| call.known(name);
    let does = match name {
        "File_open" => {
            let filename = call.text("filename").ok_or("its argument filename is not in the trace")?;
            let (comm, info) = (call.comm("comm")?, call.object("info")?);
            let (amode, size) = (known("amode")?, call.number("size"));
            let failure = Some(call.template.code).filter(|code| !MODES_DIFFER.contains(code));
            RecordedFileAction::Open(comm, filename.into(), amode, size, info, failure)
        }
        "File_close" => RecordedFileAction::Plain(FileAction::Close),
        "File_set_view" => RecordedFileAction::View(view(call)?),
        "File_set_info" => RecordedFileAction::Hints(call.object("info")?),
        "File_seek" => RecordedFileAction::Seek(known("offset")?, known("whence")?, call.number("size")),
        "File_seek_shared" => {
            RecordedFileAction::SeekShared(known("offset")?, known("whence")?, call.number("size"))
        }
        "File_get_position_shared" => RecordedFileAction::Plain(FileAction::SharedPosition),
        "File_set_size" => RecordedFileAction::SetSize(known("size")?),
        "File_preallocate" => RecordedFileAction::Preallocate(known("size")?),
        "File_set_atomicity" => RecordedFileAction::Atomicity(known("flag")?),
        "File_sync" => RecordedFileAction::Plain(FileAction::Sync),
        _ => match access(call, name)? {
            Some(does) => does,
            None => return Ok(None),
        },
    };
    // Who could not open a file has none.
    let file = match call.object("fh")? {
        None if matches!(does, RecordedFileAction::Open(..)) && call.template.code != 0 => Cell::Same(0),
        file => file.ok_or("its file is not in the trace")?,
    };
    Ok(Some(RecordedFile { file, does }))
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

fn access(call: &Arguments, name: &str) -> Result<Option<RecordedFileAction>, Refused> {
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
        return Ok(Some(RecordedFileAction::EndSplit(split(whole)?, call.status())));
    }
    let (form, ends) = match form.strip_suffix("_begin") {
        Some(form) => (form, RecordedEnd::Split(split(plain.trim_end_matches("_begin"))?)),
        None if starts => {
            (form, RecordedEnd::Request(request(call)?.ok_or("its request is not in the trace")?))
        }
        None => (form, RecordedEnd::Blocking),
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
    Ok(Some(RecordedFileAction::Access(RecordedFileAccess {
        direction,
        pointer,
        collective,
        count,
        datatype,
        status,
        ends,
    })))
}

impl RecordedFile {
    /// Returns the file and the status of the second half of a split access.
    pub(super) fn end_of_split(&self) -> Option<(Cell, Option<Received>)> {
        match self.does {
            RecordedFileAction::EndSplit(_, status) => Some((self.file, status)),
            _ => None,
        }
    }
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
            RecordedFileAction::Open(comm, name, amode, bytes, info, failure) => {
                let amode = number(*amode) as i32;
                FileAction::Open {
                    comm: self.comm(caller, cursor, *comm)?,
                    name: name.clone(),
                    amode,
                    size: size(amode & MPI_MODE_APPEND != 0 && failure.is_none(), bytes)?,
                    hints: self.hints(caller, cursor, *info)?,
                    failure: *failure,
                }
            }
            RecordedFileAction::View(RecordedView { disp, etype, filetype, datarep, info }) => {
                FileAction::View(FileView {
                    disp: number(*disp),
                    etype: self.type_name(cursor, *etype),
                    filetype: self.type_name(cursor, *filetype),
                    datarep: datarep.clone(),
                    hints: self.hints(caller, cursor, *info)?,
                })
            }
            RecordedFileAction::Hints(info) => FileAction::Hints(self.hints(caller, cursor, *info)?),
            RecordedFileAction::Access(access) => {
                FileAction::Access(self.file_access(cursor, file.file, access))
            }
            RecordedFileAction::EndSplit(name, _) => FileAction::EndSplit(name),
            RecordedFileAction::Seek(offset, whence, end) => {
                let (offset, whence, end) = seek(offset, whence, end)?;
                FileAction::Seek(offset, whence, end)
            }
            RecordedFileAction::SeekShared(offset, whence, end) => {
                let (offset, whence, end) = seek(offset, whence, end)?;
                FileAction::SeekShared(offset, whence, end)
            }
            RecordedFileAction::SetSize(size) => FileAction::SetSize(number(*size)),
            RecordedFileAction::Preallocate(size) => FileAction::Preallocate(number(*size)),
            RecordedFileAction::Atomicity(flag) => FileAction::Atomicity(number(*flag) != 0),
            RecordedFileAction::Plain(action) => action.clone(),
        };
        Ok(Call::File(Box::new(FileCall { file: self.slot(cursor, file.file), does })))
    }

    fn file_access(&self, cursor: &Cursor, file: Cell, access: &RecordedFileAccess) -> FileAccess {
        let ends = match access.ends {
            RecordedEnd::Blocking => AccessEnd::Blocking,
            RecordedEnd::Request(request) => AccessEnd::Request(self.slot(cursor, request)),
            RecordedEnd::Split(name) => AccessEnd::Split(name),
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
    fn found(
        &self,
        cursor: &Cursor,
        file: Cell,
        access: &RecordedFileAccess,
        ends: AccessEnd,
    ) -> Option<u64> {
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
}
