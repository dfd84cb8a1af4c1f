#!/bin/sh
# Does all checks and tests; installs the compilers they need where it may. The last line is the result.
#
#     sh tests/run.sh          everything
#     sh tests/run.sh --quick  the tests alone
#     LONG=1 sh tests/run.sh   with 1,000,000 ranks where it is 100,000 otherwise (tests/scale.rs), and with
#         other random inputs each time
#
# A commit is judged alike each time: random inputs come from one seed, unless PROPTEST_RNG_SEED and
# RANDOM_SEED name others or LONG is set.
cd "$(dirname "$0")/.." || exit 2
quick=${1:-}
failed=0
if [ -z "${LONG:-}" ]; then
    export PROPTEST_RNG_SEED="${PROPTEST_RNG_SEED:-20261123}"
    RANDOM_SEED=${RANDOM_SEED:-20261123}
fi

need() { command -v "$1" >/dev/null 2>&1; }

# Programs of the tests are C, C++ and Fortran; runs on several processes need an MPI, and libclang to build
# against it; one test is of gdb; tests/build_systems.rs builds projects of each build system, and ignores
# those that are not here.
install() {
    missing=
    need cc || missing="$missing gcc libc6-dev"
    need c++ || missing="$missing g++"
    need gfortran || missing="$missing gfortran"
    need mpirun.mpich && need mpicc.mpich || missing="$missing mpich libmpich-dev"
    need mpirun.openmpi && need mpicc.openmpi || missing="$missing openmpi-bin libopenmpi-dev"
    need gdb || missing="$missing gdb"
    need cmake || missing="$missing cmake"
    need meson || missing="$missing meson ninja-build"
    need autoconf || missing="$missing autoconf"
    need pkg-config || missing="$missing pkg-config"
    need python3 || missing="$missing python3"
    [ -f /usr/share/aclocal/ax_mpi.m4 ] || missing="$missing autoconf-archive"
    ls /usr/lib/llvm-*/lib/libclang.so* >/dev/null 2>&1 || missing="$missing libclang-dev"
    [ -z "$missing" ] && return
    echo "== installing$missing"
    run=
    if [ "$(id -u)" != 0 ]; then
        need sudo && run="sudo -n"
    fi
    # shellcheck disable=SC2086
    if need apt-get && { $run apt-get install -y -q $missing || { $run apt-get update -q &&
        $run apt-get install -y -q $missing; }; } >/dev/null 2>&1; then
        return
    fi
    echo "cannot install$missing here; tests that need them will fail"
}

step() {
    echo "== $*"
    "$@" || { failed=1; echo "== failed: $*"; }
}

install
# An offline machine may have the pinned toolchain under another name.
cargo --version >/dev/null 2>&1 || export RUSTUP_TOOLCHAIN=stable
need cargo || { echo "cargo is missing: install Rust 1.95 or later from https://rustup.rs"; exit 2; }

if [ "$quick" != --quick ]; then
    if cargo fmt --version >/dev/null 2>&1; then step cargo fmt --all --check; fi
    if cargo clippy --version >/dev/null 2>&1; then
        step cargo clippy --quiet --release --workspace --all-targets -- -D warnings
    fi
    step env RUSTDOCFLAGS="-D warnings" cargo doc --quiet --release --workspace --no-deps
fi

log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT
step cargo build --quiet --release
echo "== cargo test --release --workspace --no-fail-fast"
# `tee` hides the status of cargo, which the log keeps.
{ cargo test --release --workspace --no-fail-fast 2>&1; echo "status $?"; } | tee "$log" |
    grep -E '^(test result: F|test .* FAILED|error|---- |thread )|panicked' || true
grep -q '^status 0$' "$log" || failed=1

# The same programs once more on several native processes.
several() {
    processes=$1
    shift
    echo "== PROCESSES=$processes cargo test --release $*"
    { PROCESSES=$processes cargo test --release --no-fail-fast "$@" 2>&1; echo "status $?"; } >"$log.several"
    grep -E '^(test result: F|test .* FAILED|error|---- |thread )|panicked' "$log.several" || true
    grep -q '^status 0$' "$log.several" || failed=1
    cat "$log.several" >>"$log"
    rm -f "$log.several"
}
suite="--test point_to_point --test collectives --test objects --test virtual_time"
# shellcheck disable=SC2086
{
    several mpich:2 $suite --test polling --test algorithms --test fortran --test examples
    several mpich:4 $suite
    several openmpi:2 --test collectives --test virtual_time
}

# What LULESH moves as a model and as the program that is made from it, and the small cases of the other rows
# of models.
step cargo run --release --quiet -p xsim-bench -- --no-build --no-file aspen --quick

# Random programs until the time is up; RANDOM_MINUTES=0 leaves them out.
[ "${RANDOM_MINUTES:-3}" = 0 ] || step sh tests/random_orders.sh "${RANDOM_MINUTES:-3}" "${RANDOM_SEED:-}"

# What failed tests said, which passes by too fast above.
[ "$failed" = 0 ] || sed -n '/^failures:$/,/^test result/p' "$log" | head -n 400

awk -v failed="$failed" '
    /^test result:/ { for (i = 1; i < NF; i++) { if ($(i + 1) ~ /^passed/) passed += $i;
        if ($(i + 1) ~ /^failed/) bad += $i; if ($(i + 1) ~ /^ignored/) ignored += $i } }
    END { printf "test result: %s. %d passed; %d failed; %d ignored\n", failed ||
        bad ? "FAILED" : "ok", passed, bad, ignored; exit failed || bad }
' "$log"
