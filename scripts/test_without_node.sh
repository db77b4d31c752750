#!/bin/sh
# Builds without the viewer, in both ways that can happen, and checks the report such a build writes.
#
# Uses a target folder of its own, so that other builds keep their viewer.
set -eu
cd "$(dirname "$0")/.."
work=$(mkdir -p "${CARGO_TARGET_DIR:-target}/without-node" && cd "${CARGO_TARGET_DIR:-target}/without-node" && pwd)
export CARGO_TARGET_DIR="$work"
# Only the page matters here, so the quickest build will do.
export CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=0

fail() { echo "FAILED: $1" >&2; exit 1; }
sample() { cargo run -p leastaction-study --example sample_report -- "$work/$1.html" pendulum 2>"$work/$1.log" ||
    { cat "$work/$1.log" >&2; fail "the build did not succeed ($1)"; }; }
check_report() {
    page="$work/$1.html"
    [ "$(grep -c '<svg viewBox' "$page")" = 4 ] || fail "$1: not one drawing per plot"
    grep -q 'class="summary"' "$page" || fail "$1: no summary"
    grep -q 'install Node.js' "$page" || fail "$1: does not say how to get the 3-D view"
    if grep -q '<script' "$page"; then fail "$1: has a script"; fi
    echo "ok   $2"
}

LEASTACTION_NO_NPM=1 sample switched-off
if grep -q 'no 3-D view' "$work/switched-off.log"; then fail "a warning about what was asked for"; fi
check_report switched-off "LEASTACTION_NO_NPM=1 builds and writes tables and SVG plots"

# The variable is gone, so cargo runs build.rs again. An npm that fails at once stands for a missing one and for a missing network.
mkdir -p "$work/bin"
printf '#!/bin/sh\nexit 1\n' >"$work/bin/npm"
chmod +x "$work/bin/npm"
PATH="$work/bin:$PATH" sample broken-npm
grep -q 'warning: .*reports will have no 3-D view' "$work/broken-npm.log" || fail "no warning about the missing viewer"
check_report broken-npm "a failing npm gives a warning, tables and SVG plots"
