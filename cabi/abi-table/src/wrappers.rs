//! Writes the C wrappers with which real runs are recorded (`cabi/tracer`), and the tables that translate an
//! MPI's own constants.
//!
//! The wrappers are compiled against that MPI's `mpi.h`, whose types differ in size and whose prototypes
//! differ in `const` and in what there is. So each wrapper has a C name of its own and takes the exported
//! name as the name of its symbol. Every pointer is a `void *`, and functions that the header does not
//! mention (`HAS_...`, from build.sh) are left out.
//!
//! Fortran's libraries call `PMPI_` functions, Open MPI's always and MPICH's for some of mpi_f08: these have
//! wrappers too, which pass on what is not from there.

use crate::kinds::Kind;
use crate::recording::is_recorded;
use crate::table::{AbiTable, Constant, Intent, Parameter, Row, symbol};
use std::fmt::Write;

/// Headings of the constants that programs hand over as numbers, and what the recorder calls them.
const SECTIONS: &[(&str, &str)] = &[
    ("Error classes", "ErrorClass"),
    ("Wildcards", "Wildcard"),
    ("Ranks with a meaning", "Rank"),
    ("Thread support, ascending", "Thread"),
    ("Array Datatype Order", "Order"),
    ("Array Datatype Distribution", "Distribution"),
    ("Datatype Decoding Combiners", "Combiner"),
    ("Fortran Datatype Matching", "TypeClass"),
    ("Communicator and Group Comparisons", "Comparison"),
    ("Communicator Virtual Topology Types", "Topology"),
    ("Communicator Split Types", "SplitType"),
    ("Window Lock Types", "Lock"),
    ("File Positioning", "Whence"),
    ("File Open Modes", "FileMode"),
    ("Window Assertion Modes", "Assertion"),
    ("Attribute keys: communicator", "Key"),
    ("Attribute keys: window", "Key"),
];

fn numbers(table: &AbiTable) -> Vec<(&Constant, &'static str)> {
    let section = |constant: &Constant| {
        SECTIONS.iter().find(|(heading, _)| *heading == constant.section).map(|&(_, name)| name)
    };
    table
        .constants
        .iter()
        .filter(|constant| constant.kind == "int")
        .filter_map(|constant| Some((constant, section(constant)?)))
        .collect()
}

/// Predefined handles with their classes, by value: where an MPI has one value for several, the first is
/// meant.
fn handles(table: &AbiTable) -> Vec<(&Constant, &'static str)> {
    let class = |constant: &Constant| {
        Kind::named(&constant.kind).and_then(|kind| kind.handle()).filter(|name| !name.starts_with("t_"))
    };
    let mut handles: Vec<_> =
        table.constants.iter().filter_map(|constant| Some((constant, class(constant)?))).collect();
    handles.sort_by_key(|(constant, _)| {
        u64::from_str_radix(constant.value.trim_start_matches("0x"), 16).expect("a handle is a number")
    });
    handles
}

/// Returns what the recorder needs of the constants, in the order of the wrappers' tables.
pub fn constants(table: &AbiTable) -> String {
    let mut out = String::from(
        "/// Numbers with a meaning: of what kind, and the standard's value.\n\
         pub static NUMBERS: &[(Section, i32)] = &[\n",
    );
    for (constant, section) in numbers(table) {
        writeln!(out, "    (Section::{section}, {}), // {}", constant.value, constant.name).unwrap();
    }
    out.push_str(
        "];\n\n\
         /// Predefined handles: their class, and the standard's value.\n\
         pub static PREDEFINED: &[(Class, usize)] = &[\n",
    );
    for (constant, class) in handles(table) {
        let class = format!("{}{}", class[..1].to_uppercase(), &class[1..]);
        writeln!(out, "    (Class::{class}, {}), // {}", constant.value, constant.name).unwrap();
    }
    out.push_str(
        "];\n\n\
         /// Meanings of the numbers.\n\
         #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]\n\
         #[allow(missing_docs, reason = \"as in the table\")]\n\
         pub enum Section {\n",
    );
    let mut names: Vec<&str> = SECTIONS.iter().map(|&(_, name)| name).collect();
    names.dedup();
    for name in names {
        writeln!(out, "    {name},").unwrap();
    }
    out + "}\n"
}

/// Functions that procedures of Fortran's libraries call for themselves, to know how long an array is or of
/// what kind a handle.
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

/// Returns `true` if Fortran's libraries call it within procedures of other names.
fn is_helper(name: &str) -> bool {
    HELPERS.contains(&name)
}

/// The functions that have wrappers, with their numbers.
// Nobody waits in the tool interface, whose handles are of the tool alone.
pub fn wrapped(table: &AbiTable) -> impl Iterator<Item = (usize, &Row)> {
    table
        .functions
        .iter()
        .enumerate()
        .filter(|(_, row)| is_recorded(row) && row.chapter != "tool" && row.is_standard())
}

/// Returns the wrappers and the tables, to be included behind `mpi.h`.
pub fn write(table: &AbiTable) -> String {
    let mut out = String::from("/* Generated from cabi/table; see build/wrappers.rs. */\n\n");
    let (numbers, handles) = (numbers(table), handles(table));
    writeln!(out, "const int64_t xsimtrace_numbers[{}] = {{", numbers.len()).unwrap();
    for (constant, _) in &numbers {
        guarded(&mut out, &constant.name, &format!("    {},\n", constant.name), "    XSIMTRACE_NONE,\n");
    }
    out.push_str("};\n\nvoid xsimtrace_handles(uint64_t *to)\n{\n");
    for (index, (constant, class)) in handles.iter().enumerate() {
        let there =
            format!("    {{ {} handle = {}; to[{index}] = BITS(handle); }}\n", c_type(class), constant.name);
        guarded(&mut out, &constant.name, &there, &format!("    to[{index}] = (uint64_t)XSIMTRACE_NONE;\n"));
    }
    out.push_str("}\n\n");
    for (number, row) in wrapped(table) {
        for &large in row.variants() {
            let text = wrapper(number, row, large);
            guarded(&mut out, &name(row, large), &text, "");
        }
    }
    out
}

fn c_type(class: &str) -> String {
    Kind::named(class).expect("a kind").c_type(false)
}

fn guarded(out: &mut String, name: &str, there: &str, missing: &str) {
    let missing = if missing.is_empty() { String::new() } else { format!("#else\n{missing}") };
    write!(out, "#ifdef HAS_{name}\n{there}{missing}#endif\n").unwrap();
}

fn name(row: &Row, large: bool) -> String {
    symbol("MPI", &row.name) + if large { "_c" } else { "" }
}

/// Returns `true` if C passes the value itself.
fn is_value(p: &Parameter) -> bool {
    let scalar = !matches!(
        p.kind,
        Kind::Status
            | Kind::Buffer
            | Kind::Address
            | Kind::Attribute
            | Kind::ExtraState
            | Kind::Text
            | Kind::Texts
            | Kind::TextArrays
            | Kind::Argc
            | Kind::Argv
            | Kind::Ranges
            | Kind::Function(_)
    );
    scalar && p.direction == Intent::In && p.length.is_none()
}

fn wrapper(number: usize, row: &Row, large: bool) -> String {
    let shown: Vec<&Parameter> = row.shown(large).filter(|p| p.kind != Kind::Variadic).collect();
    let declared = |index: usize, p: &Parameter| match is_value(p) {
        true => format!("{} a{index}", p.kind.c_type(large)),
        false => format!("void *a{index}"),
    };
    let typed = |(index, p): (usize, &&Parameter)| declared(index, p);
    let word = |(index, p): (usize, &&Parameter)| match (is_value(p), p.kind.handle()) {
        (true, Some(_)) => format!("BITS(a{index})"),
        (true, None) => format!("(uint64_t)(int64_t)a{index}"),
        (false, _) => format!("(uint64_t)(uintptr_t)a{index}"),
    };
    // The recorder puts memory of its own in the place of a status that the program ignores.
    let passed = |(index, p): (usize, &&Parameter)| match p.kind {
        Kind::Status => format!("(void *)(uintptr_t)words[{index}]"),
        _ => format!("a{index}"),
    };
    let join = |of: &dyn Fn((usize, &&Parameter)) -> String| {
        shown.iter().enumerate().map(of).collect::<Vec<_>>().join(", ")
    };
    let (name, typed) = (name(row, large), if shown.is_empty() { "void".into() } else { join(&typed) });
    let words = if shown.is_empty() { "0".into() } else { join(&word) };
    let (large, helper) = (u8::from(large), u8::from(is_helper(&row.name)));
    let (same, passed) = (join(&|(index, _)| format!("a{index}")), join(&passed));
    let behind_site = |list: &str| if shown.is_empty() { String::new() } else { format!(", {list}") };
    let (site_typed, site_same) = (behind_site(&join(&|(index, p)| declared(index, p))), behind_site(&same));
    format!(
        "REAL({name})\n\
         static inline int told_{name}(void *site{site_typed})\n\
         {{\n\
         \x20   uint64_t words[] = {{{words}}};\n\
         \x20   int told = xsimtrace_open({number}, {large}, words, site);\n\
         \x20   int code = THE_REAL({name})({passed});\n\
         \x20   if (told)\n        xsimtrace_close(told, words, code);\n\
         \x20   return code;\n\
         }}\n\
         EXPORTED int recorded_{name}({typed}) __asm__(\"{name}\");\n\
         int recorded_{name}({typed})\n\
         {{\n\
         \x20   void *from = __builtin_return_address(0), *site = is_fortran(from) ? site_of({number}, \
         {helper}, from) : from;\n\
         \x20   return site ? told_{name}(site{site_same}) : THE_REAL({name})({same});\n\
         }}\n\
         EXPORTED int passed_{name}({typed}) __asm__(\"P{name}\");\n\
         int passed_{name}({typed})\n\
         {{\n\
         \x20   void *from = __builtin_return_address(0), *site = is_fortran(from) ? site_of({number}, \
         {helper}, from) : NULL;\n\
         \x20   return site ? told_{name}(site{site_same}) : THE_REAL({name})({same});\n\
         }}\n"
    )
}
