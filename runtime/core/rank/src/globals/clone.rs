//! Globals by cloning: each rank runs on a copy of the program's relocated image.
//!
//! Code of a position-independent program finds its data relative to itself. So a copy of the whole image at
//! another address, with the addresses inside it moved along, is a program with globals of its own. Switching
//! costs nothing and every rank's globals stay reachable.
//!
//! All copies are blocks of one anonymous mapping:
//!
//! ```text
//!   arena -> | program | own library ... |   | program | own library ... | ...
//!            |<------- block 0 --------->|   |<------- block 1 --------->|
//!            |<------------ stride --------->|
//! ```
//!
//! Blocks begin at different lines of a page: if all ranks had the same variable in the same set of the
//! cache, a thousand of them would evict each other.
//!
//! These stay behind in the original image: variables borrowed from shared libraries (`stdout`), which the
//! libraries use where the loader put them, and thread-local variables, which the code finds through the
//! thread pointer. The latter are swapped as in `copy`.

use std::ffi::CStr;
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

use super::early;
use crate::helpers;
use crate::image::{Image, RelocatedWord};
use crate::lines::LINE;
use crate::symbols::Mapped;

const PAGE: usize = 4096;
/// Blocks begin at this many different lines of their first page.
const SHIFTS: usize = 32;

/// One image in a block.
struct CloneImage {
    original: Range<usize>,
    /// From the start of a block.
    offset: usize,
}

/// Positions of clones, for interposed functions and crash reports.
struct CloneLayout {
    arena: Range<usize>,
    places: BlockOffsets,
    parts: Vec<CloneImage>,
    /// Layout of the program loaded before this one.
    next: Option<&'static CloneLayout>,
}

/// Offsets of blocks from the arena's start.
#[derive(Clone, Copy)]
struct BlockOffsets {
    stride: usize,
    /// By how much a block's begin differs from the last one's; 0 if something in the images is aligned to
    /// more than a line.
    shift: usize,
}

impl BlockOffsets {
    fn of(&self, number: usize) -> usize {
        number * self.stride + number % SHIFTS * self.shift
    }
}

/// Returns `true` if nothing in an image needs to be aligned to more than a line of the cache.
fn fits_lines(image: &Image) -> bool {
    Mapped::open(&image.file()).is_some_and(|file| file.alignment() <= LINE)
}

/// Layout of the program loaded last.
static LAYOUT: AtomicPtr<CloneLayout> = AtomicPtr::new(null_mut());
/// The block of the rank in place.
static BLOCK: AtomicUsize = AtomicUsize::new(0);

/// Thread-local words that point into the program: how a new thread's come to point into a rank's clone.
struct ThreadLocal {
    arena: Range<usize>,
    /// From the thread pointer to the word, and from the start of a block to what it points to.
    words: Vec<(usize, usize)>,
}

/// Thread-local words of the program that the process was started with; null if it has none.
static THREAD_LOCAL: AtomicPtr<ThreadLocal> = AtomicPtr::new(null_mut());

/// Returns the block of the rank in place; 0 if nothing is cloned.
pub(crate) fn block() -> usize {
    BLOCK.load(Relaxed)
}

/// Sets the calling thread's thread-local words so that they point into a block. To be called before the
/// thread runs code of the program.
pub(crate) fn set_thread_local(block: usize) {
    // SAFETY: null, or leaked by `Cloned::new`.
    let Some(known) = (unsafe { THREAD_LOCAL.load(Relaxed).as_ref() }) else { return };
    if known.arena.contains(&block) {
        for &(offset, target) in &known.words {
            // SAFETY: a word of this thread's block of the program, which lies at the same distance from each
            // thread's pointer.
            unsafe { (thread_pointer().wrapping_add(offset) as *mut usize).write_unaligned(block + target) };
        }
    }
}

/// Returns the address that thread-local variables of programs are found from.
fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: the first word behind the thread pointer is the pointer itself (ELF handling for thread-local
    // storage, 3.4.6).
    unsafe { std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly, preserves_flags)) };
    pointer
}

/// Layouts of all programs that are cloned, the last first.
fn layouts() -> impl Iterator<Item = &'static CloneLayout> {
    // SAFETY: null, or leaked by `Cloned::new`.
    let last = unsafe { LAYOUT.load(Relaxed).as_ref() };
    std::iter::successors(last, |layout| layout.next)
}

/// Returns the address in the program as loaded that an address in a clone stands for; others are unchanged.
pub fn original(address: usize) -> usize {
    let Some(layout) = layouts().find(|layout| layout.arena.contains(&address)) else { return address };
    let number = (address - layout.arena.start) / layout.places.stride;
    // Before a block's begin this wraps, and no part is there.
    let offset = (address - layout.arena.start).wrapping_sub(layout.places.of(number));
    let part = layout.parts.iter().find(|p| (p.offset..p.offset + p.original.len()).contains(&offset));
    part.map_or(address, |part| part.original.start + offset - part.offset)
}

/// Returns the address in the running rank's clone that stands for an address in the program as loaded.
pub(crate) fn in_place(address: usize) -> usize {
    let part = layouts().flat_map(|layout| &layout.parts).find(|p| p.original.contains(&address));
    part.map_or(address, |part| BLOCK.load(Relaxed) + part.offset + address - part.original.start)
}

/// Initial contents of a stretch of a block.
struct InitialData {
    offset: usize,
    bytes: Vec<u8>,
}

/// An address in a block that points into the block.
struct Fixup {
    at: usize,
    /// From the start of the block.
    target: usize,
}

/// The clones.
pub(crate) struct Cloned {
    arena: usize,
    places: BlockOffsets,
    pieces: Vec<InitialData>,
    fixups: Vec<Fixup>,
    /// Thread-local words that point into the program: address of the word, and target in the block.
    thread_local: Vec<Fixup>,
    /// Each rank's block; grows as ranks start.
    blocks: Vec<u32>,
    used: u32,
    free: Vec<u32>,
}

/// Returns why these images cannot be cloned.
pub(crate) fn obstacle(images: &[Image]) -> Option<String> {
    let program = &images[0];
    if program.bias == 0 {
        return Some(
            "this program is not position-independent: link it with -pie, or use copied globals".into(),
        );
    }
    for (range, name) in program.borrowed() {
        let writable =
            program.writable().iter().any(|(file, zero)| (file.start..zero.end).contains(&range.start));
        let own = images[1..].iter().any(|library| library.defines(name));
        if own || writable && range.len() > size_of::<usize>() {
            let name = name.to_string_lossy();
            return Some(format!(
                "this program keeps the libraries' variable {name} inside it: compile it with -fPIC, or use \
                 copied globals"
            ));
        }
    }
    None
}

/// Returns a function's address by its name, for a slot of the linkage table that is not resolved yet: the
/// loader would fill in the original's table each time, never the clone's.
fn resolve(name: &CStr) -> Option<usize> {
    // SAFETY: looks up a symbol by a valid name.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
    (found != 0).then_some(found)
}

impl Cloned {
    /// Captures the images; to be called before any code of the program runs.
    ///
    /// # Errors
    /// A sentence, if the program cannot be cloned or the memory cannot be reserved.
    pub(crate) fn new(images: &[Image], ranks: u32) -> Result<Cloned, String> {
        if let Some(why) = obstacle(images) {
            return Err(format!("globals cannot be cloned: {why}"));
        }
        let mut parts: Vec<CloneImage> = Vec::new();
        let mut stride = 0;
        for image in images {
            let original = image.span();
            parts.push(CloneImage { offset: stride, original: original.clone() });
            stride += original.len();
        }
        let shift = if images.iter().all(fits_lines) { LINE } else { 0 };
        stride += (SHIFTS * shift).next_multiple_of(PAGE);
        let places = BlockOffsets { stride, shift };
        let too_much = || {
            format!(
                "cannot reserve {ranks} clones of {} KiB; use copied globals or fewer ranks",
                stride >> 10
            )
        };
        let bytes = stride.checked_mul(ranks as usize).ok_or_else(too_much)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new anonymous mapping touches no existing memory.
        let arena = unsafe { libc::mmap(null_mut(), bytes.max(PAGE), protection, flags, -1, 0) };
        if arena == libc::MAP_FAILED {
            return Err(too_much());
        }
        // SAFETY: advice on our own mapping. Huge pages would commit zero data that no rank touches.
        unsafe { libc::madvise(arena, bytes, libc::MADV_NOHUGEPAGE) };
        let arena = arena as usize;
        let mut cloned = Cloned {
            arena,
            places,
            pieces: Vec::new(),
            fixups: Vec::new(),
            thread_local: Vec::new(),
            blocks: vec![0; ranks as usize],
            used: 0,
            free: Vec::new(),
        };
        for (image, part) in images.iter().zip(&parts) {
            cloned.add_pieces(image, part);
            cloned.add_fixups(image, part, &parts);
        }
        if !cloned.thread_local.is_empty() {
            let words = cloned
                .thread_local
                .iter()
                .map(|word| (word.at.wrapping_sub(thread_pointer()), word.target))
                .collect();
            THREAD_LOCAL
                .store(Box::leak(Box::new(ThreadLocal { arena: arena..arena + bytes, words })), Relaxed);
        }
        let layout = CloneLayout { arena: arena..arena + bytes, places, parts, next: layouts().next() };
        LAYOUT.store(Box::leak(Box::new(layout)), Relaxed);
        Ok(cloned)
    }

    /// Returns the bytes that the clones were given, without the zero data that ranks touched.
    pub(crate) fn saved_bytes(&self) -> usize {
        self.used as usize * self.pieces.iter().map(|piece| piece.bytes.len()).sum::<usize>()
    }

    fn add_pieces(&mut self, image: &Image, part: &CloneImage) {
        for segment in image.segments() {
            let mut end = segment.file.end;
            // Variables borrowed from libraries begin with the libraries' values, in the zero part.
            for (range, _) in image.borrowed() {
                if segment.file.start <= range.start && range.end <= segment.end {
                    end = end.max(range.end);
                }
            }
            let bytes = early::initial(segment.file.start..end);
            self.pieces
                .push(InitialData { offset: part.offset + segment.file.start - part.original.start, bytes });
        }
    }

    fn add_fixups(&mut self, image: &Image, part: &CloneImage, parts: &[CloneImage]) {
        let block = |value: usize| {
            parts.iter().find(|p| p.original.contains(&value)).map(|p| p.offset + value - p.original.start)
        };
        let thread_local = image.thread_local_image();
        for slot in image.address_slots() {
            let (RelocatedWord::Relative(at) | RelocatedWord::Symbol(at) | RelocatedWord::Function(at, _)) =
                slot;
            let to = part.offset + at - part.original.start;
            let Some(mut value) = self.get(to) else { continue };
            if let RelocatedWord::Function(_, name) = slot
                && part.original.contains(&value)
            {
                value = resolve(name).unwrap_or(value);
            }
            match block(value) {
                Some(target) => self.fixups.push(Fixup { at: to, target }),
                None if matches!(slot, RelocatedWord::Function(..)) => self.set(to, value),
                None => {}
            }
            if let (Some((file, memory)), Some(target)) = (&thread_local, block(value))
                && file.contains(&at)
            {
                self.thread_local.push(Fixup { at: memory + at - file.start, target });
            }
        }
    }

    /// Returns a word of the initial contents.
    fn get(&self, at: usize) -> Option<usize> {
        let piece = self.pieces.iter().find(|piece| {
            piece.offset <= at && at + size_of::<usize>() <= piece.offset + piece.bytes.len()
        })?;
        Some(usize::from_ne_bytes(piece.bytes[at - piece.offset..][..size_of::<usize>()].try_into().ok()?))
    }

    /// Changes a word of the initial contents.
    fn set(&mut self, at: usize, value: usize) {
        for piece in &mut self.pieces {
            if piece.offset <= at && at + size_of::<usize>() <= piece.offset + piece.bytes.len() {
                piece.bytes[at - piece.offset..][..size_of::<usize>()].copy_from_slice(&value.to_ne_bytes());
            }
        }
    }

    /// Makes the clone of a rank that starts.
    pub(crate) fn start(&mut self, rank: u32) {
        let number = self.free.pop().unwrap_or_else(|| {
            self.used += 1;
            self.used - 1
        });
        self.blocks[rank as usize] = number;
        let block = self.arena + self.places.of(number as usize);
        for piece in &self.pieces {
            // SAFETY: pieces lie inside the block, which belongs to nobody else.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    piece.bytes.as_ptr(),
                    (block + piece.offset) as *mut u8,
                    piece.bytes.len(),
                )
            };
        }
        for fixup in &self.fixups {
            // SAFETY: inside a piece of the block.
            unsafe { ((block + fixup.at) as *mut usize).write_unaligned(block + fixup.target) };
        }
        for fixup in &self.thread_local {
            // SAFETY: a word of the program's thread-local block, which is in place for this rank.
            unsafe { (fixup.at as *mut usize).write_unaligned(block + fixup.target) };
        }
        self.mount(rank);
    }

    /// Says whose clone is in place.
    #[inline]
    pub(crate) fn mount(&self, rank: u32) {
        BLOCK.store(self.arena + self.places.of(self.blocks[rank as usize] as usize), Relaxed);
    }

    /// Frees the block of a rank that has ended: all zero again, it serves another.
    pub(crate) fn ended(&mut self, rank: u32) {
        // Threads that the rank left behind run on its code until the process ends.
        if helpers::has_own(rank) {
            return;
        }
        let number = self.blocks[rank as usize];
        let pages = self.arena + number as usize * self.places.stride;
        // SAFETY: the pages of a rank that will not run again; no other block is in them.
        unsafe { libc::madvise(pages as *mut libc::c_void, self.places.stride, libc::MADV_DONTNEED) };
        self.free.push(number);
    }
}

/// Result of `_dl_find_object`, by which the unwinder finds an image (glibc 2.35, `dlfcn.h`).
#[repr(C)]
pub struct FoundObject {
    flags: u64,
    start: usize,
    end: usize,
    link_map: usize,
    frames: usize,
    reserved: [u64; 7],
}

/// Implements `_dl_find_object`, so that exceptions pass through clones: the clone's unwind tables are where
/// the original's are, moved along. `real` is the loader's.
///
/// # Safety
/// `real` is glibc's `_dl_find_object`, and `found` points to its result structure.
pub unsafe fn find_object(
    address: usize,
    found: *mut FoundObject,
    real: unsafe extern "C" fn(usize, *mut FoundObject) -> i32,
) -> i32 {
    let loaded = original(address);
    // SAFETY: the caller's contract.
    unsafe {
        let status = real(loaded, found);
        if status == 0 && loaded != address {
            let moved = address.wrapping_sub(loaded);
            for at in [&raw mut (*found).start, &raw mut (*found).end, &raw mut (*found).frames] {
                *at = (*at).wrapping_add(moved);
            }
        }
        status
    }
}
