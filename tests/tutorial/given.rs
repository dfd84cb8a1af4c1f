//! The reader's part: what pages presuppose, and which commands a test cannot run.

/// Describes how a page's commands are run.
pub struct Given {
    /// The page, from the root.
    pub page: &'static str,
    /// Commands before the page's own: they make what a reader has.
    pub before: &'static [&'static str],
    /// Commands behind them: they use what the page shows.
    pub after: &'static [&'static str],
    /// Words of commands, and what a reader writes instead.
    pub words: &'static [(&'static str, &'static str)],
    /// Blocks that are files: the beginning of a block, and the file's name.
    pub files: &'static [(&'static str, &'static str)],
    /// Commands that run only sometimes, or never.
    pub left: &'static [Left],
}

/// A command that does not run everywhere.
pub struct Left {
    /// The command's beginning.
    pub command: &'static str,
    /// A shell command; where it fails the other does not run.
    pub unless: &'static str,
    /// The reason, for whoever reads the test's output.
    pub why: &'static str,
}

const NEVER: &str = "false";
/// The build of a page from source.
const BUILT: Left =
    Left { command: "cargo build --release", unless: NEVER, why: "this test's own build did it" };

/// Returns success where mpi4py is built for xsim.
const MPI4PY: &str = "python -c 'from mpi4py import MPI; assert \"xsim\" in MPI.Get_library_version()'";

/// Describes a page that needs nothing.
pub const NOTHING: Given = Given { page: "", before: &[], after: &[], words: &[], files: &[], left: &[] };

pub const GIVEN: &[Given] = &[
    Given {
        page: "README.md",
        before: &["cp examples/c/slow.c app.c", "echo 'from mpi4py import MPI' >app.py"],
        words: &[("cargo run --release --", "xsim")],
        left: &[
            Left { command: "sh tests/run.sh", unless: NEVER, why: "it is what runs this test" },
            Left { command: "mpirun -np 4 python app.py", unless: MPI4PY, why: "how-to/python.md runs it" },
        ],
        ..NOTHING
    },
    Given {
        page: "CONTRIBUTING.md",
        left: &[Left { command: "sh tests/run.sh", unless: NEVER, why: "it is what runs this test" }],
        ..NOTHING
    },
    Given { page: "docs/tutorials/first-run.md", left: &[BUILT], ..NOTHING },
    Given {
        page: "docs/tutorials/slow-program.md",
        before: &["cp examples/c/slow.c app.c"],
        words: &[("MACHINE", "star:l=10us,b=10Gbps")],
        ..NOTHING
    },
    Given {
        page: "docs/how-to/build-systems.md",
        before: &[
            "xsim install --prefix installed",
            "cp tests/build_systems/* . && autoconf",
            "echo 'add_executable(app sum.c)' >>CMakeLists.txt",
            "echo 'target_link_libraries(app PRIVATE MPI::MPI_C)' >>CMakeLists.txt",
        ],
        after: &["make && mpiexec -n 4 ./sum_fortran | grep 'sum 6'"],
        words: &[("PREFIX", "$PWD/installed")],
        left: &[Left {
            command: "spack repo add",
            unless: NEVER,
            why: "it installs from the network; tests/build_systems.rs runs the recipe's steps",
        }],
        ..NOTHING
    },
    Given {
        page: "docs/how-to/calibrate.md",
        before: &["mpicc.mpich -O2 examples/c/pingpong.c -o osu_latency"],
        after: &["sh -n measure.sh"],
        ..NOTHING
    },
    Given {
        page: "docs/how-to/check-a-program.md",
        before: &["cp tests/programs/leftovers.c app.c"],
        ..NOTHING
    },
    Given {
        page: "docs/how-to/ci.md",
        files: &[("add_test(", "tests.cmake")],
        after: &[
            "xsim install --prefix installed",
            "printf '%s\\n' 'cmake_minimum_required(VERSION 3.16)' 'project(ring C)' \
             'find_package(MPI REQUIRED COMPONENTS C)' 'add_executable(ring examples/c/ring.c)' \
             'target_link_libraries(ring PRIVATE MPI::MPI_C)' 'enable_testing()' 'include(tests.cmake)' \
             >CMakeLists.txt",
            "MPI_HOME=$PWD/installed/lib/xsim cmake -B build && cmake --build build",
            "ctest --test-dir build -V | grep 'counter 192 after 3 laps of 64 ranks'",
        ],
        ..NOTHING
    },
    Given {
        page: "docs/how-to/debug-a-rank.md",
        before: &["cp tests/programs/debugged.c program.c", "export GDBHISTFILE=$PWD/history"],
        ..NOTHING
    },
    Given {
        page: "docs/how-to/install.md",
        before: &["mkdir target && ln -s \"$(dirname $XSIM)\" target/release", "export HOME=$PWD/home"],
        after: &["[ \"$(command -v xsim)\" = $PWD/home/xsim/bin/xsim ]", "xsim demo"],
        left: &[BUILT],
        ..NOTHING
    },
    Given {
        page: "docs/how-to/pandas.md",
        before: &["xsim cc -g examples/c/slow.c -o app", "export XSIM_COMPUTE=none"],
        files: &[("import xsim", "five.py")],
        // Without pandas frames are lists, which have no `sort_values`.
        after: &[
            "if python -c 'import pandas'; then mv five.py here.py; else head -n 4 five.py >here.py; fi",
            "python here.py",
        ],
        ..NOTHING
    },
    Given {
        page: "docs/how-to/python.md",
        before: &["xsim cc -pthread tests/programs/threads.c -o app"],
        words: &[("./app -xsim", "./app serialized -xsim")],
        files: &[("# app.py", "app.py")],
        left: &[
            Left { command: "mpirun -np 4 python app.py", unless: MPI4PY, why: "mpi4py for xsim is missing" },
            Left { command: "XSIM_COMPUTE=none", unless: MPI4PY, why: "mpi4py for xsim is missing" },
            Left { command: "python -m venv", unless: NEVER, why: "the next command needs the network" },
            Left { command: "MPICC=", unless: NEVER, why: "it installs from the network" },
        ],
        ..NOTHING
    },
    Given {
        page: "docs/how-to/record-and-replay.md",
        before: &["mpicc.mpich -g examples/c/ring.c -o app"],
        words: &[("sh cabi", "sh $ROOT/cabi")],
        ..NOTHING
    },
    Given {
        page: "docs/how-to/several-processes.md",
        before: &[
            "xsim cc -O2 examples/c/ring.c -o ring",
            "xsim run -n 16 --compute none -q --trace app.trace ./ring",
            "cp examples/aspen/stencil.aspen model.aspen",
        ],
        // A million ranks of the model take minutes on two cores.
        words: &[("MACHINE", "star:l=1us,b=10Gbps"), ("-n 1000000", "-n 10648")],
        ..NOTHING
    },
    Given {
        page: "docs/reference/aspen.md",
        before: &[
            "cp examples/aspen/*.aspen .",
            // A ring takes LULESH's part, without its options.
            "xsim cc -O2 examples/c/ring.c -o ring",
            "printf '%s\\n' '#!/bin/sh' 'shift 4; exec ./ring \"$@\"' >lulesh.x",
            "chmod +x lulesh.x",
        ],
        // The whole machine takes 3.4 GB.
        words: &[("-n 1328256", "-n 1056"), ("p=24,a=48,h=24", "p=4,a=8,h=4")],
        ..NOTHING
    },
    Given {
        page: "docs/reference/dynamic.md",
        before: &["xsim cc -O1 examples/c/ring.c -o app"],
        left: &[Left {
            command: "XSIM_UNIVERSE=10 mpirun -np 2 python",
            unless: NEVER,
            why: "tests/spawn_one_rank.rs spawns processes from a program",
        }],
        ..NOTHING
    },
    Given {
        page: "docs/reference/flows.md",
        before: &["xsim cc -O2 examples/c/stencil3d.c -lm -o stencil"],
        ..NOTHING
    },
    Given { page: "docs/reference/log.md", before: &["xsim cc -O1 -g examples/c/ring.c -o app"], ..NOTHING },
    Given {
        page: "docs/reference/replay.md",
        before: &[
            "xsim cc -O1 -g tests/programs/steps.c -o steps",
            "xsim run -n 1024 --compute none -q --trace a.trace examples/c/ring.c",
            "xsim run -n 8 --compute none -q --trace b.trace examples/c/ring.c",
        ],
        words: &[("dragonfly:...", "dragonfly:p=8,a=16,h=8")],
        ..NOTHING
    },
    Given {
        page: "docs/reference/timelines.md",
        before: &["xsim cc -O1 -g examples/c/ring.c -o app"],
        ..NOTHING
    },
    Given {
        page: "docs/reference/traces.md",
        before: &["mpicc.mpich -g examples/c/ring.c -o app"],
        words: &[("sh cabi", "sh $ROOT/cabi"), ("$PWD/target/release", "$CARGO_TARGET_DIR/release")],
        ..NOTHING
    },
    Given {
        page: "docs/explanation/experiments.md",
        left: &[Left {
            command: "cargo run",
            unless: NEVER,
            why: "its figures take long; its tests run each",
        }],
        ..NOTHING
    },
];
