//! What a broadcast sends.

use super::super::parts::{input, output};
use crate::{Member, Slice};

/// The message at one member: the root reads `Input`, the others hold `Output`.
pub(in super::super) fn message(member: &Member, root: u32) -> Slice {
    if member.rank == root { input(0, member.send.bytes(0)) } else { output(0, member.receive.bytes(0)) }
}
