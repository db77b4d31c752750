#!/usr/bin/env bash
# Everything that sweeps promise, measured at full size, with a line of figures each: the same bytes everywhere (also on a processor
# without AVX2 and fused operations, by emulation), kills, memory, draws, readers, Ray and Dask, and rates beside MuJoCo.
# Takes about half an hour; rates mean something for a true release build on an idle machine.
#
#   scripts/sweep_bars.sh LIBRARY COMMAND [--idle]
set -euo pipefail
cd "$(dirname "$0")/.."
library=$(realpath "$1")
command=$(realpath "$2")
idle=${3:-}
folder=${LEASTACTION_PEERS_ENV:-${CARGO_TARGET_DIR:-target}/python-peers}
python=$(realpath -s "$(scripts/python_env.sh python/requirements-peers.txt "$folder")")
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
cp -r python/leastaction "$site/leastaction"
cp "$library" "$site/leastaction/_core.abi3.so"
export PYTHONPATH=$site PYTHONDONTWRITEBYTECODE=1 LEASTACTION=$command
failed=0

echo "== promises"
"$python" -m pytest python/peers/test_sweep_bars.py -q || failed=1
"$python" -m pytest python/peers/test_clusters.py -q -k "sweep or mixed" || failed=1

echo "== readers"
"$command" sweep examples/cart_pole_sweep.toml --runs 500 --chunk 64 --no-report --out "$site/read" > /dev/null
"$python" scripts/sweep_readers.py "$command" "$site/read" || failed=1

echo "== without AVX2 and fused operations"
scripts/same_bits.sh "$command" || failed=1

echo "== rates"
# shellcheck disable=SC2086  # empty means no word
"$python" scripts/rollout_rates.py "$command" $idle || failed=1
exit $failed
