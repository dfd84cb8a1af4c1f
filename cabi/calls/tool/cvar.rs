//! Control variables (MPI 5.0 section 15.3.6): the options of the run as texts, and whether the calling rank
//! is recorded.

use super::{fails, give_index, give_text, initialized, locked};
use crate::args::{CText, Handle, InOut, Out, OutText};
use crate::call::Call;
use crate::constants::{
    MPI_CHAR, MPI_INT, MPI_T_BIND_NO_OBJECT, MPI_T_CVAR_HANDLE_NULL, MPI_T_ENUM_NULL,
    MPI_T_ERR_CVAR_SET_NEVER, MPI_T_ERR_INVALID_HANDLE, MPI_T_ERR_INVALID_INDEX, MPI_T_SCOPE_CONSTANT,
    MPI_T_SCOPE_LOCAL, MPI_T_VERBOSITY_USER_BASIC,
};
use crate::given;
use mpi::error::Result;
use mpi::handle::{decode, encode};
use mpi::slab::Slab;
use rank::{Addr, memory};
use simulation::options::{Row, TABLE};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// A control variable (MPI 5.0 section 15.3.6).
#[derive(Clone, Copy)]
pub(super) enum ControlVariable {
    /// An option.
    Option(&'static Row),
    /// The recording of the calling rank's calls in the trace, as `xsim_trace_on` and `xsim_trace_off` set
    /// it.
    TraceRank,
}

/// Returns how many there are.
pub(super) fn count() -> usize {
    TABLE.len() + 1
}

/// Returns the variable of an index.
pub(super) fn at(index: usize) -> Option<ControlVariable> {
    match TABLE.get(index) {
        Some(row) => Some(ControlVariable::Option(row)),
        None => (index == TABLE.len()).then_some(ControlVariable::TraceRank),
    }
}

impl ControlVariable {
    pub(super) fn name(self) -> String {
        match self {
            ControlVariable::Option(row) => format!("xsim_{}", row.name.replace('-', "_")),
            ControlVariable::TraceRank => "xsim_trace_rank".to_owned(),
        }
    }
    fn description(self) -> &'static str {
        match self {
            ControlVariable::Option(row) => row.help,
            ControlVariable::TraceRank => {
                "Whether the calling rank's calls are recorded in the trace of -xsim-trace: 0 leaves them \
                 out."
            }
        }
    }
    /// Returns an option's value as text.
    fn text(row: &Row) -> &str {
        given::of(row.name).unwrap_or(row.default)
    }
}

/// A handle's rank and variable.
static HANDLES: Mutex<Option<Slab<(u32, usize)>>> = Mutex::new(None);
/// The value that a rank has written to [`ControlVariable::TraceRank`].
static RECORDED: Mutex<BTreeMap<u32, i32>> = Mutex::new(BTreeMap::new());

/// Forgets the handles of a rank that has left the interface.
pub(super) fn forget(rank: u32) {
    if let Some(handles) = &mut *locked(&HANDLES) {
        handles.retain(|(owner, _)| *owner != rank);
    }
}

fn held(c: &Call, handle: Handle) -> Result<(u32, ControlVariable)> {
    let handles = locked(&HANDLES);
    let found = decode(handle.0).and_then(|index| handles.as_ref()?.get(index).map(|held| (index, *held)));
    match found
        .filter(|(_, (owner, _))| *owner == c.me())
        .and_then(|(index, (_, variable))| at(variable).map(|it| (index, it)))
    {
        Some(found) => Ok(found),
        None => fails(MPI_T_ERR_INVALID_HANDLE),
    }
}

/// `MPI_T_cvar_get_num`.
pub fn get_num(c: &Call, number: Out<i32>) -> Result {
    initialized(c)?;
    number.set(count() as i32);
    Ok(())
}

/// `MPI_T_cvar_get_index`.
pub fn get_index(c: &Call, name: CText, index: Out<i32>) -> Result {
    initialized(c)?;
    let name = name.text();
    give_index((0..count()).find(|&index| at(index).is_some_and(|variable| variable.name() == name)), index)
}

/// `MPI_T_cvar_get_info`.
pub fn get_info(
    c: &Call,
    index: i32,
    name: OutText,
    name_len: InOut<i32>,
    verbosity: Out<i32>,
    datatype: Out<Handle>,
    enumtype: Out<Handle>,
    desc: OutText,
    desc_len: InOut<i32>,
    bind: Out<i32>,
    scope: Out<i32>,
) -> Result {
    initialized(c)?;
    let Some(variable) = usize::try_from(index).ok().and_then(at) else {
        return fails(MPI_T_ERR_INVALID_INDEX);
    };
    let option = matches!(variable, ControlVariable::Option(_));
    give_text(&variable.name(), name, name_len);
    give_text(variable.description(), desc, desc_len);
    verbosity.set(MPI_T_VERBOSITY_USER_BASIC);
    datatype.set(Handle(if option { MPI_CHAR } else { MPI_INT }));
    enumtype.set(Handle(MPI_T_ENUM_NULL));
    bind.set(MPI_T_BIND_NO_OBJECT);
    scope.set(if option { MPI_T_SCOPE_CONSTANT } else { MPI_T_SCOPE_LOCAL });
    Ok(())
}

/// `MPI_T_cvar_handle_alloc`: of a text as many elements as it has with its null byte.
pub fn handle_alloc(c: &Call, index: i32, _object: Addr, handle: Out<Handle>, elements: Out<i32>) -> Result {
    initialized(c)?;
    let Some((index, variable)) =
        usize::try_from(index).ok().and_then(|index| at(index).map(|it| (index, it)))
    else {
        return fails(MPI_T_ERR_INVALID_INDEX);
    };
    let made = locked(&HANDLES).get_or_insert_default().insert((c.me(), index));
    handle.set(Handle(encode(made)));
    elements.set(match variable {
        ControlVariable::Option(row) => ControlVariable::text(row).len() as i32 + 1,
        ControlVariable::TraceRank => 1,
    });
    Ok(())
}

/// `MPI_T_cvar_handle_free`.
pub fn handle_free(c: &Call, handle: InOut<Handle>) -> Result {
    initialized(c)?;
    if handle.at().is_null() {
        return fails(MPI_T_ERR_INVALID_HANDLE);
    }
    let (index, _) = held(c, handle.get())?;
    if let Some(handles) = &mut *locked(&HANDLES) {
        handles.remove(index);
    }
    handle.set(Handle(MPI_T_CVAR_HANDLE_NULL));
    Ok(())
}

/// `MPI_T_cvar_read`.
pub fn read(c: &Call, handle: Handle, buffer: Addr) -> Result {
    initialized(c)?;
    match held(c, handle)?.1 {
        ControlVariable::Option(row) => {
            let text = ControlVariable::text(row);
            OutText(buffer).set(text.as_bytes(), text.len() + 1);
        }
        ControlVariable::TraceRank => {
            memory::store(buffer, locked(&RECORDED).get(&c.me()).copied().unwrap_or(1))
        }
    }
    Ok(())
}

/// `MPI_T_cvar_write`.
pub fn write(c: &Call, handle: Handle, buffer: Addr) -> Result {
    initialized(c)?;
    match held(c, handle)?.1 {
        ControlVariable::Option(_) => fails(MPI_T_ERR_CVAR_SET_NEVER),
        ControlVariable::TraceRank => {
            let on: i32 = memory::load(buffer);
            locked(&RECORDED).insert(c.me(), on);
            crate::recording::listen(c.me(), on != 0);
            Ok(())
        }
    }
}
