//! State of open files.

use crate::access::{HomeReply, HomeRequest};
use crate::check::other;
use crate::home::Home;
use crate::host::HostFile;
use crate::operation::Operation;
use crate::representation::Representation;
use crate::view::View;
use crate::write::{Write, WriteBehind};
use engine::Time;
use network::Servers;
use objects::error::Result;
use objects::slab::Slab;
use p2p::chapter::arrivals::Arrivals;
use p2p::faults::Fault;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::rc::Rc;

/// A split collective under way (MPI 5.0 section 14.4.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Split {
    /// Name of the collective without `_begin` and `_end`.
    pub(crate) name: &'static str,
    /// The handle of its request; none if it is complete, with so many bytes.
    pub(crate) started: crate::asked::AccessStart,
}

/// A rank's view, pointer and accesses of an open file.
#[derive(Clone)]
pub(crate) struct RankFile {
    pub(crate) view: Rc<View>,
    /// The individual pointer, in etypes of the view.
    pub(crate) pointer: u64,
    /// Number of meetings of the file's members in which the rank has taken part.
    pub(crate) meetings: u32,
    pub(crate) atomic: bool,
    pub(crate) split: Option<Split>,
}

impl RankFile {
    pub(crate) fn new(view: Rc<View>) -> RankFile {
        RankFile { view, pointer: 0, meetings: 0, atomic: false, split: None }
    }

    /// Checks that a collective call does not come between the halves of another one.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER`.
    pub(crate) fn is_not_split(&self) -> Result {
        match self.split {
            None => Ok(()),
            Some(split) => Err(other(format!(
                "{}_begin has begun on this file: call {}_end first",
                split.name, split.name
            ))),
        }
    }
}

/// Files that ranks of this process have open, and what is under way.
#[derive(Default)]
pub struct OpenFiles {
    /// The host's files, by file.
    pub(crate) hosts: FxHashMap<u32, Rc<HostFile>>,
    /// `true` in a run without payloads: no file of the host is touched.
    pub(crate) is_nowhere: bool,
    /// By file and rank (world number).
    pub(crate) parts: FxHashMap<(u32, u32), RankFile>,
    /// Data representations that ranks (world numbers) have registered.
    pub(crate) registered: FxHashMap<(u32, Rc<str>), Representation>,
    /// Operations whose bytes are to be converted by functions of the program, and when they are over then.
    pub(crate) readings: VecDeque<(u32, Time)>,
    /// State of files whose home is in this process, by file.
    pub(crate) homes: FxHashMap<u32, Home>,
    pub(crate) operations: Slab<Operation>,
    /// Blocking writes of a few bytes at shared pointers, and those of them that are on their way to the
    /// host's file.
    pub(crate) writes: Slab<Write>,
    pub(crate) batch: WriteBehind,
    /// View of a file after opening.
    pub(crate) plain: Option<Rc<View>>,
    /// Accesses that wait at homes until no other one comes before them.
    pub(crate) accesses: Slab<HomeRequest>,
    pub(crate) arrivals: Arrivals<u32>,
    /// The file system's servers, at the process that has them, once something was asked of them.
    pub(crate) servers: Option<Servers>,
    /// Parts in rounds of collective buffering at aggregators of this process, by file, meeting, aggregator
    /// and round.
    pub(crate) rounds: FxHashMap<(u32, u32, u32, u32), Vec<HomeRequest>>,
    /// Rounds whose aggregators wait for the servers.
    pub(crate) aggregated: Slab<Vec<HomeRequest>>,
    /// Answers that a shared network carries: to which operation.
    pub(crate) answers: Slab<(u32, HomeReply)>,
    /// Messages that a shared network has delivered: their words and arrival times.
    pub(crate) landed: Vec<([u32; 4], Time)>,
    /// Number of requests of each rank of the process, from its first rank on; empty until the first request.
    pub(crate) asked: Vec<u32>,
    /// Operations that have ended with an error because a member of their file has failed.
    pub(crate) broken: FxHashMap<u32, Fault>,
    /// Communicators (their indices) of files that members have given back without the others.
    pub(crate) abandoned: FxHashSet<u32>,
    /// Value that answered the operation finished last.
    pub(crate) answer: u64,
}

impl OpenFiles {
    /// Leaves files of the host alone, or not: alike in all processes, and before any is opened.
    pub fn set_nowhere(&mut self, is_nowhere: bool) {
        self.is_nowhere = is_nowhere;
    }

    /// Returns a rank's part in a file that it has open.
    pub(crate) fn part(&self, file: u32, rank: u32) -> &RankFile {
        self.parts.get(&(file, rank)).expect("a rank that has the handle has opened the file")
    }

    /// Returns a rank's part in a file, to change it.
    pub(crate) fn part_mut(&mut self, file: u32, rank: u32) -> &mut RankFile {
        self.parts.get_mut(&(file, rank)).expect("a rank that has the handle has opened the file")
    }
}
