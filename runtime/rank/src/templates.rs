//! The memory that saved memory is a difference from: stacks, and globals.
//!
//! For each length there are a few: ranks that wait in different places, or in different rounds of a loop, can have stacks of
//! one length. When the usual one fits badly another is tried, or the stack at hand becomes one; one that no saved stack
//! refers to any more is used again.

use crate::delta::{self, Dirty};
use crate::lines::LINE;

/// From this many ranks on, memory counts more than the last nanoseconds.
pub(crate) const DIFFERENCES_FROM: u32 = 100_000;
/// Differences of at most this many bytes are good enough.
const GOOD: usize = 32;
/// Templates of one length.
const EACH: usize = 16;
/// What changing the template must save.
const WORTH: usize = 16;
/// Stacks after which looking for a better template, which was in vain, is tried again.
const LONGEST_WAIT: u32 = 1 << 12;
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
#[derive(Default)]
struct Length {
    numbers: Vec<u16>,
    /// The one tried first, and the one that was before: stacks of two kinds often come in turn.
    usual: u16,
    other: u16,
    /// Stacks that are saved before a better template is looked for, now and the next time.
    wait: u32,
    next_wait: u32,
}

/// All templates, and the means to use them.
pub(crate) struct Templates {
    all: Vec<Template>,
    lengths: Vec<Length>,
    /// The last difference.
    record: Box<[u128]>,
    out: delta::Out,
    rebuild: delta::In,
}

/// What is known of the stack in place once it was saved: all but these lines are as in this template.
#[derive(Clone, Copy)]
pub(crate) struct Left {
    template: u16,
    lines: usize,
    dirty: Dirty,
}

impl Left {
    /// Whether it is as in the first template.
    pub(crate) fn is_first(&self) -> bool {
        self.template == 0 && self.dirty == [0; _]
    }
}

impl Templates {
    pub(crate) fn new() -> Templates {
        let (out, rebuild) = delta::kernels();
        let lengths = (0..=delta::MOST).map(|_| Length::default()).collect();
        Templates { all: Vec::new(), lengths, record: vec![0; (delta::bound(delta::MOST) + 64) / 16 + 1].into(), out, rebuild }
    }

    /// With a first template that stays, for memory of one length.
    pub(crate) fn of(first: &[Line]) -> Templates {
        let mut templates = Templates::new();
        templates.all.push(Template { stack: first.into(), users: 1 });
        templates.lengths[first.len()].numbers.push(0);
        templates
    }

    /// What was saved last is not kept.
    pub(crate) fn forget(&mut self, left: &Left) {
        self.all[left.template as usize].users -= 1;
    }

    /// The memory of `lines` lines at `live` as a difference, in whole units of 16 bytes; how many bytes of it count.
    ///
    /// # Safety
    /// So many lines are readable.
    #[inline]
    pub(crate) unsafe fn save(&mut self, live: *const u32, lines: usize) -> (&[u128], usize, Left) {
        if self.lengths[lines].numbers.is_empty() {
            // SAFETY: the contract.
            unsafe { self.add(live, lines) };
        }
        let length = &mut self.lengths[lines];
        let mut number = length.usual;
        // SAFETY: the contract.
        let (mut bytes, mut dirty) = unsafe { self.difference(live, lines, number) };
        if bytes > GOOD {
            let other = self.lengths[lines].other;
            let wait = self.lengths[lines].wait;
            if other != number && self.all[other as usize].stack.len() == lines && wait & 1 == 0 {
                // SAFETY: the contract; it is of this length.
                let (less, changed) = unsafe { self.difference(live, lines, other) };
                if less + WORTH <= bytes {
                    (self.lengths[lines].usual, self.lengths[lines].other) = (other, number);
                    (number, bytes, dirty) = (other, less, changed);
                } else {
                    // SAFETY: the contract.
                    (bytes, dirty) = unsafe { self.difference(live, lines, number) };
                }
            }
        }
        if bytes > GOOD {
            let length = &mut self.lengths[lines];
            match length.wait.checked_sub(1) {
                Some(wait) => length.wait = wait,
                None => {
                    // SAFETY: the contract.
                    number = unsafe { self.better(live, lines, bytes) };
                    // SAFETY: the contract.
                    (bytes, dirty) = unsafe { self.difference(live, lines, number) };
                }
            }
        } else {
            self.lengths[lines].next_wait = 0;
        }
        self.all[number as usize].users += 1;
        // SAFETY: the record begins with room for the number.
        unsafe { self.record.as_mut_ptr().cast::<u16>().write(number) };
        (&self.record[..bytes.div_ceil(16)], bytes, Left { template: number, lines, dirty })
    }

    /// # Safety
    /// As for `save`.
    #[inline]
    unsafe fn difference(&mut self, live: *const u32, lines: usize, number: u16) -> (usize, Dirty) {
        let template = self.all[number as usize].stack.as_ptr().cast();
        // SAFETY: the contract; a template of this length has as many lines, and the record the bound of the longest and a vector.
        unsafe { (self.out)(live, template, lines, self.record.as_mut_ptr().cast()) }
    }

    /// A template that fits better than one that makes the difference this long; maybe the stack itself.
    ///
    /// # Safety
    /// As for `save`.
    #[cold]
    unsafe fn better(&mut self, live: *const u32, lines: usize, bytes: usize) -> u16 {
        let numbers = self.lengths[lines].numbers.clone();
        // SAFETY: the contract.
        let tried = numbers.iter().map(|&number| (unsafe { self.difference(live, lines, number) }.0, number));
        let (least, best) = tried.min().expect("one was tried before");
        if least + WORTH <= bytes {
            let length = &mut self.lengths[lines];
            // Looking through all costs as much as some stacks that fit badly.
            (length.other, length.usual) = (length.usual, best);
            (length.wait, length.next_wait) = (AGAIN, AGAIN);
            return best;
        }
        let length = &mut self.lengths[lines];
        length.wait = length.next_wait;
        length.next_wait = (length.next_wait * 2 + 1).min(LONGEST_WAIT);
        // SAFETY: the contract.
        unsafe { self.add(live, lines) }
        self.lengths[lines].usual
    }

    /// Makes the stack a template and the usual one, if there is room.
    ///
    /// # Safety
    /// As for `save`.
    #[cold]
    unsafe fn add(&mut self, live: *const u32, lines: usize) {
        // SAFETY: the contract.
        let stack: Box<[Line]> = (0..lines).map(|line| Line(unsafe { live.cast::<[u32; LINE / 4]>().add(line).read() })).collect();
        let length = &mut self.lengths[lines];
        if let Some(&unused) = length.numbers.iter().find(|&&number| self.all[number as usize].users == 0) {
            self.all[unused as usize].stack = stack;
            length.usual = unused;
        } else if length.numbers.len() < EACH {
            length.usual = self.all.len() as u16;
            length.numbers.push(length.usual);
            self.all.push(Template { stack, users: 0 });
        }
    }

    /// Puts a saved stack in place.
    ///
    /// # Safety
    /// `record` was saved with this number of lines, which are writable at `live`; what was left there is told right.
    #[inline]
    pub(crate) unsafe fn load(&mut self, live: *mut u32, lines: usize, record: *const u8, left: Option<&Left>) {
        // SAFETY: the contract.
        let number = unsafe { delta::template_of(record) };
        let template = &mut self.all[number as usize];
        template.users -= 1;
        let dirty = match left {
            Some(left) if left.template == number && left.lines == lines => &left.dirty,
            _ => &delta::ALL,
        };
        // SAFETY: the contract; the template has as many lines.
        unsafe { (self.rebuild)(live, template.stack.as_ptr().cast(), lines, record, dirty) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: usize = 8;

    /// Saves and loads stacks of ranks in turn; the bytes of the last round's records.
    fn run(rounds: u32, stack: impl Fn(u32, u32) -> Vec<u32>) -> usize {
        let (mut templates, mut live) = (Templates::new(), vec![0u32; LINES * 16]);
        let mut records: Vec<Vec<u128>> = vec![Vec::new(); 100];
        let mut total = 0;
        for round in 0..rounds {
            let mut left = None;
            total = 0;
            for (rank, record) in records.iter_mut().enumerate() {
                if round > 0 {
                    // SAFETY: a record of as many lines; what is left is what was saved last.
                    unsafe { templates.load(live.as_mut_ptr(), LINES, record.as_ptr().cast(), left.as_ref()) };
                    assert!(live == stack(round - 1, rank as u32), "round {round}, rank {rank}");
                }
                live = stack(round, rank as u32);
                // SAFETY: as many lines.
                let (saved, bytes, now) = unsafe { templates.save(live.as_ptr(), LINES) };
                *record = saved.to_vec();
                (left, total) = (Some(now), total + bytes);
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
