#!/usr/bin/env bash
# The tests that take minutes: runs of a million steps and the like, real robots, linear time by instruction counts.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo test --release --workspace -- --ignored
scripts/long_runs.sh
scripts/linear_time.sh -- --integrator minimal --tolerance 1e-12
scripts/linear_time.sh -- --integrator minimal --tolerance 1e-12 --iteration newton
