//! Reductions whose association can be told in short, of members that are all here.

use crate::{Association, Kernel};

/// Reduces all contributions, `stride` bytes each, in this association: O(members) calls of the kernel, each
/// on the members' own bytes, which serve as memory for partial results.
pub fn reduce(association: Association, data: &mut [u8], stride: usize, kernel: Kernel) -> Vec<u8> {
    match association {
        Association::Pairs { among, folded } => reduce_pairs(data, stride, (among, folded), kernel),
        Association::Rows { top } => reduce_rows(data, stride, top as usize, kernel),
    }
}

// The kernel combines into its right operand, so the result of a pair lies where its upper member was; no
// byte is copied but the result.
fn reduce_pairs(data: &mut [u8], stride: usize, (among, folded): (u32, u32), kernel: Kernel) -> Vec<u8> {
    let mut combine = |left: usize, right: usize| {
        let (low, high) = data.split_at_mut(right * stride);
        kernel(&low[left * stride..][..stride], &mut high[..stride]);
    };
    for pair in 0..folded as usize {
        combine(2 * pair, 2 * pair + 1);
    }
    // After the fold the odd one of each pair stands for both: the numbering of `RoundPattern::Exchange`.
    let member = |position: usize| {
        if position < folded as usize { 2 * position + 1 } else { position + folded as usize }
    };
    let mut width = 1;
    while width < among as usize {
        for last in (2 * width - 1..among as usize).step_by(2 * width) {
            combine(member(last - width), member(last));
        }
        width *= 2;
    }
    data[member(among as usize - 1) * stride..][..stride].to_vec()
}

fn reduce_rows(data: &mut [u8], stride: usize, top: usize, kernel: Kernel) -> Vec<u8> {
    let size = data.len() / stride;
    let place = |position: usize| (top + position) % size * stride;
    let mut width = 1;
    while width < size {
        for middle in (width..size).step_by(2 * width) {
            // A row's result is where its last position was.
            let (left, right) = (place(middle - 1), place((middle + width).min(size) - 1));
            // Positions count from the top and round the end, so that the left operand may lie behind the
            // right one.
            let (low, high) = data.split_at_mut(left.max(right));
            if left < right {
                kernel(&low[left..][..stride], &mut high[..stride]);
            } else {
                kernel(&high[..stride], &mut low[right..][..stride]);
            }
        }
        width *= 2;
    }
    data[place(size - 1)..][..stride].to_vec()
}
