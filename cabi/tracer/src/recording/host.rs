//! Meanings of handles, statuses and communicators in a real run: the counterpart of libxsim.so's file of
//! this name.
//!
//! The rest of the recorder knows the values of the standard ABI alone. Predefined handles become those of
//! the ABI, other handles stay the words that the MPI has for them, which are no small numbers.

use crate::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_NULL, MPI_PROC_NULL};
use call_recording::Host;
use call_recording::objects::{Membership, PREDEFINED as FIRST_MADE, RelativeBase};
use call_recording::parameter::{Kind, RecordedParameter};
use rank::Addr;
use rank::memory::load;
use recorder::{Class, RecordedStatus};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::hash::{DefaultHasher, Hash, Hasher};
use trace::saved::Key;

include!(concat!(env!("OUT_DIR"), "/constants.rs"));

// Of native.c and of what is generated for it.
unsafe extern "C" {
    static xsimtrace_numbers: [i64; NUMBERS.len()];
    static xsimtrace_handle_size: u64;
    static xsimtrace_file_size: u64;
    fn xsimtrace_handles(to: *mut u64);
    fn xsimtrace_sentinels(to: *mut u64);
    fn xsimtrace_status(at: *const c_void, k: u64, to: *mut i64);
    fn xsimtrace_comm(comm: u64, to: *mut i64) -> c_int;
    fn xsimtrace_members(comm: u64, remote: c_int, count: c_int, to: *mut c_int) -> c_int;
    fn xsimtrace_datatype(datatype: u64, to: *mut i64) -> c_int;
    fn xsimtrace_group(group: u64, room: c_int, to: *mut c_int) -> c_int;
    fn xsimtrace_size_of_file(file: u64) -> i64;
    fn xsimtrace_error_class(code: c_int) -> c_int;
}

/// Addresses with a meaning, in the order of native.c, and the standard's values.
const SENTINELS: [u64; 6] = [1, 0, 0, 10, 11, 0];

#[derive(Default)]
struct NativeHost {
    world: (u32, u32),
    /// Predefined handles: the standard's by the MPI's own, and back.
    named: FxHashMap<(Class, u64), usize>,
    own: FxHashMap<usize, u64>,
    numbers: FxHashMap<(Section, i32), i32>,
    sentinels: [u64; SENTINELS.len()],
    comms: FxHashMap<usize, Comm>,
    keys: Vec<Key>,
    /// Number of communicators that were seen, by their group or groups.
    made: FxHashMap<Key, u64>,
    requests: Requests,
    /// The operations that the call's statuses belong to; empty if all are receives.
    statuses: Vec<StatusOf>,
    /// Address at which the call has stored a communicator that cannot be used yet; 0 for none.
    unfinished: usize,
}

/// The operation that a status belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatusOf {
    /// A receive: it is as the MPI says.
    Receive,
    /// A receive from `MPI_PROC_NULL`: not every MPI says so of its request (MPI 5.0 section 3.10).
    Nobody,
    /// An operation that receives nothing: MPI leaves the status undefined (section 3.7.3).
    Other,
}

#[derive(Clone, Copy)]
struct Comm {
    membership: Membership,
    /// Its groups.
    group: Key,
    neighbors: Option<(usize, usize)>,
    dimensions: Option<usize>,
}

/// Requests under way. An MPI may give the same handle to several that are complete at once: each is told
/// apart, by where the handle is kept or else by the order in which they were started.
#[derive(Default)]
struct Requests {
    count: usize,
    /// By handle and by where the call that made it has put it.
    at: FxHashMap<(u64, usize), usize>,
    /// By handle, in the order in which they were started.
    of_handle: FxHashMap<u64, VecDeque<usize>>,
    all: FxHashMap<usize, StartedRequest>,
}

#[derive(Clone, Copy)]
struct StartedRequest {
    handle: u64,
    at: usize,
    /// It receives from `MPI_PROC_NULL`.
    from_nobody: bool,
}

impl Requests {
    /// Numbers that stand for requests: above predefined handles, and apart from the handles of requests that
    /// nobody saw begin.
    const FIRST: usize = 1 << 56;

    fn begin(&mut self, handle: u64, at: usize, from_nobody: bool) {
        let number = Requests::FIRST + self.count;
        self.count += 1;
        self.at.insert((handle, at), number);
        self.of_handle.entry(handle).or_default().push_back(number);
        self.all.insert(number, StartedRequest { handle, at, from_nobody });
    }

    /// Returns the request with this handle that is kept at `at`; if none is, the one before which `earlier`
    /// others with the same handle stand.
    fn find(&self, handle: u64, at: usize, earlier: impl FnOnce() -> usize) -> Option<usize> {
        let queue = self.of_handle.get(&handle)?;
        match queue.len() {
            1 => queue.front().copied(),
            _ => self.at.get(&(handle, at)).or_else(|| queue.get(earlier())).copied(),
        }
    }

    fn end(&mut self, number: usize) {
        let Some(StartedRequest { handle, at, .. }) = self.all.remove(&number) else { return };
        if self.at.get(&(handle, at)) == Some(&number) {
            self.at.remove(&(handle, at));
        }
        if let Some(queue) = self.of_handle.get_mut(&handle) {
            queue.retain(|&other| other != number);
            if queue.is_empty() {
                self.of_handle.remove(&handle);
            }
        }
    }
}

thread_local! {
    static HOST: RefCell<NativeHost> = RefCell::default();
}

fn with<T>(what: impl FnOnce(&mut NativeHost) -> T) -> T {
    HOST.with_borrow_mut(what)
}

/// MPI is initialized; the calling process is this one of so many.
pub fn begin(rank: u32, size: u32) {
    let mut host = NativeHost { world: (rank, size), ..NativeHost::default() };
    let mut handles = vec![0; PREDEFINED.len()];
    // SAFETY: room for as many as the generated functions write, which come from the same table.
    unsafe {
        xsimtrace_handles(handles.as_mut_ptr());
        xsimtrace_sentinels(host.sentinels.as_mut_ptr());
    }
    for (&(class, value), handle) in PREDEFINED.iter().zip(handles) {
        if handle != MISSING as u64 {
            // The first, the null handle, is meant where several have one value.
            host.named.entry((class, handle)).or_insert(value);
            host.own.insert(value, handle);
        }
    }
    // SAFETY: a constant of the generated part.
    let numbers = unsafe { &xsimtrace_numbers };
    for (&(section, value), &number) in NUMBERS.iter().zip(numbers) {
        if number != MISSING {
            host.numbers.entry((section, number as i32)).or_insert(value);
        }
    }
    with(|old| *old = host);
}

/// A constant that the MPI does not have.
const MISSING: i64 = i64::MIN;

/// Returns what tells the communicators apart that were seen on all ranks, by context: their groups, and how
/// many of the same groups their members have made before. Members make communicators of the same group in
/// the same order, so that nothing need be sent to agree on it.
pub fn keys() -> Vec<Key> {
    with(|host| host.keys.clone())
}

/// Returns the standard's handle for a word of the MPI, which stands at `at` behind `earlier` equal ones of
/// an array.
pub fn translated(class: Class, word: u64, at: usize, earlier: usize) -> usize {
    find(class, word, at, || earlier)
}

fn find(class: Class, word: u64, at: usize, earlier: impl FnOnce() -> usize) -> usize {
    with(|host| match host.named.get(&(class, word)) {
        Some(&value) => value,
        None if class == Class::Request => host.requests.find(word, at, earlier).unwrap_or(word as usize),
        None => word as usize,
    })
}

fn size(class: Option<Class>) -> i64 {
    // SAFETY: constants of native.c.
    unsafe {
        if class == Some(Class::File) { xsimtrace_file_size as i64 } else { xsimtrace_handle_size as i64 }
    }
}

fn word(class: Option<Class>, at: Addr, k: usize) -> u64 {
    let size = size(class);
    let at = at.offset(size * k as i64);
    if size == 4 { u64::from(load::<u32>(at)) } else { load(at) }
}

/// A request begins whose handle a call has put here; it may be to receive from `MPI_PROC_NULL`.
pub fn begin_request(at: Addr, from_nobody: bool) {
    let handle = word(Some(Class::Request), at, 0);
    with(|host| {
        if !host.named.contains_key(&(Class::Request, handle)) {
            host.requests.begin(handle, at.0, from_nobody);
        }
    });
}

/// A rank that is none. One MPI's wildcard for ranks is another's rank of nobody, and the wildcard for tags
/// of a third.
fn rank(host: &NativeHost, number: i32) -> i32 {
    let found =
        host.numbers.get(&(Section::Rank, number)).or_else(|| host.numbers.get(&(Section::Wildcard, number)));
    found.copied().unwrap_or(number)
}

fn mask(section: Section, number: i32) -> i32 {
    with(|host| {
        host.numbers
            .iter()
            .filter(|((of, bit), _)| *of == section && number & bit == *bit)
            .fold(0, |mask, (_, value)| mask | value)
    })
}

/// Returns an address that a call is given, which may have a meaning.
pub fn address(p: &RecordedParameter, word: u64) -> u64 {
    let [in_place, statuses @ .., unweighted, empty, errors] = with(|host| host.sentinels);
    match p.kind {
        Kind::Buffer if word == in_place => SENTINELS[0],
        Kind::Status if statuses.contains(&word) => SENTINELS[1],
        Kind::Integer if p.name.contains("weights") && word == unweighted => SENTINELS[3],
        Kind::Integer if p.name.contains("weights") && word == empty => SENTINELS[4],
        Kind::Integer if p.name == "array_of_errcodes" && word == errors => SENTINELS[5],
        _ => word,
    }
}

/// Returns the standard's error class of an error code.
pub fn error_class(code: i32) -> i32 {
    // SAFETY: of native.c; any code may be asked for.
    let class = unsafe { xsimtrace_error_class(code) };
    with(|host| host.numbers.get(&(Section::ErrorClass, class)).copied().unwrap_or(class))
}

/// Forgets the statuses that were noted: the next to be read are all of receives.
pub fn forget_statuses() {
    with(|host| host.statuses.clear());
}

/// Notes the operation of the next of the statuses to be read: a request, which receives if `receives` is
/// set.
pub fn note_status(request: usize, receives: bool) {
    with(|host| {
        let nobody = host.requests.all.get(&request).is_some_and(|started| started.from_nobody);
        host.statuses.push(if nobody {
            StatusOf::Nobody
        } else if receives {
            StatusOf::Receive
        } else {
            StatusOf::Other
        });
    });
}

// Calls of Fortran come as the calls of C that they are made of.

/// The MPI's own word for a handle.
fn own(handle: usize) -> Option<u64> {
    if handle < FIRST_MADE { with(|host| host.own.get(&handle).copied()) } else { Some(handle as u64) }
}

fn comm(handle: usize) -> Option<Comm> {
    if handle == MPI_COMM_NULL {
        return None;
    }
    if let Some(known) = with(|host| host.comms.get(&handle).copied()) {
        return Some(known);
    }
    let word = own(handle)?;
    let mut told = [0; 7];
    // SAFETY: native.c writes seven words.
    if unsafe { xsimtrace_comm(word, told.as_mut_ptr()) } == 0 {
        return None;
    }
    let [size, peers, rank, inter, sources, destinations, dimensions] = told;
    let local = members(word, false, size)?;
    let remote = if inter == 0 { Vec::new() } else { members(word, true, peers)? };
    let leader = local[0] as u32;
    let leaders = (leader, remote.first().map_or(leader, |&first| first as u32));
    let group = group(&local, &remote);
    let context = with(|host| host.context(group));
    let membership = Membership {
        context,
        size: size as u32,
        peers: peers as u32,
        rank: rank as u32,
        leaders,
        is_inter: inter != 0,
    };
    let neighbors = (sources >= 0).then_some((sources as usize, destinations as usize));
    let known = Comm { membership, group, neighbors, dimensions: usize::try_from(dimensions).ok() };
    with(|host| host.comms.insert(handle, known));
    Some(known)
}

fn members(comm: u64, remote: bool, count: i64) -> Option<Vec<i32>> {
    let mut members = vec![0; count as usize];
    // SAFETY: room for as many as there are.
    let done = unsafe { xsimtrace_members(comm, c_int::from(remote), count as c_int, members.as_mut_ptr()) };
    (done != 0 && !members.is_empty()).then_some(members)
}

fn hash(what: impl Fn(&mut DefaultHasher)) -> Key {
    [0u8, 1].map(|salt| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        what(&mut hasher);
        hasher.finish()
    })
}

/// Returns what tells groups apart. Both sides of an intercommunicator say the same.
fn group(local: &[i32], remote: &[i32]) -> Key {
    let groups = if remote.is_empty() || local[0] < remote[0] { [local, remote] } else { [remote, local] };
    hash(|hasher| groups.hash(hasher))
}

impl NativeHost {
    /// Returns the context, in this process, of a communicator of these groups that was not seen before.
    fn context(&mut self, group: Key) -> u32 {
        let count = self.made.entry(group).or_default();
        *count += 1;
        let count = *count;
        self.keys.push(hash(|hasher| (group, count).hash(hasher)));
        self.keys.len() as u32 - 1
    }
}

/// The call has put a copy of a communicator here, or of none, which is not to be used, nor asked about,
/// until a request is complete.
// Its place among those of its group is the one that it has now: members may use it first in another order.
pub fn begin_copy(of: usize, at: Option<Addr>) {
    with(|host| host.unfinished = at.map_or(0, |at| at.0));
    let (Some(at), Some(original)) = (at, comm(of)) else { return };
    let handle = word(Some(Class::Comm), at, 0) as usize;
    with(|host| {
        let membership = Membership { context: host.context(original.group), ..original.membership };
        host.comms.insert(handle, Comm { membership, ..original });
    });
}

/// The machine's own MPI.
pub struct TracedMpi;

impl Host for TracedMpi {
    const STATUS: usize = 64;

    fn status(at: Addr, k: usize) -> RecordedStatus {
        let of_none = |source| RecordedStatus { source, tag: MPI_ANY_TAG, bytes: 0, cancelled: false };
        match with(|host| host.statuses.get(k).copied()) {
            Some(StatusOf::Nobody) => return of_none(MPI_PROC_NULL),
            Some(StatusOf::Other) => return of_none(MPI_ANY_SOURCE),
            Some(StatusOf::Receive) | None => {}
        }
        let mut told = [0; 4];
        // SAFETY: an array of the program, or of ours, that the MPI has filled in; native.c writes four
        // words.
        unsafe { xsimtrace_status(at.0 as *const c_void, k as u64, told.as_mut_ptr()) };
        let [source, tag, bytes, cancelled] = told;
        if cancelled != 0 {
            // The rest is undefined (MPI 5.0 section 3.8.4).
            return RecordedStatus { cancelled: true, ..of_none(MPI_ANY_SOURCE) };
        }
        let source = if source < 0 { with(|host| rank(host, source as i32)) } else { source as i32 };
        let tag = if tag < 0 { MPI_ANY_TAG } else { tag as i32 };
        RecordedStatus { source, tag, bytes, cancelled: false }
    }

    fn handle(class: Option<Class>, at: Addr, k: usize) -> usize {
        let handle = word(class, at, k);
        let Some(of) = class else { return handle as usize };
        let place = at.offset(size(class) * k as i64).0;
        if of == Class::Comm && with(|host| host.unfinished == place) {
            return MPI_COMM_NULL;
        }
        // O(k), where handles are not kept where they were made and are those of several requests: both are
        // rare.
        find(of, handle, place, || (0..k).filter(|&k| word(class, at, k) == handle).count())
    }

    fn number(p: &RecordedParameter, number: i32) -> i32 {
        let section = match p.kind {
            Kind::Tag => return if number < 0 { MPI_ANY_TAG } else { number },
            Kind::Rank if number >= 0 => return number,
            Kind::Rank => return with(|host| rank(host, number)),
            Kind::Integer => match p.name {
                "required" | "provided" => Section::Thread,
                "split_type" => Section::SplitType,
                "result" => Section::Comparison,
                "status" => Section::Topology,
                "order" => Section::Order,
                "array_of_distribs" | "array_of_dargs" => Section::Distribution,
                "combiner" => Section::Combiner,
                "typeclass" => Section::TypeClass,
                "lock_type" => Section::Lock,
                "whence" => Section::Whence,
                "errorclass" => Section::ErrorClass,
                "keyval" | "comm_keyval" | "win_keyval" => Section::Key,
                "amode" => return mask(Section::FileMode, number),
                "assert" => return mask(Section::Assertion, number),
                _ => return number,
            },
            _ => return number,
        };
        with(|host| host.numbers.get(&(section, number)).copied().unwrap_or(number))
    }

    fn distinct(_: usize) -> Option<usize> {
        None
    }

    fn forget(class: Class, handle: usize) {
        with(|host| match class {
            Class::Request => host.requests.end(handle),
            Class::Comm => _ = host.comms.remove(&handle),
            _ => {}
        });
    }

    fn text(at: Addr) -> Vec<u8> {
        if at.is_null() {
            return Vec::new();
        }
        // SAFETY: a text of the program, which ends in a null byte.
        unsafe { CStr::from_ptr(at.0 as *const c_char) }.to_bytes().to_vec()
    }

    fn fortran_status(given: Addr) -> Addr {
        given
    }

    fn fortran_buffer(given: Addr) -> Addr {
        given
    }

    fn fortran_weights(given: Addr) -> Addr {
        given
    }

    fn fortran_base(given: Addr) -> Addr {
        given
    }

    fn fortran_text(given: Addr) -> (Addr, usize) {
        (given, 0)
    }

    fn world() -> RelativeBase {
        let (rank, peers) = with(|host| host.world);
        RelativeBase { rank, peers }
    }

    fn position(comm: usize) -> Option<RelativeBase> {
        Self::membership(comm)
            .filter(|comm| comm.rank < comm.size)
            .map(|comm| RelativeBase { rank: comm.rank, peers: comm.peers })
    }

    fn membership(handle: usize) -> Option<Membership> {
        comm(handle).map(|comm| comm.membership)
    }

    fn is_dynamic(_: usize) -> bool {
        false
    }

    fn context(comm: usize) -> Option<u32> {
        Self::membership(comm).map(|comm| comm.context)
    }

    fn neighbors(handle: usize) -> Option<(usize, usize)> {
        comm(handle)?.neighbors
    }

    fn dimensions(handle: usize) -> Option<usize> {
        comm(handle)?.dimensions
    }

    fn datatype(handle: usize) -> Option<(u64, i64)> {
        if handle == crate::constants::MPI_DATATYPE_NULL {
            return None;
        }
        let mut told = [0; 2];
        // SAFETY: native.c writes two words.
        let done = unsafe { xsimtrace_datatype(own(handle)?, told.as_mut_ptr()) };
        (done != 0).then_some((told[0] as u64, told[1]))
    }

    fn members(group: usize) -> Option<Vec<i32>> {
        let group = own(group)?;
        // SAFETY: native.c writes as many numbers as there is room for, at most.
        let count = unsafe { xsimtrace_group(group, 0, std::ptr::null_mut()) };
        let mut ranks = vec![0; usize::try_from(count).ok()?];
        // SAFETY: as above.
        let done = unsafe { xsimtrace_group(group, count, ranks.as_mut_ptr()) };
        (done == count).then_some(ranks)
    }

    fn file_size(file: usize) -> Option<i64> {
        // SAFETY: native.c looks at a file of the program.
        let size = unsafe { xsimtrace_size_of_file(own(file)?) };
        (size >= 0).then_some(size)
    }

    fn opened_size(file: usize) -> Option<i64> {
        Self::file_size(file)
    }

    fn source(_: usize, _: i32) -> Option<u32> {
        None
    }
}
