//! The recording of this process's calls, from `MPI_Init` to `MPI_Finalize`.

use crate::recording::{ArgumentRegisters, OpenCall, RealCall, TracedObjects, host, translate};
use call_recording::facts::Facts;
use call_recording::function::Function;
use call_recording::level::NestingLevel;
use call_recording::module;
use call_recording::parameter::ArgumentForm;
use engine::{Span, Time};
use recorder::CallReturn;
use recorder::Recorder;
use rustc_hash::FxHashMap;
use std::ffi::{c_char, c_int};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use trace::{Options, Recording, Timing};

/// `true` if it was said that other threads call MPI.
pub static OTHER_THREADS: AtomicBool = AtomicBool::new(false);

/// `MPI_SUCCESS` and, of the standard ABI, the error that leaves results.
const SUCCESS: i32 = 0;
const IN_STATUS: i32 = crate::constants::MPI_ERR_IN_STATUS;

// Of native.c.
unsafe extern "C" {
    fn xsimtrace_code() -> u64;
    fn xsimtrace_begin(rank: *mut c_int, size: *mut c_int);
    fn xsimtrace_abort();
    fn xsimtrace_send(data: *const c_char, bytes: u64) -> c_int;
    fn xsimtrace_receive_size(rank: c_int, bytes: *mut u64) -> c_int;
    fn xsimtrace_receive(rank: c_int, data: *mut c_char, bytes: u64) -> c_int;
    fn xsimtrace_end();
}

/// Says something to the user.
pub fn say(what: &str) {
    eprintln!("xsim: {what}");
}

/// Says it the first time.
pub fn say_once(said: &AtomicBool, what: &str) {
    if !said.swap(true, Relaxed) {
        say(what);
    }
}

/// Nanoseconds since this was asked first.
fn now() -> u64 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// A process's calls.
pub struct TracedProcess {
    rank: u32,
    size: u32,
    recording: Recording,
    objects: TracedObjects,
    open: Vec<OpenCall>,
    /// Statuses that the program ignores, of each open call.
    statuses: Vec<Vec<u64>>,
    /// Room for the words of a call.
    words: Vec<u64>,
    /// Call sites by return address.
    sites: FxHashMap<usize, u32>,
    /// The MPI's own code: calls from within it, under way of others, are not the program's.
    own_code: Range<usize>,
    /// When the last call returned.
    left: Time,
    /// Nanoseconds that recording took, which are not the program's.
    lost: u64,
}

/// Default interval at which what was recorded is saved, the same as in libxsim.so.
const SAVE: Span = Span::from_ps(60_000_000_000_000);

/// Reports a wrong setting and aborts the run: nothing that follows would be what was meant.
fn refuse(why: &str) {
    say(why);
    // Hydra, MPICH's launcher, ends with the job: what it has not handed on by then is lost, as one sentence
    // in 25 was.
    std::thread::sleep(Duration::from_millis(250));
    // SAFETY: MPI is initialized.
    unsafe { xsimtrace_abort() };
}

/// Returns when calls must be entered that are recorded, as these variables say it.
fn window(variable: impl Fn(&str) -> Option<String>) -> Result<Range<Time>, String> {
    let time = |name: &str, default: Time| {
        let Some(given) = variable(name) else { return Ok(default) };
        given.parse::<Span>().map(|span| Time::ZERO + span).map_err(|why| format!("{name} is {given}: {why}"))
    };
    let window = time("XSIM_TRACE_FROM", Time::ZERO)?..time("XSIM_TRACE_UNTIL", Time::MAX)?;
    if window.is_empty() {
        return Err(
            "XSIM_TRACE_UNTIL is not later than XSIM_TRACE_FROM: there is nothing to record between them"
                .to_owned(),
        );
    }
    Ok(window)
}

impl TracedProcess {
    /// MPI is initialized.
    pub fn begin() -> Option<TracedProcess> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: MPI is initialized; native.c writes both.
        unsafe { xsimtrace_begin(&raw mut rank, &raw mut size) };
        let (rank, size) = (rank as u32, size as u32);
        host::begin(rank, size);
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let path = PathBuf::from(variable("XSIM_TRACE").unwrap_or_else(|| "xsim.trace".into()));
        let timing = match variable("XSIM_TRACE_TIMES").as_deref() {
            None | Some("histogram") => Timing::Histogram,
            Some("exact") => Timing::Exact,
            Some("none") => Timing::None,
            Some(other) => {
                refuse(&format!("XSIM_TRACE_TIMES is {other}; it must be histogram, exact or none"));
                return None;
            }
        };
        let save = match variable("XSIM_TRACE_SAVE").map_or(Ok(SAVE), |save| {
            save.parse::<Span>().map_err(|why| format!("XSIM_TRACE_SAVE is {save}: {why}"))
        }) {
            Ok(save) => save.as_ps() / 1000,
            Err(why) => {
                refuse(&why);
                return None;
            }
        };
        let window = match window(variable) {
            Ok(window) => window,
            Err(why) => {
                refuse(&why);
                return None;
            }
        };
        let options = Options {
            path,
            timing,
            window,
            ranks: size,
            own: rank..rank + 1,
            process: rank,
            save,
            clock: now,
            keys: host::keys,
        };
        let recording = match Recording::create(options) {
            Ok(recording) => recording,
            Err(why) => {
                refuse(&why);
                return None;
            }
        };
        // SAFETY: of native.c.
        let own_code = module::of(unsafe { xsimtrace_code() } as usize).map_or(0..0, |module| module.code);
        let mut run = TracedProcess {
            rank,
            size,
            recording,
            objects: TracedObjects::new(true),
            open: Vec::new(),
            statuses: Vec::new(),
            words: Vec::new(),
            sites: FxHashMap::default(),
            own_code,
            left: Time::ZERO,
            lost: now(),
        };
        // What the program computed before is no part of the run.
        run.left = run.time(now());
        Some(run)
    }

    /// Returns the program's time.
    fn time(&self, now: u64) -> Time {
        Time::ZERO + Span::from_ps((now - self.lost).saturating_mul(1000))
    }

    /// A call begins; whether it is recorded.
    pub fn open(&mut self, function: Function, large: bool, words: &mut [u64], site: usize) -> bool {
        if !self.open.is_empty() && self.own_code.contains(&site) {
            return false;
        }
        let begin = now();
        let entered = self.time(begin);
        if self.open.is_empty() && entered > self.left {
            self.recording.computed(self.rank, self.left, entered.since(self.left));
        }
        translate(function, large, words);
        let site = self.site(site);
        self.objects.maker = (function, site);
        let given = words;
        let words = ArgumentRegisters::of(function, ArgumentForm::c(large), given);
        let mut statuses = Vec::new();
        if let Some((place, room)) = words.ignored_statuses() {
            statuses.resize(room, 0u64);
            given[place] = statuses.as_ptr() as u64;
        }
        self.statuses.push(statuses);
        let handles = words.handles_before();
        let (mut arguments, mut brief) = (Vec::new(), None);
        if words.has_facts() {
            let head = function as u64 | u64::from(large) << 16 | u64::from(site) << 32;
            let facts = brief.insert(Facts::of(&words, &mut self.objects));
            facts.tell(head, &words, &mut self.objects, &mut self.words);
            // Whatever the call calls back.
            facts.keep(&self.words);
        } else {
            words.arguments(&handles, &mut self.objects, &mut arguments);
        }
        self.open.push(OpenCall {
            function,
            level: NestingLevel::OUTERMOST,
            words,
            entered,
            site,
            arguments,
            brief,
            handles,
        });
        self.lost += now() - begin;
        if function == Function::Finalize {
            // What it does itself is not recorded: what was recorded goes to rank 0 before.
            self.close_at(entered, 0);
        }
        true
    }

    fn site(&mut self, address: usize) -> u32 {
        let next = self.sites.len() as u32 + 1;
        *self.sites.entry(address).or_insert_with(|| {
            self.recording.site(next, &module::place(address));
            next
        })
    }

    /// The call that was opened last has returned.
    // Its words are where they were: the wrapper hands them over once more, so that they are kept.
    pub fn close(&mut self, code: i32) {
        let begin = now();
        self.close_at(self.time(begin), code);
        self.lost += now() - begin;
    }

    fn close_at(&mut self, at: Time, code: i32) {
        let Some(mut open) = self.open.pop() else { return };
        let _statuses = self.statuses.pop();
        self.left = at;
        self.objects.maker = (open.function, open.site);
        let code = if code == SUCCESS { SUCCESS } else { host::error_class(code) };
        let left = CallReturn { at, code, name: None };
        let has_results = code == SUCCESS || code == IN_STATUS;
        if has_results {
            open.words.begin_requests();
            open.words.begin_copy(open.function);
            open.words.note_statuses(&open.handles, &self.objects);
        }
        if let Some(facts) = open.brief.take() {
            if code == SUCCESS {
                facts.put_back(&mut self.words);
                let brief =
                    facts.brief((self.rank, open.entered), &open.words, &mut self.objects, &mut self.words);
                if self.recording.recognize(&brief, &left) {
                    return open.words.forget_replaced(&open.handles, &mut self.objects);
                }
            }
            open.words.arguments(&open.handles, &mut self.objects, &mut open.arguments);
        }
        if has_results {
            let found = open.words.has_found();
            open.words.results(&mut open.arguments, found, &open.handles, &mut self.objects);
        }
        self.recording.call(&open.call(self.rank), &left);
    }

    /// The program wants its calls to be recorded from now on, or not any more.
    pub fn listen(&mut self, on: bool) {
        self.recording.listen(self.rank, on);
    }

    /// The run may not come to its end: what was recorded up to now is kept beside the file.
    pub fn save(&mut self) {
        self.recording.save();
    }

    /// Ends the recording, since all calls were recorded: rank 0 gets them and writes the file.
    pub fn end(mut self) {
        let own = self.recording.part();
        if self.rank != 0 {
            // SAFETY: of native.c; MPI is initialized, and rank 0 receives.
            if unsafe { xsimtrace_send(own.as_ptr().cast(), own.len() as u64) } == 0 {
                say(&format!("rank {} could not send what it has recorded to rank 0", self.rank));
            }
        } else if let Err(why) = self.gather(own) {
            say(&why);
            fail();
        }
        // SAFETY: of native.c; all messages of the recorder are received.
        unsafe { xsimtrace_end() };
    }

    fn gather(&mut self, own: Vec<u8>) -> Result<(), String> {
        let mut all = vec![own];
        for rank in 1..self.size as c_int {
            let mut bytes = 0;
            // SAFETY: of native.c; it writes the size, then as many bytes as there is room for.
            let data = unsafe {
                if xsimtrace_receive_size(rank, &raw mut bytes) == 0 {
                    return Err(format!("what rank {rank} has recorded cannot be received"));
                }
                let mut data = vec![0; bytes as usize];
                if xsimtrace_receive(rank, data.as_mut_ptr().cast(), bytes) == 0 {
                    return Err(format!("what rank {rank} has recorded cannot be received"));
                }
                data
            };
            all.push(data);
        }
        self.recording.merge(all)
    }
}

/// Sees to it that the process's exit status says that the trace is not there.
fn fail() {
    extern "C" fn tell(status: c_int, _: *mut libc::c_void) {
        if status == 0 {
            // SAFETY: all streams; then the process ends.
            unsafe {
                libc::fflush(std::ptr::null_mut());
                libc::_exit(1);
            }
        }
    }
    unsafe extern "C" {
        // stdlib.h of the GNU C library.
        fn on_exit(function: extern "C" fn(c_int, *mut libc::c_void), argument: *mut libc::c_void) -> c_int;
    }
    // SAFETY: the function needs no argument.
    unsafe { on_exit(tell, std::ptr::null_mut()) };
}
