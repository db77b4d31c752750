#!/bin/sh
# Long runs of real robots, of a chaotic pendulum and of long chains in joint coordinates; see long_runs.py.
# Needs Python 3 and the Python package index (for the robots' files). Fails if a bar is missed.
set -eu
cd "$(dirname "$0")/.."
venv=.venv/crosscheck
if [ ! -x "$venv/bin/python" ]; then
    python3 -m venv "$venv"
fi
"$venv/bin/pip" install --quiet --disable-pip-version-check -r scripts/crosscheck_requirements.txt
cargo build --quiet --release -p leastaction-cli
exec "$venv/bin/python" scripts/long_runs.py "$@"
