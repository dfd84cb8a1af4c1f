//! Choosing the template that memory is a difference from.

use super::length::LengthTemplates;
use super::{EACH, LONGEST_WAIT, StackTemplate, Templates};
use crate::lines::{LINE, Line};
use crate::shape::NONE;

/// Bytes by which another template must shorten the difference to replace the one in use.
const WORTH: usize = 16;
/// Stacks within which looking again without success means that nothing fits better.
const RECENT: u32 = 8;
/// Stacks that are saved before a better template than one just found is looked for.
const AGAIN: u32 = 7;

impl Templates {
    /// Compares with a template: into `found`.
    ///
    /// # Safety
    /// So many lines are readable, and the template has as many.
    #[inline]
    pub(super) unsafe fn compare(&mut self, live: *const u32, lines: usize, number: u16) -> usize {
        let template = self.all[number as usize].stack.as_ptr().cast();
        // SAFETY: the contract; there is a number of lanes for each line.
        unsafe { (self.kernels.compare)(live, template, self.own.as_ptr(), lines, &mut self.found) };
        self.found.bytes()
    }

    /// Compares with another template, and takes that if the difference is shorter by what is worth it.
    ///
    /// # Safety
    /// As for `compare`.
    unsafe fn try_other(
        &mut self,
        live: *const u32,
        lines: usize,
        number: u16,
        bytes: usize,
    ) -> Option<usize> {
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

    /// Searches a better template, as the usual one fits badly, with a difference of `bytes` bytes. Returns
    /// the bytes of the least difference found.
    ///
    /// # Safety
    /// As for `find`.
    #[inline(never)]
    pub(super) unsafe fn search(&mut self, live: *const u32, lines: usize, mut bytes: usize) -> usize {
        let LengthTemplates { usual, other, wait, good, .. } = self.lengths[lines];
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

    /// Finds a template that fits better than one that makes the difference this long; maybe the stack
    /// itself.
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

    /// Makes the stack a template and the usual one, if there is room; its number, or the usual one's, is
    /// taken.
    ///
    /// # Safety
    /// As for `find`.
    #[cold]
    pub(super) unsafe fn add(&mut self, live: *const u32, lines: usize) {
        // SAFETY: the contract.
        let line = |line| Line(unsafe { live.cast::<[u32; LINE / 4]>().add(line).read_unaligned() });
        let stack: Box<[Line]> = (0..lines).map(line).collect();
        let length = &mut self.lengths[lines];
        let shapes = &self.shapes;
        let of = |number: u16| {
            length.shapes.iter().copied().filter(move |&shape| shapes[shape as usize].template == number)
        };
        let unused = |number: u16| {
            self.all[number as usize].users == 0 && of(number).all(|shape| shapes[shape as usize].users == 0)
        };
        if let Some(&unused) = length.numbers.iter().find(|&&number| unused(number)) {
            // Nothing is of its shapes any more, which may serve the new one.
            for &number in &length.shapes {
                self.shapes[number as usize].forget_changes();
            }
            self.all[unused as usize].stack = stack;
            length.usual = unused;
        } else if length.numbers.len() < EACH {
            length.usual = self.all.len() as u16;
            length.numbers.push(length.usual);
            self.all.push(StackTemplate { stack, users: 0, shape: NONE });
        }
        self.number = length.usual;
    }
}
