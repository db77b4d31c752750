#!/usr/bin/env bash
# Builds the wheels (cp310-abi3, and free-threaded where such an interpreter is installed), with the command and the viewer inside,
# and tests each in a new environment that has neither Rust nor Node.js on its path: the command, the package, its whole suite. Where
# zig can be installed the wheels are for an older C library. Without a free-threaded interpreter that wheel is neither built nor
# tested, which is said.
#
#   scripts/wheels.sh [FOLDER]          default: target/wheels
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-${CARGO_TARGET_DIR:-target}/wheels}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v node > /dev/null || echo "without Node.js these wheels have no viewer" >&2
python3 -m venv "$work/build"
flags=(--release --out "$out")
if "$work/build/bin/pip" install --quiet 'maturin[zig]>=1.9,<2' 2> /dev/null && [ -z "${LEASTACTION_NO_ZIG:-}" ]; then
    flags+=(--zig --compatibility manylinux_2_28)
else
    "$work/build/bin/pip" install --quiet 'maturin>=1.9,<2'
fi
export PATH=$work/build/bin:$PATH

# TAG INTERPRETER: installs the newest wheel of that name alone and uses it, with nothing but the environment on the path; then the
# suite, for which there are the packages of tests, too.
try() {
    local wheel new=$work/new-$1
    unset PYTHONPATH
    wheel=$(ls -t "$out"/leastaction-*-"$1"-*.whl | head -1)
    "$2" -m venv "$new"
    "$new/bin/pip" install --quiet "$wheel"
    (
        cd "$work"
        export PATH=$new/bin
        unset PYTHONPATH
        ! command -v cargo && ! command -v node
        python -c "import leastaction as la; la.simulate(la.load('@double-pendulum')).save('run-$1')"
        leastaction --version
        leastaction simulate @chain/3 --duration 0.1 --out "command-$1" > printed
        python -m leastaction check @four-bar > printed
        python - "run-$1/report.html" "command-$1/report.html" << 'PY'
import sys
from pathlib import Path
for path in sys.argv[1:]:
    page = Path(path).read_text(encoding="utf-8")
    assert "no-viewer" not in page and "WebGL" in page, f"{path} has no 3-D view"
PY
    )
    "$new/bin/pip" install --quiet --disable-pip-version-check -r python/requirements-test.txt
    PATH=$new/bin PYTHONDONTWRITEBYTECODE=1 "$new/bin/python" -m pytest python/tests -q
    ls -l "$wheel"
}

maturin build "${flags[@]}"
try cp310-abi3 python3
for interpreter in python3.14t python3.15t; do
    if command -v "$interpreter" > /dev/null; then
        maturin build "${flags[@]}" --interpreter "$interpreter"
        version=cp$("$interpreter" -c 'import sys; print("%d%d" % sys.version_info[:2])')
        export PYTHON_GIL=0
        try "$version-${version}t" "$interpreter"
        "$work/new-$version-${version}t/bin/python" -c "import leastaction, sys; assert not sys._is_gil_enabled()"
        unset PYTHON_GIL
    else
        echo "no $interpreter here: its free-threaded wheel is neither built nor tested"
    fi
done
