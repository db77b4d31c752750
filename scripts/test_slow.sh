#!/usr/bin/env bash
# What takes longer or needs quiet: memory over a million steps, growth by timing, real robots, linear time by instruction
# counts, the bits of other processors, the oldest compiler, damaged files and random mechanisms.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo test --release --workspace -- --ignored
scripts/long_runs.sh
scripts/motion_studies.sh
scripts/linear_time.sh -- --integrator minimal --tolerance 1e-12
scripts/linear_time.sh -- --integrator minimal --tolerance 1e-12 --iteration newton
scripts/same_bits.sh
scripts/supply_chain.py --compiler
scripts/fuzz.sh 10
