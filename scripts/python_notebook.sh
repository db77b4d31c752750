#!/usr/bin/env bash
# Executes the tour as `jupyter nbconvert` does and opens its page in headless Chromium: the report inside is drawn, the console says nothing.
#
#   scripts/python_notebook.sh LIBRARY
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(realpath -s "$(scripts/python_env.sh)")
"$python" -m pip install --quiet --disable-pip-version-check nbconvert
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
cp -r python/leastaction "$site/leastaction"
cp "$1" "$site/leastaction/_core.abi3.so"
"$python" -m ipykernel install --prefix "$site" --name here > /dev/null 2>&1
# Without the template's scripts from elsewhere; the kernel of this environment.
(
    export PYTHONPATH=$site JUPYTER_PATH=$site/share/jupyter IPYTHONDIR=$site/ipython PYTHONDONTWRITEBYTECODE=1
    "$python" -m nbconvert --log-level ERROR --execute --ExecutePreprocessor.kernel_name=here --to html --template basic \
        --output-dir "$site/page" docs/python/tour.ipynb
)
scripts/browser_test.sh --notebook "$site/page/tour.html"
