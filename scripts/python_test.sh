#!/usr/bin/env bash
# Tests of the Python package with the module that cargo has built; extra arguments go to pytest.
#
#   scripts/python_test.sh LIBRARY [COMMAND] [-- PYTEST ARGUMENTS]
#
# LIBRARY is target/release/lib_core.so; COMMAND the program that files are compared with, byte for byte.
set -euo pipefail
cd "$(dirname "$0")/.."
library=$1
command=${2:-}
shift $(($# < 2 ? $# : 2))
[ "${1:-}" = -- ] && shift

if ! python=$(scripts/python_env.sh); then
    echo "skipped: the tests of the Python package"
    exit 0
fi
python=$(realpath -s "$python")
# A copy beside the sources, so that examples and tests import the package as a user does.
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
cp -r python/leastaction "$site/leastaction"
cp "$library" "$site/leastaction/_core.abi3.so"
export PYTHONPATH=$site LEASTACTION=$command PYTHONDONTWRITEBYTECODE=1

"$python" -m pytest python/tests -q "$@"
"$python" -m mypy.stubtest leastaction._core --concise --ignore-disjoint-bases
MYPYPATH=$site "$python" -m mypy --strict --cache-dir "$site/mypy" "$site/leastaction" examples/python
