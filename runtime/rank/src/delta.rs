//! Saving memory as its difference from a template of the same length.
//!
//! Ranks blocked in the same place have nearly the same stack: return addresses, saved registers and most locals agree,
//! and what differs are ranks and counters, half a word each. So a difference is made of lanes of four bytes:
//!
//! ```text
//!   template  which lines differ   which lanes of each such line   the lanes
//!   u16       u16 for 16 lines     u16 each                        u32 each, aligned to 4
//! ```
//!
//! 32 bytes for a rank of a hello world at its barrier, whose live stack has 640.

use crate::lines::LINE;

/// Most lines that are saved this way.
pub(crate) const MOST: usize = 256;
/// Lines for which one number says which of them differ.
const GROUP: usize = 16;
const GROUPS: usize = MOST / GROUP;
const LANES: usize = LINE / 4;

/// Bytes of the longest difference of `lines` lines.
pub(crate) const fn bound(lines: usize) -> usize {
    2 + 2 * lines.div_ceil(GROUP) + 2 * lines + 2 + lines * LINE
}

/// Which lines differ.
pub(crate) type Dirty = [u16; GROUPS];

/// Writes the difference of `lines` lines at `memory` from `template` to `out`, behind two bytes for the template's number;
/// returns its bytes and which lines differ.
pub(crate) type Out = unsafe fn(memory: *const u32, template: *const u32, lines: usize, out: *mut u8) -> (usize, Dirty);
/// Rebuilds `lines` lines at `memory` from `template` and a difference. Lines that neither differ in it nor are
/// in `dirty` are as in the template already.
pub(crate) type In = unsafe fn(memory: *mut u32, template: *const u32, lines: usize, from: *const u8, dirty: &Dirty);

/// All lines.
pub(crate) const ALL: Dirty = [u16::MAX; GROUPS];

/// The fastest pair that this processor has.
pub(crate) fn kernels() -> (Out, In) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        return (out_avx512, in_avx512);
    }
    (out_plain, in_plain)
}

/// The number of the template in a difference.
///
/// # Safety
/// A difference at `from`.
pub(crate) unsafe fn template_of(from: *const u8) -> u16 {
    // SAFETY: a difference begins with it (the contract).
    unsafe { from.cast::<u16>().read_unaligned() }
}

/// Bytes of a difference of so many lines.
///
/// # Safety
/// As [`template_of`].
pub(crate) unsafe fn length(from: *const u8, lines: usize) -> usize {
    let groups = lines.div_ceil(GROUP);
    // SAFETY: a difference has a number for each group, and a mask for each bit of those (the contract).
    unsafe {
        let number = |at: usize| from.cast::<u16>().add(at).read_unaligned().count_ones() as usize;
        let count: usize = (1..=groups).map(number).sum();
        let lanes: usize = (0..count).map(|line| number(1 + groups + line)).sum();
        (2 + 2 * groups + 2 * count).next_multiple_of(4) + 4 * lanes
    }
}

/// Lines of a group, from 0, of those that `bits` names.
#[inline(always)]
fn set(mut bits: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(bit)
    })
}

/// Both kernels are these with other ways to treat a line: `compare` answers the lanes that differ, `keep` appends those lanes.
///
/// # Safety
/// `lines` lines readable at both addresses; `bound(lines)` bytes, and what `keep` writes too much, writable at `out`.
#[inline(always)]
unsafe fn out_by(
    (memory, template, lines, out): (*const u32, *const u32, usize, *mut u8),
    compare: impl Fn(*const u32, *const u32) -> u16,
    keep: impl Fn(*const u32, u16, *mut u32),
) -> (usize, Dirty) {
    let mut dirty = [0u16; GROUPS];
    let groups = lines.div_ceil(GROUP);
    // SAFETY: inside the lines; at most as many masks and lanes as the bound has room for.
    unsafe {
        let first = out.add(2 + 2 * groups).cast::<u16>();
        let mut masks = first;
        for (group, dirty) in dirty[..groups].iter_mut().enumerate() {
            let (start, mut bits) = (group * GROUP, 0);
            for line in 0..GROUP.min(lines - start) {
                let at = (start + line) * LANES;
                let mask = compare(memory.add(at), template.add(at));
                // Written always, kept only if something differs: no branch to predict.
                masks.write_unaligned(mask);
                masks = masks.add(usize::from(mask != 0));
                bits |= u16::from(mask != 0) << line;
            }
            *dirty = bits;
            out.add(2).cast::<u16>().add(group).write_unaligned(bits);
        }
        let mut lanes = (masks as *mut u8).add((masks as usize - out as usize) & 2).cast::<u32>();
        masks = first;
        for (group, &bits) in dirty[..groups].iter().enumerate() {
            for line in set(bits) {
                let mask = masks.read_unaligned();
                masks = masks.add(1);
                keep(memory.add((group * GROUP + line) * LANES), mask, lanes);
                lanes = lanes.add(mask.count_ones() as usize);
            }
        }
        (lanes as usize - out as usize, dirty)
    }
}

/// `put` writes a line: the template's lanes, but those of the mask from the difference.
///
/// # Safety
/// As [`In`]: `lines` lines readable at `template` and writable at `memory`; `from` was written by an [`Out`] for as many lines.
#[inline(always)]
unsafe fn in_by(
    (memory, template, lines, from, dirty): (*mut u32, *const u32, usize, *const u8, &Dirty),
    put: impl Fn(*mut u32, *const u32, u16, *const u32),
) {
    let groups = lines.div_ceil(GROUP);
    // SAFETY: the difference has a number for each group, a mask for each bit of those and a lane for each bit of the masks.
    unsafe {
        let bits_of = |group: usize| from.add(2).cast::<u16>().add(group).read_unaligned();
        let count: usize = (0..groups).map(|group| bits_of(group).count_ones() as usize).sum();
        let mut masks = from.add(2 + 2 * groups).cast::<u16>();
        let mut lanes = from.add((2 + 2 * groups + 2 * count).next_multiple_of(4)).cast::<u32>();
        for (group, dirty) in dirty[..groups].iter().enumerate() {
            let bits = bits_of(group);
            let here = lines - group * GROUP;
            let wanted = (bits | dirty) & if here < GROUP { (1 << here) - 1 } else { u16::MAX };
            for line in set(wanted) {
                let mut mask = 0;
                if bits >> line & 1 != 0 {
                    mask = masks.read_unaligned();
                    masks = masks.add(1);
                }
                let at = (group * GROUP + line) * LANES;
                put(memory.add(at), template.add(at), mask, lanes);
                lanes = lanes.add(mask.count_ones() as usize);
            }
        }
    }
}

/// # Safety
/// As [`Out`]: `lines` lines readable at both addresses, `bound(lines)` writable bytes at `out`.
unsafe fn out_plain(memory: *const u32, template: *const u32, lines: usize, out: *mut u8) -> (usize, Dirty) {
    // SAFETY: lines are LANES numbers (the contract).
    let compare = |now: *const u32, then: *const u32| unsafe {
        (0..LANES).fold(0u16, |mask, lane| mask | u16::from(*now.add(lane) != *then.add(lane)) << lane)
    };
    let keep = |line: *const u32, mask: u16, mut to: *mut u32| {
        for lane in set(mask) {
            // SAFETY: a lane for each bit of the mask.
            unsafe {
                to.write_unaligned(*line.add(lane));
                to = to.add(1);
            }
        }
    };
    // SAFETY: the contract.
    unsafe { out_by((memory, template, lines, out), compare, keep) }
}

/// # Safety
/// As [`In`].
unsafe fn in_plain(memory: *mut u32, template: *const u32, lines: usize, from: *const u8, dirty: &Dirty) {
    let put = |line: *mut u32, template: *const u32, mask: u16, mut own: *const u32| {
        // SAFETY: lines are LANES numbers; a lane for each bit of the mask (the contract).
        unsafe {
            std::ptr::copy_nonoverlapping(template, line, LANES);
            for lane in set(mask) {
                line.add(lane).write(own.read_unaligned());
                own = own.add(1);
            }
        }
    };
    // SAFETY: the contract.
    unsafe { in_by((memory, template, lines, from, dirty), put) }
}

/// # Safety
/// As `out_plain`, with 64 more writable bytes at the end of `out`, on a processor with AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt,bmi1")]
unsafe fn out_avx512(memory: *const u32, template: *const u32, lines: usize, out: *mut u8) -> (usize, Dirty) {
    use std::arch::x86_64::*;
    // SAFETY: inside the lines (the contract).
    let compare = |now: *const u32, then: *const u32| unsafe {
        _mm512_cmpneq_epi32_mask(_mm512_loadu_si512(now.cast()), _mm512_loadu_si512(then.cast()))
    };
    // SAFETY: a whole vector is stored at the first free lane, which is at most one vector beyond the bound (the contract).
    let keep = |line: *const u32, mask: u16, to: *mut u32| unsafe {
        _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi32(mask, _mm512_loadu_si512(line.cast())));
    };
    // SAFETY: the contract.
    unsafe { out_by((memory, template, lines, out), compare, keep) }
}

/// # Safety
/// As `in_plain`, on a processor with AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt,bmi1")]
unsafe fn in_avx512(memory: *mut u32, template: *const u32, lines: usize, from: *const u8, dirty: &Dirty) {
    use std::arch::x86_64::*;
    // SAFETY: inside the lines; masked loads read only the lanes that the mask counts (the contract).
    let put = |line: *mut u32, template: *const u32, mask: u16, own: *const u32| unsafe {
        let own = _mm512_maskz_loadu_epi32(((1u32 << mask.count_ones()) - 1) as u16, own.cast());
        _mm512_storeu_si512(line.cast(), _mm512_mask_expand_epi32(_mm512_loadu_si512(template.cast()), mask, own));
    };
    // SAFETY: the contract.
    unsafe { in_by((memory, template, lines, from, dirty), put) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_rebuild_the_memory_with_every_kernel() {
        let mut seed = 7u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as u32
        };
        let (mut outs, mut ins): (Vec<Out>, Vec<In>) = (vec![out_plain], vec![in_plain]);
        let (fast_out, fast_in) = kernels();
        outs.push(fast_out);
        ins.push(fast_in);
        for round in 0..300 {
            let lines = 1 + random() as usize % if round % 10 == 0 { MOST } else { 40 };
            let template: Vec<u32> = (0..lines * LANES).map(|_| random()).collect();
            let mut like = |odds: u32| -> Vec<u32> {
                template.iter().map(|&w| if random() % 64 < odds % 5 * (odds % 5) * 4 { random() } else { w }).collect()
            };
            let (memory, before) = (like(round), like(round / 2));
            for out in &outs {
                let difference = |memory: &[u32]| {
                    let mut record = vec![0u8; bound(lines) + 64];
                    // SAFETY: both are `lines` lines, and the record has the bound and a vector more.
                    let (bytes, dirty) = unsafe { out(memory.as_ptr(), template.as_ptr(), lines, record.as_mut_ptr()) };
                    assert!(bytes <= bound(lines));
                    // SAFETY: the difference just made.
                    assert_eq!(unsafe { length(record.as_ptr(), lines) }, bytes);
                    record.truncate(bytes);
                    (record, dirty)
                };
                let ((record, _), (_, dirty)) = (difference(&memory), difference(&before));
                for rebuild in &ins {
                    // From anything, and from memory that differs from the template in known lines.
                    for (mut again, dirty) in [(vec![0u32; lines * LANES], ALL), (before.clone(), dirty)] {
                        // SAFETY: the same lengths, and a record made above.
                        unsafe { rebuild(again.as_mut_ptr(), template.as_ptr(), lines, record.as_ptr(), &dirty) };
                        assert!(again == memory, "{lines} lines");
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
        let mut record = vec![0u8; bound(10) + 64];
        // SAFETY: ten lines each, and a record of the bound and a vector more.
        let (bytes, dirty) = unsafe { kernels().0(memory.as_ptr(), template.as_ptr(), 10, record.as_mut_ptr()) };
        assert_eq!((bytes, dirty[0]), (12 + 5 * 4, 0b101_0110));
    }
}
