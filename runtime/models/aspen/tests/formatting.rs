//! Changes of the formatter, and what it leaves alone.

mod common;

use aspen::{Sources, format, token};
use proptest::prelude::*;

fn formatted(text: &str) -> String {
    let mut sources = Sources::default();
    let id = sources.add("model.aspen", text);
    format(&sources, id).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn blocks_are_indented_and_operators_spaced() {
    let text = "model   m{\n\
        param n=5 in 1..-2+3^ 2*(4-a[1])\n\n\n\n\
        kernel main{execute[n]\"x\"{flops[2*n]as dp , simd}\n\
        //end\n\
        }\n\
        }";
    let expected = "model m {\n  param n = 5 in 1 .. -2 + 3^2 * (4 - a[1])\n\n  kernel main { execute [n] \
        \"x\" { flops [2 * n] as dp, simd }\n    //end\n  }\n\
        }\n";
    assert_eq!(formatted(text), expected);
}

#[test]
fn lines_that_go_on_are_indented_once_more() {
    let text = "core c {\n\
        resource flops(n) [n/clock]\n\
        with dp [base*2],\n\
        simd [base/4]\n\
        resource loads(b) [b/bw]\n\
        }\n";
    let expected = "core c {\n  resource flops(n) [n / clock]\n    with dp [base * 2],\n    simd [base / \
        4]\n  resource loads(b) [b / bw]\n\
        }\n";
    assert_eq!(formatted(text), expected);
}

#[test]
fn statements_that_share_a_line_get_their_own() {
    let text = "model m { param a = 1 param b[] = {1,2, 3} data x as Array(a,8) kernel main { } }";
    let expected =
        "model m { param a = 1\n  param b[] = {1, 2, 3}\n  data x as Array(a, 8)\n  kernel main { } }\n";
    assert_eq!(formatted(text), expected);
}

#[test]
fn comments_stay_where_they_are() {
    let text = "// head\n\n\
        // of the file\n\
        model m { // of the model\n  // of n\n  param n = 5 // after n\n    // last\n\
        }\n\
        // tail\n";
    let expected = text.replace("    // last", "  // last");
    assert_eq!(formatted(text), expected);
}

#[test]
fn ends_of_lines_of_other_systems_are_read() {
    assert_eq!(formatted("// a\r\n\r\n// b\r\nparam n = 1 // c\r"), "// a\n\n// b\nparam n = 1 // c\n");
}

#[test]
fn what_is_no_aspen_is_refused() {
    let mut sources = Sources::default();
    let id = sources.add("model.aspen", "model m { kernel }");
    assert!(format(&sources, id).unwrap_err().to_string().starts_with("model.aspen:1:18:"));
}

/// Pieces of formulas.
fn formula() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (0u32..100).prop_map(|n| n.to_string()),
        Just("1.5e-3".to_owned()),
        Just("n".to_owned()),
        Just("other.n".to_owned()),
        Just("giga".to_owned()),
        Just("values[1]".to_owned()),
        Just("rows[0][n]".to_owned()),
    ];
    leaf.prop_recursive(4, 20, 3, |inner| {
        let operator = prop_oneof![Just("+"), Just("-"), Just("*"), Just("/"), Just("^")];
        prop_oneof![
            (inner.clone(), operator, inner.clone()).prop_map(|(a, sign, b)| format!("{a}{sign}{b}")),
            inner.clone().prop_map(|a| format!("({a})")),
            inner.clone().prop_map(|a| format!("-{a}")),
            inner.clone().prop_map(|a| format!("ceil( {a} )")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("max({a},{b})")),
        ]
    })
}

/// Generates space between tokens, with lines and comments in it.
fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just(" "), Just("\n"), Just("\n\n\n\t"), Just(" // note \n"), Just("\n  // a line\n\n")]
}

fn statement() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (formula(), space(), formula()).prop_map(|(a, s, b)| format!(
            "execute{s}[{a}]{s}{{{s}flops [{b}]{s}as dp,{s}simd({a}) loads[{a}] of size [8]{s}from x }}"
        )),
        (formula(), space()).prop_map(|(a, s)| format!("call k({a},{s}2)")),
        Just("sample x from uniform(0,1)".to_owned()),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let body = prop::collection::vec(inner, 0..3).prop_map(|all| all.join(" "));
        prop_oneof![
            (formula(), space(), body.clone())
                .prop_map(|(n, s, body)| format!("iterate i[{n}]{s}\"l\"{{{body}{s}}}")),
            (formula(), space(), body.clone())
                .prop_map(|(n, s, body)| format!("if({n}=={n}){{{body}}}{s}else{{{s}{body}}}")),
            (space(), body).prop_map(|(s, body)| format!("probability{{[0.5]{s}{{{body}}}else{{{body}}}}}")),
        ]
    })
}

proptest! {
    #[test]
    fn formatting_twice_changes_nothing_and_loses_nothing(
        values in prop::collection::vec((formula(), space()), 0..4),
        steps in prop::collection::vec((statement(), space()), 0..4),
    ) {
        let params: String = values
            .iter()
            .map(|(value, space)| format!("param n={value}{space}param t[][]={{{{{value}}},{{1,2}}}}{space}"))
            .collect();
        let body: String = steps.iter().map(|(step, space)| format!("{step}{space}")).collect();
        let text = format!("model m{{{params}kernel main{{{body}}}}}");
        let once = formatted(&text);
        prop_assert_eq!(&formatted(&once), &once);
        let (before, after) = (token::tokens(&text, 0).unwrap(), token::tokens(&once, 0).unwrap());
        let texts = |tokens: &token::Tokens<'_>| {
            tokens.tokens.iter().map(|token| token.text.to_owned()).collect::<Vec<_>>()
        };
        let comments = |tokens: &token::Tokens<'_>| {
            tokens.comments.iter().map(|comment| comment.text.to_owned()).collect::<Vec<_>>()
        };
        prop_assert_eq!(texts(&before), texts(&after));
        prop_assert_eq!(comments(&before), comments(&after));
        prop_assert!(once.lines().all(|line| line.trim_end() == line), "{}", once);
    }
}
