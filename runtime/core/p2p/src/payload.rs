//! Buffers for payloads on their way, reused by size class so that a steady stream allocates nothing.

const CLASSES: usize = 24;
/// Buffers above this many bytes go back to the allocator when freed.
// A few messages of many megabytes would else leave their memory with the pool for the rest of the run.
const KEEP: usize = 1 << 20;

/// A pool of byte buffers, named by index.
#[derive(Default)]
pub struct Pool {
    buffers: Vec<Vec<u8>>,
    free: [Vec<u32>; CLASSES],
    // Numbers whose buffers went back: a number is part of a message and must not move.
    hollow: Vec<u32>,
}

// By powers of two, so that a freed buffer fits whatever comes next in its class without looking at it.
#[inline]
fn class(bytes: usize) -> usize {
    (usize::BITS - bytes.max(64).next_power_of_two().leading_zeros()) as usize - 7
}

impl Pool {
    /// Allocates an empty buffer with room for `bytes`.
    #[inline]
    pub fn alloc(&mut self, bytes: usize) -> u32 {
        if bytes <= KEEP
            && let Some(index) = self.free[class(bytes)].pop()
        {
            return index;
        }
        self.grow(bytes)
    }
    #[inline(never)]
    fn grow(&mut self, bytes: usize) -> u32 {
        let buffer =
            Vec::with_capacity(if bytes <= KEEP { bytes.max(64).next_power_of_two() } else { bytes });
        match self.hollow.pop() {
            Some(index) => {
                self.buffers[index as usize] = buffer;
                index
            }
            None => {
                self.buffers.push(buffer);
                self.buffers.len() as u32 - 1
            }
        }
    }
    /// Returns the buffer's bytes.
    #[inline]
    pub fn get(&self, index: u32) -> &[u8] {
        &self.buffers[index as usize]
    }
    /// Returns the buffer, to be filled.
    #[inline]
    pub fn get_mut(&mut self, index: u32) -> &mut Vec<u8> {
        &mut self.buffers[index as usize]
    }
    /// Gives the buffer back.
    #[inline]
    pub fn free(&mut self, index: u32) {
        let buffer = &mut self.buffers[index as usize];
        buffer.clear();
        let capacity = buffer.capacity();
        if capacity <= KEEP && capacity.is_power_of_two() {
            self.free[class(capacity)].push(index);
        } else {
            *buffer = Vec::new();
            self.hollow.push(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_buffer_serves_the_next_of_its_class() {
        let mut pool = Pool::default();
        let a = pool.alloc(100);
        pool.get_mut(a).extend_from_slice(&[7; 100]);
        pool.free(a);
        let b = pool.alloc(128);
        assert_eq!(a, b);
        assert!(pool.get(b).is_empty() && pool.get_mut(b).capacity() >= 128);
        let large = pool.alloc(5 << 20);
        pool.free(large);
        assert_eq!(pool.alloc(3 << 20), large);
    }
}
