#!/usr/bin/env bash
# Everything that the Python package promises, measured: builds, then runs each script below and says what took how long.
# Takes an hour on two processors, most of it compiling; figures are in what it prints.
#
#   scripts/python_bars.sh [PART…]        parts: suite peers notebook wheels install; default: all
#
# | promise                                             | where it is measured                                                          |
# |-----------------------------------------------------|-------------------------------------------------------------------------------|
# | files are those of the command, byte for byte       | suite: test_parity.py, 12 scenarios                                           |
# | kernels agree with Pinocchio and MuJoCo to 1e-12    | peers: test_pinocchio.py, test_mujoco.py, 27 and 30 models                    |
# | a call <= 1.0 of Pinocchio's, an empty one <= 100 ns, 10,000 states <= 0.35 of the loop | peers: test_pinocchio.py                  |
# | batches copy nothing                                | suite: test_lifetimes.py, resident memory and tracemalloc                     |
# | 10,000 wrong calls raise typed errors only          | peers: test_hypothesis.py                                                     |
# | dropped in any order 100,000 times, memory is flat  | peers: test_lifetimes.py                                                      |
# | everything pickles, and goes on bit for bit         | suite: test_pickles.py; peers: test_clusters.py in Ray, Dask, spawn, fork     |
# | other threads run meanwhile; two on one simulator   | suite: test_lifetimes.py                                                      |
# | Ctrl-C within 0.2 s, with what there is             | suite: test_interrupts.py, 17 calls                                           |
# | a forked child works                                | suite: test_simulator.py                                                      |
# | every error of the library has its class and fields | suite: test_errors.py, all variants of the four enums                         |
# | derivatives: gradcheck, check_grads, 100 steps to 1e-6 | peers: test_layers.py                                                      |
# | inertias of an arm from a noisy motion, under a minute | suite: examples/python/13_identify_an_arm.py                               |
# | gymnasium's check_env without a warning             | suite: test_gym.py                                                            |
# | the stub is true, examples and page are typed       | suite: stubtest, mypy --strict; peers: test_types.py with pyright             |
# | every block of docs/python.md, docstring, example and the tour runs | suite: test_docs.py, test_notebook.py                         |
# | the tour's page is drawn in a browser               | notebook                                                                      |
# | wheels work without Rust and Node.js; free-threaded where there is such an interpreter | wheels                                      |
# | pip install . in a fresh environment; building with Python <= 1.25 of building without | install                                     |
set -euo pipefail
cd "$(dirname "$0")/.."
parts=" ${*:-suite peers notebook wheels install} "
target=${CARGO_TARGET_DIR:-target}

part() {
    case "$parts" in *" $1 "*) ;; *) return 0 ;; esac
    printf '\n== %s\n' "$1"
    local begin=$SECONDS
    "${@:2}"
    printf '== %s: %s s\n' "$1" "$((SECONDS - begin))"
}

export LEASTACTION=$target/release/leastaction
case "$parts" in *" suite "* | *" peers "* | *" notebook "*)
    PYO3_BUILD_EXTENSION_MODULE=1 cargo build --release --workspace
    LEASTACTION=$(realpath "$LEASTACTION")
    ;;
esac
part suite scripts/python_test.sh "$target/release/lib_core.so" "$LEASTACTION" -- --durations=5
part peers scripts/python_peers.sh "$target/release/lib_core.so" -- --durations=5
part notebook scripts/python_notebook.sh "$target/release/lib_core.so"
part wheels scripts/wheels.sh
part install scripts/python_install.sh
