#!/usr/bin/env bash
# Twelve runs, three optimised motions and five sweeps on this processor, on an emulated one without AVX2 and fused operations, and on an emulated aarch64: the files
# must be equal byte for byte. Needs qemu-x86_64 and qemu-aarch64 (Debian: qemu-user) and rustup's target, which it installs if it may;
# what it can't have it names.
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

# Every other processor is a line of words that stands for the command.
others=("qemu-x86_64 -cpu Nehalem $program")
target=aarch64-unknown-linux-musl
if command -v rustup qemu-aarch64 > /dev/null && rustup target add "$target" 2> /dev/null; then
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld cargo build --release --quiet --package leastaction-cli --target "$target"
    others+=("qemu-aarch64 ${CARGO_TARGET_DIR:-target}/$target/release/leastaction")
else
    echo "skipped: aarch64, which can't be built or emulated here"
fi

failed=0
# judge WORDS WHAT FILE PATH…: whether the paths below here/ and there/ are equal; FILE's digest is shown.
judge() {
    local other=${1%% *} what=$2 file=$3 word="same bits "
    shift 3
    for path in "$file" "$@"; do
        diff -r "$work/here/$path" "$work/there/$path" > /dev/null || { word="OTHER BITS" failed=1; }
    done
    echo "$word  $other  $what  $(find "$work/here/$file" -type f | sort | xargs cat | sha256sum | cut -c1-16)"
}

# shellcheck disable=SC2086
try_run() {
    "$program" $1 --no-report --out "$work/here" --force > /dev/null 2>&1
    local state=()
    [ ! -e "$work/here/state.json" ] || state=(state.json)
    for other in "${others[@]}"; do
        $other $1 --no-report --out "$work/there" --force > /dev/null 2>&1
        judge "$other" "$1" trajectory.csv "${state[@]}"
    done
    rm -rf "$work/here" "$work/there"
}

# Sweeps, whose draws and tables must be the same as well, whether four runs are stepped side by side, as they are here, or one by one;
# `sweep.json` carries the fingerprint of the arithmetic.
# shellcheck disable=SC2086
try_sweep() {
    "$program" sweep $1 --no-report --fresh --out "$work/here" > /dev/null 2>&1
    for other in "${others[@]}"; do
        $other sweep $1 --no-report --fresh --out "$work/there" > /dev/null 2>&1
        judge "$other" "$1" runs sweep.json
    done
    rm -rf "$work/here" "$work/there"
}

while read -r run; do
    try_run "$run"
done < <(sed 's/^[0-9a-f]*  //' crates/leastaction-cli/tests/cli/same_bits.txt)
# Feet and dice on the ground, whose steps are found by another solver.
for scene in "models/quadruped.xml --duration 0.5" "models/dice.json --duration 0.5"; do
    try_run "simulate $scene"
done
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
