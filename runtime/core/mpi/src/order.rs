//! State of what must wait for safe time, and the order in which it is decided.

pub(crate) mod agreeing;
pub(crate) mod decision;
pub(crate) mod key;
pub(crate) mod poller;
pub(crate) mod question;
pub(crate) mod threads;

use agreeing::Agreeing;
use decision::Decisions;
use poller::Fruitless;
use question::{Poll, PollHistory};
use rank::Addr;
use rustc_hash::FxHashMap;
use threads::Threads;

/// Questions of blocked ranks, decisions and this process's part in agreeing on them.
pub(crate) struct Order {
    /// Questions in which ranks are blocked, by rank.
    // A map, because few ranks are blocked in a question at a time; the bit that says so is in the rank's own
    // line (`Process::polling`).
    pub(crate) polls: FxHashMap<u32, Poll>,
    /// Failed polls of ranks that do nothing but poll, by rank.
    pub(crate) histories: FxHashMap<u32, PollHistory>,
    pub(crate) decisions: Decisions,
    /// The call under way that asks about an array of requests: whose it is, where the array is, and how many
    /// null handles that begins with.
    pub(crate) nulls: (u32, Addr, u32),
    /// Behind which place of a long array each rank found a request complete last, of ranks that wait so.
    pub(crate) found: FxHashMap<u32, u32>,
    pub(crate) fruitless: Fruitless,
    pub(crate) agreeing: Agreeing,
    /// Blocked threads of a process that is one rank.
    pub(crate) threads: Threads,
}

impl Order {
    /// Makes an order in which nothing is open; `processes` native processes have to agree.
    pub(crate) fn new(processes: u32, there: u32) -> Order {
        Order {
            polls: FxHashMap::default(),
            histories: FxHashMap::default(),
            decisions: Decisions::default(),
            nulls: (0, Addr::NULL, 0),
            found: FxHashMap::default(),
            fruitless: Fruitless::default(),
            agreeing: Agreeing::new(processes, there),
            threads: Threads::default(),
        }
    }
}
