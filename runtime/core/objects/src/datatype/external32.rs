//! The `external32` representation (MPI 5.0 section 14.5.2): big-endian, IEEE, without padding.
//!
//! The elements of a type map in order, each of the size of the standard's table. `long` and
//! `wchar_t` are narrower there than here, and `long double` is a binary128.

use super::constructor::Constructor;
use super::{Datatype, Element, Kind};
use crate::error::{ErrorClass, Failure, Result};
use crate::wide::{F80, F128};

impl Datatype {
    /// Returns the bytes of one instance in `external32`.
    pub fn external_size(&self) -> u64 {
        let mut size = 0;
        self.runs(1, &mut |kind, count| size += kind.external_size() * count);
        size
    }

    /// Returns `MPI_Pack_external_size` of `count` instances.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT` beyond 64 bits.
    pub fn external_bytes(&self, count: u64) -> Result<u64> {
        self.external_size().checked_mul(count).ok_or_else(|| {
            Failure::new(ErrorClass::COUNT, format!("{count} instances exceed 2^64 bytes in external32"))
        })
    }

    /// Converts the packed bytes of `count` instances to `external32`.
    ///
    /// # Errors
    /// `MPI_ERR_CONVERSION` for a `long` or wide character that the narrower form cannot hold.
    // Packed bytes in and out: gaps and strides are the packing's, here there are only elements.
    pub fn to_external(&self, count: u64, packed: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity((self.external_size() * count) as usize);
        let mut rest = packed;
        let mut result = Ok(());
        self.runs(count, &mut |kind, elements| {
            let (head, tail) = rest.split_at((kind.size() * elements) as usize);
            rest = tail;
            if result.is_ok() {
                result = head
                    .chunks_exact(kind.size() as usize)
                    .try_for_each(|element| encode(kind, element, &mut out));
            }
        });
        result.map(|()| out)
    }

    /// Converts `external32` bytes of `count` instances to the packed bytes of this machine.
    pub fn from_external(&self, count: u64, external: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity((self.size * count) as usize);
        let mut rest = external;
        self.runs(count, &mut |kind, elements| {
            let (head, tail) = rest.split_at((kind.external_size() * elements) as usize);
            rest = tail;
            head.chunks_exact(kind.external_size() as usize)
                .for_each(|element| decode(kind, element, &mut out));
        });
        out
    }

    /// Calls `f(kind, how many in a row)` along the signature of `count` instances.
    // Along the constructor and in runs of equal kinds: the type map itself is never written out.
    fn runs(&self, count: u64, f: &mut dyn FnMut(Kind, u64)) {
        match (self.element, &self.constructor) {
            _ if self.size == 0 => {}
            (Some(Element::One(kind)), _) => f(kind, self.element_count * count),
            (Some(Element::Pair(value, index)), _) => {
                for _ in 0..self.element_count / 2 * count {
                    f(value, 1);
                    f(index, 1);
                }
            }
            (None, Constructor::Struct { blocklengths, types, .. }) => {
                for _ in 0..count {
                    for (&length, old) in blocklengths.iter().zip(types) {
                        old.runs(length as u64, f);
                    }
                }
            }
            (None, constructor) => {
                if let Some(old) = constructor.datatypes().first() {
                    old.runs(self.size / old.size * count, f);
                }
            }
        }
    }
}

/// Parts that are reversed on their own: those of a complex number are two.
fn part_size(kind: Kind) -> usize {
    use Kind::*;
    let size = kind.size() as usize;
    if matches!(kind, ComplexF16 | ComplexF32 | ComplexF64 | ComplexF128) { size / 2 } else { size }
}

fn encode(kind: Kind, element: &[u8], out: &mut Vec<u8>) -> Result {
    let wide = |bytes: &[u8]| F80::from_ne_bytes(bytes.try_into().expect("16 bytes")).to_f128().to_ne_bytes();
    match kind {
        Kind::Long => {
            let value = i64::from_ne_bytes(element.try_into().expect("8 bytes"));
            out.extend(i32::try_from(value).map_err(|_| too_wide("long", value))?.to_be_bytes());
        }
        Kind::UnsignedLong => {
            let value = u64::from_ne_bytes(element.try_into().expect("8 bytes"));
            out.extend(u32::try_from(value).map_err(|_| too_wide("unsigned long", value))?.to_be_bytes());
        }
        Kind::WideChar => {
            let value = u32::from_ne_bytes(element.try_into().expect("4 bytes"));
            out.extend(u16::try_from(value).map_err(|_| too_wide("wchar_t", value))?.to_be_bytes());
        }
        Kind::F80 | Kind::ComplexF80 => {
            element.chunks_exact(16).for_each(|part| out.extend(wide(part).iter().rev()))
        }
        _ => element.chunks_exact(part_size(kind)).for_each(|part| out.extend(part.iter().rev())),
    }
    Ok(())
}

fn decode(kind: Kind, element: &[u8], out: &mut Vec<u8>) {
    let narrow = |bytes: &[u8]| {
        let mut bytes: [u8; 16] = bytes.try_into().expect("16 bytes");
        bytes.reverse();
        F80::from_f128(F128::from_ne_bytes(bytes)).to_ne_bytes()
    };
    match kind {
        Kind::Long => {
            out.extend(i64::from(i32::from_be_bytes(element.try_into().expect("4 bytes"))).to_ne_bytes())
        }
        Kind::UnsignedLong => {
            out.extend(u64::from(u32::from_be_bytes(element.try_into().expect("4 bytes"))).to_ne_bytes())
        }
        Kind::WideChar => {
            out.extend(u32::from(u16::from_be_bytes(element.try_into().expect("2 bytes"))).to_ne_bytes())
        }
        Kind::F80 | Kind::ComplexF80 => element.chunks_exact(16).for_each(|part| out.extend(narrow(part))),
        _ => element.chunks_exact(part_size(kind)).for_each(|part| out.extend(part.iter().rev())),
    }
}

#[cold]
fn too_wide(what: &str, value: impl std::fmt::Display) -> Box<Failure> {
    Failure::new(
        ErrorClass::CONVERSION,
        format!("the {what} {value} does not fit its narrower form in external32"),
    )
}

#[cfg(test)]
mod tests {
    use super::super::predefined::*;
    use super::super::{Constructor, Datatype, Types};
    use crate::error::ErrorClass;

    fn round_trip(handle: usize, count: u64, packed: &[u8], external: &[u8]) {
        let types = Types::new();
        let datatype = types.get(handle).unwrap();
        assert_eq!(datatype.external_bytes(count).unwrap(), external.len() as u64);
        assert_eq!(datatype.to_external(count, packed).unwrap(), external);
        assert_eq!(datatype.from_external(count, external), packed);
    }

    #[test]
    fn numbers_are_big_endian_and_of_the_standards_sizes() {
        round_trip(INT, 2, &[1, 2, 3, 4, 5, 6, 7, 8], &[4, 3, 2, 1, 8, 7, 6, 5]);
        round_trip(LONG, 1, &(-2i64).to_ne_bytes(), &(-2i32).to_be_bytes());
        round_trip(DOUBLE, 1, &1.5f64.to_ne_bytes(), &1.5f64.to_be_bytes());
        round_trip(BYTE, 3, b"abc", b"abc");
        let complex = [1.0f32.to_ne_bytes(), 2.0f32.to_ne_bytes()].concat();
        round_trip(COMPLEX, 1, &complex, &[1.0f32.to_be_bytes(), 2.0f32.to_be_bytes()].concat());
        let pair = [&2.5f64.to_ne_bytes()[..], &7i32.to_ne_bytes()].concat();
        round_trip(DOUBLE_INT, 1, &pair, &[&2.5f64.to_be_bytes()[..], &7i32.to_be_bytes()].concat());
    }

    #[test]
    fn long_double_becomes_binary128() {
        let one = [&[0u8; 7][..], &[0x80, 0xff, 0x3f], &[0; 6]].concat();
        let external = [&[0x3f, 0xff][..], &[0; 14]].concat();
        round_trip(LONG_DOUBLE, 1, &one, &external);
    }

    #[test]
    fn a_long_that_does_not_fit_is_an_error() {
        let types = Types::new();
        let failure = types.get(LONG).unwrap().to_external(1, &(1i64 << 40).to_ne_bytes()).unwrap_err();
        assert_eq!(failure.class, ErrorClass::CONVERSION);
    }

    #[test]
    fn structs_convert_field_by_field() {
        let types = Types::new();
        let old = |handle| super::super::constructor::Old::from(types.get(handle).unwrap());
        let fields = Constructor::Struct {
            blocklengths: [2, 1].into(),
            displacements: [0, 8].into(),
            types: [old(SHORT), old(INT)].into(),
            large: false,
        };
        let pairs = Datatype::new(Constructor::Contiguous {
            count: 2,
            old: Datatype::new(fields).unwrap().into(),
            large: false,
        })
        .unwrap();
        let packed: Vec<u8> = (1..=16).collect();
        let external = pairs.to_external(1, &packed).unwrap();
        assert_eq!(external, [2, 1, 4, 3, 8, 7, 6, 5, 10, 9, 12, 11, 16, 15, 14, 13]);
        assert_eq!(pairs.from_external(1, &external), packed);
        assert_eq!(pairs.external_size(), 16);
    }
}
