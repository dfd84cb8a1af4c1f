//! Sorted runs on disk, as in any external sort: ranks come in the order in which the host runs them, a
//! timeline is in the order of virtual time, and neither fits in memory.

use crate::record::{LONGEST, Record};
use engine::record::Take;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

/// Records of a run: 10 MB of memory.
const RUN: usize = 1 << 17;
/// Memory for reading all runs at once, and the least for one.
const READING: usize = 64 << 20;
const MIN_READ_BYTES: usize = 4 << 10;

/// Writes runs, one behind the other, to a file.
pub struct RunWriter {
    file: File,
    records: Vec<Record>,
    bytes: Vec<u8>,
    /// Offsets at which the runs that are written end.
    ends: Vec<u64>,
}

impl RunWriter {
    /// Makes a writer to this file, which is empty.
    pub fn new(file: File) -> RunWriter {
        RunWriter { file, records: Vec::new(), bytes: Vec::new(), ends: Vec::new() }
    }

    /// Adds one more record; amortized O(log of a run).
    #[inline]
    pub fn add(&mut self, record: Record) -> io::Result<()> {
        self.records.push(record);
        if self.records.len() == RUN { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        // Stable: what a rank did at one instant stays in order.
        self.records.sort_by(Record::order);
        self.bytes.clear();
        self.records.iter().for_each(|record| record.put(&mut self.bytes));
        self.records.clear();
        let begin = self.ends.last().copied().unwrap_or(0);
        // At the place where it belongs, even if an earlier run could be written in part only.
        self.file.write_all_at(&self.bytes, begin)?;
        self.ends.push(begin + self.bytes.len() as u64);
        Ok(())
    }

    /// Returns where the runs end, the last one included.
    pub fn finish(&mut self) -> io::Result<Vec<u64>> {
        if !self.records.is_empty() {
            self.flush()?;
        }
        self.file.flush()?;
        Ok(self.ends.clone())
    }

    /// Gives up what is not written; returns the runs that were written before writing failed.
    pub fn give_up(&mut self) -> Vec<u64> {
        (self.records, self.bytes) = (Vec::new(), Vec::new());
        self.ends.clone()
    }
}

/// Reads one run from its beginning.
struct RunReader {
    file: Rc<File>,
    rest: Range<u64>,
    buffer: Vec<u8>,
    at: usize,
    room: usize,
}

impl RunReader {
    fn next(&mut self) -> io::Result<Option<Record>> {
        if self.buffer.len() - self.at < LONGEST && !self.rest.is_empty() {
            self.buffer.drain(..self.at);
            self.at = 0;
            let known = self.buffer.len();
            let more = (self.room - known).min((self.rest.end - self.rest.start) as usize);
            self.buffer.resize(known + more, 0);
            self.file.read_exact_at(&mut self.buffer[known..], self.rest.start)?;
            self.rest.start += more as u64;
        }
        if self.at == self.buffer.len() {
            return Ok(None);
        }
        let mut take = Take(&self.buffer[self.at..]);
        let record = Record::take(&mut take);
        self.at = self.buffer.len() - take.0.len();
        Ok(Some(record))
    }
}

/// The next record of a run; the least of a heap is the first in time.
struct RunHead {
    record: Record,
    run: u32,
}

impl Ord for RunHead {
    fn cmp(&self, other: &RunHead) -> Ordering {
        // A rank is on one process, and its runs follow each other: of what is alike the earlier run's comes
        // first.
        other.record.order(&self.record).then(other.run.cmp(&self.run))
    }
}
impl PartialOrd for RunHead {
    fn partial_cmp(&self, other: &RunHead) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for RunHead {
    fn eq(&self, other: &RunHead) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for RunHead {}

/// All records of some files of runs, in order; each O(log of the number of runs).
pub struct Merged {
    /// With the process of each.
    readers: Vec<(u32, RunReader)>,
    heads: BinaryHeap<RunHead>,
}

impl Merged {
    /// Merges the runs in the files of processes, given with the offsets at which their runs end.
    pub fn new(files: Vec<(File, Vec<u64>)>) -> io::Result<Merged> {
        let runs: usize = files.iter().map(|(_, ends)| ends.len()).sum();
        let room = (READING / runs.max(1)).clamp(MIN_READ_BYTES, 1 << 20);
        let mut merged = Merged { readers: Vec::new(), heads: BinaryHeap::new() };
        for (process, (file, ends)) in (0..).zip(files) {
            let file = Rc::new(file);
            let mut begin = 0;
            for end in ends {
                let reader =
                    RunReader { file: Rc::clone(&file), rest: begin..end, buffer: Vec::new(), at: 0, room };
                merged.readers.push((process, reader));
                merged.advance(merged.readers.len() - 1)?;
                begin = end;
            }
        }
        Ok(merged)
    }

    fn advance(&mut self, run: usize) -> io::Result<()> {
        if let Some(record) = self.readers[run].1.next()? {
            self.heads.push(RunHead { record, run: run as u32 });
        }
        Ok(())
    }

    /// Reads the next record, and the process that wrote it.
    pub fn next(&mut self) -> io::Result<Option<(u32, Record)>> {
        let Some(RunHead { record, run }) = self.heads.pop() else { return Ok(None) };
        self.advance(run as usize)?;
        Ok(Some((self.readers[run as usize].0, record)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{CallRecord, Message, RankAction};

    fn all() -> Vec<Record> {
        let call = |returned| {
            RankAction::Called(CallRecord {
                function: 300,
                site: 7,
                left: 90,
                wait: 3,
                waited: 80,
                bytes: u64::MAX,
                returned,
            })
        };
        let sent = |id| RankAction::Sent(Message { id, to: 9, arrived: 50, received: 60, bytes: 8, tag: -2 });
        let rank = |rank: u32, at: u64, what| Record { at, rank, what };
        vec![
            rank(1, 10, call(true)),
            rank(1, 10, RankAction::Received { at: 20, id: 5, from: 2 }),
            rank(1, 10, call(false)),
            rank(0, 10, RankAction::Computed { until: 11 }),
            rank(1, 10, sent(8)),
            rank(1, 10, sent(3)),
            rank(3, 0, call(true)),
        ]
    }

    #[test]
    fn runs_of_several_processes_come_together_in_time_and_each_rank_in_its_own_order() {
        let expected = [6, 3, 5, 4, 0, 1, 2].map(|place| all()[place]);
        // The ranks in one file, or in one each; in one run, or in a run for each record.
        for (files, runs) in [(1, false), (2, false), (4, true), (1, true)] {
            let mut written = Vec::new();
            for file in 0..files {
                let mut writer = RunWriter::new(tempfile());
                for record in all().into_iter().filter(|record| record.rank % files == file) {
                    writer.add(record).unwrap();
                    if runs {
                        writer.flush().unwrap();
                    }
                }
                let ends = writer.finish().unwrap();
                written.push((writer.file, ends));
            }
            let mut merged = Merged::new(written).unwrap();
            let mut found = Vec::new();
            while let Some((process, record)) = merged.next().unwrap() {
                assert_eq!(process, record.rank % files);
                found.push(record);
            }
            assert_eq!(found, expected, "{files} files");
        }
    }

    /// Makes a file that nobody else sees.
    fn tempfile() -> File {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("xsim-timeline-{}-{number}", std::process::id()));
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        file
    }
}
