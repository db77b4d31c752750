#!/usr/bin/env bash
# Tests of the Python package that need other packages: Pinocchio, MuJoCo, PyTorch, JAX, Ray, Dask; 10,000 wrong calls; types of the
# layers. Not part of scripts/test.sh. The processor-only PyTorch is taken where the registry has one.
#
#   scripts/python_peers.sh LIBRARY [-- PYTEST ARGUMENTS]
set -euo pipefail
cd "$(dirname "$0")/.."
library=$1
shift
[ "${1:-}" = -- ] && shift
python=$(realpath -s "$(scripts/python_env.sh python/requirements-peers.txt "${CARGO_TARGET_DIR:-target}/python-peers")")
# For their model files only.
"$python" -m pip install --quiet --disable-pip-version-check --no-deps dm_control robosuite
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
cp -r python/leastaction "$site/leastaction"
cp "$library" "$site/leastaction/_core.abi3.so"
export PYTHONPATH=$site PYTHONDONTWRITEBYTECODE=1
export LEASTACTION_WRONG_CALLS=10000 LEASTACTION_LIFETIMES=100000
"$python" -m pytest python/peers python/tests/test_hypothesis.py python/tests/test_lifetimes.py -q "$@"
# The layers under mypy, with their packages installed.
MYPYPATH=$site "$python" -m mypy --config-file python/mypy-peers.ini --cache-dir "$site/mypy" \
    "$site/leastaction/torch.py" "$site/leastaction/jax.py"
