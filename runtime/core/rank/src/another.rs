//! Programs that are spawned beside the one that the process was started with, each with its own image.
//!
//! A copy of the file is loaded as a library is (`executable`), so that all that the process has of the C
//! library, of other libraries and of the simulator is the program's too. Its entry point is run until it
//! asks the C library to begin: what it says then is where `main` is, as for the first program. Nothing else
//! of its code runs before its ranks do.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{FromRawFd, IntoRawFd};
use std::path::Path;

use crate::config::{Config, GlobalsMode};
use crate::executable;
use crate::globals::choice::{self, Globals};
use crate::globals::{Private, Swapped, add_swapped, late};
use crate::image::Image;
use crate::libc_state;
use crate::lifecycle::Life;
use crate::loaded;
use crate::now;
use crate::program::{Constructor, Main};
use crate::running;
use crate::single::Single;
use crate::stack::switch;

/// Bytes of the stack on which an entry point runs, which calls one function.
const ENTRY_STACK: usize = 64 << 10;

/// A program whose ranks may start.
pub(crate) struct Another {
    pub(crate) globals: Globals,
    /// `true` if libraries of its own came with it.
    pub(crate) has_libraries: bool,
    pub(crate) life: Life,
    /// With the first of them: the libraries that the first program has, where its ranks have clones of
    /// these.
    pub(crate) left_behind: Option<Box<Swapped>>,
}

/// Configuration, environment and libraries with which all programs are prepared.
pub(crate) struct Common {
    pub(crate) config: Config,
    pub(crate) environment: usize,
    /// Libraries of which the first program's ranks have clones.
    pub(crate) cloned: Vec<Image>,
}

#[derive(Default)]
struct ProgramSet {
    common: Option<Common>,
    /// By number less one: gone once its first rank has started.
    ready: Vec<Option<Box<Another>>>,
    /// Set while an entry point runs; then what it gave.
    probing: bool,
    begun: Option<(usize, usize)>,
}

static STATE: Single<Option<ProgramSet>> = Single::new(None);

fn state<R>(f: impl FnOnce(&mut ProgramSet) -> R) -> R {
    // SAFETY: the simulating thread; no closure here suspends, runs the program's code or comes back.
    unsafe { STATE.with(|state| f(state.get_or_insert_default())) }
}

/// Allows others to be loaded from now on: the first program's ranks are prepared.
pub(crate) fn allow(common: Common) {
    state(|state| state.common = Some(common));
}

/// Loads the program in a file, unless it is loaded: its number, from 1 on.
///
/// # Errors
/// A sentence that says why it cannot run beside the others.
pub fn load(path: &Path) -> Result<u8, String> {
    let of = |why: &str| format!("'{}' {why}", path.display());
    let path = path.canonicalize().map_err(|why| of(&format!("cannot be read: {why}")))?;
    if let Some(number) = loaded::number(&path) {
        return Ok(number);
    }
    if loaded::count() == u8::MAX {
        return Err(of(&format!("is one too many: {} programs were spawned by now", u8::MAX)));
    }
    let Some(mut common) = state(|state| state.common.take()) else {
        return Err(of("cannot be loaded, since this process runs no ranks"));
    };
    let loaded = bring_in(&path, &common);
    if loaded.is_ok() {
        common.cloned.clear();
    }
    state(|state| state.common = Some(common));
    let (another, loaded) = loaded.map_err(|why| of(&why))?;
    state(|state| state.ready.push(Some(Box::new(another))));
    Ok(loaded::add(path, loaded))
}

/// Takes the program of this number, for the first of its ranks.
pub(crate) fn take(number: u8) -> Box<Another> {
    state(|state| state.ready[usize::from(number) - 1].take()).expect("it was loaded, and is taken once")
}

fn bring_in(path: &Path, common: &Common) -> Result<(Another, String), String> {
    let mut bytes = std::fs::read(path).map_err(|why| format!("cannot be read: {why}"))?;
    let entry = executable::prepare(&mut bytes)?;
    let name = in_memory(&bytes).map_err(|why| format!("cannot be copied to memory: {why}"))?;
    let before = Image::all();
    let is_new =
        |image: &Image| before.iter().all(|known| known.bias != image.bias || known.name != image.name);
    open(&name).map_err(|why| format!("cannot be loaded: {why}"))?;
    let mut new: Vec<Image> = Image::all().into_iter().filter(|image| is_new(image)).collect();
    let is_it = |image: &Image| image.name.as_bytes() == name.as_bytes();
    let at = new.iter().position(is_it).ok_or("cannot be found among what is loaded")?;
    let image = new.swap_remove(at);
    if let Some(variable) = kept_twice(&image, &before) {
        return Err(format!(
            "keeps the libraries' variable {variable} inside it, which the program that runs has too: \
             compile it with -fPIC"
        ));
    }
    let is_own = |library: &Image| library.is_own(&common.config.globals_libraries);
    // As if the first program had needed them: what stands before the C++ and Fortran runtimes looks for
    // these there.
    new.iter().filter(|library| !is_own(library)).for_each(show);
    running::find_thread_state();
    let (main, init) =
        begin(image.bias + entry).ok_or("does not begin as a program of the C library does")?;
    let copies = libc_state::fresh_copies(&image);
    let mut images = vec![image];
    images.extend(new.into_iter().filter(is_own));
    let mut config = common.config.clone();
    if images.len() > 1 && config.globals == GlobalsMode::Auto {
        // A program that comes later may need the same libraries, and finds them where they were loaded.
        config.globals = GlobalsMode::Copy;
    }
    let (globals, swapped) = choice::globals(&images, &config, &mut String::new())?;
    add_swapped(swapped);
    let left_behind = if common.cloned.is_empty() { None } else { Some(Box::new(leave_behind(common)?)) };
    let constructors = if init == 0 { images[0].constructors() } else { vec![init] };
    // SAFETY: what the entry point gave as its `main`.
    let main = unsafe { std::mem::transmute::<usize, Main>(main) };
    let (destructors, has_libraries) = (images[0].destructors(), images.len() > 1);
    let life =
        Life::new(main, common.environment as *mut *mut _, (constructors, destructors), images, &globals)
            .with_copies(copies);
    Ok((Another { globals, has_libraries, life, left_behind }, name.to_string_lossy().into_owned()))
}

/// Copies the libraries of which the first program's ranks have clones, for others.
fn leave_behind(common: &Common) -> Result<Swapped, String> {
    let private = Private::of(&common.cloned);
    add_swapped(private.regions.iter().map(|region| region.range.clone()).collect());
    Swapped::new(private, common.config.ranks)
}

/// Makes a file that only this process has, by the name under which it can be opened for as long as the
/// process lives.
fn in_memory(bytes: &[u8]) -> std::io::Result<CString> {
    // SAFETY: a valid name.
    let descriptor = unsafe { libc::memfd_create(c"xsim-program".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: just opened, and nobody else's.
    let mut file = unsafe { File::from_raw_fd(descriptor) };
    file.write_all(bytes)?;
    // What reads its symbols later finds it by this name.
    Ok(CString::new(format!("/proc/self/fd/{}", file.into_raw_fd())).expect("a number has no null byte"))
}

/// Loads it with the loader; all that it needs of others is looked up now.
fn open(name: &CStr) -> Result<(), String> {
    // SAFETY: the file's constructors are hidden from the loader; those of libraries that come with it run as
    // with any library.
    unsafe {
        if !late::real_dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL).is_null() {
            return Ok(());
        }
        let why = libc::dlerror();
        Err(if why.is_null() {
            "no reason given".into()
        } else {
            CStr::from_ptr(why).to_string_lossy().into_owned()
        })
    }
}

/// Makes a library that is loaded visible to everybody.
fn show(library: &Image) {
    // SAFETY: loads nothing: the library is there, by this name.
    unsafe { libc::dlopen(library.file().as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY | libc::RTLD_GLOBAL) };
}

/// Returns a variable that the program has a copy of, while what was loaded before has and uses another: more
/// than a pointer or number, which is its own.
fn kept_twice(image: &Image, before: &[Image]) -> Option<String> {
    image.borrowed().into_iter().find_map(|(range, name)| {
        // SAFETY: looks up a symbol by a valid name, in what every library sees.
        let used = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
        let elsewhere = before.iter().any(|image| image.contains(used));
        (range.len() > size_of::<usize>() && elsewhere).then(|| name.to_string_lossy().into_owned())
    })
}

/// Runs an entry point until it has said where `main` is, and the function that runs its constructors, if it
/// has such (0 if not).
fn begin(entry: usize) -> Option<(usize, usize)> {
    // SAFETY: looks up a symbol by a valid name.
    let called = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__libc_start_main".as_ptr()) } as usize;
    let mine = begin as *const () as usize;
    // It would start the program anew.
    if !Image::all().iter().any(|image| image.contains(called) && image.contains(mine)) {
        return None;
    }
    let mut stack = vec![0u128; ENTRY_STACK / size_of::<u128>()];
    state(|state| (state.probing, state.begun) = (true, None));
    // SAFETY: an entry point, of which `begun` gets hold on a stack of its own. A rank that runs now has
    // where its scheduler is put back, and its errno is its own.
    unsafe {
        let (home, kept) = (now::home(), *now::home());
        let entry = std::mem::transmute::<usize, extern "C" fn() -> !>(entry);
        switch::start(stack.as_mut_ptr_range().end as usize, entry);
        *home = kept;
    }
    state(|state| {
        state.probing = false;
        state.begun.take()
    })
}

/// Handles an entry point that asks the C library to begin. It does not return if that is another program's,
/// of which nothing else is to run.
pub fn begun(main: Main, init: Option<Constructor>) {
    let probing = state(|state| {
        if state.probing {
            state.begun = Some((main as usize, init.map_or(0, |init| init as usize)));
        }
        state.probing
    });
    if probing {
        // SAFETY: on the stack that `begin` made, to which nobody comes back.
        unsafe { switch::leave() };
    }
}
