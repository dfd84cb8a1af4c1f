//! Packing (MPI 5.0 sections 5.2 and 5.3).

use super::datatype::held;
use crate::args::{CText, Handle, OutCount};
use crate::call::Call;
use crate::constants::{MPI_ERR_ARG, MPI_ERR_TRUNCATE, MPI_ERR_UNSUPPORTED_DATAREP};
use mpi::datatype::Datatype;
use mpi::error::Result;
use mpi::packing::Packing;
use rank::{Addr, memory};
use std::rc::Rc;

fn usable(c: &Call, datatype: Handle) -> Result<Rc<Datatype>> {
    let world = c.mpi.world();
    world.objects.types.usable(world.messages.me(), datatype.0).cloned()
}

/// Returns the place of `need` bytes at `position` in a packed buffer of `size` bytes; `index` is the
/// argument that gives the size.
fn place(c: &Call, index: usize, position: i64, size: i64, need: u64) -> Result<i64> {
    if position < 0 || position > size {
        return Err(c.wrong(
            index,
            MPI_ERR_ARG,
            format_args!("position {position} is outside the buffer of {size} bytes"),
        ));
    }
    if need > (size - position) as u64 {
        let text =
            format_args!("{need} bytes are needed from position {position} on, but the buffer has {size}");
        return Err(c.wrong(index, MPI_ERR_TRUNCATE, text));
    }
    Ok(position + need as i64)
}

/// `MPI_Pack`.
pub fn pack(
    c: &Call,
    inbuf: Addr,
    incount: i64,
    datatype: Handle,
    outbuf: Addr,
    outsize: i64,
    position: OutCount,
    comm: Handle,
) -> Result {
    c.mpi.world().objects.comms.get(comm.0)?;
    let datatype = usable(c, datatype)?;
    let need = datatype.bytes(incount as u64)?;
    let end = place(c, 4, position.get(), outsize, need)?;
    let to = outbuf.offset(position.get());
    if datatype.contiguous {
        memory::copy(to, inbuf, need as usize);
    } else {
        let mut packed = Vec::with_capacity(need as usize);
        datatype.pack(inbuf, incount as u64, &mut packed);
        memory::write(to, &packed);
    }
    position.set(end);
    Ok(())
}

/// `MPI_Unpack`.
pub fn unpack(
    c: &Call,
    inbuf: Addr,
    insize: i64,
    position: OutCount,
    outbuf: Addr,
    outcount: i64,
    datatype: Handle,
    comm: Handle,
) -> Result {
    c.mpi.world().objects.comms.get(comm.0)?;
    let datatype = usable(c, datatype)?;
    let need = datatype.bytes(outcount as u64)?;
    let end = place(c, 1, position.get(), insize, need)?;
    let from = inbuf.offset(position.get());
    if datatype.contiguous {
        memory::copy(outbuf, from, need as usize);
    } else {
        let mut packed = Vec::with_capacity(need as usize);
        memory::append(from, need as usize, &mut packed);
        datatype.unpack(outbuf, outcount as u64, &packed);
    }
    position.set(end);
    Ok(())
}

/// `MPI_Pack_size`: exact, since packing adds nothing.
pub fn pack_size(c: &Call, incount: i64, datatype: Handle, comm: Handle, size: OutCount) -> Result {
    c.mpi.world().objects.comms.get(comm.0)?;
    size.set(held(c, datatype)?.bytes(incount as u64)? as i64);
    Ok(())
}

fn external32(c: &Call, datarep: CText) -> Result {
    match datarep.text().as_str() {
        "external32" => Ok(()),
        other => {
            let text = format_args!(
                "\"{other}\" is not a data representation of canonical form; pass \"external32\""
            );
            Err(c.wrong(0, MPI_ERR_UNSUPPORTED_DATAREP, text))
        }
    }
}

/// `MPI_Pack_external`.
pub fn pack_external(
    c: &Call,
    datarep: CText,
    inbuf: Addr,
    incount: i64,
    datatype: Handle,
    outbuf: Addr,
    outsize: i64,
    position: OutCount,
) -> Result {
    external32(c, datarep)?;
    let datatype = usable(c, datatype)?;
    let end = place(c, 5, position.get(), outsize, datatype.external_bytes(incount as u64)?)?;
    let mut packed = Vec::with_capacity(datatype.bytes(incount as u64)? as usize);
    datatype.pack(inbuf, incount as u64, &mut packed);
    memory::write(outbuf.offset(position.get()), &datatype.to_external(incount as u64, &packed)?);
    position.set(end);
    Ok(())
}

/// `MPI_Unpack_external`.
pub fn unpack_external(
    c: &Call,
    datarep: CText,
    inbuf: Addr,
    insize: i64,
    position: OutCount,
    outbuf: Addr,
    outcount: i64,
    datatype: Handle,
) -> Result {
    external32(c, datarep)?;
    let datatype = usable(c, datatype)?;
    let need = datatype.external_bytes(outcount as u64)?;
    let end = place(c, 2, position.get(), insize, need)?;
    let mut external = Vec::with_capacity(need as usize);
    memory::append(inbuf.offset(position.get()), need as usize, &mut external);
    datatype.unpack(outbuf, outcount as u64, &datatype.from_external(outcount as u64, &external));
    position.set(end);
    Ok(())
}

/// `MPI_Pack_external_size`.
pub fn pack_external_size(
    c: &Call,
    datarep: CText,
    incount: i64,
    datatype: Handle,
    size: OutCount,
) -> Result {
    external32(c, datarep)?;
    size.set(held(c, datatype)?.external_bytes(incount as u64)? as i64);
    Ok(())
}
