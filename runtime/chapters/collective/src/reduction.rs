//! Operations of reductions.

use objects::Objects;
use objects::abi::MPI_BYTE;
use objects::datatype::{Constructor, Datatype};
use objects::error::Result;
use objects::op::{Kernel, Op, User};
use p2p::Messages;
use p2p::packing::Packing;
use rank::Addr;
use schedule::Slice;
use std::rc::Rc;

/// A reduction: operation and datatype.
pub struct Reduction {
    /// The operation.
    pub op: Rc<Op>,
    /// The datatype of the elements.
    pub datatype: Rc<Datatype>,
    /// The handle, as a function of the program gets it.
    pub handle: usize,
    /// The function with which a predefined operation combines packed buffers; `None` for an operation of the
    /// program.
    pub kernel: Option<Kernel>,
}

impl Reduction {
    /// `right = left op right` with a function of the program, whose rank must be mounted. Packed on both
    /// sides; the function sees operands laid out as the datatype says.
    // Both operands get memory of their own, laid out as the datatype says: a function of the program sees
    // elements as it declared them (MPI 5.0 section 6.9.5), gaps included. Negative extents begin at the end.
    pub fn call(&self, left: &[u8], right: &mut Vec<u8>) {
        let Op::User(user) = &*self.op else { return };
        let datatype = &self.datatype;
        let count = right.len() as u64 / datatype.size.max(1);
        if datatype.contiguous {
            (user.call)(left.as_ptr() as usize, right.as_mut_ptr() as usize, count as i64, self.handle);
            return;
        }
        let last = datatype.extent() * (count as i64 - 1);
        let bytes = (datatype.true_extent() + last.abs()) as usize;
        let (mut a, mut b) = (vec![0u8; bytes], vec![0u8; bytes]);
        let place =
            |memory: &mut Vec<u8>| Addr(memory.as_mut_ptr() as usize).offset(-datatype.true_lb - last.min(0));
        let (at, bt) = (place(&mut a), place(&mut b));
        datatype.unpack(at, count, left);
        datatype.unpack(bt, count, right);
        (user.call)(at.0, bt.0, count as i64, self.handle);
        right.clear();
        datatype.pack(bt, count, right);
    }
}

/// Operation and datatype of a reduction, looked up once a call.
pub(crate) struct Operands {
    op: Rc<Op>,
    datatype: Rc<Datatype>,
    handle: usize,
}

impl Operands {
    /// Looks up the operation and the datatype that the mounted rank reduces with.
    ///
    /// # Errors
    /// `MPI_ERR_OP`, `MPI_ERR_TYPE`.
    pub(crate) fn of(
        messages: &Messages,
        objects: &Objects,
        (op, datatype): (usize, usize),
    ) -> Result<Operands> {
        let operation = objects.ops.get(messages.me(), op)?;
        let kind = objects.types.usable(messages.me(), datatype)?;
        Ok(Operands { op: operation.clone(), datatype: kind.clone(), handle: datatype })
    }
    /// Returns a function of the program on elements of so many bytes, in a run without payloads: nothing is
    /// ever reduced.
    pub(crate) fn uncalled(objects: &Objects, commute: bool, element: u64) -> Result<Operands> {
        let op = Op::User(User { commute, function: 0, large: false, call: Rc::new(|_, _, _, _| {}) });
        let count = i64::try_from(element).unwrap_or(i64::MAX);
        let datatype = Datatype::new(Constructor::Contiguous {
            count,
            old: objects.types.get(MPI_BYTE)?.into(),
            large: true,
        })?;
        Ok(Operands { op: Rc::new(op), datatype, handle: MPI_BYTE })
    }
    /// Returns `(commutes, is predefined, bytes of an element)`.
    pub(crate) fn properties(&self) -> (bool, bool, u64) {
        (self.op.commutative(), !matches!(*self.op, Op::User(_)), self.datatype.size.max(1))
    }
    /// Returns the reduction of these operands.
    ///
    /// # Errors
    /// `MPI_ERR_OP` for an operation that is not defined on the datatype.
    // The kernel is looked up once a call and member: a wrong pair of operation and type fails here, before
    // anybody waits for it.
    pub(crate) fn reduction(self, messages: &Messages, objects: &Objects) -> Result<Rc<Reduction>> {
        let Operands { op, datatype, handle } = self;
        let kernel = match &*op {
            Op::Predefined(predefined) => {
                let name = || objects.types.describe(messages.me(), handle);
                let (element, kernel) = predefined.on(&datatype, name)?;
                if predefined.is_lenient_on(element) {
                    messages.watch().note_finding(messages.ranks(), || {
                        format!(
                            "{} of {}, which MPI does not define (MPI 5.0 section 6.9.2); use \
                             MPI_SIGNED_CHAR or MPI_UNSIGNED_CHAR",
                            predefined.name(),
                            name()
                        )
                    });
                }
                Some(kernel)
            }
            Op::User(_) => None,
        };
        Ok(Rc::new(Reduction { op, datatype, handle, kernel }))
    }
}

/// Each member's reduction: the same function has another address where ranks have images of their own.
// Where ranks share one image all members have one reduction, which is then kept once.
#[derive(Default)]
pub(crate) struct MemberReductions {
    by_member: Vec<Option<Rc<Reduction>>>,
    latest: Option<Rc<Reduction>>,
}

impl MemberReductions {
    pub(crate) fn new(members: u32) -> MemberReductions {
        MemberReductions { by_member: vec![None; members as usize], latest: None }
    }
    pub(crate) fn enter(&mut self, member: u32, reduction: Rc<Reduction>) {
        let same = |one: &Rc<Reduction>| {
            Rc::ptr_eq(&one.op, &reduction.op)
                && Rc::ptr_eq(&one.datatype, &reduction.datatype)
                && one.handle == reduction.handle
        };
        let reduction = self.latest.take().filter(same).unwrap_or(reduction);
        self.latest = Some(reduction.clone());
        self.by_member[member as usize] = Some(reduction);
    }
    pub(crate) fn get(&self, member: u32) -> Option<&Rc<Reduction>> {
        self.by_member[member as usize].as_ref()
    }
}

/// A reduction that a function of the program must do, on its own rank.
pub(crate) struct UserReduction {
    /// World rank that must run the function.
    pub(crate) rank: u32,
    pub(crate) instance: u32,
    pub(crate) member: u32,
    pub(crate) reduction: Rc<Reduction>,
    pub(crate) left: Vec<u8>,
    pub(crate) right: Vec<u8>,
    pub(crate) into: Slice,
}

impl UserReduction {
    /// Calls the function; its rank must be mounted.
    pub(crate) fn run(&mut self) {
        self.reduction.call(&self.left, &mut self.right);
    }
}
