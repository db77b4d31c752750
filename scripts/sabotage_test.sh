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
leak bruedigam-4a
loop-row bruedigam-4b
slow-links bruedigam-4c
newton-sign bruedigam-4d
slow-links bruedigam-5a
slow-links bruedigam-5b
newton-sign bruedigam-6
newton-sign bruedigam-8
node-weight fan-order
leak fan-energy
slow-links fan-cost
leak fan-control
jacobian-entry ishigaki-4
slow-jacobian ishigaki-5
force-turn ishigaki-table6
lost-term ishigaki-table7
lost-term ishigaki-7
lost-term ishigaki-9
node-weight ours-work-precision
loop-row ours-loop-gap
node-weight ours-loop-order
weak-friction ours-contact-stick
one-stage ours-contact-impact
late-direction ours-contact-order
frozen-anchor ours-agreement
lost-term ours-jerk-cost
leak ours-energy
lost-term ours-weights
lost-term ours-subjects
draw-count ours-sweep
CASES
# Every experiment has a fault that it must notice.
for experiment in $("$program" experiment list | cut -d ' ' -f 1); do
  grep -q " $experiment\$" "$0" || { echo "no fault is tried on $experiment"; bad=1; }
done
exit "$bad"
