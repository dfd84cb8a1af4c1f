//! The models in examples/aspen, evaluated and computed by hand.

mod common;

use aspen::{
    Application, CommunicationPattern, Evaluation, EvaluationRequest, Formula, LoadedModel, Machine, Number,
    Sources, Step, StepTraffic,
};
use std::path::Path;

fn read(name: &str) -> (LoadedModel, Sources) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/aspen").join(name);
    let mut sources = Sources::default();
    let model = LoadedModel::read(&mut sources, &path).unwrap_or_else(|error| panic!("{error}"));
    (model, sources)
}

fn application(name: &str) -> Application {
    let (LoadedModel::Application(model), _) = read(name) else { panic!("{name} is a machine") };
    assert!(model.warnings.is_empty(), "{:?}", model.warnings);
    *model
}

fn cluster() -> Machine {
    let (LoadedModel::Machine(machine), _) = read("cluster.aspen") else { panic!("an application") };
    assert!(machine.warnings.is_empty(), "{:?}", machine.warnings);
    *machine
}

fn on_cluster(name: &str, parameters: &[(String, f64)]) -> Evaluation<f64> {
    let request = EvaluationRequest { parameters, ..EvaluationRequest::default() };
    application(name).evaluate(&request, Some((&cluster(), "cpu"))).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * b.abs(), "{a} and {b}");
}

#[test]
fn all_are_formatted_and_checked() {
    for name in [
        "stencil.aspen",
        "cg.aspen",
        "lulesh.aspen",
        "transformer.aspen",
        "rounds.aspen",
        "cluster.aspen",
        "rig.aspen",
    ] {
        let (_, sources) = read(name);
        assert_eq!(aspen::format(&sources, 0).unwrap(), sources.file(0).text, "{name}");
    }
}

#[test]
fn the_stencil_loads_longest() {
    let found = on_cluster("stencil.aspen", &[("n".to_owned(), 100.0)]);
    // 100 sweeps over 10^6 points.
    assert_eq!(found.total("flops"), 8e8);
    assert_eq!(found.total("loads"), 56e8);
    assert_eq!(found.total("stores"), 8e8);
    assert_eq!(found.data, 2.0 * 8e6);
    let runtime = found.runtime.unwrap();
    // 32 memories take 31,250 points each, 7 + 1 words one after the other, at 40 GB/s; 256 cores take 3,907
    // points, 8 flops at 8 GF/s.
    near(runtime.seconds, 100.0 * 31_250.0 * 64.0 / 40e9);
    // 16 boxes of 50 W and 32 sockets of 20 W.
    near(runtime.static_energy, 1440.0 * runtime.seconds);
    // Memories draw 10 W while they work, all points together 10^6 * 64 bytes a sweep; cores 5 W.
    near(runtime.dynamic_energy, 100.0 * 1e6 * (10.0 * 64.0 / 40e9 + 5.0 * 8.0 / 8e9));
    assert_eq!(runtime.capacity, 32.0 * 32e9);
}

#[test]
fn conjugate_gradients_stay_a_formula_in_their_rows() {
    let model = application("cg.aspen");
    let parameters = [("rows".to_owned(), Formula::open("rows"))];
    let found = model
        .evaluate(&EvaluationRequest { parameters: &parameters, ..EvaluationRequest::default() }, None)
        .unwrap();
    // 50 times: 54 for the product, five times 2.
    assert_eq!(found.total("flops").to_string(), "3200 * rows");
    // 27 * 20 for the product, 5 * 16.
    assert_eq!(found.total("loads").to_string(), "31000 * rows");
    assert_eq!(found.data.to_string(), "356 * rows");
    assert_eq!(found.total("flops").at(10.0), 32_000.0);
    let found = on_cluster("cg.aspen", &[("rows".to_owned(), 3200.0)]);
    // 100 rows a memory: words of the vectors come at random, eight times as slow.
    let product = 27.0 * 12.0 + 27.0 * 8.0 * 8.0 + 8.0;
    near(found.runtime.unwrap().seconds, 50.0 * 100.0 * (product + 2.0 * 16.0 + 3.0 * 24.0) / 40e9);
}

#[test]
fn a_training_step_takes_six_operations_for_each_weight_and_token() {
    let found = on_cluster("transformer.aspen", &[]);
    let (weights, tokens) = (12.0 * 2048.0 * 2048.0, 4096.0);
    let attention = 3.0 * 4.0 * 1024.0 * 2048.0 * tokens;
    near(found.total("flops"), 24.0 * (6.0 * weights * tokens + attention + 12.0 * weights));
    near(found.data, 24.0 * (weights * 14.0 + tokens * 16.0 * 2048.0 * 2.0));
    let steps = application("transformer.aspen").communication(&EvaluationRequest::default()).unwrap();
    assert_eq!(steps.len(), 1);
    assert_eq!((steps[0].times, steps[0].step.bytes()), (24.0, 12 * 2048 * 2048 * 2));
}

/// The table of the model's phases on 4 x 4 x 4 ranks: bytes, packets of 512 bytes, and hops of packets on a
/// torus of that shape.
#[test]
fn lulesh_moves_what_the_program_moves() {
    let model = application("lulesh.aspen");
    let steps = model.communication(&EvaluationRequest::default()).unwrap();
    let phase = |kernel: &str| steps.iter().find(|one| one.kernel == kernel).unwrap();
    for (kernel, bytes, packets, hops) in [
        ("phase2", 139_968_000.0, 273_600.0, 273_600.0),
        ("phase4", 151_079_040.0, 303_120.0, 320_400.0),
        ("phase8", 151_079_040.0, 298_440.0, 311_400.0),
    ] {
        let one = phase(kernel);
        let StepTraffic { bytes: of_one, packets: packets_of_one, .. } = one.step.traffic(64, 512).unwrap();
        assert_eq!(one.times, 10.0, "{kernel}");
        assert_eq!(of_one as f64 * one.times, bytes, "{kernel}");
        assert_eq!(packets_of_one as f64 * one.times, packets, "{kernel}");
        assert_eq!(hops_of_packets(&one.step) as f64 * one.times, hops, "{kernel}");
    }
    assert!(matches!(steps.last().unwrap().step.pattern, CommunicationPattern::Collective(..)));
}

/// Hops of a step's packets of 512 bytes on a torus of the ranks' own grid.
fn hops_of_packets(step: &Step) -> u64 {
    let grid = step.grid(64).unwrap().unwrap();
    let mut hops = 0;
    for rank in 0..64 {
        for message in step.sends(rank, 64, Some(&grid), 0) {
            let (from, to) = (grid.place(rank), grid.place(message.peer));
            let far: u64 = (0..3).map(|axis| from[axis].abs_diff(to[axis])).map(|far| far.min(4 - far)).sum();
            hops += far * message.bytes.div_ceil(512);
        }
    }
    hops
}

#[test]
fn a_formula_that_is_open_agrees_with_numbers() {
    let model = application("stencil.aspen");
    let machine = cluster();
    let open = [("n".to_owned(), Formula::open("n"))];
    let formula = model
        .evaluate(
            &EvaluationRequest { parameters: &open, ..EvaluationRequest::default() },
            Some((&machine, "cpu")),
        )
        .unwrap();
    let seconds = formula.runtime.unwrap().seconds;
    assert!(seconds.known().is_none());
    for n in [16.0, 100.0, 777.0] {
        let known = [("n".to_owned(), n)];
        let number = model
            .evaluate(
                &EvaluationRequest { parameters: &known, ..EvaluationRequest::default() },
                Some((&machine, "cpu")),
            )
            .unwrap();
        near(seconds.at(n), number.runtime.unwrap().seconds);
    }
}
