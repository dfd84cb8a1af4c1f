//! Programs that spawn other programs: tests/programs/spawn_another.c with another.c, .cpp and .f90, each
//! with an image and globals of its own in the same process.

mod common;

use common::{Run, command, compile, root, scratch};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

fn c(arguments: &[&str]) -> PathBuf {
    compile("tests/programs/another.c", arguments)
}

fn cpp() -> PathBuf {
    compile("tests/programs/another.cpp", &[])
}

fn fortran() -> &'static PathBuf {
    static COMPILED: OnceLock<PathBuf> = OnceLock::new();
    COMPILED.get_or_init(compile_fortran)
}

fn compile_fortran() -> PathBuf {
    let output = scratch("spawn-another-fortran").join("another-f90");
    // The compiler writes the module file into its working directory.
    let mut compiler = command(&["fc", "-O1", "-g", "-o"]);
    compiler
        .current_dir(output.parent().unwrap())
        .arg(&output)
        .arg(root().join("tests/programs/another.f90"));
    assert!(compiler.status().unwrap().success(), "another.f90 does not compile");
    output
}

fn parent(arguments: &[&str]) -> Run {
    Run::of(compile("tests/programs/spawn_another.c", arguments)).ranks(2).variable("XSIM_UNIVERSE", "12")
}

fn with_programs(run: Run, case: &str, programs: &[&Path]) -> Run {
    programs.iter().fold(run.arg(case), |run, program| run.arg(program.to_str().unwrap()))
}

/// Returns what two ranks and their children print, sorted: of these counts, who got which number.
fn lines(children: &[(u32, u32, u32)]) -> Vec<String> {
    let one = |&(rank, size, number): &(u32, u32, u32)| format!("another {rank} of {size}: {number}");
    children.iter().map(one).chain(["ok".to_owned(), "ok".to_owned()]).collect()
}

#[track_caller]
fn prints(run: Run, children: &[(u32, u32, u32)]) {
    assert_eq!(run.run().success().lines(), lines(children));
}

/// Ways to keep globals and stacks apart.
const WAYS: [(&str, &str); 5] = [
    ("XSIM_GLOBALS", "auto"),
    ("XSIM_GLOBALS", "copy"),
    ("XSIM_GLOBALS", "clone"),
    ("XSIM_STACK_MODE", "shared"),
    ("XSIM_COLL_EVENTS", "on"),
];

const ONE: [(u32, u32, u32); 6] = [(0, 3, 6), (0, 3, 6), (1, 3, 6), (1, 3, 6), (2, 3, 6), (2, 3, 6)];
const SEVERAL: [(u32, u32, u32); 4] = [(0, 4, 6), (1, 4, 7), (2, 4, 7), (3, 4, 7)];

#[test]
fn another_program_has_globals_constructors_and_options_of_its_own() {
    for (name, value) in WAYS {
        prints(with_programs(parent(&[]), "one", &[&c(&[])]).variable(name, value), &ONE);
    }
}

#[test]
fn several_programs_in_several_languages_are_one_world() {
    for second in [&cpp(), fortran()] {
        for (name, value) in WAYS {
            prints(with_programs(parent(&[]), "several", &[&c(&[]), second]).variable(name, value), &SEVERAL);
        }
    }
}

#[test]
fn the_same_on_several_processes() {
    let run = || {
        with_programs(parent(&[]), "several", &[&cpp(), fortran()]).machine("star:l=1us,b=1Gbps").summary()
    };
    let of = |run: Run| run.run().success();
    let virtual_time =
        |text: &str| text.lines().find(|line| line.contains("of virtual time")).unwrap().to_owned();
    let alone = of(run());
    assert_eq!(alone.lines(), lines(&SEVERAL));
    for processes in [2, 4] {
        let together = of(run().processes("mpich", processes));
        assert_eq!(together.lines(), alone.lines());
        assert_eq!(virtual_time(&together.stderr), virtual_time(&alone.stderr));
    }
}

#[test]
fn a_program_without_symbols_begins_where_its_entry_point_says() {
    let stripped = c(&["-s"]);
    prints(with_programs(parent(&[]), "one", &[&stripped]), &ONE);
}

#[test]
fn a_library_that_programs_share_has_data_for_each_rank() {
    let library = compile("tests/programs/another_library.c", &["-shared", "-fPIC"]);
    let needs = ["-DLIBRARY", library.to_str().unwrap()];
    for globals in ["auto", "copy", "clone"] {
        // Of the parent and the child, of two children, and of one child.
        prints(with_programs(parent(&needs), "one", &[&c(&needs)]).variable("XSIM_GLOBALS", globals), &ONE);
    }
    let other = c(&["-DLIBRARY", "-O2", library.to_str().unwrap()]);
    prints(with_programs(parent(&[]), "several", &[&c(&needs), &other]), &SEVERAL);
    prints(with_programs(parent(&[]), "one", &[&other]), &ONE);
}

#[test]
fn a_crash_names_program_and_function() {
    let crash = c(&["-DCRASHES", "-fno-inline"]);
    let run = with_programs(parent(&[]), "one", &[&crash]).run().failure();
    run.says(&["rank 2", "SIGSEGV", "reads_nothing", &crash.file_name().unwrap().to_string_lossy()]);
}

#[test]
fn unsuitable_programs_say_why() {
    let script = scratch("spawn-another-script").join("script");
    std::fs::write(&script, "#!/bin/sh\n").unwrap();
    let thread = scratch("spawn-another-thread").join("thread.c");
    std::fs::write(
        &thread,
        "#include <mpi.h>\n_Thread_local int x;\nint main(void) { return x + MPI_Init(0, 0); }\n",
    )
    .unwrap();
    let output = thread.with_extension("");
    assert!(command(&["cc", "-o"]).arg(&output).arg(&thread).status().unwrap().success());
    let fixed = c(&["-no-pie"]);
    let run = with_programs(
        parent(&[]),
        "unsuitable",
        &[Path::new("/bin/sh"), &script, &output, &fixed, Path::new("/")],
    );
    run.run().ok(2);
    for (program, why) in [
        (Path::new("/bin/sh"), "not linked with libxsim"),
        (&script, "script"),
        (&output, "thread-local"),
        (&fixed, "link it with -pie"),
        (Path::new("/"), "there is no program"),
    ] {
        with_programs(parent(&[]), "refused", &[program]).run().failure().says(&[
            "MPI_Comm_spawn",
            why,
            "MPI_ERR_SPAWN",
        ]);
    }
}
