//! The C library's `stdin`, `stdout` and `stderr`, shared by all ranks in turn.
//!
//! The program, libstdc++ and libgfortran hold the addresses of glibc's three stream objects, so the objects
//! stay. `stdout` and `stderr` get a large buffer; when a rank hands back the processor, what it left in the
//! buffer is moved to its lines (`output`). Should the buffer fill up before that, glibc writes to the
//! stream's descriptor: a memory file, read back at the same moment.
//!
//! Functions that print empty a buffer that has become long first ([`relieve`]), so that only a single call
//! can fill it. `stdin` reads from descriptor 0 while global rank 0 runs and from /dev/null while others do.
//!
//! The fields used here are at offsets that glibc's ABI has kept since 2.1 (`bits/types/struct_FILE.h`).

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use crate::caller::caller;
use crate::helpers;
use crate::now;
use crate::output::{self, Stream, StreamTarget};
use crate::own_streams;
use crate::reserve::reserve;
use crate::single::Single;

/// glibc's FILE, as far as we look.
#[repr(C)]
pub struct GlibcFile {
    flags: i32,
    read: [usize; 3],
    write_base: usize,
    write: usize,
    write_end: usize,
    buffer: usize,
    buffer_end: usize,
    saved: [usize; 5],
    descriptor: i32,
    flags2: i32,
    old_offset: i64,
    column: u16,
    vtable_offset: i8,
    short: u8,
    lock: usize,
    offset: i64,
    wide: [usize; 5],
    mode: i32,
}

const _: () = assert!(
    std::mem::offset_of!(GlibcFile, write) == 40 && std::mem::offset_of!(GlibcFile, descriptor) == 112
);
const _: () =
    assert!(std::mem::offset_of!(GlibcFile, offset) == 144 && std::mem::offset_of!(GlibcFile, mode) == 192);

/// `_IO_EOF_SEEN | _IO_ERR_SEEN`.
const ENDED: i32 = 0x30;
/// Buffers are reserved, and touched only as far as a rank prints between two calls.
const BUFFER: usize = 4 << 20;

/// A stream with so many bytes is emptied before the program prints more.
const FULL: usize = 64 << 10;

static OUT: AtomicPtr<GlibcFile> = AtomicPtr::new(null_mut());
static ERROR: AtomicPtr<GlibcFile> = AtomicPtr::new(null_mut());
static IN: AtomicPtr<GlibcFile> = AtomicPtr::new(null_mut());

/// The number of variables that name a stream.
pub(crate) const VARIABLES: usize = 3;

/// The addresses of the variables `stdin`, `stdout` and `stderr`; until they are found, the pointers to their
/// objects, which are equal to them.
static PLACES: [AtomicPtr<usize>; VARIABLES] = [
    AtomicPtr::new(IN.as_ptr().cast()),
    AtomicPtr::new(OUT.as_ptr().cast()),
    AtomicPtr::new(ERROR.as_ptr().cast()),
];

/// Returns the objects of the variables, in the same order.
fn objects() -> [*mut GlibcFile; VARIABLES] {
    [IN.load(Relaxed), OUT.load(Relaxed), ERROR.load(Relaxed)]
}

/// Returns the bits in which the variables differ from their objects' addresses: none, unless a rank assigned
/// one.
#[inline(always)]
fn differences() -> usize {
    // SAFETY: the C library's variables, or ours.
    let [input, out, error] =
        unsafe { [*PLACES[0].load(Relaxed), *PLACES[1].load(Relaxed), *PLACES[2].load(Relaxed)] };
    (IN.load(Relaxed) as usize ^ input)
        | (OUT.load(Relaxed) as usize ^ out)
        | (ERROR.load(Relaxed) as usize ^ error)
}

/// Puts the streams' own objects into the variables; returns what was in them instead, 0 where nothing else
/// was.
pub(crate) fn take_variables() -> [usize; VARIABLES] {
    let mut taken = [0; VARIABLES];
    for ((place, file), taken) in PLACES.iter().zip(objects()).zip(&mut taken) {
        // SAFETY: the C library's variable, on the simulating thread.
        let value = unsafe { std::mem::replace(&mut *place.load(Relaxed), file as usize) };
        *taken = if value == file as usize { 0 } else { value };
    }
    taken
}

/// Puts a rank's values into the variables, where there are such.
pub(crate) fn put_variables(own: &[usize; VARIABLES]) {
    for (place, &value) in PLACES.iter().zip(own).filter(|&(_, &value)| value != 0) {
        // SAFETY: as in `take_variables`.
        unsafe { *place.load(Relaxed) = value };
    }
}

/// State of `stdin` as seen by one of the users that share its object.
#[derive(Clone, Copy)]
pub(crate) struct StdinView {
    flags: i32,
    read: [usize; 3],
    buffer: usize,
    buffer_end: usize,
    descriptor: i32,
    offset: i64,
}

impl StdinView {
    /// Returns an input of which nothing has been read.
    pub(crate) fn fresh(descriptor: i32, buffer: std::ops::Range<usize>) -> StdinView {
        StdinView {
            flags: 0,
            read: [buffer.start; 3],
            buffer: buffer.start,
            buffer_end: buffer.end,
            descriptor,
            offset: -1,
        }
    }
}

/// Puts an input behind `stdin`; returns the one that was there.
pub(crate) fn show_input(new: &StdinView) -> StdinView {
    let file = IN.load(Relaxed);
    if file.is_null() {
        return *new;
    }
    // SAFETY: the simulating thread; glibc's stdin, from which nobody reads now.
    unsafe {
        let GlibcFile { flags, read, buffer, buffer_end, descriptor, offset, .. } = &mut *file;
        let last = StdinView {
            flags: *flags & ENDED,
            read: *read,
            buffer: *buffer,
            buffer_end: *buffer_end,
            descriptor: *descriptor,
            offset: *offset,
        };
        *flags = *flags & !ENDED | new.flags;
        (*read, *buffer, *buffer_end) = (new.read, new.buffer, new.buffer_end);
        (*descriptor, *offset) = (new.descriptor, new.offset);
        last
    }
}

/// State of `stdin` for the side that is not running: rank 0, or all other ranks.
struct Input {
    reader: Option<u32>,
    other: (i32, [usize; 3], i32),
    null: i32,
}
static INPUT: Single<Input> = Single::new(Input { reader: None, other: (0, [0; 3], 0), null: -1 });

unsafe extern "C" {
    fn flockfile(file: *mut GlibcFile);
    fn ftrylockfile(file: *mut GlibcFile) -> i32;
    fn funlockfile(file: *mut GlibcFile);
    fn fwrite(bytes: *const c_void, size: usize, count: usize, file: *mut GlibcFile) -> usize;
}

/// `fflush`.
type Flush = unsafe extern "C" fn(*mut GlibcFile) -> i32;
static FLUSH: crate::next::NextSymbol = crate::next::NextSymbol::new(c"fflush");
static SET_BUFFER: crate::next::NextSymbol = crate::next::NextSymbol::new(c"setvbuf");

fn object(name: &std::ffi::CStr) -> *mut GlibcFile {
    // SAFETY: looks up a symbol by a valid name.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()).cast() }
}

/// Takes the streams over. Without glibc's objects (another C library) they stay as they are.
///
/// `reader` is the local number of the rank that may read standard input, if it is in this process.
pub(crate) fn begin(ranks: u32, reader: Option<u32>) {
    output::begin(ranks);
    for (name, place) in [(c"_IO_2_1_stdout_", &OUT), (c"_IO_2_1_stderr_", &ERROR)] {
        let file = object(name);
        if !file.is_null() && take_over(file) {
            place.store(file, Relaxed);
        }
    }
    let file = object(c"_IO_2_1_stdin_");
    if file.is_null() {
        return;
    }
    let null = null_device();
    if null < 0 {
        return;
    }
    IN.store(file, Relaxed);
    for ((name, place), file) in [c"stdin", c"stdout", c"stderr"].into_iter().zip(&PLACES).zip(objects()) {
        let at: *mut usize = object(name).cast();
        // SAFETY: looked up by its name: the C library's variable.
        if !at.is_null() && unsafe { *at } == file as usize {
            place.store(at, Relaxed);
        }
    }
    // SAFETY: the simulating thread; plain assignments to the static and to glibc's stream, which
    // nobody reads from now.
    unsafe {
        INPUT.with(|input| {
            *input = Input { reader, other: ((*file).flags & ENDED, (*file).read, (*file).descriptor), null };
            (*file).read = [(*file).buffer; 3];
            (*file).descriptor = null;
        });
    }
}

fn take_over(file: *mut GlibcFile) -> bool {
    type SetBuffer = unsafe extern "C" fn(*mut GlibcFile, *mut c_void, i32, usize) -> i32;
    let Some(buffer) = reserve(BUFFER) else { return false };
    // SAFETY: a mapping of our own and a new memory file; glibc's own functions with its own stream
    // object; then fields that only glibc's functions for this stream read, none of which runs now.
    unsafe {
        let descriptor = libc::memfd_create(c"xsim-stream".as_ptr(), libc::MFD_CLOEXEC);
        if descriptor < 0 {
            return false;
        }
        FLUSH.get::<Flush>()(file);
        if SET_BUFFER.get::<SetBuffer>()(file, buffer as *mut c_void, libc::_IOFBF, BUFFER) != 0 {
            return false;
        }
        (*file).descriptor = descriptor;
        (*file).offset = 0;
    }
    true
}

/// Gives the streams back at the end: nothing of a rank is left in them.
pub(crate) fn finish() {
    for (place, descriptor) in [(&OUT, 1), (&ERROR, 2)] {
        let file = place.swap(null_mut(), Relaxed);
        if !file.is_null() {
            // SAFETY: a stream that `take_over` changed.
            unsafe {
                libc::close((*file).descriptor);
                (*file).descriptor = descriptor;
                (*file).offset = -1;
            }
        }
    }
    output::flush_all();
}

/// Returns `true` if the stream holds output of the running rank.
///
/// # Safety
/// `file` is null or a stream that `take_over` changed.
#[inline]
unsafe fn holds(file: *const GlibcFile) -> bool {
    // SAFETY: the caller's contract.
    !file.is_null()
        && unsafe {
            ((*file).write ^ (*file).write_base) | (*file).offset as usize | usize::from((*file).mode > 0)
                != 0
        }
}

/// Moves what the rank printed from the streams to its lines. Cheap if it printed nothing.
#[inline]
pub(crate) fn drain(rank: u32) {
    if differences() != 0 {
        own_streams::take_assigned(rank);
    }
    for (place, stream) in [(&OUT, Stream::Out), (&ERROR, Stream::Error)] {
        let file = place.load(Relaxed);
        // SAFETY: only `begin` sets these.
        if unsafe { holds(file) } {
            drain_stream(rank, file, stream);
        }
    }
}

/// Moves what the running rank printed from the streams to its lines, if it is much. To be called before each
/// function that prints: a rank that neither blocks nor flushes takes no more memory than another.
///
/// Threads of the program leave that to the thread that runs ranks.
#[inline]
pub fn relieve() {
    for (place, stream) in [(&OUT, Stream::Out), (&ERROR, Stream::Error)] {
        let file = place.load(Relaxed);
        if file.is_null() {
            continue;
        }
        // SAFETY: only `begin` sets these; two fields are read, which another thread may be changing: what is
        // seen then is one or the other.
        let is_much = unsafe { (*file).write.wrapping_sub((*file).write_base) >= FULL || (*file).offset > 0 };
        if is_much {
            relieve_stream(file, stream);
        }
    }
}

#[cold]
fn relieve_stream(file: *mut GlibcFile, stream: Stream) {
    let Some(rank) = now::current() else { return };
    if !now::is_simulating_thread() {
        return;
    }
    // SAFETY: glibc's functions with its own stream; a stream in use by another thread is left alone.
    unsafe {
        if ftrylockfile(file) == 0 {
            drain_stream(rank, file, stream);
            funlockfile(file);
        }
    }
}

/// Returns how many bytes glibc has written to the stream's memory file.
///
/// The file is asked: a flush of glibc's own, as in `error` and a failed `assert`, which no interposed
/// `fflush` sees, writes and leaves an `offset` of -1 behind ("not known").
///
/// # Safety
/// `file` is a stream that `take_over` changed.
unsafe fn spilled(file: *const GlibcFile) -> i64 {
    // SAFETY: the caller's contract; moves nothing.
    unsafe { libc::lseek((*file).descriptor, 0, libc::SEEK_CUR) }.max(0)
}

#[cold]
fn drain_stream(rank: u32, file: *mut GlibcFile, stream: Stream) {
    let shared = now::has_helpers();
    if shared {
        // SAFETY: glibc's function with its own stream: threads that ranks started may print to it.
        unsafe { flockfile(file) };
    }
    drain_locked(rank, file, stream);
    if shared {
        // SAFETY: locked above.
        unsafe { funlockfile(file) };
    }
}

fn drain_locked(rank: u32, file: *mut GlibcFile, stream: Stream) {
    // SAFETY: a stream that `take_over` changed, and no other function uses it now: its buffer from
    // `write_base` to `write` holds bytes, its descriptor is our memory file of `offset` bytes.
    unsafe {
        if (*file).mode > 0 {
            // A wide stream converts its own buffer only when flushed.
            FLUSH.get::<Flush>()(file);
        }
        if (*file).offset != 0 {
            let (mut at, end) = (0, spilled(file));
            let mut piece = vec![0u8; FULL.min(end as usize)];
            while at < end {
                let got = libc::pread((*file).descriptor, piece.as_mut_ptr().cast(), piece.len(), at);
                if got <= 0 {
                    break;
                }
                output::add(rank, stream, &piece[..got as usize]);
                at += got as i64;
            }
            libc::ftruncate((*file).descriptor, 0);
            libc::lseek((*file).descriptor, 0, libc::SEEK_SET);
        }
        (*file).offset = 0;
        let len = (*file).write - (*file).write_base;
        if len > 0 {
            output::add(rank, stream, std::slice::from_raw_parts((*file).write_base as *const u8, len));
            (*file).write = (*file).write_base;
        }
    }
}

/// Writes out, in a crash, what the rank left in the streams, allocating nothing.
pub(crate) fn pour(rank: u32) {
    for (place, stream) in [(&OUT, Stream::Out), (&ERROR, Stream::Error)] {
        let file = place.swap(null_mut(), Relaxed);
        if file.is_null() {
            continue;
        }
        let mut piece = [0u8; 4096];
        // SAFETY: as in `drain_stream`; the process ends after this.
        unsafe {
            let (mut at, end) = (0, spilled(file));
            while at < end {
                let got = libc::pread((*file).descriptor, piece.as_mut_ptr().cast(), piece.len(), at);
                if got <= 0 {
                    break;
                }
                output::write_fully(stream as i32, &piece[..got as usize]);
                at += got as i64;
            }
            let len = (*file).write.saturating_sub((*file).write_base);
            output::pour(rank, stream, std::slice::from_raw_parts((*file).write_base as *const u8, len));
        }
    }
}

/// Swaps `stdin` when the rank that may read it starts or stops running.
#[inline(never)]
pub(crate) fn swap_input() {
    let file = IN.load(Relaxed);
    if file.is_null() {
        return;
    }
    // SAFETY: the simulating thread; glibc's stdin, which nobody reads from between ranks.
    unsafe {
        INPUT.with(|input| {
            let (flags, read, descriptor) = input.other;
            input.other = ((*file).flags & ENDED, (*file).read, (*file).descriptor);
            (*file).flags = (*file).flags & !ENDED | flags;
            (*file).read = if read == [0; 3] { [(*file).buffer; 3] } else { read };
            (*file).descriptor = descriptor;
        });
    }
}

/// Returns the stream that a program's FILE pointer means, while a rank runs and its output is gathered.
fn gathered(file: *const GlibcFile) -> Option<(u32, Stream)> {
    let rank = now::current()?;
    if file.is_null() {
        None
    } else if std::ptr::eq(file, OUT.load(Relaxed)) {
        Some((rank, Stream::Out))
    } else if std::ptr::eq(file, ERROR.load(Relaxed)) {
        Some((rank, Stream::Error))
    } else {
        None
    }
}

/// Returns `true` if `file` is one of the three standard streams of a running rank: closing it or changing
/// its buffer has no effect.
pub fn is_kept(file: *const GlibcFile) -> bool {
    now::current().is_some()
        && !file.is_null()
        && [&OUT, &ERROR, &IN].iter().any(|place| std::ptr::eq(place.load(Relaxed), file))
}

/// Implements `fflush`. Returns `true` if it is done.
pub fn flush(file: *mut GlibcFile) -> bool {
    // What a thread that a rank started has printed stays in the stream until the ranks' thread takes it from
    // there.
    if helpers::owner().is_some() {
        return gathered(file).is_some();
    }
    if let Some((rank, stream)) = gathered(file) {
        drain_stream(rank, file, stream);
        return true;
    }
    if let (true, Some(rank)) = (file.is_null(), now::current()) {
        drain(rank);
    }
    false
}

/// Returns the descriptor that `file` stands for, if it is a standard stream.
pub fn descriptor(file: *const GlibcFile) -> Option<i32> {
    is_kept(file).then(|| match gathered(file) {
        Some((_, stream)) => stream as i32,
        None => 0,
    })
}

/// Implements `freopen` of a standard output stream: from here on the rank's output goes to `descriptor`.
/// Returns `false` if `file` is not one.
pub fn reopen(file: *mut GlibcFile, descriptor: i32) -> bool {
    let Some((rank, stream)) = gathered(file) else { return false };
    drain_stream(rank, file, stream);
    output::redirect(rank, stream, StreamTarget::File(descriptor));
    true
}

/// Implements `fclose` of a standard stream: the calling rank loses it, the others keep it. Returns `false`
/// outside ranks.
pub fn close(file: *mut GlibcFile) -> bool {
    let Some(rank) = caller() else { return false };
    match gathered(file) {
        Some((_, stream)) => {
            drain_stream(rank, file, stream);
            output::redirect(rank, stream, StreamTarget::Closed);
            true
        }
        None => close_input(),
    }
}

/// Gives the calling rank an input that is at its end.
pub(crate) fn close_input() -> bool {
    own_streams::set_input(null_device())
}

/// Opens a device that has no input.
fn null_device() -> i32 {
    // SAFETY: opens a device; the path is a C string.
    unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) }
}

/// Implements `write` to a descriptor by the running rank. Returns `true` if it went to the rank's lines.
/// Outside ranks, lines gathered so far are written first, so that the order is kept.
pub fn write(descriptor: i32, bytes: &[u8]) -> bool {
    let (file, stream) = match descriptor {
        1 => (OUT.load(Relaxed), Stream::Out),
        2 => (ERROR.load(Relaxed), Stream::Error),
        _ => return false,
    };
    if file.is_null() {
        return false;
    }
    if helpers::owner().is_some() {
        // SAFETY: glibc's function, which locks its own stream; the bytes are readable.
        return unsafe { fwrite(bytes.as_ptr().cast(), 1, bytes.len(), file) } == bytes.len();
    }
    let Some(rank) = now::current() else {
        output::flush();
        return false;
    };
    // What the rank printed through the stream before comes first.
    // SAFETY: only `begin` sets these.
    if unsafe { holds(file) } {
        drain_stream(rank, file, stream);
    }
    output::add(rank, stream, bytes);
    true
}

/// Moves what the calling rank printed through the C library's stream for `descriptor` to its lines.
pub(crate) fn drain_descriptor(rank: u32, descriptor: i32) {
    let (file, stream) = match descriptor {
        1 => (OUT.load(Relaxed), Stream::Out),
        2 => (ERROR.load(Relaxed), Stream::Error),
        _ => return,
    };
    // SAFETY: only `begin` sets these.
    if unsafe { holds(file) } {
        drain_stream(rank, file, stream);
    }
}

/// Returns `true` if the running rank finds standard input at its end: every rank but global rank 0.
pub fn input_is_empty(descriptor: i32) -> bool {
    // SAFETY: the simulating thread; reads two fields.
    let (reader, null) = unsafe { INPUT.with(|input| (input.reader, input.null)) };
    descriptor == 0 && null >= 0 && now::current().is_some_and(|rank| Some(rank) != reader)
}
