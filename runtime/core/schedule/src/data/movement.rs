//! Data that changes places.

/// Transposes `data` as blocks in rows of `rows`: block `j` of row `i` is exchanged with block `i` of row
/// `j`. That is what an all-to-all of equal blocks means. It works in the memory given, on O(rows^2) blocks,
/// in tiles that stay in the caches.
pub fn transpose(data: &mut [u8], rows: usize, block: usize) {
    // Two tiles of 8-byte blocks are 16 KiB: both stay in the nearest cache while they change places.
    const TILE: usize = 32;
    for top in (0..rows).step_by(TILE) {
        for left in (top..rows).step_by(TILE) {
            for row in top..(top + TILE).min(rows) {
                for column in left.max(row + 1)..(left + TILE).min(rows) {
                    let (one, other) = ((row * rows + column) * block, (column * rows + row) * block);
                    let (low, high) = data.split_at_mut(other);
                    match block {
                        // A length that the compiler knows is a load and a store.
                        8 => {
                            let (a, b) = (&mut low[one..one + 8], &mut high[..8]);
                            let (left, right): ([u8; 8], [u8; 8]) =
                                (a.try_into().expect("8 bytes"), b.try_into().expect("8 bytes"));
                            a.copy_from_slice(&right);
                            b.copy_from_slice(&left);
                        }
                        _ => low[one..one + block].swap_with_slice(&mut high[..block]),
                    }
                }
            }
        }
    }
}
