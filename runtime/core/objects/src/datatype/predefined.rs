//! The predefined datatypes, with the standard ABI's handles (MPI 5.0 section 20.3).

use super::bounds::Bounds;
use super::constructor::Constructor;
use super::kind::{Element, Kind};
use super::layout::Layout;
use super::{Datatype, Signature};
use crate::abi;
use std::rc::Rc;

/// Composition of a predefined type.
#[derive(Clone, Copy, Debug)]
enum TypeComposition {
    One(Kind),
    /// A C struct of a value and an index, padded as C pads it.
    Pair(Kind, Kind),
}
use Kind::*;
use TypeComposition::{One, Pair};

macro_rules! predefined {
    ($($name:ident $mpi:ident $shape:expr;)*) => {
        $(#[doc = concat!("`", stringify!($mpi), "`")]
        pub const $name: usize = abi::$mpi;)*
        const TABLE: &[(usize, &str, TypeComposition)] = &[$((abi::$mpi, stringify!($mpi), $shape),)*];
    };
}

/// `MPI_DATATYPE_NULL`.
pub const DATATYPE_NULL: usize = abi::MPI_DATATYPE_NULL;

predefined! {
    AINT MPI_AINT One(I64);
    COUNT MPI_COUNT One(I64);
    OFFSET MPI_OFFSET One(I64);
    PACKED MPI_PACKED One(Byte);
    SHORT MPI_SHORT One(I16);
    INT MPI_INT One(I32);
    LONG MPI_LONG One(Long);
    LONG_LONG MPI_LONG_LONG_INT One(I64);
    UNSIGNED_SHORT MPI_UNSIGNED_SHORT One(U16);
    UNSIGNED MPI_UNSIGNED One(U32);
    UNSIGNED_LONG MPI_UNSIGNED_LONG One(UnsignedLong);
    UNSIGNED_LONG_LONG MPI_UNSIGNED_LONG_LONG One(U64);
    FLOAT MPI_FLOAT One(F32);
    C_FLOAT_COMPLEX MPI_C_COMPLEX One(ComplexF32);
    CXX_FLOAT_COMPLEX MPI_CXX_FLOAT_COMPLEX One(ComplexF32);
    DOUBLE MPI_DOUBLE One(F64);
    C_DOUBLE_COMPLEX MPI_C_DOUBLE_COMPLEX One(ComplexF64);
    CXX_DOUBLE_COMPLEX MPI_CXX_DOUBLE_COMPLEX One(ComplexF64);
    LOGICAL MPI_LOGICAL One(Logical4);
    INTEGER MPI_INTEGER One(I32);
    REAL MPI_REAL One(F32);
    COMPLEX MPI_COMPLEX One(ComplexF32);
    DOUBLE_PRECISION MPI_DOUBLE_PRECISION One(F64);
    DOUBLE_COMPLEX MPI_DOUBLE_COMPLEX One(ComplexF64);
    CHARACTER MPI_CHARACTER One(Char);
    LONG_DOUBLE MPI_LONG_DOUBLE One(F80);
    C_LONG_DOUBLE_COMPLEX MPI_C_LONG_DOUBLE_COMPLEX One(ComplexF80);
    CXX_LONG_DOUBLE_COMPLEX MPI_CXX_LONG_DOUBLE_COMPLEX One(ComplexF80);
    FLOAT_INT MPI_FLOAT_INT Pair(F32, I32);
    DOUBLE_INT MPI_DOUBLE_INT Pair(F64, I32);
    LONG_INT MPI_LONG_INT Pair(Long, I32);
    TWO_INT MPI_2INT Pair(I32, I32);
    SHORT_INT MPI_SHORT_INT Pair(I16, I32);
    LONG_DOUBLE_INT MPI_LONG_DOUBLE_INT Pair(F80, I32);
    TWO_REAL MPI_2REAL Pair(F32, F32);
    TWO_DOUBLE_PRECISION MPI_2DOUBLE_PRECISION Pair(F64, F64);
    TWO_INTEGER MPI_2INTEGER Pair(I32, I32);
    C_BOOL MPI_C_BOOL One(Bool);
    CXX_BOOL MPI_CXX_BOOL One(Bool);
    WCHAR MPI_WCHAR One(WideChar);
    INT8_T MPI_INT8_T One(I8);
    UINT8_T MPI_UINT8_T One(U8);
    CHAR MPI_CHAR One(Char);
    SIGNED_CHAR MPI_SIGNED_CHAR One(I8);
    UNSIGNED_CHAR MPI_UNSIGNED_CHAR One(U8);
    BYTE MPI_BYTE One(Byte);
    INT16_T MPI_INT16_T One(I16);
    UINT16_T MPI_UINT16_T One(U16);
    INT32_T MPI_INT32_T One(I32);
    UINT32_T MPI_UINT32_T One(U32);
    INT64_T MPI_INT64_T One(I64);
    UINT64_T MPI_UINT64_T One(U64);
    LOGICAL1 MPI_LOGICAL1 One(Logical1);
    INTEGER1 MPI_INTEGER1 One(I8);
    LOGICAL2 MPI_LOGICAL2 One(Logical2);
    INTEGER2 MPI_INTEGER2 One(I16);
    REAL2 MPI_REAL2 One(F16);
    LOGICAL4 MPI_LOGICAL4 One(Logical4);
    INTEGER4 MPI_INTEGER4 One(I32);
    REAL4 MPI_REAL4 One(F32);
    COMPLEX4 MPI_COMPLEX4 One(ComplexF16);
    LOGICAL8 MPI_LOGICAL8 One(Logical8);
    INTEGER8 MPI_INTEGER8 One(I64);
    REAL8 MPI_REAL8 One(F64);
    COMPLEX8 MPI_COMPLEX8 One(ComplexF32);
    LOGICAL16 MPI_LOGICAL16 One(Logical16);
    INTEGER16 MPI_INTEGER16 One(I128);
    REAL16 MPI_REAL16 One(F128);
    COMPLEX16 MPI_COMPLEX16 One(ComplexF64);
    COMPLEX32 MPI_COMPLEX32 One(ComplexF128);
}

/// Returns the MPI name of a predefined handle.
pub fn name(handle: usize) -> Option<&'static str> {
    if handle == DATATYPE_NULL {
        return Some("MPI_DATATYPE_NULL");
    }
    TABLE.iter().find(|row| row.0 == handle).map(|row| row.1)
}

/// Returns the predefined datatype of an MPI name, whichever of its names that is: `MPI_LONG_LONG` and
/// `MPI_LONG_LONG_INT` are one.
pub fn named(name: &str) -> Option<usize> {
    let handle = abi::DATATYPE_NAMES.iter().find(|(known, _)| *known == name)?.1;
    TABLE.iter().any(|row| row.0 == handle).then_some(handle)
}

/// Returns every predefined type with its handle.
pub fn all() -> impl Iterator<Item = (usize, Rc<Datatype>)> {
    TABLE.iter().map(|&(handle, _, shape)| (handle, Rc::new(build(handle, shape))))
}

/// Returns the predefined pair of `value` and `index` kinds' handles, as `MPI_Type_get_value_index` finds it.
pub fn pair(value: usize, index: usize) -> Option<usize> {
    const PAIRS: &[(usize, usize, usize)] = &[
        (FLOAT, INT, FLOAT_INT),
        (DOUBLE, INT, DOUBLE_INT),
        (LONG, INT, LONG_INT),
        (INT, INT, TWO_INT),
        (SHORT, INT, SHORT_INT),
        (LONG_DOUBLE, INT, LONG_DOUBLE_INT),
        (REAL, REAL, TWO_REAL),
        (DOUBLE_PRECISION, DOUBLE_PRECISION, TWO_DOUBLE_PRECISION),
        (INTEGER, INTEGER, TWO_INTEGER),
    ];
    PAIRS.iter().find(|row| row.0 == value && row.1 == index).map(|row| row.2)
}

fn build(handle: usize, shape: TypeComposition) -> Datatype {
    match shape {
        One(kind) => {
            let bounds = Bounds::of_block(0, kind.size(), kind.align());
            from_parts(
                handle,
                bounds,
                Layout::block(0, kind.size()),
                1,
                Element::One(kind),
                Signature::of(kind),
            )
        }
        Pair(value, index) => {
            let at = value.size().next_multiple_of(index.align());
            let align = value.align().max(index.align());
            let bounds = Bounds::of_block(0, value.size(), align).union(Bounds::of_block(
                at as i128,
                index.size(),
                align,
            ));
            let layout = Layout::sequence(vec![
                Layout::block(0, value.size()),
                Layout::block(at as i64, index.size()),
            ]);
            let signature = Signature::of(value).then(Signature::of(index));
            from_parts(handle, bounds, layout, 2, Element::Pair(value, index), signature)
        }
    }
}

fn from_parts(
    handle: usize,
    bounds: Bounds,
    layout: Layout,
    element_count: u64,
    element: Element,
    signature: Signature,
) -> Datatype {
    let (lb, ub) = bounds.bounds().expect("predefined types are small");
    let (true_lb, true_ub) = bounds.true_bounds().expect("predefined types are small");
    let size = layout.size;
    Datatype {
        size,
        lb,
        ub,
        true_lb,
        true_ub,
        // A pair whose struct has padding is not: `MPI_DOUBLE_INT` has 12 bytes of data in 16.
        contiguous: size as i64 == ub,
        element_count,
        element: Some(element),
        signature,
        constructor: Constructor::Named(handle),
        layout: Rc::new(layout),
        bounds,
    }
}
