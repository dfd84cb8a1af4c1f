//! Data of the program's own libraries as it was before their constructors ran.
//!
//! The loader runs constructors of libraries before the program's entry point is reached. C++ objects that
//! they made (a string, a vector) would be copied to each rank with pointers to the same heap. So their data
//! is captured when this library is loaded, which the loader does before it runs the constructors of
//! libraries that need it, or that come before it on the link line.
//!
//! Changes that a constructor has made since then are taken back, and each rank runs the constructor itself.

use std::ffi::c_void;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::handlers::{Handler, HandlerPhase};
use crate::image::Image;
use crate::next::NextSymbol;
use crate::single::Single;

struct Library {
    image: Image,
    /// Initialised data, as the loader left it.
    data: Vec<(Range<usize>, Vec<u8>)>,
    /// Handlers that its constructors registered for the end.
    handlers: Vec<(HandlerPhase, Handler, usize)>,
}

static LIBRARIES: Single<Vec<Library>> = Single::new(Vec::new());
static REGISTER: NextSymbol = NextSymbol::new(c"__cxa_atexit");
type Register = unsafe extern "C" fn(unsafe extern "C" fn(*mut c_void), *mut c_void, *mut c_void) -> i32;
/// More zero data than this is not searched for changes.
const MAX_SEARCHED_BYTES: usize = 64 << 20;

fn read(range: Range<usize>) -> Vec<u8> {
    // SAFETY: loaded segments are readable, and nothing else runs.
    unsafe { std::slice::from_raw_parts(range.start as *const u8, range.len()) }.to_vec()
}

/// Captures the libraries' data. To be called when this library is loaded.
pub(crate) fn capture() {
    let libraries = Image::all().into_iter().skip(1).filter(|image| image.is_own(&[]));
    let captured = libraries.map(|image| {
        let data = image.writable().into_iter().map(|(file, _)| (file.clone(), read(file))).collect();
        Library { image, data, handlers: Vec::new() }
    });
    let captured = captured.collect();
    // SAFETY: the process's only thread; a plain assignment.
    unsafe { LIBRARIES.with(|libraries| *libraries = captured) };
}

static BEGUN: AtomicBool = AtomicBool::new(false);

/// Returns `true` if the libraries are loaded and the program's entry point has been reached.
pub fn has_begun() -> bool {
    BEGUN.load(Relaxed)
}

/// Records that ranks begin.
pub(crate) fn begin() {
    BEGUN.store(true, Relaxed);
}

/// Runs what was kept at the process's end, if the program's entry point never came here: nothing else runs
/// it.
unsafe extern "C" fn run_kept(_: *mut c_void) {
    if has_begun() {
        return;
    }
    // SAFETY: the closure only takes the lists out.
    let kept = unsafe {
        LIBRARIES.with(|libraries| {
            libraries.iter_mut().flat_map(|library| std::mem::take(&mut library.handlers)).collect::<Vec<_>>()
        })
    };
    for (_, handler, _) in kept.into_iter().rev() {
        if let Handler::Object(function, object) = handler {
            // SAFETY: registered by a library for this moment.
            unsafe { function(object as *mut c_void) };
        }
    }
}

/// Keeps a handler that a library registers before the program begins. Returns `true` if it is kept here
/// until it is known whether ranks run that library's constructors.
pub(crate) fn keep(at: HandlerPhase, handler: Handler, dso: usize) -> bool {
    // SAFETY: the process's only thread; the closure only pushes.
    let (kept, first) = unsafe {
        LIBRARIES.with(|libraries| {
            let first = libraries.iter().all(|library| library.handlers.is_empty());
            let library = libraries.iter_mut().find(|library| library.image.contains(dso));
            (library.map(|library| library.handlers.push((at, handler, dso))).is_some(), first)
        })
    };
    if kept && first {
        // SAFETY: the C library's function of this name and type.
        unsafe { REGISTER.get::<Register>()(run_kept, std::ptr::null_mut(), std::ptr::null_mut()) };
    }
    kept
}

impl Library {
    fn has_changed(&self) -> bool {
        let data = self.data.iter().any(|(range, bytes)| read(range.clone()) != *bytes);
        data || self.image.writable().iter().any(|(_, zero)| {
            let searched = zero.start..zero.end.min(zero.start + MAX_SEARCHED_BYTES);
            // SAFETY: loaded segments are readable.
            unsafe { std::slice::from_raw_parts(searched.start as *const u8, searched.len()) }
                .iter()
                .any(|&byte| byte != 0)
        })
    }

    /// Registers its handlers, which are the process's after all.
    fn register(&self) {
        for &(at, handler, dso) in &self.handlers {
            if let (HandlerPhase::Exit, Handler::Object(function, object)) = (at, handler) {
                // SAFETY: the C library's function, with what the library gave to it.
                unsafe { REGISTER.get::<Register>()(function, object as *mut c_void, dso as *mut c_void) };
            }
        }
    }
}

/// Decides which of the private `images` (none, if all ranks share globals) are taken back to the
/// state before their constructors. Answers those constructors, in the order to run them.
pub(crate) fn settle(images: &[Image]) -> Vec<Image> {
    // SAFETY: the process's only thread; the closure does not come back here.
    unsafe {
        LIBRARIES.with(|libraries| {
            libraries.retain(|library| {
                let private = images.iter().skip(1).any(|image| image.name == library.image.name);
                let taken_back = private && library.has_changed();
                if !taken_back {
                    library.register();
                }
                taken_back
            });
            // The loader lists a library before those that it needs.
            libraries.iter().rev().map(|library| library.image.clone()).collect()
        })
    }
}

/// Returns the initial contents of private memory: as it is now, with what [`settle`] took back.
pub(crate) fn initial(range: Range<usize>) -> Vec<u8> {
    let mut bytes = read(range.clone());
    // SAFETY: the process's only thread; the closure only copies.
    unsafe {
        LIBRARIES.with(|libraries| {
            for (data, before) in libraries.iter().flat_map(|library| &library.data) {
                let (start, end) = (data.start.max(range.start), data.end.min(range.end));
                if start < end {
                    bytes[start - range.start..end - range.start]
                        .copy_from_slice(&before[start - data.start..end - data.start]);
                }
            }
        });
    }
    bytes
}
