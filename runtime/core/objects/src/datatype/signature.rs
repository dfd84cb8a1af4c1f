//! Type signatures as hashes that concatenate, so that huge types compare in O(log count).
//!
//! A signature is a word over the kinds of elements. Its hash is a polynomial in a fixed base
//! modulo the prime 2^61 - 1, so that the hash of a concatenation, and of a repetition by
//! squaring, follows from the parts (as in W. Gropp, "Runtime Checking of Datatype Signatures
//! in MPI", EuroPVM/MPI 2000, who combines hashes with lengths).

use super::kind::{Element, Kind};

// A Mersenne prime: reducing modulo it is a shift and an addition, and two different signatures collide once
// in 2^61 or so per element.
const PRIME: u64 = (1 << 61) - 1;
const BASE: u64 = 0x1a2b_3c4d_5e6f_7081 % PRIME;

fn mul(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    let folded = (wide & u128::from(PRIME)) as u64 + (wide >> 61) as u64;
    if folded >= PRIME { folded - PRIME } else { folded }
}

fn add(a: u64, b: u64) -> u64 {
    let sum = a + b;
    if sum >= PRIME { sum - PRIME } else { sum }
}

/// The signature of a number of elements; equal words have equal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    hash: u64,
    /// The base to the power of the length.
    power: u64,
    /// `true` if raw bytes occur: those match anything of their length.
    // `MPI_BYTE` and `MPI_PACKED` match anything (MPI 5.0 section 3.3.1), which a hash cannot say.
    raw: bool,
}

impl Signature {
    /// No element at all.
    pub const EMPTY: Signature = Signature { hash: 0, power: 1, raw: false };

    /// Returns one element.
    pub fn of(kind: Kind) -> Signature {
        Signature { hash: kind.representation() as u64 + 1, power: BASE, raw: kind == Kind::Byte }
    }

    /// Returns what it is made of, for another process: hash, power, whether raw bytes occur.
    pub fn parts(self) -> (u64, u64, bool) {
        (self.hash, self.power, self.raw)
    }

    /// Returns what [`parts`](Self::parts) gave.
    pub fn from_parts(hash: u64, power: u64, raw: bool) -> Signature {
        Signature { hash, power, raw }
    }

    /// Returns this signature, and then the other.
    pub fn then(self, next: Signature) -> Signature {
        Signature {
            hash: add(mul(self.hash, next.power), next.hash),
            power: mul(self.power, next.power),
            raw: self.raw || next.raw,
        }
    }

    /// Returns this signature `count` times.
    pub fn times(self, mut count: u64) -> Signature {
        let (mut result, mut square) = (Signature::EMPTY, self);
        while count != 0 {
            if count & 1 != 0 {
                result = result.then(square);
            }
            square = square.then(square);
            count >>= 1;
        }
        result
    }

    /// Returns `true` if data sent as `self` may be received as `other` of the same number of bytes.
    pub fn matches(self, other: Signature) -> bool {
        self.raw || other.raw || (self.hash == other.hash && self.power == other.power)
    }
}

impl super::Datatype {
    /// Returns the signature and the bytes of one element, if all elements are alike.
    pub fn alike(&self) -> Option<(Signature, u64)> {
        self.element.map(|element| match element {
            Element::One(kind) => (Signature::of(kind), kind.size()),
            Element::Pair(value, index) => (Signature::of(value).then(Signature::of(index)), element.size()),
        })
    }

    /// Returns `true` if `count` instances sent may be received by `theirs`, `their_count` instances of room
    /// (MPI 5.0 section 3.3.1). Where the receiver has room left over, only whole instances can be compared,
    /// and anything else passes.
    pub fn signature_matches(&self, count: u64, theirs: &super::Datatype, their_count: u64) -> bool {
        if self.size == 0 || theirs.size == 0 || count == 0 {
            return true;
        }
        let Some(bytes) = self.size.checked_mul(count) else { return true };
        if bytes % theirs.size != 0 || bytes / theirs.size > their_count {
            return true;
        }
        self.signature.times(count).matches(theirs.signature.times(bytes / theirs.size))
    }
}
