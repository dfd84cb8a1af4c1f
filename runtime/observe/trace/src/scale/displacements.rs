//! Displacements of blocks that have other lengths.

/// Returns the displacements of blocks that had lengths and displacements, and have other lengths: one behind
/// the other, in the order in which they lay, from where the first was. Where no length changes none of them
/// moves; where one does, gaps between blocks are closed, since nothing says what they were for.
pub fn packed(before: &[i64], after: &[i64], displacements: &[i64], unit: impl Fn(usize) -> i64) -> Vec<i64> {
    if before == after {
        return displacements.to_vec();
    }
    let mut order: Vec<usize> = (0..displacements.len()).collect();
    order.sort_by_key(|&block| displacements[block]);
    let mut at = order.first().map_or(0, |&first| displacements[first]);
    let mut all = vec![0; displacements.len()];
    for block in order {
        all[block] = at;
        at = at.saturating_add(after[block].max(0).saturating_mul(unit(block)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_stay_apart_and_in_their_order() {
        assert_eq!(packed(&[2, 3, 1], &[4, 6, 2], &[4, 1, 0], |_| 1), [8, 2, 0]);
        assert_eq!(packed(&[2, 3], &[2, 3], &[9, 0], |_| 1), [9, 0]);
        // Of a w form, in bytes; blocks that were one need not stay one.
        assert_eq!(packed(&[1, 1], &[2, 2], &[16, 16], |block| [8, 4][block]), [16, 32]);
    }
}
