//! Writes how entry points call their implementations: through `edge`, with the checks that the table says,
//! and each argument wrapped (`cabi/args.rs`).
//!
//! The entry points of one function in C, in Fortran and in Fortran with descriptors share one function each
//! ([`shared`]), where the call is long: it is compiled once. What is tried quickly stands in each of them.

use crate::exports::{object, rust_name, rust_type};
use crate::fortran::in_fortran;
use crate::kinds::Kind;
use crate::table::{AbiTable, Intent, Parameter, Row};
use std::fmt::Write;

/// Returns the functions that entry points share.
pub fn shared(table: &AbiTable) -> String {
    let mut out = String::new();
    for row in &table.functions {
        for &large in row.variants() {
            out.push_str(&shared_by(row, large, true));
            if in_fortran(row) && !is_same_in_fortran(row, large) {
                out.push_str(&shared_by(row, large, false));
            }
        }
    }
    out
}

/// Returns the function that the entry points of one language share, if there is one.
fn shared_by(row: &Row, large: bool, wide_handles: bool) -> String {
    match (&row.returns, &row.body) {
        (None, Some(_)) if row.waits.is_some() => halves(row, large, wide_handles),
        (None, Some(_)) if !row.is("quick") => {
            format!(
                "#[inline(never)]\npub fn {}({}) -> i32 {{\n{}}}\n",
                shared_name(row, large, wide_handles),
                typed(&shown(row, large), large),
                checked(row, large, wide_handles)
            )
        }
        _ => String::new(),
    }
}

/// Returns the name of a shared function.
fn shared_name(row: &Row, large: bool, wide_handles: bool) -> String {
    let language = if wide_handles || is_same_in_fortran(row, large) { "" } else { "_in_fortran" };
    format!("{}{}{language}", row.name, if large { "_c" } else { "" })
}

/// Returns `true` if the call is the same in C and in Fortran, where arrays of handles hold integers.
fn is_same_in_fortran(row: &Row, large: bool) -> bool {
    let passed = |wide_handles| passed(row, large, wide_handles, |_| true);
    passed(true) == passed(false)
}

fn shown(row: &Row, large: bool) -> Vec<&Parameter> {
    row.shown(large).filter(|p| p.kind != Kind::Variadic).collect()
}

fn names(of: &[&Parameter]) -> String {
    of.iter().map(|p| format!("{}, ", rust_name(p))).collect()
}

/// Returns parameters with their types, as a function declares them.
fn typed(of: &[&Parameter], large: bool) -> String {
    of.iter().map(|p| format!("{}: {}, ", rust_name(p), rust_type(p, large))).collect()
}

/// Returns the call of the implementation as an expression over the C arguments' names; arrays of
/// handles hold pointers or, in Fortran, integers.
pub fn body(row: &Row, large: bool, wide_handles: bool) -> String {
    match (&row.returns, &row.body) {
        (Some(_), Some(_)) => value(row, large),
        (Some(_), None) => format!("    edge::no_value(Function::{})\n", row.name),
        (None, Some(_)) if row.waits.is_some() => halved(row, large, wide_handles),
        (None, Some(_)) if row.is("quick") => checked(row, large, wide_handles),
        (None, Some(_)) => {
            format!("    bodies::{}({})\n", shared_name(row, large, wide_handles), names(&shown(row, large)))
        }
        (None, None) => format!("    edge::not_built(Function::{}, {})\n", row.name, object(row)),
    }
}

fn value(row: &Row, large: bool) -> String {
    let path = row.body.as_deref().expect("an implementation");
    let passed = passed(row, large, true, |_| true);
    let body =
        if passed.is_empty() { format!("calls::{path}") } else { format!("|c| calls::{path}(c{passed})") };
    format!("    edge::value(Function::{}, {body})\n", row.name)
}

fn checked(row: &Row, large: bool, wide_handles: bool) -> String {
    let (how, quick) = quickly(row, large, wide_handles);
    let checks_and_call = checks_and_call(row, large, wide_handles);
    format!(
        "    edge::call{how}(Function::{}, {}, {quick}|c| {{\n{checks_and_call}    }})\n",
        row.name,
        object(row)
    )
}

/// Returns `true` for a collective that communicates, blocking or not: the functions called most beside
/// those that are tried quickly.
fn communicates(row: &Row) -> bool {
    matches!(row.chapter.as_str(), "collective" | "neighbor")
        && !row.name.ends_with("_init")
        && (row.waits.is_some() || row.parameters.iter().any(|parameter| parameter.name == "request"))
}

/// Returns the end of the name of `edge`'s function for a call, and the closure that tries it quickly, if it
/// is tried so.
fn quickly(row: &Row, large: bool, wide_handles: bool) -> (&'static str, String) {
    if !row.is("quick") {
        return (if communicates(row) { "_inlined" } else { "" }, String::new());
    }
    let path = row.body.as_deref().expect("an implementation");
    (
        "_quickly",
        format!("|world| calls::{path}_quickly(world{}), ", passed(row, large, wide_handles, |_| true)),
    )
}

/// Returns what tries a function quickly that sends or receives, while nobody wants to know more of calls
/// than findings.
pub fn quickly_watched(row: &Row, large: bool) -> String {
    if large || row.waits.is_some() || row.chapter != "p2p" || !row.is("quick") {
        return String::new();
    }
    let (function, quick) = (&row.name, quickly(row, large, true).1);
    format!(
        "        let found = |world: &mut mpi::world::World| {{\n\
         \x20           recording::begin_quickly(world, Function::{function}, &words, &FRAME)\n        }};\n\
         \x20       let code = edge::once(Function::{function}, found, {quick}|world, found| {{\n\
         \x20           recording::end_quickly(world, &words, found)\n        }});\n\
         \x20       if let Some(code) = code {{\n            return code;\n        }}\n"
    )
}

/// Returns the body of a closure over `c`: what can be checked, and the call of the implementation.
fn checks_and_call(row: &Row, large: bool, wide_handles: bool) -> String {
    let path = row.body.as_deref().expect("an implementation");
    let mut out = String::new();
    for (index, parameter) in row.parameters.iter().enumerate() {
        if large || !parameter.large_only {
            check(&mut out, row, index, parameter, large);
        }
    }
    writeln!(out, "        calls::{path}(c{})", passed(row, large, wide_handles, |_| true)).unwrap();
    out
}

/// Returns a call in two halves, both out of line, with the wait between them: a rank that waits has little
/// on its stack.
fn halved(row: &Row, large: bool, wide_handles: bool) -> String {
    let name = shared_name(row, large, wide_handles);
    format!(
        "    let begun = bodies::begin_{name}({});\n    match begun.code() {{\n        Some(code) => code,\n\
         \x20       None => {{\n            edge::wait();\n\
         \x20           bodies::end_{name}(begun, {})\n        }}\n    }}\n",
        names(&shown(row, large)),
        names(&later(row, large)),
    )
}

/// Returns the parameters that the second half of a call is given, or needs for its object.
fn later(row: &Row, large: bool) -> Vec<&Parameter> {
    let object = object(row);
    let mut shown = shown(row, large);
    shown.retain(|p| in_end(row, p) || object.ends_with(&format!("({})", rust_name(p))));
    shown
}

/// Returns the two halves of a call.
fn halves(row: &Row, large: bool, wide_handles: bool) -> String {
    let path = row.body.as_deref().expect("an implementation");
    let (function, object) = (&row.name, object(row));
    let (how, quick) = quickly(row, large, wide_handles);
    let name = shared_name(row, large, wide_handles);
    format!(
        "#[inline(never)]\npub fn begin_{name}({}) -> edge::CallStart {{\n\
         \x20   edge::begin{how}(Function::{function}, {object}, {quick}|c| {{\n{}    }})\n}}\n\
         #[inline(never)]\npub fn end_{name}(begun: edge::CallStart, {}) -> i32 {{\n\
         \x20   edge::end(Function::{function}, {object}, begun, |c, waited| {{\n\
         \x20       calls::{path}_end(c, waited{})\n    }})\n}}\n",
        typed(&shown(row, large), large),
        checks_and_call(row, large, wide_handles),
        typed(&later(row, large), large),
        passed(row, large, wide_handles, |p| in_end(row, p)),
    )
}

/// Returns `true` if the second half of a call is given this parameter: the results, the lengths of those
/// that are arrays, and what the row names.
fn in_end(row: &Row, p: &Parameter) -> bool {
    let result = |q: &Parameter| q.direction != Intent::In && q.kind != Kind::Buffer;
    let named = row.waits.iter().flatten().any(|name| *name == p.name || name == "all");
    named || result(p) || row.parameters.iter().any(|q| result(q) && q.length.as_ref() == Some(&p.name))
}

/// Writes the check of what can be known to be wrong before the implementation looks.
fn check(out: &mut String, row: &Row, index: usize, p: &Parameter, large: bool) {
    let name = rust_name(p);
    let scalar = p.length.is_none();
    match p.kind {
        Kind::Count | Kind::LargeCount | Kind::Length if p.direction == Intent::In && scalar => {
            let check = if p.kind == Kind::Length { "length" } else { "count" };
            writeln!(out, "        args::check_{check}(c, {index}, {})?;", long(p, large)).unwrap();
        }
        // Sentinels, optional values and what only the root passes are the implementation's affair.
        Kind::Status | Kind::Weight | Kind::Argc | Kind::Argv | Kind::Variadic => {}
        Kind::Buffer | Kind::Attribute | Kind::ExtraState | Kind::Function(_) => {}
        _ if p.nullable => {}
        Kind::Text => {
            // What only the root gives, or what is bounded by a length of zero, may be null.
            let bounded = p.length.as_ref().is_some_and(|l| row.parameters.iter().any(|q| q.name == *l));
            if !bounded {
                writeln!(out, "        args::check_pointer(c, {index}, {name})?;").unwrap();
            }
        }
        Kind::Address if p.direction == Intent::Out => {
            writeln!(out, "        args::check_pointer(c, {index}, {name})?;").unwrap();
        }
        _ if scalar && p.direction != Intent::In => {
            writeln!(out, "        args::check_pointer(c, {index}, {name})?;").unwrap();
        }
        _ => {
            let length = p.length.as_ref().and_then(|l| row.parameters.iter().find(|q| q.name == *l));
            if let Some(length) = length.filter(|l| l.direction == Intent::In) {
                let length = long(length, large);
                writeln!(out, "        args::check_array(c, {index}, {name}, {length})?;").unwrap();
            }
        }
    }
}

/// Returns the arguments behind `c`, each wrapped as `cabi/table/README.md` says, of the parameters that are
/// `wanted`.
fn passed(row: &Row, large: bool, wide_handles: bool, wanted: impl Fn(&Parameter) -> bool) -> String {
    let mut out = String::new();
    for p in row.parameters.iter().filter(|p| p.kind != Kind::Variadic && wanted(p)) {
        write!(out, ", {}", wrapped(p, large, wide_handles)).unwrap();
    }
    if row.told {
        write!(out, ", {large}").unwrap();
    }
    out
}

fn wrapped(p: &Parameter, large: bool, wide_handles: bool) -> String {
    let name = if p.large_only && !large { absent(p) } else { rust_name(p) };
    let wide = p.kind.wide(large);
    let array = p.length.is_some();
    let out = p.direction != Intent::In;
    match &p.kind {
        Kind::Text if out => format!("OutText({name})"),
        Kind::Text => format!("CText({name})"),
        Kind::Texts => format!("Texts({name})"),
        Kind::TextArrays | Kind::Argc | Kind::Argv => name,
        // Handles are wide in C alone.
        Kind::Attribute if out => format!("args::OutAttribute {{ at: {name}, in_c: {wide_handles} }}"),
        Kind::Attribute if wide_handles => format!("calls::attribute::AttributeValue::Pointer({name}.0)"),
        Kind::Attribute => format!("calls::attribute::AttributeValue::integer({name}.0 as i64)"),
        Kind::Buffer | Kind::Address | Kind::ExtraState => name,
        Kind::Ranges => format!("Ranges({name})"),
        Kind::Function(_) => format!("{name}.0"),
        Kind::Status if array => format!("OutStatuses({name})"),
        Kind::Status => format!("StatusPointer({name})"),
        Kind::Handle(_) if array => format!("Handles {{ at: {name}, wide: {wide_handles} }}"),
        Kind::Handle(_) if p.direction == Intent::InOut => format!("InOut::<Handle>::new({name})"),
        Kind::Handle(_) if out => format!("Out::<Handle>::new({name})"),
        Kind::Handle(_) => name,
        Kind::Weight => format!("Weights({name})"),
        Kind::Logical if array => format!("Flags({name})"),
        Kind::Logical if out => format!("Out::<bool>::new({name})"),
        Kind::Logical => format!("{name} != 0"),
        kind if kind.counts() && array => format!("Counts {{ at: {name}, wide: {wide} }}"),
        kind if kind.counts() && out => format!("OutCount {{ at: {name}, wide: {wide} }}"),
        kind if kind.counts() && (wide || p.large_only) => name,
        kind if kind.counts() => long(p, large),
        _ if array => format!("Ints({name})"),
        _ if p.direction == Intent::InOut => format!("InOut::<i32>::new({name})"),
        _ if out => format!("Out::<i32>::new({name})"),
        _ => name,
    }
}

/// Returns what stands for a parameter that this variant does not have.
fn absent(p: &Parameter) -> String {
    if p.length.is_some() || p.direction != Intent::In { "Addr::NULL".into() } else { "0i64".into() }
}

/// Returns a number as `i64`.
fn long(p: &Parameter, large: bool) -> String {
    let name = rust_name(p);
    if p.kind.wide(large) { name } else { format!("i64::from({name})") }
}
