//! Groups as bytes.

use engine::record::{Put, Take};
use objects::group::Group;
use std::rc::Rc;

/// A list with its length before it.
pub fn put_list(list: &[u32], out: &mut Vec<u8>) {
    out.u32(list.len() as u32);
    list.iter().for_each(|&item| out.u32(item));
}

/// Returns what [`put_list`] appended.
pub fn take_list(from: &mut Take) -> Box<[u32]> {
    let count = from.u32();
    (0..count).map(|_| from.u32()).collect()
}

/// A group.
// Most groups are a first rank, a stride and a count, whatever their size.
pub fn put_group(group: &Group, out: &mut Vec<u8>) {
    match group.as_range() {
        Some((first, stride)) => {
            out.u8(0);
            out.u32(first);
            out.u64(stride as u64);
            out.u32(group.size());
        }
        None => {
            out.u8(1);
            out.u32(group.size());
            group.iter().for_each(|rank| out.u32(rank));
        }
    }
}

/// Returns what [`put_group`] appended.
pub fn take_group(from: &mut Take) -> Rc<Group> {
    if from.u8() == 0 {
        let (first, stride, size) = (from.u32(), from.u64() as i64, from.u32());
        Group::range(first, stride, size)
    } else {
        Group::from_ranks(take_list(from).into_vec())
    }
}
