//! Names for addresses in crash reports, from the symbol tables of the files on disk, without allocation.

use std::ffi::{CStr, c_void};
use std::fmt::Write;

use crate::text::FixedText;

#[repr(C)]
struct SectionHeader {
    name: u32,
    kind: u32,
    flags: u64,
    address: u64,
    offset: u64,
    size: u64,
    link: u32,
    info: u32,
    align: u64,
    entry: u64,
}

#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

const SHT_SYMTAB: u32 = 2;
const STT_FUNC: u8 = 2;
const STT_OBJECT: u8 = 1;

/// A file, mapped to read its symbols.
pub(crate) struct Mapped {
    base: usize,
    len: usize,
}

impl Mapped {
    /// Maps an ELF-64 file.
    pub(crate) fn open(path: &CStr) -> Option<Mapped> {
        // SAFETY: opens and maps a file for reading; the header is read only if the file has one.
        unsafe {
            let descriptor = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
            if descriptor < 0 {
                return None;
            }
            let len = libc::lseek(descriptor, 0, libc::SEEK_END);
            let base = if len > 64 {
                libc::mmap(
                    std::ptr::null_mut(),
                    len as usize,
                    libc::PROT_READ,
                    libc::MAP_PRIVATE,
                    descriptor,
                    0,
                )
            } else {
                libc::MAP_FAILED
            };
            libc::close(descriptor);
            if base == libc::MAP_FAILED {
                return None;
            }
            let mapped = Mapped { base: base as usize, len: len as usize };
            (mapped.bytes(0, 5)? == b"\x7fELF\x02").then_some(mapped)
        }
    }

    fn bytes(&self, offset: usize, len: usize) -> Option<&[u8]> {
        // SAFETY: inside the mapping, which lives as long as `self`.
        (offset.checked_add(len)? <= self.len)
            .then(|| unsafe { std::slice::from_raw_parts((self.base + offset) as *const u8, len) })
    }

    fn table<T>(&self, offset: usize, count: usize) -> Option<&[T]> {
        let bytes = self.bytes(offset, count.checked_mul(size_of::<T>())?)?;
        // SAFETY: `T` is one of the two plain structures above; alignment is checked.
        bytes
            .as_ptr()
            .cast::<T>()
            .is_aligned()
            .then(|| unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), count) })
    }

    fn number(&self, offset: usize, len: usize) -> Option<usize> {
        Some(self.bytes(offset, len)?.iter().rev().fold(0, |n, &b| n << 8 | b as usize))
    }

    /// Calls `each` with name, link address, size and type of every defined symbol, until it returns true.
    fn symbols(&self, mut each: impl FnMut(&[u8], u64, u64, u8) -> bool) -> Option<()> {
        let sections: &[SectionHeader] = self.table(self.number(0x28, 8)?, self.number(0x3c, 2)?)?;
        let table = sections.iter().find(|s| s.kind == SHT_SYMTAB)?;
        let strings = sections.get(table.link as usize)?;
        let strings = self.bytes(strings.offset as usize, strings.size as usize)?;
        let symbols: &[Symbol] =
            self.table(table.offset as usize, table.size as usize / size_of::<Symbol>())?;
        for symbol in symbols.iter().filter(|s| s.section != 0) {
            let name = strings.get(symbol.name as usize..)?;
            let end = name.iter().position(|&b| b == 0)?;
            if each(&name[..end], symbol.value, symbol.size, symbol.info & 15) {
                break;
            }
        }
        Some(())
    }

    /// Returns the largest alignment of a section that is loaded; a page, if the file does not say.
    pub(crate) fn alignment(&self) -> usize {
        const SHF_ALLOC: u64 = 2;
        let sections = || self.table::<SectionHeader>(self.number(0x28, 8)?, self.number(0x3c, 2)?);
        let loaded = sections().unwrap_or(&[]).iter().filter(|section| section.flags & SHF_ALLOC != 0);
        loaded.map(|section| section.align as usize).max().unwrap_or(4096)
    }

    /// Returns link address and size of a variable; `None` if there is none of this name.
    pub(crate) fn variable(&self, wanted: &str) -> Option<(usize, usize)> {
        let mut found = None;
        self.symbols(|name, value, size, kind| {
            if kind == STT_OBJECT && name == wanted.as_bytes() {
                found = Some((value as usize, size as usize));
            }
            found.is_some()
        })?;
        found
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and `bytes` borrows from `self`.
        unsafe { libc::munmap(self.base as *mut c_void, self.len) };
    }
}

/// Returns the loaded object that holds an address, and its dynamic symbol if it has one.
fn object(address: usize) -> Option<libc::Dl_info> {
    // SAFETY: an all-zero Dl_info is valid; dladdr only reads the loader's tables.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        (libc::dladdr(address as *const c_void, &mut info) != 0 && !info.dli_fname.is_null()).then_some(info)
    }
}

/// Writes function, offset and file of a code address. A return address (`exact` is false) belongs
/// to the call before it. Returns whether the function is `main`.
pub(crate) fn describe(address: usize, exact: bool, text: &mut FixedText) -> bool {
    let address = crate::globals::clone::original(address);
    let within = address - usize::from(!exact);
    let Some(info) = object(within) else {
        let _ = write!(text, "{address:#x}");
        return false;
    };
    // SAFETY: dladdr gives C strings, or null for the symbol.
    let (path, symbol) = unsafe {
        (CStr::from_ptr(info.dli_fname), (!info.dli_sname.is_null()).then(|| CStr::from_ptr(info.dli_sname)))
    };
    let base = info.dli_fbase as usize;
    let (mut named, mut is_main) = (false, false);
    let mapped = Mapped::open(path).or_else(|| Mapped::open(c"/proc/self/exe"));
    if let Some(mapped) = &mapped {
        // e_type 2: link addresses are load addresses.
        let bias = if mapped.number(0x10, 2) == Some(2) { 0 } else { base };
        let wanted = (within - bias) as u64;
        mapped.symbols(|name, value, size, kind| {
            if kind == STT_FUNC && wanted >= value && wanted < value + size.max(1) {
                for part in name.utf8_chunks() {
                    let _ = text.write_str(part.valid());
                }
                let _ = write!(text, "+{:#x}", wanted - value + u64::from(!exact));
                (named, is_main) = (true, name == b"main");
            }
            named
        });
    }
    if !named {
        let _ = match symbol.and_then(|s| s.to_str().ok()) {
            Some(name) => write!(text, "{name}+{:#x}", address - info.dli_saddr as usize),
            None => write!(text, "{address:#x}"),
        };
    }
    let file = path.to_str().unwrap_or("?");
    let _ = text.write_str(" (");
    let is_program = crate::loaded::name_of(file, |name| {
        let _ = text.write_str(name);
    });
    let name = if is_program { "" } else { file.rsplit('/').next().unwrap_or(file) };
    let _ = write!(text, "{name}+{:#x})", address - base);
    is_main
}
