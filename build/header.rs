//! Writes `include/mpi.h` from the table.

use crate::kinds::{HANDLES, Kind};
use crate::table::{Constant, Direction, Parameter, Row, Table};
use std::fmt::Write;

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
/* Fortran handles are the integers of MPI_*_toint; the older names for it. */
#define MPI_Comm_c2f(comm) ((MPI_Fint)MPI_Comm_toint(comm))
#define MPI_Comm_f2c(comm) MPI_Comm_fromint(comm)
#define MPI_Errhandler_c2f(errhandler) ((MPI_Fint)MPI_Errhandler_toint(errhandler))
#define MPI_Errhandler_f2c(errhandler) MPI_Errhandler_fromint(errhandler)
#define MPI_File_c2f(file) ((MPI_Fint)MPI_File_toint(file))
#define MPI_File_f2c(file) MPI_File_fromint(file)
#define MPI_Group_c2f(group) ((MPI_Fint)MPI_Group_toint(group))
#define MPI_Group_f2c(group) MPI_Group_fromint(group)
#define MPI_Info_c2f(info) ((MPI_Fint)MPI_Info_toint(info))
#define MPI_Info_f2c(info) MPI_Info_fromint(info)
#define MPI_Message_c2f(message) ((MPI_Fint)MPI_Message_toint(message))
#define MPI_Message_f2c(message) MPI_Message_fromint(message)
#define MPI_Op_c2f(op) ((MPI_Fint)MPI_Op_toint(op))
#define MPI_Op_f2c(op) MPI_Op_fromint(op)
#define MPI_Request_c2f(request) ((MPI_Fint)MPI_Request_toint(request))
#define MPI_Request_f2c(request) MPI_Request_fromint(request)
#define MPI_Session_c2f(session) ((MPI_Fint)MPI_Session_toint(session))
#define MPI_Session_f2c(session) MPI_Session_fromint(session)
#define MPI_Type_c2f(datatype) ((MPI_Fint)MPI_Type_toint(datatype))
#define MPI_Type_f2c(datatype) MPI_Type_fromint(datatype)
#define MPI_Win_c2f(win) ((MPI_Fint)MPI_Win_toint(win))
#define MPI_Win_f2c(win) MPI_Win_fromint(win)
int MPI_Status_c2f(const MPI_Status *c_status, MPI_Fint *f_status);
int MPI_Status_f2c(const MPI_Fint *f_status, MPI_Status *c_status);
int MPI_Status_c2f08(const MPI_Status *c_status, MPI_F08_status *f08_status);
int MPI_Status_f082c(const MPI_F08_status *f08_status, MPI_Status *c_status);
int MPI_Status_f2f08(const MPI_Fint *f_status, MPI_F08_status *f08_status);
int MPI_Status_f082f(const MPI_F08_status *f08_status, MPI_Fint *f_status);

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
pub fn write(table: &Table) -> String {
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
        for row in &table.functions {
            for &large in row.variants() {
                out.push_str(&prototype(row, large, prefix));
                out.push_str(";\n");
            }
        }
    }
    out.push_str(INTEROP);
    out
}

const ENUMS: [(&str, &str); 2] = [("MPI_T_cb_safety", "MPI_T_CB_"), ("MPI_T_source_order", "MPI_T_SOURCE_")];

fn enums(out: &mut String, table: &Table) {
    for (name, prefix) in ENUMS {
        let members: Vec<String> =
            table.constants.iter().filter(|c| c.name.starts_with(prefix)).map(|c| format!("    {} = {}", c.name, c.value)).collect();
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
    writeln!(out, "typedef {returns} (MPI_{}{suffix})({});", row.name, parameters(row, large)).unwrap();
}

/// `int MPI_Send(const void *buf, ...)`.
pub fn prototype(row: &Row, large: bool, prefix: &str) -> String {
    let suffix = if large { "_c" } else { "" };
    let returns = row.returns.as_deref().unwrap_or("int");
    format!("{returns} {prefix}_{}{suffix}({})", row.name, parameters(row, large))
}

fn parameters(row: &Row, large: bool) -> String {
    let list: Vec<String> = row.shown(large).map(|p| parameter(p, large)).collect();
    if list.is_empty() { "void".to_string() } else { list.join(", ") }
}

fn parameter(p: &Parameter, large: bool) -> String {
    // `index` would shadow a function of <strings.h>; C says `indx`, Fortran `index`.
    let name = if p.name == "index" { "indx" } else { p.name.as_str() };
    let c_type = p.kind.c_type(large);
    let read_only = if p.direction == Direction::In { "const " } else { "" };
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
        _ if p.length.is_some() => format!("{read_only}{c_type} {name}[]"),
        Kind::Status => format!("{read_only}{c_type} *{name}"),
        _ if p.direction != Direction::In => format!("{c_type} *{name}"),
        _ => format!("{c_type} {name}"),
    }
}

/// A C program that prints every constant whose value in the header is not the table's.
pub fn checks(table: &Table) -> String {
    let mut out = String::from("#include <mpi.h>\n#include <stddef.h>\n#include <stdio.h>\n");
    out.push_str("#define CHECK(name, value) if ((intptr_t)(name) != (value)) puts(#name)\n");
    out.push_str("int main(void) {\n");
    out.push_str("    CHECK(sizeof(MPI_Status), 32);\n    CHECK(offsetof(MPI_Status, MPI_SOURCE), 0);\n");
    out.push_str("    CHECK(offsetof(MPI_Status, MPI_TAG), 4);\n    CHECK(offsetof(MPI_Status, MPI_ERROR), 8);\n");
    for constant in table.constants.iter().filter(|c| c.kind != "alias") {
        writeln!(out, "    CHECK({}, {});", constant.name, constant.value).unwrap();
    }
    out.push_str("    return 0;\n}\n");
    out
}
