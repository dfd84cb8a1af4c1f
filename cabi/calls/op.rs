//! Reduction operations (MPI 5.0 section 6.9).

use crate::args::{Handle, InOut, Out};
use crate::call::Call;
use crate::callback;
use crate::constants::{MPI_ERR_BUFFER, MPI_IN_PLACE};
use mpi::error::Result;
use mpi::op::{OP_NULL, Op, User};
use mpi::packing::Packing;
use rank::{Addr, memory};

/// `MPI_Op_create`.
pub fn create(c: &Call, user_fn: usize, commute: bool, op: Out<Handle>, large: bool) -> Result {
    let user = User { commute, function: user_fn, large, call: callback::user_function(user_fn, large) };
    let mut world = c.mpi.world();
    let me = world.messages.me();
    op.set(Handle(world.objects.ops.create(me, user)?));
    Ok(())
}

/// `MPI_Op_free`.
pub fn free(c: &Call, op: InOut<Handle>) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.ops.free(me, op.get().0)?;
    op.set(Handle(OP_NULL));
    Ok(())
}

/// `MPI_Op_commutative`.
pub fn commutative(c: &Call, op: Handle, commute: Out<bool>) -> Result {
    let world = c.mpi.world();
    commute.set(world.objects.ops.get(world.messages.me(), op.0)?.commutative());
    Ok(())
}

/// `MPI_Reduce_local`.
pub fn reduce_local(
    c: &Call,
    inbuf: Addr,
    inoutbuf: Addr,
    count: i64,
    datatype: Handle,
    op: Handle,
) -> Result {
    for (index, buffer) in [inbuf, inoutbuf].into_iter().enumerate() {
        if buffer.0 == MPI_IN_PLACE {
            return Err(c.wrong(index, MPI_ERR_BUFFER, "MPI_IN_PLACE has no meaning here; pass a buffer"));
        }
    }
    let world = c.mpi.world();
    let me = world.messages.me();
    let operation = world.objects.ops.get(me, op.0)?.clone();
    let elements = world.objects.types.usable(me, datatype.0)?.clone();
    let name = world.objects.types.describe(me, datatype.0);
    // The program's function may call MPI.
    drop(world);
    match &*operation {
        Op::User(user) => {
            if count > 0 {
                (user.call)(inbuf.0, inoutbuf.0, count, datatype.0);
            }
        }
        Op::Predefined(predefined) => {
            let (element, kernel) = predefined.on(&elements, || name.clone())?;
            if predefined.is_lenient_on(element) {
                let world = c.mpi.world();
                let finding = || {
                    format!(
                        "{} of {name}, which MPI does not define (MPI 5.0 section 6.9.2)",
                        predefined.name()
                    )
                };
                world.messages.watch().note_finding(world.messages.ranks(), finding);
            }
            let bytes = elements.bytes(count as u64)? as usize;
            let (mut input, mut inout) = (Vec::with_capacity(bytes), Vec::with_capacity(bytes));
            elements.pack(inbuf, count as u64, &mut input);
            elements.pack(inoutbuf, count as u64, &mut inout);
            kernel(&input, &mut inout);
            if elements.contiguous {
                memory::write(inoutbuf, &inout);
            } else {
                elements.unpack(inoutbuf, count as u64, &inout);
            }
        }
    }
    Ok(())
}
