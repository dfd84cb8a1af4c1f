//! Records that processes send when their members of a collective are all in.

use engine::record::{Put, Take};
use schedule::Shape;
use schedule::data::partial::{Partial, put, take};

/// Report of a process all of whose members have entered.
pub(crate) struct Ready {
    pub(crate) epoch: u64,
    pub(crate) rank: u32,
    pub(crate) function: u16,
    pub(crate) root: u32,
    pub(crate) shape: ShapeDigest,
    /// The clock of all its members, if it is one.
    pub(crate) clock: Option<u64>,
    pub(crate) partials: Vec<Partial>,
}

/// Properties of a collective that must be the same on all processes.
// What all must agree on, in 18 bytes: whole shapes have members' own blocks in them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShapeDigest {
    pub(crate) kind: u8,
    pub(crate) bytes: u64,
    pub(crate) element: u64,
    pub(crate) flags: u8,
}

impl ShapeDigest {
    pub(crate) fn of(shape: &Shape) -> ShapeDigest {
        let flags =
            u8::from(shape.commutative) | u8::from(shape.predefined) << 1 | u8::from(shape.irregular) << 2;
        ShapeDigest { kind: shape.kind as u8, bytes: shape.bytes, element: shape.element, flags }
    }
}

impl Ready {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.u64(self.epoch);
        out.u32(self.rank);
        out.u32(self.function.into());
        out.u32(self.root);
        out.u8(self.shape.kind);
        out.u64(self.shape.bytes);
        out.u64(self.shape.element);
        out.u8(self.shape.flags);
        out.u8(u8::from(self.clock.is_some()));
        out.u64(self.clock.unwrap_or_default());
        put(&self.partials, out);
    }
    pub(crate) fn take(from: &mut Take) -> Ready {
        let (epoch, rank, function, root) = (from.u64(), from.u32(), from.u32() as u16, from.u32());
        let shape = ShapeDigest { kind: from.u8(), bytes: from.u64(), element: from.u64(), flags: from.u8() };
        let (known, clock) = (from.u8() != 0, from.u64());
        Ready { epoch, rank, function, root, shape, clock: known.then_some(clock), partials: take(from) }
    }
}

/// The processes that are ready so far, on the process of the first member.
#[derive(Default)]
pub(crate) struct Readies {
    pub(crate) epoch: u64,
    pub(crate) by_process: Vec<(u32, Ready)>,
}
