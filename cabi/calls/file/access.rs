//! Accesses to files (MPI 5.0 sections 14.4.2 to 14.4.4).

use crate::args::{Handle, Out, StatusPointer};
use crate::call::{Call, Quick, Wait};
use crate::calls::p2p::status;
use mpi::error::Result;
use mpi::file::Direction::{Read, Write};
use mpi::files::{Access, Pointer};
use mpi::request::Status;
use mpi::world::World;
use rank::Addr;

/// Sets the status of an access that is over; of another one, returns what its second half waits for.
pub fn told(over: std::result::Result<Status, usize>, out: StatusPointer) -> Option<Wait> {
    match over {
        Ok(done) => {
            out.set(&status(&done));
            None
        }
        Err(request) => Some(Wait(request as u64)),
    }
}

/// The second half of an access.
pub fn end(c: &Call, Wait(request): Wait, out: StatusPointer) -> Result {
    out.set(&status(&c.mpi.end_access(request)?));
    Ok(())
}

/// [`write_shared`] of a few bytes.
#[inline(always)]
pub fn write_shared_quickly(
    world: &mut World,
    fh: Handle,
    buf: Addr,
    count: i64,
    datatype: Handle,
    _: StatusPointer,
) -> Quick {
    world
        .write_shared_quickly(fh.0, (buf, count, datatype.0))
        .map_or(Quick::Undone, |word| Quick::Waits(Wait(word)))
}

/// An access by its row: name, blocking and nonblocking form, direction, pointer, whether all members call.
macro_rules! accesses {
    (at: $($name:literal $block:ident $end:ident $start:ident $direction:ident $collective:literal;)*) => { $(
        #[doc = concat!("`MPI_File_", $name, "` up to its wait.")]
        pub fn $block(
            c: &Call, fh: Handle, offset: i64, buf: Addr, count: i64, datatype: Handle, out: StatusPointer
        ) -> Result<Option<Wait>> {
            let (pointer, buffer) = (Pointer::At(offset), (buf, count, datatype.0));
            let access = Access {
                file: fh.0, direction: $direction, pointer, collective: $collective, buffer
            };
            Ok(told(c.mpi.begin_access(access)?, out))
        }
        pub use end as $end;
        #[doc = concat!("The nonblocking form of `MPI_File_", $name, "`.")]
        pub fn $start(
            c: &Call, fh: Handle, offset: i64, buf: Addr, count: i64, datatype: Handle, request: Out<Handle>
        ) -> Result {
            let (pointer, buffer) = (Pointer::At(offset), (buf, count, datatype.0));
            let access = Access {
                file: fh.0, direction: $direction, pointer, collective: $collective, buffer
            };
            request.set(Handle(c.mpi.request_access(access)?));
            Ok(())
        }
    )* };
    (block:
        $($name:literal $block:ident $end:ident $direction:ident $pointer:ident
            $collective:literal;)*) => { $(
        #[doc = concat!("`MPI_File_", $name, "` up to its wait.")]
        pub fn $block(
            c: &Call, fh: Handle, buf: Addr, count: i64, datatype: Handle, out: StatusPointer
        ) -> Result<Option<Wait>> {
            let (pointer, buffer) = (Pointer::$pointer, (buf, count, datatype.0));
            let access = Access {
                file: fh.0, direction: $direction, pointer, collective: $collective, buffer
            };
            Ok(told(c.mpi.begin_access(access)?, out))
        }
        pub use end as $end;
    )* };
    (start: $($name:literal $start:ident $direction:ident $pointer:ident
            $collective:literal;)*) => { $(
        #[doc = concat!("The nonblocking form of `MPI_File_", $name, "`.")]
        pub fn $start(
            c: &Call, fh: Handle, buf: Addr, count: i64, datatype: Handle, request: Out<Handle>
        ) -> Result {
            let (pointer, buffer) = (Pointer::$pointer, (buf, count, datatype.0));
            let access = Access {
                file: fh.0, direction: $direction, pointer, collective: $collective, buffer
            };
            request.set(Handle(c.mpi.request_access(access)?));
            Ok(())
        }
    )* };
}

accesses! { at:
    "read_at" read_at read_at_end iread_at Read false;
    "write_at" write_at write_at_end iwrite_at Write false;
    "read_at_all" read_at_all read_at_all_end iread_at_all Read true;
    "write_at_all" write_at_all write_at_all_end iwrite_at_all Write true;
}
accesses! { block:
    "read" read read_end Read Individual false;
    "write" write write_end Write Individual false;
    "read_all" read_all read_all_end Read Individual true;
    "write_all" write_all write_all_end Write Individual true;
    "read_shared" read_shared read_shared_end Read Shared false;
    "write_shared" write_shared write_shared_end Write Shared false;
    "read_ordered" read_ordered read_ordered_end Read Ordered false;
    "write_ordered" write_ordered write_ordered_end Write Ordered false;
}
accesses! { start:
    "read" iread Read Individual false;
    "write" iwrite Write Individual false;
    "read_all" iread_all Read Individual true;
    "write_all" iwrite_all Write Individual true;
    "read_shared" iread_shared Read Shared false;
    "write_shared" iwrite_shared Write Shared false;
}
