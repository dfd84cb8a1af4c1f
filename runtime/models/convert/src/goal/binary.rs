//! GOAL's binary form, which LogGOPSim reads and `txt2bin` and schedgen write (`Parser.hpp` of LogGOPSim
//! 1.1): what the text says, without labels.
//!
//! All numbers are little-endian. Eight bytes of a cookie; the ranks in four, the greatest processor and
//! interface in one each; for each rank where its block begins and ends, eight bytes each, counted from
//! behind the cookie. A block is the number of operations and of those that wait for nothing, the numbers of
//! the latter, the operations, and lists of numbers of operations, four bytes each.
//!
//! An operation has 39 bytes, packed: the number of others that it waits for (4), its kind (1), the other
//! rank (4), bytes or nanoseconds (8), the tag (4), processor and interface (1 each). Then come the number of
//! those that wait for its end and where in the lists they are (4 each), and the same of its beginning.

use super::export::Output;
use super::import::{check_acyclic, most_nanoseconds};
use ::goal::{ANY_TAG, ExecutionUnit, GoalGraph, Operations, Work};
use engine::record::Take;
use std::io::{Read, Seek, SeekFrom, Write};

/// Cookie at the beginning of a file.
const COOKIE: u64 = 4223;
/// Cookie that LogGOPSim writes instead when it has used a file up (`--save-mem`).
const USED_UP: u64 = 2342;
/// Bytes of the cookie, and of what stands before the table of blocks.
const BEGIN: u64 = 8;
const HEAD: u64 = BEGIN + 4 + 2;
/// Bytes of an operation.
const OPERATION: u64 = 39;
/// Any rank, any tag.
const ANY: u32 = u32::MAX;

/// Returns `true` if a file that begins so is one of these.
pub fn is_binary(begin: &[u8]) -> bool {
    let cookie = begin.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    matches!(cookie, Some(COOKIE | USED_UP))
}

/// Reads the graph of a file.
pub fn graph(from: impl Read + Seek) -> Result<GoalGraph, String> {
    Binary::open(from)?.graph()
}

/// Returns an error at a byte of the file.
fn at(byte: u64, why: &str) -> String {
    format!("byte {byte}: {why}")
}

/// A file whose head makes sense.
struct Binary<R> {
    from: R,
    ranks: u32,
    length: u64,
}

impl<R: Read + Seek> Binary<R> {
    // The table of blocks must be there before anything is made for so many ranks: what is in memory goes by
    // the length of the file.
    fn open(mut from: R) -> Result<Binary<R>, String> {
        let length =
            from.seek(SeekFrom::End(0)).map_err(|why| at(0, &format!("it cannot be read: {why}")))?;
        let mut file = Binary { from, ranks: 0, length };
        let head = file.part(0, HEAD, "the head")?;
        let mut head = Take(&head);
        match head.u64() {
            COOKIE => {}
            USED_UP => return Err(at(0, "LogGOPSim has used the file up (--save-mem): make it again")),
            other => return Err(at(0, &format!("{other} stands where {COOKIE} should"))),
        }
        file.ranks = head.u32();
        if file.ranks == 0 || file.ranks >= 1 << 31 {
            return Err(at(BEGIN, &format!("there are {} ranks: 1 to 2^31 - 1 can be", file.ranks)));
        }
        if HEAD + 16 * u64::from(file.ranks) > length {
            return Err(at(
                BEGIN,
                &format!(
                    "there are {} ranks, and the file of {length} bytes ends before their blocks do",
                    file.ranks
                ),
            ));
        }
        Ok(file)
    }

    /// Reads a part of the file, which is called `what` in errors.
    fn part(&mut self, begin: u64, length: u64, what: &str) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let read = self
            .from
            .seek(SeekFrom::Start(begin))
            .and_then(|_| (&mut self.from).take(length).read_to_end(&mut bytes));
        read.map_err(|why| at(begin, &format!("{what} cannot be read: {why}")))?;
        if bytes.len() as u64 == length {
            Ok(bytes)
        } else {
            Err(at(begin + bytes.len() as u64, &format!("the file ends within {what}")))
        }
    }

    // Blocks come one behind the other, as everybody writes them. A block that many ranks name would be read
    // as often.
    fn graph(&mut self) -> Result<GoalGraph, String> {
        let mut free = HEAD + 16 * u64::from(self.ranks);
        let mut blocks = Vec::new();
        for rank in 0..self.ranks {
            let entry = HEAD + 16 * u64::from(rank);
            let table = self.part(entry, 16, "the table of blocks")?;
            let mut table = Take(&table);
            let [begin, end] = [table.u64(), table.u64()].map(|place| place.checked_add(BEGIN));
            let (begin, end) = match (begin, end) {
                (Some(begin), Some(end)) if free <= begin && begin <= end && end <= self.length => {
                    (begin, end)
                }
                _ => {
                    return Err(at(
                        entry,
                        &format!("the block of rank {rank} is not behind the one before and within the file"),
                    ));
                }
            };
            free = end;
            let block = self.part(begin, end - begin, &format!("the block of rank {rank}"))?;
            let operations = operations(&block, begin, self.ranks)?;
            check_acyclic(rank, &operations).map_err(|why| at(begin, &why))?;
            blocks.push((rank, operations));
        }
        Ok(GoalGraph { ranks: self.ranks, blocks })
    }
}

/// Reads the operations of a block that begins at byte `begin`.
fn operations(block: &[u8], begin: u64, ranks: u32) -> Result<Operations, String> {
    let length = block.len() as u64;
    if length < 8 {
        return Err(at(begin, &format!("a block of {length} bytes has no numbers of operations")));
    }
    let mut fields = Take(block);
    let (count, free) = (u64::from(fields.u32()), u64::from(fields.u32()));
    let lists = 8 + 4 * free + OPERATION * count;
    if lists > length {
        return Err(at(
            begin,
            &format!(
                "{count} operations, of which {free} wait for nothing, are not in a block of {length} bytes"
            ),
        ));
    }
    // LogGOPSim begins with these; they follow from the rest.
    fields.slice(4 * free as usize);
    let (first, lists) = (begin + lists, &block[lists as usize..]);
    let (mut found, mut missing) = (Operations::default(), Vec::new());
    for number in 0..count as u32 {
        let byte = begin + length - fields.0.len() as u64;
        missing.push((byte, fields.u32()));
        let (work, unit) = work(&mut fields, ranks).map_err(|why| at(byte, &why))?;
        found.works.push(work);
        found.units.push(unit);
        for starts in [false, true] {
            let (many, place) = (fields.u32() as usize, fields.u32() as usize);
            let list = if many == 0 { Some(&[][..]) } else { lists.get(4 * place..4 * (place + many)) };
            let list = list.ok_or_else(|| {
                at(byte, &format!("{many} operations from number {place} on are not in the lists"))
            })?;
            for (place, later) in (place..).zip(list.chunks_exact(4)) {
                let later = Take(later).u32();
                if u64::from(later) >= count {
                    return Err(at(
                        first + 4 * place as u64,
                        &format!("operation {later} is not one of {count}"),
                    ));
                }
                found.edges.push((later, number, starts));
            }
            // Lists that several operations name would be as many edges as there are of both together.
            if found.edges.len() as u64 > length / 4 {
                return Err(at(byte, "operations name the same part of the lists"));
            }
        }
    }
    for &(later, ..) in &found.edges {
        let left = &mut missing[later as usize];
        left.1 = left
            .1
            .checked_sub(1)
            .ok_or_else(|| at(left.0, "more operations name this one than it waits for"))?;
    }
    match missing.iter().find(|(_, left)| *left > 0) {
        Some((byte, left)) => Err(at(*byte, &format!("the operation waits for {left} more than name it"))),
        None => Ok(found),
    }
}

/// Returns what an operation does, and its processor and interface, behind what it waits for.
fn work(fields: &mut Take, ranks: u32) -> Result<(Work, ExecutionUnit), String> {
    let (kind, peer, size, tag) = (fields.u8(), fields.u32(), fields.u64(), fields.u32());
    let unit = ExecutionUnit { cpu: fields.u8(), nic: fields.u8() };
    if kind == 3 {
        return most_nanoseconds(size).map(|()| (Work::Calculate(size), unit));
    }
    let sends = match kind {
        1 => true,
        2 => false,
        other => return Err(format!("{other} is no kind of operation: 1 sends, 2 receives, 3 computes")),
    };
    if peer >= ranks && (sends || peer != ANY) {
        return Err(format!("rank {peer} is not one of {ranks}"));
    }
    if size >= 1 << 62 {
        return Err(format!("a message of {size} bytes is longer than 2^62"));
    }
    let work = match i32::try_from(tag) {
        Ok(tag) if sends => Work::Send { bytes: size, to: peer as i32, tag },
        Ok(tag) => Work::Receive { bytes: size, from: peer as i32, tag },
        Err(_) if !sends && tag == ANY => Work::Receive { bytes: size, from: peer as i32, tag: ANY_TAG },
        Err(_) => return Err(format!("tag {tag} is above 2^31 - 1")),
    };
    Ok((work, unit))
}

/// A file that is written.
pub struct Blocks<W> {
    out: W,
    /// Begin and end of each block, counted from behind the cookie.
    table: Vec<u64>,
    end: u64,
}

impl<W: Write + Seek> Blocks<W> {
    /// Writes the head, with room for the table.
    pub fn begin(mut out: W, ranks: u32) -> std::io::Result<Blocks<W>> {
        out.write_all(&COOKIE.to_le_bytes())?;
        out.write_all(&ranks.to_le_bytes())?;
        // Processor and interface number 0 are the greatest.
        out.write_all(&[0; 2])?;
        let table = 16 * u64::from(ranks);
        std::io::copy(&mut std::io::repeat(0).take(table), &mut out)?;
        Ok(Blocks { out, table: Vec::new(), end: HEAD - BEGIN + table })
    }
}

impl<W: Write + Seek> Output for Blocks<W> {
    fn block(&mut self, _: u32, operations: &Operations) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        block(operations, &mut bytes);
        self.out.write_all(&bytes)?;
        let end = self.end + bytes.len() as u64;
        self.table.extend([self.end, end]);
        self.end = end;
        Ok(())
    }

    fn end(&mut self) -> std::io::Result<()> {
        self.out.seek(SeekFrom::Start(HEAD))?;
        self.table.iter().try_for_each(|place| self.out.write_all(&place.to_le_bytes()))?;
        self.out.flush()
    }
}

/// Writes a rank's operations, from the numbers on.
fn block(operations: &Operations, out: &mut Vec<u8>) {
    let count = operations.works.len();
    let mut awaited = vec![0u32; count];
    let mut lists = vec![[Vec::new(), Vec::new()]; count];
    for &(later, earlier, starts) in &operations.edges {
        awaited[later as usize] += 1;
        lists[earlier as usize][usize::from(starts)].push(later);
    }
    let mut put = |number: u32| out.extend_from_slice(&number.to_le_bytes());
    put(count as u32);
    put(awaited.iter().filter(|&&awaited| awaited == 0).count() as u32);
    (0..).zip(&awaited).filter(|(_, awaited)| **awaited == 0).for_each(|(number, _)| put(number));
    let mut place = 0u32;
    for ((work, awaited), lists) in operations.works.iter().zip(awaited).zip(&lists) {
        let (kind, peer, size, tag) = match *work {
            Work::Send { bytes, to, tag } => (1, to as u32, bytes, tag as u32),
            // Any rank is -1 in both.
            Work::Receive { bytes, from, tag } => {
                (2, from as u32, bytes, if tag == ANY_TAG { ANY } else { tag as u32 })
            }
            Work::Calculate(time) => (3, 0, time, 0),
        };
        out.extend_from_slice(&awaited.to_le_bytes());
        out.push(kind);
        out.extend_from_slice(&peer.to_le_bytes());
        out.extend_from_slice(&size.to_le_bytes());
        out.extend_from_slice(&tag.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        for list in lists {
            out.extend_from_slice(&(list.len() as u32).to_le_bytes());
            out.extend_from_slice(&place.to_le_bytes());
            place += list.len() as u32;
        }
    }
    lists.iter().flatten().flatten().for_each(|later| out.extend_from_slice(&later.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// Returns one rank of `ranks` with these operations, behind a table for all of them.
    fn file(ranks: u32, operations: &Operations) -> Vec<u8> {
        let mut out = Cursor::new(Vec::new());
        let mut blocks = Blocks::begin(&mut out, ranks).unwrap();
        blocks.block(0, operations).unwrap();
        (1..ranks).for_each(|rank| blocks.block(rank, &Operations::default()).unwrap());
        blocks.end().unwrap();
        out.into_inner()
    }

    fn example() -> Operations {
        let works = vec![
            Work::Receive { bytes: 10, from: -1, tag: ANY_TAG },
            Work::Calculate(5),
            Work::Send { bytes: 7, to: 1, tag: 3 },
            Work::Receive { bytes: 8, from: 1, tag: 4 },
        ];
        Operations { works, edges: vec![(1, 0, false), (2, 1, false), (2, 0, true)], ..Operations::default() }
    }

    #[test]
    fn a_file_has_the_layout_of_loggopsim() {
        // By hand, from `Graph::serialize_mmap`: a receive of 9 bytes from rank 1 with tag 2, and 4 ns of
        // computation behind it.
        let operations = Operations {
            works: vec![Work::Receive { bytes: 9, from: 1, tag: 2 }, Work::Calculate(4)],
            edges: vec![(1, 0, false)],
            ..Operations::default()
        };
        let mut expected = vec![0x7f, 0x10, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0];
        for place in [38u64, 38 + 12 + 78 + 4, 132, 140] {
            expected.extend(place.to_le_bytes());
        }
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        expected.extend(words(&[2, 1, 0]));
        for (awaited, kind, peer, size, tag, lists) in
            [(0u32, 2u8, 1u32, 9u64, 2u32, [1, 0, 0, 1]), (1, 3, 0, 4, 0, [0, 1, 0, 1])]
        {
            expected.extend(awaited.to_le_bytes());
            expected.push(kind);
            expected.extend(peer.to_le_bytes());
            expected.extend(size.to_le_bytes());
            expected.extend(tag.to_le_bytes());
            expected.extend([0, 0]);
            expected.extend(words(&lists));
        }
        // The list, and the second rank, which does nothing.
        expected.extend(words(&[1, 0, 0]));
        assert_eq!(file(2, &operations), expected);
    }

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = Vec::new();
        block(&example(), &mut bytes);
        let mut read = operations(&bytes, 0, 2).unwrap();
        assert_eq!(read.works, example().works);
        read.edges.sort_unstable();
        let mut edges = example().edges;
        edges.sort_unstable();
        assert_eq!(read.edges, edges);
        assert_eq!(super::graph(Cursor::new(file(2, &example()))).unwrap().ranks, 2);
    }

    /// Changes the bytes of a file and checks that it is refused with a sentence that has these parts.
    #[track_caller]
    fn refused(change: impl Fn(&mut Vec<u8>), parts: &[&str]) {
        let mut bytes = file(2, &example());
        change(&mut bytes);
        let error =
            super::graph(Cursor::new(bytes)).err().unwrap_or_else(|| panic!("{parts:?} is not refused"));
        parts.iter().for_each(|part| assert!(error.contains(part), "'{part}' is missing: {error}"));
    }

    #[test]
    fn numbers_that_lie_are_refused_with_their_byte() {
        let put = |at: usize, number: u32| {
            move |bytes: &mut Vec<u8>| bytes[at..at + 4].copy_from_slice(&number.to_le_bytes())
        };
        // The head has 14 bytes, the table 32; the block has two numbers and two that wait for nothing, then
        // operations of 39 bytes.
        let (block, first) = (46, 46 + 16);
        refused(put(0, 2342), &["byte 0", "used the file up"]);
        refused(put(8, 0), &["byte 8", "0 ranks"]);
        refused(put(8, 1 << 30), &["byte 8", "before their blocks"]);
        refused(put(14, 0), &["byte 14", "the block of rank 0"]);
        refused(put(22, 1 << 20), &["byte 14", "within the file"]);
        refused(put(30, 40), &["byte 30", "the block of rank 1 is not behind"]);
        refused(put(block, u32::MAX), &["byte 46", "4294967295 operations"]);
        refused(put(block + 4, u32::MAX), &["byte 46", "4294967295 wait for nothing"]);
        refused(put(first + 39, 7), &["byte 101", "waits for 6 more"]);
        refused(put(first + 39, 0), &["byte 101", "more operations name this one"]);
        refused(|bytes| bytes[first + 4] = 9, &["byte 62", "9 is no kind"]);
        refused(put(first + 78 + 5, 2), &["byte 140", "rank 2 is not one of 2"]);
        refused(put(first + 78 + 17, u32::MAX), &["byte 140", "tag 4294967295"]);
        refused(put(first + 23, 100), &["byte 62", "not in the lists"]);
        refused(put(first + 27, u32::MAX), &["byte 62", "not in the lists"]);
        let lists = first + 4 * 39;
        refused(put(lists, 4), &["operation 4 is not one of 4"]);
        refused(|bytes| bytes.truncate(40), &["byte 8"]);
        // The second waits for the first, which waits for the second.
        let works = vec![Work::Calculate(1); 2];
        let error = super::graph(Cursor::new(file(
            1,
            &Operations { works, edges: vec![(0, 1, false), (1, 0, false)], ..Operations::default() },
        )))
        .unwrap_err();
        assert!(error.contains("byte 30") && error.contains("wait for each other"), "{error}");
    }

    #[test]
    fn a_file_that_is_cut_or_changed_anywhere_is_read_or_refused() {
        let bytes = file(2, &example());
        for at in 0..bytes.len() {
            assert!(super::graph(Cursor::new(&bytes[..at])).is_err(), "cut at {at}");
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = value;
                if let Err(why) = super::graph(Cursor::new(&changed)) {
                    assert!(why.contains("byte") || why.contains("time"), "{why}");
                }
            }
        }
    }
}
