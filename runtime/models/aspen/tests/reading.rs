//! Texts that the grammar reads, and its sentences for the rest.

mod common;

use aspen::{Sources, parse, tree};
use common::{evaluate, load, refused, with_main};

fn flops(formula: &str) -> f64 {
    evaluate(&with_main(&format!("execute {{ flops [{formula}] }}"))).total("flops")
}

#[test]
fn a_power_binds_tighter_than_a_sign_and_to_the_right() {
    assert_eq!(flops("100 + -2^2"), 96.0);
    assert_eq!(flops("2^3^2"), 512.0);
    assert_eq!(flops("2^-1"), 0.5);
    assert_eq!(flops("100 - 10 - 1"), 89.0);
    assert_eq!(flops("100 / 10 / 2"), 5.0);
    assert_eq!(flops("2 + 3 * 4 ^ 2"), 50.0);
    assert_eq!(flops("-(n - 11) * 2"), 2.0);
}

#[test]
fn numbers_units_and_functions_have_their_values() {
    assert_eq!(flops("5."), 5.0);
    assert_eq!(flops(".5e1"), 5.0);
    assert_eq!(flops("1E3"), 1000.0);
    assert_eq!(flops("3 * kilo + exa * 1e-18"), 3001.0);
    assert_eq!(flops("nano * giga"), 1.0);
    assert_eq!(flops("log2(1024) + floor(2.5) + ceil(2.5) + sqrt(16)"), 19.0);
    assert_eq!(flops("max(n, 3) + min(n, 3) + max(1, 2, 3)"), 16.0);
    assert_eq!(flops("log(1)"), 0.0);
    assert_eq!(flops("values[1] + values[2.9]"), 41.0);
}

#[test]
fn a_range_needs_no_spaces_around_its_dots() {
    let (_, sources) =
        load("model m { param n = 5 in 1..10 kernel main { execute { flops [n] } } }").unwrap();
    let tree::ModelFile::Application(model) = parse(&sources, 0).unwrap() else { panic!("a machine") };
    let tree::Global::Param(param) = &model.globals[0] else { panic!("{:?}", model.globals) };
    let Some(tree::Domain::Range(least, most)) = &param.domain else { panic!("{param:?}") };
    assert_eq!((&least.kind, &most.kind), (&tree::ExprKind::Number(1.0), &tree::ExprKind::Number(10.0)));
}

#[test]
fn labels_of_older_models_are_words_before_the_quantity() {
    let amounts = evaluate(&with_main(
        "execute first { flops [1] } execute second [10] { flops [2] } execute [3] \"third\" { flops [4] }",
    ));
    assert_eq!(amounts.total("flops"), 33.0);
}

#[test]
fn what_was_expected_is_said_with_line_and_column() {
    for (text, line, column, parts) in [
        (
            "model m {\n  kernel main {\n    execute { flops 5 }\n  }\n}",
            3,
            21,
            &["expected '['", "'5' is here"][..],
        ),
        (
            "model m { kernel main { iterate [2] execute } }",
            1,
            37,
            &["a text in \"quotes\"", "'{'", "'execute' is here"],
        ),
        (
            "model m { param size = 3 }",
            1,
            17,
            &["'size' is here, a word of the language that cannot be a name"],
        ),
        ("model m { kernel main { call a(1, ) } }", 1, 35, &["a formula", "')' is here"]),
        ("model m { kernel main { }", 1, 26, &["'kernel'", "'}'", "the file ends"]),
        ("machine m { node [2 x }", 1, 21, &["']'", "'x' is here"]),
        ("model m { } extra", 1, 13, &["the end of the file"]),
    ] {
        let (at, from, error) = refused(text);
        assert_eq!((at, from), (line, column), "{error}");
        for part in parts {
            assert!(error.contains(part), "'{part}' is missing: {error}");
        }
    }
}

#[test]
fn characters_and_numbers_that_mean_nothing_are_explained() {
    for (text, column, part) in [
        ("model m { param n = 5giga }", 21, "'5giga' is no number: a product is written 5*giga"),
        ("model m { param n = 5; }", 22, "statements end where the next one begins"),
        ("model m { import a from \"b }", 25, "this text has no end"),
        ("model m { kernel main { if (a && b) {} } }", 31, "'and' and 'or'"),
        ("model m { param n = 5 % 2 }", 23, "'%' has no meaning"),
        ("model m { param größe = 1 }", 19, "'ö' has no meaning"),
    ] {
        let (_, at, error) = refused(text);
        assert_eq!(at, column, "{error}");
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn carets_stand_below_what_is_wrong() {
    let (_, _, error) = refused("model m {\n  kernel main {\n\texecute { flops [größer] }\n  }\n}");
    assert_eq!(error.lines().count(), 3);
    let (_, _, error) = refused("model m {\n  kernel main {\n    execute { flops [missing + 1] }\n  }\n}");
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines[0], "model.aspen:3:22: nothing is called 'missing' here");
    assert_eq!(lines[1], "      execute { flops [missing + 1] }");
    assert_eq!(lines[2], "                       ^^^^^^^");
}

#[test]
fn depth_is_limited_with_a_sentence() {
    for deep in [
        format!("model m {{ param n = {}1{} }}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("model m {{ param n = {}1 }}", "-".repeat(100_000)),
        format!("model m {{ param n = {}1 }}", "2^".repeat(100_000)),
        format!("model m {{ kernel main {{ {} }} }}", "seq {".repeat(100_000)),
        format!("model m {{ kernel main {{ {} }} }}", "if (1 < 2) { } else ".repeat(100_000)),
        format!("model m {{ param n = {} }}", "{".repeat(100_000)),
    ] {
        let mut sources = Sources::default();
        let id = sources.add("deep", deep);
        assert!(parse(&sources, id).is_err());
    }
}

#[test]
fn a_long_sum_is_no_deep_one() {
    let text =
        format!("model m {{ param n = 1 {} kernel main {{ execute {{ flops [n] }} }} }}", "+ 1".repeat(150));
    assert_eq!(evaluate(&text).total("flops"), 151.0);
}
