#!/bin/sh
# Compares our dynamics with Pinocchio (every URDF of example-robot-data) and MuJoCo (our own MJCF files).
# Needs Python 3 and the Python package index; not part of the default tests. Fails on any disagreement.
set -eu
cd "$(dirname "$0")/.."
venv=.venv/crosscheck
if [ ! -x "$venv/bin/python" ]; then
    python3 -m venv "$venv"
fi
"$venv/bin/pip" install --quiet --disable-pip-version-check -r scripts/crosscheck_requirements.txt
cargo build --quiet --release -p leastaction-lab --example dump_dynamics
exec "$venv/bin/python" scripts/crosscheck.py "$@"
