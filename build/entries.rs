//! Writes the entries of an MPI's Fortran library that the recorder of real runs (`cabi/tracer`) stands before, so that calls have their places in the program.
//!
//! A Fortran procedure calls the C function of its name, or that with `P`, so that C sees a call of the library. Each entry notes where it returns to and which function that
//! will be, and jumps on with all arguments as they are: it need not know them. Assembler of x86-64, System V ABI.

use crate::recording::is_recorded;
use crate::table::Table;
use std::fmt::Write;

/// Functions that procedures of the libraries call for themselves, to know how long an array is or of what kind a handle.
const HELPERS: &[&str] = &[
    "Cartdim_get",
    "Comm_rank",
    "Comm_remote_size",
    "Comm_size",
    "Comm_test_inter",
    "Dist_graph_neighbors_count",
    "Graphdims_get",
    "Graph_neighbors_count",
    "Group_size",
    "Topo_test",
    "Type_get_envelope",
    "Type_get_extent",
    "Type_size",
];

/// Whether Fortran's library calls it within procedures of other names.
pub fn is_helper(name: &str) -> bool {
    HELPERS.contains(&name)
}

/// The entries, to be included in C, behind `struct entry`.
pub fn write(table: &Table) -> String {
    let mut out = String::from("__asm__(\".text\\n\"\n");
    let mut data = String::new();
    let mut count = 0;
    for (number, row) in table.functions.iter().enumerate() {
        if !is_recorded(row) || row.chapter == "tool" || !row.is_standard() {
            continue;
        }
        let upper = row.full_name().to_uppercase();
        let lower = upper.to_lowercase();
        // Names of procedures of mpif.h and module mpi with and without underscores; of mpi_f08, with choice buffers as descriptors or without.
        let families = [
            vec![format!("{lower}_"), lower.clone(), format!("{lower}__"), upper],
            vec![format!("{lower}_f08_")],
            vec![format!("{lower}_f08ts_")],
            vec![format!("{lower}_f08ts_large_")],
            vec![format!("{lower}_f08_large_")],
        ];
        for names in families {
            for name in &names {
                writeln!(out, "    \".globl {name}\\n.type {name},@function\\n{name}:\\n\"").unwrap();
            }
            writeln!(out, "    \"movl ${number}, %r10d\\nleaq xsimtrace_entry_{count}(%rip), %r11\\njmp xsimtrace_enter\\n\"").unwrap();
            writeln!(data, "    \"xsimtrace_entry_{count}: .quad 0, xsimtrace_name_{count}\\n\"").unwrap();
            writeln!(data, "    \".section .rodata\\nxsimtrace_name_{count}: .asciz \\\"{}\\\"\\n.data\\n\"", names[0]).unwrap();
            count += 1;
        }
    }
    out + "    \".data\\n.balign 8\\n\"\n" + &data + "    \".text\\n\");\n"
}
