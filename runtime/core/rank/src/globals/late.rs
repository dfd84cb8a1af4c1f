//! Globals of libraries that a rank loads with `dlopen`, private to each rank.
//!
//! What such a library has after its constructors ran, in the rank that loaded it first, are the initial
//! values for all ranks: it is constructed once, and stays loaded. Its data is copied at a switch, also where
//! ranks have clones of the program, since every rank's `dlsym` gives the same addresses.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use super::touched::{PAGE, Untouched};
use super::{Private, Swapped, add_swapped};
use crate::caller::caller;
use crate::image::Image;
use crate::next::NextSymbol;
use crate::output;
use crate::single::Single;

static DLOPEN: NextSymbol = NextSymbol::new(c"dlopen");

/// Libraries that were loaded late.
struct LateLibraries {
    /// Parts of names from `-xsim-globals-libs`, and whether a library has been found for each.
    named: Vec<(String, bool)>,
    /// The libraries that were loaded when it was last looked at.
    known: Vec<(usize, String)>,
    images: Vec<Image>,
    swapped: Vec<Swapped>,
}

static LATE: Single<Option<LateLibraries>> = Single::new(None);
static RANKS: AtomicU32 = AtomicU32::new(0);
static ANY: AtomicBool = AtomicBool::new(false);

fn with<R>(f: impl FnOnce(&mut LateLibraries) -> R) -> Option<R> {
    // SAFETY: the simulating thread; no closure here suspends, runs the program's code or comes back.
    unsafe { LATE.with(|late| late.as_mut().map(f)) }
}

fn loaded() -> Vec<(usize, String)> {
    Image::all().into_iter().map(|image| (image.bias, image.name)).collect()
}

/// Looks after libraries that are loaded from here on, for ranks with private globals. Names that no library
/// has are reported by the process that `reports`.
pub(crate) fn begin(named: &[String], ranks: u32, reports: bool) {
    let images = Image::all();
    let is_there = |name: &String| images.iter().any(|image| image.file_name().contains(name.as_str()));
    let named = named.iter().map(|name| (name.clone(), !reports || is_there(name))).collect();
    let late = LateLibraries { named, known: loaded(), images: Vec::new(), swapped: Vec::new() };
    RANKS.store(ranks, Relaxed);
    // SAFETY: as in `with`.
    unsafe { LATE.with(|slot| *slot = Some(late)) };
}

/// Returns `true` if a library has been loaded late.
#[inline]
pub(crate) fn is_any() -> bool {
    ANY.load(Relaxed)
}

/// Puts the rank's values in place.
pub(crate) fn mount(rank: u32) {
    with(|late| late.swapped.iter_mut().for_each(|swapped| swapped.mount(rank)));
}

/// Releases the late globals of the mounted rank, which has ended.
pub(crate) fn ended(rank: u32) {
    with(|late| late.swapped.iter_mut().for_each(|swapped| swapped.ended(rank)));
}

/// Returns the bytes that parked ranks keep.
pub(crate) fn saved_bytes() -> usize {
    with(|late| late.swapped.iter().map(Swapped::saved_bytes).sum()).unwrap_or(0)
}

/// Returns `true` if one of these libraries holds an address.
pub(crate) fn contains(address: usize) -> bool {
    is_any() && with(|late| late.images.iter().any(|image| image.contains(address))) == Some(true)
}

/// Says which names of `-xsim-globals-libs` no library had. To be called when all ranks have ended.
pub(crate) fn finish() {
    let missing = with(|late| {
        let missing = late.named.iter().filter(|(_, found)| !found).map(|(name, _)| name.clone());
        missing.collect::<Vec<_>>()
    });
    for name in missing.into_iter().flatten() {
        let text = format!(
            "xsim: -xsim-globals-libs names {name}, but the program has loaded no library with that in its \
             file name; give a part of the name that ldd or dlopen uses\n"
        );
        output::write_fully(2, text.as_bytes());
    }
}

/// Calls the C library's `dlopen`, for what the simulator loads itself.
///
/// # Safety
/// As `dlopen`.
pub(crate) unsafe fn real_dlopen(name: *const c_char, flags: i32) -> *mut c_void {
    // SAFETY: the C library's function of this type; the caller's contract.
    unsafe { DLOPEN.get::<unsafe extern "C" fn(*const c_char, i32) -> *mut c_void>()(name, flags) }
}

/// Implements `dlopen`, called from the code at `from`. What a rank loads is private to each rank from then
/// on.
///
/// # Safety
/// As `dlopen`.
pub unsafe fn open(name: *const c_char, flags: i32, from: usize) -> *mut c_void {
    // SAFETY: the caller's contract.
    unsafe {
        if name.is_null() {
            return real_dlopen(name, flags);
        }
        let found = search(CStr::from_ptr(name), from);
        let handle = real_dlopen(found.as_ref().map_or(name, |path| path.as_ptr()), flags);
        if let (false, Some(rank)) = (handle.is_null() || flags & libc::RTLD_NOLOAD != 0, caller()) {
            let new = with(LateLibraries::new_images).unwrap_or_default();
            if !new.is_empty() {
                take(new, rank);
            }
        }
        handle
    }
}

/// The head of `Dl_serinfo`, behind which are paths (`dlfcn.h`).
#[repr(C)]
struct SearchInfo {
    bytes: usize,
    count: u32,
}
#[repr(C)]
struct SearchPath {
    name: *const c_char,
    flags: u32,
}
/// Directories in which the loader looks after the paths of the program and the environment.
const DEFAULT_PATHS: [&str; 2] = ["/lib", "/usr/lib"];
/// Requests of `dlinfo` (`dlfcn.h`).
const SERINFO: i32 = 4;
const SERINFOSIZE: i32 = 5;
/// `RTLD_DL_LINKMAP` of `dladdr1`.
const LINK_MAP: i32 = 2;
unsafe extern "C" {
    fn dlinfo(handle: *mut c_void, request: i32, argument: *mut c_void) -> i32;
    fn dladdr1(address: *const c_void, info: *mut libc::Dl_info, extra: *mut *mut c_void, flags: i32) -> i32;
}

/// Finds a library by a plain name in the paths of the program or library that asks, which the loader takes
/// from its caller. Returns `None` where the loader finds it without that.
///
/// # Safety
/// On a thread that may ask the loader.
unsafe fn search(name: &CStr, from: usize) -> Option<CString> {
    if name.to_bytes().contains(&b'/') {
        return None;
    }
    // SAFETY: the loader's functions with structures of the types that they state; a link map is glibc's
    // handle.
    unsafe {
        if !real_dlopen(name.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY).is_null() {
            return None;
        }
        let mut info: libc::Dl_info = std::mem::zeroed();
        let mut map = std::ptr::null_mut();
        let mut size = SearchInfo { bytes: 0, count: 0 };
        let from = crate::globals::clone::original(from);
        if dladdr1(from as *const c_void, &mut info, &mut map, LINK_MAP) == 0
            || map.is_null()
            || dlinfo(map, SERINFOSIZE, (&raw mut size).cast()) != 0
        {
            return None;
        }
        let mut memory = vec![0usize; size.bytes.div_ceil(size_of::<usize>()) + 2];
        let paths = memory.as_mut_ptr().cast::<SearchInfo>();
        paths.write(SearchInfo { bytes: size.bytes, count: size.count });
        if dlinfo(map, SERINFO, paths.cast()) != 0 {
            return None;
        }
        let paths = std::slice::from_raw_parts(paths.add(1).cast::<SearchPath>(), (*paths).count as usize);
        let names = paths.iter().map(|path| CStr::from_ptr(path.name).to_bytes());
        let is_default = |path: &&[u8]| DEFAULT_PATHS.iter().any(|known| path.starts_with(known.as_bytes()));
        let mut files = names
            .take_while(|path| !is_default(path))
            .filter_map(|path| CString::new([path, b"/", name.to_bytes()].concat()).ok());
        files.find(|path| libc::access(path.as_ptr(), libc::R_OK) == 0)
    }
}

impl LateLibraries {
    /// Returns the images that have been loaded since the last look and belong to the program.
    fn new_images(&mut self) -> Vec<Image> {
        let names: Vec<String> = self.named.iter().map(|(name, _)| name.clone()).collect();
        let is_new =
            |image: &Image| !self.known.iter().any(|(bias, name)| *bias == image.bias && *name == image.name);
        let new: Vec<Image> =
            Image::all().into_iter().filter(|image| is_new(image) && image.is_own(&names)).collect();
        self.known = loaded();
        for (name, found) in &mut self.named {
            *found |= new.iter().any(|image| image.file_name().contains(name.as_str()));
        }
        new
    }
}

/// Makes the data of libraries that the running rank has just loaded private.
fn take(mut new: Vec<Image>, rank: u32) {
    for image in &mut new {
        image.allocate_thread_local();
        // It stays: other ranks have its data when this one closes it.
        // SAFETY: a library that is loaded, by its name.
        unsafe {
            real_dlopen(image.file().as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY | libc::RTLD_NODELETE)
        };
    }
    let mut private = Private::of_late(&new);
    for region in &mut private.regions {
        region.zero = end_of_written(region.zero..region.range.end);
    }
    if private.regions.is_empty() {
        return;
    }
    let ranges: Vec<Range<usize>> = private.regions.iter().map(|region| region.range.clone()).collect();
    match Swapped::new(private, RANKS.load(Relaxed)) {
        Ok(mut swapped) => {
            add_swapped(ranges);
            swapped.mount(rank);
            with(|late| {
                late.images.extend(new);
                late.swapped.push(swapped);
            });
            ANY.store(true, Relaxed);
            crate::now::notice();
        }
        Err(why) => {
            let text =
                format!("xsim: ranks share the globals of {}, which one has loaded: {why}\n", new[0].name);
            output::write_fully(2, text.as_bytes());
        }
    }
}

/// Returns where the written part of data that begins as zeros ends.
fn end_of_written(zero: Range<usize>) -> usize {
    let bytes = |range: Range<usize>| {
        // SAFETY: loaded data is readable.
        unsafe { std::slice::from_raw_parts(range.start as *const u8, range.len()) }
    };
    let last = |range: Range<usize>| {
        bytes(range.clone()).iter().rposition(|&byte| byte != 0).map(|at| range.start + at + 1)
    };
    let pages = zero.start.next_multiple_of(PAGE)..zero.end & !(PAGE - 1);
    if pages.is_empty() {
        return last(zero.clone()).unwrap_or(zero.start);
    }
    let mut end = last(zero.start..pages.start).unwrap_or(zero.start);
    Untouched::new(std::iter::once(pages.clone()).collect())
        .take(|page| end = end.max(last(page..page + PAGE).unwrap_or(0)));
    end.max(last(pages.end..zero.end).unwrap_or(0))
}
