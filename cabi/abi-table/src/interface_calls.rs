//! Writes Fortran programs that call every function once, for the tests: what does not
//! compile or link there is missing from an interface or from the library.

use crate::fortran::{in_fortran, visible};
use crate::kinds::{Kind, large_function};
use crate::modules::{f08_type, integer_type};
use crate::table::{AbiTable, Parameter, Row, symbol};
use std::fmt::Write;

/// The interface through which a program uses MPI.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Through {
    Header,
    Integers,
    Types,
}

/// File names and texts.
pub fn programs(table: &AbiTable) -> Vec<(&'static str, String)> {
    vec![
        ("calls_mpif.f90", program(table, Through::Header)),
        ("calls_mpi.f90", program(table, Through::Integers)),
        ("calls_mpi_f08.f90", program(table, Through::Types)),
    ]
}

fn program(table: &AbiTable, through: Through) -> String {
    // One module around all: each `use` would read all the interfaces again.
    let mut out = String::from("module calls\n");
    out.push_str(match through {
        Through::Header => "  implicit none\n  include 'mpif.h'\n",
        Through::Integers => "  use mpi\n  implicit none\n",
        Through::Types => "  use, intrinsic :: iso_c_binding, only: c_ptr\n  use mpi_f08\n  implicit none\n",
    });
    out.push_str("contains\n");
    for row in table.functions.iter().filter(|r| in_fortran(r)) {
        let old = row.deprecated.as_deref() == Some("2.0");
        if through == Through::Types && old {
            continue;
        }
        for &large in row.variants() {
            // mpif.h and module mpi have no large counts.
            if large && through != Through::Types {
                continue;
            }
            for prefix in ["MPI", "PMPI"] {
                calls(&mut out, row, large, through, prefix);
            }
        }
    }
    out.push_str("end module\nprogram program_of_calls\n  use calls\nend program\n");
    out
}

fn calls(out: &mut String, row: &Row, large: bool, through: Through, prefix: &str) {
    let apart = row.parameters.iter().any(|p| matches!(p.kind, Kind::Function(_)));
    let name = format!("{}{}", symbol(prefix, &row.name), if large && apart { "_c" } else { "" });
    let shown: Vec<&Parameter> = row.shown(large).filter(|p| visible(row, p)).collect();
    let arguments: Vec<&str> = shown.iter().map(|p| p.name.as_str()).collect();
    // The program's own name for the routine, apart from every MPI name.
    let own = format!(
        "calls_{}_{}{}",
        prefix.to_lowercase(),
        row.name.to_lowercase(),
        if large { "_large" } else { "" }
    );
    let functions: Vec<&str> =
        shown.iter().filter(|p| matches!(p.kind, Kind::Function(_))).map(|p| p.name.as_str()).collect();
    writeln!(out, "subroutine {own}({})", functions.join(", ")).unwrap();
    for p in &shown {
        writeln!(out, "  {}", variable(row, p, through, large)).unwrap();
    }
    let function = row.returns.is_some();
    if function {
        let of = if row.returns.as_deref() == Some("double") {
            "double precision"
        } else {
            "integer(MPI_ADDRESS_KIND)"
        };
        writeln!(out, "  {of} :: answer\n  answer = {name}({})", arguments.join(", ")).unwrap();
    } else {
        let mut list = arguments.clone();
        if row.name != "Pcontrol" {
            out.push_str("  integer :: ierror\n");
            list.push("ierror");
        }
        call(out, &name, &list);
        if through == Through::Types && row.name != "Pcontrol" {
            call(out, &name, &arguments);
        }
    }
    writeln!(out, "end subroutine").unwrap();
}

fn call(out: &mut String, name: &str, arguments: &[&str]) {
    writeln!(out, "  call {name}( &").unwrap();
    for (index, argument) in arguments.iter().enumerate() {
        let comma = if index + 1 < arguments.len() { "," } else { "" };
        writeln!(out, "    {argument}{comma} &").unwrap();
    }
    out.push_str("    )\n");
}

fn variable(row: &Row, p: &Parameter, through: Through, large: bool) -> String {
    let name = &p.name;
    let old = row.deprecated.as_deref() == Some("2.0");
    if let Kind::Function(of) = &p.kind {
        return match through {
            Through::Types => format!("procedure({}) :: {name}", large_function(of, large)),
            _ => format!("external :: {name}"),
        };
    }
    if p.kind == Kind::Buffer {
        return format!("real, asynchronous :: {name}(4, 4)");
    }
    if p.kind == Kind::Address && p.name != "baseptr" && through != Through::Types {
        return format!("real :: {name}(4)");
    }
    let shape = match &p.kind {
        Kind::Status if through == Through::Types && p.length.is_some() => "(4)",
        Kind::Status if through == Through::Types => "",
        Kind::Status if p.length.is_some() => "(MPI_STATUS_SIZE, 4)",
        Kind::Status => "(MPI_STATUS_SIZE)",
        Kind::Texts => "(4)",
        Kind::TextArrays => "(4, 4)",
        Kind::Ranges => "(3, 4)",
        Kind::Text => "",
        _ if p.length.is_some() => "(4)",
        _ => "",
    };
    let of = if through == Through::Types { f08_type(p, large) } else { integer_type(p, large, old) };
    let of = of.replace("len=*", "len=20");
    format!("{of} :: {name}{shape}")
}
