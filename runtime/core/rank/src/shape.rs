//! The shape that saved memory of one kind has in common: a template, and the lanes of four bytes in which it
//! may differ from that.
//!
//! Ranks that block in the same call differ in the same few words. A shape names these once for all of them.
//! To see if memory is of that shape takes one pass of a few instructions a line; to save or restore it
//! copies so many words.
//!
//! ```text
//!   head  shape   the lanes
//!   u16   u16     u32 each
//! ```

use crate::delta::{self, Lines, MemoryDelta};
use crate::lines::{Fits, LINE, Line};

const LANES: usize = LINE / 4;
/// Changes from other shapes that a shape learns.
const CHANGES: usize = 4;
/// No shape.
pub(crate) const NONE: u16 = u16::MAX;

/// A template, and which lanes may differ from it.
pub(crate) struct TemplateMask {
    /// Number of the template.
    pub(crate) template: u16,
    /// Saved memory that is kept in this shape.
    pub(crate) users: u32,
    /// The lines with lanes that may differ.
    pub(crate) dirty: Lines,
    /// For each line, those lanes.
    masks: Box<[u16]>,
    fixed: Box<[Line]>,
    /// The lanes that may differ, in order, and the words of eight bytes that have them.
    lanes: Box<[u16]>,
    words: Box<[MaskedWord]>,
    /// Steps that make memory of another shape equal to the template, by that shape.
    changes: Vec<(u16, Box<[TemplatePatch]>)>,
}

/// Eight bytes that change when a template takes the place of memory of another shape.
#[derive(Clone, Copy)]
pub(crate) struct TemplatePatch {
    /// The offset in bytes.
    at: u16,
    /// The bits that stay as they are, and the others.
    stays: u64,
    value: u64,
}

/// Eight bytes of which some are kept. They are written as a whole: what is read soon after comes from the
/// one store.
#[derive(Clone, Copy)]
struct MaskedWord {
    /// Offset in the memory, in bytes.
    at: u16,
    /// Offset of its lanes in the saved data, in bytes.
    from: u16,
    /// Bits below the first of its lanes.
    shift: u32,
    /// The bits that stay as they are.
    stays: u64,
}

impl TemplateMask {
    /// Builds it with the lanes that `masks` has for each line; `own` are the lanes that count at all, or
    /// nothing if all do.
    pub(crate) fn new(template: u16, masks: Box<[u16]>, own: &[u16]) -> TemplateMask {
        let is_set = |mask: u16, lane: usize| mask >> lane & 1 != 0;
        let fixed = |(line, &mask): (usize, &u16)| {
            Line(std::array::from_fn(
                |lane| if is_set(own_lanes(own, line) & !mask, lane) { u32::MAX } else { 0 },
            ))
        };
        let lanes: Box<[u16]> = (0..masks.len() * LANES)
            .filter(|lane| is_set(masks[lane / LANES], lane % LANES))
            .map(|lane| lane as u16)
            .collect();
        let mut words: Vec<MaskedWord> = Vec::new();
        for (index, lane) in lanes.iter().enumerate() {
            let (at, half) = (lane / 2 * 8, 0xffff_ffff << (lane % 2 * 32));
            match words.last_mut() {
                Some(word) if word.at == at => word.stays &= !half,
                _ => words.push(MaskedWord {
                    at,
                    from: index as u16 * 4,
                    shift: u32::from(lane % 2) * 32,
                    stays: !half,
                }),
            }
        }
        let mut dirty = [0; delta::GROUPS];
        for line in (0..masks.len()).filter(|&line| masks[line] != 0) {
            dirty[line / delta::GROUP] |= 1 << (line % delta::GROUP);
        }
        let fixed = masks.iter().enumerate().map(fixed).collect();
        TemplateMask {
            template,
            users: 0,
            dirty,
            fixed,
            lanes,
            words: words.into(),
            masks,
            changes: Vec::new(),
        }
    }

    /// Returns how memory of this shape, and so of the first template, becomes as the second.
    pub(crate) fn change_to(
        &self,
        [own_template, template]: [&[Line]; 2],
        own: &[u16],
    ) -> Box<[TemplatePatch]> {
        let mut steps = Vec::new();
        for (line, &mask) in self.masks.iter().enumerate() {
            let [before, after] = [own_template, template].map(|template| template[line].0);
            let changes = |lane: usize| {
                (own_lanes(own, line) & mask) >> lane & 1 != 0
                    || own_lanes(own, line) >> lane & 1 != 0 && before[lane] != after[lane]
            };
            for lane in (0..LANES).step_by(2) {
                let half = |lane: usize| if changes(lane) { u32::MAX } else { 0 };
                let both = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
                let stays = !both(half(lane), half(lane + 1));
                if stays != u64::MAX {
                    let value = both(after[lane], after[lane + 1]) & !stays;
                    steps.push(TemplatePatch { at: (line * LINE + lane * 4) as u16, stays, value });
                }
            }
        }
        steps.into()
    }

    /// Returns `true` if another change can be learnt.
    pub(crate) fn can_learn(&self) -> bool {
        self.changes.len() < CHANGES
    }

    /// Adds the steps that make memory of shape `from` equal to this shape's template.
    pub(crate) fn learn(&mut self, from: u16, change: Box<[TemplatePatch]>) {
        self.changes.push((from, change));
    }

    /// Shapes and templates are made anew.
    pub(crate) fn forget_changes(&mut self) {
        self.changes.clear();
    }

    /// Puts the template in place of memory of another shape; whether it was learnt how.
    ///
    /// # Safety
    /// As many lines as the shape has, of memory of that shape.
    #[inline]
    pub(crate) unsafe fn change(&self, from: u16, memory: *mut u32) -> bool {
        let Some((_, change)) = self.changes.iter().find(|(known, _)| *known == from) else { return false };
        for step in change {
            // SAFETY: words are inside the lines (the contract).
            unsafe { replace(memory, step.at, step.stays, step.value) };
        }
        true
    }

    /// Returns the lanes of each line in which this shape's memory may differ, or memory that differs in what
    /// was found.
    pub(crate) fn with(masks: Option<&TemplateMask>, found: &MemoryDelta, lines: usize) -> Box<[u16]> {
        let mut masks: Box<[u16]> = masks.map_or_else(|| vec![0; lines].into(), |shape| shape.masks.clone());
        for (line, mask) in found.lines() {
            masks[line] |= mask;
        }
        masks
    }

    /// Returns the bytes that memory with these lanes takes.
    pub(crate) fn bytes_of(masks: &[u16]) -> usize {
        4 + 4 * masks.iter().map(|mask| mask.count_ones() as usize).sum::<usize>()
    }

    /// Returns the bytes that memory of this shape takes.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        4 + 4 * self.lanes.len()
    }

    /// Returns `true` if memory that differs in what was found is of this shape.
    pub(crate) fn has(&self, found: &MemoryDelta) -> bool {
        found.lines().all(|(line, mask)| mask & !self.masks[line] == 0)
    }

    /// Returns `true` if memory is of this shape.
    ///
    /// # Safety
    /// As many lines as the shape has at both addresses.
    #[inline]
    pub(crate) unsafe fn fits(&self, fits: Fits, memory: *const u32, template: *const Line) -> bool {
        // SAFETY: the contract; there is a fixed line for each.
        unsafe { fits(memory.cast(), template, self.fixed.as_ptr(), self.fixed.len()) }
    }

    /// Returns `true` if memory of this shape is as the template.
    ///
    /// # Safety
    /// As many lines as the shape has at both addresses.
    #[inline]
    pub(crate) unsafe fn is_template(&self, memory: *const u32, template: *const Line) -> bool {
        let template = template.cast::<u32>();
        // SAFETY: lanes are inside the lines (the contract).
        self.lanes.iter().all(|&lane| unsafe {
            memory.add(lane as usize).read_unaligned() == *template.add(lane as usize)
        })
    }

    /// Writes the record of memory of this shape, which begins with `head`.
    ///
    /// # Safety
    /// As many lines as the shape has, and as many writable bytes at `to` as it takes.
    #[inline]
    pub(crate) unsafe fn keep(&self, memory: *const u32, head: u32, to: *mut u8) {
        // SAFETY: lanes are inside the lines, and the record has as many (the contract).
        unsafe {
            let mut to = to.cast::<u32>();
            to.write(head);
            for &lane in &self.lanes {
                to = to.add(1);
                to.write(memory.add(lane as usize).read_unaligned());
            }
        }
    }

    /// Puts the lanes of a record in place.
    ///
    /// # Safety
    /// As many lines as the shape has; `record` was kept with this shape, and [`delta::BEYOND`] bytes behind
    /// it are readable.
    #[inline]
    pub(crate) unsafe fn put(&self, memory: *mut u32, record: *const u8) {
        for word in &self.words {
            // SAFETY: words are inside the lines; at most four bytes are read behind the record (the
            // contract).
            unsafe {
                let value = record.add(4 + word.from as usize).cast::<u64>().read_unaligned() << word.shift;
                replace(memory, word.at, word.stays, value & !word.stays);
            }
        }
    }
}

/// Returns the lanes of a line that count at all.
fn own_lanes(own: &[u16], line: usize) -> u16 {
    own.get(line).copied().unwrap_or(u16::MAX)
}

/// Writes the bits of `value` over those of the eight bytes at `at` that do not stay.
///
/// # Safety
/// Eight bytes are there.
#[inline(always)]
unsafe fn replace(memory: *mut u32, at: u16, stays: u64, value: u64) {
    // SAFETY: the contract.
    unsafe {
        let place = memory.cast::<u8>().add(at as usize).cast::<u64>();
        place.write_unaligned(place.read_unaligned() & stays | value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines;

    #[test]
    fn memory_of_a_shape_is_recognised_kept_and_put_back() {
        let mut random = lines::random_words(11);
        for round in 0..200 {
            let lines = 1 + random() as usize % 20;
            let sparse = |random: &mut dyn FnMut() -> u32| (random() & random() & random()) as u16;
            let own: Box<[u16]> =
                if round % 2 == 0 { [].into() } else { (0..lines).map(|_| !sparse(&mut random)).collect() };
            let counts = |line: usize| own_lanes(&own, line);
            let masks: Box<[u16]> = (0..lines).map(|line| sparse(&mut random) & counts(line)).collect();
            let template: Vec<Line> = (0..lines).map(|_| Line(std::array::from_fn(|_| random()))).collect();
            let shape = TemplateMask::new(0, masks.clone(), &own);
            assert_eq!(shape.bytes(), TemplateMask::bytes_of(&masks));
            let mut memory = template.clone();
            for (line, mask) in masks.iter().enumerate() {
                for lane in (0..LANES).filter(|lane| (mask | !counts(line)) >> lane & 1 != 0) {
                    memory[line].0[lane] = random();
                }
            }
            let mut record = vec![0xdead_beef_u32; shape.bytes() / 4 + delta::BEYOND / 4];
            let mut again = template.clone();
            let foreign = |line: usize, lane: usize| counts(line) >> lane & 1 == 0;
            // SAFETY: as many lines each, and a record of as many bytes.
            unsafe {
                shape.keep(memory.as_ptr().cast(), 5, record.as_mut_ptr().cast());
                shape.put(again.as_mut_ptr().cast(), record.as_ptr().cast());
            }
            assert!(
                record[shape.bytes() / 4..].iter().all(|&word| word == 0xdead_beef),
                "nothing is written behind the record"
            );
            for (line, lane) in (0..lines).flat_map(|line| (0..LANES).map(move |lane| (line, lane))) {
                let right = if foreign(line, lane) { &template } else { &memory };
                assert_eq!(again[line].0[lane], right[line].0[lane], "line {line}, lane {lane}");
            }
            for fits in lines::all_fits() {
                // SAFETY: as many lines each.
                assert!(unsafe { shape.fits(fits, memory.as_ptr().cast(), template.as_ptr()) });
                for (line, lane) in (0..lines).flat_map(|line| (0..LANES).map(move |lane| (line, lane))) {
                    let before = std::mem::replace(&mut memory[line].0[lane], !template[line].0[lane]);
                    let may = foreign(line, lane) || masks[line] >> lane & 1 != 0;
                    // SAFETY: as many lines each.
                    let found = unsafe { shape.fits(fits, memory.as_ptr().cast(), template.as_ptr()) };
                    assert_eq!(found, may, "line {line}, lane {lane}");
                    memory[line].0[lane] = before;
                }
            }
        }
    }
}
