//! Writes `include/mpi.h` from the table.

use crate::kinds::{HANDLES, Kind};
use crate::table::{AbiTable, Constant, Intent, Parameter, Row, symbol};
use std::fmt::Write;

/// Columns that a line of the header has at most.
const MAX_COLUMNS: usize = 110;

const OPENING: &str = "\
/* MPI 5.0, standard ABI. Generated from cabi/table; do not edit (see cabi/table/README.md). */
#ifndef XSIM_MPI_H
#define XSIM_MPI_H

#include <stdint.h>

#ifdef __cplusplus
extern \"C\" {
#endif

typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef int64_t MPI_Count;

/* A Fortran INTEGER, which also carries a Fortran handle. */
typedef int MPI_Fint;

typedef struct MPI_Status {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int MPI_internal[5];
} MPI_Status;
typedef MPI_Status MPI_F08_status;

";

const INTEROP: &str = "
/* Fortran's MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE, which are variables. */
extern MPI_Fint xsim_status_ignore_[8];
extern MPI_Fint xsim_statuses_ignore_[8];
#define MPI_F_STATUS_IGNORE (&xsim_status_ignore_[0])
#define MPI_F_STATUSES_IGNORE (&xsim_statuses_ignore_[0])
#define MPI_F08_STATUS_IGNORE ((MPI_F08_status *)&xsim_status_ignore_[0])
#define MPI_F08_STATUSES_IGNORE ((MPI_F08_status *)&xsim_statuses_ignore_[0])

#ifdef __cplusplus
}
#endif

#include \"mpi_removed.h\"

#endif /* XSIM_MPI_H */
";

/// The whole header.
pub fn write(table: &AbiTable) -> String {
    let mut out = String::from(OPENING);
    for (_, c_type) in HANDLES {
        let tag = c_type.replacen("MPI_", "MPI_ABI_", 1);
        writeln!(out, "typedef struct {tag} *{c_type};").unwrap();
    }
    enums(&mut out, table);
    out.push('\n');
    for row in &table.callbacks {
        for &large in row.variants() {
            callback(&mut out, row, large);
        }
    }
    for object in ["Comm", "File", "Session", "Win"] {
        writeln!(out, "typedef MPI_{object}_errhandler_function MPI_{object}_errhandler_fn;").unwrap();
    }
    constants(&mut out, &table.constants);
    for prefix in ["MPI", "PMPI"] {
        out.push('\n');
        for row in table.functions.iter().filter(|row| row.is_standard()) {
            for &large in row.variants() {
                declare(&mut out, &prototype(row, large, prefix));
            }
        }
    }
    out.push_str("\n/* Beyond the standard: failures of processes (docs/reference/failures.md). */\n");
    for prefix in ["MPI", "PMPI"] {
        for row in table.functions.iter().filter(|row| !row.is_standard()) {
            declare(&mut out, &prototype(row, false, prefix));
        }
    }
    conversions(&mut out);
    out.push_str(INTEROP);
    out
}

/// The older names of what handles and statuses are in Fortran (MPI 5.0 sections 19.3.4 and 19.3.5), by hand
/// in `cabi/calls/convert.rs`.
fn conversions(out: &mut String) {
    out.push_str("\n/* Fortran handles are the integers of MPI_*_toint; the older names for it. */\n");
    for prefix in ["MPI", "PMPI"] {
        for (name, c_type) in HANDLES.iter().filter(|(name, _)| !name.starts_with("t_")) {
            let short = c_type.trim_start_matches("MPI_");
            let short = if short == "Datatype" { "Type" } else { short };
            writeln!(out, "MPI_Fint {prefix}_{short}_c2f({c_type} {name});").unwrap();
            writeln!(out, "{c_type} {prefix}_{short}_f2c(MPI_Fint {name});").unwrap();
        }
        for (of, to) in [("c", "f"), ("f", "c"), ("c", "f08"), ("f08", "c"), ("f", "f08"), ("f08", "f")] {
            let pointer = |kind: &str| {
                if kind == "c" {
                    "MPI_Status *"
                } else if kind == "f" {
                    "MPI_Fint *"
                } else {
                    "MPI_F08_status *"
                }
            };
            writeln!(
                out,
                "int {prefix}_Status_{of}2{to}(const {}{of}_status, {}{to}_status);",
                pointer(of),
                pointer(to)
            )
            .unwrap();
        }
    }
}

const ENUMS: [(&str, &str); 2] = [("MPI_T_cb_safety", "MPI_T_CB_"), ("MPI_T_source_order", "MPI_T_SOURCE_")];

fn enums(out: &mut String, table: &AbiTable) {
    for (name, prefix) in ENUMS {
        let members: Vec<String> = table
            .constants
            .iter()
            .filter(|c| c.name.starts_with(prefix))
            .map(|c| format!("    {} = {}", c.name, c.value))
            .collect();
        write!(out, "\ntypedef enum {name} {{\n{}\n}} {name};\n", members.join(",\n")).unwrap();
    }
}

fn constants(out: &mut String, constants: &[Constant]) {
    let mut section = "";
    for constant in constants {
        if ENUMS.iter().any(|(_, prefix)| constant.name.starts_with(prefix)) {
            continue;
        }
        if constant.section != section {
            section = &constant.section;
            write!(out, "\n/* {section} */\n").unwrap();
        }
        writeln!(out, "#define {:<34} {}", constant.name, c_value(constant)).unwrap();
    }
}

/// The constant as a C expression.
pub fn c_value(constant: &Constant) -> String {
    let value = &constant.value;
    let cast = match constant.kind.as_str() {
        "alias" => return value.clone(),
        "int" if value.starts_with('-') => return format!("({value})"),
        "int" => return value.clone(),
        "offset" => "MPI_Offset".to_string(),
        "address" => "void *".to_string(),
        "ints" => "int *".to_string(),
        "strings" => "char **".to_string(),
        "string_arrays" => "char ***".to_string(),
        "status" | "statuses" => "MPI_Status *".to_string(),
        kind => match kind.strip_prefix("fn.") {
            Some(function) => format!("{function} *"),
            None => Kind::named(kind)
                .and_then(|k| k.handle().map(|_| k.c_type(false)))
                .unwrap_or_else(|| panic!("{}: unknown constant kind {kind}", constant.name)),
        },
    };
    format!("(({cast}){value})")
}

fn callback(out: &mut String, row: &Row, large: bool) {
    let suffix = if large { "_c" } else { "" };
    let returns = row.returns.as_deref().unwrap_or("int");
    declare(out, &format!("typedef {returns} (MPI_{}{suffix})({})", row.name, parameters(row, large)));
}

/// Appends a declaration, whose parameters go on in further lines where [`MAX_COLUMNS`] are full.
fn declare(out: &mut String, text: &str) {
    let mut column = 0;
    for part in text.split_inclusive(", ") {
        if column > 0 && column + part.trim_end().len() + usize::from(part.ends_with(')')) > MAX_COLUMNS {
            out.truncate(out.trim_end().len());
            out.push_str("\n    ");
            column = 4;
        }
        out.push_str(part);
        column += part.len();
    }
    out.push_str(";\n");
}

/// `int MPI_Send(const void *buf, ...)`.
pub fn prototype(row: &Row, large: bool, prefix: &str) -> String {
    let suffix = if large { "_c" } else { "" };
    let returns = row.returns.as_deref().unwrap_or("int");
    format!("{returns} {}{suffix}({})", symbol(prefix, &row.name), parameters(row, large))
}

fn parameters(row: &Row, large: bool) -> String {
    let list: Vec<String> = row.shown(large).map(|p| parameter(p, large)).collect();
    if list.is_empty() { "void".to_string() } else { list.join(", ") }
}

fn parameter(p: &Parameter, large: bool) -> String {
    // `index` would shadow a function of <strings.h>; C says `indx`, Fortran `index`.
    let name = if p.name == "index" { "indx" } else { p.name.as_str() };
    let c_type = p.kind.c_type(large);
    let read_only = if p.direction == Intent::In { "const " } else { "" };
    match &p.kind {
        Kind::Variadic => c_type,
        Kind::Buffer | Kind::Text => format!("{read_only}{c_type} *{name}"),
        Kind::Address | Kind::Attribute | Kind::ExtraState => format!("void *{name}"),
        Kind::Texts => format!("char *{name}[]"),
        Kind::TextArrays => format!("char **{name}[]"),
        Kind::Argc => format!("int *{name}"),
        Kind::Argv => format!("char ***{name}"),
        Kind::Ranges => format!("int {name}[][3]"),
        Kind::Function(_) => format!("{c_type} *{name}"),
        // MPI_UNWEIGHTED is no array, and compilers know that of an array's parameter.
        _ if p.length.is_some() && name.contains("weights") => format!("{read_only}{c_type} *{name}"),
        _ if p.length.is_some() => format!("{read_only}{c_type} {name}[]"),
        Kind::Status => format!("{read_only}{c_type} *{name}"),
        _ if p.direction != Intent::In => format!("{c_type} *{name}"),
        _ => format!("{c_type} {name}"),
    }
}

/// A C program that prints every constant whose value in the header is not the table's.
pub fn checks(table: &AbiTable) -> String {
    let mut out = String::from("#include <mpi.h>\n#include <stddef.h>\n#include <stdio.h>\n");
    out.push_str("#define CHECK(name, value) if ((intptr_t)(name) != (value)) puts(#name)\n");
    out.push_str("int main(void) {\n");
    out.push_str("    CHECK(sizeof(MPI_Status), 32);\n    CHECK(offsetof(MPI_Status, MPI_SOURCE), 0);\n");
    out.push_str(
        "    CHECK(offsetof(MPI_Status, MPI_TAG), 4);\n    CHECK(offsetof(MPI_Status, MPI_ERROR), 8);\n",
    );
    for constant in table.constants.iter().filter(|c| c.kind != "alias") {
        writeln!(out, "    CHECK({}, {});", constant.name, constant.value).unwrap();
    }
    out.push_str("    return 0;\n}\n");
    out
}
