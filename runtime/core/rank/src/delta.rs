//! Saving memory as its difference from a template of the same length.
//!
//! Ranks blocked in the same place have nearly the same stack: return addresses, saved registers and most
//! locals agree, and what differs are ranks and counters, half a word each. So a difference is made of lanes
//! of four bytes:
//!
//! ```text
//!   template  which lines differ   which lanes of each such line   the lanes
//!   u16       u16 for 16 lines     u16 each                        u32 each, aligned to 4
//! ```
//!
//! 32 bytes for a rank of a hello world at its barrier, whose live stack has 640.

use crate::lines::LINE;

/// Most lines that are saved this way.
pub(crate) const MAX_LINES: usize = 256;
/// Lines for which one number says which of them differ.
pub(crate) const GROUP: usize = 16;
pub(crate) const GROUPS: usize = MAX_LINES / GROUP;
const LANES: usize = LINE / 4;

/// Set of lines that differ: bit `k` of number `g` is line `16 g + k`.
pub(crate) type Lines = [u16; GROUPS];

/// All lines.
pub(crate) const ALL: Lines = [u16::MAX; GROUPS];

/// Difference of memory from a template.
pub(crate) struct MemoryDelta {
    pub(crate) dirty: Lines,
    /// The lanes of each line that differs; one more, since the next one is written before it is known to
    /// differ.
    masks: [u16; MAX_LINES + 1],
    /// Lines and lanes that differ.
    count: usize,
    lanes: usize,
    groups: usize,
}

impl MemoryDelta {
    pub(crate) const fn none() -> MemoryDelta {
        MemoryDelta { dirty: [0; GROUPS], masks: [0; MAX_LINES + 1], count: 0, lanes: 0, groups: 0 }
    }
    /// Returns the bytes of the difference.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        header(self.groups, self.count) + 4 * self.lanes
    }
    /// Returns `true` if nothing differs.
    #[inline]
    pub(crate) fn is_nothing(&self) -> bool {
        self.count == 0
    }
    /// Returns the lines that differ, each with its lanes that do.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, u16)> {
        let lines =
            (0..self.groups).flat_map(|group| set(self.dirty[group]).map(move |line| group * GROUP + line));
        lines.zip(self.masks.iter().copied())
    }
}

/// Returns the bytes before the lanes, of so many groups and lines that differ.
#[inline]
fn header(groups: usize, count: usize) -> usize {
    (2 + 2 * groups + 2 * count).next_multiple_of(4)
}

/// Finds how `lines` lines at `memory` differ from `template` in the lanes that `own` has for each line.
pub(crate) type Compare = unsafe fn(
    memory: *const u32,
    template: *const u32,
    own: *const u16,
    lines: usize,
    found: &mut MemoryDelta,
);
/// Writes the difference that was found of the lines at `memory` to `to`, which has that many bytes; it
/// begins with `head`.
pub(crate) type Keep = unsafe fn(memory: *const u32, found: &MemoryDelta, head: u16, to: *mut u8);
/// Rebuilds the lanes `own` of `lines` lines at `memory` from `template` and a difference, behind which
/// [`BEYOND`] more bytes are readable. Lines that neither differ in it nor are in `left` are as in the
/// template already.
pub(crate) type Rebuild = unsafe fn(
    memory: *mut u32,
    template: *const u32,
    own: *const u16,
    lines: usize,
    from: *const u8,
    left: &Lines,
);

/// The means to make differences and to use them.
#[derive(Clone, Copy)]
pub(crate) struct Kernels {
    pub(crate) compare: Compare,
    pub(crate) keep: Keep,
    pub(crate) rebuild: Rebuild,
}

/// Returns the kernels for any processor.
const fn plain<const WHOLE: bool>() -> Kernels {
    Kernels { compare: compare_plain::<WHOLE>, keep: keep_plain, rebuild: rebuild_plain::<WHOLE> }
}

/// Returns the fastest kernels that this processor has; with `WHOLE` for memory all of whose lanes count, so
/// that nobody looks at `own`.
pub(crate) fn kernels<const WHOLE: bool>() -> Kernels {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("bmi1")
    {
        return Kernels {
            compare: compare_avx512::<WHOLE>,
            keep: keep_avx512,
            rebuild: rebuild_avx512::<WHOLE>,
        };
    }
    plain::<WHOLE>()
}

/// Bytes behind a difference that are read with it.
pub(crate) const BEYOND: usize = LINE;

/// Returns what a difference begins with.
///
/// # Safety
/// A difference at `from`.
#[inline]
pub(crate) unsafe fn head_of(from: *const u8) -> u16 {
    // SAFETY: a difference begins with it (the contract).
    unsafe { from.cast::<u16>().read() }
}

/// Returns the lines of a group, from 0, of those that `bits` names.
#[inline(always)]
fn set(mut bits: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(bit)
    })
}

/// Compares lines with the template. Both kinds of kernels do so with other ways to treat a line. `differ`
/// returns the lanes that differ.
///
/// # Safety
/// As [`Compare`]: `lines` lines readable at both addresses, as many numbers at `own`.
#[inline(always)]
unsafe fn compare_by<const WHOLE: bool>(
    (memory, template, own, lines): (*const u32, *const u32, *const u16, usize),
    found: &mut MemoryDelta,
    differ: impl Fn(*const u32, *const u32) -> u16,
) {
    let (mut count, mut lanes) = (0, 0);
    found.groups = lines.div_ceil(GROUP);
    let (masks, dirty) = (found.masks.as_mut_ptr(), found.dirty.as_mut_ptr());
    for group in 0..found.groups {
        let (start, mut bits) = (group * GROUP, 0);
        for line in 0..GROUP.min(lines - start) {
            // SAFETY: inside the lines; at most as many masks as lines, and one.
            unsafe {
                let at = (start + line) * LANES;
                let own = if WHOLE { u16::MAX } else { *own.add(start + line) };
                let mask = differ(memory.add(at), template.add(at)) & own;
                // Written always, kept only if something differs: no branch to predict.
                *masks.add(count) = mask;
                count += usize::from(mask != 0);
                lanes += mask.count_ones() as usize;
                bits |= u16::from(mask != 0) << line;
            }
        }
        // SAFETY: a number for each group.
        unsafe { *dirty.add(group) = bits };
    }
    (found.count, found.lanes) = (count, lanes);
}

/// Keeps a difference; `put` writes the lanes of a mask, and nothing else.
///
/// # Safety
/// As [`Keep`]: what was found of the lines at `memory`, as many writable bytes at `to`.
#[inline(always)]
unsafe fn keep_by(
    (memory, found, head, to): (*const u32, &MemoryDelta, u16, *mut u8),
    put: impl Fn(*const u32, u16, *mut u32),
) {
    // SAFETY: the difference has a number for each group, a mask for each bit of those and a lane for each
    // bit of the masks.
    unsafe {
        to.cast::<u16>().write(head);
        let mut masks = to.add(2 + 2 * found.groups).cast::<u16>();
        let mut lanes = to.add(header(found.groups, found.count)).cast::<u32>();
        let mut next = found.masks.as_ptr();
        for group in 0..found.groups {
            let bits = *found.dirty.get_unchecked(group);
            to.add(2).cast::<u16>().add(group).write(bits);
            for line in set(bits) {
                let mask = *next;
                (next, masks) = (next.add(1), {
                    masks.write(mask);
                    masks.add(1)
                });
                put(memory.add((group * GROUP + line) * LANES), mask, lanes);
                lanes = lanes.add(mask.count_ones() as usize);
            }
        }
    }
}

/// Rebuilds lines; `put` writes the given lanes of a line: the template's, but those of the mask from the
/// difference.
///
/// # Safety
/// As [`Rebuild`]: `lines` lines readable at `template` and writable at `memory`, as many numbers at `own`;
/// `from` was written by a [`Keep`] for as many lines.
#[inline(always)]
unsafe fn rebuild_by<const WHOLE: bool>(
    (memory, template, own, lines): (*mut u32, *const u32, *const u16, usize),
    (from, left): (*const u8, &Lines),
    put: impl Fn(*mut u32, *const u32, u16, u16, *const u32),
) {
    let groups = lines.div_ceil(GROUP);
    // SAFETY: the difference has a number for each group, a mask for each bit of those and a lane for each
    // bit of the masks.
    unsafe {
        let bits_of = |group: usize| from.add(2).cast::<u16>().add(group).read();
        let mut count = bits_of(0).count_ones() as usize;
        for group in 1..groups {
            count += bits_of(group).count_ones() as usize;
        }
        let mut masks = from.add(2 + 2 * groups).cast::<u16>();
        let mut lanes = from.add(header(groups, count)).cast::<u32>();
        for group in 0..groups {
            let bits = bits_of(group);
            let here = lines - group * GROUP;
            let wanted =
                (bits | *left.get_unchecked(group)) & if here < GROUP { (1 << here) - 1 } else { u16::MAX };
            for line in set(wanted) {
                // Read always, of use only if the line differs: no branch to predict.
                let differs = bits >> line & 1;
                let mask = masks.read() & differs.wrapping_neg();
                masks = masks.add(usize::from(differs));
                let at = (group * GROUP + line) * LANES;
                let own = if WHOLE { u16::MAX } else { *own.add(group * GROUP + line) };
                put(memory.add(at), template.add(at), own, mask, lanes);
                lanes = lanes.add(mask.count_ones() as usize);
            }
        }
    }
}

/// Compares on any processor.
///
/// # Safety
/// As [`Compare`].
unsafe fn compare_plain<const WHOLE: bool>(
    memory: *const u32,
    template: *const u32,
    own: *const u16,
    lines: usize,
    found: &mut MemoryDelta,
) {
    // SAFETY: lines are LANES numbers (the contract).
    let differ = |now: *const u32, then: *const u32| unsafe {
        (0..LANES).fold(0u16, |mask, lane| {
            mask | u16::from(now.add(lane).read_unaligned() != then.add(lane).read_unaligned()) << lane
        })
    };
    // SAFETY: the contract.
    unsafe { compare_by::<WHOLE>((memory, template, own, lines), found, differ) }
}

/// Keeps a difference on any processor.
///
/// # Safety
/// As [`Keep`].
unsafe fn keep_plain(memory: *const u32, found: &MemoryDelta, head: u16, to: *mut u8) {
    let put = |line: *const u32, mask: u16, mut to: *mut u32| {
        for lane in set(mask) {
            // SAFETY: a lane for each bit of the mask.
            unsafe {
                to.write(line.add(lane).read_unaligned());
                to = to.add(1);
            }
        }
    };
    // SAFETY: the contract.
    unsafe { keep_by((memory, found, head, to), put) }
}

/// Rebuilds lines on any processor.
///
/// # Safety
/// As [`Rebuild`].
unsafe fn rebuild_plain<const WHOLE: bool>(
    memory: *mut u32,
    template: *const u32,
    own: *const u16,
    lines: usize,
    from: *const u8,
    left: &Lines,
) {
    let put = |line: *mut u32, template: *const u32, own: u16, mask: u16, mut kept: *const u32| {
        // SAFETY: lines are LANES numbers; a lane for each bit of the mask (the contract).
        unsafe {
            if own == u16::MAX {
                // Whole, which is faster than around what differs.
                line.cast::<[u32; LANES]>().write_unaligned(*template.cast());
            } else {
                for lane in set(own & !mask) {
                    line.add(lane).write_unaligned(*template.add(lane));
                }
            }
            for lane in set(mask) {
                line.add(lane).write_unaligned(*kept);
                kept = kept.add(1);
            }
        }
    };
    // SAFETY: the contract.
    unsafe { rebuild_by::<WHOLE>((memory, template, own, lines), (from, left), put) }
}

/// Compares with AVX-512F.
///
/// # Safety
/// As [`Compare`], on a processor with AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt,bmi1")]
unsafe fn compare_avx512<const WHOLE: bool>(
    memory: *const u32,
    template: *const u32,
    own: *const u16,
    lines: usize,
    found: &mut MemoryDelta,
) {
    use std::arch::x86_64::*;
    // SAFETY: inside the lines (the contract).
    let differ = |now: *const u32, then: *const u32| unsafe {
        _mm512_cmpneq_epi32_mask(_mm512_loadu_si512(now.cast()), _mm512_loadu_si512(then.cast()))
    };
    // SAFETY: the contract.
    unsafe { compare_by::<WHOLE>((memory, template, own, lines), found, differ) }
}

/// Keeps a difference with AVX-512F.
///
/// # Safety
/// As [`Keep`], on a processor with AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt,bmi1")]
unsafe fn keep_avx512(memory: *const u32, found: &MemoryDelta, head: u16, to: *mut u8) {
    use std::arch::x86_64::*;
    // SAFETY: inside a line; as many lanes are stored as the mask has bits (the contract).
    let put = |line: *const u32, mask: u16, to: *mut u32| unsafe {
        let lanes = _mm512_maskz_compress_epi32(mask, _mm512_loadu_si512(line.cast()));
        _mm512_mask_storeu_epi32(to.cast(), ((1u32 << mask.count_ones()) - 1) as u16, lanes);
    };
    // SAFETY: the contract.
    unsafe { keep_by((memory, found, head, to), put) }
}

/// Rebuilds lines with AVX-512F.
///
/// # Safety
/// As [`Rebuild`], on a processor with AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt,bmi1")]
unsafe fn rebuild_avx512<const WHOLE: bool>(
    memory: *mut u32,
    template: *const u32,
    own: *const u16,
    lines: usize,
    from: *const u8,
    left: &Lines,
) {
    use std::arch::x86_64::*;
    // SAFETY: inside the lines; as much can be read behind a difference as a vector has (the contract).
    let put = |line: *mut u32, template: *const u32, own: u16, mask: u16, kept: *const u32| unsafe {
        let kept = _mm512_loadu_si512(kept.cast());
        let value = _mm512_mask_expand_epi32(_mm512_loadu_si512(template.cast()), mask, kept);
        // What was stored under a mask is not forwarded to loads.
        if own == u16::MAX {
            _mm512_storeu_si512(line.cast(), value);
        } else {
            _mm512_mask_storeu_epi32(line.cast(), own, value);
        }
    };
    // SAFETY: the contract.
    unsafe { rebuild_by::<WHOLE>((memory, template, own, lines), (from, left), put) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(kernels: &Kernels, memory: &[u32], template: &[u32], own: &[u16]) -> (Vec<u32>, Lines) {
        let mut found = MemoryDelta::none();
        // SAFETY: as many lines and numbers.
        unsafe { (kernels.compare)(memory.as_ptr(), template.as_ptr(), own.as_ptr(), own.len(), &mut found) };
        let mut record = vec![0xdead_beef_u32; (found.bytes() + BEYOND) / 4];
        // SAFETY: what was found of this memory, and as many bytes.
        unsafe { (kernels.keep)(memory.as_ptr(), &found, 5, record.as_mut_ptr().cast()) };
        assert!(
            record[found.bytes() / 4..].iter().all(|&word| word == 0xdead_beef),
            "nothing is written beyond the difference"
        );
        (record, found.dirty)
    }

    #[test]
    fn differences_rebuild_the_memory_with_every_kernel() {
        let mut random = crate::lines::random_words(7);
        for round in 0..300 {
            let lines = 1 + random() as usize % if round % 10 == 0 { MAX_LINES } else { 40 };
            let own: Vec<u16> = (0..lines)
                .map(
                    |_| if random().is_multiple_of(4) && round % 3 == 0 { random() as u16 } else { u16::MAX },
                )
                .collect();
            let whole = own.iter().all(|&own| own == u16::MAX);
            let all = if whole {
                [plain::<true>(), kernels::<true>()]
            } else {
                [plain::<false>(), kernels::<false>()]
            };
            let is_own = |lane: usize| own[lane / LANES] >> (lane % LANES) & 1 != 0;
            let template: Vec<u32> = (0..lines * LANES).map(|_| random()).collect();
            let mut like = |odds: u32| -> Vec<u32> {
                template
                    .iter()
                    .map(|&w| if random() % 64 < odds % 5 * (odds % 5) * 4 { random() } else { w })
                    .collect()
            };
            let (memory, before) = (like(round), like(round / 2));
            for make in &all {
                let ((record, _), (_, left)) =
                    (difference(make, &memory, &template, &own), difference(make, &before, &template, &own));
                for use_it in &all {
                    // From anything, and from memory that differs from the template in known lines.
                    for (start, left) in [(vec![0u32; lines * LANES], ALL), (before.clone(), left)] {
                        let mut again = start.clone();
                        let (to, template, own) = (again.as_mut_ptr(), template.as_ptr(), own.as_ptr());
                        // SAFETY: the same lengths, and a record made above.
                        unsafe { (use_it.rebuild)(to, template, own, lines, record.as_ptr().cast(), &left) };
                        for lane in 0..again.len() {
                            let right = if is_own(lane) { memory[lane] } else { start[lane] };
                            assert_eq!(again[lane], right, "lane {lane} of {lines} lines");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_few_ranks_and_counters_take_a_few_bytes() {
        let template = vec![7u32; 10 * LANES];
        let mut memory = template.clone();
        for lane in [30, 41, 68, 78, 110] {
            memory[lane] += 1;
        }
        let (record, dirty) = difference(&kernels::<true>(), &memory, &template, &[u16::MAX; 10]);
        assert_eq!((record.len() * 4 - BEYOND, dirty[0]), (12 + 5 * 4, 0b101_0110));
    }
}
