//! Writes the C entry points: for each function `PMPI_X` with a weak `MPI_X`, which checks
//! what the table says can be checked, wraps the arguments (`cabi/args.rs`) and calls the
//! implementation through `edge`.

use crate::kinds::Kind;
use crate::recording;
use crate::table::{Direction, PROPERTIES, Parameter, Row, Table, symbol as symbol_of};
use std::fmt::Write;

/// The `Function` enum with names and argument names.
pub fn functions(table: &Table) -> String {
    let mut out = String::new();
    let count = table.functions.len();
    out.push_str("/// An MPI function; its `_c` variant is the same function.\n");
    // Not u16: half a word on a blocked rank's stack would keep beside it what was there before, and differ
    // from rank to rank.
    out.push_str("#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]\n#[repr(u32)]\n");
    out.push_str("#[allow(non_camel_case_types, missing_docs)]\npub enum Function {\n");
    for row in &table.functions {
        writeln!(out, "    {},", row.name).unwrap();
    }
    writeln!(out, "}}\n\n/// How many functions there are.\npub const COUNT: usize = {count};").unwrap();
    out.push_str("\n/// The functions' names, by `Function as usize`.\n");
    writeln!(out, "pub static NAMES: [&str; {count}] = [").unwrap();
    for row in &table.functions {
        writeln!(out, "    \"{}\",", row.full_name()).unwrap();
    }
    out.push_str("];\n\n/// The functions' argument names, by `Function as usize`.\n");
    writeln!(out, "pub static ARGUMENTS: [&[&str]; {count}] = [").unwrap();
    for row in &table.functions {
        let names: Vec<String> = row.parameters.iter().map(|p| format!("\"{}\"", p.name)).collect();
        writeln!(out, "    &[{}],", names.join(", ")).unwrap();
    }
    out.push_str("];\n\n/// What can be said of a function: a bit each.\n#[derive(Clone, Copy, PartialEq, Eq, Debug)]\n#[repr(u8)]\npub enum Property {\n");
    for (bit, (name, meaning)) in PROPERTIES.iter().enumerate() {
        writeln!(out, "    /// {meaning}\n    {}{} = 1 << {bit},", name[..1].to_uppercase(), &name[1..])
            .unwrap();
    }
    writeln!(
        out,
        "}}\n\n/// The functions' properties, by `Function as usize`.\nconst PROPERTIES: [u8; {count}] = ["
    )
    .unwrap();
    for row in &table.functions {
        write!(out, "{}, ", row.properties).unwrap();
    }
    out.push_str("\n];\n");
    out
}

/// All entry points.
pub fn write(table: &Table) -> String {
    let mut out = String::new();
    for row in &table.functions {
        for &large in row.variants() {
            entry(&mut out, row, large);
        }
    }
    out
}

fn entry(out: &mut String, row: &Row, large: bool) {
    let symbol = format!("{}{}", row.name, if large { "_c" } else { "" });
    let arguments: Vec<String> = row
        .shown(large)
        .filter(|p| p.kind != Kind::Variadic)
        .map(|p| format!("{}: {}", rust_name(p), rust_type(p, large)))
        .collect();
    let returns = row.returns.as_deref().map_or("i32", rust_return);
    let body = body(row, large, true);
    let recorded = if recording::is_recorded(row) {
        let names: Vec<String> =
            row.shown(large).filter(|p| p.kind != Kind::Variadic).map(rust_name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        recording::around(row, large, &symbol, &quickly_watched(row, large)) + &recording::branch(&names)
    } else {
        String::new()
    };
    let (weak, strong) = (symbol_of("MPI", &symbol), symbol_of("PMPI", &symbol));
    writeln!(
        out,
        "std::arch::global_asm!(\".weak {weak}\", \".set {weak}, {strong}\");\n\
         #[unsafe(no_mangle)]\n#[allow(unused_variables)]\n\
         pub extern \"C-unwind\" fn {strong}({}) -> {returns} {{\n{recorded}    let boundary = edge::Boundary::enter();\n    let result = {{\n{body}    }};\n    boundary.leave();\n    result\n}}",
        arguments.join(", ")
    )
    .unwrap();
}

/// The call of the implementation as an expression over the C arguments' names; arrays of
/// handles hold pointers or, in Fortran, integers.
pub fn body(row: &Row, large: bool, wide_handles: bool) -> String {
    match (&row.returns, &row.body) {
        (Some(_), Some(_)) => value(row, large),
        (Some(_), None) => format!("    edge::no_value(Function::{})\n", row.name),
        (None, Some(_)) if row.waits.is_some() => halves(row, large, wide_handles),
        (None, Some(_)) => checked(row, large, wide_handles),
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

/// Returns, for a function that is tried quickly, the end of the call that does so, and the closure that it
/// is given before the other one.
fn quickly(row: &Row, large: bool, wide_handles: bool) -> (&'static str, String) {
    if !row.is("quick") {
        return ("", String::new());
    }
    let path = row.body.as_deref().expect("an implementation");
    (
        "_quickly",
        format!("|world| calls::{path}_quickly(world{}), ", passed(row, large, wide_handles, |_| true)),
    )
}

/// Returns what tries a function quickly that sends or receives, while nobody wants to know more of calls
/// than findings.
fn quickly_watched(row: &Row, large: bool) -> String {
    if large || row.waits.is_some() || row.chapter != "p2p" || !row.is("quick") {
        return String::new();
    }
    let (function, quick) = (&row.name, quickly(row, large, true).1);
    format!(
        "        let found = |world: &mut mpi::world::World| recording::begin_quickly(world, Function::{function}, &words, &FRAME);\n\
         \x20       let code = edge::once(Function::{function}, found, {quick}|world, found| recording::end_quickly(world, &words, found));\n\
         \x20       if let Some(code) = code {{\n            return code;\n        }}\n"
    )
}

/// The body of a closure over `c`: what can be checked, and the call of the implementation.
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

/// A call in two halves, both out of line, with the wait between them: a rank that waits has little on its
/// stack.
fn halves(row: &Row, large: bool, wide_handles: bool) -> String {
    let path = row.body.as_deref().expect("an implementation");
    let (function, object) = (&row.name, object(row));
    let shown: Vec<&Parameter> = row.shown(large).filter(|p| p.kind != Kind::Variadic).collect();
    let later: Vec<&Parameter> = shown
        .iter()
        .copied()
        .filter(|p| in_end(row, p) || object.ends_with(&format!("({})", rust_name(p))))
        .collect();
    let typed = |of: &[&Parameter]| -> String {
        of.iter().map(|p| format!("{}: {}, ", rust_name(p), rust_type(p, large))).collect()
    };
    let (how, quick) = quickly(row, large, wide_handles);
    let named = |of: &[&Parameter]| -> String { of.iter().map(|p| format!("{}, ", rust_name(p))).collect() };
    format!(
        "    #[inline(never)]\n    #[allow(clippy::too_many_arguments)]\n    fn begin({}) -> edge::Begun {{\n    edge::begin{how}(Function::{function}, {object}, {quick}|c| {{\n{}    }})\n    }}\n\
         \x20   #[inline(never)]\n    #[allow(clippy::too_many_arguments, clippy::redundant_closure)]\n    fn end(begun: edge::Begun, {}) -> i32 {{\n\
         \x20       edge::end(Function::{function}, {object}, begun, |c, waited| calls::{path}_end(c, waited{}))\n    }}\n\
         \x20   let begun = begin({});\n    match begun.code() {{\n        Some(code) => code,\n\
         \x20       None => {{\n            edge::wait();\n            end(begun, {})\n        }}\n    }}\n",
        typed(&shown),
        checks_and_call(row, large, wide_handles),
        typed(&later),
        passed(row, large, wide_handles, |p| in_end(row, p)),
        named(&shown),
        named(&later),
    )
}

/// Returns `true` if the second half of a call is given this parameter: the results, the lengths of those
/// that are arrays, and what the row names.
fn in_end(row: &Row, p: &Parameter) -> bool {
    let result = |q: &Parameter| q.direction != Direction::In && q.kind != Kind::Buffer;
    let named = row.waits.iter().flatten().any(|name| *name == p.name || name == "all");
    named || result(p) || row.parameters.iter().any(|q| result(q) && q.length.as_ref() == Some(&p.name))
}

/// What can be known to be wrong before the implementation looks.
fn check(out: &mut String, row: &Row, index: usize, p: &Parameter, large: bool) {
    let name = rust_name(p);
    let scalar = p.length.is_none();
    match p.kind {
        Kind::Count | Kind::LargeCount | Kind::Length if p.direction == Direction::In && scalar => {
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
        Kind::Address if p.direction == Direction::Out => {
            writeln!(out, "        args::check_pointer(c, {index}, {name})?;").unwrap();
        }
        _ if scalar && p.direction != Direction::In => {
            writeln!(out, "        args::check_pointer(c, {index}, {name})?;").unwrap();
        }
        _ => {
            let length = p.length.as_ref().and_then(|l| row.parameters.iter().find(|q| q.name == *l));
            if let Some(length) = length.filter(|l| l.direction == Direction::In) {
                let length = long(length, large);
                writeln!(out, "        args::check_array(c, {index}, {name}, {length})?;").unwrap();
            }
        }
    }
}

/// The arguments behind `c`, each wrapped as `cabi/table/README.md` says, of the parameters that are
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
    let out = p.direction != Direction::In;
    match &p.kind {
        Kind::Text if out => format!("OutText({name})"),
        Kind::Text => format!("Text({name})"),
        Kind::Texts => format!("Texts({name})"),
        Kind::TextArrays | Kind::Argc | Kind::Argv => name,
        // Handles are wide in C alone.
        Kind::Attribute if out => format!("args::OutAttribute {{ at: {name}, in_c: {wide_handles} }}"),
        Kind::Attribute if wide_handles => format!("calls::attribute::Value::Pointer({name}.0)"),
        Kind::Attribute => format!("calls::attribute::Value::integer({name}.0 as i64)"),
        Kind::Buffer | Kind::Address | Kind::ExtraState => name,
        Kind::Ranges => format!("Ranges({name})"),
        Kind::Function(_) => format!("{name}.0"),
        Kind::Status if array => format!("OutStatuses({name})"),
        Kind::Status => format!("StatusPointer({name})"),
        Kind::Handle(_) if array => format!("Handles {{ at: {name}, wide: {wide_handles} }}"),
        Kind::Handle(_) if p.direction == Direction::InOut => format!("InOut::<Handle>::new({name})"),
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
        _ if p.direction == Direction::InOut => format!("InOut::<i32>::new({name})"),
        _ if out => format!("Out::<i32>::new({name})"),
        _ => name,
    }
}

/// Returns what stands for a parameter that this variant does not have.
fn absent(p: &Parameter) -> String {
    if p.length.is_some() || p.direction != Direction::In { "Addr::NULL".into() } else { "0i64".into() }
}

/// A number as `i64`.
fn long(p: &Parameter, large: bool) -> String {
    let name = rust_name(p);
    if p.kind.wide(large) { name } else { format!("i64::from({name})") }
}

/// The parameter's name in generated Rust.
pub fn rust_name(p: &Parameter) -> String {
    // Names that Rust reserves or that the generated body uses itself.
    match p.name.as_str() {
        "c" | "type" | "in" | "ref" | "fn" | "match" => format!("{}_", p.name),
        name => name.to_string(),
    }
}

/// The type in the exported signature: pointers are addresses.
pub fn rust_type(p: &Parameter, large: bool) -> &'static str {
    let pointer = p.length.is_some() || p.direction != Direction::In;
    match &p.kind {
        Kind::Buffer | Kind::Address | Kind::Attribute | Kind::ExtraState | Kind::Text => "Addr",
        Kind::Texts | Kind::TextArrays | Kind::Argc | Kind::Argv | Kind::Ranges => "Addr",
        Kind::Function(_) | Kind::Status => "Addr",
        _ if pointer => "Addr",
        Kind::Handle(_) => "Handle",
        kind if kind.wide(large) => "i64",
        _ => "i32",
    }
}

/// The Rust type a function returns instead of an error code.
pub fn rust_return(c_type: &str) -> &'static str {
    match c_type {
        "int" => "i32",
        "double" => "f64",
        "MPI_Aint" => "i64",
        _ => "Handle",
    }
}

/// The object whose error handler a failure of this call goes to (MPI 5.0 section 9.3).
pub fn object(row: &Row) -> String {
    if row.chapter == "tool" {
        return "Object::Tool".into();
    }
    for p in row.parameters.iter().filter(|p| p.length.is_none() && p.direction == Direction::In) {
        let case = match p.kind.handle() {
            Some("comm") => "Comm",
            Some("win") => "Win",
            Some("file") => "File",
            Some("session") => "Session",
            _ => continue,
        };
        return format!("Object::{case}({})", rust_name(p));
    }
    // What makes a communicator of groups alone is given the error handler that this one will have (MPI 5.0
    // section 7.4.2).
    match row.parameters.iter().find(|p| p.name == "errhandler" && p.direction == Direction::In) {
        Some(p) if row.name.contains("create_from_group") => format!("Object::Handler({})", rust_name(p)),
        _ => "Object::None".into(),
    }
}
