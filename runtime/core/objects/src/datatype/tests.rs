//! Random nested types against a plain model: a list of (what, displacement).

mod model;

use super::predefined::{CHAR, DOUBLE, DOUBLE_INT, INT};
use super::*;
use constructor::Old;
use model::{Map, Spec, map, spec};
use proptest::prelude::*;

/// Builds a type with its model.
fn build(spec: &Spec, types: &Types) -> (Rc<Datatype>, Map) {
    let (constructor, map) = map(spec, types);
    let datatype = match constructor {
        Constructor::Named(handle) => types.get(handle).unwrap().clone(),
        constructor => Datatype::new(constructor).unwrap(),
    };
    (datatype, map)
}

/// Returns a buffer that covers `count` instances, and where an instance's address lies in it.
fn buffer(map: &Map, count: u64, fill: impl Fn(usize) -> u8) -> (Vec<u8>, i64) {
    let offsets: Vec<_> = map.bytes(count).collect();
    let (low, high) =
        (offsets.iter().min().copied().unwrap_or(0), offsets.iter().max().copied().unwrap_or(0));
    ((0..(high - low + 1) as usize).map(fill).collect(), -low)
}

/// Takes the bytes of a buffer, block by block.
struct Gather<'a> {
    memory: &'a [u8],
    origin: i64,
    out: Vec<u8>,
}

impl layout::Sink for Gather<'_> {
    fn block(&mut self, at: i64, len: u64) {
        let start = (self.origin + at) as usize;
        self.out.extend(&self.memory[start..start + len as usize]);
    }
}

/// Puts bytes into a buffer, block by block.
struct Scatter<'a> {
    memory: &'a mut [u8],
    origin: i64,
    bytes: &'a [u8],
}

impl layout::Sink for Scatter<'_> {
    fn block(&mut self, at: i64, len: u64) {
        let (head, rest) = self.bytes.split_at(len as usize);
        let start = (self.origin + at) as usize;
        self.memory[start..start + head.len()].copy_from_slice(head);
        self.bytes = rest;
    }
}

/// Lists the blocks.
#[derive(Default)]
struct Listed(Vec<(i64, u64)>);

impl layout::Sink for Listed {
    fn block(&mut self, at: i64, len: u64) {
        self.0.push((at, len));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn outline_is_that_of_the_type_map(spec in spec()) {
        let (datatype, map) = build(&spec, &Types::new());
        prop_assert_eq!(datatype.size, map.size());
        prop_assert_eq!((datatype.lb, datatype.ub), map.bounds());
        prop_assert_eq!((datatype.true_lb, datatype.true_ub), map.true_bounds());
        prop_assert_eq!(datatype.element_count, map.elements().count() as u64);
    }

    #[test]
    fn a_walk_gives_the_bytes_of_the_type_map_in_order(
        spec in spec(),
        count in 0u64..4,
        cut in any::<(u16, u16)>(),
    ) {
        let (datatype, map) = build(&spec, &Types::new());
        let (memory, origin) = buffer(&map, count, |at| (at * 7 + at / 251) as u8);
        let want: Vec<u8> = map.bytes(count).map(|at| memory[(at + origin) as usize]).collect();
        let mut whole = Gather { memory: &memory, origin, out: Vec::new() };
        datatype.walk(count, &mut whole);
        prop_assert_eq!(&whole.out, &want);
        let (a, b) = (cut.0 as usize % (want.len() + 1), cut.1 as usize % (want.len() + 1));
        let range = a.min(b)..a.max(b);
        let mut part = Gather { memory: &memory, origin, out: Vec::new() };
        datatype.walk_range(range.start as u64..range.end as u64, &mut part);
        prop_assert_eq!(&part.out[..], &want[range]);
    }

    #[test]
    fn a_walk_over_a_range_touches_its_bytes_alone(
        spec in spec(),
        count in 0u64..4,
        cut in any::<(u16, u16)>(),
    ) {
        let (datatype, map) = build(&spec, &Types::new());
        let (mut memory, origin) = buffer(&map, count, |_| 0);
        let mut want = memory.clone();
        let total = map.size() * count;
        let (a, b) = (u64::from(cut.0) % (total + 1), u64::from(cut.1) % (total + 1));
        let (from, to) = (a.min(b), a.max(b));
        let data: Vec<u8> = (0..total).map(|at| (at % 255 + 1) as u8).collect();
        for (index, offset) in map.bytes(count).enumerate() {
            if (from..to).contains(&(index as u64)) {
                want[(offset + origin) as usize] = data[index];
            }
        }
        datatype.walk_range(
            from..to,
            &mut Scatter { memory: &mut memory, origin, bytes: &data[from as usize..to as usize] },
        );
        prop_assert_eq!(memory, want);
    }

    #[test]
    fn elements_count_whole_basic_elements(spec in spec(), count in 0u64..3) {
        let (datatype, map) = build(&spec, &Types::new());
        let mut bytes = 0;
        prop_assert_eq!(datatype.elements(0), Some(0));
        if map.size() == 0 { return Ok(()); }
        for (index, kind) in (0..count).flat_map(|_| map.elements()).enumerate() {
            if kind.size() > 1 { prop_assert_eq!(datatype.elements(bytes + 1), None); }
            bytes += kind.size();
            prop_assert_eq!(datatype.elements(bytes), Some(index as u64 + 1));
            prop_assert_eq!(datatype.bytes_of_elements(index as u64 + 1), Some(bytes));
        }
    }

    #[test]
    fn signatures_match_where_the_elements_are_the_same_word(a in spec(), b in spec()) {
        let types = Types::new();
        let (left, left_map) = build(&a, &types);
        let (right, right_map) = build(&b, &types);
        let same = left_map.elements().eq(right_map.elements());
        if left.size == right.size && left.size > 0 {
            prop_assert_eq!(left.signature_matches(1, &right, 1), same);
        }
        prop_assert!(left.signature_matches(3, &left, 3));
    }

    #[test]
    fn contents_rebuild_the_type(spec in spec()) {
        let types = Types::new();
        let (datatype, _) = build(&spec, &types);
        let again = match datatype.constructor.clone() {
            Constructor::Named(_) => return Ok(()),
            constructor => Datatype::new(constructor).unwrap(),
        };
        prop_assert!(again.constructor == datatype.constructor);
        prop_assert_eq!(again.constructor.structure_hash(), datatype.constructor.structure_hash());
        let (envelope, contents) = (datatype.constructor.envelope(), datatype.constructor.contents());
        prop_assert_eq!(envelope.integers as usize, contents.integers.len());
    }
}

#[test]
fn a_matrix_column_is_one_strided_loop_and_rows_merge() {
    let types = Types::new();
    let int: Old = types.get(INT).unwrap().into();
    let column = Datatype::new(Constructor::Vector {
        count: 100,
        blocklength: 1,
        stride: 100,
        old: int.clone(),
        large: false,
    })
    .unwrap();
    let mut blocks = Listed::default();
    column.walk(1, &mut blocks);
    assert_eq!((blocks.0.len(), column.size, column.extent()), (100, 400, 4 * (99 * 100 + 1)));
    let rows = Datatype::new(Constructor::Vector {
        count: 100,
        blocklength: 100,
        stride: 100,
        old: int,
        large: false,
    })
    .unwrap();
    assert!(rows.contiguous);
}

#[test]
fn pair_types_have_the_layout_of_the_c_struct() {
    let types = Types::new();
    let pair = types.get(DOUBLE_INT).unwrap();
    assert_eq!((pair.size, pair.extent(), pair.true_extent(), pair.contiguous), (12, 16, 12, false));
    let pair = types.get(predefined::LONG_DOUBLE_INT).unwrap();
    assert_eq!((pair.size, pair.extent()), (20, 32));
    let pair = types.get(predefined::SHORT_INT).unwrap();
    assert_eq!((pair.size, pair.extent(), pair.true_extent()), (6, 8, 8));
    assert!(types.get(predefined::TWO_INT).unwrap().contiguous);
}

#[test]
fn a_resized_part_decides_the_bounds_of_a_struct() {
    let types = Types::new();
    let int: Old = types.get(INT).unwrap().into();
    let wide =
        Datatype::new(Constructor::Resized { lb: -4, extent: 24, old: int.clone(), large: false }).unwrap();
    let both = Constructor::Struct {
        blocklengths: [1, 1].into(),
        displacements: [0, 100].into(),
        types: [wide.into(), int].into(),
        large: false,
    };
    let both = Datatype::new(both).unwrap();
    assert_eq!((both.lb, both.ub, both.true_lb, both.true_ub), (-4, 20, 0, 104));
}

#[test]
fn sizes_beyond_64_bits_are_refused() {
    let types = Types::new();
    let double: Old = types.get(DOUBLE).unwrap().into();
    let huge = Constructor::Contiguous { count: 1 << 61, old: double.clone(), large: true };
    assert!(Datatype::new(huge).unwrap_err().text.contains("overflows"));
    let far = Constructor::Vector {
        count: 3,
        blocklength: 1,
        stride: i64::MAX / 4,
        old: double.clone(),
        large: true,
    };
    assert!(Datatype::new(far).is_err());
    let near = Constructor::Contiguous { count: 1 << 59, old: double, large: true };
    assert_eq!(Datatype::new(near).unwrap().extent(), 1 << 62);
}

#[test]
fn wrong_arguments_are_named() {
    let types = Types::new();
    let old: Old = types.get(CHAR).unwrap().into();
    let text = |constructor| Datatype::new(constructor).unwrap_err().text;
    assert!(
        text(Constructor::Contiguous { count: -1, old: old.clone(), large: false }).contains("count is -1")
    );
    let lengths = Constructor::Indexed {
        blocklengths: [1, -2].into(),
        displacements: [0, 0].into(),
        old: old.clone(),
        large: false,
    };
    assert!(text(lengths).contains("array_of_blocklengths[1] is -2"));
    let outside = Constructor::Subarray {
        sizes: [4].into(),
        subsizes: [3].into(),
        starts: [2].into(),
        order: Order::C,
        old,
        large: false,
    };
    assert!(text(outside).contains("array_of_starts[0] is 2"));
}

#[test]
fn darrays_of_all_processes_tile_the_array() {
    let types = Types::new();
    let old: Old = types.get(INT).unwrap().into();
    for order in [Order::C, Order::Fortran] {
        for (distribs, dargs) in [
            ([Distribution::Cyclic, Distribution::Block], [2, 19]),
            ([Distribution::Block, Distribution::Cyclic], [5, 19]),
        ] {
            let mut owners = vec![0; 9 * 7];
            for rank in 0..6 {
                let darray = constructor::Darray {
                    size: 6,
                    rank,
                    gsizes: [9, 7].into(),
                    distribs: distribs.into(),
                    dargs: dargs.into(),
                    psizes: [2, 3].into(),
                    order,
                    old: old.clone(),
                    large: false,
                };
                let part = Datatype::new(Constructor::Darray(Box::new(darray))).unwrap();
                assert_eq!((part.lb, part.extent()), (0, 9 * 7 * 4));
                let mut blocks = Listed::default();
                part.walk(1, &mut blocks);
                for (at, len) in blocks.0 {
                    owners[at as usize / 4..(at as u64 + len) as usize / 4]
                        .iter_mut()
                        .for_each(|owner| *owner += 1);
                }
            }
            assert!(owners.iter().all(|&owner| owner == 1), "{owners:?}");
        }
    }
}

#[test]
fn ranks_share_types_and_commit_their_own() {
    let mut types = Types::new();
    let make = |types: &mut Types, rank| {
        let old: Old = types.get(INT).unwrap().into();
        types.create(rank, Constructor::Contiguous { count: 3, old, large: false }).unwrap()
    };
    let handle = make(&mut types, 0);
    types.commit(0, handle).unwrap();
    assert_eq!(make(&mut types, 1), handle);
    assert!(types.usable(0, handle).is_ok());
    assert!(types.usable(1, handle).unwrap_err().text.contains("not committed"));
    let second = make(&mut types, 0);
    types.set_name(0, second, b"mine").unwrap();
    assert_eq!(
        (types.name(0, second).unwrap(), types.name(0, handle).unwrap(), types.name(1, handle).unwrap()),
        (&b"mine"[..], &b""[..], &b""[..])
    );
    let dup = types.dup(0, handle).unwrap();
    assert!(types.usable(0, dup).is_ok());
    types.free(0, handle).unwrap();
    assert!(types.free(0, handle).is_err());
    for (rank, handle) in [(1, handle), (0, second), (0, dup)] {
        types.free(rank, handle).unwrap();
    }
    assert_eq!(types.live(), 0);
    assert!(types.free(0, INT).unwrap_err().text.contains("predefined"));
}

#[test]
fn fortran_kinds_have_one_handle_for_ever() {
    let mut types = Types::new();
    let real = types.create(0, Constructor::F90Real { precision: 12, range: -32766 }).unwrap();
    assert_eq!(types.create(5, Constructor::F90Real { precision: 12, range: -32766 }).unwrap(), real);
    assert_eq!(types.get(real).unwrap().element, Some(Element::One(Kind::F64)));
    assert!(types.usable(9, real).is_ok());
    assert!(types.free(0, real).is_err());
    assert_eq!(types.get(real).unwrap().constructor.envelope().combiner, 113);
    assert!(types.create(0, Constructor::F90Integer { range: 39 }).is_err());
}
