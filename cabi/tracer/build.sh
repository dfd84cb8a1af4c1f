#!/bin/sh
# Builds the library that records traces of real runs, over an installed MPI, and puts it beside libxsim.so.
#
#     sh cabi/tracer/build.sh mpich|openmpi [DIRECTORY]
#
# DIRECTORY is where libxsim.so is, target/release unless told. Needs that MPI's development package (Debian:
# libmpich-dev, libopenmpi-dev) and its compiler wrapper (MPICC, or mpicc.mpich, mpicc.openmpi, mpicc).
# XSIM_LINKER is a C compiler that links for another glibc than this machine's.
set -e
mpi=${1:-}
case $mpi in mpich | openmpi) ;; *) echo "usage: sh $0 mpich|openmpi [DIRECTORY]" >&2; exit 2 ;; esac
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
directory=${2:-$target/release}
if [ -z "${MPICC:-}" ]; then
    if command -v "mpicc.$mpi" >/dev/null 2>&1; then MPICC=mpicc.$mpi; else MPICC=mpicc; fi
fi
command -v "$MPICC" >/dev/null 2>&1 || {
    echo "$0: there is no $MPICC: install ${mpi} with its development files" >&2; exit 1; }
(cd "$root" && cargo build --quiet --release --locked -p xsim-tracer --target-dir "$target")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Which names this MPI knows: constants may be macros or of an enum, functions may be missing.
echo '#include <mpi.h>' | $MPICC -E -dD -x c - | grep -o '\bMPI_[A-Za-z0-9_]*' | sort -u |
    sed 's/.*/#define HAS_& 1/' >"$work/xsimtrace_has.h"
echo '{ global: MPI_*; PMPI_*; mpi_*; xsim_*; local: *; };' >"$work/exports.map"
# The wrappers of both MPIs take the compiler from their own variable.
if [ -n "${XSIM_LINKER:-}" ]; then export MPICH_CC="$XSIM_LINKER" OMPI_CC="$XSIM_LINKER"; fi
# Deprecated functions are wrapped all the same.
$MPICC -O2 -g1 -fPIC -std=gnu11 -Wall -Wextra -Werror -Wno-deprecated-declarations -I"$work" \
    -I"$target/release" -shared \
    -o "$work/libxsimtrace.so" "$here/native.c" "$target/release/libxsimtrace.a" \
    -Wl,--version-script="$work/exports.map" -Wl,-soname,"libxsimtrace_$mpi.so" -Wl,-z,now -lpthread -ldl -lm
mkdir -p "$directory"
cp "$work/libxsimtrace.so" "$directory/.libxsimtrace_$mpi.so"
mv "$directory/.libxsimtrace_$mpi.so" "$directory/libxsimtrace_$mpi.so"
