//! Plain values to bytes and back, for what processes tell each other. All processes run the same binary.

/// Appends values.
pub(crate) trait Put {
    fn u8(&mut self, value: u8);
    fn u32(&mut self, value: u32);
    fn i32(&mut self, value: i32);
    fn u64(&mut self, value: u64);
    fn bytes(&mut self, bytes: &[u8]);
}

impl Put for Vec<u8> {
    fn u8(&mut self, value: u8) {
        self.push(value);
    }
    fn u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }
    fn i32(&mut self, value: i32) {
        self.extend_from_slice(&value.to_le_bytes());
    }
    fn u64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_le_bytes());
    }
    /// With their number before them.
    fn bytes(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.extend_from_slice(bytes);
    }
}

/// Takes values from the front.
///
/// # Panics
/// Where the bytes end too early: the other side wrote something else than this one reads, a bug of ours.
pub(crate) struct Take<'a>(pub(crate) &'a [u8]);

impl<'a> Take<'a> {
    fn array<const N: usize>(&mut self) -> [u8; N] {
        let (head, tail) = self.0.split_first_chunk::<N>().expect("a record of another shape");
        self.0 = tail;
        *head
    }
    pub(crate) fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }
    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }
    pub(crate) fn i32(&mut self) -> i32 {
        i32::from_le_bytes(self.array())
    }
    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }
    pub(crate) fn slice(&mut self, count: usize) -> &'a [u8] {
        let (head, tail) = self.0.split_at(count);
        self.0 = tail;
        head
    }
    pub(crate) fn bytes(&mut self) -> &'a [u8] {
        let count = self.u64() as usize;
        self.slice(count)
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
