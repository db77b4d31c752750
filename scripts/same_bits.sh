#!/usr/bin/env bash
# Ten runs on this processor and on an emulated one without AVX2 and fused operations: the files must be equal byte for byte.
# Needs qemu-x86_64 (Debian: qemu-user), which it installs if it may.
#
#   scripts/same_bits.sh [COMMAND]
set -euo pipefail
cd "$(dirname "$0")/.."
program=${1:-target/release/leastaction}
[ -x "$program" ] || cargo build --release
if ! command -v qemu-x86_64 > /dev/null; then
    apt-get install -y -q qemu-user > /dev/null 2>&1 || { echo "skipped: there is no qemu-x86_64"; exit 0; }
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
while read -r run; do
    # shellcheck disable=SC2086
    "$program" simulate $run --no-report --out "$work/here" --force > /dev/null 2>&1
    # shellcheck disable=SC2086
    qemu-x86_64 -cpu Nehalem "$program" simulate $run --no-report --out "$work/there" --force > /dev/null 2>&1
    if cmp -s "$work/here/trajectory.csv" "$work/there/trajectory.csv" && cmp -s "$work/here/state.json" "$work/there/state.json"; then
        echo "same bits   $run   $(sha256sum < "$work/here/trajectory.csv" | cut -c1-16)"
    else
        echo "OTHER BITS  $run"
        failed=1
    fi
done << RUNS
@chain/10 --duration 2
@chain/10 --order 2 --duration 2
@ball-chain/5 --duration 2
@four-bar --duration 2
@rhombus-chain/3 --duration 2
@chain/5 --integrator maximal --order 4 --duration 1
@chain/5 --integrator dop853 --duration 2
models/gripper-arm.urdf --duration 2
models/hand.xml --duration 1
models/stewart-platform.json --duration 0.5
RUNS
exit $failed
