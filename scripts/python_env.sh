#!/usr/bin/env bash
# The environment of the Python tests: a venv in target/python, made again when the requirements or the version change.
# Prints the path of its interpreter; exits 3, and says why, where there is no Python 3.10 or no package index.
#
#   scripts/python_env.sh [REQUIREMENTS] [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
requirements=${1:-python/requirements-test.txt}
folder=${2:-${CARGO_TARGET_DIR:-target}/python}

python=${PYTHON:-$(command -v python3 || true)}
if [ -z "$python" ] || ! "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2> /dev/null; then
    echo "there is no Python 3.10 with venv" >&2
    exit 3
fi
wanted="$("$python" -c 'import sys; print(sys.version)') $(cat "$requirements")"
if [ ! -x "$folder/bin/python" ] || [ "$(cat "$folder/made-for" 2> /dev/null)" != "$wanted" ]; then
    rm -rf "$folder"
    "$python" -m venv "$folder" >&2
    if ! "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements" >&2; then
        rm -rf "$folder"
        echo "the packages of $requirements can't be installed" >&2
        exit 3
    fi
    printf '%s' "$wanted" > "$folder/made-for"
fi
echo "$folder/bin/python"
