//! Floats that Rust has no type for: `long double` (x87, 64-bit significand), binary128 and
//! binary16, with the sums, products and comparisons that reductions need, and complex numbers.
//!
//! Results are rounded to nearest, ties to even (IEEE 754-2019 section 4.3.1), as the machine's
//! are; a NaN is always the quiet one.

use std::cmp::Ordering;
use std::ops::{Add, Mul, Neg};

/// Bit of an unpacked significand's leading one. A carry of a sum fits above it. Below the 113 bits of a
/// binary128, 13 bits and the sticky bit are left for rounding.
const TOP: i32 = 126;
const MIN_EXPONENT: i32 = -16382;
const MAX_EXPONENT: i32 = 16383;

/// A number on the way between two formats.
// One format wide enough for all three, so that each operation is written once and rounded once.
#[derive(Clone, Copy, Debug)]
enum Unpacked {
    Nan,
    Infinite {
        negative: bool,
    },
    Zero {
        negative: bool,
    },
    /// `significand * 2^(exponent - TOP)`, the leading one at bit `TOP`; the last bit is sticky.
    Finite {
        negative: bool,
        exponent: i32,
        significand: u128,
    },
}
use Unpacked::{Finite, Infinite, Nan, Zero};

/// Shifts right, keeping in the last bit whether anything was lost.
// The sticky bit is all that rounding needs to know of what was shifted out.
fn jam(value: u128, by: u32) -> u128 {
    match by {
        0 => value,
        1..=127 => (value >> by) | u128::from(value & ((1 << by) - 1) != 0),
        _ => u128::from(value != 0),
    }
}

/// Moves the leading one to bit `TOP`.
fn normalise(negative: bool, exponent: i32, significand: u128) -> Unpacked {
    if significand == 0 {
        return Zero { negative };
    }
    let by = significand.leading_zeros() as i32 - (127 - TOP);
    let moved = if by >= 0 { significand << by } else { jam(significand, 1) };
    Finite { negative, exponent: exponent - by, significand: moved }
}

impl Unpacked {
    /// Builds it from a sign, a biased exponent and a significand of `bits` with explicit leading bit.
    fn new(negative: bool, biased: i32, significand: u128, bits: i32) -> Unpacked {
        if biased == 0x7fff {
            let fraction = significand & ((1 << (bits - 1)) - 1);
            return if fraction == 0 { Infinite { negative } } else { Nan };
        }
        normalise(negative, biased.max(1) - MAX_EXPONENT, significand << (TOP - (bits - 1)))
    }

    /// Rounds to a sign, a biased exponent and a significand of `bits` with explicit leading bit.
    fn round(self, bits: i32) -> (bool, i32, u128) {
        match self {
            Nan => (false, 0x7fff, 3 << (bits - 2)),
            Infinite { negative } => (negative, 0x7fff, 1 << (bits - 1)),
            Zero { negative } => (negative, 0, 0),
            Finite { negative, exponent, significand } => {
                let below = (MIN_EXPONENT - exponent).max(0);
                let significand = jam(significand, below as u32);
                let drop = TOP + 1 - bits;
                let (kept, lost, half) =
                    (significand >> drop, significand & ((1 << drop) - 1), 1 << (drop - 1));
                let mut rounded = kept + u128::from(lost > half || (lost == half && kept & 1 == 1));
                let mut exponent = exponent + below;
                if rounded >> bits != 0 {
                    rounded >>= 1;
                    exponent += 1;
                }
                if exponent > MAX_EXPONENT {
                    return Infinite { negative }.round(bits);
                }
                let normal = rounded >> (bits - 1) != 0;
                (negative, if normal { exponent + MAX_EXPONENT } else { 0 }, rounded)
            }
        }
    }

    fn negative(self) -> bool {
        match self {
            Nan => false,
            Infinite { negative } | Zero { negative } | Finite { negative, .. } => negative,
        }
    }

    fn add(self, other: Unpacked) -> Unpacked {
        match (self, other) {
            (Nan, _) | (_, Nan) => Nan,
            (Infinite { negative: a }, Infinite { negative: b }) if a != b => Nan,
            (Infinite { .. }, _) => self,
            (_, Infinite { .. }) => other,
            (Zero { negative: a }, Zero { negative: b }) => Zero { negative: a && b },
            (Zero { .. }, _) => other,
            (_, Zero { .. }) => self,
            (Finite { exponent: a, .. }, Finite { exponent: b, .. }) if a < b => other.add(self),
            (
                Finite { negative: a, exponent, significand: x },
                Finite { negative: b, exponent: lesser, significand: y },
            ) => {
                let y = jam(y, (exponent - lesser) as u32);
                if a == b {
                    normalise(a, exponent, x + y)
                } else if x == y {
                    Zero { negative: false }
                } else if x > y {
                    normalise(a, exponent, x - y)
                } else {
                    normalise(b, exponent, y - x)
                }
            }
        }
    }

    fn mul(self, other: Unpacked) -> Unpacked {
        let negative = self.negative() != other.negative();
        match (self, other) {
            (Nan, _) | (_, Nan) | (Infinite { .. }, Zero { .. }) | (Zero { .. }, Infinite { .. }) => Nan,
            (Infinite { .. }, _) | (_, Infinite { .. }) => Infinite { negative },
            (Zero { .. }, _) | (_, Zero { .. }) => Zero { negative },
            (Finite { exponent: a, significand: x, .. }, Finite { exponent: b, significand: y, .. }) => {
                let (high, low) = product(x, y);
                // Both have 126 bits below the leading one, the high half of the product 124.
                normalise(negative, a + b + (TOP - 124), high | u128::from(low != 0))
            }
        }
    }

    fn compare(self, other: Unpacked) -> Option<Ordering> {
        let magnitude = |of: Unpacked| match of {
            Zero { .. } | Nan => (i32::MIN, 0),
            Infinite { .. } => (i32::MAX, 0),
            Finite { exponent, significand, .. } => (exponent, significand),
        };
        match (self, other) {
            (Nan, _) | (_, Nan) => None,
            (Zero { .. }, Zero { .. }) => Some(Ordering::Equal),
            _ => Some(match (self.negative(), other.negative()) {
                (false, false) => magnitude(self).cmp(&magnitude(other)),
                (true, true) => magnitude(other).cmp(&magnitude(self)),
                (false, true) if matches!(self, Zero { .. }) && matches!(other, Zero { .. }) => {
                    Ordering::Equal
                }
                (false, true) => Ordering::Greater,
                (true, false) => Ordering::Less,
            }),
        }
    }
}

/// The 256-bit product as (high, low).
// Four products of halves: no integer of 256 bits exists, and only whether the low half is zero is needed of
// it.
fn product(x: u128, y: u128) -> (u128, u128) {
    const LOW: u128 = u64::MAX as u128;
    let (x1, x0, y1, y0) = (x >> 64, x & LOW, y >> 64, y & LOW);
    let (low, mid, other, high) = (x0 * y0, x1 * y0, x0 * y1, x1 * y1);
    let carry = (low >> 64) + (mid & LOW) + (other & LOW);
    (high + (mid >> 64) + (other >> 64) + (carry >> 64), (carry << 64) | (low & LOW))
}

macro_rules! arithmetic {
    ($type:ident) => {
        impl Add for $type {
            type Output = $type;
            fn add(self, other: $type) -> $type {
                $type::pack(self.unpack().add(other.unpack()))
            }
        }
        impl Mul for $type {
            type Output = $type;
            fn mul(self, other: $type) -> $type {
                $type::pack(self.unpack().mul(other.unpack()))
            }
        }
        impl PartialEq for $type {
            fn eq(&self, other: &$type) -> bool {
                self.unpack().compare(other.unpack()) == Some(Ordering::Equal)
            }
        }
        impl PartialOrd for $type {
            fn partial_cmp(&self, other: &$type) -> Option<Ordering> {
                self.unpack().compare(other.unpack())
            }
        }
    };
}

/// C's `long double` on x86-64: ten bytes of x87 extended precision, six of padding.
#[derive(Clone, Copy, Debug)]
pub struct F80([u8; 16]);
arithmetic!(F80);

impl F80 {
    /// Builds it from its bytes in memory.
    pub fn from_ne_bytes(bytes: [u8; 16]) -> F80 {
        F80(bytes)
    }
    /// Returns its bytes in memory, the padding zero.
    pub fn to_ne_bytes(self) -> [u8; 16] {
        self.0
    }
    /// Returns this value in binary128 (exact).
    pub fn to_f128(self) -> F128 {
        F128::pack(self.unpack())
    }
    /// Returns the nearest value.
    pub fn from_f128(value: F128) -> F80 {
        F80::pack(value.unpack())
    }
    fn unpack(self) -> Unpacked {
        let bits = u128::from_le_bytes(self.0);
        let head = (bits >> 64) as i32;
        Unpacked::new(head & 0x8000 != 0, head & 0x7fff, bits & u128::from(u64::MAX), 64)
    }
    fn pack(value: Unpacked) -> F80 {
        let (negative, biased, significand) = value.round(64);
        F80((significand | (biased as u128) << 64 | u128::from(negative) << 79).to_le_bytes())
    }
}
impl Neg for F80 {
    type Output = F80;
    fn neg(mut self) -> F80 {
        self.0[9] ^= 0x80;
        self
    }
}

/// IEEE binary128.
#[derive(Clone, Copy, Debug)]
pub struct F128([u8; 16]);
arithmetic!(F128);

impl F128 {
    /// Builds it from its bytes in memory.
    pub fn from_ne_bytes(bytes: [u8; 16]) -> F128 {
        F128(bytes)
    }
    /// Returns its bytes in memory.
    pub fn to_ne_bytes(self) -> [u8; 16] {
        self.0
    }
    fn unpack(self) -> Unpacked {
        let bits = u128::from_le_bytes(self.0);
        let (biased, fraction) = ((bits >> 112) as i32 & 0x7fff, bits & ((1 << 112) - 1));
        Unpacked::new(bits >> 127 != 0, biased, fraction | u128::from(biased != 0) << 112, 113)
    }
    fn pack(value: Unpacked) -> F128 {
        let (negative, biased, significand) = value.round(113);
        F128(
            (significand & ((1 << 112) - 1) | (biased as u128) << 112 | u128::from(negative) << 127)
                .to_le_bytes(),
        )
    }
}
impl Neg for F128 {
    type Output = F128;
    fn neg(mut self) -> F128 {
        self.0[15] ^= 0x80;
        self
    }
}

/// IEEE binary16. Sums and products go through `f32`, whose 24 bits are at least 2 * 11 + 2, so
/// that rounding twice is rounding once.
#[derive(Clone, Copy, Debug)]
pub struct F16([u8; 2]);

impl F16 {
    /// Builds it from its bytes in memory.
    pub fn from_ne_bytes(bytes: [u8; 2]) -> F16 {
        F16(bytes)
    }
    /// Returns its bytes in memory.
    pub fn to_ne_bytes(self) -> [u8; 2] {
        self.0
    }
    /// Returns this value.
    pub fn to_f32(self) -> f32 {
        let bits = u32::from(u16::from_ne_bytes(self.0));
        let (sign, exponent, fraction) = ((bits & 0x8000) << 16, bits >> 10 & 0x1f, bits & 0x3ff);
        match exponent {
            0 => f32::from_bits((fraction as f32 * 2f32.powi(-24)).to_bits() | sign),
            0x1f => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
            _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
        }
    }
    /// Returns the nearest value.
    pub fn from_f32(value: f32) -> F16 {
        let bits = value.to_bits();
        let (sign, magnitude) = ((bits >> 16 & 0x8000) as u16, f32::from_bits(bits & 0x7fff_ffff));
        let half = if magnitude.is_nan() {
            0x7e00
        } else if magnitude >= 65520.0 {
            0x7c00
        } else {
            // Adding 2^(e + 13) leaves the bits of a half in the low end, rounded as the machine rounds.
            let exponent = ((magnitude.to_bits() >> 23) as i32 - 127).max(-14);
            let magic = 2f32.powi(exponent + 13);
            let steps = ((magnitude + magic).to_bits() - magic.to_bits()) as u16;
            if exponent == -14 { steps } else { (((exponent + 14) as u16) << 10) + steps }
        };
        F16((sign | half).to_ne_bytes())
    }
}
impl Add for F16 {
    type Output = F16;
    fn add(self, other: F16) -> F16 {
        F16::from_f32(self.to_f32() + other.to_f32())
    }
}
impl Mul for F16 {
    type Output = F16;
    fn mul(self, other: F16) -> F16 {
        F16::from_f32(self.to_f32() * other.to_f32())
    }
}
impl Neg for F16 {
    type Output = F16;
    fn neg(self) -> F16 {
        F16((u16::from_ne_bytes(self.0) ^ 0x8000).to_ne_bytes())
    }
}
impl PartialEq for F16 {
    fn eq(&self, other: &F16) -> bool {
        self.to_f32() == other.to_f32()
    }
}
impl PartialOrd for F16 {
    fn partial_cmp(&self, other: &F16) -> Option<Ordering> {
        self.to_f32().partial_cmp(&other.to_f32())
    }
}

macro_rules! complex {
    ($name:ident, $part:ty) => {
        /// A complex number: real part, imaginary part.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name($part, $part);

        impl $name {
            /// Builds it from its bytes in memory.
            pub fn from_ne_bytes(bytes: [u8; 2 * size_of::<$part>()]) -> $name {
                let part = |chunk: Option<&[u8; size_of::<$part>()]>| {
                    <$part>::from_ne_bytes(*chunk.expect("half of the bytes"))
                };
                $name(part(bytes.first_chunk()), part(bytes.last_chunk()))
            }
            /// Returns its bytes in memory.
            pub fn to_ne_bytes(self) -> [u8; 2 * size_of::<$part>()] {
                let mut bytes = [0; 2 * size_of::<$part>()];
                let (real, imaginary) = bytes.split_at_mut(size_of::<$part>());
                real.copy_from_slice(&self.0.to_ne_bytes());
                imaginary.copy_from_slice(&self.1.to_ne_bytes());
                bytes
            }
        }
        impl Add for $name {
            type Output = $name;
            fn add(self, other: $name) -> $name {
                $name(self.0 + other.0, self.1 + other.1)
            }
        }
        impl Mul for $name {
            type Output = $name;
            fn mul(self, other: $name) -> $name {
                $name(self.0 * other.0 + -(self.1 * other.1), self.0 * other.1 + self.1 * other.0)
            }
        }
    };
}
complex!(ComplexF16, F16);
complex!(ComplexF32, f32);
complex!(ComplexF64, f64);
complex!(ComplexF80, F80);
complex!(ComplexF128, F128);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns an `f64` as the wider types hold it, built from the definition of binary64.
    fn unpack(value: f64) -> Unpacked {
        let bits = value.to_bits();
        let (negative, biased, fraction) =
            (bits >> 63 != 0, (bits >> 52 & 0x7ff) as i32, u128::from(bits & ((1 << 52) - 1)));
        match biased {
            0x7ff if fraction != 0 => Nan,
            0x7ff => Infinite { negative },
            _ => normalise(
                negative,
                biased.max(1) - 1023,
                (fraction | u128::from(biased != 0) << 52) << (TOP - 52),
            ),
        }
    }
    /// Returns the nearest `f64` whose exponent is that of a normal number.
    fn to_f64(value: Unpacked) -> f64 {
        let (negative, biased, significand) = value.round(53);
        let magnitude = match biased {
            0x7fff if significand == 1 << 52 => f64::INFINITY,
            0x7fff => f64::NAN,
            _ if significand == 0 => 0.0,
            _ => significand as f64 * 2f64.powi(biased.max(1) - MAX_EXPONENT - 52),
        };
        if negative { -magnitude } else { magnitude }
    }

    fn normal() -> impl Strategy<Value = f64> {
        (any::<bool>(), -200i32..200, 0u64..1 << 52).prop_map(|(negative, exponent, fraction)| {
            let value = f64::from_bits(((exponent + 1023) as u64) << 52 | fraction);
            if negative { -value } else { value }
        })
    }

    proptest! {
        #[test]
        fn sums_products_and_order_round_as_the_machine_does(a in normal(), b in normal()) {
            prop_assert_eq!(to_f64(unpack(a).add(unpack(b))).to_bits(), (a + b).to_bits());
            prop_assert_eq!(to_f64(unpack(a).mul(unpack(b))).to_bits(), (a * b).to_bits());
            prop_assert_eq!(unpack(a).compare(unpack(b)), a.partial_cmp(&b));
            prop_assert_eq!(to_f64(F80::pack(unpack(a)).unpack()), a);
            prop_assert_eq!(to_f64(F128::pack(unpack(a)).unpack()), a);
            prop_assert_eq!(to_f64(F80::from_f128(F80::pack(unpack(a)).to_f128()).unpack()), a);
        }

        #[test]
        fn near_exponents_cancel_as_the_machine_does(a in 1.0f64..4.0, b in 1.0f64..4.0) {
            prop_assert_eq!(to_f64(unpack(a).add(unpack(-b))).to_bits(), (a - b).to_bits());
        }

        #[test]
        fn any_bits_survive_a_round_trip(bits in any::<u128>()) {
            let value = F128(bits.to_le_bytes());
            if !matches!(value.unpack(), Nan) { prop_assert_eq!(F128::pack(value.unpack()).0, value.0); }
        }
    }

    #[test]
    fn special_values_follow_ieee() {
        let f80 = |value: f64| F80::pack(unpack(value));
        assert!(f80(f64::NAN) != f80(f64::NAN));
        assert!(f80(f64::INFINITY) > f80(1e300));
        assert!(f80(0.0) == f80(-0.0));
        assert!(f80(-1.0) < f80(0.0) && f80(0.0) < f80(1.0));
        assert!((f80(f64::INFINITY) + f80(f64::NEG_INFINITY)).partial_cmp(&f80(0.0)).is_none());
        let mut large = f80(1e300);
        for _ in 0..5 {
            large = large * large;
        }
        assert!(large == f80(f64::INFINITY));
        let one = f80(1.0).to_ne_bytes();
        assert_eq!(one[..10], [0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f]);
        let tiny = F80((1u128).to_le_bytes());
        assert_eq!((tiny + tiny).0, 2u128.to_le_bytes());
        assert!(tiny * f80(0.25) == f80(0.0));
    }

    #[test]
    fn every_half_survives_a_round_trip_and_rounds_to_even() {
        for bits in 0..=u16::MAX {
            let half = F16(bits.to_ne_bytes());
            if !half.to_f32().is_nan() {
                assert_eq!(F16::from_f32(half.to_f32()).0, half.0, "{bits:#x}");
            }
        }
        assert_eq!(F16::from_f32(2049.0).to_f32(), 2048.0);
        assert_eq!(F16::from_f32(2051.0).to_f32(), 2052.0);
        assert_eq!(F16::from_f32(65519.0).to_f32(), 65504.0);
        assert_eq!(F16::from_f32(65520.0).to_f32(), f32::INFINITY);
        assert_eq!(F16::from_f32(2f32.powi(-25)).to_f32(), 0.0);
    }
}
