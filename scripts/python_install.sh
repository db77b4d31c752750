#!/usr/bin/env bash
# A fresh machine: clones the repository, installs the package with `pip install .` in a new environment, runs README's first Python
# block there, and says what that took and what building without Python takes. Compiles everything three times.
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
export SECONDS_FILE=$work/seconds

# NAME COMMAND…: what a command takes, wall and processor seconds.
measured() {
    local name=$1
    shift
    python3 - "$name" "$@" << 'PY'
import os, resource, subprocess, sys, time
begin = time.time()
done = subprocess.run(sys.argv[2:], capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
seconds = used.ru_utime + used.ru_stime
print(f"{sys.argv[1]}: {time.time() - begin:.0f} s wall, {seconds:.0f} s of processor time", flush=True)
with open(os.environ["SECONDS_FILE"], "a", encoding="utf-8") as file:
    print(seconds, file=file)
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
# What Python adds, from nothing again; pip's own part (an environment to build in, the archive) is no building.
measured "cargo build --release with the Python module" env CARGO_TARGET_DIR="$work/both" PYO3_BUILD_EXTENSION_MODULE=1 \
    cargo build --quiet --release --package leastaction-cli --package leastaction-py
python3 - "$work/seconds" << 'PY'
import sys
_, without, with_python = (float(line) for line in open(sys.argv[1], encoding="utf-8"))
print(f"with Python over without: {with_python / without:.2f} of the processor time (at most 1.25)")
sys.exit(with_python > 1.25 * without)
PY
