#!/usr/bin/env bash
# Damaged files for every reader and random mechanisms for the laws of mechanics, for so many minutes; what fails is printed with the
# words that make it again, and the exit code is 1.
#
#   scripts/fuzz.sh [MINUTES [TARGET…]]
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=${1:-5}
[ $# -gt 0 ] && shift
# Another seed every time; every finding names the one that made it.
cargo run --release --quiet --package leastaction-fuzz -- --minutes "$minutes" --seed "$(date +%s)" "$@"
