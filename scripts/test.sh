#!/usr/bin/env bash
# Everything a change must pass, in one command. Installs what it needs (Debian's chromium, npm packages).
#
#   scripts/test.sh            all of it
#   scripts/test.sh rust       without the browser and the build without Node.js
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-auto}"

section() { printf '\n== %s\n' "$*"; }

section "format"
cargo fmt --all --check

section "lints"
cargo clippy --release --workspace --all-targets -- -D warnings

section "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --release --workspace --no-deps --quiet

section "tests"
cargo test --release --workspace

# The command that the tests have built: `cargo run` would compile the engines again, without their twins. A copy, because
# other builds put theirs in the same place.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
program=$work/leastaction
cp "${CARGO_TARGET_DIR:-target}/release/leastaction" "$program"

section "experiments"
"$program" experiment all --quick --out "$work/experiments"

if command -v python3 > /dev/null; then
    section "scripts that time the peers"
    LEASTACTION=$program python3 -B scripts/peers/test_peers.py
fi

section "python"
# With the targets of the tests, so that nothing is compiled a second time with other features.
cargo build --release --workspace --lib --tests
scripts/python_test.sh "${CARGO_TARGET_DIR:-target}/release/lib_core.so" "$program"

[ "${1:-}" = rust ] && exit 0

section "packages"
scripts/package_test.sh

section "experiments notice faults"
scripts/sabotage_test.sh

section "report in a browser"
scripts/browser_test.sh
"$program" simulate @double-pendulum --duration 5 --out "$work/pendulum"
scripts/browser_test.sh "$work/pendulum/report.html"

section "build without Node.js"
scripts/test_without_node.sh

section "all passed"
