//! Contribution of a member to one block.

use super::super::parts::input;
use crate::{Member, Slice};

/// Returns block `index` of a contribution.
pub(super) fn block(member: &Member, index: u32) -> Slice {
    input(member.send.offset(index), member.send.bytes(index))
}
