//! The memory that saved memory is a difference from: stacks, and globals.
//!
//! For each length there are a few: ranks that wait in different places, or in different rounds of a loop,
//! can have stacks of one length. When the usual one fits badly another is tried, or the stack at hand
//! becomes one; one that no saved stack refers to any more is used again.
//!
//! Differences from a template are mostly in the same few lanes: these make a shape, and only memory of no
//! shape is compared lane by lane.

mod length;
mod search;
mod shaping;

use crate::delta::{self, Kernels, MemoryDelta};
use crate::lines::{self, Fits, Line};
use crate::shape::{NONE, TemplateMask};
use length::LengthTemplates;

/// From this many ranks on, memory counts more than the last nanoseconds.
pub(crate) const DIFFERENCES_FROM: u32 = 100_000;
/// Differences of at most this many bytes are good enough, whatever else there may be.
const GOOD: usize = 32;
/// Templates of one length.
const EACH: usize = 16;
/// Stacks after which looking for a better template, which failed, is tried again.
const LONGEST_WAIT: u32 = 1 << 12;

struct StackTemplate {
    stack: Box<[Line]>,
    /// Saved stacks that are differences from it and of no shape.
    users: u32,
    /// The shape that was made last of what differs from it.
    shape: u16,
}

/// All templates, and the means to use them.
pub(crate) struct Templates {
    all: Vec<StackTemplate>,
    lengths: Vec<LengthTemplates>,
    shapes: Vec<TemplateMask>,
    /// The lanes of each line that count; empty if all do.
    own: Box<[u16]>,
    /// The bits of a difference's head that are the template's number.
    numbers: u16,
    /// The template of the memory in place, and its shape.
    number: u16,
    shape: u16,
    /// Difference of the memory in place if it has no shape, and a spare for another comparison.
    found: Box<MemoryDelta>,
    spare: Box<MemoryDelta>,
    /// Lines of the memory in place, if it still is as it was found; else 0.
    known: usize,
    kernels: Kernels,
    fits: Fits,
}

/// A difference from the first template in nothing.
static NOTHING: [u16; NOTHING_LEN] = [0; NOTHING_LEN];
const NOTHING_LEN: usize = 1 + delta::MAX_LINES / 16 + 1 + delta::BEYOND / 2;

/// The bit of a record's head that says that it is of a shape, whose number follows.
const SHAPED: u16 = 1 << 15;
/// Position of the caller's mark in a record's head, in bits, for templates of memory of one length.
const MARK: u32 = EACH.ilog2();

impl Templates {
    pub(crate) fn new() -> Templates {
        let lengths = (0..=delta::MAX_LINES).map(|_| LengthTemplates::default()).collect();
        let (found, spare) = (Box::new(MemoryDelta::none()), Box::new(MemoryDelta::none()));
        Templates {
            all: Vec::new(),
            lengths,
            shapes: Vec::new(),
            own: [].into(),
            numbers: !SHAPED,
            found,
            spare,
            number: 0,
            shape: NONE,
            known: 0,
            kernels: delta::kernels::<true>(),
            fits: lines::fits(),
        }
    }

    /// Builds it with a first template that stays, for memory of one length of which these lanes count.
    pub(crate) fn of(first: &[Line], own: Box<[u16]>) -> Templates {
        let kernels = delta::kernels::<false>();
        let mut templates = Templates { own, numbers: (1 << MARK) - 1, kernels, ..Templates::new() };
        templates.all.push(StackTemplate { stack: first.into(), users: 1, shape: NONE });
        templates.lengths[first.len()].numbers.push(0);
        templates
    }

    /// Forgets all that is known of the mounted memory.
    #[inline]
    pub(crate) fn forget(&mut self) {
        self.known = 0;
    }

    /// Returns `true` if the memory found last, which is at `live`, is as the first template.
    ///
    /// # Safety
    /// It is as it was found.
    #[inline]
    pub(crate) unsafe fn is_first(&self, live: *const u32) -> bool {
        self.number == 0
            && match self.shapes.get(self.shape as usize) {
                // SAFETY: the contract; the template has the shape's lines.
                Some(shape) => unsafe { shape.is_template(live, self.all[0].stack.as_ptr()) },
                None => self.found.is_nothing(),
            }
    }

    /// Finds a template for the memory of `lines` lines at `live`; the bytes of the difference.
    ///
    /// # Safety
    /// So many lines are readable.
    #[inline]
    pub(crate) unsafe fn find(&mut self, live: *const u32, lines: usize) -> usize {
        self.known = lines;
        let LengthTemplates { shape, good, in_vain, next_wait, next_shape_wait, .. } = self.lengths[lines];
        // SAFETY: the contract.
        if let Some(bytes) = unsafe { self.fitting(live, shape, good) } {
            if in_vain | next_wait | next_shape_wait != 0 || good != GOOD {
                self.lengths[lines].was_good();
            }
            return bytes;
        }
        // SAFETY: the contract.
        unsafe { self.find_otherwise(live, lines) }
    }

    /// Takes a shape of this length if the memory is of it; its bytes.
    ///
    /// # Safety
    /// As for `find`.
    #[inline]
    unsafe fn fitting(&mut self, live: *const u32, number: u16, good: usize) -> Option<usize> {
        let shape = self.shapes.get(number as usize)?;
        let template = self.all[shape.template as usize].stack.as_ptr();
        // SAFETY: the contract; the template has as many lines as its shapes.
        if shape.bytes() > good || !unsafe { shape.fits(self.fits, live, template) } {
            return None;
        }
        (self.shape, self.number) = (number, shape.template);
        Some(shape.bytes())
    }

    /// Finds a template for memory that is not of the usual shape.
    ///
    /// # Safety
    /// As for `find`.
    #[inline(never)]
    unsafe fn find_otherwise(&mut self, live: *const u32, lines: usize) -> usize {
        let LengthTemplates { other_shape, good, .. } = self.lengths[lines];
        // SAFETY: the contract.
        if let Some(bytes) = unsafe { self.fitting(live, other_shape, good) } {
            self.lengths[lines].prefer_shape(other_shape);
            self.lengths[lines].was_good();
            return bytes;
        }
        self.shape = NONE;
        if self.lengths[lines].numbers.is_empty() {
            // SAFETY: the contract.
            unsafe { self.add(live, lines) };
        }
        self.number = self.lengths[lines].usual;
        // SAFETY: the contract; the usual template of a length is of this length.
        let mut bytes = unsafe { self.compare(live, lines, self.number) };
        if bytes <= self.lengths[lines].good {
            self.lengths[lines].was_good();
        } else {
            // SAFETY: the contract.
            bytes = unsafe { self.search(live, lines, bytes) };
        }
        // What fits badly shall not shape what fits.
        if bytes > self.lengths[lines].good { bytes } else { self.shape_of_found(lines).unwrap_or(bytes) }
    }

    /// Writes the difference that was found last of the memory at `live`; `mark` is the caller's.
    ///
    /// # Safety
    /// The memory is as it was found; so many bytes as were found are writable at `to`.
    #[inline]
    pub(crate) unsafe fn keep(&mut self, live: *const u32, mark: u16, to: *mut u8) {
        if let Some(shape) = self.shapes.get_mut(self.shape as usize) {
            shape.users += 1;
            let head = u32::from(SHAPED | mark << MARK) | u32::from(self.shape) << 16;
            // SAFETY: the contract.
            return unsafe { shape.keep(live, head, to) };
        }
        self.all[self.number as usize].users += 1;
        // SAFETY: the contract.
        unsafe { (self.kernels.keep)(live, &self.found, self.number | mark << MARK, to) };
    }

    /// Returns the mark of a record, which had at most 11 bits.
    ///
    /// # Safety
    /// A record at `record`, of memory of one length.
    #[inline]
    pub(crate) unsafe fn mark(record: *const u8) -> u16 {
        // SAFETY: the contract.
        (unsafe { delta::head_of(record) } & !SHAPED) >> MARK
    }

    /// Puts saved memory in place, where it has not changed since something was found there last or that was
    /// forgotten.
    ///
    /// # Safety
    /// `record` was kept with this number of lines, which are writable at `live`, and [`delta::BEYOND`] bytes
    /// behind it are readable.
    #[inline]
    pub(crate) unsafe fn load(&mut self, live: *mut u32, lines: usize, record: *const u8) {
        // SAFETY: the contract.
        let head = unsafe { delta::head_of(record) };
        if head & SHAPED == 0 {
            let number = head & self.numbers;
            self.all[number as usize].users -= 1;
            // SAFETY: the contract.
            return unsafe { self.rebuild(live, lines, number, record) };
        }
        // SAFETY: a number follows (the contract).
        let number = unsafe { record.cast::<u16>().add(1).read() };
        let shape = &mut self.shapes[number as usize];
        shape.users -= 1;
        let is_known = self.known == lines;
        // SAFETY: the contract; what is in place is of that shape, if it is known.
        if !is_known || self.shape != number && !unsafe { shape.change(self.shape, live) } {
            let template = shape.template;
            // SAFETY: the contract; nothing differs from the template.
            unsafe { self.rebuild(live, lines, template, NOTHING.as_ptr().cast()) };
            if is_known {
                self.learn_change(number);
            }
        }
        self.known = 0;
        // SAFETY: the contract; but for the lanes of the shape, the memory is as the template.
        unsafe { self.shapes[number as usize].put(live, record) };
    }

    /// Puts the first template in place, under the same conditions.
    ///
    /// # Safety
    /// As many lines as it has are writable at `live`.
    #[inline]
    pub(crate) unsafe fn load_first(&mut self, live: *mut u32) {
        // SAFETY: the contract; no group of the longest difference has a line in it.
        unsafe { self.rebuild(live, self.all[0].stack.len(), 0, NOTHING.as_ptr().cast()) };
    }

    /// Rebuilds lines from a record.
    ///
    /// # Safety
    /// As for `load`.
    #[inline]
    unsafe fn rebuild(&mut self, live: *mut u32, lines: usize, number: u16, record: *const u8) {
        let left = match self.shapes.get(self.shape as usize) {
            _ if self.known != lines || self.number != number => &delta::ALL,
            Some(shape) => &shape.dirty,
            None => &self.found.dirty,
        };
        let template = self.all[number as usize].stack.as_ptr().cast();
        // SAFETY: the contract; the template has as many lines, and there is a number of lanes for each.
        unsafe { (self.kernels.rebuild)(live, template, self.own.as_ptr(), lines, record, left) };
        self.known = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: usize = 8;

    /// Saves and loads stacks of ranks in turn; the bytes of the last round's records.
    fn run(rounds: u32, stack: impl Fn(u32, u32) -> Vec<u32>) -> usize {
        let (mut templates, mut live) = (Templates::new(), vec![0u32; LINES * 16]);
        let mut records: Vec<Vec<u32>> = vec![Vec::new(); 100];
        let mut total = 0;
        for round in 0..rounds {
            total = 0;
            for (rank, record) in records.iter_mut().enumerate() {
                if round > 0 {
                    // SAFETY: a record of as many lines; nothing has changed since the last was found.
                    unsafe { templates.load(live.as_mut_ptr(), LINES, record.as_ptr().cast()) };
                    assert!(live == stack(round - 1, rank as u32), "round {round}, rank {rank}");
                }
                live.copy_from_slice(&stack(round, rank as u32));
                // SAFETY: as many lines, and a record of as many bytes.
                unsafe {
                    let bytes = templates.find(live.as_ptr(), LINES);
                    record.resize((bytes + delta::BEYOND) / 4, 0);
                    templates.keep(live.as_ptr(), 0, record.as_mut_ptr().cast());
                    total += bytes;
                }
            }
        }
        assert!(templates.all.len() <= EACH);
        total
    }

    #[test]
    fn stacks_of_a_loop_are_small_in_every_round() {
        let total = run(100, |round, rank| {
            (0..LINES as u32 * 16).map(|word| if word == 40 { rank } else { round + word }).collect()
        });
        assert!(total < 100 * 16, "{total} bytes");
    }

    #[test]
    fn two_kinds_of_ranks_have_a_template_each() {
        let total = run(3, |round, rank| {
            (0..LINES as u32 * 16)
                .map(|word| if word == 3 { rank + round } else { word * (rank % 2) })
                .collect()
        });
        assert!(total < 100 * 24, "{total} bytes");
    }

    #[test]
    fn stacks_that_come_back_every_second_round_are_small() {
        let stack = |round: u32, rank: u32| -> Vec<u32> {
            (0..LINES as u32 * 16)
                .map(|word| if word % 50 == 3 { rank * word } else { word * (1 + round % 2) })
                .collect()
        };
        let total = run(40, stack);
        assert!(total <= 100 * 16, "{total} bytes");
    }

    #[test]
    fn stacks_without_anything_in_common_are_kept_all_the_same() {
        run(20, |round, rank| {
            (0..LINES as u32 * 16)
                .map(|word| (word + 1).wrapping_mul(rank * 977 + round * 7919 + 1))
                .collect()
        });
    }
}
