#!/usr/bin/env bash
# Experiments must be able to fail: each engine is broken on purpose, one fault at a time, and the experiments that
# must notice are run. With the fault they fail, without it they pass, from the same program.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# A program that can be broken may not stay where the sound one is built.
cargo build --release --quiet -p leastaction-cli --features sabotage
program=$out/leastaction
mv "${CARGO_TARGET_DIR:-target}/release/leastaction" "$program"
bad=0
while read -r fault experiment; do
  if ! "$program" experiment "$experiment" --quick --out "$out/sound" >"$out/log" 2>&1; then
    echo "$experiment fails without a fault:"; tail -n 5 "$out/log"; bad=1
  fi
  code=0
  LEASTACTION_SABOTAGE=$fault timeout 600 "$program" experiment "$experiment" --quick --out "$out/broken" >"$out/log" 2>&1 || code=$?
  if [ "$code" -eq 0 ]; then echo "$experiment does not notice $fault"; bad=1; else echo "$experiment notices $fault (exit code $code)"; fi
done <<'CASES'
newton-sign bruedigam-4d
newton-sign bruedigam-6
frozen-anchor ours-agreement
loop-row bruedigam-4b
loop-row ours-loop-gap
force-turn ishigaki-table6
weak-friction ours-contact-stick
one-stage ours-contact-impact
late-direction ours-contact-order
CASES
exit "$bad"
