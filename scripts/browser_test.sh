#!/bin/sh
# Opens reports in headless Chromium and checks them.
#
#   scripts/browser_test.sh                              the samples made by examples/sample_report.rs
#   scripts/browser_test.sh REPORT.html [PICTURE.png]    one report, with pictures of it
#   scripts/browser_test.sh --notebook PAGE.html         the reports inside the page of a notebook
#
# Installs what is missing: Debian's chromium, and playwright-core into target/browser-test.
set -eu
# The caller's paths are relative to where the caller is.
absolute() { case "$1" in /*) printf '%s\n' "$1" ;; *) printf '%s\n' "$PWD/$1" ;; esac; }
test=report
[ "${1:-}" = --notebook ] && { test=notebook; shift; }
report=${1:+$(absolute "$1")}
picture=${2:+$(absolute "$2")}
cd "$(dirname "$0")/.."

if ! command -v "${CHROMIUM:-chromium}" >/dev/null; then
    echo "installing chromium" >&2
    as_root=; [ "$(id -u)" = 0 ] || as_root=sudo
    # shellcheck disable=SC2086  # empty means no word
    $as_root apt-get install -y --no-install-recommends chromium >/dev/null ||
        { $as_root apt-get update >/dev/null && $as_root apt-get install -y --no-install-recommends chromium >/dev/null; }
fi
CHROMIUM=$(command -v "${CHROMIUM:-chromium}")
export CHROMIUM

work=${CARGO_TARGET_DIR:-target}/browser-test
mkdir -p "$work"
work=$(cd "$work" && pwd)
sources=crates/leastaction-study/tests/browser
if ! cmp -s "$sources/package-lock.json" "$work/installed-lock.json"; then
    cp "$sources/package.json" "$sources/package-lock.json" "$sources/.npmrc" "$work/"
    (cd "$work" && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error >/dev/null)
    cp "$sources/package-lock.json" "$work/installed-lock.json"
fi
# Beside its packages, so that node finds them.
cp "$sources/report.test.mjs" "$sources/notebook.test.mjs" "$work/"

if [ -n "$report" ]; then
    exec node "$work/$test.test.mjs" "$report" ${picture:+"$picture"}
fi

sample() { cargo run --release --quiet -p leastaction-study --example sample_report -- "$work/$1.html" "$1"; }
sample pendulum
REPORT_EXPECT='{"frames": 1001, "bodies": 2,
    "plots": {"energy-error": 1001, "momentum": 1001, "joint-positions": 1001, "iterations": 1001}}' \
    node "$work/report.test.mjs" "$work/pendulum.html" "$work/pendulum.png"
sample four-bar
REPORT_EXPECT='{"frames": 801, "bodies": 3, "plots": {"joint-positions": 801}}' \
    node "$work/report.test.mjs" "$work/four-bar.html" "$work/four-bar.png"
sample parade
node "$work/report.test.mjs" "$work/parade.html" "$work/parade.png"
