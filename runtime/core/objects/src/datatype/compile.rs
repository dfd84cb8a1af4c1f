//! From a constructor to size, bounds, signature and layout.

use super::array::{CyclicBlock, darray_shares, subarray_shares};
use super::bounds::{Bounds, overflow};
use super::constructor::{Constructor, arg};
use super::kind::{Element, Kind};
use super::layout::Layout;
use super::{Datatype, Signature};
use crate::abi::MPI_UNDEFINED as UNDEFINED;
use crate::error::Result;
use std::rc::Rc;

/// A type map under construction.
// Everything that adds up along a type map, so that one pass over a constructor makes all of it.
#[derive(Clone)]
struct TypeMap {
    size: u64,
    bounds: Bounds,
    elements: u64,
    element: Option<Element>,
    signature: Signature,
    layout: Layout,
}

impl TypeMap {
    const EMPTY: TypeMap = TypeMap {
        size: 0,
        bounds: Bounds::EMPTY,
        elements: 0,
        element: None,
        signature: Signature::EMPTY,
        layout: Layout::EMPTY,
    };

    fn of(old: &Datatype) -> TypeMap {
        TypeMap {
            size: old.size,
            bounds: old.bounds,
            elements: old.element_count,
            element: old.element,
            signature: old.signature,
            layout: (*old.layout).clone(),
        }
    }

    /// Returns the map of `count` copies, `stride` bytes apart.
    fn repeat(&self, count: u64, stride: i128) -> Result<TypeMap> {
        if count == 0 {
            return Ok(TypeMap::EMPTY);
        }
        Ok(TypeMap {
            size: self.size.checked_mul(count).ok_or_else(overflow)?,
            bounds: self.bounds.repeat(count, stride),
            elements: self.elements.checked_mul(count).ok_or_else(overflow)?,
            element: self.element,
            signature: self.signature.times(count),
            layout: self.layout.repeat(count, stride as i64),
        })
    }

    fn shift(mut self, by: i128) -> TypeMap {
        self.bounds = self.bounds.shift(by);
        self.layout = self.layout.shift(by as i64);
        self
    }
}

/// Maps one after the other, with the layouts collected until the end.
// Layouts are merged at the end and not pairwise: n blocks would be copied n times.
struct MapSequence {
    total: TypeMap,
    layouts: Vec<Layout>,
}

impl MapSequence {
    fn with_capacity(parts: usize) -> MapSequence {
        MapSequence { total: TypeMap::EMPTY, layouts: Vec::with_capacity(parts) }
    }

    fn push(&mut self, part: TypeMap) -> Result {
        let total = &mut self.total;
        if part.elements != 0 {
            total.element =
                if total.elements == 0 || total.element == part.element { part.element } else { None };
        }
        total.size = total.size.checked_add(part.size).ok_or_else(overflow)?;
        total.elements += part.elements;
        total.bounds = total.bounds.union(part.bounds);
        total.signature = total.signature.then(part.signature);
        self.layouts.push(part.layout);
        Ok(())
    }

    fn finish(mut self) -> TypeMap {
        self.total.layout = Layout::sequence(self.layouts);
        self.total
    }
}

impl Datatype {
    /// Builds the type, checking every argument.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` or `MPI_ERR_COUNT` with the offending argument; sizes and displacements
    /// beyond 64 bits.
    pub fn new(constructor: Constructor) -> Result<Rc<Datatype>> {
        constructor.validate()?;
        compile(constructor).map(Rc::new)
    }
}

/// Builds the datatype of a validated constructor; O(blocks of the constructor), whatever the counts.
fn compile(constructor: Constructor) -> Result<Datatype> {
    let map = map(&constructor)?;
    let (lb, ub) = map.bounds.bounds()?;
    let (true_lb, true_ub) = map.bounds.true_bounds()?;
    // BufferView equal to size as well: otherwise two instances would not lie side by side.
    let packed = map.layout.as_block() == Some((0, map.size))
        && i128::from(ub) - i128::from(lb) == i128::from(map.size);
    Ok(Datatype {
        size: map.size,
        lb,
        ub,
        true_lb,
        true_ub,
        contiguous: packed || map.size == 0,
        element_count: map.elements,
        element: map.element,
        signature: map.signature,
        constructor,
        layout: Rc::new(map.layout),
        bounds: map.bounds,
    })
}

fn map(constructor: &Constructor) -> Result<TypeMap> {
    use Constructor::*;
    match constructor {
        Named(_) => unreachable!("predefined types are not compiled"),
        Dup { old } => Ok(TypeMap::of(old)),
        Contiguous { count, old, .. } => TypeMap::of(old).repeat(*count as u64, extent(old)),
        Vector { count, blocklength, stride, old, .. } => {
            vector(*count, *blocklength, i128::from(*stride) * extent(old), old)
        }
        Hvector { count, blocklength, stride, old, .. } => {
            vector(*count, *blocklength, i128::from(*stride), old)
        }
        Indexed { blocklengths, displacements, old, .. } => {
            let blocks = blocklengths
                .iter()
                .zip(displacements)
                .map(|(&len, &at)| (len, i128::from(at) * extent(old), &*old.0));
            indexed(blocks)
        }
        Hindexed { blocklengths, displacements, old, .. } => {
            indexed(blocklengths.iter().zip(displacements).map(|(&len, &at)| (len, i128::from(at), &*old.0)))
        }
        IndexedBlock { blocklength, displacements, old, .. } => {
            indexed(displacements.iter().map(|&at| (*blocklength, i128::from(at) * extent(old), &*old.0)))
        }
        HindexedBlock { blocklength, displacements, old, .. } => {
            indexed(displacements.iter().map(|&at| (*blocklength, i128::from(at), &*old.0)))
        }
        Struct { blocklengths, displacements, types, .. } => indexed(
            blocklengths
                .iter()
                .zip(displacements)
                .zip(types)
                .map(|((&len, &at), old)| (len, i128::from(at), &*old.0)),
        ),
        Subarray { sizes, subsizes, starts, order, old, .. } => {
            array(&subarray_shares(sizes, subsizes, starts, *order), old)
        }
        Darray(darray) => array(&darray_shares(darray), &darray.old),
        Resized { lb, extent, old, .. } => {
            let mut map = TypeMap::of(old);
            map.bounds = map.bounds.marked(i128::from(*lb), i128::from(*lb) + i128::from(*extent));
            Ok(map)
        }
        F90Real { precision, range } => f90_real(*precision, *range).map(|(kind, _)| basic(kind)),
        F90Complex { precision, range } => f90_real(*precision, *range).map(|(_, kind)| basic(kind)),
        F90Integer { range } => f90_integer(*range).map(basic),
        // As C lays out a struct of the two: the index at the next multiple of its alignment.
        ValueIndex { value, index } => {
            let at = (value.size as i128 + i128::from(index.bounds.align()) - 1)
                / i128::from(index.bounds.align())
                * i128::from(index.bounds.align());
            let mut map = indexed([(1, 0, &*value.0), (1, at, &*index.0)].into_iter())?;
            map.element = match (value.element, index.element) {
                (Some(Element::One(value)), Some(Element::One(index))) => Some(Element::Pair(value, index)),
                _ => None,
            };
            Ok(map)
        }
    }
}

fn extent(old: &Datatype) -> i128 {
    i128::from(old.extent())
}

fn basic(kind: Kind) -> TypeMap {
    TypeMap {
        size: kind.size(),
        bounds: Bounds::of_block(0, kind.size(), kind.align()),
        elements: 1,
        element: Some(Element::One(kind)),
        signature: Signature::of(kind),
        layout: Layout::block(0, kind.size()),
    }
}

// Two repetitions, of which the first mostly merges into one block: a strided column is then one shape.
fn vector(count: i64, blocklength: i64, stride: i128, old: &Datatype) -> Result<TypeMap> {
    TypeMap::of(old).repeat(blocklength as u64, extent(old))?.repeat(count as u64, stride)
}

fn indexed<'a>(blocks: impl ExactSizeIterator<Item = (i64, i128, &'a Datatype)>) -> Result<TypeMap> {
    let mut sum = MapSequence::with_capacity(blocks.len());
    // Neighbouring blocks are mostly of one type and length: build the repetition once.
    let mut last: Option<(*const Datatype, i64, TypeMap)> = None;
    for (len, at, old) in blocks {
        if len == 0 {
            continue;
        }
        let map = match &last {
            Some((type_, length, map)) if std::ptr::eq(*type_, old) && *length == len => map.clone(),
            _ => {
                let map = TypeMap::of(old).repeat(len as u64, extent(old))?;
                last = Some((old, len, map.clone()));
                map
            }
        };
        sum.push(map.shift(at))?;
    }
    Ok(sum.finish())
}

/// A process's part of an array whose dimensions come fastest first; the bounds are those of
/// the whole array.
// Dimension by dimension, from the fastest: each repeats what the one before made, so that a subarray of any
// size has as many loops as dimensions.
fn array(shares: &[CyclicBlock], old: &Datatype) -> Result<TypeMap> {
    let mut map = TypeMap::of(old);
    let mut stride = extent(old);
    for share in shares {
        let (full, rest) = share.blocks();
        let block = map.repeat(share.block, stride)?;
        let cycle = i128::from(share.cycle).checked_mul(stride).ok_or_else(overflow)?;
        let first = i128::from(share.first).checked_mul(stride).ok_or_else(overflow)?;
        let mut sum = MapSequence::with_capacity(2);
        sum.push(block.repeat(full, cycle)?.shift(first))?;
        sum.push(
            map.repeat(rest, stride)?.shift(first.saturating_add(cycle.saturating_mul(i128::from(full)))),
        )?;
        map = sum.finish();
        stride = stride.checked_mul(i128::from(share.size)).ok_or_else(overflow)?;
    }
    map.bounds = map.bounds.marked(0, stride);
    Ok(map)
}

/// Decimal precision and exponent range of gfortran's reals, with the kinds real and complex.
// Ascending: the first that is enough is the smallest, as `selected_real_kind` chooses.
const REALS: [(i32, i32, Kind, Kind); 3] = [
    (6, 37, Kind::F32, Kind::ComplexF32),
    (15, 307, Kind::F64, Kind::ComplexF64),
    (33, 4931, Kind::F128, Kind::ComplexF128),
];

fn f90_real(precision: i32, range: i32) -> Result<(Kind, Kind)> {
    if precision == UNDEFINED && range == UNDEFINED {
        return Err(arg("both p and r are MPI_UNDEFINED; at least one must be given"));
    }
    let enough = |have: i32, want: i32| want == UNDEFINED || have >= want;
    REALS
        .iter()
        .find(|row| enough(row.0, precision) && enough(row.1, range))
        .map(|row| (row.2, row.3))
        .ok_or_else(|| {
            arg(format!(
                "no Fortran real has a precision of {precision} digits and an exponent range of {range}"
            ))
        })
}

fn f90_integer(range: i32) -> Result<Kind> {
    match range {
        ..=2 => Ok(Kind::I8),
        3..=4 => Ok(Kind::I16),
        5..=9 => Ok(Kind::I32),
        10..=18 => Ok(Kind::I64),
        19..=38 => Ok(Kind::I128),
        _ => Err(arg(format!("no Fortran integer has a range of {range} decimal digits"))),
    }
}
