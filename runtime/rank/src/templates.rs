//! The memory that saved memory is a difference from: stacks, and globals.
//!
//! For each length there are a few: ranks that wait in different places, or in different rounds of a loop, can have stacks of
//! one length. When the usual one fits badly another is tried, or the stack at hand becomes one; one that no saved stack
//! refers to any more is used again.

use crate::delta::{self, Found, Kernels};
use crate::lines::LINE;

/// From this many ranks on, memory counts more than the last nanoseconds.
pub(crate) const DIFFERENCES_FROM: u32 = 100_000;
/// Differences of at most this many bytes are good enough, whatever else there may be.
const GOOD: usize = 32;
/// Templates of one length.
const EACH: usize = 16;
/// What changing the template must save.
const WORTH: usize = 16;
/// Stacks after which looking for a better template, which was in vain, is tried again.
const LONGEST_WAIT: u32 = 1 << 12;
/// Stacks within which looking again in vain means that nothing fits better.
const RECENT: u32 = 8;
/// The same after it was found.
const AGAIN: u32 = 7;

/// A line where the processor's lines begin: loads and stores that straddle two take twice as long.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) [u32; LINE / 4]);

struct Template {
    stack: Box<[Line]>,
    /// Saved stacks that are differences from it.
    users: u32,
}

/// The templates of one length.
struct Length {
    numbers: Vec<u16>,
    /// Differences of at most this many bytes are good enough: no template did better lately.
    good: usize,
    /// So many stacks ago, subtracted from `RECENT`, looking for a better template was in vain.
    in_vain: u32,
    /// Stacks until it is tried again whether less will do.
    lasting: u32,
    /// The one tried first, and the one that was before: stacks of two kinds often come in turn.
    usual: u16,
    other: u16,
    /// Stacks that are saved before a better template is looked for, now and the next time.
    wait: u32,
    next_wait: u32,
}

impl Default for Length {
    fn default() -> Length {
        Length { numbers: Vec::new(), good: GOOD, in_vain: 0, lasting: 0, usual: 0, other: 0, wait: 0, next_wait: 0 }
    }
}

/// All templates, and the means to use them.
pub(crate) struct Templates {
    all: Vec<Template>,
    lengths: Vec<Length>,
    /// The lanes of each line that count; empty if all do.
    own: Box<[u16]>,
    /// The bits of a difference's head that are the template's number.
    numbers: u16,
    /// How the memory in place differs from template `number`, and room for what another comparison finds.
    found: Box<Found>,
    spare: Box<Found>,
    number: u16,
    /// Lines of the memory in place, if it still is as `found` says; else 0.
    known: usize,
    kernels: Kernels,
}

/// A difference from the first template in nothing.
static NOTHING: [u16; NOTHING_LEN] = [0; NOTHING_LEN];
const NOTHING_LEN: usize = 1 + delta::MOST / 16 + 1 + delta::BEYOND / 2;

/// How far to the left of a difference's head the caller's mark is, in templates of memory of one length.
const MARK: u32 = EACH.ilog2();

impl Templates {
    pub(crate) fn new() -> Templates {
        let lengths = (0..=delta::MOST).map(|_| Length::default()).collect();
        let (found, spare) = (Box::new(Found::none()), Box::new(Found::none()));
        Templates {
            all: Vec::new(),
            lengths,
            own: [].into(),
            numbers: u16::MAX,
            found,
            spare,
            number: 0,
            known: 0,
            kernels: delta::kernels::<true>(),
        }
    }

    /// With a first template that stays, for memory of one length of which these lanes count.
    pub(crate) fn of(first: &[Line], own: Box<[u16]>) -> Templates {
        let kernels = delta::kernels::<false>();
        let mut templates = Templates { own, numbers: (1 << MARK) - 1, kernels, ..Templates::new() };
        templates.all.push(Template { stack: first.into(), users: 1 });
        templates.lengths[first.len()].numbers.push(0);
        templates
    }

    /// Nothing is known any more of the memory in place.
    #[inline]
    pub(crate) fn forget(&mut self) {
        self.known = 0;
    }

    /// Whether the memory found last is as the first template.
    #[inline]
    pub(crate) fn is_first(&self) -> bool {
        self.number == 0 && self.found.is_nothing()
    }

    /// Finds a template for the memory of `lines` lines at `live`; the bytes of the difference.
    ///
    /// # Safety
    /// So many lines are readable.
    #[inline]
    pub(crate) unsafe fn find(&mut self, live: *const u32, lines: usize) -> usize {
        self.known = lines;
        self.number = self.lengths[lines].usual;
        if self.lengths[lines].numbers.is_empty() {
            // SAFETY: the contract.
            unsafe { self.add(live, lines) };
        }
        // SAFETY: the contract; the usual template of a length is of this length.
        let bytes = unsafe { self.compare(live, lines, self.number) };
        let length = &mut self.lengths[lines];
        if bytes <= length.good {
            (length.in_vain, length.next_wait) = (length.in_vain.saturating_sub(1), 0);
            length.lasting = match length.lasting.checked_sub(1) {
                Some(lasting) => lasting,
                None => {
                    length.good = GOOD;
                    LONGEST_WAIT
                }
            };
            return bytes;
        }
        // SAFETY: the contract.
        unsafe { self.search(live, lines, bytes) }
    }

    /// Compares with a template: into `found`.
    ///
    /// # Safety
    /// So many lines are readable, and the template has as many.
    #[inline]
    unsafe fn compare(&mut self, live: *const u32, lines: usize, number: u16) -> usize {
        let template = self.all[number as usize].stack.as_ptr().cast();
        // SAFETY: the contract; there is a number of lanes for each line.
        unsafe { (self.kernels.compare)(live, template, self.own.as_ptr(), lines, &mut self.found) };
        self.found.bytes()
    }

    /// Compares with another template, and takes that if the difference is shorter by what is worth it.
    ///
    /// # Safety
    /// As for `compare`.
    unsafe fn try_other(&mut self, live: *const u32, lines: usize, number: u16, bytes: usize) -> Option<usize> {
        std::mem::swap(&mut self.found, &mut self.spare);
        // SAFETY: the contract.
        let less = unsafe { self.compare(live, lines, number) };
        if less + WORTH <= bytes {
            self.number = number;
            return Some(less);
        }
        std::mem::swap(&mut self.found, &mut self.spare);
        None
    }

    /// The usual template fits badly, with a difference of so many bytes.
    ///
    /// # Safety
    /// As for `find`.
    #[inline(never)]
    unsafe fn search(&mut self, live: *const u32, lines: usize, mut bytes: usize) -> usize {
        let Length { usual, other, wait, good, .. } = self.lengths[lines];
        if other != usual && self.all[other as usize].stack.len() == lines && wait & 1 == 0 {
            // SAFETY: the contract; it is of this length.
            if let Some(less) = unsafe { self.try_other(live, lines, other, bytes) } {
                (self.lengths[lines].usual, self.lengths[lines].other) = (other, usual);
                bytes = less;
            }
        }
        if bytes > good {
            let length = &mut self.lengths[lines];
            match length.wait.checked_sub(1) {
                Some(wait) => length.wait = wait,
                // SAFETY: the contract.
                None => bytes = unsafe { self.better(live, lines, bytes) },
            }
        }
        bytes
    }

    /// A template that fits better than one that makes the difference this long; maybe the stack itself.
    ///
    /// # Safety
    /// As for `find`.
    #[cold]
    unsafe fn better(&mut self, live: *const u32, lines: usize, bytes: usize) -> usize {
        let mut least = bytes;
        for at in 0..self.lengths[lines].numbers.len() {
            let number = self.lengths[lines].numbers[at];
            // SAFETY: the contract; it is of this length.
            least = unsafe { self.try_other(live, lines, number, least) }.unwrap_or(least);
        }
        let length = &mut self.lengths[lines];
        if least < bytes {
            // Looking through all costs as much as some stacks that fit badly.
            (length.other, length.usual) = (length.usual, self.number);
            (length.wait, length.next_wait) = (AGAIN, AGAIN);
            return least;
        }
        if length.in_vain != 0 {
            // Not even the template that was made of the last one fits better: so different they are.
            (length.good, length.lasting, length.wait) = (bytes, LONGEST_WAIT, 0);
            return bytes;
        }
        length.in_vain = RECENT;
        length.wait = length.next_wait;
        length.next_wait = (length.next_wait * 2 + 1).min(LONGEST_WAIT);
        // SAFETY: the contract.
        unsafe {
            self.add(live, lines);
            self.compare(live, lines, self.number)
        }
    }

    /// Makes the stack a template and the usual one, if there is room; its number, or the usual one's, is taken.
    ///
    /// # Safety
    /// As for `find`.
    #[cold]
    unsafe fn add(&mut self, live: *const u32, lines: usize) {
        // SAFETY: the contract.
        let line = |line| Line(unsafe { live.cast::<[u32; LINE / 4]>().add(line).read_unaligned() });
        let stack: Box<[Line]> = (0..lines).map(line).collect();
        let length = &mut self.lengths[lines];
        if let Some(&unused) = length.numbers.iter().find(|&&number| self.all[number as usize].users == 0) {
            self.all[unused as usize].stack = stack;
            length.usual = unused;
        } else if length.numbers.len() < EACH {
            length.usual = self.all.len() as u16;
            length.numbers.push(length.usual);
            self.all.push(Template { stack, users: 0 });
        }
        self.number = length.usual;
    }

    /// Writes the difference that was found last of the memory at `live`; `mark` is the caller's.
    ///
    /// # Safety
    /// The memory is as it was found; so many bytes as were found are writable at `to`.
    #[inline]
    pub(crate) unsafe fn keep(&mut self, live: *const u32, mark: u16, to: *mut u8) {
        self.all[self.number as usize].users += 1;
        let head = if self.numbers == u16::MAX { self.number } else { self.number | mark << MARK };
        // SAFETY: the contract.
        unsafe { (self.kernels.keep)(live, &self.found, head, to) };
    }

    /// The mark of a difference, which had at most 12 bits.
    ///
    /// # Safety
    /// A difference at `record`, of memory of one length.
    #[inline]
    pub(crate) unsafe fn mark(record: *const u8) -> u16 {
        // SAFETY: the contract.
        unsafe { delta::head_of(record) >> MARK }
    }

    /// Puts saved memory in place, where it has not changed since something was found there last or that was forgotten.
    ///
    /// # Safety
    /// `record` was kept with this number of lines, which are writable at `live`, and [`delta::BEYOND`] bytes behind it are readable.
    #[inline]
    pub(crate) unsafe fn load(&mut self, live: *mut u32, lines: usize, record: *const u8) {
        // SAFETY: the contract.
        let number = unsafe { delta::head_of(record) } & self.numbers;
        self.all[number as usize].users -= 1;
        // SAFETY: the contract.
        unsafe { self.rebuild(live, lines, number, record) };
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

    /// # Safety
    /// As for `load`.
    #[inline]
    unsafe fn rebuild(&mut self, live: *mut u32, lines: usize, number: u16, record: *const u8) {
        let left = if self.known == lines && self.number == number { &self.found.dirty } else { &delta::ALL };
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
        let total = run(100, |round, rank| (0..LINES as u32 * 16).map(|word| if word == 40 { rank } else { round + word }).collect());
        assert!(total < 100 * 16, "{total} bytes");
    }

    #[test]
    fn two_kinds_of_ranks_have_a_template_each() {
        let total =
            run(3, |round, rank| (0..LINES as u32 * 16).map(|word| if word == 3 { rank + round } else { word * (rank % 2) }).collect());
        assert!(total < 100 * 24, "{total} bytes");
    }

    #[test]
    fn stacks_without_anything_in_common_are_kept_all_the_same() {
        run(20, |round, rank| (0..LINES as u32 * 16).map(|word| (word + 1).wrapping_mul(rank * 977 + round * 7919 + 1)).collect());
    }
}
