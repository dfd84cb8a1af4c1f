//! The loops of the predefined operations: `inout = in op inout`, element by element.

use super::Predefined;
use crate::datatype::{Element, Kind};
use crate::wide::{ComplexF16, ComplexF32, ComplexF64, ComplexF80, ComplexF128, F16, F80, F128};

/// Combines two packed buffers of one length: `inout[i] = input[i] op inout[i]`.
// On packed bytes of any alignment: contributions lie one behind the other, wherever they end up.
pub type Kernel = fn(input: &[u8], inout: &mut [u8]);

/// A loop over values of a type with `from_ne_bytes` and `to_ne_bytes`, which the compiler turns
/// into vector code for the machine's own types.
// Chunks of a constant length and not pointers: safe, and the compiler makes the same vector code of it.
macro_rules! each {
    ($type:ty, |$a:ident, $b:ident| $result:expr) => {
        Some(
            (|input: &[u8], inout: &mut [u8]| {
                let (input, _) = input.as_chunks::<{ size_of::<$type>() }>();
                let (inout, _) = inout.as_chunks_mut::<{ size_of::<$type>() }>();
                for (a, b) in input.iter().zip(inout) {
                    let ($a, $b) = (<$type>::from_ne_bytes(*a), <$type>::from_ne_bytes(*b));
                    let result: $type = $result;
                    *b = result.to_ne_bytes();
                }
            }) as Kernel,
        )
    };
}

macro_rules! integers {
    ($op:expr, $type:ty) => {
        match $op {
            // C leaves overflow undefined; the machine's addition wraps.
            Predefined::Sum => each!($type, |a, b| a.wrapping_add(b)),
            Predefined::Prod => each!($type, |a, b| a.wrapping_mul(b)),
            Predefined::Max => each!($type, |a, b| a.max(b)),
            Predefined::Min => each!($type, |a, b| a.min(b)),
            Predefined::Band => each!($type, |a, b| a & b),
            Predefined::Bor => each!($type, |a, b| a | b),
            Predefined::Bxor => each!($type, |a, b| a ^ b),
            other => logicals!(other, $type),
        }
    };
}

macro_rules! logicals {
    ($op:expr, $type:ty) => {
        match $op {
            Predefined::Land => each!($type, |a, b| (a != 0 && b != 0) as $type),
            Predefined::Lor => each!($type, |a, b| (a != 0 || b != 0) as $type),
            Predefined::Lxor => each!($type, |a, b| ((a != 0) != (b != 0)) as $type),
            _ => None,
        }
    };
}

macro_rules! floats {
    ($op:expr, $type:ty) => {
        match $op {
            Predefined::Sum => each!($type, |a, b| a + b),
            Predefined::Prod => each!($type, |a, b| a * b),
            // As C's `a > b ? a : b`: a NaN loses from the left and wins from the right, where `f64::max`
            // would drop it.
            Predefined::Max => each!($type, |a, b| if a > b { a } else { b }),
            Predefined::Min => each!($type, |a, b| if a < b { a } else { b }),
            _ => None,
        }
    };
}

macro_rules! complexes {
    ($op:expr, $type:ty) => {
        match $op {
            Predefined::Sum => each!($type, |a, b| a + b),
            Predefined::Prod => each!($type, |a, b| a * b),
            _ => None,
        }
    };
}

/// A loop over packed (value, index): the better value, and of equal ones the lesser index.
// Pairs are packed without padding here; C's struct of them is put together again when the result is
// unpacked.
macro_rules! pairs {
    ($op:expr, $value:ty, $index:ty) => {
        match $op {
            Predefined::Maxloc => pairs!(@each $value, $index, >),
            Predefined::Minloc => pairs!(@each $value, $index, <),
            _ => None,
        }
    };
    (@each $value:ty, $index:ty, $better:tt) => {
        Some((|input: &[u8], inout: &mut [u8]| {
            const VALUE: usize = size_of::<$value>();
            const BOTH: usize = VALUE + size_of::<$index>();
            let value = |pair: &[u8; BOTH]| <$value>::from_ne_bytes(*pair.first_chunk().expect("value"));
            let index = |pair: &[u8; BOTH]| <$index>::from_ne_bytes(*pair.last_chunk().expect("index"));
            let (input, _) = input.as_chunks::<BOTH>();
            let (inout, _) = inout.as_chunks_mut::<BOTH>();
            for (a, b) in input.iter().zip(inout) {
                if value(a) $better value(b) || (value(a) == value(b) && index(a) < index(b)) {
                    *b = *a;
                }
            }
        }) as Kernel)
    };
}

/// The loop for an operation on an element; none where MPI 5.0 section 6.9.2 defines none.
///
/// Beyond the standard's table, all integers take all of the integer operations, whichever
/// language they are of, and so do characters and bytes ([`Predefined::is_lenient_on`]).
pub fn kernel(op: Predefined, element: Element) -> Option<Kernel> {
    match (op, element) {
        (Predefined::Replace, _) => Some(|input, inout| inout.copy_from_slice(input)),
        (Predefined::NoOp, _) => Some(|_, _| {}),
        (op, Element::One(kind)) => single(op, kind),
        (op, Element::Pair(value, index)) => pair(op, value, index),
    }
}

fn single(op: Predefined, kind: Kind) -> Option<Kernel> {
    match kind {
        // Beyond bits as a C `unsigned char`.
        Kind::Byte => integers!(op, u8),
        // A C `char`, of which MPI says nothing.
        Kind::Char => integers!(op, i8),
        Kind::WideChar => None,
        Kind::I8 => integers!(op, i8),
        Kind::I16 => integers!(op, i16),
        Kind::I32 => integers!(op, i32),
        Kind::I64 | Kind::Long => integers!(op, i64),
        Kind::I128 => integers!(op, i128),
        Kind::U8 => integers!(op, u8),
        Kind::U16 => integers!(op, u16),
        Kind::U32 => integers!(op, u32),
        Kind::U64 | Kind::UnsignedLong => integers!(op, u64),
        Kind::F16 => floats!(op, F16),
        Kind::F32 => floats!(op, f32),
        Kind::F64 => floats!(op, f64),
        Kind::F80 => floats!(op, F80),
        Kind::F128 => floats!(op, F128),
        Kind::ComplexF16 => complexes!(op, ComplexF16),
        Kind::ComplexF32 => complexes!(op, ComplexF32),
        Kind::ComplexF64 => complexes!(op, ComplexF64),
        Kind::ComplexF80 => complexes!(op, ComplexF80),
        Kind::ComplexF128 => complexes!(op, ComplexF128),
        Kind::Bool | Kind::Logical1 => logicals!(op, u8),
        Kind::Logical2 => logicals!(op, u16),
        Kind::Logical4 => logicals!(op, u32),
        Kind::Logical8 => logicals!(op, u64),
        Kind::Logical16 => logicals!(op, u128),
    }
}

// By representation: `long` and a 64-bit integer are the same pair.
fn pair(op: Predefined, value: Kind, index: Kind) -> Option<Kernel> {
    match (value.representation(), index.representation()) {
        (Kind::I16, Kind::I32) => pairs!(op, i16, i32),
        (Kind::I32, Kind::I32) => pairs!(op, i32, i32),
        (Kind::I64, Kind::I32) => pairs!(op, i64, i32),
        (Kind::F32, Kind::I32) => pairs!(op, f32, i32),
        (Kind::F64, Kind::I32) => pairs!(op, f64, i32),
        (Kind::F80, Kind::I32) => pairs!(op, F80, i32),
        (Kind::F32, Kind::F32) => pairs!(op, f32, f32),
        (Kind::F64, Kind::F64) => pairs!(op, f64, f64),
        (Kind::F32, Kind::I64) => pairs!(op, f32, i64),
        (Kind::F64, Kind::I64) => pairs!(op, f64, i64),
        (Kind::I32, Kind::I64) => pairs!(op, i32, i64),
        (Kind::I64, Kind::I64) => pairs!(op, i64, i64),
        (Kind::U64, Kind::I32) => pairs!(op, u64, i32),
        (Kind::U64, Kind::I64) => pairs!(op, u64, i64),
        (Kind::U64, Kind::U64) => pairs!(op, u64, u64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Predefined::*;
    use proptest::prelude::*;

    macro_rules! run {
        ($op:expr, $element:expr, $type:ty, $a:expr, $b:expr) => {{
            let input: Vec<u8> = $a.iter().flat_map(|v: &$type| v.to_ne_bytes()).collect();
            let mut inout: Vec<u8> = $b.iter().flat_map(|v: &$type| v.to_ne_bytes()).collect();
            kernel($op, $element).unwrap()(&input, &mut inout);
            inout
                .chunks_exact(size_of::<$type>())
                .map(|c| <$type>::from_ne_bytes(c.try_into().unwrap()))
                .collect::<Vec<$type>>()
        }};
    }

    #[test]
    fn integers_wrap_and_combine_by_the_table() {
        let one = Element::One(Kind::I32);
        assert_eq!(run!(Sum, one, i32, [i32::MAX, -5], [1, 2]), [i32::MIN, -3]);
        assert_eq!(run!(Prod, one, i32, [3, -5], [4, 2]), [12, -10]);
        assert_eq!(run!(Max, one, i32, [3, -5], [4, -7]), [4, -5]);
        assert_eq!(run!(Band, one, i32, [6, 12], [3, 10]), [2, 8]);
        assert_eq!(run!(Land, one, i32, [6, 0], [3, 10]), [1, 0]);
        assert_eq!(run!(Lxor, one, i32, [6, 0], [3, 10]), [0, 1]);
        assert_eq!(run!(Min, Element::One(Kind::U64), u64, [u64::MAX], [7]), [7]);
    }

    #[test]
    fn bytes_combine_as_unsigned_characters_beyond_what_is_said_of_them() {
        let byte = Element::One(Kind::Byte);
        assert_eq!(run!(Sum, byte, u8, [200], [100]), [44]);
        assert_eq!(run!(Max, byte, u8, [200], [100]), [200]);
        assert!(
            Sum.is_lenient_on(byte)
                && !Bor.is_lenient_on(byte)
                && !Replace.is_lenient_on(byte)
                && !Sum.is_lenient_on(Element::One(Kind::U8))
        );
    }

    /// Returns what an operation means on whole numbers of any width, in arithmetic that no width limits.
    fn plain(op: Predefined, a: i128, b: i128) -> i128 {
        let truth = |value: bool| i128::from(value);
        match op {
            Sum => a + b,
            Prod => a.wrapping_mul(b),
            Max => a.max(b),
            Min => a.min(b),
            Band => a & b,
            Bor => a | b,
            Bxor => a ^ b,
            Land => truth(a != 0 && b != 0),
            Lor => truth(a != 0 || b != 0),
            Lxor => truth((a != 0) != (b != 0)),
            other => panic!("{} has its own test", other.name()),
        }
    }

    macro_rules! agrees {
        ($pairs:expr, $($kind:ident $type:ty),*) => { $(
            let (a, b): (Vec<$type>, Vec<$type>) = $pairs.iter().map(
                |&(a, b)| (a as $type, b as $type)
            ).unzip();
            for op in [Sum, Prod, Max, Min, Band, Bor, Bxor, Land, Lor, Lxor] {
                let want: Vec<$type> = a.iter().zip(&b).map(
                    |(&a, &b)| plain(op, a as i128, b as i128) as $type
                ).collect();
                prop_assert_eq!(
                    run!(op, Element::One(Kind::$kind), $type, a, b), want, "{} of {}", op.name(),
                    stringify!($type)
                );
            }
        )* };
    }

    proptest! {
        #[test]
        fn integers_of_every_width_combine_as_whole_numbers_cut_to_it(
            pairs in prop::collection::vec((-200i64..200, any::<i64>()), 0..20),
        ) {
            agrees!(
                pairs, I8 i8, I16 i16, I32 i32, I64 i64, Long i64, U8 u8, U16 u16, U32 u32, U64 u64,
                UnsignedLong u64
            );
        }
    }

    #[test]
    fn floats_and_complex_numbers_are_those_of_the_machine() {
        assert_eq!(run!(Sum, Element::One(Kind::F64), f64, [0.1, 1e300], [0.2, 1e300]), [0.1 + 0.2, 2e300]);
        let product = run!(Prod, Element::One(Kind::ComplexF64), f64, [1.0, 2.0], [3.0, -1.0]);
        assert_eq!(product, [5.0, 5.0]);
        assert!(kernel(Land, Element::One(Kind::F32)).is_none());
        assert!(kernel(Max, Element::One(Kind::ComplexF32)).is_none());
        assert!(kernel(Sum, Element::One(Kind::WideChar)).is_none());
        assert!(kernel(Band, Element::One(Kind::Logical4)).is_none());
    }

    #[test]
    fn the_least_index_wins_among_equal_values() {
        let element = Element::Pair(Kind::F64, Kind::I32);
        let pair = |value: f64, index: i32| [&value.to_ne_bytes()[..], &index.to_ne_bytes()].concat();
        let mut inout = [pair(2.0, 9), pair(2.0, 1), pair(1.0, 7), pair(9.0, 3)].concat();
        kernel(Maxloc, element).unwrap()(
            &[pair(2.0, 4), pair(2.0, 4), pair(3.0, 8), pair(1.0, 0)].concat(),
            &mut inout,
        );
        assert_eq!(inout, [pair(2.0, 4), pair(2.0, 1), pair(3.0, 8), pair(9.0, 3)].concat());
        assert!(kernel(Sum, element).is_none());
        assert!(kernel(Maxloc, Element::One(Kind::F64)).is_none());
    }
}
