//! Split collectives (MPI 5.0 section 14.4.5): a collective access in two calls.

use super::access::told;
use crate::args::{Handle, StatusPointer};
use crate::call::{Call, Wait};
use mpi::error::Result;
use mpi::file::Direction::{Read, Write};
use mpi::files::{Access, Pointer};
use rank::Addr;

fn finish(c: &Call, name: &str, fh: Handle, out: StatusPointer) -> Result<Option<Wait>> {
    let started = c.mpi.files(|files, messages, objects| files.end_split(messages, objects, fh.0, name))?;
    Ok(told(c.mpi.begin_end_of(started)?, out))
}

macro_rules! splits {
    ($($name:literal $begin:ident $finish:ident $end:ident
        $direction:ident $pointer:ident $collective:literal;)*) => { $(
        #[doc = concat!("`", $name, "_begin`.")]
        pub fn $begin(c: &Call, fh: Handle, buf: Addr, count: i64, datatype: Handle) -> Result {
            let (pointer, buffer) = (Pointer::$pointer, (buf, count, datatype.0));
            c.mpi.begin_split(
                $name, Access { file: fh.0, direction: $direction, pointer, collective: $collective, buffer }
            )
        }
        ends!($name $finish $end);
    )* };
}

macro_rules! splits_at {
    ($($name:literal $begin:ident $finish:ident $end:ident $direction:ident;)*) => { $(
        #[doc = concat!("`", $name, "_begin`.")]
        pub fn $begin(c: &Call, fh: Handle, offset: i64, buf: Addr, count: i64, datatype: Handle) -> Result {
            let (pointer, buffer) = (Pointer::At(offset), (buf, count, datatype.0));
            c.mpi.begin_split(
                $name, Access { file: fh.0, direction: $direction, pointer, collective: true, buffer }
            )
        }
        ends!($name $finish $end);
    )* };
}

macro_rules! ends {
    ($name:literal $finish:ident $end:ident) => {
        #[doc = concat!("`", $name, "_end` up to its wait.")]
        pub fn $finish(c: &Call, fh: Handle, _: Addr, out: StatusPointer) -> Result<Option<Wait>> {
            finish(c, $name, fh, out)
        }
        pub use super::access::end as $end;
    };
}

splits! {
    "MPI_File_read_all" read_all_begin read_all_end read_all_end_end Read Individual true;
    "MPI_File_write_all" write_all_begin write_all_end write_all_end_end Write Individual true;
    "MPI_File_read_ordered" read_ordered_begin read_ordered_end read_ordered_end_end Read Ordered false;
    "MPI_File_write_ordered" write_ordered_begin write_ordered_end write_ordered_end_end Write Ordered false;
}
splits_at! {
    "MPI_File_read_at_all" read_at_all_begin read_at_all_end read_at_all_end_end Read;
    "MPI_File_write_at_all" write_at_all_begin write_at_all_end write_at_all_end_end Write;
}
