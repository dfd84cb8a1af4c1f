//! Tables of a known machine, with noise of 5 % and outliers, give the machine back.

use calibrate::{Calibrated, NodeTables, PairRates, Row, calibrate_node, predict};
use proptest::prelude::*;
use proptest::test_runner::TestRng;

const WINDOW: f64 = 64.0;
const NOISE: f64 = 0.05;
const ZERO_COPY: f64 = 0.5e-6;
/// Ranks of a node, and the most pairs between two nodes.
const RANKS: u32 = 32;
/// Bytes from which on nothing is copied between nodes and memory is shared inside one.
const LONG: u64 = 16384;

/// A machine in seconds and bytes a second.
#[derive(Clone, Debug)]
struct Known {
    nic: f64,
    own: f64,
    copy: f64,
    way: f64,
    gap: f64,
    memory: f64,
    core: f64,
    inside: f64,
}

impl Known {
    fn own(&self, bytes: u64) -> f64 {
        if bytes < LONG { self.own + bytes as f64 / self.copy } else { ZERO_COPY }
    }

    fn latency(&self, bytes: u64) -> f64 {
        2.0 * self.own(bytes) + self.way + bytes as f64 / self.nic
    }

    /// Returns the time of a message of a window of so many pairs between nodes.
    fn between(&self, pairs: f64, bytes: u64) -> f64 {
        let interface = self.gap + bytes as f64 / self.nic;
        let ends = self.latency(bytes) + self.latency(0);
        let alone = ((WINDOW - 1.0) * self.own(bytes).max(interface) + ends) / WINDOW;
        (alone / pairs).max(interface)
    }

    fn near(&self, bytes: u64) -> f64 {
        self.inside + bytes as f64 / self.core
    }

    /// Returns the time of a message of a window of so many pairs inside a node.
    fn inside(&self, pairs: f64, bytes: u64) -> f64 {
        let shared = if bytes < LONG { 0.0 } else { bytes as f64 / self.memory };
        (self.near(bytes) / pairs).max(shared)
    }
}

fn known() -> impl Strategy<Value = Known> {
    let interface = (3e9..25e9, 60e-9..250e-9, 6e9..16e9, 0.6e-6..3e-6, 8e-9..25e-9);
    let inside = (40e9..55e9, 7e9..10e9, 80e-9..200e-9);
    (interface, inside).prop_map(|((nic, own, copy, way, gap), (memory, core, inside))| Known {
        nic,
        own,
        copy,
        way,
        gap,
        memory,
        core,
        inside,
    })
}

/// Returns the rows of so many runs, each with noise; with outliers, of a size in five one run is far off.
fn rows(rng: &mut TestRng, runs: usize, outliers: bool, time: impl Fn(u64) -> f64) -> Vec<Row> {
    let mut rows = Vec::new();
    for bytes in std::iter::once(0).chain((0..23).map(|power| 1u64 << power)) {
        let far = (outliers && rng.next_u32().is_multiple_of(5)).then(|| rng.next_u32() as usize % runs);
        for run in 0..runs {
            let noise = 1.0 + NOISE * (2.0 * f64::from(rng.next_u32()) / f64::from(u32::MAX) - 1.0);
            let off = if far == Some(run) { 4.0 } else { 1.0 };
            rows.push(Row { bytes, seconds: time(bytes) * noise * off, resolution: 1e-11, file: 0, line: 1 });
        }
    }
    rows
}

fn tables(known: &Known, rng: &mut TestRng, runs: usize, outliers: bool) -> NodeTables {
    let mut pairs = |all: &[u32], time: &dyn Fn(f64, u64) -> f64| -> Vec<PairRates> {
        let table = |&pairs: &u32| PairRates {
            pairs,
            window: WINDOW as u32,
            rows: rows(rng, runs, outliers, |bytes| time(f64::from(pairs), bytes)),
        };
        all.iter().map(table).collect()
    };
    let between = pairs(&[1, RANKS], &|pairs, bytes| known.between(pairs, bytes));
    let inside = pairs(&[1, 8, 16], &|pairs, bytes| known.inside(pairs, bytes));
    NodeTables {
        latency: rows(rng, runs, outliers, |bytes| known.latency(bytes)),
        between,
        inside,
        ranks: RANKS,
        ..NodeTables::default()
    }
}

fn number(machine: &Calibrated, key: &str) -> f64 {
    machine.determined.iter().find(|at| at.key == key).unwrap_or_else(|| panic!("no {key}")).value
}

#[track_caller]
fn near(found: f64, wanted: f64, within: f64, key: &str) {
    assert!((found / wanted - 1.0).abs() < within, "{key}: {found:e} for {wanted:e}");
}

/// Errors of the machine's lone messages against the known machine's: the mean and the largest.
fn errors(known: &Known, machine: &Calibrated) -> (f64, f64, u64) {
    let sizes = std::iter::once(0).chain((0..23).map(|power| 1u64 << power));
    let exact = |bytes| Row { bytes, seconds: known.latency(bytes), resolution: 0.0, file: 0, line: 1 };
    let exact: Vec<Row> = sizes.map(exact).collect();
    let found = predict(&machine.specification, RANKS, &exact).unwrap();
    let worst = found.iter().max_by(|a, b| a.error().abs().total_cmp(&b.error().abs())).unwrap();
    let mean = found.iter().map(|at| at.error().abs()).sum::<f64>() / found.len() as f64;
    (mean, worst.error().abs(), worst.row.bytes)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Bounds of one run, which 10,000 drawn machines kept: the interface within 8 %, `o` within 20 %,
    /// `nicgap` within 20 %, memory within 12 %, and lone messages within 4 % on average and 10 % at most.
    #[test]
    fn noise_of_five_percent_gives_the_machine_back(known in known(), seed in any::<[u8; 32]>()) {
        let mut rng = TestRng::from_seed(prop::test_runner::RngAlgorithm::ChaCha, &seed);
        let machine = calibrate_node(&tables(&known, &mut rng, 1, false)).unwrap();
        near(number(&machine, "nic"), known.nic, 0.08, "nic");
        near(number(&machine, "o"), known.own, 0.2, "o");
        near(number(&machine, "nicgap"), known.gap, 0.2, "nicgap");
        near(number(&machine, "mem"), 2.0 * known.memory, 0.12, "mem");
        prop_assert!([LONG, 2 * LONG].contains(&(number(&machine, "memmin") as u64)));
        let (mean, worst, at) = errors(&known, &machine);
        prop_assert!(mean < 0.04 && worst < 0.1, "{mean} {worst} at {at}: {}", machine.specification);
    }

    /// Bounds of three runs, of which one takes four times as long at a size in five: the same.
    #[test]
    fn outliers_among_three_runs_do_not_move_the_machine(known in known(), seed in any::<[u8; 32]>()) {
        let mut rng = TestRng::from_seed(prop::test_runner::RngAlgorithm::ChaCha, &seed);
        let machine = calibrate_node(&tables(&known, &mut rng, 3, true)).unwrap();
        near(number(&machine, "nic"), known.nic, 0.08, "nic");
        near(number(&machine, "o"), known.own, 0.2, "o");
        near(number(&machine, "nicgap"), known.gap, 0.2, "nicgap");
        let (mean, worst, at) = errors(&known, &machine);
        prop_assert!(mean < 0.04 && worst < 0.1, "{mean} {worst} at {at}: {}", machine.specification);
    }

    /// Anything else is a machine or a sentence.
    #[test]
    fn arbitrary_rows_are_a_machine_or_a_sentence(
        rows in prop::collection::vec((0u64..1 << 40, 1e-12f64..1e3), 0..40),
        pairs in 1u32..100,
        ranks in 1u32..100,
    ) {
        let row = |&(bytes, seconds): &(u64, f64)| {
            Row { bytes, seconds, resolution: 1e-12, file: 0, line: 1 }
        };
        let rows: Vec<Row> = rows.iter().map(row).collect();
        let of = |pairs| PairRates { pairs, window: 1, rows: rows.clone() };
        let tables = NodeTables {
            latency: rows.clone(),
            inside_latency: rows.clone(),
            between: vec![of(1), of(pairs)],
            inside: vec![of(1), of(pairs)],
            bursts: vec![of(pairs)],
            ranks,
            rendezvous: Some(1 << 20),
        };
        if let Err(why) = calibrate_node(&tables) {
            prop_assert!(why.contains("measure") || why.contains("give") || why.contains("cannot \
                be"), "{why}");
        }
    }
}

fn exact() -> (Known, NodeTables) {
    let known = Known {
        nic: 12.5e9,
        own: 100e-9,
        copy: 10e9,
        way: 1e-6,
        gap: 10e-9,
        memory: 50e9,
        core: 8e9,
        inside: 100e-9,
    };
    let mut rng = TestRng::deterministic_rng(prop::test_runner::RngAlgorithm::ChaCha);
    let tables = tables(&known, &mut rng, 1, false);
    (known, tables)
}

#[test]
fn what_no_table_shows_is_said_with_the_measurement_that_would() {
    let (known, mut tables) = exact();
    let said = |tables: &NodeTables, said: &str| {
        let notes = calibrate_node(tables).unwrap().notes;
        assert!(notes.iter().any(|note| note.contains(said)), "{said}: {notes:?}");
    };
    said(&tables, "osu_multi_lat with 32 pairs would show it");
    tables.inside.clear();
    said(&tables, "osu_latency and osu_mbw_mr on one node would show more");
    // Four pairs do not keep the interface busy.
    tables.between[1].pairs = 2;
    tables.between[1].rows.iter_mut().for_each(|row| row.seconds = known.between(2.0, row.bytes));
    said(&tables, "osu_mbw_mr with more pairs would show it (nicgap)");
    tables.between.pop();
    said(&tables, "as many pairs as a node has cores would show it (nicgap)");
}

#[test]
fn a_burst_that_waits_longer_than_rates_say_becomes_the_gap() {
    let (known, mut tables) = exact();
    let mut rows = tables.latency.clone();
    // Each of 32 messages waits for 15.5 others of 40 ns.
    rows.iter_mut().for_each(|row| {
        row.seconds = known.latency(row.bytes) + 15.5 * (40e-9 + row.bytes as f64 / known.nic);
    });
    tables.latency.iter_mut().for_each(|row| row.seconds = known.latency(row.bytes));
    tables.bursts = vec![PairRates { pairs: RANKS, window: 1, rows }];
    let machine = calibrate_node(&tables).unwrap();
    near(number(&machine, "nicgap"), 40e-9, 0.05, "nicgap");
    assert!(
        machine.notes.iter().any(|note| note.contains("the machine has the longer")),
        "{:?}",
        machine.notes
    );
}

#[test]
fn too_few_and_contradictory_tables_are_one_sentence_with_the_remedy() {
    let (_, whole) = exact();
    let refused = |tables: &NodeTables, said: &str| {
        let why = calibrate_node(tables).unwrap_err();
        assert!(why.contains(said), "{said}: {why}");
    };
    let mut tables = whole.clone();
    tables.latency.truncate(3);
    refused(&tables, "has 3 sizes without outliers, and a machine needs at least 4");
    let mut tables = whole.clone();
    tables.between[1].rows.iter_mut().for_each(|row| row.seconds *= 10.0);
    refused(&tables, "tables of one machine do not differ so much; measure both");
    let mut tables = whole.clone();
    tables.latency.iter_mut().for_each(|row| row.seconds *= 0.02);
    refused(&tables, "contradict each other; measure both on the same two nodes");
    let mut tables = whole.clone();
    tables.between.iter_mut().for_each(|table| table.rows.retain(|row| row.bytes <= 16));
    refused(&tables, "measure messages up to 4 MiB");
    let mut tables = whole;
    tables.between.clear();
    refused(&tables, "give osu_mbw_mr or IMB's Uniband");
}

#[test]
fn without_tables_inside_a_node_its_messages_take_as_long_as_between_nodes() {
    let (known, mut tables) = exact();
    tables.inside.clear();
    let machine = calibrate_node(&tables).unwrap();
    for bytes in [1u64, 4096, 65536, 1 << 22] {
        let seconds = known.latency(bytes);
        let row = [Row { bytes, seconds, resolution: 0.0, file: 0, line: 1 }];
        let time = |to: u32| predict(&machine.specification, to, &row).unwrap()[0].seconds;
        near(time(1), time(RANKS), 0.03, &format!("{bytes} bytes: {}", machine.specification));
    }
    said_in(&machine.notes, "as long as one between nodes, which is the most that it can");
}

#[track_caller]
fn said_in(notes: &[String], said: &str) {
    assert!(notes.iter().any(|note| note.contains(said)), "{said}: {notes:?}");
}
