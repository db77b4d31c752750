#!/bin/sh
# Instructions of J v and Jᵀ v (order 1) on chains of 64, 128 and 256 links: the ratio of 2n to n is at most 2.1.
#
#   scripts/linear_time_jets.sh [LEASTACTION]      needs valgrind
set -eu
command=${1:-target/release/leastaction}
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# Instructions of 40 calls less those of 20: start-up and the one sweep drop out.
count() {
    for calls in 20 40; do
        valgrind --tool=callgrind --callgrind-out-file="$work/out" "$command" bench jacobian "@chain-xy/$1" \
            --calls "$calls" --count products >/dev/null 2>"$work/said"
        sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$work/said"
    done | { read -r few; read -r many; echo $(((many - few) / 20)); }
}

last=
for n in 64 128 256; do
    now=$(count "$n")
    if [ -z "$last" ]; then
        echo "n = $n: $now instructions per J v and Jᵀ v"
    else
        ratio=$(awk "BEGIN { printf \"%.3f\", $now / $last }")
        echo "n = $n: $now instructions, ratio $ratio"
        awk "BEGIN { exit !($ratio <= 2.1) }" || { echo "the ratio is above 2.1" >&2; exit 1; }
    fi
    last=$now
done
