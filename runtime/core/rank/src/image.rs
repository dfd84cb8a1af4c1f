//! A loaded ELF image: where its writable data, constructors and relocations are.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ops::Range;

use libc::{Elf64_Phdr, dl_phdr_info};

use crate::executable::MOVED;

// Tags of the dynamic section that the `libc` crate does not name.
const DT_PLTRELSZ: usize = 2;
const DT_STRTAB: usize = 5;
const DT_SYMTAB: usize = 6;
const DT_RELA: usize = 7;
const DT_RELASZ: usize = 8;
const DT_INIT: usize = 12;
const DT_FINI: usize = 13;
const DT_JMPREL: usize = 23;
const DT_INIT_ARRAY: usize = 25;
const DT_FINI_ARRAY: usize = 26;
const DT_INIT_ARRAYSZ: usize = 27;
const DT_FINI_ARRAYSZ: usize = 28;
const DT_RELRSZ: usize = 35;
const DT_RELR: usize = 36;
const R_X86_64_64: u32 = 1;
const R_X86_64_COPY: u32 = 5;
const R_X86_64_GLOB_DAT: u32 = 6;
const R_X86_64_JUMP_SLOT: u32 = 7;
const R_X86_64_RELATIVE: u32 = 8;
const R_X86_64_IRELATIVE: u32 = 37;
const PAGE: usize = 4096;

/// A relocation with addend, as in the file (ELF-64, figure 4-? "Relocation entries").
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Rela {
    pub(crate) offset: usize,
    pub(crate) info: u64,
    pub(crate) addend: i64,
}

impl Rela {
    pub(crate) fn kind(&self) -> u32 {
        self.info as u32
    }
    pub(crate) fn symbol(&self) -> usize {
        (self.info >> 32) as usize
    }
}

#[repr(C)]
struct DynamicSymbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: usize,
    size: usize,
}

/// A word of a loaded image that holds an address.
pub(crate) enum RelocatedWord {
    /// An address in the image itself.
    Relative(usize),
    /// The address of a symbol, here or elsewhere.
    Symbol(usize),
    /// The address of a function, perhaps not looked up yet.
    Function(usize, &'static CStr),
}

/// A loaded segment.
pub(crate) struct LoadedSegment {
    /// Memory whose content comes from the file.
    pub(crate) file: Range<usize>,
    /// End of its memory.
    pub(crate) end: usize,
}

/// One image, described by addresses. Images of this kind stay loaded until the process ends.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    /// Path, empty for the program itself.
    pub(crate) name: String,
    /// Load address minus link address; zero for a program that is not PIE.
    pub(crate) bias: usize,
    headers: Vec<Header>,
    /// The image's thread-local block of this thread, or 0.
    tls: usize,
    /// By which number the loader knows the image's thread-local storage.
    tls_module: usize,
}

/// The argument of `__tls_get_addr` (ELF Handling For Thread-Local Storage, section 3.4.2).
#[repr(C)]
struct TlsIndex {
    module: usize,
    offset: usize,
}
unsafe extern "C" {
    fn __tls_get_addr(index: *const TlsIndex) -> *mut c_void;
}

#[derive(Clone, Copy, Debug)]
struct Header {
    kind: u32,
    writable: bool,
    address: usize,
    file_bytes: usize,
    bytes: usize,
}

/// Directories whose libraries belong to the system: shared by all ranks.
const SYSTEM: [&str; 6] = ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/local/lib/", "/opt/"];
/// Beginnings of the file names of libraries that belong to no rank wherever they are: the simulator, what it
/// runs on, the loader.
// An MPI's own and not all that begin as they do: a profiler (`libmpiP.so`) keeps what it counts for each
// rank.
const COMMON: [&str; 7] =
    ["libxsim", "libmpi.", "libmpi_", "libmpich", "libmpicxx", "libmpifort", "ld-linux"];

impl Image {
    /// Returns `true` if a library is the program's own: outside the system's directories, or its file name
    /// contains one of `named`; never the simulator.
    pub(crate) fn is_own(&self, named: &[String]) -> bool {
        let me = Image::is_own as *const () as usize;
        let file = self.file_name();
        let is_named = named.iter().any(|name| file.contains(name.as_str()));
        let is_system = !self.name.contains('/')
            || SYSTEM.iter().any(|directory| self.name.starts_with(directory))
            || self.is_common();
        (is_named || !is_system) && !self.contains(me)
    }

    /// Returns the name of its file, without directories.
    pub(crate) fn file_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }

    /// Returns `true` if a library belongs to no rank wherever it is: the simulator, the MPI that it runs on,
    /// the loader.
    pub(crate) fn is_common(&self) -> bool {
        COMMON.iter().any(|known| self.file_name().starts_with(known))
    }

    /// Returns `true` if this is the program that the process was started with.
    pub(crate) fn is_first(&self) -> bool {
        self.name.is_empty()
    }

    /// Returns the file that it is in.
    pub(crate) fn file(&self) -> CString {
        if self.is_first() {
            c"/proc/self/exe".to_owned()
        } else {
            CString::new(self.name.as_str()).unwrap_or_default()
        }
    }

    /// Returns every loaded image; the program is the first.
    pub(crate) fn all() -> Vec<Image> {
        unsafe extern "C" fn each(info: *mut dl_phdr_info, _: usize, images: *mut c_void) -> i32 {
            // SAFETY: the loader passes a valid description, and `images` is the vector given below.
            let (info, images) = unsafe { (&*info, &mut *images.cast::<Vec<Image>>()) };
            images.push(Image::describe(info));
            0
        }
        let mut images: Vec<Image> = Vec::new();
        // SAFETY: `each` has the type that the loader calls, and gets a live vector.
        unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut images).cast()) };
        images
    }

    fn describe(info: &dl_phdr_info) -> Image {
        // SAFETY: the loader's own array of the stated length; the name is null or a C string.
        let (headers, name) = unsafe {
            let headers: &[Elf64_Phdr] = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize);
            let name = if info.dlpi_name.is_null() { c"" } else { CStr::from_ptr(info.dlpi_name) };
            (headers, name.to_string_lossy().into_owned())
        };
        let bias = info.dlpi_addr as usize;
        let headers = headers
            .iter()
            .map(|h| Header {
                kind: h.p_type,
                writable: h.p_flags & libc::PF_W != 0,
                address: bias + h.p_vaddr as usize,
                file_bytes: h.p_filesz as usize,
                bytes: h.p_memsz as usize,
            })
            .collect();
        Image { name, bias, headers, tls: info.dlpi_tls_data as usize, tls_module: info.dlpi_tls_modid }
    }

    /// Returns `true` if the image holds `address`.
    pub(crate) fn contains(&self, address: usize) -> bool {
        self.loads().any(|h| (h.address..h.address + h.bytes).contains(&address))
    }

    fn loads(&self) -> impl Iterator<Item = &Header> {
        self.headers.iter().filter(|h| h.kind == libc::PT_LOAD)
    }

    /// Addresses from the first to the last byte of the image.
    pub(crate) fn span(&self) -> Range<usize> {
        let start = self.loads().map(|h| h.address).min().unwrap_or(0);
        let end = self.loads().map(|h| h.address + h.bytes).max().unwrap_or(0);
        start & !(PAGE - 1)..end.next_multiple_of(PAGE)
    }

    /// Returns all loaded segments.
    pub(crate) fn segments(&self) -> Vec<LoadedSegment> {
        self.loads()
            .map(|h| LoadedSegment { file: h.address..h.address + h.file_bytes, end: h.address + h.bytes })
            .collect()
    }

    /// Returns the initial values of thread-local variables in the image, and this thread's block; `None` if
    /// it has no such variables.
    pub(crate) fn thread_local_image(&self) -> Option<(Range<usize>, usize)> {
        let block = self.thread_local()?;
        let header = self.headers.iter().find(|h| h.kind == libc::PT_TLS)?;
        Some((header.address..header.address + header.file_bytes, block.start))
    }

    /// Returns the writable data: file-backed part and zero-initialised part (may be empty) of each segment,
    /// without what the loader made read-only after relocation.
    pub(crate) fn writable(&self) -> Vec<(Range<usize>, Range<usize>)> {
        let relro = self.headers.iter().find(|h| h.kind == libc::PT_GNU_RELRO);
        // The loader protects whole pages: a page that RELRO only half covers stays writable.
        let relro = relro.map_or(0..0, |h| h.address & !(PAGE - 1)..(h.address + h.bytes) & !(PAGE - 1));
        let mut found = Vec::new();
        for h in self.loads().filter(|h| h.writable) {
            let (mut start, file, end) = (h.address, h.address + h.file_bytes, h.address + h.bytes);
            if relro.start <= start && start < relro.end {
                start = relro.end.min(end);
            }
            let file = file.max(start);
            if start < end {
                found.push((start..file, file..end));
            }
        }
        found
    }

    /// Returns the image's thread-local block of this thread, and how much of it is initialised from the
    /// file.
    pub(crate) fn thread_local(&self) -> Option<Range<usize>> {
        let header = self.headers.iter().find(|h| h.kind == libc::PT_TLS)?;
        (self.tls != 0 && header.bytes != 0).then(|| self.tls..self.tls + header.bytes)
    }

    /// Makes this thread's block for an image that was loaded after the thread began, which the loader makes
    /// at first use.
    pub(crate) fn allocate_thread_local(&mut self) {
        if self.tls == 0 && self.tls_module != 0 {
            // SAFETY: a module that is loaded, whose block begins at offset 0.
            self.tls = unsafe { __tls_get_addr(&TlsIndex { module: self.tls_module, offset: 0 }) } as usize;
        }
    }

    /// Returns the value of a dynamic tag, also if it is hidden from the loader.
    fn tag(&self, wanted: usize) -> Option<usize> {
        let dynamic = self.headers.iter().find(|h| h.kind == libc::PT_DYNAMIC)?;
        let mut at = dynamic.address as *const [usize; 2];
        loop {
            // SAFETY: the dynamic section of a loaded image ends with a zero tag.
            let [tag, value] = unsafe { *at };
            match tag {
                0 => return None,
                t if t == wanted || t == wanted + MOVED => return Some(value),
                // SAFETY: not the last entry.
                _ => at = unsafe { at.add(1) },
            }
        }
    }

    /// Returns an address in the dynamic section: the loader has relocated some of them in place.
    fn pointer(&self, tag: usize) -> Option<usize> {
        self.tag(tag).map(|value| if value < self.bias { value + self.bias } else { value })
    }

    fn array(&self, start: usize, bytes: usize) -> Vec<usize> {
        let (Some(at), Some(len)) = (self.pointer(start), self.tag(bytes)) else { return Vec::new() };
        // SAFETY: the dynamic section of a loaded image states the array's place and size.
        unsafe { std::slice::from_raw_parts(at as *const usize, len / size_of::<usize>()) }.to_vec()
    }

    /// Constructors in the order to call them, each `fn(argc, argv, envp)`.
    pub(crate) fn constructors(&self) -> Vec<usize> {
        let mut list: Vec<usize> = self.pointer(DT_INIT).into_iter().collect();
        list.extend(self.array(DT_INIT_ARRAY, DT_INIT_ARRAYSZ));
        list
    }

    /// Destructors in the order to call them, each `fn()`.
    pub(crate) fn destructors(&self) -> Vec<usize> {
        let mut list = self.array(DT_FINI_ARRAY, DT_FINI_ARRAYSZ);
        list.reverse();
        list.extend(self.pointer(DT_FINI));
        list
    }

    /// Makes the loader pass over the program's destructors at the process's end (not the libraries').
    ///
    /// The loader keeps pointers to the entries of the dynamic section; glibc's internal layout
    /// (`include/link.h`: `l_info` behind eight words) is trusted only where an entry found there
    /// is the right one.
    pub(crate) fn forget_destructors(&self) {
        const INFO: usize = 8;
        // SAFETY: null asks for the program's own handle, which glibc makes a `link_map` of at
        // least this size; the words read are pointers to dynamic entries, or null.
        unsafe {
            let map = libc::dlopen(std::ptr::null(), libc::RTLD_LAZY).cast::<usize>();
            if map.is_null() || *map != self.bias {
                return;
            }
            let (Some(dynamic), entries) =
                (self.headers.iter().find(|h| h.kind == libc::PT_DYNAMIC), [DT_FINI, DT_FINI_ARRAY])
            else {
                return;
            };
            for tag in entries {
                let place = map.add(INFO + tag);
                let entry = *place;
                if (dynamic.address..dynamic.address + dynamic.bytes).contains(&entry)
                    && *(entry as *const usize) == tag
                {
                    *place = 0;
                }
            }
        }
    }

    /// Relocations: the data's, then the procedure linkage table's.
    pub(crate) fn relocations(&self) -> [&'static [Rela]; 2] {
        let table = |start, bytes| match (self.pointer(start), self.tag(bytes)) {
            // SAFETY: the dynamic section of a loaded image states the table's place and size, and
            // images stay loaded.
            (Some(at), Some(len)) => unsafe {
                std::slice::from_raw_parts(at as *const Rela, len / size_of::<Rela>())
            },
            _ => &[],
        };
        [table(DT_RELA, DT_RELASZ), table(DT_JMPREL, DT_PLTRELSZ)]
    }

    fn symbol_name(&self, relocation: &Rela) -> &'static CStr {
        let (Some(symbols), Some(strings)) = (self.pointer(DT_SYMTAB), self.pointer(DT_STRTAB)) else {
            return c"";
        };
        // SAFETY: a relocation names an entry of the image's own symbol table, which names a C string
        // in its string table; both stay loaded.
        unsafe {
            let symbol = &*(symbols as *const DynamicSymbol).add(relocation.symbol());
            CStr::from_ptr((strings + symbol.name as usize) as *const c_char)
        }
    }

    /// Returns `true` if the image refers to a function or variable of another with one of these names,
    /// underscores at their ends and capitals aside.
    pub(crate) fn refers_to(&self, names: &[&str]) -> bool {
        self.refers(|mut found| {
            while let [b'_', rest @ ..] | [rest @ .., b'_'] = found {
                found = rest;
            }
            names.iter().any(|name| found.eq_ignore_ascii_case(name.as_bytes()))
        })
    }

    /// Returns `true` if the image refers to a variable of exactly this name, or has a copy of it.
    pub(crate) fn refers_to_exactly(&self, name: &CStr) -> bool {
        let kinds = [R_X86_64_GLOB_DAT, R_X86_64_64, R_X86_64_COPY];
        self.relocations()[0]
            .iter()
            .any(|relocation| kinds.contains(&relocation.kind()) && self.symbol_name(relocation) == name)
    }

    /// Returns `true` if the image refers to a function or variable of another of which `is_meant` is true.
    fn refers(&self, is_meant: impl Fn(&[u8]) -> bool) -> bool {
        self.relocations().into_iter().flatten().any(|relocation| {
            let named = matches!(relocation.kind(), R_X86_64_JUMP_SLOT | R_X86_64_GLOB_DAT | R_X86_64_64);
            named && is_meant(self.symbol_name(relocation).to_bytes())
        })
    }

    /// Returns `true` if the image starts threads: with OpenMP (GCC's and LLVM's entry points), pthreads,
    /// C11, or C++.
    pub(crate) fn starts_threads(&self) -> bool {
        const STARTS: [&[u8]; 5] = [
            b"GOMP_parallel",
            b"__kmpc_fork_call",
            b"pthread_create",
            b"thrd_create",
            b"_ZNSt6thread15_M_start_thread",
        ];
        self.refers(|name| STARTS.iter().any(|start| name.starts_with(start)))
    }

    /// Returns a function or variable that this library, or one that it needs, defines.
    pub(crate) fn symbol(&self, name: &CStr) -> Option<usize> {
        let path = CString::new(self.name.as_str()).ok()?;
        // SAFETY: asks for a library that is loaded, by a valid path, and looks up a symbol in it.
        unsafe {
            let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
            let found =
                if handle.is_null() { std::ptr::null_mut() } else { libc::dlsym(handle, name.as_ptr()) };
            (!found.is_null()).then_some(found as usize)
        }
    }

    /// Returns every word that the loader relocated to an address.
    pub(crate) fn address_slots(&self) -> Vec<RelocatedWord> {
        let mut slots = Vec::new();
        for relocation in self.relocations().into_iter().flatten() {
            let at = self.bias + relocation.offset;
            match relocation.kind() {
                R_X86_64_RELATIVE | R_X86_64_IRELATIVE => slots.push(RelocatedWord::Relative(at)),
                R_X86_64_64 | R_X86_64_GLOB_DAT => slots.push(RelocatedWord::Symbol(at)),
                R_X86_64_JUMP_SLOT => slots.push(RelocatedWord::Function(at, self.symbol_name(relocation))),
                _ => {}
            }
        }
        slots.extend(self.packed_relative().into_iter().map(RelocatedWord::Relative));
        slots
    }

    /// Returns the relative relocations in the packed form (generic ABI, DT_RELR). An even entry is an
    /// address, an odd one says which of the 63 words behind the last are relocated too.
    fn packed_relative(&self) -> Vec<usize> {
        let mut found = Vec::new();
        let mut next = 0;
        for entry in self.array(DT_RELR, DT_RELRSZ) {
            if entry & 1 == 0 {
                found.push(self.bias + entry);
                next = self.bias + entry + 8;
            } else {
                found.extend((0..63).filter(|bit| entry >> (bit + 1) & 1 != 0).map(|bit| next + bit * 8));
                next += 63 * 8;
            }
        }
        found
    }

    /// Addresses of functions in shared libraries, filled in as each is first called. They are the
    /// same for all ranks.
    pub(crate) fn linkage(&self) -> Option<Range<usize>> {
        let slots = self.relocations()[1].iter().map(|r| self.bias + r.offset);
        Some(slots.clone().min()?..slots.max()? + size_of::<usize>())
    }

    /// Variables of shared libraries that live in this image (copy relocations: `stdout`, `optind`).
    /// Each with its name, by address.
    pub(crate) fn borrowed(&self) -> Vec<(Range<usize>, &'static CStr)> {
        let Some(symbols) = self.pointer(DT_SYMTAB) else { return Vec::new() };
        let copies = self.relocations()[0].iter().filter(|r| r.kind() == R_X86_64_COPY);
        let mut list: Vec<_> = copies
            .map(|r| {
                // SAFETY: a relocation names an entry of the image's own symbol table.
                let symbol = unsafe { &*(symbols as *const DynamicSymbol).add(r.symbol()) };
                (self.bias + r.offset..self.bias + r.offset + symbol.size, self.symbol_name(r))
            })
            .collect();
        list.sort_by_key(|(r, _)| r.start);
        list
    }

    /// Returns where copies of `getopt`'s variables are in this image (0 where there is none): those that
    /// [`crate::libc_state`] knows, in its order.
    pub(crate) fn copies(&self, names: [&CStr; 4]) -> [usize; 4] {
        let borrowed = self.borrowed();
        names.map(|wanted| {
            borrowed.iter().find(|(_, name)| *name == wanted).map_or(0, |(range, _)| range.start)
        })
    }

    /// Returns `true` if this library defines the variable, even if another image's copy is the one in use.
    pub(crate) fn defines(&self, name: &CStr) -> bool {
        self.symbol(name).is_some_and(|found| self.contains(found))
    }
}

/// Returns `true` if the program, or a library that is loaded by now, refers to one of these functions,
/// underscores at their ends and capitals aside; the simulator does not count.
pub fn is_any_called(names: &[&str]) -> bool {
    let me = is_any_called as *const () as usize;
    Image::all().iter().any(|image| !image.contains(me) && image.refers_to(names))
}

#[cfg(test)]
mod tests {
    use super::*;

    static mut WRITABLE: [u8; 64] = [1; 64];
    static mut ZEROED: [u8; 64] = [0; 64];

    #[test]
    fn the_program_is_found_with_its_data() {
        let images = Image::all();
        let program = &images[0];
        assert!(program.contains(the_program_is_found_with_its_data as *const () as usize));
        let data = program.writable();
        let (initialised, zeroed) = (&raw const WRITABLE as usize, &raw const ZEROED as usize);
        assert!(data.iter().any(|(file, _)| file.contains(&initialised)), "{data:x?}");
        assert!(data.iter().any(|(_, zero)| zero.contains(&zeroed)), "{data:x?}");
        assert!(program.span().contains(&initialised));
        assert!(images.len() > 1 && !images[1..].iter().any(|i| i.contains(initialised)));
    }

    #[test]
    fn constructors_are_in_the_image() {
        let program = &Image::all()[0];
        let list = program.constructors();
        assert!(!list.is_empty() && list.iter().all(|&f| program.contains(f)), "{list:x?}");
    }
}
