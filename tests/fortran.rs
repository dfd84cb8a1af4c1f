//! The Fortran interfaces with the machine's gfortran. Where there is none, `.ci/run` says so:
//! these tests then fail rather than pass unseen.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn temporary(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fortran").join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// `xsim fc` on a file in a directory of its own.
fn compile_file(name: &str, source: &Path, arguments: &[&str]) -> (PathBuf, Output) {
    let directory = temporary(name);
    let program = directory.join("program");
    let run = common::command(&["fc"])
        .env("XDG_CACHE_HOME", temporary("cache"))
        .current_dir(&directory)
        .args(arguments)
        .arg(source)
        .args(["-o", "program"])
        .output()
        .unwrap();
    (program, run)
}

fn compile(name: &str, source: &str, arguments: &[&str]) -> (PathBuf, Output) {
    let path = temporary(name).join("program.f90");
    std::fs::write(&path, source).unwrap();
    compile_file(name, &path, arguments)
}

fn quietly((program, run): (PathBuf, Output)) -> PathBuf {
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && said.is_empty(), "{said}");
    program
}

fn compiled(name: &str, source: &str, arguments: &[&str]) -> PathBuf {
    quietly(compile(name, source, arguments))
}

/// A file of the repository, compiled once a test.
fn built(file: &str) -> PathBuf {
    let name = file.replace(['/', '.'], "-");
    quietly(compile_file(&name, &common::root().join(file), &["-g", "-Wall", "-Wno-unused-dummy-argument"]))
}

/// A program of tests/programs/fortran, on several rank counts and with each way to private globals.
fn works(name: &str, ranks: &[u32]) {
    let program = built(&format!("tests/programs/fortran/{name}"));
    for &ranks in ranks {
        for globals in ["copy", "clone"] {
            let output = common::Run::of(program.clone())
                .ranks(ranks)
                .arg(format!("-xsim-globals={globals}"))
                .run()
                .success();
            assert_eq!(output.stdout, "done\n", "{name} on {ranks} ranks with {globals}: {}", output.stderr);
        }
    }
}

fn generated(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("OUT_DIR")).join(name)).unwrap()
}

#[test]
fn modules_compile_without_warnings() {
    let directory = temporary("modules");
    for name in
        ["mpi_constants", "mpi_interfaces", "mpi_f08_constants", "mpi_f08_callbacks", "mpi_f08_interfaces"]
    {
        std::fs::write(directory.join(format!("{name}.inc")), generated(&format!("{name}.inc"))).unwrap();
    }
    for name in ["mpi.f90", "mpi_f08.f90"] {
        let run = Command::new("gfortran")
            .args(["-c", "-Wall", "-Wextra", "-pedantic", "-Werror", "-I", "."])
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("fortran").join(name))
            .current_dir(&directory)
            .output()
            .expect("gfortran");
        assert!(run.status.success() && run.stderr.is_empty(), "{}", String::from_utf8_lossy(&run.stderr));
    }
}

/// Each program calls every function that Fortran has, and PMPI_ too; linking finds every symbol.
#[test]
fn every_function_compiles_and_links_through_mpif_h() {
    compiled("calls_mpif", &generated("calls_mpif.f90"), &["-w"]);
}

#[test]
fn every_function_compiles_and_links_through_module_mpi() {
    compiled("calls_mpi", &generated("calls_mpi.f90"), &[]);
}

#[test]
fn every_function_compiles_and_links_through_module_mpi_f08_with_and_without_ierror_and_large_counts() {
    let program = generated("calls_mpi_f08.f90");
    assert!(program.matches("end subroutine").count() > 1100);
    compiled("calls_mpi_f08", &program, &[]);
}

#[test]
fn a_missing_ierror_is_a_compile_error_with_module_mpi() {
    let source = "program p\n  use mpi\n  call MPI_Init()\nend program\n";
    let (_, run) = compile("no_ierror", source, &[]);
    assert!(!run.status.success() && String::from_utf8_lossy(&run.stderr).contains("ierror"));
}

/// The other ways in which compilers spell symbols, down to the common blocks of the sentinels.
#[test]
fn every_spelling_of_symbols_works() {
    for (name, flag) in [("plain", "-fno-underscoring"), ("second", "-fsecond-underscore")] {
        for source in ["old.f", "callbacks.f90", "sections.f90"] {
            let path = common::root().join("tests/programs/fortran").join(source);
            let program = quietly(compile_file(&format!("{name}-{source}"), &path, &[flag]));
            let output = common::Run::of(program).ranks(3).run().success();
            assert_eq!(output.stdout, "done\n", "{flag} {source}: {}", output.stderr);
        }
    }
}

#[test]
fn fixed_form_finds_mpif_h() {
    let source = "      program p\n      include 'mpif.h'\n      print *, MPI_COMM_WORLD\n      end\n";
    compiled("fixed", source, &["-ffixed-form", "-Wall"]);
}

/// Strided, reversed and two-dimensional sections, blocking and not, in all the ways they travel.
#[test]
fn array_sections_of_mpi_f08_travel_in_array_element_order() {
    works("sections.f90", &[1, 2, 5]);
}

#[test]
fn hundreds_of_sections_arrive_as_fortrans_own_assignment_would_put_them() {
    works("random_sections.f90", &[1]);
}

#[test]
fn a_section_that_cannot_be_described_is_an_error_that_says_so() {
    works("refused.f90", &[1]);
}

/// Attribute callbacks, operations and error handlers in Fortran; logicals, texts, indices from one,
/// sentinels.
#[test]
fn mpif_h_converts_every_kind_of_argument() {
    works("old.f", &[1, 4]);
}

#[test]
fn fortran_kinds_have_datatypes_and_addresses_work() {
    works("types.f90", &[1, 3]);
}

#[test]
fn files_are_opened_viewed_and_accessed_from_fortran() {
    works("files.f90", &[1, 3]);
}

#[test]
fn callbacks_with_the_types_of_mpi_f08_are_called() {
    works("callbacks.f90", &[1, 3]);
}

#[test]
fn an_attribute_is_a_pointer_in_c_and_an_integer_in_fortran_whichever_set_it() {
    let directory = common::root().join("tests/programs/fortran");
    let half = temporary("attributes").join("half.o");
    let made = common::command(&["cc", "-g", "-Wall", "-Wextra", "-Werror", "-c", "-o"])
        .arg(&half)
        .arg(directory.join("attributes_in_c.c"))
        .status();
    assert!(made.unwrap().success());
    let arguments = ["-g", "-Wall", "-Wno-unused-dummy-argument", half.to_str().unwrap()];
    let program = quietly(compile_file("attributes", &directory.join("attributes.f90"), &arguments));
    for ranks in [1, 3] {
        let output = common::Run::of(program.clone()).ranks(ranks).run().success();
        assert_eq!(output.stdout, "done\n", "{output}");
    }
}

#[test]
fn the_example_hello_keeps_a_common_block_for_each_rank() {
    let output = common::Run::of(built("examples/fortran/hello.f")).ranks(50).run().success();
    let mut lines = output.lines();
    let mut expected: Vec<String> =
        (0..50).map(|rank| format!("rank {rank} of 50 heard of {}", (rank + 49) % 50)).collect();
    expected.push("sum of what was heard 1225".into());
    expected.sort_unstable();
    lines.sort_unstable();
    assert_eq!(lines, expected);
}

#[test]
fn a_fortran_source_runs_without_a_compiler_line_and_with_the_mathematical_library() {
    let output = common::command(&["run", "-n", "4", "--quiet", "examples/fortran/pi.f90"])
        .current_dir(common::root())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        text,
        "pi is 3.14159265 with 100000 intervals\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn the_examples_pi_and_heat_give_the_same_result_on_any_number_of_ranks() {
    let (pi, heat) = (built("examples/fortran/pi.f90"), built("examples/fortran/heat.f90"));
    for ranks in [1, 4, 64] {
        let output = common::Run::of(pi.clone()).ranks(ranks).run().success();
        assert_eq!(output.stdout, "pi is 3.14159265 with 100000 intervals\n");
        let output = common::Run::of(heat.clone()).ranks(ranks).run().success();
        assert_eq!(
            output.stdout,
            "after 100 steps the mean is 0.135390 and a step changes a cell by at most 0.002325\n"
        );
    }
    let output = common::Run::of(heat).ranks(3).run().failure();
    assert!(output.stdout.contains("does not divide among 3 ranks"), "{output}");
}

#[test]
fn a_freed_handle_and_a_wrong_one_are_named() {
    let source = "program p\n  use mpi_f08\n  type(MPI_Comm) :: c\n  integer :: rank\n  call MPI_Init()\n  \
                  call MPI_Comm_dup(MPI_COMM_WORLD, c)\n  print '(a)', 'before'\n  RANK\nend program\n";
    for (name, call, says) in [
        (
            "freed",
            "block; type(MPI_Comm) :: old; old = c; call MPI_Comm_free(c); call MPI_Comm_rank(old, rank); \
             end block",
            "comm",
        ),
        ("wrong", "c%MPI_VAL = 77777; call MPI_Comm_rank(c, rank)", "comm"),
        ("datatype", "call MPI_Comm_rank(MPI_Comm(MPI_INTEGER%MPI_VAL), rank)", "comm"),
    ] {
        let program = compiled(&format!("handle-{name}"), &source.replace("RANK", call), &[]);
        let output = common::Run::of(program).ranks(2).run().failure();
        assert!(
            output.stderr.contains("MPI_Comm_rank failed") && output.stderr.contains(says),
            "{name}: {output}"
        );
    }
}

#[test]
fn a_handle_of_the_wrong_kind_is_a_compile_error_with_module_mpi() {
    let source = "program p\n  use mpi\n  integer(8) :: comm = 0\n  integer :: rank, ierror\n  \
                  call MPI_Comm_rank(comm, rank, ierror)\nend program\n";
    let (_, run) = compile("wrong_kind", source, &[]);
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(
        !run.status.success() && said.contains("Type mismatch in argument") && said.contains("INTEGER(8)"),
        "{said}"
    );
}

#[test]
fn a_runtime_error_and_an_error_stop_name_the_rank() {
    let source = "program p\n  use mpi_f08\n  integer :: rank, values(4), k\n  integer, allocatable :: \
        twice(:)\n  character(len=10) :: what\n  call MPI_Init()\n  call MPI_Comm_rank(MPI_COMM_WORLD, \
        rank)\n  call get_command_argument(1, what)\n  k = 4 + rank\n  call MPI_Barrier(MPI_COMM_WORLD)\n  \
        if (rank == 1) then\n    if (what == 'bounds') values(k) = 1\n    if (what == 'read') read(what, *) \
        k\n    if (what == 'open') open(10, file='/nonexistent/file', status='old')\n    if (what == \
        'allocate') then\n      allocate(twice(3))\n      allocate(twice(4))\n    end if\n    if (what == \
        'stop') error stop 'wrong'\n  end if\n  call MPI_Barrier(MPI_COMM_WORLD)\n  call MPI_Finalize()\n\
        end program\n";
    let program = compiled("runtime_error", source, &["-fcheck=bounds", "-fno-backtrace"]);
    for (what, says, status) in [
        ("bounds", "above upper bound of 4", 2),
        ("read", "Bad integer", 2),
        ("open", "Cannot open file", 2),
        ("allocate", "already allocated variable", 2),
        ("stop", "ERROR STOP wrong", 1),
    ] {
        for globals in ["copy", "clone"] {
            let run = common::Run::of(program.clone())
                .ranks(3)
                .arg(what)
                .arg(format!("-xsim-globals={globals}"))
                .run();
            let output = run.failure().says(&[says, &format!("rank 1 ended with exit status {status}")]);
            assert_eq!(output.status.code(), Some(status), "{what}: {output}");
        }
    }
}

#[test]
fn programs_of_before_mpi_3_find_the_removed_names() {
    works("removed.f", &[1, 3]);
}

#[test]
fn the_simulators_own_functions_work_from_fortran() {
    works("extension.f90", &[1, 3]);
}

#[test]
fn failures_are_agreed_on_revoked_and_shrunk_from_fortran() {
    let program = built("tests/programs/fortran/failures.f90");
    for ranks in [1, 3] {
        assert_eq!(
            common::Run::of(program.clone()).ranks(ranks).one_process().run().success().stdout,
            "done\n"
        );
    }
}

#[test]
fn a_crash_in_fortran_names_its_rank() {
    let source = "program crash\n  use mpi\n  implicit none\n  integer :: rank, ierror\n  integer, pointer \
        :: nowhere\n  call mpi_init(ierror)\n  call mpi_comm_rank(mpi_comm_world, rank, ierror)\n  \
        nullify(nowhere)\n  if (rank == 2) nowhere = 1\n  call mpi_barrier(mpi_comm_world, ierror)\n  call \
        mpi_finalize(ierror)\n\
        end program\n";
    let crash = compiled("crash", source, &["-O0"]);
    common::Run::of(crash).ranks(4).run().failure().says(&["rank 2", "SIGSEGV", "MPI_Comm_rank"]);
}

#[test]
fn buffers_travel_by_partitions() {
    works("partitioned.f90", &[1, 3]);
}

#[test]
fn commands_and_arguments_of_spawned_programs_lose_blanks_at_both_ends() {
    let output = common::Run::of(built("tests/programs/fortran/spawned.f90"))
        .ranks(1)
        .variable("XSIM_UNIVERSE", "4")
        .run()
        .success();
    assert_eq!(output.stdout, "three arguments\n".repeat(3), "{output}");
}

#[test]
fn sessions_need_no_mpi_init() {
    works("sessions.f90", &[1, 3]);
}

/// Fortran counts the requests of an array from 1; records have indices as C does, so that checks and replays
/// read them alike.
#[test]
fn waits_for_any_and_some_requests_are_recorded_and_replayed_as_they_were() {
    let trace = common::scratch("indices").join("run.trace");
    let run = common::Run::of(built("tests/programs/fortran/indices.f90"))
        .ranks(2)
        .variable("XSIM_COMPUTE", "none");
    run.arg(format!("-xsim-trace={}", trace.display())).run().success();
    let told = |args: &[&str]| {
        let output = common::command(&[args, &[trace.to_str().unwrap()]].concat()).output().unwrap();
        assert!(
            output.status.success(),
            "{args:?}: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    };
    told(&["trace", "check"]);
    told(&["replay"]);
    let shown = told(&["trace", "show", "--rank", "0"]);
    for part in ["index=0", "index=1", "array_of_indices=[0]", "array_of_indices=[1]"] {
        assert!(shown.contains(part), "'{part}' is missing: {shown}");
    }
}

const UNITS: &str = "program s
 use mpi
 implicit none
 integer :: ie, me, k
 call MPI_Init(ie); call MPI_Comm_rank(MPI_COMM_WORLD, me, ie)
 open(unit=11, status='scratch'); write(11,*) me
 call MPI_Barrier(MPI_COMM_WORLD, ie)
 rewind(11); read(11,*) k; close(11)
 if (k /= me) call MPI_Abort(MPI_COMM_WORLD, 1, ie)
 call MPI_Finalize(ie)
 if (me == 0) print '(a)', 'done'
end program
";

#[test]
fn static_libgfortran_is_left_out_with_a_sentence() {
    let (program, run) = compile("static-libgfortran", UNITS, &["-static-libgfortran"]);
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && said.contains("-static-libgfortran is left out"), "{said}");
    let output = common::Run::of(program).ranks(3).run().success();
    assert_eq!(output.stdout, "done\n", "{output}");
}

#[test]
fn a_program_with_parts_of_libgfortran_inside_it_is_refused_with_a_sentence() {
    let shown = common::command(&["fc"])
        .env("XDG_CACHE_HOME", temporary("cache"))
        .args(["-show", "program.f90"])
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    let directory = temporary("static-libgfortran-inside");
    std::fs::write(directory.join("program.f90"), UNITS).unwrap();
    let link = format!("{} -static-libgfortran -o program", shown.trim());
    assert!(Command::new("sh").args(["-c", &link]).current_dir(&directory).status().unwrap().success());
    let output = common::Run::of(directory.join("program")).ranks(2).run().failure();
    assert!(!output.stderr.contains("panicked"), "{output}");
    output.says(&["xsim: ", "libgfortran inside", "-static-libgfortran"]);
}
