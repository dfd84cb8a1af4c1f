//! Data in the steps of its schedule: for reductions whose association cannot be told in short, and for
//! members whose counts may contradict each other.
//!
//! Rounds are aligned, so all members take one after the other; what they send in a round is what they had
//! when it began. A process runs its own members, and tells each other process once a round what crosses; one
//! process alone has the segment that is everything.

use crate::mailbox::Mailbox;
use crate::segments::ProcessSegment;
use crate::{Buffer, Member, Members, Schedule, Slice, Step};
use engine::record::{Put, Take};
use std::ops::Range;
use std::rc::Rc;

/// A buffer of each member of a row, one behind the other.
// One allocation for all members; where they are even, a member's place is a product and no table is kept.
pub struct Rows {
    bytes: Vec<u8>,
    /// Offsets at which the members' buffers begin, and the end of the last one; empty if all have `each`
    /// bytes.
    begins: Vec<u64>,
    each: u64,
}

impl Rows {
    /// Makes rows of `each` bytes.
    pub fn even(bytes: Vec<u8>, each: usize) -> Rows {
        Rows { bytes, begins: Vec::new(), each: each as u64 }
    }
    /// Makes rows of these lengths, zeroed.
    pub fn zeroed(lengths: impl Iterator<Item = u64> + Clone) -> Rows {
        let each = lengths.clone().next().unwrap_or(0);
        if lengths.clone().all(|length| length == each) {
            return Rows::even(vec![0; (each * lengths.count() as u64) as usize], each as usize);
        }
        let begins: Vec<u64> = crate::begins(lengths).collect();
        Rows { bytes: vec![0; begins.last().copied().unwrap_or(0) as usize], begins, each: 0 }
    }
    /// Joins these rows, one behind the other.
    pub fn of<'a>(rows: impl Iterator<Item = &'a [u8]> + Clone) -> Rows {
        let mut all = Rows { bytes: Vec::new(), begins: vec![0], each: 0 };
        for row in rows {
            all.bytes.extend_from_slice(row);
            all.begins.push(all.bytes.len() as u64);
        }
        all
    }
    // In 64 bits: all members' bytes together may pass 4 GiB though none does.
    #[inline(always)]
    fn row(&self, place: usize) -> Range<u64> {
        match self.begins.is_empty() {
            true => self.each * place as u64..self.each * (place as u64 + 1),
            false => self.begins[place]..self.begins[place + 1],
        }
    }
    /// Returns a member's bytes.
    pub fn get(&self, place: usize) -> &[u8] {
        let row = self.row(place);
        &self.bytes[row.start as usize..row.end as usize]
    }
    /// Returns all bytes, member by member.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// A contradiction between the members' counts.
// Told and not raised: other members' results may be right, and each member fails in its own call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SizeMismatch {
    /// A step reaches to byte `needed` of a buffer of `length` bytes.
    Short {
        /// The buffer.
        buffer: Buffer,
        /// Bytes that it has.
        length: u64,
        /// Bytes that the step asks for.
        needed: u64,
    },
    /// A message has another size than its receiver expects.
    Mismatch {
        /// The member that sent it.
        from: u32,
        /// Bytes that it has.
        got: u64,
        /// Bytes that the receiver expects.
        expected: u64,
    },
    /// Nothing comes from a member that a message is expected from.
    Missing {
        /// The member that does not send.
        from: u32,
    },
}

/// `right = left op right` by a member (its number), on packed elements of equal length.
pub type Combine<'a> = dyn FnMut(u32, &[u8], &mut Vec<u8>) + 'a;

/// The position of a part of a member's buffer in the rows of that buffer.
// Looked up once a step: with small payloads the places of bytes cost more than the bytes.
#[derive(Clone, Copy)]
struct BufferRows {
    rows: usize,
    begin: usize,
    bytes: usize,
}

/// A message of the round: its size, and where its bytes begin if it carries any.
#[derive(Clone, Copy)]
struct RoundMessage {
    bytes: u64,
    payload: Option<usize>,
}

/// The index of the outputs among the rows of a [`DataPlane`].
const OUTPUT: usize = 1;

/// The data of one process's members on its way through the rounds.
pub struct DataPlane {
    segment: ProcessSegment,
    schedule: Rc<dyn Schedule>,
    round: u32,
    /// Inputs, outputs and working memory.
    rows: [Rows; 3],
    /// Messages to own members, and their bytes.
    mailbox: Mailbox<RoundMessage>,
    // Copied when sent, since a sender may write the same bytes in the local steps of the round.
    payloads: Vec<u8>,
    /// The processes whose records the round needs, once it has begun.
    expected: Option<Vec<u32>>,
    /// Records of other processes: round, process.
    inbox: Vec<(u32, u32, Vec<u8>)>,
    faults: Vec<(u32, SizeMismatch)>,
    /// Operands on their way.
    left: Vec<u8>,
    right: Vec<u8>,
}

impl DataPlane {
    /// Makes the data plane of own members with these contributions before the first round.
    pub fn new(
        segment: ProcessSegment,
        schedule: Rc<dyn Schedule>,
        members: &impl Members,
        input: Rows,
    ) -> DataPlane {
        let own = segment.own();
        let prototype = members.prototype();
        let scratch_of = |rank: u32| {
            let mut member = Member { rank, ..prototype.clone() };
            members.describe(&mut member);
            schedule.scratch(&member)
        };
        DataPlane {
            rows: [
                input,
                Rows::zeroed(own.clone().map(|rank| members.output(rank))),
                Rows::zeroed(own.clone().map(scratch_of)),
            ],
            mailbox: Mailbox::new(own.len()),
            segment,
            schedule,
            round: 0,
            payloads: Vec::new(),
            expected: None,
            inbox: Vec::new(),
            faults: Vec::new(),
            left: Vec::new(),
            right: Vec::new(),
        }
    }
    /// Delivers a record from another process.
    pub fn deliver(&mut self, round: u32, process: u32, record: Vec<u8>) {
        self.inbox.push((round, process, record));
    }
    /// Goes on as far as it can; whether all rounds are over. `records` gets what other processes are to be
    /// told: process, round, record.
    pub fn advance(
        &mut self,
        members: &impl Members,
        combine: &mut Combine,
        records: &mut Vec<(u32, u32, Vec<u8>)>,
    ) -> bool {
        while self.round < self.schedule.rounds() {
            if self.expected.is_none() {
                self.open_round(members, records);
            }
            let here = |process: &u32| {
                self.inbox.iter().any(|(round, from, _)| *round == self.round && from == process)
            };
            if !self.expected.as_ref().expect("opened above").iter().all(here) {
                return false;
            }
            self.close_round(members, combine);
            self.round += 1;
            self.expected = None;
        }
        true
    }
    /// Returns what each member gets, by place.
    pub fn output(&self) -> &Rows {
        &self.rows[OUTPUT]
    }
    /// Returns what each member gets, by place, and what they brought.
    pub fn into_rows(self) -> (Rows, Rows) {
        let [input, output, _] = self.rows;
        (output, input)
    }
    /// Returns the members whose counts contradict the others', each with the first thing that was wrong.
    pub fn faults(&self) -> &[(u32, SizeMismatch)] {
        &self.faults
    }

    // Sends of all members before any receive: what a round sends is what was there when it began.
    fn open_round(&mut self, members: &impl Members, records: &mut Vec<(u32, u32, Vec<u8>)>) {
        self.mailbox.clear();
        self.payloads.clear();
        // Records of earlier rounds are in the same list; those to one process must not be mixed.
        let first = records.len();
        let (mut member, mut steps, mut expected) = (members.prototype(), Vec::new(), Vec::new());
        for rank in self.segment.active(self.schedule.active(self.round)) {
            member.rank = rank;
            members.describe(&mut member);
            steps.clear();
            self.schedule.round(&member, self.round, &mut steps);
            for step in &steps {
                match *step {
                    Step::Send { to, from } => self
                        .send(rank, to, from, &mut records[..], first)
                        .into_iter()
                        .for_each(|record| records.push(record)),
                    Step::Receive { from, .. } if !self.segment.has(from) => {
                        let process = self.segment.process(from);
                        if !expected.contains(&process) {
                            expected.push(process);
                        }
                    }
                    _ => {}
                }
            }
        }
        self.expected = Some(expected);
    }

    /// Sends a message. Returns the first record of the round for a process, if it is that.
    fn send(
        &mut self,
        rank: u32,
        to: u32,
        from: Slice,
        records: &mut [(u32, u32, Vec<u8>)],
        first: usize,
    ) -> Option<(u32, u32, Vec<u8>)> {
        let carries = from.buffer != Buffer::Nothing && from.bytes != 0;
        let payload = carries.then(|| self.part(rank, from)).flatten();
        if self.segment.has(to) {
            let begin = self.payloads.len();
            if let Some(part) = payload {
                self.payloads.extend_from_slice(bytes_of(&self.rows, part));
            }
            self.mailbox.push(
                self.segment.place(to) as u32,
                rank,
                RoundMessage { bytes: from.bytes, payload: payload.map(|_| begin) },
            );
            return None;
        }
        let payload = payload.map(|part| bytes_of(&self.rows, part));
        let put = |out: &mut Vec<u8>| {
            out.u32(to);
            out.u32(rank);
            out.u64(from.bytes);
            out.u8(u8::from(payload.is_some()));
            if let Some(payload) = payload {
                out.bytes(payload);
            }
        };
        let process = self.segment.process(to);
        if let Some((.., record)) = records[first..].iter_mut().find(|(other, ..)| *other == process) {
            put(record);
            return None;
        }
        let mut record = Vec::new();
        put(&mut record);
        Some((process, self.round, record))
    }

    // The steps are made anew and not kept from the first half: they follow from the schedule, and keeping
    // them would take memory by messages.
    fn close_round(&mut self, members: &impl Members, combine: &mut Combine) {
        while let Some(at) = self.inbox.iter().position(|(round, ..)| *round == self.round) {
            let (.., record) = self.inbox.swap_remove(at);
            let mut record = Take(&record);
            while !record.is_empty() {
                let (to, from, bytes) = (record.u32(), record.u32(), record.u64());
                let payload = (record.u8() != 0).then(|| {
                    self.payloads.extend_from_slice(record.bytes());
                    self.payloads.len() - bytes as usize
                });
                self.mailbox.push(self.segment.place(to) as u32, from, RoundMessage { bytes, payload });
            }
        }
        let (mut member, mut steps) = (members.prototype(), Vec::new());
        for rank in self.segment.active(self.schedule.active(self.round)) {
            member.rank = rank;
            members.describe(&mut member);
            steps.clear();
            self.schedule.round(&member, self.round, &mut steps);
            for step in &steps {
                match *step {
                    Step::Send { .. } => {}
                    Step::Receive { from, into } => self.receive(rank, from, into),
                    Step::Copy { from, into } => self.copy(rank, from, into),
                    Step::ReduceLeft { from, into } => self.reduce(rank, (from, into), into, combine),
                    Step::ReduceRight { from, into } => self.reduce(rank, (into, from), into, combine),
                }
            }
        }
    }

    fn receive(&mut self, rank: u32, from: u32, into: Slice) {
        let Some(letter) = self.mailbox.take(self.segment.place(rank) as u32, from) else {
            return self.fault(rank, SizeMismatch::Missing { from });
        };
        if letter.bytes != into.bytes {
            self.fault(rank, SizeMismatch::Mismatch { from, got: letter.bytes, expected: into.bytes });
        }
        if let Some(begin) = letter.payload
            && let Some(into) = self.part(rank, into)
        {
            let bytes = into.bytes.min(letter.bytes as usize);
            write(&mut self.rows, into)[..bytes].copy_from_slice(&self.payloads[begin..begin + bytes]);
        }
    }
    fn copy(&mut self, rank: u32, from: Slice, into: Slice) {
        let (Some(from), Some(into)) = (self.part(rank, from), self.part(rank, into)) else { return };
        self.left.clear();
        self.left.extend_from_slice(bytes_of(&self.rows, from));
        write(&mut self.rows, into).copy_from_slice(&self.left);
    }
    /// Computes `into = left op right`; `into` is one of the two.
    fn reduce(&mut self, rank: u32, (left, right): (Slice, Slice), into: Slice, combine: &mut Combine) {
        if into.bytes == 0 {
            return;
        }
        let is_left = into == left;
        let (Some(left), Some(right)) = (self.part(rank, left), self.part(rank, right)) else { return };
        // Both copied out: a function of the program may run in between, which must not see members' buffers.
        self.left.clear();
        self.left.extend_from_slice(bytes_of(&self.rows, left));
        self.right.clear();
        self.right.extend_from_slice(bytes_of(&self.rows, right));
        combine(rank, &self.left, &mut self.right);
        write(&mut self.rows, if is_left { left } else { right }).copy_from_slice(&self.right);
    }

    /// Returns where a slice of a member's buffer lies; none if it has less, which is its fault, or no buffer
    /// is meant.
    #[inline]
    fn part(&mut self, rank: u32, slice: Slice) -> Option<BufferRows> {
        let rows = match slice.buffer {
            Buffer::Input => 0,
            Buffer::Output => OUTPUT,
            Buffer::Scratch => 2,
            Buffer::Nothing => return None,
        };
        let row = self.rows[rows].row(self.segment.place(rank));
        let (length, needed) = (row.end - row.start, slice.offset + slice.bytes);
        if needed > length {
            self.fault(rank, SizeMismatch::Short { buffer: slice.buffer, length, needed });
            return None;
        }
        Some(BufferRows { rows, begin: (row.start + slice.offset) as usize, bytes: slice.bytes as usize })
    }
    // One a member: what follows from the first would only hide it.
    #[cold]
    fn fault(&mut self, rank: u32, fault: SizeMismatch) {
        if self.faults.iter().all(|(other, _)| *other != rank) {
            self.faults.push((rank, fault));
        }
    }
}

#[inline]
fn bytes_of(rows: &[Rows; 3], part: BufferRows) -> &[u8] {
    &rows[part.rows].bytes[part.begin..part.begin + part.bytes]
}
// Contributions are never written: no schedule has a step that does.
#[inline]
fn write(rows: &mut [Rows; 3], part: BufferRows) -> &mut [u8] {
    &mut rows[part.rows].bytes[part.begin..part.begin + part.bytes]
}

#[cfg(test)]
mod tests;
