#!/usr/bin/env bash
# Tests of the Python package that need other packages: Pinocchio, PyTorch, JAX. Not part of scripts/test.sh.
#
#   scripts/python_peers.sh LIBRARY [-- PYTEST ARGUMENTS]
set -euo pipefail
cd "$(dirname "$0")/.."
library=$1
shift
[ "${1:-}" = -- ] && shift
python=$(realpath -s "$(scripts/python_env.sh python/requirements-peers.txt "${CARGO_TARGET_DIR:-target}/python-peers")")
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
cp -r python/leastaction "$site/leastaction"
cp "$library" "$site/leastaction/_core.abi3.so"
export PYTHONPATH=$site PYTHONDONTWRITEBYTECODE=1
export LEASTACTION_WRONG_CALLS=10000
"$python" -m pytest python/peers python/tests/test_hypothesis.py -q "$@"
