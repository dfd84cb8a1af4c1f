//! The machine's own MPI, through a library of ours that is loaded when it is needed.

use crate::bell::Bell;
use crate::{Lane, Launcher, Transport};
use native_table::{NativeFunctions, SYMBOL, VERSION};
use std::collections::VecDeque;
use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Buffers kept for reuse.
const SPARE: usize = 64;

/// Time that the launcher gets to forward output before the run is aborted.
// Hydra, MPICH's launcher, ends with the job: what it has not handed on by then is lost, the sentence that
// says why among it.
const HANDING_ON: Duration = Duration::from_millis(250);

/// Messages over the machine's MPI.
pub struct Native {
    table: &'static NativeFunctions,
    rank: u32,
    size: u32,
    bell: Bell,
    /// `true` if something must have arrived since it was last looked for.
    expecting: bool,
    /// The message that the last look before a sleep found: from whom, its tag, its bytes. It is taken before
    /// anything else.
    found: Option<(u32, i32, usize)>,
    /// By destination: messages that may still be under way, oldest first.
    flights: Vec<VecDeque<(i64, Vec<u8>)>>,
    spare: Vec<Vec<u8>>,
}

/// Returns the directory of the library (or program) that this code is in.
fn home() -> Option<PathBuf> {
    // SAFETY: all-zero bytes are a valid Dl_info.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `home` is an address in a loaded object, and `info` is writable.
    let found = unsafe { libc::dladdr(home as *const c_void, &mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr gave a C string that lives as long as the object.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(located(Path::new(std::ffi::OsStr::from_bytes(name.to_bytes())))?.parent()?.to_owned())
}

/// Returns the file of an object that the loader calls so. A command found through `PATH` has the name that
/// it was started by, which is no path.
fn located(name: &Path) -> Option<PathBuf> {
    let is_path = name.as_os_str().as_bytes().contains(&b'/');
    if is_path { name.canonicalize().ok() } else { std::env::current_exe().ok() }
}

fn last_error() -> String {
    // SAFETY: dlerror answers null or a C string valid until the next call of this thread.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "no reason given".to_owned();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

fn load(launcher: Launcher) -> Result<&'static NativeFunctions, String> {
    let file = format!("libxsim_native_{}.so", launcher.short());
    let home = home().ok_or("cannot find the directory of libxsim.so")?;
    // An installed command (`xsim replay`) is in bin, and the libraries are in lib.
    let beside = [home.clone(), home.join("../lib")];
    let directory = beside.iter().find(|directory| directory.join(&file).exists()).unwrap_or(&home);
    let path = directory.join(&file);
    if !path.exists() {
        return Err(format!(
            "{} started several processes, but {file} is not beside libxsim.so in {}: install {} and \
             libclang-dev, and build it with 'sh runtime/core/transport/native/build.sh {}'; -xsim-native \
             none runs each process on its own",
            launcher.name(),
            directory.display(),
            launcher.packages(),
            launcher.short()
        ));
    }
    let name = CString::new(path.as_os_str().as_bytes())
        .map_err(|_| "the library's path has a null byte".to_owned())?;
    // Its own MPI, not ours, must answer its calls of MPI: its symbols are looked up in its own dependencies
    // first. SAFETY: loading runs the constructors of MPI's libraries, before any rank runs.
    let handle =
        unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_DEEPBIND) };
    if handle.is_null() {
        return Err(format!(
            "cannot load {} ({}): is {} installed ({})?",
            path.display(),
            last_error(),
            launcher.name(),
            launcher.packages()
        ));
    }
    // SAFETY: `handle` is a loaded library.
    let symbol = unsafe { libc::dlsym(handle, SYMBOL.as_ptr()) };
    if symbol.is_null() {
        return Err(format!(
            "{} has no function {}: build it again",
            path.display(),
            SYMBOL.to_string_lossy()
        ));
    }
    // SAFETY: the symbol of a library of ours is a function of this type; the table is a static of it, never
    // unloaded.
    let table =
        unsafe { &*std::mem::transmute::<*mut c_void, extern "C" fn() -> *const NativeFunctions>(symbol)() };
    if table.version != VERSION {
        return Err(format!("{} is of another version of xsim: build it again", path.display()));
    }
    Ok(table)
}

impl Native {
    /// Loads the library for the launcher's MPI, and initializes that.
    ///
    /// # Errors
    /// A sentence that says what is missing, and how to get it.
    pub fn open(launcher: Launcher) -> Result<Native, String> {
        let table = load(launcher)?;
        let (mut rank, mut size) = (0, 0);
        // SAFETY: both are writable; called once, before anything else of the table.
        if unsafe { (table.open)(&mut rank, &mut size) } < 0 {
            return Err(format!("{} cannot be initialized", launcher.name()));
        }
        if size < 2 {
            // SAFETY: initialized above, nothing under way.
            unsafe { (table.close)() };
            return Err(format!(
                "the launcher started several processes, but {} sees one: start with the launcher of {} \
                 (mpirun.{}), or install {}",
                launcher.name(),
                launcher.name(),
                launcher.short(),
                launcher.packages()
            ));
        }
        // A process that waits for others sleeps some microseconds between two looks, not the 50 more that
        // the kernel may add. SAFETY: plain numbers.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_000) };
        Ok(Native {
            table,
            rank,
            size,
            bell: Bell::new(size),
            expecting: false,
            found: None,
            flights: (0..size).map(|_| VecDeque::new()).collect(),
            spare: Vec::new(),
        })
    }

    /// Looks for the next message that has arrived, which must be received before the next look: from whom,
    /// its tag, its bytes.
    fn probe(&self) -> Result<Option<(u32, i32, usize)>, String> {
        let (mut from, mut tag, mut bytes) = (0, 0, 0);
        // SAFETY: all three are writable.
        match unsafe { (self.table.probe)(&mut from, &mut tag, &mut bytes) } {
            0 => Ok(None),
            1 => Ok(Some((from, tag, bytes))),
            _ => Err(self.failed()),
        }
    }

    fn failed(&self) -> String {
        format!("the machine's MPI failed in process {}", self.rank)
    }
}

impl Transport for Native {
    fn rank(&self) -> u32 {
        self.rank
    }
    fn size(&self) -> u32 {
        self.size
    }
    fn send(&mut self, to: u32, lane: Lane, data: Vec<u8>) -> Result<(), String> {
        // SAFETY: the bytes are kept in `flights`, not moved in memory, until the ticket's message is sent.
        let ticket = unsafe { (self.table.send)(data.as_ptr(), data.len(), to, lane as i32) };
        if ticket < 0 {
            return Err(self.failed());
        }
        self.flights[to as usize].push_back((ticket, data));
        self.bell.ring(to);
        Ok(())
    }
    fn under_way(&mut self, to: u32) -> Result<usize, String> {
        while let Some((ticket, _)) = self.flights[to as usize].front() {
            // SAFETY: a ticket that was not found sent before.
            match unsafe { (self.table.sent)(*ticket) } {
                0 => break,
                1 => {
                    let (_, mut data) = self.flights[to as usize].pop_front().expect("its front was found");
                    if self.spare.len() < SPARE {
                        data.clear();
                        self.spare.push(data);
                    }
                }
                _ => return Err(self.failed()),
            }
        }
        Ok(self.flights[to as usize].len())
    }
    fn receive(&mut self) -> Result<Option<(u32, Lane, Vec<u8>)>, String> {
        let mut found = match self.found.take() {
            None => self.probe()?,
            found => found,
        };
        // An MPI may look first and make progress then: what has arrived is found by the next look.
        if self.expecting {
            if found.is_none() {
                found = self.probe()?;
            }
            self.expecting = found.is_some();
        }
        let Some((from, tag, bytes)) = found else { return Ok(None) };
        let mut data = self.buffer();
        data.resize(bytes, 0);
        // SAFETY: `data` has exactly the bytes that the probe told.
        if unsafe { (self.table.receive)(data.as_mut_ptr(), bytes) } < 0 {
            return Err(self.failed());
        }
        let lane = if tag == Lane::Data as i32 { Lane::Data } else { Lane::Control };
        Ok(Some((from, lane, data)))
    }
    fn bell(&self) -> u64 {
        self.bell.number()
    }
    fn learn_bells(&mut self, bells: &[u64]) {
        self.bell.learn(bells);
    }
    fn wait(&mut self, unwoken: Duration, woken: Duration) {
        // What has not left needs this process to look after it. A failure shows again, and is told, at the
        // next message.
        let rests = self.bell.is_known() && (0..self.size).all(|to| self.under_way(to) == Ok(0));
        let mut found = Ok(None);
        self.expecting = self.bell.wait(if rests { woken } else { unwoken }, || {
            found = self.probe();
            found != Ok(None)
        });
        // As for what has not left.
        self.found = found.unwrap_or(None);
    }
    fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }
    fn abort(&mut self, status: i32) {
        std::thread::sleep(HANDING_ON);
        // SAFETY: MPI is initialized.
        unsafe { (self.table.abort)(status) };
    }
    fn close(&mut self) -> Result<(), String> {
        for to in 0..self.size {
            while self.under_way(to)? > 0 {
                std::thread::yield_now();
            }
        }
        // SAFETY: nothing is under way any more.
        if unsafe { (self.table.close)() } < 0 { Err(self.failed()) } else { Ok(()) }
    }
}
