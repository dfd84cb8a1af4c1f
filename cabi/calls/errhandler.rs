//! Error handlers, classes and codes (MPI 5.0 sections 9.3 to 9.5).

use crate::args::{CText, Handle, InOut, Out, OutText};
use crate::call::Call;
use crate::constants::MPI_MAX_ERROR_STRING;
use crate::failure;
use mpi::attribute::ObjectKind;
use mpi::errhandler::ERRHANDLER_NULL;
use mpi::error::{ErrorClass, Result};

fn create(c: &Call, object: ObjectKind, function: usize, errhandler: Out<Handle>) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    errhandler.set(Handle(world.objects.errhandlers.create(me, object, function, 0)?));
    Ok(())
}

/// `MPI_Comm_create_errhandler`.
pub fn create_comm(c: &Call, function: usize, errhandler: Out<Handle>) -> Result {
    create(c, ObjectKind::Comm, function, errhandler)
}

/// `MPI_Win_create_errhandler`.
pub fn create_win(c: &Call, function: usize, errhandler: Out<Handle>) -> Result {
    create(c, ObjectKind::Win, function, errhandler)
}

/// `MPI_File_create_errhandler`.
pub fn create_file(c: &Call, function: usize, errhandler: Out<Handle>) -> Result {
    create(c, ObjectKind::File, function, errhandler)
}

/// `MPI_Session_create_errhandler`.
pub fn create_session(c: &Call, function: usize, errhandler: Out<Handle>) -> Result {
    create(c, ObjectKind::Session, function, errhandler)
}

/// `MPI_Errhandler_free`.
pub fn free(c: &Call, errhandler: InOut<Handle>) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.errhandlers.free(me, errhandler.get().0)?;
    errhandler.set(Handle(ERRHANDLER_NULL));
    Ok(())
}

/// `MPI_Comm_set_errhandler`.
pub fn set_comm(c: &Call, comm: Handle, errhandler: Handle) -> Result {
    let mut world = c.mpi.world();
    world.objects.comms.get(comm.0)?;
    let me = world.messages.me();
    world.objects.errhandlers.set((ObjectKind::Comm, comm.0 as u64, me), errhandler.0)
}

/// `MPI_Comm_get_errhandler`.
pub fn get_comm(c: &Call, comm: Handle, errhandler: Out<Handle>) -> Result {
    let mut world = c.mpi.world();
    world.objects.comms.get(comm.0)?;
    let me = world.messages.me();
    errhandler.set(Handle(world.objects.errhandlers.get((ObjectKind::Comm, comm.0 as u64, me))?));
    Ok(())
}

/// `MPI_Comm_call_errhandler`.
pub fn call_comm(c: &Call, comm: Handle, errorcode: i32) -> Result {
    c.mpi.world().objects.comms.get(comm.0)?;
    failure::raise(c, &failure::raised(errorcode));
    Ok(())
}

/// `MPI_Error_class`.
pub fn error_class(c: &Call, errorcode: i32, errorclass: Out<i32>) -> Result {
    let world = c.mpi.world();
    errorclass.set(world.objects.codes.class_of(world.messages.me(), ErrorClass(errorcode))?.0);
    Ok(())
}

/// `MPI_Error_string`.
pub fn error_string(c: &Call, errorcode: i32, string: OutText, resultlen: Out<i32>) -> Result {
    let world = c.mpi.world();
    let text = world.objects.codes.string(world.messages.me(), ErrorClass(errorcode))?;
    resultlen.set(string.set(text.as_bytes(), MPI_MAX_ERROR_STRING as usize) as i32);
    Ok(())
}

/// `MPI_Add_error_class`.
pub fn add_error_class(c: &Call, errorclass: Out<i32>) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    errorclass.set(world.objects.codes.add_class(me)?.0);
    Ok(())
}

/// `MPI_Add_error_code`.
pub fn add_error_code(c: &Call, errorclass: i32, errorcode: Out<i32>) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    errorcode.set(world.objects.codes.add_code(me, ErrorClass(errorclass))?.0);
    Ok(())
}

/// `MPI_Add_error_string`.
pub fn add_error_string(c: &Call, errorcode: i32, string: CText) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.codes.add_string(me, ErrorClass(errorcode), &string.text())
}

/// `MPI_Remove_error_class`.
pub fn remove_error_class(c: &Call, errorclass: i32) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.codes.remove_class(me, ErrorClass(errorclass))
}

/// `MPI_Remove_error_code`.
pub fn remove_error_code(c: &Call, errorcode: i32) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.codes.remove_code(me, ErrorClass(errorcode))
}

/// `MPI_Remove_error_string`.
pub fn remove_error_string(c: &Call, errorcode: i32) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.codes.remove_string(me, ErrorClass(errorcode))
}
