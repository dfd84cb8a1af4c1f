//! The one way to memory that the program named by address.
//!
//! Nothing here can prove that an address is valid: the program vouched for it when it passed
//! the pointer to an MPI call. What this module does is keep every such access in one file,
//! byte-wise (no alignment or type is assumed), so that a fault inside is the program's
//! and the crash report can say whose. Rule 1 (docs/architecture.md): a rank's stack and
//! globals are accessed only while that rank is mounted.

/// An address the program gave. It need not be valid until it is used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct Addr(pub usize);

impl Addr {
    /// The null pointer.
    pub const NULL: Addr = Addr(0);
    /// Returns `self` moved by a signed number of bytes (wrapping, as MPI_BOTTOM displacements need).
    #[inline]
    pub fn offset(self, bytes: i64) -> Addr {
        Addr(self.0.wrapping_add_signed(bytes as isize))
    }
    /// Returns `true` if this is the null pointer.
    #[inline]
    pub fn is_null(self) -> bool {
        self.0 == 0
    }
}

/// Tables of at least this many bytes lie on large pages: ranks are seldom visited in order.
const LARGE_TABLE: usize = 8 << 20;

/// Makes a table with one item for each rank. Every item is written now.
pub fn table<T: Clone>(item: T, count: usize) -> Vec<T> {
    let mut items: Vec<T> = Vec::with_capacity(count);
    let (start, bytes) = ((items.as_ptr() as usize).next_multiple_of(4096), count * size_of::<T>());
    if bytes >= LARGE_TABLE {
        // SAFETY: advice on our own allocation, from its first whole page on; a refusal only costs speed.
        unsafe { libc::madvise(start as *mut libc::c_void, bytes - 4096, libc::MADV_HUGEPAGE) };
    }
    items.resize(count, item);
    items
}

/// Copies `out.len()` bytes from the program's memory.
#[inline]
pub fn read(from: Addr, out: &mut [u8]) {
    if !out.is_empty() {
        // SAFETY: the program vouched for `from` (module text); `out` is ours, so they do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(from.0 as *const u8, out.as_mut_ptr(), out.len()) }
    }
}

/// Returns `true` if the program's memory holds these bytes.
#[inline]
pub fn holds(at: Addr, bytes: &[u8]) -> bool {
    // SAFETY: the program vouched for `at` (module text), and nothing writes there meanwhile: its rank is
    // mounted and in a call.
    bytes.is_empty() || unsafe { std::slice::from_raw_parts(at.0 as *const u8, bytes.len()) } == bytes
}

/// Copies `bytes` into the program's memory.
#[inline]
pub fn write(to: Addr, bytes: &[u8]) {
    if !bytes.is_empty() {
        // SAFETY: the program vouched for `to` (module text); `bytes` is ours, so they do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.0 as *mut u8, bytes.len()) }
    }
}

/// Copies `len` bytes within the program's memory; the ranges may overlap.
#[inline]
pub fn copy(to: Addr, from: Addr, len: usize) {
    if len != 0 {
        // SAFETY: the program vouched for both ranges (module text); `copy` allows overlap.
        unsafe { std::ptr::copy(from.0 as *const u8, to.0 as *mut u8, len) }
    }
}

/// Appends `len` bytes of the program's memory to `out`.
#[inline]
pub fn append(from: Addr, len: usize, out: &mut Vec<u8>) {
    if len != 0 {
        out.reserve(len);
        // SAFETY: the program vouched for `from` (module text); `reserve` made room for `len`
        // bytes behind the vector's length, and they are initialised before `set_len`.
        unsafe {
            std::ptr::copy_nonoverlapping(from.0 as *const u8, out.as_mut_ptr().add(out.len()), len);
            out.set_len(out.len() + len);
        }
    }
}

/// Reads at most 16 bytes; those beyond `len` are 0.
// By words of their own size: a copy of unknown length through a buffer costs several times as much.
#[inline(always)]
pub fn load_short(from: Addr, len: usize) -> [u64; 2] {
    match len {
        4 => [u64::from(load::<u32>(from)), 0],
        8 => [load::<u64>(from), 0],
        16 => [load::<u64>(from), load::<u64>(from.offset(8))],
        _ => load_odd(from, len),
    }
}

#[inline(never)]
fn load_odd(from: Addr, len: usize) -> [u64; 2] {
    let mut bytes = [0u8; 16];
    read(from, &mut bytes[..len]);
    let (low, high) = bytes.split_at(8);
    [low, high].map(|half| u64::from_le_bytes(half.try_into().unwrap_or_default()))
}

/// Writes the first `len` of the bytes that [`load_short`] read.
#[inline(always)]
pub fn store_short(to: Addr, data: &[u64; 2], len: usize) {
    match len {
        4 => store::<u32>(to, data[0] as u32),
        8 => store::<u64>(to, data[0]),
        16 => {
            store::<u64>(to, data[0]);
            store::<u64>(to.offset(8), data[1]);
        }
        _ => store_odd(to, *data, len),
    }
}

#[inline(never)]
fn store_odd(to: Addr, data: [u64; 2], len: usize) {
    let mut bytes = [0u8; 16];
    bytes[..8].copy_from_slice(&data[0].to_le_bytes());
    bytes[8..].copy_from_slice(&data[1].to_le_bytes());
    write(to, &bytes[..len]);
}

/// Tells the processor that `value` will be used soon.
#[inline]
pub fn prefetch<T>(value: &T) {
    crate::prefetch::prefetch(std::ptr::from_ref(value) as usize);
}

/// Tells the processor that `len` bytes of the program's memory will be used soon.
// A prefetch of an address that is not mapped does nothing.
#[inline]
pub fn prefetch_range(from: Addr, len: usize) {
    let (mut line, end) = (from.0, from.0.wrapping_add(len));
    // Four at a time: counting lines one by one takes longer than asking for them.
    while end.saturating_sub(line) > 3 * 64 {
        for ahead in 0..4 {
            crate::prefetch::prefetch(line + ahead * 64);
        }
        line += 4 * 64;
    }
    while line < end {
        crate::prefetch::prefetch(line);
        line += 64;
    }
}

/// A value of a plain type that holds for every bit pattern.
///
/// # Safety
/// Every bit pattern of `Self` must be a valid value, and `Self` has no padding.
pub unsafe trait Plain: Copy {}
macro_rules! plain { ($($t:ty)*) => { $(
    // SAFETY: integers and floats take every bit pattern and have no padding.
    unsafe impl Plain for $t {}
)* } }
plain!(u8 i8 u16 i16 u32 i32 u64 i64 usize isize f32 f64);

/// Reads one value, aligned or not.
#[inline]
pub fn load<T: Plain>(from: Addr) -> T {
    // SAFETY: the program vouched for `from` (module text); `T: Plain` takes any bits.
    unsafe { std::ptr::read_unaligned(from.0 as *const T) }
}

/// Writes one value, aligned or not.
#[inline]
pub fn store<T: Plain>(to: Addr, value: T) {
    // SAFETY: the program vouched for `to` (module text).
    unsafe { std::ptr::write_unaligned(to.0 as *mut T, value) }
}
