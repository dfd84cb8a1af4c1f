//! Needs of models, and how long they take, computed by hand.

mod common;

use aspen::{EvaluationRequest, Formula, LoadedModel, Sources, Traversal};
use common::{application, evaluate, evaluate_with, machine, scratch, with_main};
use proptest::prelude::*;

fn flops(body: &str) -> f64 {
    evaluate(&with_main(body)).total("flops")
}

#[test]
fn loops_multiply_and_parallelism_too() {
    assert_eq!(
        flops(
            "iterate [3] { map [2] { execute [5] { flops [7] } } } par \
             { execute { flops [1] } seq { execute { flops [2] } } }"
        ),
        213.0
    );
    assert_eq!(flops("iterate [2.5] { execute { flops [4] } }"), 10.0);
    assert_eq!(flops("iterate [0] { execute { flops [4] } }"), 0.0);
    assert_eq!(flops("execute { flops [3] of size [4] }"), 12.0);
}

#[test]
fn a_counter_that_is_used_is_counted() {
    assert_eq!(flops("iterate i [4] { execute { flops [i] } }"), 6.0);
    assert_eq!(flops("map i [3] { execute { flops [values[i]] } }"), 47.0);
    assert_eq!(flops("iterate i [3] { iterate j [i] { execute { flops [i * j] } } }"), 2.0);
    // The count of one that is not used may be as large as it likes.
    assert_eq!(flops("iterate i [1e12] { execute { flops [2] } }"), 2e12);
}

#[test]
fn branches_are_taken() {
    assert_eq!(flops("if (n == 10) { execute { flops [1] } } else { execute { flops [2] } }"), 1.0);
    assert_eq!(
        flops("if (n < 10) { execute { flops [1] } } else if (n >= 10) { execute { flops [2] } }"),
        2.0
    );
    assert_eq!(flops("if (n != 10) { execute { flops [1] } }"), 0.0);
    assert_eq!(
        flops(
            "switch (n) \
             { [3] { execute { flops [1] } } [10] { execute { flops [2] } } else { execute { flops [3] } } }"
        ),
        2.0
    );
    assert_eq!(flops("switch (n) { [3] { execute { flops [1] } } else { execute { flops [3] } } }"), 3.0);
}

#[test]
fn and_and_or_bind_alike_from_left_to_right() {
    // (true or true) and false.
    let text = with_main(
        "if (n == 10 or n == 10 and n == 11) { execute { flops [1] } } else { execute { flops [2] } }",
    );
    assert_eq!(evaluate(&text).total("flops"), 2.0);
    let warnings = application(&text).warnings;
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].to_string().contains("bind alike"), "{}", warnings[0]);
}

#[test]
fn probabilities_weigh_implicitly_and_are_drawn_explicitly() {
    let body = "probability { [0.3] { execute { flops [100] } } [0.5] { execute { flops [200] } } else { \
        execute { flops [300] } } }";
    assert!((flops(body) - 190.0).abs() < 1e-9);
    let text = with_main(&format!("iterate [10000] {{ {body} }}"));
    let drawn = |seed| {
        evaluate_with(
            &text,
            &EvaluationRequest { traversal: Traversal::Explicit, seed, ..EvaluationRequest::default() },
        )
        .total("flops")
    };
    // Ten thousand draws with a deviation of 70: 100 standard errors of 0.7.
    assert!((drawn(1) / 10_000.0 - 190.0).abs() < 7.0, "{}", drawn(1));
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
}

#[test]
fn samples_are_drawn_each_time_and_hold_until_their_block_ends() {
    let request = |seed| EvaluationRequest { seed, ..EvaluationRequest::default() };
    let mean = |distribution: &str| {
        let text =
            with_main(&format!("iterate [20000] {{ sample x from {distribution} execute {{ flops [x] }} }}"));
        evaluate_with(&text, &request(3)).total("flops") / 20_000.0
    };
    assert!((mean("uniform(2, 4)") - 3.0).abs() < 0.03);
    assert!((mean("normal(50, 2)") - 50.0).abs() < 0.1);
    let text = "model m { param steps[] = {0.25, 0.75, 1} kernel main { iterate [20000] { sample x from \
        cdf(steps) execute { flops [x] } } } }";
    assert!((evaluate_with(text, &request(3)).total("flops") / 20_000.0 - 1.0).abs() < 0.03);
}

#[test]
fn arguments_are_computed_where_the_call_stands() {
    let text = "model m { param n = 3 kernel k(param n) { execute { flops [n] } } kernel main { call k(n) \
        call k(n * 2) iterate i [2] { call k(i + n) } } }";
    assert_eq!(evaluate(text).total("flops"), 3.0 + 6.0 + 3.0 + 4.0);
}

#[test]
fn kernels_see_the_names_of_their_callers() {
    let text = "model m { kernel k { execute { flops [x + i] } } kernel main { sample x from uniform(5, 5) \
        iterate i [3] { call k } } }";
    assert_eq!(evaluate(text).total("flops"), 15.0 + 3.0);
}

#[test]
fn parameters_of_a_kernel_see_its_arguments() {
    let text = "model m { param a = 2 kernel k(param x) { param y = a * x param z = y + 1 execute { flops \
        [z] } } kernel main { call k(5) } }";
    assert_eq!(evaluate(text).total("flops"), 11.0);
}

#[test]
fn imported_models_keep_their_names_to_themselves() {
    let directory = scratch("imports");
    let write = |name: &str, text: &str| std::fs::write(directory.join(name), text).unwrap();
    write(
        "a.aspen",
        "model a { import b from \"sub/b.aspen\" with n = 2 * n, kind = fast param n = 10 enum kinds { slow, \
         fast } kernel main { call b.work(n) } }",
    );
    std::fs::create_dir(directory.join("sub")).unwrap();
    write(
        "sub/b.aspen",
        "model b { import c from \"c.aspen\" param n = 100 param kind = 0 kernel work(param x) { execute { \
         flops [n + x + kind] } call c.work } }",
    );
    write("sub/c.aspen", "model c { include extra.aspen kernel work { execute { flops [1000 * n] } } }");
    write("sub/extra.aspen", "param n = 7 // of an included file");
    let mut sources = Sources::default();
    let LoadedModel::Application(model) =
        LoadedModel::read(&mut sources, &directory.join("a.aspen")).unwrap_or_else(|error| panic!("{error}"))
    else {
        panic!("a machine")
    };
    let found = model.evaluate(&EvaluationRequest::<f64>::default(), None).unwrap();
    assert_eq!(found.total("flops"), 20.0 + 10.0 + 1.0 + 7000.0);
    let parameters = [("b.c.n".to_owned(), 1.0), ("n".to_owned(), 0.0)];
    let found = model
        .evaluate(&EvaluationRequest { parameters: &parameters, ..EvaluationRequest::default() }, None)
        .unwrap();
    assert_eq!(found.total("flops"), 1.0 + 1000.0);
}

const MACHINE: &str = "
    param clock = giga
    machine m { node [2] box interconnect net }
    node box { socket [2] cpu socket [1] gpu static power [7] }
    socket cpu { core [4] x memory ram static power [5] }
    socket gpu { core [16] g memory ram static power [3] }
    core x { resource flops(n) [n / clock] with dp [base * 2], simd [base / 4]
        resource intops(n) [n / clock] dynamic power [2] }
    core g { resource flops(n) [n / (clock / 10)] }
    memory ram {
      property capacity [giga]
      resource loads(b) [b / giga] with stride(s) [base * s]
      resource stores(b) [b / giga]
      conflict loads, stores
      conflict stores, intops
    }
    interconnect net { resource messages(b) [micro + b / giga] }";

fn seconds(uses: &str, socket: &str) -> f64 {
    let model = application(&with_main(uses));
    let found = model.evaluate(&EvaluationRequest::<f64>::default(), Some((&machine(MACHINE), socket)));
    found.unwrap_or_else(|error| panic!("{error}")).runtime.unwrap().seconds
}

#[test]
fn resources_are_served_by_all_units_of_the_socket() {
    // 16 cores of cpus, 32 of gpus, 4 memories of cpus, one network.
    assert_eq!(seconds("execute [16] { flops [giga] }", "cpu"), 1.0);
    assert_eq!(seconds("execute [17] { flops [giga] }", "cpu"), 2.0);
    assert_eq!(seconds("execute [32] { flops [giga] }", "gpu"), 10.0);
    assert_eq!(seconds("execute [5] { loads [giga] }", "cpu"), 2.0);
    assert_eq!(seconds("execute [3] { messages [giga] }", "gpu"), 3.0 * (1e-6 + 1.0));
    assert_eq!(seconds("execute { flops [giga] }", "cpu"), 1.0);
}

#[test]
fn traits_change_costs_in_their_order() {
    assert_eq!(seconds("execute { flops [giga] as dp, simd }", "cpu"), 0.5);
    assert_eq!(seconds("execute { loads [giga] as stride(3) }", "cpu"), 3.0);
    assert_eq!(seconds("execute { flops [giga] as unknown }", "cpu"), 1.0);
    // Written by OpenARC, which compiles C to Aspen.
    assert_eq!(seconds("execute { flops [giga] as pattern(stencil4), simd }", "cpu"), 0.25);
}

#[test]
fn conflicts_add_up_and_the_rest_overlaps() {
    assert_eq!(seconds("execute { flops [3 * giga] loads [2 * giga] }", "cpu"), 3.0);
    assert_eq!(seconds("execute { flops [3 * giga] loads [2 * giga] stores [2 * giga] }", "cpu"), 4.0);
    // loads and intops meet in stores.
    assert_eq!(
        seconds("execute { loads [1 * giga] stores [1 * giga] intops [1 * giga] flops [2.5 * giga] }", "cpu"),
        3.0
    );
    assert_eq!(seconds("execute { loads [1 * giga] intops [1 * giga] }", "cpu"), 1.0);
    assert_eq!(seconds("execute { loads [1 * giga] loads [1 * giga] }", "cpu"), 2.0);
    assert_eq!(seconds("par { execute { flops [giga] } execute { loads [giga] } }", "cpu"), 2.0);
    assert_eq!(seconds("iterate [3] { map [2] { execute { flops [giga] } } }", "cpu"), 6.0);
    assert_eq!(seconds("probability { [0.25] { execute { flops [giga] } } }", "cpu"), 0.25);
}

#[test]
fn energy_and_memory_are_those_of_the_machine() {
    let model = application(&with_main("execute [16] { flops [giga] } execute { loads [giga] }"));
    let found = model
        .evaluate(&EvaluationRequest::<f64>::default(), Some((&machine(MACHINE), "cpu")))
        .unwrap()
        .runtime
        .unwrap();
    assert_eq!(found.seconds, 2.0);
    // 16 cores for a second each.
    assert_eq!(found.dynamic_energy, 32.0);
    assert_eq!(found.static_energy, 2.0 * 2.0 * (7.0 + 2.0 * 5.0 + 3.0));
    assert_eq!(found.capacity, 4e9);
}

#[test]
fn communication_is_left_to_a_network_and_said() {
    let model = application(&with_main("execute { comm [1] of size [8] as bcast flops [giga] }"));
    let found = model
        .evaluate(&EvaluationRequest::<f64>::default(), Some((&machine(MACHINE), "cpu")))
        .unwrap()
        .runtime
        .unwrap();
    assert_eq!(found.seconds, 1.0);
    assert!(
        found.notes.iter().any(|note| note.contains("'comm' is not in the runtime")),
        "{:?}",
        found.notes
    );
}

#[test]
fn a_kernel_can_be_asked_for_with_its_arguments() {
    let text = "model m \
        { kernel k(param x, data d) { execute { flops [x] } } kernel main { call k(1, a) } data a [8] }";
    let mut sources = Sources::default();
    let id = sources.add("kernel", "k(2 + 3, 0)");
    let kernel = aspen::parse_formula(&sources, id).unwrap();
    assert_eq!(
        evaluate_with(text, &EvaluationRequest { kernel: Some(&kernel), ..EvaluationRequest::default() })
            .total("flops"),
        5.0
    );
}

#[test]
fn formulas_are_multiplied_out_and_added_up() {
    let of = |formula: &str| {
        let model = application(&format!(
            "model m {{ param n = 1 param k = 2 kernel main {{ execute {{ flops [{formula}] }} }} }}"
        ));
        let open = ["n", "k"].map(|name| (name.to_owned(), Formula::open(name)));
        model
            .evaluate(&EvaluationRequest { parameters: &open, ..EvaluationRequest::default() }, None)
            .unwrap()
            .total("flops")
            .to_string()
    };
    assert_eq!(of("2 * n * n + n^2 * 3 + n - n"), "5 * n^2");
    assert_eq!(of("(n + 1) * (n - 1)"), "n^2 - 1");
    assert_eq!(of("(n + k)^2"), "2 * k * n + k^2 + n^2");
    assert_eq!(of("n / k / 4"), "0.25 * n / k");
    assert_eq!(of("1 / (n + 1)"), "1 / (n + 1)");
    assert_eq!(of("sqrt(n^2) * 2^-1"), "0.5 * n");
    assert_eq!(of("max(max(n, 3), n)"), "max(n, 3)");
    assert_eq!(of("ceil(n / 16) + floor(2.5)"), "ceil(0.0625 * n) + 2");
    assert_eq!(of("2^n"), "(2)^(n)");
    assert_eq!(of("n - n"), "0");
    assert_eq!(of("log2(8) * giga * n"), "3000000000 * n");
}

#[test]
fn a_condition_that_stays_open_is_a_factor() {
    let model = application(
        "model m { param n = 1 kernel main { if (n > 5) { execute { flops [7] } } else { execute { flops [2 \
         * n] } } } }",
    );
    let open = [("n".to_owned(), Formula::open("n"))];
    let found = model
        .evaluate(&EvaluationRequest { parameters: &open, ..EvaluationRequest::default() }, None)
        .unwrap()
        .total("flops");
    assert_eq!((found.at(6.0), found.at(5.0)), (7.0, 10.0));
    assert!(found.to_string().contains("(n > 5)"), "{found}");
}

/// Formulas in n without division, whose values stay small.
fn formula() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![(1u32..5).prop_map(|n| n.to_string()), Just("n".to_owned())];
    leaf.prop_recursive(4, 16, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} + {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} * {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("max({a}, {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} / {b})")),
            inner.prop_map(|a| format!("ceil({a} / 3)")),
        ]
    })
}

proptest! {
    #[test]
    fn an_open_formula_has_the_value_of_the_number(formula in formula(), n in 1u32..20) {
        let model = application(&format!(
            "model m {{ param n = {n} kernel main {{ execute {{ flops [{formula}] }} }} }}"
        ));
        let number = model.evaluate(&EvaluationRequest::<f64>::default(), None).unwrap().total("flops");
        let open = [("n".to_owned(), Formula::open("n"))];
        let open = model
            .evaluate(&EvaluationRequest { parameters: &open, ..EvaluationRequest::default() }, None)
            .unwrap()
            .total("flops");
        // Rounding may carry a ceiling over an integer.
        prop_assert!(
            (open.at(f64::from(n)) - number).abs() <= 1e-9 * number.abs() || formula.contains("ceil"),
            "{} is {}",
            formula,
            open
        );
        // And it reads back as what it is.
        let again = application(&format!(
            "model m {{ param n = {n} kernel main {{ execute {{ flops [{open}] }} }} }}"
        ));
        let again = again.evaluate(&EvaluationRequest::<f64>::default(), None).unwrap().total("flops");
        prop_assert!(
            (again - open.at(f64::from(n))).abs() <= 1e-9 * number.abs() || formula.contains("ceil"),
            "{} is {}",
            formula,
            open
        );
    }
}
