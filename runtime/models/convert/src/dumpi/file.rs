//! A file of one rank: the index at its end, and the records one after the other.

use super::layout::{Field, Function, Kind};
use std::io::{BufReader, Read, Seek, SeekFrom};

/// Magic number at the beginning of a file, and before its index.
const MAGIC: u64 = 0xffaa_dd44_554d_5049;
/// Magic number before the counts of calls.
const FOOTER: u64 = 0xf007_fee7;
/// The numbers behind those of functions: a function of the program begins, ends, and there are no more
/// records.
const FUNCTIONS: u16 = 290;
const END: u16 = 293;
/// The most numbers of one array.
const LONGEST: u32 = 1 << 24;
/// The most offsets of an index.
const OFFSETS: u64 = 7;

/// A source of bytes that can be read at any offset.
pub trait Source: Read + Seek {}
impl<T: Read + Seek> Source for T {}

/// Numbers, greatest byte first.
struct Bytes<'a> {
    from: BufReader<Box<dyn Source + 'a>>,
    at: u64,
}

/// Returns what is wrong at a byte.
fn wrong<T>(at: u64, why: impl std::fmt::Display) -> Result<T, String> {
    Err(format!("byte {at}: {why}"))
}

impl Bytes<'_> {
    #[inline]
    fn take<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut bytes = [0; N];
        match self.from.read_exact(&mut bytes) {
            Ok(()) => {
                self.at += N as u64;
                Ok(bytes)
            }
            Err(why) if why.kind() == std::io::ErrorKind::UnexpectedEof => {
                wrong(self.at, "the file ends within a record")
            }
            Err(why) => wrong(self.at, format!("it cannot be read: {why}")),
        }
    }

    fn byte(&mut self) -> Result<u8, String> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn short(&mut self) -> Result<u16, String> {
        self.take().map(u16::from_be_bytes)
    }

    fn int(&mut self) -> Result<u32, String> {
        self.take().map(u32::from_be_bytes)
    }

    fn long(&mut self) -> Result<u64, String> {
        self.take().map(u64::from_be_bytes)
    }

    /// Reads a number of so many bytes; 32 bits have a sign, as counts and ranks do.
    #[inline]
    fn number(&mut self, bytes: u8) -> Result<i64, String> {
        Ok(match bytes {
            1 => self.byte()?.into(),
            2 => self.short()?.into(),
            4 => (self.int()? as i32).into(),
            _ => self.long()? as i64,
        })
    }

    fn length(&mut self) -> Result<u32, String> {
        let at = self.at;
        let length = self.int()?;
        if length > LONGEST { wrong(at, format!("an array of {length} elements")) } else { Ok(length) }
    }

    fn skip(&mut self, bytes: u64) -> Result<(), String> {
        let at = self.at;
        let skipped = std::io::copy(&mut self.from.by_ref().take(bytes), &mut std::io::sink());
        match skipped {
            Ok(skipped) if skipped == bytes => {
                self.at += bytes;
                Ok(())
            }
            Ok(_) => wrong(at, format!("{bytes} bytes should follow, and the file ends")),
            Err(why) => wrong(at, format!("it cannot be read: {why}")),
        }
    }

    fn texts(&mut self, depth: u8) -> Result<(), String> {
        let length = self.length()?;
        match depth {
            1 => self.skip(length.into()),
            _ => (0..length).try_for_each(|_| self.texts(depth - 1)),
        }
    }

    fn to(&mut self, at: u64) -> Result<(), String> {
        self.at = self
            .from
            .seek(SeekFrom::Start(at))
            .map_err(|why| format!("byte {at}: it cannot be read: {why}"))?;
        Ok(())
    }
}

/// A call.
#[derive(Default, Debug)]
pub struct Record {
    /// The function's number.
    pub function: u16,
    /// Offset of the record in the file.
    pub at: u64,
    /// Wall times of its begin and end, in picoseconds since the time that the file begins with; `None` if
    /// the file has none.
    pub times: Option<(u64, u64)>,
    /// The arguments' numbers, one behind the other, and where those of each begin. A status has five: bytes,
    /// source, cancelled, error, tag.
    numbers: Vec<i64>,
    begins: Vec<usize>,
}

impl Record {
    /// Returns the numbers of an argument.
    pub fn numbers(&self, function: &Function, name: &str) -> &[i64] {
        let fields = function.fields.as_deref().unwrap_or(&[]);
        let Some(place) = fields.iter().position(|field| field.name == name) else { return &[] };
        let Some(&begin) = self.begins.get(place) else { return &[] };
        &self.numbers[begin..self.begins.get(place + 1).copied().unwrap_or(self.numbers.len())]
    }

    /// Returns an argument that is one number; 0 if it is not there.
    pub fn number(&self, function: &Function, name: &str) -> i64 {
        self.numbers(function, name).first().copied().unwrap_or(0)
    }
}

/// A file of one rank.
pub struct Rank<'a> {
    bytes: Bytes<'a>,
    version: [u8; 3],
    /// Offset of the records; the offset of the counts of calls follows, 0 if there are none.
    body: u64,
    footer: u64,
    /// Bytes of an element of each datatype, by its number.
    pub sizes: Vec<u32>,
}

impl<'a> Rank<'a> {
    /// Opens it.
    ///
    /// # Errors
    /// The byte, and what is wrong there.
    pub fn open(from: Box<dyn Source + 'a>) -> Result<Rank<'a>, String> {
        let mut bytes = Bytes { from: BufReader::with_capacity(1 << 16, from), at: 0 };
        let length = bytes.from.seek(SeekFrom::End(0)).map_err(|why| format!("it cannot be read: {why}"))?;
        bytes.to(0)?;
        if length < 8 || bytes.long()? != MAGIC {
            return wrong(0, "it is no file of DUMPI");
        }
        let mut offsets = Self::index(&mut bytes, length)?;
        let mut offset = || offsets.pop().unwrap_or(0);
        let (_, footer, body, header) = (offset(), offset(), offset(), offset());
        // What came later stands before it: labels of counters, addresses, sizes.
        let (_, _, sizes) = (offset(), offset(), offset());
        if let Some(outside) = [footer, body, header, sizes].into_iter().find(|&offset| offset >= length) {
            return wrong(
                length - 8,
                format!("the index tells of byte {outside}, behind the end of the file"),
            );
        }
        // An index that was cut looks like one of a version that had fewer offsets: only this tells them
        // apart.
        if footer > 0 {
            bytes.to(footer)?;
            if bytes.long()? != FOOTER {
                return wrong(footer, "counts of calls should stand here: the file was cut, or is damaged");
            }
        }
        let mut version = [0; 3];
        if header > 0 {
            bytes.to(header)?;
            version = bytes.take()?;
        }
        let mut all = Vec::new();
        if sizes > 0 {
            bytes.to(sizes)?;
            for _ in 0..bytes.length()? {
                all.push(bytes.int()?);
            }
        }
        Ok(Rank { bytes, version, body, footer, sizes: all })
    }

    /// Offsets of the parts, in the order of the file.
    fn index(bytes: &mut Bytes, length: u64) -> Result<Vec<u64>, String> {
        // Versions differ in how many there are: the same number as at the beginning stands before the first.
        for count in (4..=OFFSETS).rev() {
            let Some(at) = length.checked_sub(8 * (count + 1)).filter(|&at| at >= 8) else { continue };
            bytes.to(at)?;
            if bytes.long()? == MAGIC {
                return (0..count).map(|_| bytes.long()).collect();
            }
        }
        wrong(length, "the file has no index at its end: it was cut, or the program never finalized MPI")
    }

    /// Returns how often the rank called each function; empty if the file does not say it.
    ///
    /// # Errors
    /// The byte, and what is wrong there.
    pub fn counts(&mut self) -> Result<Vec<u32>, String> {
        if self.footer == 0 {
            return Ok(Vec::new());
        }
        self.bytes.to(self.footer)?;
        self.bytes.long()?;
        (0..=FUNCTIONS).map(|_| self.bytes.int()).collect()
    }

    /// Goes to the first record: behind the seconds that all times leave out.
    ///
    /// # Errors
    /// If the file cannot be read there.
    pub fn begin(&mut self) -> Result<(), String> {
        self.bytes.to(self.body)?;
        // Of processor times, and of wall times: only differences of one file count, which the bias does not
        // change.
        self.bytes.skip(8)
    }

    /// Reads the next record; whether there is one.
    ///
    /// # Errors
    /// The byte, and what is wrong there.
    pub fn next(&mut self, functions: &[Function], record: &mut Record) -> Result<bool, String> {
        loop {
            record.at = self.bytes.at;
            record.function = self.bytes.short()?;
            let is_call = record.function < FUNCTIONS;
            if record.function == END {
                return Ok(false);
            }
            if record.function > END || record.function == FUNCTIONS {
                return wrong(record.at, format!("no function has the number {}", record.function));
            }
            let mask = self.bytes.byte()?;
            self.head(mask, record)?;
            record.numbers.clear();
            record.begins.clear();
            if !is_call {
                // A function of the program begins or ends.
                self.bytes.skip(8)?;
                continue;
            }
            let function = &functions[usize::from(record.function)];
            let Some(fields) = &function.fields else {
                return wrong(
                    record.at,
                    format!("a record of MPI_{}, of which DUMPI writes none", function.name),
                );
            };
            for field in fields {
                record.begins.push(record.numbers.len());
                if !field.is_roots || Self::is_root(fields, record) {
                    self.field(field, mask, record)?;
                }
            }
            return Ok(true);
        }
    }

    /// Returns what stands before the arguments.
    fn head(&mut self, mask: u8, record: &mut Record) -> Result<(), String> {
        const CPU: u8 = 1 << 2;
        const WALL: u8 = 1 << 3;
        const THREAD: u8 = 1 << 6;
        const COUNTERS: u8 = 1 << 7;
        if mask & THREAD != 0 {
            self.bytes.short()?;
        }
        if mask & CPU != 0 {
            self.bytes.skip(12)?;
        }
        record.times = None;
        if mask & WALL != 0 {
            let mut time = || {
                let seconds = u64::from(self.bytes.short()?);
                Ok::<_, String>((seconds * 1_000_000_000 + u64::from(self.bytes.int()?)) * 1000)
            };
            record.times = Some((time()?, time()?));
        }
        if mask & COUNTERS != 0 {
            let counters = u64::from(self.bytes.byte()?);
            self.bytes.skip(16 * counters)?;
        }
        Ok(())
    }

    /// Returns `true` if the rank of a record is the root in it: both are told before.
    fn is_root(fields: &[Field], record: &Record) -> bool {
        let told = |names: &[&str]| {
            let place = fields.iter().position(|field| names.contains(&field.name))?;
            record.numbers.get(*record.begins.get(place)?).copied()
        };
        told(&["commrank", "oldcommrank"]) == told(&["root"])
    }

    fn field(&mut self, field: &Field, mask: u8, record: &mut Record) -> Result<(), String> {
        const STATUSES: u8 = 3;
        let bytes = &mut self.bytes;
        let kind = match field.kind {
            Kind::Since(since) if self.version < [0, 6, since] => Kind::Number(4),
            Kind::Since(_) => Kind::Numbers(4),
            kind => kind,
        };
        match kind {
            Kind::Number(size) => record.numbers.push(bytes.number(size)?),
            Kind::Numbers(size) => {
                for _ in 0..bytes.length()? {
                    record.numbers.push(bytes.number(size)?);
                }
            }
            Kind::Rows => {
                for _ in 0..bytes.length()? {
                    for _ in 0..bytes.length()? {
                        record.numbers.push(bytes.number(4)?);
                    }
                }
            }
            Kind::Texts(depth) => bytes.texts(depth)?,
            Kind::Arguments => {
                let count = bytes.length()?;
                if self.version < [0, 6, 2] {
                    bytes.int()?;
                }
                (0..count).try_for_each(|_| bytes.texts(1))?;
            }
            Kind::Statuses if mask & STATUSES != 0 => {
                for _ in 0..bytes.length()? {
                    let status = [bytes.number(4)?, bytes.number(4)?, bytes.number(1)?, bytes.number(1)?];
                    record.numbers.extend(status);
                    record.numbers.push(if self.version < [0, 6, 3] { -1 } else { bytes.number(4)? });
                }
            }
            Kind::Statuses => {}
            Kind::Since(_) => unreachable!("it was decided above"),
        }
        Ok(())
    }
}
