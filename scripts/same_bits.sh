#!/usr/bin/env bash
# Ten runs and a sweep on this processor and on an emulated one without AVX2 and fused operations: the files must be equal byte for byte.
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
done < <(sed 's/^[0-9a-f]*  //' crates/leastaction-cli/tests/cli/same_bits.txt)
# Sweeps, whose draws and tables must be the same as well, whether four runs are stepped side by side, as they are here, or one by one;
# `sweep.json` carries the fingerprint of the arithmetic.
try_sweep() {
    # shellcheck disable=SC2086
    "$program" sweep $1 --no-report --fresh --out "$work/sweep-here" > /dev/null 2>&1
    # shellcheck disable=SC2086
    qemu-x86_64 -cpu Nehalem "$program" sweep $1 --no-report --fresh --out "$work/sweep-there" > /dev/null 2>&1
    if diff -r "$work/sweep-here/runs" "$work/sweep-there/runs" && cmp "$work/sweep-here/sweep.json" "$work/sweep-there/sweep.json"; then
        echo "same bits   $1   $(cat "$work"/sweep-here/runs/* | sha256sum | cut -c1-16)"
    else
        echo "OTHER BITS  $1"
        failed=1
    fi
}
try_sweep "examples/cart_pole_sweep.toml --runs 40 --duration 0.5"
cat > "$work/chain.toml" << 'TOML'
model = "@chain/5"
step = 0.01
duration = 0.5
[sweep]
runs = 100
chunk = 32
seed = 1
[sweep.vary]
"initial.q.*" = { uniform = [-1.0, 1.0] }
"initial.v.*" = { normal = [0.0, 2.0] }
[sweep.measure]
energy_error = "largest"
TOML
for method in "--order 2" "--order 4" "--integrator rk4" "--integrator semi-implicit"; do
    try_sweep "$work/chain.toml $method"
done
exit $failed
