//! Blocks of memory of which parts are every rank's and the rest is a rank's own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::rc::{Rc, Weak};

const PAGE: usize = 4096;

/// Place of the program and size, which ranks that share must have alike.
pub type Key = (String, i32, usize);

/// One rank's block.
struct Block {
    start: *mut libc::c_void,
    bytes: usize,
    /// The memory file that the shared parts map, which lives as long as a block of it.
    _file: Rc<OwnedFd>,
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` and is this block's alone; its rank gave it back.
        unsafe { libc::munmap(self.start, self.bytes) };
    }
}

/// All blocks of a process.
#[derive(Default)]
pub struct PartialBlocks {
    files: HashMap<Key, Weak<OwnedFd>>,
    blocks: HashMap<usize, Block>,
}

impl PartialBlocks {
    /// Returns a block of the key's size, of which the whole pages within `ranges` (ascending, first byte and
    /// first byte behind) are the same memory as in all other blocks of that key.
    ///
    /// # Errors
    /// What the operating system refuses.
    pub fn take(&mut self, key: Key, ranges: &[(usize, usize)]) -> io::Result<*mut libc::c_void> {
        let bytes = key.2.max(1).next_multiple_of(PAGE);
        let known = self.files.get(&key).and_then(Weak::upgrade);
        let file = known.map_or_else(|| memory(bytes).map(Rc::new), Ok)?;
        let start = map(
            std::ptr::null_mut(),
            bytes,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )?;
        let block = Block { start, bytes, _file: file.clone() };
        for &(from, end) in ranges {
            // The block's last page is shared as far as the block goes.
            let end = if end == key.2 { bytes } else { end / PAGE * PAGE };
            let from = from.next_multiple_of(PAGE);
            if from < end {
                map(
                    start.wrapping_byte_add(from),
                    end - from,
                    libc::MAP_SHARED | libc::MAP_FIXED,
                    file.as_raw_fd(),
                    from,
                )?;
            }
        }
        self.files.insert(key, Rc::downgrade(&file));
        self.blocks.insert(start as usize, block);
        Ok(start)
    }

    /// Gives a block back; false if there is none there.
    pub fn free(&mut self, start: usize) -> bool {
        let known = self.blocks.remove(&start).is_some();
        if self.blocks.is_empty() {
            self.files.clear();
        }
        known
    }
}

/// Returns memory of zeros that can be mapped in several places.
fn memory(bytes: usize) -> io::Result<OwnedFd> {
    // SAFETY: the name is a C string; a descriptor that is not negative is new and ours alone.
    let file = unsafe {
        let descriptor = libc::memfd_create(c"xsim-shared".as_ptr(), libc::MFD_CLOEXEC);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(descriptor)
    };
    // SAFETY: the descriptor is open; it has no mappings yet.
    if unsafe { libc::ftruncate(file.as_raw_fd(), bytes as libc::off_t) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(file)
}

fn map(
    at: *mut libc::c_void,
    bytes: usize,
    flags: i32,
    descriptor: i32,
    offset: usize,
) -> io::Result<*mut libc::c_void> {
    // SAFETY: with MAP_FIXED, `at` lies within a mapping of `take`'s that nobody has seen yet; without, the
    // system chooses.
    let start = unsafe {
        libc::mmap(at, bytes, libc::PROT_READ | libc::PROT_WRITE, flags, descriptor, offset as libc::off_t)
    };
    if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(start) }
}

thread_local! {
    /// The parts of this process.
    pub static PARTIAL: RefCell<PartialBlocks> = RefCell::default();
}
