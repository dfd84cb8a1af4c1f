//! Steps of ranks in a file: appended as ranks go on, read from each rank's last to its first.

use engine::Time;
use engine::record::{Put, Take};
use recorder::waiting::{Returned, WaitState};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Instead of a rank: none.
pub const NOBODY: u32 = u32::MAX;
/// Instead of a time: of no message.
pub const NOTHING: u64 = u64::MAX;
/// Steps of a process's ranks that wait in memory, if there are not more ranks.
const WAITING: usize = 1 << 19;
/// Steps of a rank that are written together at most.
const CHUNK: usize = 256;
/// Bytes of a step.
const BYTES: usize = 8 * 8 + 4 * 4 + 1;
/// Bytes before the steps of a chunk: where the chunk before it is, and how many they are.
const HEAD: usize = 8 + 4;
/// Instead of where a chunk is: there is none.
const NOWHERE: u64 = u64::MAX;

/// A call of a rank. Times are picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallStep {
    pub entered: u64,
    pub left: u64,
    /// The time that it waited, up to `ended`.
    pub wait: u64,
    /// The time at which its wait was over; the time at which it returned, if that is not known.
    pub ended: u64,
    /// The end of it: this rank did something at this instant, and messages took the rest. [`NOBODY`]: nobody
    /// knows.
    pub since: u64,
    pub after: u32,
    /// The part of the wait that is lost to a late rank, when that rank acted, and its number; [`NOBODY`] if
    /// none is lost.
    pub lost: u64,
    pub acted: u64,
    pub by: u32,
    /// The time at which the first to leave left of the messages that it received; [`NOTHING`] where it
    /// received none.
    pub oldest: u64,
    /// The number of its wait state.
    pub state: u8,
    /// The number of its call site and function; in a file the process's own number.
    pub place: u32,
    /// Acts of the call for which other ranks may wait: flags of [`acts`].
    pub acts: u32,
}

/// Flags for the acts of a call that other ranks may wait for.
pub mod acts {
    /// It sends a message.
    pub const SENDS: u32 = 1;
    /// It posts a receive.
    pub const RECEIVES: u32 = 2;
    /// It is one of a collective, whose members meet at their entries.
    pub const GATHERS: u32 = 4;
    /// It exposes memory.
    pub const EXPOSES: u32 = 8;
    /// It ends an epoch of accesses.
    pub const COMPLETES: u32 = 16;
    /// It gives locks back.
    pub const UNLOCKS: u32 = 32;

    /// Returns what a function does by its name: sends and receives, `MPI_Start` and `MPI_Startall` either.
    pub fn of(function: &str) -> u32 {
        let name = function.to_lowercase();
        match name.strip_prefix("mpi_win_") {
            Some("post") => return EXPOSES,
            Some("complete") => return COMPLETES,
            Some("unlock" | "unlock_all") => return UNLOCKS,
            _ => {}
        }
        let starts = name.starts_with("mpi_start");
        let act = |does: bool, act: u32| if does || starts { act } else { 0 };
        act(name.contains("send"), SENDS) | act(name.contains("recv"), RECEIVES)
    }
}

impl CallStep {
    /// Returns what is known of a call when it returns.
    pub fn of(call: &Returned, (place, acts): (u32, u32)) -> CallStep {
        CallStep {
            entered: call.entered.as_ps(),
            left: call.left.as_ps(),
            wait: call.wait.as_ps(),
            ended: call.left.as_ps(),
            since: 0,
            after: NOBODY,
            lost: 0,
            acted: 0,
            by: NOBODY,
            oldest: call.oldest.map_or(NOTHING, Time::as_ps),
            state: 0,
            place,
            acts: if call.gathering.is_some() { acts | acts::GATHERS } else { acts },
        }
    }

    /// So much of it is lost to a rank that acted late, and when.
    // That instant is told, and not entry and loss added up: a loss is never more than the wait, which
    // overheads may have shortened.
    pub fn lose(&mut self, state: WaitState, lost: u64, (acted, by): (Time, u32)) {
        (self.state, self.lost, self.acted, self.by) = (state as u8, lost, acted.as_ps(), by);
    }

    /// Returns when its wait began; where it did not wait, when that would have been over.
    pub fn began(&self) -> u64 {
        self.ended.saturating_sub(self.wait).max(self.entered)
    }

    /// Returns what of the wait is lost, up to the instant at which the late one acted.
    pub fn lost_range(&self) -> Range<u64> {
        let acted = self.acted.min(self.ended);
        acted.saturating_sub(self.lost).max(self.entered)..acted
    }

    /// Returns `true` if what is not lost of its wait is messages under way, as far as that is known.
    pub fn waits_for_messages(&self) -> bool {
        self.after != NOBODY || self.acts & acts::GATHERS != 0
    }

    fn put(&self, out: &mut Vec<u8>) {
        for time in
            [self.entered, self.left, self.wait, self.ended, self.since, self.lost, self.acted, self.oldest]
        {
            out.u64(time);
        }
        for number in [self.after, self.by, self.place, self.acts] {
            out.u32(number);
        }
        out.u8(self.state);
    }

    fn take(from: &mut Take) -> CallStep {
        let [entered, left, wait, ended, since, lost, acted, oldest] = std::array::from_fn(|_| from.u64());
        let [after, by, place, acts] = std::array::from_fn(|_| from.u32());
        CallStep {
            entered,
            left,
            wait,
            ended,
            since,
            after,
            lost,
            acted,
            by,
            oldest,
            state: from.u8(),
            place,
            acts,
        }
    }
}

/// A rank's steps that are not written, and the position of those in the file.
struct Rank {
    steps: Vec<CallStep>,
    written: u32,
    /// Steps in memory that are not settled.
    held: u32,
    last: u64,
    clock: u64,
}

/// Writes the steps of a process's ranks.
pub struct StepsWriter {
    file: BufWriter<File>,
    length: u64,
    first: u32,
    chunk: usize,
    ranks: Vec<Rank>,
    bytes: Vec<u8>,
    table: u64,
}

impl StepsWriter {
    /// Creates a writer into a new file.
    pub fn create(file: &Path, own: Range<u32>) -> io::Result<StepsWriter> {
        let file = BufWriter::with_capacity(1 << 20, File::create(file)?);
        let rank = |_| Rank { steps: Vec::new(), written: 0, held: 0, last: NOWHERE, clock: 0 };
        let chunk = (WAITING / own.len().max(1)).clamp(1, CHUNK);
        Ok(StepsWriter {
            file,
            length: 0,
            first: own.start,
            chunk,
            ranks: own.map(rank).collect(),
            bytes: Vec::new(),
            table: 0,
        })
    }

    /// Adds a step of a rank; returns its number among those of the rank.
    pub fn add(&mut self, rank: u32, step: CallStep) -> u32 {
        let rank = &mut self.ranks[(rank - self.first) as usize];
        rank.steps.push(step);
        rank.written + rank.steps.len() as u32 - 1
    }

    /// Holds the last step of a rank until [`StepsWriter::settle`].
    pub fn hold(&mut self, rank: u32) {
        self.ranks[(rank - self.first) as usize].held += 1;
    }

    /// Changes a step that was held, which is known in full.
    pub fn settle(&mut self, rank: u32, number: u32, change: impl FnOnce(&mut CallStep)) {
        let rank = &mut self.ranks[(rank - self.first) as usize];
        // Held steps are in memory, with all that came after them.
        change(&mut rank.steps[(number - rank.written) as usize]);
        rank.held -= 1;
    }

    /// Writes a rank's steps, if they are a chunk and all settled.
    #[inline]
    pub fn flush(&mut self, rank: u32) -> io::Result<()> {
        let at = (rank - self.first) as usize;
        if self.ranks[at].steps.len() < self.chunk || self.ranks[at].held > 0 {
            Ok(())
        } else {
            self.write(at)
        }
    }

    fn write(&mut self, at: usize) -> io::Result<()> {
        let StepsWriter { ranks, bytes, .. } = self;
        let rank = &mut ranks[at];
        bytes.clear();
        bytes.u64(rank.last);
        bytes.u32(rank.steps.len() as u32);
        rank.steps.iter().for_each(|step| step.put(bytes));
        rank.last = self.length;
        rank.written += rank.steps.len() as u32;
        rank.steps.clear();
        self.length += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    /// Sets a rank's clock at the end of the run.
    pub fn finish(&mut self, rank: u32, clock: u64) {
        self.ranks[(rank - self.first) as usize].clock = clock;
    }

    /// Writes what waits, and where each rank's last chunk is.
    // What is not settled in a run that was aborted was lost to nobody.
    pub fn end(&mut self) -> io::Result<()> {
        for at in 0..self.ranks.len() {
            if !self.ranks[at].steps.is_empty() {
                self.write(at)?;
            }
        }
        self.table = self.length;
        for rank in &self.ranks {
            self.file.write_all(&rank.last.to_le_bytes())?;
        }
        self.file.flush()
    }

    /// Returns where the table of ranks begins.
    pub fn table(&self) -> u64 {
        self.table
    }

    /// Returns the latest clock at the end of the run, and whose; of several the lowest rank.
    pub fn latest(&self) -> (u64, u32) {
        let clocks = (self.first..).zip(&self.ranks).map(|(number, rank)| (rank.clock, number));
        clocks.max_by_key(|&(clock, number)| (clock, !number)).unwrap_or((0, NOBODY))
    }
}

/// The file that one process has written.
struct StepFile {
    file: File,
    own: Range<u32>,
    table: u64,
    /// The numbers of places here, by the process's own number.
    places: Vec<u32>,
}

/// Reads the steps of all ranks.
pub struct StepsReader {
    sources: Vec<StepFile>,
    bytes: Vec<u8>,
}

/// A position in a rank's steps, which are read from the last to the first.
#[derive(Clone, Debug, Default)]
pub struct Cursor {
    /// Steps that are read and not passed, in order.
    steps: Vec<CallStep>,
    /// The chunk before them.
    before: u64,
    source: usize,
}

impl StepsReader {
    /// Creates a reader without ranks.
    pub fn new() -> StepsReader {
        StepsReader { sources: Vec::new(), bytes: Vec::new() }
    }

    /// Adds the steps of a process: its ranks, where their table begins in its file, and the numbers of its
    /// sites here.
    pub fn add(&mut self, file: &Path, own: Range<u32>, table: u64, places: Vec<u32>) -> io::Result<()> {
        self.sources.push(StepFile { file: File::open(file)?, own, table, places });
        Ok(())
    }

    /// Returns all ranks.
    pub fn ranks(&self) -> Range<u32> {
        0..self.sources.iter().map(|source| source.own.end).max().unwrap_or(0)
    }

    /// Returns the end of a rank's steps.
    pub fn cursor(&self, rank: u32) -> io::Result<Cursor> {
        let source = self.sources.iter().position(|source| source.own.contains(&rank));
        let Some(source) = source else { return Ok(Cursor { before: NOWHERE, ..Cursor::default() }) };
        let StepFile { file, own, table, .. } = &self.sources[source];
        let mut place = [0; 8];
        file.read_exact_at(&mut place, table + u64::from(rank - own.start) * 8)?;
        Ok(Cursor { steps: Vec::new(), before: u64::from_le_bytes(place), source })
    }

    /// Returns the last step that the cursor has not passed.
    pub fn last(&mut self, cursor: &mut Cursor) -> io::Result<Option<CallStep>> {
        while cursor.steps.is_empty() && cursor.before != NOWHERE {
            self.read(cursor)?;
        }
        Ok(cursor.steps.last().copied())
    }

    fn read(&mut self, cursor: &mut Cursor) -> io::Result<()> {
        let StepFile { file, places, .. } = &self.sources[cursor.source];
        let mut head = [0; HEAD];
        file.read_exact_at(&mut head, cursor.before)?;
        let mut take = Take(&head);
        let (before, count) = (take.u64(), take.u32() as usize);
        self.bytes.resize(count * BYTES, 0);
        file.read_exact_at(&mut self.bytes, cursor.before + HEAD as u64)?;
        let mut take = Take(&self.bytes);
        cursor.steps.extend((0..count).map(|_| {
            let step = CallStep::take(&mut take);
            CallStep { place: places[step.place as usize], ..step }
        }));
        cursor.before = before;
        Ok(())
    }
}

impl Cursor {
    /// Passes the last step.
    pub fn pass(&mut self) {
        self.steps.pop();
    }

    /// Changes the last step, for who comes here again.
    pub fn change(&mut self, change: impl FnOnce(&mut CallStep)) {
        if let Some(step) = self.steps.last_mut() {
            change(step);
        }
    }
}
