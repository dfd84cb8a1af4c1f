//! Comparing and copying memory in lines of 64 bytes, as fast as the processor can.

/// Bytes of a line.
pub(crate) const LINE: usize = 64;

/// A line where the processor's lines begin: loads and stores that straddle two take twice as long.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) [u32; LINE / 4]);

/// The function that is fastest on this processor: for AVX-512F, for AVX2, or for any.
macro_rules! fastest {
    ($avx512:ident, $avx2:ident, $plain:ident) => {{
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                return $avx512;
            }
            if is_x86_feature_detected!("avx2") {
                return $avx2;
            }
        }
        $plain
    }};
}

/// Comparison of at most 64 lines at `a` and `b`: bit k of the result is set if line k differs.
pub(crate) type Differ = unsafe fn(a: *const u8, b: *const u8, lines: usize) -> u64;

/// Returns the fastest comparison that this processor has.
pub(crate) fn differ() -> Differ {
    fastest!(differ_avx512, differ_avx2, differ_scalar)
}

/// Returns a mask of the lines that differ.
///
/// # Safety
/// `lines <= 64` readable lines at both addresses.
unsafe fn differ_scalar(a: *const u8, b: *const u8, lines: usize) -> u64 {
    let mut found = 0;
    for line in 0..lines {
        let mut difference = 0;
        for word in 0..LINE / 8 {
            let at = line * LINE + word * 8;
            // SAFETY: inside the lines (the caller's contract).
            difference |= unsafe {
                a.add(at).cast::<u64>().read_unaligned() ^ b.add(at).cast::<u64>().read_unaligned()
            };
        }
        found |= u64::from(difference != 0) << line;
    }
    found
}

/// Returns a mask of the lines that differ, with AVX2.
///
/// # Safety
/// `lines <= 64` readable lines at both addresses, on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn differ_avx2(a: *const u8, b: *const u8, lines: usize) -> u64 {
    use std::arch::x86_64::*;
    let mut found = 0;
    for line in 0..lines {
        // SAFETY: inside the lines (the caller's contract).
        unsafe {
            let (a, b) = (a.add(line * LINE).cast::<__m256i>(), b.add(line * LINE).cast::<__m256i>());
            let low = _mm256_xor_si256(_mm256_loadu_si256(a), _mm256_loadu_si256(b));
            let high = _mm256_xor_si256(_mm256_loadu_si256(a.add(1)), _mm256_loadu_si256(b.add(1)));
            let both = _mm256_or_si256(low, high);
            found |= u64::from(_mm256_testz_si256(both, both) == 0) << line;
        }
    }
    found
}

/// Returns a mask of the lines that differ, with AVX-512F.
///
/// # Safety
/// `lines <= 64` readable lines at both addresses, on a processor with AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn differ_avx512(a: *const u8, b: *const u8, lines: usize) -> u64 {
    use std::arch::x86_64::*;
    let mut found = 0;
    for line in 0..lines {
        // SAFETY: inside the lines (the caller's contract).
        let different = unsafe {
            let x = _mm512_loadu_si512(a.add(line * LINE).cast());
            let y = _mm512_loadu_si512(b.add(line * LINE).cast());
            _mm512_cmpneq_epi64_mask(x, y)
        };
        found |= u64::from(different != 0) << line;
    }
    found
}

/// Copies whole lines.
pub(crate) type Copy = unsafe fn(from: *const u8, to: *mut u8, lines: usize);

/// Returns the fastest copy of a few lines that this processor has: `memcpy` takes ten times as long for
/// some kilobytes, since it starts up a string instruction.
pub(crate) fn copy() -> Copy {
    fastest!(copy_avx512, copy_avx2, copy_plain)
}

/// Copies lines on any processor.
///
/// # Safety
/// `lines` readable lines at `from` and writable ones at `to`, not overlapping.
unsafe fn copy_plain(from: *const u8, to: *mut u8, lines: usize) {
    for line in 0..lines {
        // SAFETY: inside the lines (the caller's contract).
        unsafe { copy_line(from.add(line * LINE), to.add(line * LINE)) }
    }
}

/// Copies lines with AVX2.
///
/// # Safety
/// As `copy_plain`, on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn copy_avx2(from: *const u8, to: *mut u8, lines: usize) {
    use std::arch::x86_64::*;
    for line in 0..lines {
        // SAFETY: inside the lines (the caller's contract).
        unsafe {
            let (from, to) = (from.add(line * LINE).cast::<__m256i>(), to.add(line * LINE).cast::<__m256i>());
            let (low, high) = (_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1)));
            _mm256_storeu_si256(to, low);
            _mm256_storeu_si256(to.add(1), high);
        }
    }
}

/// Copies lines with AVX-512F.
///
/// # Safety
/// As `copy_plain`, on a processor with AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn copy_avx512(from: *const u8, to: *mut u8, lines: usize) {
    use std::arch::x86_64::*;
    for line in 0..lines {
        // SAFETY: inside the lines (the caller's contract).
        unsafe {
            _mm512_storeu_si512(to.add(line * LINE).cast(), _mm512_loadu_si512(from.add(line * LINE).cast()))
        }
    }
}

/// Keeps whole lines elsewhere and puts others in their place.
pub(crate) type Exchange = unsafe fn(live: *mut u8, keep: *mut u8, load: *const u8, lines: usize);

/// Returns the fastest exchange of a few lines that this processor has.
pub(crate) fn exchange() -> Exchange {
    fastest!(exchange_avx512, exchange_plain, exchange_plain)
}

/// Copies lines of `live` to `keep` and those of `load` to `live`, on any processor.
///
/// # Safety
/// `lines` lines: readable and writable at `live`, writable at `keep`, readable at `load`, none overlapping.
unsafe fn exchange_plain(live: *mut u8, keep: *mut u8, load: *const u8, lines: usize) {
    for line in 0..lines {
        // SAFETY: inside the lines (the caller's contract).
        unsafe {
            copy_line(live.add(line * LINE), keep.add(line * LINE));
            copy_line(load.add(line * LINE), live.add(line * LINE));
        }
    }
}

/// Exchanges as `exchange_plain` does, with AVX-512F.
///
/// # Safety
/// As `exchange_plain`, on a processor with AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn exchange_avx512(live: *mut u8, keep: *mut u8, load: *const u8, lines: usize) {
    use std::arch::x86_64::*;
    for line in 0..lines {
        // SAFETY: inside the lines (the caller's contract).
        unsafe {
            let live = live.add(line * LINE);
            _mm512_storeu_si512(keep.add(line * LINE).cast(), _mm512_loadu_si512(live.cast()));
            _mm512_storeu_si512(live.cast(), _mm512_loadu_si512(load.add(line * LINE).cast()));
        }
    }
}

/// A function that says whether `lines` lines at `memory` agree with `template` in the bits that `fixed` has;
/// both of these begin where a line does.
pub(crate) type Fits =
    unsafe fn(memory: *const Line, template: *const Line, fixed: *const Line, lines: usize) -> bool;

/// Returns the fastest way that this processor has to see whether lines fit.
pub(crate) fn fits() -> Fits {
    fastest!(fits_avx512, fits_avx2, fits_plain)
}

/// Returns `true` if the lines fit, on any processor.
///
/// # Safety
/// As [`Fits`].
unsafe fn fits_plain(memory: *const Line, template: *const Line, fixed: *const Line, lines: usize) -> bool {
    let mut differs = [0u64; LINE / 8];
    for line in 0..lines {
        for (word, differs) in differs.iter_mut().enumerate() {
            // SAFETY: inside the lines (the contract).
            let at = |lines: *const Line| unsafe { lines.add(line).cast::<u64>().add(word).read_unaligned() };
            *differs |= (at(memory) ^ at(template)) & at(fixed);
        }
    }
    differs == [0; LINE / 8]
}

/// Returns `true` if the lines fit, with AVX2.
///
/// # Safety
/// As [`Fits`], on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn fits_avx2(memory: *const Line, template: *const Line, fixed: *const Line, lines: usize) -> bool {
    use std::arch::x86_64::*;
    let mut differs = [_mm256_setzero_si256(); 2];
    for line in 0..lines {
        for (half, differs) in differs.iter_mut().enumerate() {
            // SAFETY: inside the lines (the contract).
            unsafe {
                let at = |lines: *const Line| lines.add(line).cast::<__m256i>().add(half);
                let other = _mm256_xor_si256(_mm256_loadu_si256(at(memory)), _mm256_load_si256(at(template)));
                *differs = _mm256_or_si256(*differs, _mm256_and_si256(other, _mm256_load_si256(at(fixed))));
            }
        }
    }
    let differs = _mm256_or_si256(differs[0], differs[1]);
    _mm256_testz_si256(differs, differs) != 0
}

/// Returns `true` if the lines fit, with AVX-512F.
///
/// # Safety
/// As [`Fits`], on a processor with AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn fits_avx512(memory: *const Line, template: *const Line, fixed: *const Line, lines: usize) -> bool {
    use std::arch::x86_64::*;
    /// a | b & c
    const OR_AND: i32 = 0xf8;
    let mut differs = _mm512_setzero_si512();
    for line in 0..lines {
        // SAFETY: inside the lines (the contract).
        unsafe {
            let other = _mm512_xor_si512(
                _mm512_loadu_si512(memory.add(line).cast()),
                _mm512_load_si512(template.add(line).cast()),
            );
            differs = _mm512_ternarylogic_epi32::<OR_AND>(
                differs,
                other,
                _mm512_load_si512(fixed.add(line).cast()),
            );
        }
    }
    _mm512_test_epi32_mask(differs, differs) == 0
}

/// Copies one line.
///
/// # Safety
/// `LINE` readable bytes at `from` and writable ones at `to`, not overlapping.
#[inline]
pub(crate) unsafe fn copy_line(from: *const u8, to: *mut u8) {
    // SAFETY: the caller's contract. A constant length becomes vector moves, without a call.
    unsafe { std::ptr::copy_nonoverlapping(from, to, LINE) }
}

/// Returns every way that this processor has to see whether lines fit.
#[cfg(test)]
pub(crate) fn all_fits() -> Vec<Fits> {
    let mut kernels: Vec<Fits> = vec![fits_plain, fits()];
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        kernels.push(fits_avx2);
    }
    kernels
}

/// Returns the words that look random, the same from the same seed.
#[cfg(test)]
pub(crate) fn random_words(mut seed: u64) -> impl FnMut() -> u32 {
    move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exchange_keeps_one_and_puts_the_other() {
        for kernel in [exchange_plain as Exchange, exchange()] {
            for lines in [0, 1, 7] {
                let (mut live, mut keep, load) =
                    (vec![1u8; 7 * LINE + 1], vec![2u8; 7 * LINE], vec![3u8; 7 * LINE]);
                // SAFETY: seven lines at each, the first from its second byte on.
                unsafe { kernel(live.as_mut_ptr().add(1), keep.as_mut_ptr(), load.as_ptr(), lines) };
                assert!(
                    live[0] == 1
                        && live[1..1 + lines * LINE].iter().all(|&b| b == 3)
                        && live[1 + lines * LINE..].iter().all(|&b| b == 1)
                );
                assert!(
                    keep[..lines * LINE].iter().all(|&b| b == 1)
                        && keep[lines * LINE..].iter().all(|&b| b == 2)
                );
            }
        }
    }

    #[test]
    fn every_comparison_finds_the_lines_that_differ() {
        let a: Vec<u8> = (0..4096u32 + 1).map(|k| (k * 7 % 251) as u8).collect();
        let mut kernels: Vec<Differ> = vec![differ_scalar, differ()];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            kernels.push(differ_avx2);
        }
        for kernel in kernels {
            for line in 0..64 {
                for byte in [0, 1, 31, 32, 63] {
                    let mut b = a.clone();
                    b[1 + line * LINE + byte] ^= 0x10;
                    // SAFETY: 64 lines from the second byte of both, unaligned on purpose.
                    let found = unsafe { kernel(a.as_ptr().add(1), b.as_ptr().add(1), 64) };
                    assert_eq!(found, 1 << line);
                }
            }
        }
    }
}
