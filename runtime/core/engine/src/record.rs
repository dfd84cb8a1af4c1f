//! Plain values to bytes and back, for what processes tell each other. All processes run the same binary.

/// Appends values.
pub trait Put {
    /// Appends one byte.
    fn u8(&mut self, value: u8);
    /// Appends four bytes, least significant first.
    fn u32(&mut self, value: u32);
    /// Appends four bytes, two's complement, least significant first.
    fn i32(&mut self, value: i32);
    /// Appends eight bytes, least significant first.
    fn u64(&mut self, value: u64);
    /// Appends bytes with their number before them, as [`Take::bytes`] reads them.
    fn bytes(&mut self, bytes: &[u8]);
}

impl Put for Vec<u8> {
    #[inline]
    fn u8(&mut self, value: u8) {
        self.push(value);
    }
    #[inline]
    fn u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }
    #[inline]
    fn i32(&mut self, value: i32) {
        self.extend_from_slice(&value.to_le_bytes());
    }
    #[inline]
    fn u64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_le_bytes());
    }
    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.extend_from_slice(bytes);
    }
}

/// Takes values from the front.
///
/// # Panics
/// Where the bytes end too early: the other side wrote something else than this one reads, a bug of ours.
pub struct Take<'a>(pub &'a [u8]);

impl<'a> Take<'a> {
    #[inline]
    fn array<const N: usize>(&mut self) -> [u8; N] {
        let (head, tail) = self.0.split_first_chunk::<N>().expect("a record of another shape");
        self.0 = tail;
        *head
    }
    /// Returns what [`Put::u8`] appended.
    #[inline]
    pub fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }
    /// Returns what [`Put::u32`] appended.
    #[inline]
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }
    /// Returns what [`Put::i32`] appended.
    #[inline]
    pub fn i32(&mut self) -> i32 {
        i32::from_le_bytes(self.array())
    }
    /// Returns what [`Put::u64`] appended.
    #[inline]
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }
    /// Takes the next `count` bytes, without copying.
    #[inline]
    pub fn slice(&mut self, count: usize) -> &'a [u8] {
        let (head, tail) = self.0.split_at(count);
        self.0 = tail;
        head
    }
    /// Returns what [`Put::bytes`] appended, without copying.
    #[inline]
    pub fn bytes(&mut self) -> &'a [u8] {
        let count = self.u64() as usize;
        self.slice(count)
    }
    /// Returns `true` if everything has been taken.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
