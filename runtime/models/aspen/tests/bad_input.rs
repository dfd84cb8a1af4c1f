//! Models that are wrong: each is refused with its place and a sentence, and no input makes the crate panic
//! or hang.

mod common;

use aspen::{EvaluationRequest, Formula, LoadedModel, Machine, Sources, Traversal};
use common::{application, load, machine, refused, scratch, with_main};
use proptest::prelude::*;

#[track_caller]
fn says(text: &str, place: (usize, usize), parts: &[&str]) {
    let (line, column, error) = refused(text);
    assert_eq!((line, column), place, "{error}");
    for part in parts {
        assert!(error.contains(part), "'{part}' is missing: {error}");
    }
}

#[test]
fn names_that_stand_for_nothing_are_refused() {
    says(
        "model m { param number = 1\nkernel main { execute { flops [nubmer] } } }",
        (2, 32),
        &["nothing is called 'nubmer'", "did you mean 'number'?"],
    );
    says(
        "model m { param a = b\nkernel main { execute { flops [a] } } }",
        (1, 21),
        &["nothing is called 'b'"],
    );
    says(
        "model m { kernel main {\ncall work } kernel wrok { } }",
        (2, 6),
        &["there is no kernel 'work'", "did you mean 'wrok'?"],
    );
    says("model m { kernel main {\ncall other.k } }", (2, 6), &["there is no kernel 'other.k'"]);
    says(
        "model m { kernel k(param a) { } kernel main {\ncall k(1, 2) } }",
        (2, 6),
        &["takes 1 arguments, and 2 are given"],
    );
    says(&with_main("switch (x) { [1] { } }"), (1, 78), &["nothing is called 'x'"]);
    says(&with_main("execute { flops [femto] }"), (1, 87), &["the units are nano, micro"]);
    says(&with_main("execute { flops [sin(1)] }"), (1, 87), &["there is no function 'sin'", "log, log2"]);
    says(&with_main("execute { flops [max(1)] }"), (1, 87), &["'max' takes 2 arguments, and 1 are given"]);
    says(&with_main("execute { flops [uniform(0, 1)] }"), (1, 87), &["'sample x from uniform(...)'"]);
}

#[test]
fn what_nobody_reaches_is_a_warning() {
    let model = application(
        "model m { param a = nothing kernel unused { execute { flops [other] } call gone } kernel main { } }",
    );
    let warnings: Vec<String> = model.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings.iter().all(|warning| warning.starts_with("model.aspen:1:")), "{warnings:?}");
}

#[test]
fn words_as_values_of_traits_are_warnings() {
    let model = application(
        "model m { param n = 2 kernel main { execute { loads [1] as stride(n), pattern(stencil4) } } }",
    );
    let warnings: Vec<String> = model.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("nothing is called 'stencil4' here; it is taken as a word"), "{warnings:?}");
    says(
        "model m { kernel main { execute { loads [1] as stride(m + 1) } } }",
        (1, 55),
        &["nothing is called 'm' here"],
    );
}

#[test]
fn circles_are_refused_with_their_way() {
    says(
        "model m { param a = b + 1 param b = 2 * c\nparam c = a kernel main { } }",
        (1, 17),
        &["'a' is defined by itself: a -> b -> c -> a"],
    );
    says(
        "model m { kernel a { call b } kernel b {\ncall a } kernel main { call a } }",
        (2, 6),
        &["never ends", "a -> b -> a"],
    );
    says("machine m { node n }\nnode n { node n }", (2, 6), &["component 'n' contains itself"]);
    let long: String = (0..20_000).map(|n| format!("param p{n} = p{} + 1 ", n + 1)).collect();
    let text = format!("model m {{ {long} param p20000 = 1 kernel main {{ execute {{ flops [p0] }} }} }}");
    assert_eq!(common::evaluate(&text).total("flops"), 20_001.0);
    let text = format!("model m {{ {long} param p20000 = p0 kernel main {{ execute {{ flops [p0] }} }} }}");
    assert!(load(&text).is_err());
}

#[test]
fn files_that_lead_back_to_themselves_are_refused() {
    let directory = scratch("circles");
    let write = |name: &str, text: &str| std::fs::write(directory.join(name), text).unwrap();
    write("a.aspen", "model a { import b from \"b.aspen\" kernel main { } }");
    write("b.aspen", "model b {\nimport a from \"a.aspen\" kernel main { } }");
    write("c.aspen", "include d.aspen");
    write("d.aspen", "param x = 1\ninclude c.aspen");
    write("e.aspen", "model e { import b from \"none.aspen\" kernel main { } }");
    write("f.aspen", "model f { import x from \"a2.aspen\" kernel main { } }");
    write("a2.aspen", "model y { kernel main { } }");
    let error = |name: &str| {
        LoadedModel::read(&mut Sources::default(), &directory.join(name)).unwrap_err().to_string()
    };
    assert!(error("a.aspen").contains("b.aspen:2:15: the file leads back to itself"), "{}", error("a.aspen"));
    assert!(error("c.aspen").contains("d.aspen:2:9: the file leads back to itself"), "{}", error("c.aspen"));
    assert!(
        error("e.aspen").contains("e.aspen:1:25:") && error("e.aspen").contains("none.aspen cannot be read"),
        "{}",
        error("e.aspen")
    );
    assert!(error("f.aspen").contains("'a2.aspen' has a model 'y', not 'x'"), "{}", error("f.aspen"));
    assert!(error("missing.aspen").contains("missing.aspen cannot be read"));
    assert!(
        LoadedModel::read(&mut Sources::default(), &directory)
            .unwrap_err()
            .to_string()
            .contains("it is not a file")
    );
}

#[test]
fn quantities_must_be_numbers_that_are_not_negative() {
    says(
        &with_main("execute { flops [1 - n] }"),
        (1, 87),
        &["the amount is -9 here, and must not be negative"],
    );
    says(&with_main("execute [-1] { flops [n] }"), (1, 80), &["the parallelism is -1"]);
    says(&with_main("execute { flops [1] of size [-8] }"), (1, 100), &["the size is -8"]);
    says(&with_main("iterate [-1] { }"), (1, 80), &["the number of times is -1"]);
    says(&with_main("probability { [0.5] { } [0.7] { } }"), (1, 95), &["are 1.2, more than 1"]);
    says(
        &with_main("execute { flops [1 / (n - 10)] }"),
        (1, 92),
        &["this is 0, and nothing can be divided by it"],
    );
    says(&with_main("execute { flops [log(0 - 1)] }"), (1, 87), &["'log' has no value there"]);
    says(&with_main("execute { flops [10 ^ 400] }"), (1, 87), &["too large"]);
    says(&with_main("execute { flops [values] }"), (1, 87), &["this is an array"]);
    says(
        &with_main("execute { flops [values[3]] }"),
        (1, 94),
        &["'values' has no element 3: its elements are 0 to 2"],
    );
    says(&with_main("execute { flops [values[0][1]] }"), (1, 97), &["takes one index"]);
    says(&with_main("execute { flops [n[1]] }"), (1, 89), &["'n' is a number, not an array"]);
    says(
        &with_main("execute { flops [lookup(values, n, 1)] }"),
        (1, 87),
        &["lookup takes an array of values"],
    );
    let descending =
        "model m { param a[] = {3, 2} param b = lookup(a, a, 1) kernel main { execute { flops [b] } } }";
    says(descending, (1, 40), &["lookup needs places that ascend"]);
}

#[test]
fn loops_without_end_are_refused_with_advice() {
    let explicit =
        EvaluationRequest::<f64> { traversal: Traversal::Explicit, ..EvaluationRequest::default() };
    let model = application(&with_main("iterate [1e12] { execute { flops [1] } }"));
    let error = model.evaluate(&explicit, None).unwrap_err().to_string();
    assert!(
        error.contains("this loop goes 1000000000000 times through")
            && error.contains("leave --explicit away"),
        "{error}"
    );
    let model = application(&with_main("iterate i [1e12] { execute { flops [i] } }"));
    let error = model.evaluate(&EvaluationRequest::<f64>::default(), None).unwrap_err().to_string();
    assert!(error.contains("its counter is used"), "{error}");
    let model = application(&with_main("iterate [1e4] { iterate [1e4] { seq { } } }"));
    assert!(
        model
            .evaluate(&explicit, None)
            .unwrap_err()
            .to_string()
            .contains("more steps than can be gone through")
    );
    let doubling: String =
        (0..60).map(|n| format!("kernel k{n} {{ call k{} call k{} }} ", n + 1, n + 1)).collect();
    let model = application(&format!("model m {{ {doubling} kernel k60 {{ }} kernel main {{ call k0 }} }}"));
    assert!(
        model
            .evaluate(&EvaluationRequest::<f64>::default(), None)
            .unwrap_err()
            .to_string()
            .contains("more steps than can be gone through")
    );
}

#[test]
fn recursion_that_a_condition_ends_is_followed_and_other_recursion_refused() {
    let text = |limit: &str| {
        format!(
            "model m {{ kernel k(param n) {{ if (n > {limit}) {{ execute {{ flops [n + 1000] }} call k(n - \
             1) }} }} kernel main {{ call k(50) }} }}"
        )
    };
    assert_eq!(common::evaluate(&text("0")).total("flops"), 51_275.0);
    says(&text("0 - 1e9"), (1, 18), &["more than 200 calls deep", "without end"]);
}

fn on(machine: &Machine, uses: &str, socket: &str) -> String {
    let model = application(&with_main(uses));
    model.evaluate(&EvaluationRequest::<f64>::default(), Some((machine, socket))).unwrap_err().to_string()
}

#[test]
fn machines_without_what_is_asked_for_are_refused() {
    let parts = "node box { socket [2] cpu } socket cpu { core [4] x } core x { resource flops(n) [n / 0] \
        with stride(s) [base] resource intops(n) [0 - n] resource loads(n) [n] with stride(s) [s * base] }";
    let whole = machine(&format!("machine m {{ node box }} {parts}"));
    let error = on(&whole, "execute { fops [1] }", "cpu");
    assert!(
        error.contains(
            "the machine 'm' has no resource 'fops' for socket 'cpu'; did you mean 'flops'? (it has flops, \
             intops, loads)"
        ),
        "{error}"
    );
    let error = on(&whole, "execute { flops [1] }", "gpu");
    assert!(error.contains("the machine has no socket 'gpu'") && error.contains("it has cpu"), "{error}");
    assert!(on(&whole, "execute { flops [1] }", "cpu").contains("nothing can be divided by it"));
    assert!(on(&whole, "execute { intops [1] }", "cpu").contains("-1 seconds"));
    assert!(on(&whole, "execute { loads [1] as stride }", "cpu").contains("'stride' takes a value"));
    let error = on(&whole, "execute { loads [1] as stride(wide) }", "cpu");
    assert!(error.contains("'stride' takes a number on this machine"), "{error}");
    assert!(on(&machine(parts), "execute { flops [1] }", "cpu").contains("parts of machines only"));
    let none = machine(
        "machine m { node box } node box { socket [0] cpu } socket cpu { core x } core x \
         { resource flops(n) [n] }",
    );
    assert!(on(&none, "execute { flops [1] }", "cpu").contains("there are 0 of these"));
    says(
        "machine m { node bx }\nnode box { }",
        (1, 18),
        &["there is no component 'bx'; did you mean 'box'?"],
    );
    says("machine m { socket box } node box { }", (1, 13), &["'box' is a node, not a socket"]);
}

#[test]
fn nested_parts_are_not_gone_through_twice() {
    let nested: String =
        (0..60).map(|n| format!("part c{n} {{ part [2] c{0} part [3] c{0} }} ", n + 1)).collect();
    let machine = machine(&format!(
        "machine m {{ socket s part c0 }} socket s {{ }} {nested} part c60 {{ static power [1] }}"
    ));
    assert!(on(&machine, "execute { flops [1] }", "s").contains("no resource 'flops'"));
}

#[test]
fn formulas_that_grow_without_measure_are_refused() {
    let chain: String =
        (0..200).map(|n| format!("param p{} = max(p{n} + 1, n * log2(p{n} + 2)) / 2 ", n + 1)).collect();
    let model = application(&format!(
        "model m {{ param n = 3 param p0 = n {chain} kernel main {{ execute {{ flops [p200] }} }} }}"
    ));
    assert!(model.evaluate(&EvaluationRequest::<f64>::default(), None).is_ok());
    let open = [("n".to_owned(), Formula::open("n"))];
    let error = model
        .evaluate(&EvaluationRequest { parameters: &open, ..EvaluationRequest::default() }, None)
        .unwrap_err();
    assert!(error.to_string().contains("grows too large when parameters in it stay open"), "{error}");
}

#[test]
fn parameters_that_are_not_there_are_named() {
    let parameters = [("value".to_owned(), 1.0)];
    let error = application(&with_main(""))
        .evaluate(&EvaluationRequest { parameters: &parameters, ..EvaluationRequest::default() }, None)
        .unwrap_err();
    assert!(error.to_string().contains("there is no parameter 'value'; did you mean 'values'?"), "{error}");
}

/// Returns the words and signs of the language, in any order.
fn soup() -> impl Strategy<Value = String> {
    let words = prop_oneof![
        prop::sample::select(aspen::token::KEYWORDS.to_vec())
            .prop_filter("files stay unread", |word| *word != "include" && *word != "import"),
        prop::sample::select(vec![
            "{", "}", "[", "]", "(", ")", ",", ".", "..", "=", "==", "+", "-", "*", "/", "^", "\"x\"", "5",
            "1e9", ".5", "// c\n"
        ]),
        prop::sample::select(vec![
            "main", "n", "x", "flops", "giga", "max", "machine", "node", "uniform", "comm", "nn3d", "values"
        ]),
    ];
    prop::collection::vec(words, 0..80).prop_map(|words| words.join(" "))
}

/// Generates a model with steps that are valid, and any of them broken.
fn broken() -> impl Strategy<Value = String> {
    let whole = with_main(
        "iterate i [n] \"l\" { execute [n] { flops [values[i]] as dp loads [n] of size [8] } } if (n > 5 and \
         n < 7) { call main } probability { [0.5] { } }",
    );
    let pieces: Vec<String> = whole.split_inclusive(' ').map(str::to_owned).collect();
    let length = pieces.len();
    (prop::collection::vec((0..length, 0..length), 1..4)).prop_map(move |swaps| {
        let mut pieces = pieces.clone();
        for (a, b) in swaps {
            pieces.swap(a, b);
        }
        pieces.concat()
    })
}

/// Reads, formats and evaluates; whatever comes out, nothing panics.
fn try_all(text: &str) {
    let mut sources = Sources::default();
    let id = sources.add("any", text);
    if let Ok(formatted) = aspen::format(&sources, id) {
        let again = sources.add("formatted", formatted.clone());
        assert_eq!(
            aspen::format(&sources, again).unwrap_or_else(|error| panic!("{error}")),
            formatted,
            "{text:?}"
        );
    }
    match LoadedModel::load(&mut sources, id) {
        Ok(LoadedModel::Application(model)) => {
            let _ = model.outline();
            let _ = model
                .evaluate(&EvaluationRequest::<f64>::default(), None)
                .map_err(|error| error.located(&sources).to_string());
            let _ = model.communication(&EvaluationRequest::default());
        }
        Ok(LoadedModel::Machine(machine)) => drop(machine.outline()),
        Err(error) => drop(error.to_string()),
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,60}") {
        try_all(&text);
    }

    #[test]
    fn any_words_are_read_or_refused(text in soup()) {
        try_all(&text);
        try_all(&format!("model m {{ {text} }}"));
        try_all(&format!("model m {{ param n = 3 param values[] = {{1, 2}} kernel main {{ {text} }} }}"));
    }

    #[test]
    fn broken_models_are_read_or_refused(text in broken()) {
        try_all(&text);
    }
}
