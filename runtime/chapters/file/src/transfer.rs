//! Data between the program's memory and the host's file, along a view.

use crate::access::Pieces;
use crate::host::HostFile;
use crate::view::View;
use objects::datatype::Datatype;
use objects::error::Result;
use p2p::packing::Packing;
use p2p::view::BufferView;
use rank::memory;
use std::rc::Rc;

/// Bytes that are moved at a time where they need no conversion: a long access takes no more memory than
/// this.
const CHUNK: u64 = 4 << 20;

/// Bytes that are moved by way of the stack: records of logs are no longer, and to allocate for them takes as
/// long as all else that is done for one.
pub(crate) const STACK_BYTES: usize = 512;

/// The buffer of a call, as MPI names it.
#[derive(Clone)]
pub(crate) struct UserBuffer {
    pub(crate) extent: BufferView,
    pub(crate) datatype: Rc<Datatype>,
    pub(crate) count: u64,
}

impl UserBuffer {
    fn pack(&self, position: u64, out: &mut [u8]) {
        match &self.extent.layout {
            None => memory::read(self.extent.buffer.offset(position as i64), out),
            Some((datatype, _)) => datatype.pack_at(self.extent.buffer, position, out),
        }
    }

    fn unpack(&self, position: u64, bytes: &[u8]) {
        match &self.extent.layout {
            None => memory::write(self.extent.buffer.offset(position as i64), bytes),
            Some((datatype, _)) => datatype.unpack_at(self.extent.buffer, position, bytes),
        }
    }

    /// Calls `f(first byte, bytes)` for chunks of it, until that answers that there is no more.
    fn chunks(&self, mut f: impl FnMut(u64, u64) -> Result<bool>) -> Result {
        let mut at = 0;
        while at < self.extent.bytes {
            let bytes = CHUNK.min(self.extent.bytes - at);
            if !f(at, bytes)? {
                break;
            }
            at += bytes;
        }
        Ok(())
    }
}

/// Returns the pieces of the file that a view's bytes `from..from + bytes` are.
pub(crate) fn pieces(view: &View, from: u64, bytes: u64) -> Pieces {
    let mut pieces = Vec::new();
    view.pieces(from, bytes, &mut |at, len| pieces.push((at, len)));
    pieces.into()
}

/// Reads pieces one after the other, up to the end of the file: what there was.
pub(crate) fn read(host: &HostFile, pieces: &[(u64, u64)]) -> Result<Vec<u8>> {
    let mut out = vec![0; pieces.iter().map(|piece| piece.1).sum::<u64>() as usize];
    let mut have = 0;
    for &(at, len) in pieces {
        let count = host.read(at, &mut out[have..have + len as usize])?;
        have += count;
        // The pieces ascend: behind the end of the file there is nothing more.
        if count < len as usize {
            break;
        }
    }
    out.truncate(have);
    Ok(out)
}

/// Writes bytes to pieces one after the other.
pub(crate) fn write(host: &HostFile, pieces: &[(u64, u64)], bytes: &[u8]) -> Result {
    let mut rest = bytes;
    for &(at, len) in pieces {
        let (head, tail) = rest.split_at((len as usize).min(rest.len()));
        host.write(at, head)?;
        rest = tail;
    }
    Ok(())
}

/// Packs the program's memory as it lies in the file.
///
/// # Errors
/// `MPI_ERR_CONVERSION`.
pub(crate) fn pack(view: &View, memory: &UserBuffer) -> Result<Vec<u8>> {
    let mut packed = vec![0; memory.extent.bytes as usize];
    memory.pack(0, &mut packed);
    view.representation.encode(&memory.datatype, memory.count, packed)
}

/// Moves bytes of the file into the program's memory: how many bytes of memory that were.
pub(crate) fn unpack(view: &View, memory: &UserBuffer, bytes: Vec<u8>) -> u64 {
    let packed = view.representation.decode(&memory.datatype, memory.count, bytes);
    memory.unpack(0, &packed);
    packed.len() as u64
}

/// Writes the program's memory from the view's byte `from` on.
///
/// # Errors
/// What the host says; `MPI_ERR_CONVERSION`.
pub(crate) fn store(host: &HostFile, view: &View, from: u64, memory: &UserBuffer) -> Result<u64> {
    if !view.representation.is_plain() {
        let bytes = pack(view, memory)?;
        write(host, &pieces(view, from, bytes.len() as u64), &bytes)?;
        return Ok(memory.extent.bytes);
    }
    if memory.extent.bytes <= STACK_BYTES as u64 {
        let mut short = [0; STACK_BYTES];
        let bytes = &mut short[..memory.extent.bytes as usize];
        memory.pack(0, bytes);
        let (mut rest, mut done) = (&*bytes, Ok(()));
        view.pieces(from, memory.extent.bytes, &mut |at, len| {
            let (head, tail) = rest.split_at((len as usize).min(rest.len()));
            if done.is_ok() {
                done = host.write(at, head);
            }
            rest = tail;
        });
        return done.map(|()| memory.extent.bytes);
    }
    let mut chunk = Vec::new();
    memory.chunks(|at, bytes| {
        chunk.resize(bytes as usize, 0);
        memory.pack(at, &mut chunk);
        write(host, &pieces(view, from + at, bytes), &chunk).map(|()| true)
    })?;
    Ok(memory.extent.bytes)
}

/// Reads so many bytes from the view's byte `from` on into the program's memory: how many bytes of memory
/// there was data for.
///
/// # Errors
/// What the host says.
pub(crate) fn load(
    host: &HostFile,
    view: &View,
    (from, bytes): (u64, u64),
    memory: &UserBuffer,
) -> Result<u64> {
    if !view.representation.is_plain() {
        return Ok(unpack(view, memory, read(host, &pieces(view, from, bytes))?));
    }
    let mut total = 0;
    memory.chunks(|at, bytes| {
        let have = read(host, &pieces(view, from + at, bytes))?;
        memory.unpack(at, &have);
        total += have.len() as u64;
        Ok(have.len() as u64 == bytes)
    })?;
    Ok(total)
}
