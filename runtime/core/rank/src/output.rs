//! Output of ranks: whole lines of one rank, in the order in which ranks ran.
//!
//! A line that a rank has begun waits until it is complete (or the rank ends). Complete lines are
//! gathered and written in large pieces; to a terminal, at once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::single::Single;

/// A standard stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stream {
    /// File descriptor 1.
    Out = 1,
    /// File descriptor 2.
    Error = 2,
}

/// The destination of a rank's stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamTarget {
    /// The lines of a stream of the process.
    Lines(Stream),
    /// A file of the rank's own, by a descriptor that nobody else knows.
    File(i32),
    /// Nowhere: the rank has closed it.
    Closed,
}

/// Gathered output is written when it reaches this many bytes.
const MAX_GATHERED: usize = 64 << 10;
/// ... or when it is this old, in ticks of the time stamp counter (about 50 ms).
const OLD: u64 = 100_000_000;

/// A line that a rank has begun is written unfinished when it reaches this many bytes: other ranks' lines may
/// follow inside it.
const MAX_BEGUN: usize = 1 << 20;

#[derive(Default)]
struct Sink {
    gathered: Vec<u8>,
    terminal: bool,
    since: u64,
    failed: bool,
}

struct LineBuffer {
    sinks: [Sink; 2],
    begun: BTreeMap<(u32, Stream), Vec<u8>>,
    /// Targets of streams that ranks closed or replaced, by rank and stream.
    redirected: BTreeMap<(u32, Stream), StreamTarget>,
    /// Several ranks print: an unfinished last line gets its end.
    many: bool,
}

/// `true` if a standard stream took less than ranks printed.
static IS_LOST: AtomicBool = AtomicBool::new(false);

/// Returns `true` if a standard stream took less than ranks printed.
pub fn is_lost() -> bool {
    IS_LOST.load(Relaxed)
}

/// `true` if a progress line stands on the terminal.
static LINE_DRAWN: AtomicBool = AtomicBool::new(false);

/// Says whether a progress line stands on the terminal: output of ranks takes it away first.
pub fn set_line_drawn(drawn: bool) {
    LINE_DRAWN.store(drawn, Relaxed);
}

/// Takes the progress line away: back to its first column, and the line erased.
fn take_line_away() {
    if LINE_DRAWN.swap(false, Relaxed) {
        write_fully(Stream::Error as i32, b"\r\x1b[2K");
    }
}

static LINES: Single<Option<LineBuffer>> = Single::new(None);

fn now() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the time stamp counter, which every x86-64 has.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    crate::host::kernel_ns(libc::CLOCK_MONOTONIC)
}

/// Writes everything, past any interposed `write`. False if the descriptor takes no more.
pub(crate) fn write_fully(descriptor: i32, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        // SAFETY: the bytes are readable; the call writes no memory.
        let wrote = unsafe { libc::syscall(libc::SYS_write, descriptor, bytes.as_ptr(), bytes.len()) };
        if wrote >= 0 {
            bytes = &bytes[wrote as usize..];
            continue;
        }
        match std::io::Error::last_os_error().raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::EAGAIN) => {
                let mut ready = libc::pollfd { fd: descriptor, events: libc::POLLOUT, revents: 0 };
                // SAFETY: one live pollfd. By number, since `poll` may be interposed.
                unsafe { libc::syscall(libc::SYS_poll, &raw mut ready, 1, -1) };
            }
            _ => return false,
        }
    }
    true
}

impl LineBuffer {
    fn add(&mut self, rank: u32, stream: Stream, bytes: &[u8]) {
        let stream = match self.target(rank, stream) {
            StreamTarget::Lines(stream) => stream,
            StreamTarget::File(descriptor) => {
                write_fully(descriptor, bytes);
                return;
            }
            StreamTarget::Closed => return,
        };
        self.add_line(rank, stream, bytes);
    }

    fn target(&self, rank: u32, stream: Stream) -> StreamTarget {
        if self.redirected.is_empty() {
            return StreamTarget::Lines(stream);
        }
        self.redirected.get(&(rank, stream)).copied().unwrap_or(StreamTarget::Lines(stream))
    }

    /// Adds what goes to the lines of a stream of the process.
    fn add_line(&mut self, rank: u32, stream: Stream, bytes: &[u8]) {
        let end = if self.many {
            bytes.iter().rposition(|&b| b == b'\n').map_or(0, |k| k + 1)
        } else {
            bytes.len()
        };
        let (whole, begun) = bytes.split_at(end);
        let sink = &mut self.sinks[stream as usize - 1];
        if !whole.is_empty() {
            if sink.gathered.is_empty() {
                sink.since = now();
            }
            if let Some(earlier) = self.begun.remove(&(rank, stream)) {
                sink.gathered.extend_from_slice(&earlier);
            }
            sink.gathered.extend_from_slice(whole);
            if sink.terminal || sink.gathered.len() >= MAX_GATHERED || now().wrapping_sub(sink.since) > OLD {
                sink.write(stream);
            }
        }
        if !begun.is_empty() {
            let line = self.begun.entry((rank, stream)).or_default();
            line.extend_from_slice(begun);
            if line.len() >= MAX_BEGUN {
                sink.gathered.append(line);
                sink.write(stream);
            }
        }
    }

    fn end(&mut self, rank: u32) {
        // Most ranks have ended their lines, or never begun one.
        if self.begun.is_empty() && self.redirected.is_empty() {
            return;
        }
        for stream in [Stream::Out, Stream::Error] {
            if let Some(mut last) = self.begun.remove(&(rank, stream)) {
                last.push(b'\n');
                self.add_line(rank, stream, &last);
            }
            self.redirected.remove(&(rank, stream)).into_iter().for_each(close);
        }
    }
}

impl Sink {
    fn write(&mut self, stream: Stream) {
        if self.terminal {
            take_line_away();
        }
        if !self.failed && !write_fully(stream as i32, &self.gathered) {
            self.failed = true;
            IS_LOST.store(true, Relaxed);
            if stream == Stream::Out {
                write_fully(
                    2,
                    b"xsim: standard output takes no more data; what ranks print from here on is lost\n",
                );
            }
        }
        self.gathered.clear();
    }
}

/// Runs `f` if ranks' output is gathered at all.
fn with(f: impl FnOnce(&mut LineBuffer)) {
    // SAFETY: the simulating thread (or its signal handler, when nothing follows but the process's
    // end); the closures here only move bytes.
    unsafe { LINES.with(|lines| lines.as_mut().map(f)) };
}

/// Opens in their numbers what stands for standard streams that the process has not got, before any file
/// takes one of them: input from it and output to it fail, as with a closed stream.
pub fn hold_closed_streams() {
    // Output to the second fails with "no space left", and so its loss is reported like any other.
    for (stream, path) in [(0, c"/dev/null"), (1, c"/dev/full"), (2, c"/dev/full")] {
        // SAFETY: asks about a descriptor; the path is a constant. By number, since both are interposed.
        unsafe {
            if libc::syscall(libc::SYS_fcntl, stream, libc::F_GETFD) == -1 {
                libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), libc::O_WRONLY);
            }
        }
    }
}

/// Starts gathering. With a single rank, unfinished lines are passed on as they are.
pub(crate) fn begin(ranks: u32) {
    // SAFETY: asks about a descriptor.
    let terminal = |descriptor| unsafe { libc::isatty(descriptor) == 1 };
    let sinks = [1, 2].map(|d| Sink { terminal: terminal(d), ..Sink::default() });
    let lines = LineBuffer { sinks, begun: BTreeMap::new(), redirected: BTreeMap::new(), many: ranks > 1 };
    // SAFETY: as in `with`.
    unsafe { LINES.with(|slot| *slot = Some(lines)) };
}

/// Adds what a rank printed.
pub(crate) fn add(rank: u32, stream: Stream, bytes: &[u8]) {
    with(|lines| lines.add(rank, stream, bytes));
}

/// Ends the rank's output.
pub(crate) fn end(rank: u32) {
    with(|lines| lines.end(rank));
}

/// Sends the rank's stream elsewhere from here on.
pub(crate) fn redirect(rank: u32, stream: Stream, target: StreamTarget) {
    with(|lines| {
        let last = match target {
            StreamTarget::Lines(usual) if usual == stream => lines.redirected.remove(&(rank, stream)),
            _ => lines.redirected.insert((rank, stream), target),
        };
        last.into_iter().for_each(close);
    });
}

/// Returns where the rank's stream goes.
pub(crate) fn target(rank: u32, stream: Stream) -> StreamTarget {
    let mut found = StreamTarget::Lines(stream);
    with(|lines| found = lines.target(rank, stream));
    found
}

/// Adds what a rank writes to a stream of the process through a descriptor that it made of it.
pub(crate) fn add_line(rank: u32, stream: Stream, bytes: &[u8]) {
    with(|lines| lines.add_line(rank, stream, bytes));
}

fn close(target: StreamTarget) {
    if let StreamTarget::File(descriptor) = target {
        // SAFETY: opened for one rank, and no other code knows it. By number, since `close` is interposed.
        unsafe { libc::syscall(libc::SYS_close, descriptor) };
    }
}

/// Writes out complete lines, so that what the simulator prints itself comes after them.
pub fn flush() {
    with(|lines| {
        for (sink, stream) in lines.sinks.iter_mut().zip([Stream::Out, Stream::Error]) {
            if !sink.gathered.is_empty() {
                sink.write(stream);
            }
        }
    });
}

/// Writes out everything, also lines that ranks have begun (in rank order), because nothing follows.
pub(crate) fn flush_all() {
    with(|lines| {
        let mut ranks: Vec<u32> = lines.begun.keys().map(|&(rank, _)| rank).collect();
        ranks.dedup();
        for rank in ranks {
            lines.end(rank);
        }
    });
    flush();
}

/// Writes, in a crash, what is gathered and then `bytes` of the rank that crashed, allocating nothing.
pub(crate) fn pour(rank: u32, stream: Stream, bytes: &[u8]) {
    flush();
    let mut open = false;
    with(|lines| {
        if let Some(begun) = lines.begun.get_mut(&(rank, stream)) {
            write_fully(stream as i32, begun);
            open = !begun.is_empty();
            begun.clear();
        }
    });
    write_fully(stream as i32, bytes);
    if bytes.last().map_or(open, |&last| last != b'\n') {
        write_fully(stream as i32, b"\n");
    }
}

/// Writes, in a crash, what is gathered and what ranks have begun, allocating nothing.
pub(crate) fn pour_all() {
    flush();
    with(|lines| {
        for (&(_, stream), begun) in lines.begun.iter().filter(|(_, begun)| !begun.is_empty()) {
            write_fully(stream as i32, begun);
            write_fully(stream as i32, b"\n");
        }
    });
}
