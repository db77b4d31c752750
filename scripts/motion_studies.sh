#!/bin/sh
# Motion studies beside others: minimum torque change and Panda past a ball with CasADi, standard errors on other motions, C3D files of
# other programs, a real recording. Minutes; installs what it needs into target/motion-studies.
#
#   scripts/motion_studies.sh
set -eu
cd "$(dirname "$0")/.."
cargo build --release -p leastaction-cli
target=${CARGO_TARGET_DIR:-target}
command=$(cd "$target/release" && pwd)/leastaction
python=$target/motion-studies/bin/python
if [ ! -x "$python" ]; then
    python3 -m venv "$target/motion-studies"
fi
"$python" -m pip install --quiet --disable-pip-version-check numpy==2.4.6 scipy==1.17.1 casadi==3.8.2 pin==4.1.0 example-robot-data==6.0.0 \
    ezc3d==1.7.2 c3d==0.6.0
robots=$("$python" -c 'import pathlib, sysconfig; print(next(pathlib.Path(sysconfig.get_paths()["purelib"]).rglob("panda_description")).parent)')
failed=
run() { echo "== $*"; "$python" "$@" || failed="$failed $1"; }
run scripts/minimum_torque_change.py "$command"
run scripts/c3d_files.py "$command"
run scripts/real_recording.py "$command"
run scripts/recordings.py "$command" --robot "$robots/ur_description/urdf/ur5_robot.urdf" --seeds 50
run scripts/panda_past_a_ball.py "$command" "$robots"
run scripts/recordings.py "$command"
if [ -n "$failed" ]; then
    echo "failed:$failed" >&2
    exit 1
fi
