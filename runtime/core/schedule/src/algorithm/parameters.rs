//! Parameters of an algorithm.

/// Parameters of some algorithms beyond the shape; 0 stands for the algorithm's own default.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Parameters {
    /// Bytes of the segments of pipelines (default: the message is one segment).
    pub segment: u64,
    /// Chains of a chain, radix of a k-nomial tree (default: 4), batch of a scattered alltoall (default: 32).
    pub fanout: u32,
}

impl Parameters {
    /// Returns the fanout, or the algorithm's own.
    pub(super) fn fanout(&self, default: u32) -> u32 {
        if self.fanout == 0 { default } else { self.fanout }
    }
    /// Returns the bytes of a segment of whole `element`s, and how many cover `bytes`.
    pub(super) fn segments(&self, bytes: u64, element: u64) -> (u64, u32) {
        if self.segment == 0 || bytes == 0 {
            return (bytes, 1);
        }
        let element = element.max(1);
        // More segments than rounds can count would also be more than any machine sends.
        // In whole elements, or a reduction would cut one.
        let least = bytes.div_ceil(1 << 24).next_multiple_of(element);
        let segment = (self.segment / element * element).max(element).max(least);
        (segment, bytes.div_ceil(segment) as u32)
    }
}
