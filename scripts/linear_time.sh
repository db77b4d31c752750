#!/usr/bin/env bash
# Instructions per step of a chain of 2n links over one of n: linear time means a ratio of about 2.
#
#   scripts/linear_time.sh [-b BINARY] [-m MODEL]... [-n "SIZES"] [-o "ORDERS"] [-l LIMIT] [-- FLAGS...]
#
# Counts `bench step MODEL/N` under valgrind for every size, at two run lengths that are subtracted, so that start-up
# cancels. The rows give instructions and iterations per step, instructions per iteration, and the ratio of 2n to n at
# equal iteration counts: per step where the counts are equal, else per iteration. Exits with 1 if a ratio is above LIMIT.
#
#   -b  the program [default: target/release/leastaction, built if missing]
#   -m  built-in model without its size (may be given several times) [default: @chain]
#   -n  numbers of links; each is compared with its double [default: "64 128 256"]
#   -o  orders [default: "2 4"]
#   -l  largest ratio that passes [default: 2.1]
#   -s  steps of the short and the long run [default: "20 60"]
# FLAGS go to `bench step`: `--integrator maximal`, `--iteration newton`, `--step 0.01`, ...
set -euo pipefail
cd "$(dirname "$0")/.."
binary=target/release/leastaction
models=()
sizes="64 128 256"
orders="2 4"
limit=2.1
steps="20 60"
while getopts "b:m:n:o:l:s:h" option; do
    case $option in
    b) binary=$OPTARG ;;
    m) models+=("$OPTARG") ;;
    n) sizes=$OPTARG ;;
    o) orders=$OPTARG ;;
    l) limit=$OPTARG ;;
    s) steps=$OPTARG ;;
    *) sed -n '2,18s/^# \{0,1\}//p' "$0"; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ "${1-}" = "--" ] && shift
[ ${#models[@]} -gt 0 ] || models=("@chain")
command -v valgrind >/dev/null || { echo "valgrind is needed" >&2; exit 2; }
[ -x "$binary" ] || cargo build --release -p leastaction-cli
read -r short long <<<"$steps"
counts=$(mktemp)
trap 'rm -f "$counts"' EXIT

# Instructions and iterations of one run: count MODEL ORDER STEPS FLAGS...
count() {
    local model=$1 order=$2 number=$3
    shift 3
    local line
    line=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$binary" bench step "$model" --order "$order" \
        --repeat 1 --steps "$number" "$@" 2>"$counts")
    local instructions iterations
    instructions=$(sed -n 's/.*Collected : *//p' "$counts")
    iterations=$(sed -n 's/.*"iterations":\([0-9.e+-]*\).*/\1/p' <<<"$line")
    awk -v i="$instructions" -v k="$iterations" -v n="$number" 'BEGIN { printf "%.0f %.0f\n", i, k * n }'
}

failed=0
for model in "${models[@]}"; do
    for order in $orders; do
        echo "$model, order $order ${*:+($*)}"
        printf '%8s %18s %12s %18s %10s %s\n' links "instructions/step" "iter./step" "instr./iteration" "2n : n" "counted"
        declare -A per_step=() per_iteration=() iterations=()
        doubled=$(for n in $sizes; do echo "$n"; echo $((2 * n)); done | sort -nu)
        for n in $doubled; do
            read -r i_short k_short <<<"$(count "$model/$n" "$order" "$short" "$@")"
            read -r i_long k_long <<<"$(count "$model/$n" "$order" "$long" "$@")"
            read -r per_step[$n] iterations[$n] per_iteration[$n] <<<"$(awk -v a="$i_short" -v b="$i_long" \
                -v k="$k_short" -v l="$k_long" -v n=$((long - short)) \
                'BEGIN { d = b - a; printf "%.0f %.3f %.0f\n", d / n, (l - k) / n, d / (l > k ? l - k : n) }')"
            half=$((n / 2))
            ratio=-
            how=""
            if [ $((n % 2)) -eq 0 ] && [ -n "${per_step[$half]-}" ]; then
                if [ "${iterations[$n]}" = "${iterations[$half]}" ]; then
                    how="per step"
                    ratio=$(awk -v a="${per_step[$half]}" -v b="${per_step[$n]}" 'BEGIN { printf "%.3f", b / a }')
                else
                    how="per iteration"
                    ratio=$(awk -v a="${per_iteration[$half]}" -v b="${per_iteration[$n]}" 'BEGIN { printf "%.3f", b / a }')
                fi
                awk -v r="$ratio" -v l="$limit" 'BEGIN { exit !(r > l) }' && failed=1
            fi
            printf '%8d %18d %12s %18d %10s %s\n' "$n" "${per_step[$n]}" "${iterations[$n]}" "${per_iteration[$n]}" \
                "$ratio" "$how"
        done
    done
done
exit $failed
