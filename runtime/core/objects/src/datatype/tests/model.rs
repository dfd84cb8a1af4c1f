//! The type maps of MPI 5.0 section 5.1, spelled out entry by entry.

use crate::datatype::constructor::Old;
use crate::datatype::predefined::{CHAR, DOUBLE, DOUBLE_INT, INT, SHORT};
use crate::datatype::{Constructor, Kind, Order, Types};
use proptest::prelude::*;

/// A random constructor call.
#[derive(Clone, Debug)]
pub enum Spec {
    Named(usize),
    Dup(Box<Spec>),
    Contiguous(u8, Box<Spec>),
    Vector(u8, u8, i8, Box<Spec>),
    Hvector(u8, u8, i8, Box<Spec>),
    Indexed(Vec<(u8, i8)>, Box<Spec>),
    Hindexed(Vec<(u8, i8)>, Box<Spec>),
    IndexedBlock(u8, Vec<i8>, Box<Spec>),
    HindexedBlock(u8, Vec<i8>, Box<Spec>),
    Struct(Vec<(u8, i8, Spec)>),
    Subarray(Vec<(u8, u8, u8)>, bool, Box<Spec>),
    Resized(i8, i8, Box<Spec>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Entry {
    Data(Kind),
    Lb,
    Ub,
}

/// A type map.
#[derive(Clone, Debug, Default)]
pub struct Map(Vec<(Entry, i64)>);

impl Map {
    pub fn elements(&self) -> impl Iterator<Item = Kind> + '_ {
        self.0.iter().filter_map(|&(entry, _)| if let Entry::Data(kind) = entry { Some(kind) } else { None })
    }
    pub fn size(&self) -> u64 {
        self.elements().map(Kind::size).sum()
    }
    fn data(&self) -> impl Iterator<Item = (Kind, i64)> + '_ {
        self.0
            .iter()
            .filter_map(|&(entry, at)| if let Entry::Data(kind) = entry { Some((kind, at)) } else { None })
    }
    pub fn true_bounds(&self) -> (i64, i64) {
        let low = self.data().map(|(_, at)| at).min().unwrap_or(0);
        (low, self.data().map(|(kind, at)| at + kind.size() as i64).max().unwrap_or(0))
    }
    pub fn bounds(&self) -> (i64, i64) {
        let lb = self.0.iter().filter(|entry| entry.0 == Entry::Lb).map(|entry| entry.1).min();
        let ub = self.0.iter().filter(|entry| entry.0 == Entry::Ub).map(|entry| entry.1).max();
        let (low, high) = self.true_bounds();
        let align = self.elements().map(|kind| kind.align() as i64).max().unwrap_or(1);
        (lb.unwrap_or(low), ub.unwrap_or(low + (high - low + align - 1) / align * align))
    }
    pub fn extent(&self) -> i64 {
        self.bounds().1 - self.bounds().0
    }
    /// Returns the displacement of every data byte of `count` instances, in packed order.
    pub fn bytes(&self, count: u64) -> impl Iterator<Item = i64> + '_ {
        let extent = self.extent();
        (0..count as i64).flat_map(move |i| {
            self.data().flat_map(move |(kind, at)| (0..kind.size() as i64).map(move |b| i * extent + at + b))
        })
    }
    fn add(&mut self, other: &Map, count: i64, stride: i64, at: i64) {
        for i in 0..count {
            self.0.extend(other.0.iter().map(|&(entry, d)| (entry, d + at + i * stride)));
        }
    }
}

/// Generates random specs, nested up to three deep.
pub fn spec() -> impl Strategy<Value = Spec> {
    let leaf =
        prop_oneof![Just(INT), Just(DOUBLE), Just(CHAR), Just(SHORT), Just(DOUBLE_INT)].prop_map(Spec::Named);
    leaf.prop_recursive(3, 12, 3, |inner| {
        let old = inner.clone().prop_map(Box::new);
        let blocks = prop::collection::vec((0u8..4, -9i8..9), 0..5);
        let places = prop::collection::vec(-9i8..9, 0..5);
        prop_oneof![
            old.clone().prop_map(Spec::Dup),
            (0u8..4, old.clone()).prop_map(|(n, old)| Spec::Contiguous(n, old)),
            (0u8..4, 0u8..4, -5i8..6, old.clone()).prop_map(|(n, b, s, old)| Spec::Vector(n, b, s, old)),
            (0u8..4, 0u8..4, -40i8..40, old.clone()).prop_map(|(n, b, s, old)| Spec::Hvector(n, b, s, old)),
            (blocks.clone(), old.clone()).prop_map(|(blocks, old)| Spec::Indexed(blocks, old)),
            (blocks, old.clone()).prop_map(|(blocks, old)| Spec::Hindexed(blocks, old)),
            (0u8..4, places.clone(), old.clone())
                .prop_map(|(n, places, old)| Spec::IndexedBlock(n, places, old)),
            (0u8..4, places, old.clone()).prop_map(|(n, places, old)| Spec::HindexedBlock(n, places, old)),
            prop::collection::vec((0u8..3, -40i8..40, inner), 0..4).prop_map(Spec::Struct),
            (prop::collection::vec((1u8..4, 0u8..4, 0u8..4), 1..4), any::<bool>(), old.clone())
                .prop_map(|(d, c, old)| Spec::Subarray(d, c, old)),
            (-20i8..20, -30i8..60, old).prop_map(|(lb, extent, old)| Spec::Resized(lb, extent, old)),
        ]
    })
}

fn old(spec: &Spec, types: &Types) -> (Old, Map) {
    let (datatype, map) = super::build(spec, types);
    (datatype.into(), map)
}

/// Returns the call and the type map that the standard gives for it.
pub fn map(spec: &Spec, types: &Types) -> (Constructor, Map) {
    let mut map = Map::default();
    let large = false;
    let wide = |values: &[i8]| values.iter().map(|&value| i64::from(value)).collect::<Box<[i64]>>();
    let constructor = match spec {
        Spec::Named(handle) => {
            map.0.push((Entry::Data(if *handle == DOUBLE_INT { Kind::F64 } else { kind(*handle) }), 0));
            if *handle == DOUBLE_INT {
                map.0.push((Entry::Data(Kind::I32), 8));
            }
            Constructor::Named(*handle)
        }
        Spec::Dup(inner) => {
            let (old, inner) = old(inner, types);
            map = inner;
            Constructor::Dup { old }
        }
        Spec::Contiguous(n, inner) => {
            let (old, inner) = old(inner, types);
            map.add(&inner, i64::from(*n), inner.extent(), 0);
            Constructor::Contiguous { count: i64::from(*n), old, large }
        }
        Spec::Vector(n, b, s, inner) => {
            let (old, inner) = old(inner, types);
            for i in 0..i64::from(*n) {
                map.add(&inner, i64::from(*b), inner.extent(), i * i64::from(*s) * inner.extent());
            }
            Constructor::Vector {
                count: i64::from(*n),
                blocklength: i64::from(*b),
                stride: i64::from(*s),
                old,
                large,
            }
        }
        Spec::Hvector(n, b, s, inner) => {
            let (old, inner) = old(inner, types);
            for i in 0..i64::from(*n) {
                map.add(&inner, i64::from(*b), inner.extent(), i * i64::from(*s));
            }
            Constructor::Hvector {
                count: i64::from(*n),
                blocklength: i64::from(*b),
                stride: i64::from(*s),
                old,
                large,
            }
        }
        Spec::Indexed(blocks, inner) | Spec::Hindexed(blocks, inner) => {
            let (old, inner) = old(inner, types);
            let indexed = matches!(spec, Spec::Indexed(..));
            for &(b, d) in blocks {
                let at = i64::from(d) * if indexed { inner.extent() } else { 1 };
                map.add(&inner, i64::from(b), inner.extent(), at);
            }
            let blocklengths = blocks.iter().map(|block| i64::from(block.0)).collect();
            let displacements = blocks.iter().map(|block| i64::from(block.1)).collect();
            if indexed {
                Constructor::Indexed { blocklengths, displacements, old, large }
            } else {
                Constructor::Hindexed { blocklengths, displacements, old, large }
            }
        }
        Spec::IndexedBlock(n, places, inner) => {
            let (old, inner) = old(inner, types);
            for &d in places {
                map.add(&inner, i64::from(*n), inner.extent(), i64::from(d) * inner.extent());
            }
            Constructor::IndexedBlock { blocklength: i64::from(*n), displacements: wide(places), old, large }
        }
        Spec::HindexedBlock(n, places, inner) => {
            let (old, inner) = old(inner, types);
            for &d in places {
                map.add(&inner, i64::from(*n), inner.extent(), i64::from(d));
            }
            Constructor::HindexedBlock { blocklength: i64::from(*n), displacements: wide(places), old, large }
        }
        Spec::Struct(fields) => {
            let parts: Vec<_> = fields.iter().map(|field| old(&field.2, types)).collect();
            for (field, part) in fields.iter().zip(&parts) {
                map.add(&part.1, i64::from(field.0), part.1.extent(), i64::from(field.1));
            }
            Constructor::Struct {
                blocklengths: fields.iter().map(|field| i64::from(field.0)).collect(),
                displacements: fields.iter().map(|field| i64::from(field.1)).collect(),
                types: parts.into_iter().map(|part| part.0).collect(),
                large,
            }
        }
        Spec::Subarray(dims, c, inner) => {
            let (old, inner) = old(inner, types);
            // (size, subsize, start) from (subsize, space before, space after).
            let sizes: Box<[i64]> =
                dims.iter().map(|d| i64::from(d.0) + i64::from(d.1) + i64::from(d.2)).collect();
            let subsizes: Box<[i64]> = dims.iter().map(|d| i64::from(d.0)).collect();
            let starts: Box<[i64]> = dims.iter().map(|d| i64::from(d.1)).collect();
            let fastest: Vec<usize> =
                if *c { (0..dims.len()).rev().collect() } else { (0..dims.len()).collect() };
            let mut index = vec![0i64; dims.len()];
            'all: loop {
                let mut at = 0;
                for &dim in fastest.iter().rev() {
                    at = at * sizes[dim] + starts[dim] + index[dim];
                }
                map.add(&inner, 1, 0, at * inner.extent());
                for &dim in &fastest {
                    index[dim] += 1;
                    if index[dim] < subsizes[dim] {
                        continue 'all;
                    }
                    index[dim] = 0;
                }
                break;
            }
            map.0.retain(|entry| matches!(entry.0, Entry::Data(_)));
            map.0.push((Entry::Lb, 0));
            map.0.push((Entry::Ub, sizes.iter().product::<i64>() * inner.extent()));
            Constructor::Subarray {
                sizes,
                subsizes,
                starts,
                order: if *c { Order::C } else { Order::Fortran },
                old,
                large,
            }
        }
        Spec::Resized(lb, extent, inner) => {
            let (old, inner) = old(inner, types);
            map = inner;
            map.0.retain(|entry| matches!(entry.0, Entry::Data(_)));
            map.0.push((Entry::Lb, i64::from(*lb)));
            map.0.push((Entry::Ub, i64::from(*lb) + i64::from(*extent)));
            Constructor::Resized { lb: i64::from(*lb), extent: i64::from(*extent), old, large }
        }
    };
    (constructor, map)
}

fn kind(handle: usize) -> Kind {
    match handle {
        INT => Kind::I32,
        DOUBLE => Kind::F64,
        CHAR => Kind::Char,
        SHORT => Kind::I16,
        other => unreachable!("{other:#x} is not in the model"),
    }
}
