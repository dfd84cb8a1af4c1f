//! The C of each call, from the function table (`cabi/table`): generated programs spell the prototypes that
//! `mpi.h` has.

use abi_table::{Intent, Kind, Output, Parameter};
use std::env;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../../..");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    println!("cargo:rerun-if-changed={}", root.join("cabi/table").display());
    Output::new(&out).rust("signatures.rs", &signatures(&root));
}

fn signatures(root: &Path) -> String {
    let table = abi_table::read(&root.join("cabi/table"));
    let mut out = String::from("pub static SIGNATURES: &[FunctionSignature] = &[\n");
    for row in &table.functions {
        writeln!(
            out,
            "    FunctionSignature {{ name: \"{}\", has_large: {}, parameters: &[",
            row.full_name(),
            row.large
        )
        .unwrap();
        row.parameters.iter().filter(|p| p.kind != Kind::Variadic).for_each(|p| parameter(&mut out, p));
        out.push_str("    ] },\n");
    }
    out.push_str("];\n\npub static CONSTANTS: &[(&str, i64)] = &[\n");
    for constant in &table.constants {
        if let (true, Ok(value)) =
            (matches!(constant.kind.as_str(), "int" | "ints"), constant.value.parse::<i64>())
        {
            writeln!(out, "    (\"{}\", {value}),", constant.name).unwrap();
        }
    }
    out.push_str("];\n");
    out
}

fn parameter(out: &mut String, p: &Parameter) {
    let intent = match p.direction {
        Intent::In => "In",
        Intent::Out => "Out",
        Intent::InOut => "InOut",
    };
    let kind = match &p.kind {
        Kind::Function(name) => format!("ParameterKind::Function(\"{name}\")"),
        Kind::Handle(_) => "ParameterKind::Handle".to_owned(),
        kind if kind.wide(true) => "ParameterKind::Number".to_owned(),
        kind => format!(
            "ParameterKind::{}",
            match kind {
                Kind::Int | Kind::Keyval | Kind::Length | Kind::Logical => "Number",
                Kind::Rank | Kind::Root => "Rank",
                Kind::Tag => "Tag",
                Kind::Weight => "Weight",
                Kind::Status => "Status",
                Kind::Buffer => "Buffer",
                Kind::Text => "Text",
                Kind::Argc | Kind::Argv => "Main",
                _ => "Other",
            }
        ),
    };
    writeln!(
        out,
        "        SignatureParameter {{ name: \"{}\", kind: {kind}, direction: ParameterIntent::{intent}, \
         is_array: {}, large_only: {}, types: [\"{}\", \"{}\"] }},",
        p.name,
        p.length.is_some(),
        p.large_only,
        p.kind.c_type(false),
        p.kind.c_type(true)
    )
    .unwrap();
}
