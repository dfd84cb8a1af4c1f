//! Little data, copied as a whole.
//!
//! For a few lines, finding out what was written takes longer than copying everything: 10 ns
//! for 500 bytes. That costs the data's size for each rank; of many ranks only the difference from the
//! initial values is kept.

use super::{Private, early};
use crate::arena::Arena;
use crate::lines::{self, LINE, Line};
use crate::now::NOBODY;
use crate::templates::{DIFFERENCES_FROM, Templates};

/// Most bytes of private data, and most common bytes among them.
const MAX_PRIVATE_BYTES: usize = 2048;
const MAX_COMMON_BYTES: usize = 128;

/// A stretch of data: whole lines, then a tail.
struct DataRun {
    address: usize,
    lines: usize,
    tail: usize,
}

/// Returns where the data is, if it is one stretch of whole lines.
fn single(runs: &[DataRun]) -> Option<usize> {
    match runs {
        [run] if run.tail == 0 => Some(run.address),
        _ => None,
    }
}

/// Private globals, copied whole.
pub(crate) struct Whole {
    runs: Vec<DataRun>,
    /// Bytes of a saved rank.
    bytes: usize,
    template: Vec<u8>,
    arena: Arena,
    /// Each rank's record; 0 until it is first parked.
    records: Vec<u32>,
    in_place: u32,
    /// Common variables inside the runs, kept as they are.
    common: Vec<(usize, usize)>,
    kept: Vec<u8>,
    copy: lines::Copy,
    /// The data's address, if it is one stretch of whole lines and all private: then it is kept and put in
    /// place at once.
    plain: Option<usize>,
    swap: lines::Exchange,
    differences: Option<Box<Differences>>,
}

/// For many ranks only the difference is kept.
struct Differences {
    templates: Templates,
    /// The runs one behind the other, on their way in or out.
    values: Box<[Line]>,
    /// The data itself, if it is one stretch of whole lines: then nothing is on its way.
    direct: Option<*mut u32>,
}

impl Differences {
    fn new(values: Box<[Line]>, runs: &[DataRun], common: &[(usize, usize)]) -> Differences {
        let mut own: Box<[u16]> = vec![u16::MAX; values.len()].into();
        let in_lanes =
            |&address: &usize| common.iter().all(|(at, len)| (at - address) % 4 == 0 && len % 4 == 0);
        let direct = single(runs).filter(in_lanes);
        if let Some(address) = direct {
            for lane in common.iter().flat_map(|(at, len)| (at - address) / 4..(at - address + len) / 4) {
                own[lane * 4 / LINE] &= !(1 << (lane % (LINE / 4)));
            }
        }
        Differences {
            templates: Templates::of(&values, own),
            values,
            direct: direct.map(|address| address as *mut u32),
        }
    }
    /// Returns where the values are while their rank is in place.
    #[inline]
    fn live(&mut self) -> *mut u32 {
        self.direct.unwrap_or(self.values.as_mut_ptr().cast())
    }
}

impl Whole {
    /// Returns `true` if this way suits.
    pub(crate) fn suits(private: &Private) -> bool {
        let common: usize = private.shared_parts().map(|part| part.len()).sum();
        private.bytes() <= MAX_PRIVATE_BYTES && common <= MAX_COMMON_BYTES
    }

    /// Takes the initial values; to be called before any code of the program runs.
    pub(crate) fn new(private: &Private, ranks: u32) -> Result<Whole, String> {
        let runs: Vec<DataRun> = private
            .regions
            .iter()
            .map(|r| DataRun {
                address: r.range.start,
                lines: r.range.len() / LINE,
                tail: r.range.len() % LINE,
            })
            .collect();
        let bytes = runs.iter().map(|run| run.lines * LINE + run.tail.next_multiple_of(LINE)).sum::<usize>();
        let mut whole = Whole {
            bytes,
            template: Vec::with_capacity(bytes),
            arena: Arena::new(
                (bytes + LINE) * (ranks as usize + 1),
                if ranks < DIFFERENCES_FROM { LINE } else { 16 },
            )?,
            records: vec![0; ranks as usize],
            in_place: NOBODY,
            common: private.shared_parts().map(|part| (part.start, part.len())).collect(),
            kept: Vec::new(),
            copy: lines::copy(),
            plain: None,
            swap: lines::exchange(),
            runs,
            differences: None,
        };
        for region in &private.regions {
            whole.template.extend(early::initial(region.range.start..region.zero));
            let zero = (region.range.end - region.zero) + region.range.len().wrapping_neg() % LINE;
            whole.template.extend(std::iter::repeat_n(0, zero));
        }
        assert_eq!(whole.template.len(), bytes, "the template has the records' layout");
        whole.plain = single(&whole.runs).filter(|_| whole.common.is_empty());
        if ranks >= DIFFERENCES_FROM {
            let words = |line: &[u8; LINE]| {
                std::array::from_fn(|word| {
                    u32::from_ne_bytes(std::array::from_fn(|byte| line[word * 4 + byte]))
                })
            };
            let values: Box<[Line]> =
                whole.template.as_chunks().0.iter().map(|line| Line(words(line))).collect();
            whole.differences = Some(Box::new(Differences::new(values, &whole.runs, &whole.common)));
        }
        Ok(whole)
    }

    #[inline]
    fn save_to(&self, mut to: *mut u8) {
        for run in &self.runs {
            // SAFETY: runs are the program's data; `to` has `bytes` bytes, counted the same way.
            unsafe {
                (self.copy)(run.address as *const u8, to, run.lines);
                to = to.add(run.lines * LINE);
                if run.tail != 0 {
                    std::ptr::copy_nonoverlapping(
                        (run.address + run.lines * LINE) as *const u8,
                        to,
                        run.tail,
                    );
                    to = to.add(LINE);
                }
            }
        }
    }

    #[inline]
    fn load_from(&self, mut from: *const u8) {
        for run in &self.runs {
            // SAFETY: as in `save_to`, the other way.
            unsafe {
                (self.copy)(from, run.address as *mut u8, run.lines);
                from = from.add(run.lines * LINE);
                if run.tail != 0 {
                    std::ptr::copy_nonoverlapping(
                        from,
                        (run.address + run.lines * LINE) as *mut u8,
                        run.tail,
                    );
                    from = from.add(LINE);
                }
            }
        }
    }

    /// Puts the rank's globals in place.
    #[inline]
    pub(crate) fn mount(&mut self, rank: u32) {
        if self.in_place != rank {
            self.exchange(rank);
        }
    }

    #[inline(never)]
    fn exchange(&mut self, rank: u32) {
        if let Some(mut differences) = self.differences.take() {
            if self.in_place == NOBODY {
                differences.templates.forget();
            } else {
                self.park(&mut differences);
            }
            self.put(rank, &mut differences);
            self.differences = Some(differences);
            return;
        }
        let record = self.records[rank as usize];
        let from = if record == 0 { self.template.as_ptr() } else { self.arena.address(record) as *const u8 };
        if self.in_place != NOBODY {
            let mut record = self.records[self.in_place as usize];
            if record == 0 {
                record = self.arena.take(self.bytes);
                self.records[self.in_place as usize] = record;
            }
            let to = self.arena.address(record) as *mut u8;
            if let Some(live) = self.plain {
                // SAFETY: the program's data, as many lines of it as a record has, and the records of two
                // ranks.
                unsafe { (self.swap)(live as *mut u8, to, from, self.bytes / LINE) };
                self.in_place = rank;
                return;
            }
            self.save_to(to);
        }
        self.set(rank, from);
    }

    #[inline]
    fn set(&mut self, rank: u32, from: *const u8) {
        if self.common.is_empty() {
            self.load_from(from);
        } else {
            self.load_around_common(from);
        }
        self.in_place = rank;
    }

    /// Keeps the difference of whoever is in place.
    #[inline]
    fn park(&mut self, differences: &mut Differences) {
        let (live, lines) = (differences.live(), differences.values.len());
        if differences.direct.is_none() {
            self.save_to(live.cast());
        }
        let templates = &mut differences.templates;
        // SAFETY: whole lines of values.
        let bytes = unsafe { templates.find(live, lines) };
        let record = &mut self.records[self.in_place as usize];
        let old = if *record == 0 {
            0
        } else {
            // SAFETY: a live record holds a difference, marked with its units.
            u32::from(unsafe { Templates::mark(self.arena.address(*record) as *const u8) })
        };
        // SAFETY: nobody ran since.
        let units = if unsafe { templates.is_first(live) } { 0 } else { self.arena.units(bytes) };
        if old != units {
            if old != 0 {
                self.arena.give_back_units(std::mem::take(record), old);
            }
            if units != 0 {
                *record = self.arena.take(bytes);
            }
        }
        if units != 0 {
            // SAFETY: a record of that many bytes, at most 133 units of it; nobody ran since.
            unsafe { templates.keep(live, units as u16, self.arena.address(*record) as *mut u8) };
        }
    }

    #[inline]
    fn put(&mut self, rank: u32, differences: &mut Differences) {
        let (live, lines, record) =
            (differences.live(), differences.values.len(), self.records[rank as usize]);
        let templates = &mut differences.templates;
        if record == 0 {
            // SAFETY: as many lines of values, which nobody changed since the last were saved, or they were
            // forgotten.
            unsafe { templates.load_first(live) };
        } else {
            // SAFETY: as above, and a record of as many lines.
            unsafe { templates.load(live, lines, self.arena.address(record) as *const u8) };
        }
        if differences.direct.is_none() {
            self.set(rank, live.cast());
        }
        self.in_place = rank;
    }

    fn load_around_common(&mut self, from: *const u8) {
        self.kept.clear();
        for &(at, len) in &self.common {
            // SAFETY: part of a run.
            self.kept.extend_from_slice(unsafe { std::slice::from_raw_parts(at as *const u8, len) });
        }
        self.load_from(from);
        let mut kept = self.kept.as_ptr();
        for &(at, len) in &self.common {
            // SAFETY: the same parts, in the same order and length as kept above.
            unsafe {
                std::ptr::copy_nonoverlapping(kept, at as *mut u8, len);
                kept = kept.add(len);
            }
        }
    }

    /// Frees the record of a rank that has ended; what it leaves in memory is nobody's.
    pub(crate) fn ended(&mut self, rank: u32) {
        if self.in_place == rank {
            self.in_place = NOBODY;
        }
        let record = self.records[rank as usize];
        if record != 0 {
            // Not written where it is zero already: memory that nobody touched stays none.
            self.records[rank as usize] = 0;
            if self.differences.is_some() {
                // SAFETY: a live record holds a difference, marked with its units.
                let units = unsafe { Templates::mark(self.arena.address(record) as *const u8) };
                self.arena.give_back_units(record, u32::from(units));
            } else {
                self.arena.give_back(record, self.arena.class(self.bytes));
            }
        }
    }

    /// Brings into the cache where `prefetch` looks.
    #[inline]
    pub(crate) fn prefetch_place(&self, rank: u32) {
        if let Some(record) = self.records.get(rank as usize) {
            crate::prefetch::prefetch(std::ptr::from_ref(record) as usize);
        }
    }

    /// Brings what mounting the rank will read into the cache.
    #[inline]
    pub(crate) fn prefetch(&self, rank: u32) {
        let record = self.records[rank as usize];
        if record != 0 {
            let at = self.arena.address(record);
            crate::prefetch::prefetch(at);
            if self.differences.is_none() {
                for line in 1..(self.bytes / LINE).min(8) {
                    crate::prefetch::prefetch(at + line * LINE);
                }
            }
        }
    }

    /// Returns the bytes of saved globals.
    pub(crate) fn saved_bytes(&self) -> usize {
        self.arena.used()
    }
}
