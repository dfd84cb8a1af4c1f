//! Messages of a broadcast.

use super::super::parts::{input, output};
use crate::{Member, Slice};

/// The message at one member: the root reads `Input`, the others hold `Output`.
// Two places for one message: the root's is the program's own contribution and must not be copied.
pub(in super::super) fn message(member: &Member, root: u32) -> Slice {
    if member.rank == root { input(0, member.send.bytes(0)) } else { output(0, member.receive.bytes(0)) }
}
