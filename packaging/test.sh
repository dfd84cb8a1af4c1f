#!/bin/sh
# Installs each package in an empty root of Debian and uses it there. The last line is the result.
#
#     sh packaging/test.sh [DIRECTORY]     the packages of packaging/build (target/packages)
#
# SUITE=bookworm is the root's release, that of this machine unless given; OLD_SUITE=bullseye is another one
# with an older glibc. ROOT_TARBALL=FILE and OLD_ROOT_TARBALL=FILE are roots that are made already; each is
# written if it is missing. Needs root, mmdebstrap or debootstrap, and docker or buildah for the image.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
packages=${1:-${CARGO_TARGET_DIR:-$here/target}/packages}
suite=${SUITE:-$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")}
old_suite=${OLD_SUITE:-bullseye}
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
work=$(mktemp -d) || exit 2
log=$work/log
leave() {
    umount "$root/proc" 2>/dev/null
    rm -rf --one-file-system "$root" "$work"
}
trap leave EXIT
trap 'exit 2' INT TERM

# make_root SUITE TARBALL: makes an empty root, unless it is made already.
make_root() {
    [ -f "$2" ] && return
    echo "== making an empty root of $1"
    if command -v mmdebstrap >/dev/null; then
        mmdebstrap --quiet --variant=apt "$1" "$2"
    elif command -v debootstrap >/dev/null; then
        debootstrap --variant=minbase "$1" "$work/made" >&2 && tar -C "$work/made" -cf "$2" .
        rm -rf --one-file-system "$work/made"
    else
        stop "no empty root can be made: apt-get install mmdebstrap"
    fi
    [ -s "$2" ] || stop "the root of $1 could not be made; is the mirror reached?"
}
# enter_root TARBALL: unpacks it in place of the root that was used, with the packages and programs.
enter_root() {
    umount "$root/proc" 2>/dev/null
    rm -rf --one-file-system "${root:?}"/*
    tar -C "$root" -xf "$1" || exit 2
    cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null
    mount -t proc proc "$root/proc" ||
        stop "/proc cannot be mounted in the root, which xsim reads to find itself"
    mkdir -p "$root/packages" "$root/project"
    cp "$deb" "$tarball" "$wheel" "$root/packages"
    cp "$here"/tests/build_systems/* "$here/examples/c/hello.c" "$root/project"
    cp "$here/tests/programs/exceptions.cc" "$here/tests/programs/check.h" "$root/project"
}
base=${ROOT_TARBALL:-$work/base.tar}
make_root "$suite" "$base"
enter_root "$base"

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
    result "$1" $?
}
# result NAME STATUS: counts a check that has begun at $begin.
result() {
    seconds=$(echo "$begin $(date +%s.%N)" | awk '{ printf "%.1f", $2 - $1 }')
    if [ "$2" = 0 ] && [ "${seconds%.*}" -lt "$most_seconds" ]; then
        passed=$((passed + 1))
        echo "ok      $seconds s  $1"
    else
        failed=$((failed + 1))
        echo "FAILED  $seconds s  $1 (status $2)"
        tail -n 40 "$log"
    fi
}

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

# The newest glibc that a package may need is that of its name, of every file and with weak symbols.
glibc=$(basename "$wheel" | sed -n 's/.*manylinux_\([0-9]*\)_\([0-9]*\)_.*/\1.\2/p')
check "the packages need no newer glibc than $glibc, as they say" "
    dpkg-deb -f $debian Depends | grep 'libc6 (>= $glibc)'
    for file in $unpacked/bin/xsim $unpacked/lib/libxsim*.so; do
        objdump -T \$file | grep -o 'GLIBC_2[.0-9]*' | sed 's/GLIBC_//' >versions
        newest=\$( (cat versions; echo $glibc) | sort -uV | tail -n 1); echo \$file \$newest
        test -s versions; test \$newest = $glibc
    done"

# What a root has where packages are built, as its Dockerfile says: names of packages, and packaging/build.
dockerfile=$here/packaging/Dockerfile
needed=$(sed -n '/AS build/,/^FROM debian/p' "$dockerfile" | tr -d '\\\n' |
    sed -n 's/.*--no-install-recommends *\([^&]*\)&&.*/\1/p')
check "the image: what its build installs is there" "apt-get install -s --no-install-recommends $needed"

# An image of the packages here by the Dockerfile's last stage: the first one compiles them, with network.
image() {
    run="buildah --root $work/images --runroot $work/run --storage-driver vfs"
    name=$(sed -n 's/^FROM \(debian:.*\)/\1/p' "$dockerfile")
    mkdir -p "$work/context/packages" && cp "$deb" "$work/context/packages" || return
    { printf 'FROM %s AS build\nCOPY packages /packages\n' "$name"
        sed -n "/^FROM debian/,\$p" "$dockerfile"; } >"$work/context/Dockerfile"
    empty=$($run from scratch) && $run add -q "$empty" "$base" / && $run commit -q "$empty" "$name" &&
        $run bud --pull-never --isolation chroot -q -t xsim-test \
            -f "$work/context/Dockerfile" "$work/context" &&
        container=$($run from --pull-never xsim-test)
}
# in_image COMMAND...: runs it as `docker run xsim-test` would run the image.
in_image() {
    words=$($run inspect --type image --format '{{range .OCIv1.Config.Entrypoint}}{{.}} {{end}}' xsim-test)
    [ $# != 0 ] ||
        set -- $($run inspect --type image --format '{{range .OCIv1.Config.Cmd}}{{.}} {{end}}' xsim-test)
    # shellcheck disable=SC2086
    $run run --isolation chroot -v "$work/project:/work" "$container" -- $words "$@"
}
# A check outside the root: what ends a function with 0 in under a minute.
check_here() {
    begin=$(date +%s.%N)
    "$2" >"$log" 2>&1 </dev/null
    result "$1" $?
}
image_demo() { in_image && in_image demo | grep 'times as fast'; }
image_runs() { in_image run -n 64 hello.c >"$work/text" && [ "$(grep -c 'of 64$' "$work/text")" = 64 ]; }
docker_demo() { docker build -q -t xsim-test -f "$dockerfile" "$here" && docker run --rm xsim-test; }
mkdir -p "$work/project" && cp "$here/examples/c/hello.c" "$work/project"
if command -v docker >/dev/null && docker info >/dev/null 2>&1; then
    echo "== the image, by docker"
    a_minute=$most_seconds
    most_seconds=3600
    check_here "the image: docker builds it and runs the demo" docker_demo
    most_seconds=$a_minute
elif command -v buildah >/dev/null; then
    echo "== the image, by buildah, in its last stage with the .deb"
    image >"$log" 2>&1 || { tail -n 40 "$log"; stop "buildah cannot build the image"; }
    check_here "the image: what it runs by itself is the demo" image_demo
    check_here "the image: it compiles and runs a program of the working directory" image_runs
    echo "not tried: the image's first stage, which compiles with the network and needs docker"
else
    echo "not tried: packaging/Dockerfile, which needs docker or buildah: apt-get install buildah"
fi

# A system whose glibc is older than that of the machine that built the packages.
old_base=${OLD_ROOT_TARBALL:-$work/old.tar}
make_root "$old_suite" "$old_base"
enter_root "$old_base"
of_root=$(inside sh -c "dpkg-query -W -f '\${Version}' libc6" | sed 's/-.*//')
if [ "$(printf '%s\n' "$glibc" "$of_root" | sort -V | tail -n 1)" = "$of_root" ]; then
    echo "== $old_suite, with glibc $of_root"
    check "$old_suite: the tarball's demo" "tar -C /opt -xf /packages/$(basename "$tarball")
        PATH=$unpacked/bin:\$PATH; $demo"
    check "$old_suite: the .deb's demo" "apt-get install -y --no-install-recommends $debian; $demo"
    get python3 python3-venv gcc g++ gfortran libc6-dev
    check "$old_suite: the wheel's demo" "python3 -m venv /venv
        /venv/bin/pip install --no-index /packages/$(basename "$wheel"); /venv/bin/xsim demo"
    check "$old_suite: xsim cc, hello" "$hello"
    # Stacks, private globals and the unwinder of the compiler's own library.
    check "$old_suite: exceptions in C++" "cd \"\$(mktemp -d)\"; xsim cxx -O2 /project/exceptions.cc -o it
        for case in error_handlers operations attributes generalized; do xsim run -n 4 ./it \$case; done"
    check "$old_suite: Fortran by mpif.h" "cd \"\$(mktemp -d)\"
        xsim run -n 3 examples/fortran/hello.f >text; grep 'sum of what was heard 3' text"
    check "$old_suite: profile, trace, replay, report" "cd \"\$(mktemp -d)\"
        xsim run -n 64 --compute none --profile --report a.json --trace a.trace examples/c/stencil3d.c
        xsim report a.json -o a.html; grep 'stencil3d.c:63' a.html; xsim trace a.trace | grep stencil3d.c
        xsim replay a.trace 2>&1 | tee text; grep '64 ranks on default' text"
else
    echo "not tried: $old_suite, as the packages are for glibc $glibc: packaging/build --glibc 2.28"
fi

echo "not tried: PyPI, which needs the wheel to be published"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
