#!/usr/bin/env bash
# Builds the wheel (cp310-abi3, with the command and the viewer inside) and tests it in a new environment that has neither Rust nor
# Node.js. With zig installed the wheel is for an older C library.
#
#   scripts/wheels.sh [FOLDER]          default: target/wheels
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-${CARGO_TARGET_DIR:-target}/wheels}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/build"
"$work/build/bin/pip" install --quiet 'maturin>=1.9,<2'
flags=(--release --out "$out")
if command -v zig > /dev/null; then flags+=(--zig --compatibility manylinux_2_28); fi
"$work/build/bin/maturin" build "${flags[@]}"
wheel=$(ls -t "$out"/leastaction-*-cp310-abi3-*.whl | head -1)

python3 -m venv "$work/new"
"$work/new/bin/pip" install --quiet "$wheel"
cd "$work"
export PATH=$work/new/bin:/usr/bin:/bin
python -c "import leastaction as la; la.simulate(la.load('@double-pendulum')).save('run')"
leastaction --version
leastaction simulate @chain/3 --duration 0.1 --out "$work/command" > /dev/null
ls -l "$wheel"
