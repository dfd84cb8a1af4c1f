//! Saving memory as its difference from a template of the same length.
//!
//! Ranks blocked in the same place have nearly the same stack: return addresses, saved registers
//! and most locals agree. A saved stack is a byte for each line of 64 (which of its eight
//! words differ), padded to eight, then the words that differ: 118 bytes instead of 342 for a
//! rank of a hello world at its barrier.

use crate::lines::LINE;

/// Most lines that are saved this way.
pub(crate) const MOST: usize = 256;
const WORDS: usize = LINE / 8;

/// Bytes of the longest difference of `lines` lines.
pub(crate) const fn bound(lines: usize) -> usize {
    lines.next_multiple_of(8) + lines * LINE
}

/// Writes the difference of `lines` lines at `memory` from `template` to `out`; returns its bytes.
pub(crate) type Out = unsafe fn(memory: *const u64, template: *const u64, lines: usize, out: *mut u8) -> usize;
/// Rebuilds `lines` lines at `memory` from `template` and a difference.
pub(crate) type In = unsafe fn(memory: *mut u64, template: *const u64, lines: usize, from: *const u8);

/// The fastest pair that this processor has.
pub(crate) fn kernels() -> (Out, In) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        return (out_avx512, in_avx512);
    }
    (out_plain, in_plain)
}

/// # Safety
/// `lines` lines readable at both addresses, all aligned to 8; `bound(lines)` writable bytes at `out`.
unsafe fn out_plain(memory: *const u64, template: *const u64, lines: usize, out: *mut u8) -> usize {
    // SAFETY: inside the lines; at most as many words as lines have follow the masks (the contract).
    unsafe {
        let mut to = out.add(lines.next_multiple_of(8)).cast::<u64>();
        for line in 0..lines {
            let mut mask = 0u8;
            for word in 0..WORDS {
                let at = line * WORDS + word;
                let (now, then) = (*memory.add(at), *template.add(at));
                mask |= u8::from(now != then) << word;
                // Written always, kept only if different: no branch to mispredict. The last word
                // of all may be written one beyond the kept ones, still inside the bound.
                if now != then {
                    to.write(now);
                    to = to.add(1);
                }
            }
            out.add(line).write(mask);
        }
        to as usize - out as usize
    }
}

/// # Safety
/// `lines` lines readable at `template` and writable at `memory`, aligned to 8; `from` was written
/// by an `Out` with the same template and number of lines.
unsafe fn in_plain(memory: *mut u64, template: *const u64, lines: usize, from: *const u8) {
    // SAFETY: inside the lines; a word is read for each bit of the masks (the contract).
    unsafe {
        let mut words = from.add(lines.next_multiple_of(8)).cast::<u64>();
        for line in 0..lines {
            let mask = *from.add(line);
            for word in 0..WORDS {
                let at = line * WORDS + word;
                if mask >> word & 1 != 0 {
                    memory.add(at).write(*words);
                    words = words.add(1);
                } else {
                    memory.add(at).write(*template.add(at));
                }
            }
        }
    }
}

/// # Safety
/// As `out_plain`, with 64 more writable bytes at the end of `out`, on a processor with AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn out_avx512(memory: *const u64, template: *const u64, lines: usize, out: *mut u8) -> usize {
    use std::arch::x86_64::*;
    // SAFETY: inside the lines; a whole vector is stored at the first free word, which is at most
    // one vector beyond the bound (the contract).
    unsafe {
        let mut to = out.add(lines.next_multiple_of(8)).cast::<u64>();
        for line in 0..lines {
            let now = _mm512_loadu_si512(memory.add(line * WORDS).cast());
            let then = _mm512_loadu_si512(template.add(line * WORDS).cast());
            let mask = _mm512_cmpneq_epi64_mask(now, then);
            out.add(line).write(mask);
            _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi64(mask, now));
            to = to.add(mask.count_ones() as usize);
        }
        to as usize - out as usize
    }
}

/// # Safety
/// As `in_plain`, on a processor with AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn in_avx512(memory: *mut u64, template: *const u64, lines: usize, from: *const u8) {
    use std::arch::x86_64::*;
    // SAFETY: inside the lines; masked loads read only the words that the masks count (the contract).
    unsafe {
        let mut words = from.add(lines.next_multiple_of(8)).cast::<i64>();
        for line in 0..lines {
            let mask = *from.add(line);
            let count = mask.count_ones();
            let then = _mm512_loadu_si512(template.add(line * WORDS).cast());
            let own = _mm512_maskz_loadu_epi64(((1u32 << count) - 1) as u8, words);
            _mm512_storeu_si512(memory.add(line * WORDS).cast(), _mm512_mask_expand_epi64(then, mask, own));
            words = words.add(count as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_rebuild_the_memory_with_every_kernel() {
        let mut seed = 7u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed >> 33
        };
        let (mut outs, mut ins): (Vec<Out>, Vec<In>) = (vec![out_plain], vec![in_plain]);
        let (fast_out, fast_in) = kernels();
        outs.push(fast_out);
        ins.push(fast_in);
        for round in 0..200 {
            let lines = 1 + random() as usize % 40;
            let template: Vec<u64> = (0..lines * WORDS).map(|_| random()).collect();
            let memory: Vec<u64> = template.iter().map(|&w| if random() % 4 < round % 5 { random() } else { w }).collect();
            let different = memory.iter().zip(&template).filter(|(a, b)| a != b).count();
            for out in &outs {
                let mut record = vec![0u8; bound(lines) + 64];
                // SAFETY: both are `lines` lines, and the record has the bound and a vector more.
                let bytes = unsafe { out(memory.as_ptr(), template.as_ptr(), lines, record.as_mut_ptr()) };
                assert_eq!(bytes, lines.next_multiple_of(8) + different * 8);
                record.truncate(bytes);
                for rebuild in &ins {
                    let mut again = vec![0u64; lines * WORDS];
                    // SAFETY: the same lengths, and a record made above.
                    unsafe { rebuild(again.as_mut_ptr(), template.as_ptr(), lines, record.as_ptr()) };
                    assert_eq!(again, memory);
                }
            }
        }
    }
}
