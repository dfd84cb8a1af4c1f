//! Files as objects (MPI 5.0 sections 14.2, 14.3, 14.6 and 14.7): opened and closed, sizes, hints, views,
//! pointers, consistency, error handlers.

pub mod access;
pub mod split;

use super::info::hints;
use crate::args::{CText, Handle, InOut, Out, OutCount, OutText};
use crate::call::{self, Call};
use crate::callback;
use crate::constants::{MPI_CONVERSION_FN_NULL, MPI_ERR_ARG, MPI_MAX_DATAREP_STRING};
use mpi::attribute::ObjectKind;
use mpi::error::{ErrorClass, Result};
use mpi::file::{ConversionFunctions, Meet, NewView};
use mpi::file_object::FILE_NULL;
use mpi::group::Group;
use rank::Addr;

/// Hints that a file has where the program says nothing, beside `cb_nodes`. They have their effect on
/// machines with a storage model (docs/reference/files.md).
const HINTS: [(&str, &str); 3] =
    [("cb_buffer_size", "16777216"), ("romio_cb_read", "automatic"), ("romio_cb_write", "automatic")];

/// Directs failures of a call that is given no file to the handler of `MPI_FILE_NULL` (MPI 5.0 section 14.7).
fn concerns_no_file(c: &Call) {
    c.concerns(call::Object::File(Handle(FILE_NULL)));
}

/// `MPI_File_open`.
pub fn open(c: &Call, comm: Handle, filename: CText, amode: i32, info: Handle, fh: Out<Handle>) -> Result {
    concerns_no_file(c);
    fh.set(Handle(FILE_NULL));
    let info = hints(c, info)?;
    let handle = c.mpi.open_file(comm.0, &filename.text(), amode)?;
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.files.add_info(me, handle, &info)?;
    world
        .objects
        .errhandlers
        .inherit((ObjectKind::File, FILE_NULL as u64, me), (ObjectKind::File, handle as u64, me));
    fh.set(Handle(handle));
    Ok(())
}

/// `MPI_File_close`.
pub fn close(c: &Call, fh: InOut<Handle>) -> Result {
    let handle = fh.get();
    c.concerns(call::Object::File(handle));
    valid(c, handle)?;
    let closed = c.mpi.close_file(handle.0);
    if valid(c, handle).is_ok() {
        return closed;
    }
    fh.set(Handle(FILE_NULL));
    // What fails because of a member that has failed is for the file's own handler to hear. The number of
    // such a file is not used again.
    if !closed.as_ref().is_err_and(|failure| failure.class == ErrorClass::PROC_FAILED) {
        let mut world = c.mpi.world();
        let me = world.messages.me();
        world.objects.errhandlers.forget((ObjectKind::File, handle.0 as u64, me));
    }
    closed
}

/// `MPI_File_delete`.
pub fn delete(c: &Call, filename: CText, info: Handle) -> Result {
    concerns_no_file(c);
    hints(c, info)?;
    mpi::file::delete(&filename.text())
}

/// Checks that the calling rank has this file open.
pub fn valid(c: &Call, fh: Handle) -> Result {
    let world = c.mpi.world();
    world.objects.files.index(&world.objects.comms, fh.0).map(|_| ())
}

/// `MPI_File_set_size`.
pub fn set_size(c: &Call, fh: Handle, size: i64) -> Result {
    let part = |files: &mut mpi::file::OpenFiles, messages: &mut _, objects: &_, file| {
        files.may_resize(messages, objects, file, size).map(Meet::SetSize)
    };
    c.mpi.meet(fh.0, part).map(|_| ())
}

/// `MPI_File_preallocate`.
pub fn preallocate(c: &Call, fh: Handle, size: i64) -> Result {
    let part = |files: &mut mpi::file::OpenFiles, messages: &mut _, objects: &_, file| {
        files.may_resize(messages, objects, file, size).map(Meet::Preallocate)
    };
    c.mpi.meet(fh.0, part).map(|_| ())
}

/// `MPI_File_get_size`.
pub fn get_size(c: &Call, fh: Handle, size: OutCount) -> Result {
    size.set(c.mpi.files(|files, _, objects| files.size(objects, fh.0))? as i64);
    Ok(())
}

/// `MPI_File_get_group`.
pub fn get_group(c: &Call, fh: Handle, group: Out<Handle>) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    let comm = world.objects.files.get(&world.objects.comms, fh.0)?.comm;
    let communicator = world.objects.comms.get(comm)?;
    let members = if communicator.is_self { Group::of_one(me) } else { communicator.group.clone() };
    group.set(Handle(world.objects.groups.create(me, members)?));
    Ok(())
}

/// `MPI_File_get_amode`.
pub fn get_amode(c: &Call, fh: Handle, amode: Out<i32>) -> Result {
    let world = c.mpi.world();
    amode.set(world.objects.files.get(&world.objects.comms, fh.0)?.amode);
    Ok(())
}

/// `MPI_File_set_info`: hints are kept, and change nothing.
pub fn set_info(c: &Call, fh: Handle, info: Handle) -> Result {
    valid(c, fh)?;
    let info = hints(c, info)?;
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.files.add_info(me, fh.0, &info)
}

/// `MPI_File_get_info`.
pub fn get_info(c: &Call, fh: Handle, info_used: Out<Handle>) -> Result {
    valid(c, fh)?;
    let info = c.mpi.files(|files, messages, objects| {
        let nodes = files.nodes(messages, objects, fh.0)?.to_string();
        let mut defaults = vec![("cb_nodes", nodes.as_str())];
        defaults.extend(HINTS);
        objects.files.info(messages.me(), fh.0, &defaults)
    })?;
    super::info::give(c, info_used, info)
}

/// `MPI_File_set_view`.
pub fn set_view(
    c: &Call,
    fh: Handle,
    disp: i64,
    etype: Handle,
    filetype: Handle,
    datarep: CText,
    info: Handle,
) -> Result {
    set_info(c, fh, info)?;
    c.mpi.set_view(fh.0, &NewView { disp, etype: etype.0, filetype: filetype.0, datarep: &datarep.text() })
}

/// `MPI_File_get_view`.
pub fn get_view(
    c: &Call,
    fh: Handle,
    disp: OutCount,
    etype: Out<Handle>,
    filetype: Out<Handle>,
    datarep: OutText,
) -> Result {
    let view = c.mpi.files(|files, messages, objects| files.view(messages, objects, fh.0))?;
    let (at, elementary, tile, representation) = view.arguments();
    disp.set(at as i64);
    let mut world = c.mpi.world();
    let me = world.messages.me();
    etype.set(Handle(world.objects.types.handle_of(me, elementary)?));
    filetype.set(Handle(world.objects.types.handle_of(me, tile)?));
    datarep.set(representation.as_bytes(), MPI_MAX_DATAREP_STRING as usize);
    Ok(())
}

/// `MPI_File_get_type_extent`.
pub fn get_type_extent(c: &Call, fh: Handle, datatype: Handle, extent: OutCount) -> Result {
    let conversion = c.mpi.files(|files, messages, objects| files.conversion_of(messages, objects, fh.0))?;
    c.mpi.ask_extents(conversion, &[datatype.0])?;
    let bytes = c.mpi.files(|files, messages, objects| {
        let view = files.view(messages, objects, fh.0)?;
        view.extent_of(objects, objects.types.held(messages.me(), datatype.0)?)
    })?;
    extent.set(bytes);
    Ok(())
}

/// `MPI_File_seek`.
pub fn seek(c: &Call, fh: Handle, offset: i64, whence: i32) -> Result {
    c.mpi.files(|files, messages, objects| files.seek(messages, objects, fh.0, (offset, whence), None))
}

/// `MPI_File_get_position`.
pub fn get_position(c: &Call, fh: Handle, offset: OutCount) -> Result {
    offset.set(c.mpi.files(|files, messages, objects| files.position(messages, objects, fh.0))? as i64);
    Ok(())
}

/// `MPI_File_get_byte_offset`.
pub fn get_byte_offset(c: &Call, fh: Handle, offset: i64, disp: OutCount) -> Result {
    disp.set(
        c.mpi.files(|files, messages, objects| files.byte_offset(messages, objects, fh.0, offset))? as i64
    );
    Ok(())
}

/// `MPI_File_seek_shared`.
pub fn seek_shared(c: &Call, fh: Handle, offset: i64, whence: i32) -> Result {
    c.mpi
        .meet(fh.0, |files, messages, objects, file| {
            files.seek_shared(messages, objects, file, (offset, whence), None)
        })
        .map(|_| ())
}

/// `MPI_File_get_position_shared`.
pub fn get_position_shared(c: &Call, fh: Handle, offset: OutCount) -> Result {
    offset.set(c.mpi.shared_position(fh.0)? as i64);
    Ok(())
}

/// `MPI_File_set_atomicity`.
pub fn set_atomicity(c: &Call, fh: Handle, flag: bool) -> Result {
    c.mpi.set_atomicity(fh.0, flag)
}

/// `MPI_File_get_atomicity`.
pub fn get_atomicity(c: &Call, fh: Handle, flag: Out<bool>) -> Result {
    flag.set(c.mpi.files(|files, messages, objects| files.is_atomic(messages, objects, fh.0))?);
    Ok(())
}

/// `MPI_File_sync`: what was written is in the host's file already; all members meet.
pub fn sync(c: &Call, fh: Handle) -> Result {
    c.mpi.meet(fh.0, |_, _, _, _| Ok(Meet::Sync)).map(|_| ())
}

/// A file, or `MPI_FILE_NULL`, whose handler those of new files are copied from.
fn valid_or_null(c: &Call, fh: Handle) -> Result {
    if fh.0 == FILE_NULL { Ok(()) } else { valid(c, fh) }
}

/// `MPI_File_set_errhandler`.
pub fn set_errhandler(c: &Call, fh: Handle, errhandler: Handle) -> Result {
    valid_or_null(c, fh)?;
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.errhandlers.set((ObjectKind::File, fh.0 as u64, me), errhandler.0)
}

/// `MPI_File_get_errhandler`.
pub fn get_errhandler(c: &Call, fh: Handle, errhandler: Out<Handle>) -> Result {
    valid_or_null(c, fh)?;
    let mut world = c.mpi.world();
    let me = world.messages.me();
    errhandler.set(Handle(world.objects.errhandlers.get((ObjectKind::File, fh.0 as u64, me))?));
    Ok(())
}

/// `MPI_File_call_errhandler`.
pub fn call_errhandler(c: &Call, fh: Handle, errorcode: i32) -> Result {
    valid_or_null(c, fh)?;
    crate::failure::raise(c, &crate::failure::raised(errorcode));
    Ok(())
}

/// `MPI_Register_datarep`. Without conversion functions data lies as in memory, and the extents are those of
/// memory.
pub fn register_datarep(
    c: &Call,
    datarep: CText,
    read: usize,
    write: usize,
    extent: usize,
    state: Addr,
    large: bool,
) -> Result {
    concerns_no_file(c);
    if extent == 0 {
        return Err(c.wrong(3, MPI_ERR_ARG, "it is a null pointer; pass a function"));
    }
    let given = |function: usize| {
        (function != MPI_CONVERSION_FN_NULL).then(|| callback::conversion(function, state, large))
    };
    let functions = ConversionFunctions {
        read: given(read),
        write: given(write),
        extent: callback::extent(extent, state),
    };
    let functions = Some(functions).filter(|functions| functions.read.is_some() || functions.write.is_some());
    c.mpi.files(|files, messages, _| files.register(messages, &datarep.text(), functions))
}
