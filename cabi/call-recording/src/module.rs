//! The files that are loaded, and where their code and their tables for unwinding are.

use recorder::CodeLocation;
use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::path::PathBuf;

/// A loaded file.
pub struct Module {
    /// Its name; of the program what it was started as.
    pub file: PathBuf,
    /// The load address: what is added to the addresses of the file's symbols.
    pub base: usize,
    /// The segment that the wanted address is in.
    pub code: Range<usize>,
    /// Tables for unwinding its frames, if the file has them.
    pub tables: Option<Tables>,
}

/// `.eh_frame_hdr` and `.eh_frame` (System V ABI for x86-64, section 4.2.4; LSB core, section 10.6), as they
/// lie in memory.
pub struct Tables {
    /// The index.
    pub index: Range<usize>,
    /// The frames that the index points to. The range ends with their segment, since their length is not
    /// recorded.
    pub frames: Range<usize>,
}

/// The loaded file that holds an address; O(loaded files).
pub fn of(address: usize) -> Option<Module> {
    struct ModuleSearch {
        address: usize,
        found: Option<Module>,
    }
    unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, wanted: *mut c_void) -> c_int {
        // SAFETY: the loader's own tables, during the call; `wanted` is the one below.
        let (info, wanted) = unsafe { (&*info, &mut *wanted.cast::<ModuleSearch>()) };
        // SAFETY: as many headers as it says.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let base = info.dlpi_addr as usize;
        let place = |header: &libc::Elf64_Phdr| {
            base + header.p_vaddr as usize..base + (header.p_vaddr + header.p_memsz) as usize
        };
        let segment = |address: usize| {
            let mut segments = headers.iter().filter(|header| header.p_type == libc::PT_LOAD).map(place);
            segments.find(|range| range.contains(&address))
        };
        let Some(code) = segment(wanted.address) else { return 0 };
        // SAFETY: a text that the loader keeps.
        let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_string_lossy().into_owned();
        let file = if name.is_empty() {
            std::fs::read_link("/proc/self/exe").unwrap_or_default()
        } else {
            name.into()
        };
        let index = headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME).map(place);
        let tables = index.and_then(|index| {
            let first = frames(&index)?;
            Some(Tables { frames: first..segment(first)?.end, index })
        });
        wanted.found = Some(Module { file, base, code, tables });
        1
    }
    let mut wanted = ModuleSearch { address, found: None };
    // SAFETY: the callback gets what it expects.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut wanted).cast()) };
    wanted.found
}

impl Module {
    /// An address in it as its own symbols have it.
    fn place(self, address: usize) -> CodeLocation {
        CodeLocation { file: self.file, address: (address - self.base) as u64 }
    }
}

/// An address as the symbols of the file that holds it have it; as it is, if no file does.
pub fn place(address: usize) -> CodeLocation {
    of(address).map_or_else(
        || CodeLocation { file: PathBuf::new(), address: address as u64 },
        |module| module.place(address),
    )
}

/// Returns where an index says that the frames begin; `None` if it says so in a way that no linker for this
/// system uses.
fn frames(index: &Range<usize>) -> Option<usize> {
    /// Version 1, and a pointer of 4 bytes with a sign, from where it stands.
    const USUAL: [u8; 2] = [1, 0x1b];
    if index.len() < 8 {
        return None;
    }
    // SAFETY: at least 8 bytes of a segment that the loader has mapped for reading.
    let head = unsafe { *(index.start as *const [u8; 8]) };
    let [version, encoding, _, _, offset @ ..] = head;
    ([version, encoding] == USUAL)
        .then(|| (index.start + 4).wrapping_add_signed(i32::from_ne_bytes(offset) as isize))
}
