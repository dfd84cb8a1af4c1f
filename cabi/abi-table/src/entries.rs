//! Writes the entries of an MPI's Fortran library that the recorder of real runs (`cabi/tracer`) stands
//! before, so that calls have their places in the program.
//!
//! A Fortran procedure calls the C function of its name, or that with `P`, so that C sees a call of the
//! library. Each entry notes where it returns to and which function that will be, and jumps on with all
//! arguments as they are: it need not know them. Assembler of x86-64, System V ABI.

use crate::table::AbiTable;
use crate::wrappers::wrapped;
use std::fmt::Write;

/// The entries, to be included in C, behind `struct entry`.
pub fn write(table: &AbiTable) -> String {
    let mut out = String::from("__asm__(\".text\\n\"\n");
    let mut data = String::new();
    let mut count = 0;
    for (number, row) in wrapped(table) {
        let upper = row.full_name().to_uppercase();
        let lower = upper.to_lowercase();
        // Names of procedures of mpif.h and module mpi with and without underscores; of mpi_f08, with choice
        // buffers as descriptors or without.
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
            writeln!(
                out,
                "    \"movl ${number}, %r10d\\nleaq xsimtrace_entry_{count}(%rip), %r11\\njmp \
                 xsimtrace_enter\\n\""
            )
            .unwrap();
            writeln!(data, "    \"xsimtrace_entry_{count}: .quad 0, xsimtrace_name_{count}\\n\"").unwrap();
            writeln!(
                data,
                "    \".section .rodata\\nxsimtrace_name_{count}: .asciz \\\"{}\\\"\\n.data\\n\"",
                names[0]
            )
            .unwrap();
            count += 1;
        }
    }
    out + "    \".data\\n.balign 8\\n\"\n" + &data + "    \".text\\n\");\n"
}
