#!/bin/sh
# Efficiency of a program with checkpoints under failures, beside Daly's model (J. T. Daly, "A higher order
# estimate of the optimum checkpoint interval for restart dumps", FGCS 2006).
#
#     sh examples/checkpoint.sh RANKS MTBF_HOURS [STEPS [STEP_SECONDS [CHECKPOINT_SECONDS [RESTART_SECONDS
#         [SEED]]]]]
#
# MTBF_HOURS is that of the whole machine: a rank's is RANKS times as long. A line for each interval, of a
# quarter to four times Daly's optimum: the interval, failures, the measured efficiency (useful time through
# elapsed time, lost work, checkpoints and restarts included) and the model's. `xsim` must be in the path.
set -eu
ranks=$1 mtbf=$2 steps=${3:-30000} step=${4:-60} checkpoint=${5:-360} restart=${6:-600} seed=${7:-1}
here=$(dirname "$0") work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
xsim cc -O2 "$here/c/checkpoint.c" -o "$work/checkpoint"
optimum=$(awk -v d="$checkpoint" -v m="$mtbf" \
    'BEGIN { m *= 3600; x = d / (2 * m); print sqrt(2 * d * m) * (1 + sqrt(x) / 3 + x / 9) - d }')
echo "ranks $ranks, machine fails each $mtbf h, checkpoint $checkpoint s, restart $restart s;" \
    "Daly's optimum: $optimum s"
for factor in 0.25 0.5 1 2 4; do
    interval=$(awk -v o="$optimum" -v f="$factor" -v s="$step" \
        'BEGIN { n = int(o * f / s + 0.5); print n < 1 ? 1 : n }')
    rm -f "$work/state"
    elapsed=0 failures=0
    while :; do
        status=0
        "$work/checkpoint" "$work/state" "$steps" "$step" "$interval" "$checkpoint" "$restart" \
            -xsim-np "$ranks" -xsim-compute none -xsim-quiet \
            -xsim-report "$work/report" -xsim-fail \
                "exponential:mtbf=$(awk -v m="$mtbf" -v n="$ranks" \
                'BEGIN { printf "%.3fh", m * n }'),seed=$((seed * 100000 + failures))" \
            >"$work/out" 2>"$work/err" || status=$?
        elapsed=$(awk -v e="$elapsed" -F'[:,]' '/"virtual_time_ps"/ { printf "%.6f", e + $2 * 1e-12 }' \
            "$work/report")
        [ "$status" = 75 ] || break
        failures=$((failures + 1))
    done
    [ "$status" = 0 ] || { cat "$work/err" >&2; exit "$status"; }
    awk -v e="$elapsed" -v n="$steps" -v s="$step" -v i="$interval" -v d="$checkpoint" -v r="$restart" \
        -v m="$mtbf" -v k="$failures" -v f="$factor" 'BEGIN {
        m *= 3600; tau = i * s
        printf "interval %6d s (%.2f of the optimum)  failures %4d  efficiency %.3f  model %.3f\n", tau, f, \
            k, n * s / e, tau / (m * exp(r / m) * (exp((tau + d) / m) - 1)) }'
done
