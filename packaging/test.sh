#!/bin/sh
# Installs each package in an empty root of Debian and uses it there. The last line is the result.
#
#     sh packaging/test.sh [DIRECTORY]     the packages of packaging/build (target/packages)
#
# SUITE=bookworm is the root's release, that of this machine unless given. ROOT_TARBALL=FILE is a root that
# is made already; it is written if it is missing. Needs root, and mmdebstrap or debootstrap.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
packages=${1:-${CARGO_TARGET_DIR:-$here/target}/packages}
suite=${SUITE:-$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")}
most_seconds=60
passed=0
failed=0

stop() { echo "packaging/test.sh: $*" >&2; exit 2; }
one() {
    # shellcheck disable=SC2086
    set -- $packages/$1
    [ -f "$1" ] || stop "there is no $1: run packaging/build first, or name its output directory"
    [ $# = 1 ] || stop "there are several packages of a kind in $packages: remove the old ones"
    echo "$1"
}
deb=$(one 'xsim_*_amd64.deb') || exit 2
tarball=$(one 'xsim-*-x86_64-linux.tar.gz') || exit 2
wheel=$(one 'xsim-*.whl') || exit 2
[ "$(id -u)" = 0 ] || stop "an empty root needs chroot: run it as root"

root=$(mktemp -d) || exit 2
log=$(mktemp) || exit 2
leave() {
    umount "$root/proc" 2>/dev/null
    rm -rf --one-file-system "$root" "$log"
}
trap leave EXIT
trap 'exit 2' INT TERM

make_root() {
    if command -v mmdebstrap >/dev/null; then
        mmdebstrap --quiet --variant=apt "$suite" "$1"
    elif command -v debootstrap >/dev/null; then
        debootstrap --variant=minbase "$suite" "$root" >&2 && tar -C "$root" -cf "$1" .
    else
        stop "no empty root can be made: apt-get install mmdebstrap"
    fi
}
base=${ROOT_TARBALL:-$root.tar}
if [ ! -f "$base" ]; then
    echo "== making an empty root of $suite"
    make_root "$base" || stop "the root could not be made; is the mirror reached?"
fi
rm -rf "${root:?}"/* && tar -C "$root" -xf "$base" || exit 2
[ "$base" = "$root.tar" ] && rm -f "$base"
cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null
mount -t proc proc "$root/proc" || stop "/proc cannot be mounted in the root, which xsim reads to find itself"

# Runs a command in the root, with nothing of this machine's environment.
inside() {
    chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        DEBIAN_FRONTEND=noninteractive "$@"
}
get() {
    echo "== installing $* in the root"
    inside apt-get update -q >"$log" 2>&1
    inside apt-get install -y -q --no-install-recommends "$@" >"$log" 2>&1 && return
    cat "$log"
    stop "cannot install $*"
}

# check NAME SCRIPT: runs a script in the root, which passes if it ends with 0 in under a minute.
check() {
    begin=$(date +%s.%N)
    inside sh -ec "$2" >"$log" 2>&1 </dev/null
    status=$?
    seconds=$(echo "$begin $(date +%s.%N)" | awk '{ printf "%.1f", $2 - $1 }')
    if [ "$status" = 0 ] && [ "${seconds%.*}" -lt "$most_seconds" ]; then
        passed=$((passed + 1))
        echo "ok      $seconds s  $1"
    else
        failed=$((failed + 1))
        echo "FAILED  $seconds s  $1 (status $status)"
        tail -n 40 "$log"
    fi
}

mkdir -p "$root/packages" "$root/project"
cp "$deb" "$tarball" "$wheel" "$root/packages"
cp "$here"/tests/build_systems/* "$here/examples/c/hello.c" "$root/project"
debian=/packages/$(basename "$deb")
unpacked=/opt/$(basename "$tarball" .tar.gz)

demo='for tool in cc gcc c++ gfortran; do if command -v $tool; then exit 3; fi; done
    cd "$(mktemp -d)"; xsim demo >text; cat text; test -s xsim-demo.svg; grep "times as fast" text'
echo "== without a compiler"
check "tarball: unpack, xsim demo" "tar -C /opt -xf /packages/$(basename "$tarball")
    PATH=$unpacked/bin:\$PATH; $demo"
# The package needs what an empty root has, so that no mirror is asked.
check ".deb: install, xsim demo" "apt-get install -y --no-install-recommends $debian; $demo"
check ".deb: man pages, completions, the manual" 'test -f /usr/share/man/man1/xsim-run.1.gz
    test -f /usr/share/bash-completion/completions/xsim; xsim help first-run >text; grep "^# " text
    xsim doctor >text; grep "missing  C compiler" text'
get python3 python3-venv
check ".deb: the Python module" 'python3 -c "import xsim; print(xsim.command())" | grep -x /usr/bin/xsim'
check "tarball: the Python module" "export PYTHONPATH=$unpacked/share/xsim/python
    python3 -c 'import xsim; print(xsim.command())' | grep -x $unpacked/bin/xsim"
check "wheel: install in an empty virtual environment, xsim demo" "python3 -m venv /venv
    /venv/bin/pip install --no-index /packages/$(basename "$wheel")
    PATH=/venv/bin:\$PATH; $demo; python -m xsim --version"

# `uvx` is `uv tool run`. A shim of it does not run in the root.
uv=$(python3 -c 'import uv; print(uv.find_uv_bin())' 2>/dev/null || command -v uv)
if [ -n "$uv" ]; then
    cp "$uv" "$root/usr/local/bin/uv"
    check "wheel: uvx runs the demo" "cd \"\$(mktemp -d)\"
        /usr/local/bin/uv tool run --offline --from /packages/$(basename "$wheel") xsim demo >text
        cat text; grep 'times as fast' text"
    rm -f "$root/usr/local/bin/uv"
else
    echo "not tried: uvx, which needs uv here: pip install uv"
fi

get gcc g++ gfortran libc6-dev make cmake meson ninja-build pkg-config autoconf autoconf-archive
echo "== with compilers"
hello='cd "$(mktemp -d)"; xsim cc -O2 /project/hello.c -o hello
    xsim run -n 4 ./hello >text; cat text; test "$(wc -l <text)" -ge 4; ./hello -xsim-np 4 >/dev/null'
check ".deb: xsim cc, hello" "$hello"
check "tarball: xsim cc, hello" "PATH=$unpacked/bin:\$PATH; $hello"
check "wheel: xsim cc, hello" "PATH=/venv/bin:\$PATH; $hello"

# The start of a script in a fresh copy of the projects.
fresh='cd "$(mktemp -d)"; cp /project/* .'
# What each of the three programs must print.
run_all='for one in c cxx fortran; do mpiexec -n 4 ./sum_$one >text; grep "4 ranks, sum 6" text; done'
cmake_rest='cmake --build build; cd build; ctest -V >text; test "$(grep -c "4 ranks, sum 6" text)" -ge 3'

# project NAME HOME: build systems find the MPI in a directory, in C, C++ and Fortran with modules.
project() {
    path="export PATH=$2/bin:\$PATH"
    check "$1: CMake, by MPI_HOME" "$fresh; export MPI_HOME=$2; cmake -S . -B build; $cmake_rest"
    check "$1: Meson, by pkg-config and wrappers" "$fresh; $path; export PKG_CONFIG_PATH=$2/lib/pkgconfig
        meson setup build; meson compile -C build; meson test -C build"
    check "$1: autotools, by the wrappers" "$fresh; $path; autoconf
        ./configure CC=mpicc CXX=mpicxx FC=mpifort; make; $run_all"
    check "$1: autotools, by AX_MPI" "$fresh; $path; cp ax_mpi.ac configure.ac
        cp /usr/share/aclocal/ax_mpi.m4 aclocal.m4; autoconf; ./configure; make; $run_all"
}
project .deb /usr/lib/xsim/lib/xsim
project tarball "$unpacked/lib/xsim"
check "wheel: CMake, by the wrappers" "$fresh; bin=/venv/bin
    cmake -S . -B build -DMPI_C_COMPILER=\$bin/xsimcc -DMPI_CXX_COMPILER=\$bin/xsimcxx \\
        -DMPI_Fortran_COMPILER=\$bin/xsimfc -DMPIEXEC_EXECUTABLE=\$bin/xsimrun; $cmake_rest"
check "wheel: xsim install makes an MPI for build systems" "/venv/bin/xsim install --prefix /opt/of-wheel"
project "wheel, installed" /opt/of-wheel/lib/xsim
check "wheel: the module's example" "cd \"\$(mktemp -d)\"; export PATH=/venv/bin:\$PATH
    python /venv/lib/python3*/site-packages/xsim/prefix/share/xsim/examples/python/machines.py >text
    cat text; grep 'times as fast' text; test \$(grep -c ' ms$' text) = 4"
# A library with MPI's functions and the standard's name stands for another implementation.
check "a program built with another MPI of the standard ABI" "cd \"\$(mktemp -d)\"
    xsim cc -O2 -c /project/hello.c -o hello.o; nm -u hello.o | grep -o 'MPI_.*' |
        sed 's/.*/int &(void) { return 0; }/' >other.c
    gcc -shared -fPIC -Wl,-soname,libmpi_abi.so.1 -o libother.so other.c; gcc -o hello hello.o ./libother.so
    for xsim in xsim $unpacked/bin/xsim /venv/bin/xsim; do
        \$xsim run -n 4 ./hello >text; test \"\$(wc -l <text)\" -ge 4
    done"

if command -v docker >/dev/null && docker info >/dev/null 2>&1; then
    echo "== the image"
    if docker build -q -t xsim-test -f "$here/packaging/Dockerfile" "$here" &&
        docker run --rm xsim-test demo; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
else
    echo "not tried: packaging/Dockerfile, which needs a daemon of Docker that runs here"
fi
echo "not tried: PyPI, which needs the wheel to be published"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
