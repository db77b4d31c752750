#!/usr/bin/env bash
# A fresh machine: clones the repository, installs the package with `pip install .` in a new environment, runs README's first Python
# block there, and says what that took and what building without Python takes. Compiles everything twice.
#
#   scripts/python_install.sh [COMMIT]
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone --quiet . "$work/clone"
cd "$work/clone"
git checkout --quiet "${1:-HEAD}"
python3 -m venv "$work/env"
unset PYTHONPATH CARGO_TARGET_DIR

# NAME COMMAND…: what a command takes, wall and processor seconds.
measured() {
    local name=$1
    shift
    python3 - "$name" "$@" << 'PY'
import resource, subprocess, sys, time
begin = time.time()
done = subprocess.run(sys.argv[2:], capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"{sys.argv[1]}: {time.time() - begin:.0f} s wall, {used.ru_utime + used.ru_stime:.0f} s of processor time", flush=True)
if done.returncode:
    print(done.stdout[-4000:], done.stderr[-4000:])
sys.exit(done.returncode)
PY
}

measured "pip install ." "$work/env/bin/pip" install --quiet .
python3 - README.md > "$work/block.py" << 'PY'
import re, sys
text = open(sys.argv[1], encoding="utf-8").read()
print(re.search(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1])
PY
"$work/env/bin/python" "$work/block.py"
(cd "$work" && "$work/env/bin/python" -c "import leastaction as la; la.simulate(la.load('@double-pendulum'))" > printed && [ ! -s printed ])
measured "cargo build --release" env CARGO_TARGET_DIR="$work/target" cargo build --quiet --release
# What Python adds: the module, with everything below it already built.
measured "the Python module besides" env CARGO_TARGET_DIR="$work/target" PYO3_BUILD_EXTENSION_MODULE=1 \
    cargo build --quiet --release --workspace
