#!/bin/sh
# Lets random programs run until a difference, a hang or a crash is found, or the time is up:
# tests/programs/random_orders.c, random_windows.c with one-sided accesses, and random_failures.c, whose ranks
# fail.
#
#     sh tests/random_orders.sh [MINUTES [SEED [DIRECTORY]]]
#
# Each program is drawn with its machine, overheads, computation, algorithms and number of ranks, and runs
# five ways: on one process; with every collective event by event; with other stacks and globals; while
# findings are made; on 2 to 4 processes of MPICH, where that and libxsim_native_mpich.so are installed. What
# the ranks print, their hashes of orders and clocks, must not differ. The seed is printed; the same one draws
# the same programs. One run is one program, or so many as EACH says: with EACH=50 a minute tries some
# thousands. DIRECTORY is where libxsim.so and xsim are (target/release). Exit status: 0 no difference, 1 one
# was found (its command is printed), 2 misuse.
minutes=${1:-5}
seed=${2:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
root=$(cd "$(dirname "$0")/.." && pwd)
directory=${3:-${CARGO_TARGET_DIR:-$root/target}/release}
[ -f "$directory/libxsim.so" ] || {
    echo "$0: there is no libxsim.so in $directory: run cargo build --release first" >&2; exit 2; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
for name in random_orders random_windows random_failures; do
    ${CC:-cc} -O1 -I "$root/include" -o "$work/$name" "$root/tests/programs/$name.c" -L "$directory" \
        -Wl,-rpath,"$directory" -lxsim -lm || exit 2
done
mpirun=
for name in mpirun.mpich mpiexec.mpich; do
    [ -z "$mpirun" ] && [ -f "$directory/libxsim_native_mpich.so" ] && command -v $name >/dev/null 2>&1 &&
        mpirun=$name
done
[ -n "$mpirun" ] ||
    echo "random_orders: MPICH or $directory/libxsim_native_mpich.so is missing: one process only"
echo "random_orders: seed $seed, $minutes minutes"

each=${EACH:-1}
state=$seed
# A number below $1, as `drawn`.
draw() {
    state=$(((state * 1103515245 + 12345) % 2147483648))
    drawn=$((state / 65536 % $1))
}
# One of the arguments, as `chosen`.
choose() {
    draw $#
    shift "$drawn"
    chosen=$1
}
# The output of a command, sorted, in the file $1.
output() {
    file=$1
    shift
    timeout "${LIMIT:-120}" "$@" >"$work/raw" 2>"$work/errors"
    status=$?
    if [ $status != 0 ]; then
        echo "random_orders: status $status (124 is a hang) of: $*"
        tail -n 5 "$work/errors"
        exit 1
    fi
    sort "$work/raw" >"$work/$file"
}
# Runs a command: its output must be that of the first one.
compare() {
    output other "$@"
    cmp -s "$work/first" "$work/other" && return
    echo "random_orders: the output of these differs:"
    echo "  $program $arguments"
    echo "  $*"
    diff "$work/first" "$work/other" | head -n 6
    exit 1
}

end=$(($(date +%s) + minutes * 60))
programs=0
runs=0
while [ "$(date +%s)" -lt "$end" ]; do
    choose star:l=0.5us,b=100Gbps none star:l=1ps,b=inf mesh:2d,l=2us,b=1Gbps ring:l=0,b=1Gbps \
        tree:degree=3,l=100ns,b=1Gbps \
        torus:4x4xn,l=7us,b=8.8Gbps/star:2,l=0.32us,b=9.6Gbps torus:4x4,l=20ns,level=packet \
            fattree:m=8,n=3,l=10ns,level=packet \
        fattree:m=4,n=2,l=10ns,level=packet/star:4,l=1us,b=1Gbps \
            torus:4x4,l=20ns,b=1Gbps,flowmin=0,level=flow \
        'mesh:4x4,l=20ns,b=1Gbps,flowmin=64,window=99,share=latency,bfactor=0.7;512:1,lfactor=2,level=flow' \
            torus:4x4,l=20ns,b=1Gbps,flowmin=0,core=fatpipe,level=flow \
        fattree:m=4,n=2,l=10ns,flowmin=64,level=flow/star:4,l=1us,b=1Gbps \
        'star:l=1us,b=10Gbps,nic=10Gbps,rate=1M,flowmin=64,o=0.3us;64:1us@1GB/s,delay=0.1us/'\
'star:4,l=100ns,b=40Gbps,mem=4GB/s' \
        'torus:4x4,l=20ns,level=packet,o=0.5us,delay=1us;100:2us/star:2,l=100ns,b=40Gbps,mem=2GB/s'
    machine=$chosen
    choose '' '' /rank:reduce=1GB/s /rank:eager=0 /rank:eager=0 /rank:eager=1000 \
        /rank:o_send=0.4us,o_recv=0.3us /rank:o_send=0.4us,o_recv=0.3us,eager=100 \
        /rank:o_send=1us,o_recv=2us,gap=3us,eager=1000
    machine=$machine$chosen
    choose none fixed:20ns fixed:1us
    compute=$chosen
    choose mpich mpich openmpi linear mpich-4 mpich-3.2 openmpi-3.1 openmpi-5
    algorithms=$chosen
    choose 127 127 127 1 2 18 7 12 9 73
    kinds=$chosen
    draw 15
    ranks=$((2 + drawn))
    draw 3
    processes=$((2 + drawn < ranks ? 2 + drawn : ranks))
    # Each fourth program has ranks that fail: on analytic machines, whose messages have receives for any
    # source half of the time.
    draw 4
    if [ "$drawn" = 0 ]; then
        choose star:l=1us,b=inf none mesh:2d,l=2us,b=1Gbps star:l=1us,b=1Gbps/rank:o_send=0.4us,o_recv=0.3us \
            mesh:2d,l=2us,b=1Gbps/rank:eager=0
        machine=$chosen
        choose 512 512 31 127 895
        kinds=$chosen
        choose 10us 0ns 3us
        delay=$chosen
        choose 300us 1ms 3ms
        mtbf=$chosen
        draw 32768
        failing=$((drawn + runs * 32768))
        arguments="$failing 12 $kinds -xsim-np $ranks -xsim-mn $machine -xsim-compute none"
        arguments="$arguments -xsim-ft -xsim-ft-delay $delay -xsim-fail exponential:mtbf=$mtbf,seed=$failing"
        program=$work/random_failures
        # As below.
        # shellcheck disable=SC2086
        {
            output first "$program" $arguments
            compare "$program" $arguments -xsim-coll-events
            [ -z "$mpirun" ] || compare "$mpirun" -np "$processes" "$program" $arguments
        }
        programs=$((programs + 1))
        runs=$((runs + 1))
        continue
    fi
    draw 32768
    arguments="$((drawn + runs * 32768)) 4 $kinds $each -xsim-np $ranks -xsim-mn $machine"
    arguments="$arguments -xsim-compute $compute -xsim-coll $algorithms"
    program=$work/random_orders
    [ $((runs % 3)) != 2 ] || program=$work/random_windows
    # No argument has a space.
    # shellcheck disable=SC2086
    {
        output first "$program" $arguments
        compare "$program" $arguments -xsim-coll-events
        compare "$program" $arguments -xsim-stack-mode=shared -xsim-globals=clone
        compare "$program" $arguments -xsim-check
        [ -z "$mpirun" ] || compare "$mpirun" -np "$processes" "$program" $arguments
    }
    programs=$((programs + each))
    runs=$((runs + 1))
done
echo "random_orders: $programs programs, no difference"
