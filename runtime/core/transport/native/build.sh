#!/bin/sh
# Builds the library that reaches an installed MPI, and puts it beside libxsim.so.
#
#     sh runtime/core/transport/native/build.sh mpich|openmpi [DIRECTORY]
#
# DIRECTORY is where libxsim.so is, target/release unless told. Needs that MPI's development package (Debian:
# libmpich-dev, libopenmpi-dev), its compiler wrapper (MPICC, or mpicc.mpich, mpicc.openmpi, mpicc) and
# libclang (libclang-dev). XSIM_LINKER is a C compiler that links for another glibc than this machine's.
set -e
mpi=${1:-}
case $mpi in mpich | openmpi) ;; *) echo "usage: sh $0 mpich|openmpi [DIRECTORY]" >&2; exit 2 ;; esac
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
directory=${2:-$target/release}
if [ -z "${MPICC:-}" ]; then
    if command -v "mpicc.$mpi" >/dev/null 2>&1; then MPICC=mpicc.$mpi; else MPICC=mpicc; fi
fi
command -v "$MPICC" >/dev/null 2>&1 || {
    echo "$0: there is no $MPICC: install ${mpi} with its development files" >&2; exit 1; }
export MPICC
# One target directory for each MPI: the bindings differ, and Cargo does not see that.
cargo rustc --quiet --release --locked --manifest-path "$here/Cargo.toml" -p "xsim-native-$mpi" \
    --target-dir "$target/native-$mpi" -- ${XSIM_LINKER:+"-Clinker=$XSIM_LINKER"}
mkdir -p "$directory"
cp "$target/native-$mpi/release/libxsim_native_$mpi.so" "$directory/.libxsim_native_$mpi.so"
mv "$directory/.libxsim_native_$mpi.so" "$directory/libxsim_native_$mpi.so"
