#!/usr/bin/env bash
# The tests that take minutes: runs of a million steps and the like.
set -euo pipefail
cd "$(dirname "$0")/.."
exec cargo test --release --workspace -- --ignored
