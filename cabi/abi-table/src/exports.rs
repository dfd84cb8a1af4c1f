//! Writes the C entry points: for each function `PMPI_X` with a weak `MPI_X`, which checks
//! what the table says can be checked, wraps the arguments (`cabi/args.rs`) and calls the
//! implementation through `edge`.

use crate::bodies::{body, quickly_watched};
use crate::kinds::Kind;
use crate::recording;
use crate::table::{AbiTable, Intent, PROPERTIES, Parameter, Row, symbol as symbol_of};
use std::fmt::Write;

/// The `Function` enum with names and argument names.
pub fn functions(table: &AbiTable) -> String {
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
    out.push_str(
        "];\n\n\
         /// What can be said of a function: a bit each.\n\
         #[derive(Clone, Copy, PartialEq, Eq, Debug)]\n\
         #[repr(u8)]\n\
         pub enum Property {\n",
    );
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
pub fn write(table: &AbiTable) -> String {
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
         #[unsafe(no_mangle)]\n\
         #[allow(unused_variables)]\n\
         pub extern \"C-unwind\" fn {strong}({}) -> {returns} {{\n\
         {recorded}    let boundary = edge::Boundary::enter();\n    let result = {{\n\
         {body}    }};\n    boundary.leave();\n    result\n\
         }}",
        arguments.join(", ")
    )
    .unwrap();
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
    let pointer = p.length.is_some() || p.direction != Intent::In;
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
    for p in row.parameters.iter().filter(|p| p.length.is_none() && p.direction == Intent::In) {
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
    match row.parameters.iter().find(|p| p.name == "errhandler" && p.direction == Intent::In) {
        Some(p) if row.name.contains("create_from_group") => format!("Object::Handler({})", rust_name(p)),
        _ => "Object::None".into(),
    }
}
