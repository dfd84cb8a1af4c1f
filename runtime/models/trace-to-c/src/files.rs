//! The files of a benchmark.

use crate::lines::ProgramText;
use crate::{Computation, Datatypes, Options};
use recorder::Class;
use std::fmt::Write;
use trace::Trace;

/// A file by its name.
pub struct GeneratedFile {
    /// `main.c`.
    pub name: &'static str,
    /// The contents.
    pub text: String,
}

const UTIL_C: &str = include_str!("c/util.c");
const UTIL_H: &str = include_str!("c/util.h");
const TIMES_C: &str = include_str!("c/times.c");
const MAKEFILE: &str = include_str!("c/Makefile");
const README: &str = include_str!("c/README");

/// Returns all files of a program; `times` is what each rank computes each time, if that is to be.
pub fn of(
    trace: &Trace,
    name: &str,
    options: &Options,
    program: &mut ProgramText,
    times: Option<String>,
) -> Vec<GeneratedFile> {
    let mut files = vec![
        GeneratedFile { name: "main.c", text: main_c(program, options) },
        GeneratedFile { name: "main.h", text: main_h(trace, program, options) },
        GeneratedFile { name: "util.h", text: UTIL_H.to_owned() },
        GeneratedFile { name: "util.c", text: UTIL_C.to_owned() },
        GeneratedFile {
            name: "Makefile",
            text: MAKEFILE.replace("{TIMES}", if times.is_some() { " times.c" } else { "" }),
        },
        GeneratedFile { name: "README", text: readme(trace, name, options) },
    ];
    if let Some(times) = times {
        files.push(GeneratedFile { name: "times.c", text: TIMES_C.to_owned() });
        files.push(GeneratedFile { name: "times.txt", text: times });
    }
    files
}

fn main_c(program: &mut ProgramText, options: &Options) -> String {
    let mut out = String::from("#include \"main.h\"\n#include \"util.h\"\n\n");
    let times = program.times.as_ref().map(|times| times.definitions(&mut program.speller.vectors));
    let vectors = program.speller.vectors.definitions();
    if !vectors.is_empty() {
        out += &vectors;
        out.push('\n');
    }
    out += times.as_deref().unwrap_or_default();
    out += &counters(program);
    out += "int main(int argc, char **argv)\n{\n";
    if times.is_some() {
        out += "    paths_are(paths, (int)(sizeof paths / sizeof paths[0]));\n";
    }
    if !program.is_whole {
        out += "    MPI_Init(&argc, &argv);\n    started();\n";
        if options.computation == Computation::Each {
            out += "    read_times();\n";
        }
    }
    out += &program.body;
    if !program.functions.contains("MPI_Finalize") {
        out += "    MPI_Finalize();\n";
    }
    out + "    return 0;\n}\n"
}

/// Returns the counters of a program in which, with -DCOUNT, each call counts itself.
fn counters(program: &ProgramText) -> String {
    let mut out = String::from("#ifdef COUNT\nstatic const char *const names[FUNCTIONS] = {\n");
    let names = || {
        program
            .functions
            .iter()
            .chain((!program.functions.contains("MPI_Finalize")).then_some(&"MPI_Finalize"))
    };
    for name in names() {
        let _ = writeln!(out, "    \"{name}\",");
    }
    out += "};\n";
    for (number, name) in names().enumerate() {
        let prints = if *name == "MPI_Finalize" { "print_counts(names, FUNCTIONS), " } else { "" };
        let arguments = if *name == "MPI_Finalize" { "" } else { "..." };
        let given = if *name == "MPI_Finalize" { "" } else { "__VA_ARGS__" };
        let _ = writeln!(out, "#define {name}({arguments}) (counted({number}), {prints}{name}({given}))");
    }
    out + "#endif\n\n"
}

fn main_h(trace: &Trace, program: &ProgramText, options: &Options) -> String {
    let sizes = &program.speller.sizes;
    let functions = program.functions.len() + usize::from(!program.functions.contains("MPI_Finalize"));
    let mut out =
        String::from("/* How much there is of what. */\n#ifndef MAIN_H\n#define MAIN_H\n\nenum {\n");
    let _ = writeln!(out, "    RANKS = {},", trace.ranks);
    for (name, class) in [
        ("COMMS", Class::Comm),
        ("REQUESTS", Class::Request),
        ("TYPES", Class::Datatype),
        ("OPS", Class::Op),
        ("GROUPS", Class::Group),
        ("INFOS", Class::Info),
        ("ERRHANDLERS", Class::Errhandler),
        ("MESSAGES", Class::Message),
    ] {
        // Compilers look into loops over arrays of one.
        let _ = writeln!(out, "    {name} = {},", sizes.of(class).max(2));
    }
    let _ = writeln!(out, "    ANSWERS = {},\n    FUNCTIONS = {functions}\n}};\n", sizes.answers.max(1));
    if options.computation == Computation::Each {
        out += "/* Where what ranks compute is; -DTIMES='\"/the/file\"' names another place. */\n\
            #ifndef TIMES\n\
            #define TIMES \"times.txt\"\n\
            #endif\n\n";
    }
    out += "#endif\n";
    out
}

fn readme(trace: &Trace, name: &str, options: &Options) -> String {
    let of = if options.obfuscates { "a trace".to_owned() } else { format!("the trace {name}") };
    let calls = trace.length().map_or("more than 2^64".to_owned(), |calls| calls.to_string());
    let mut text =
        README.replace("{OF}", &of).replace("{RANKS}", &trace.ranks.to_string()).replace("{CALLS}", &calls);
    if options.datatypes == Datatypes::Size {
        text += "\nDatatypes that the program made are so many bytes (--datatypes size).\n";
    }
    if options.computation == Computation::Each {
        text += "\n\
            Times are not drawn (--times each): before each call a rank computes as long as it did there and \
            then, which times.txt has and times.c reads.\n";
    }
    if options.averages {
        text += "\nEach MPI_Alltoallv is an MPI_Alltoall of the mean count (--average).\n";
    }
    if !options.without.is_empty() {
        let _ = writeln!(text, "\nLeft out: calls of {}.", options.without.join(", "));
    }
    text
}
