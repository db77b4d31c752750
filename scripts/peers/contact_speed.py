"""Time per step with contact beside MuJoCo: a quadruped that stands and trots in place, a stack, chains on the ground, dominoes.

    python3 scripts/peers/contact_speed.py PROGRAM [--rounds N] [--only stand,trot]

PROGRAM is the example `contact_speed` of leastaction-lab, built for release. Run by hand where mujoco is installed. Both read the same
MJCF, take the same steps under the same inputs, in turn; every piece of a run counts with the least time it took, so that a busy machine
hurts little. MuJoCo runs as it comes, and as it has to be set to hold still: elliptic cones, stiff friction, the pass against slip. Its
contacts are soft and creep; ours are hard and are solved to rounding. Prints microseconds per step and the ratios; exits 1 where a bar is
missed.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MODELS = Path(__file__).resolve().parents[2] / "models"
STILL = 'cone="elliptic" impratio="100" noslip_iterations="20" iterations="200" tolerance="1e-12"'
STEP = 0.002
HOLD = 10
STAND = [0.0, 0.8, -1.6] * 4


def scene(bodies, option=""):
    return f'<mujoco><compiler angle="radian"/><option timestep="{STEP}" {option}/><worldbody>' \
           f'<geom type="plane" size="0 0 1"/>{bodies}</worldbody></mujoco>'


def boxes(size, places, friction):
    half = " ".join(str(0.5 * x) for x in size)
    return "".join(f'<body pos="{x} {y} {z}" quat="{math.cos(a / 2)} 0 {math.sin(a / 2)} 0"><freejoint/>'
                   f'<geom type="box" size="{half}" friction="{friction}" density="1000"/></body>' for x, y, z, a in places)


def chain(count, friction, radius=0.05):
    links = ""
    for k in reversed(range(count)):
        joint = '<joint type="ball"/>' if k else "<freejoint/>"
        place = f"{2 * radius} 0 0" if k else f"0 0 {radius}"
        links = f'<body pos="{place}">{joint}<geom size="{radius}" friction="{friction}" mass="0.2"/>{links}</body>'
    return links


def trot(k):
    """Inputs of piece `k`: diagonal legs are drawn up in turn, twice a second."""
    phase = 2 * math.pi * 2.0 * k * HOLD * STEP
    lift = [max(0.0, math.sin(phase + shift)) for shift in (0.0, math.pi, math.pi, 0.0)]
    return [x for a in lift for x in (0.0, 0.8 + 0.25 * a, -1.6 - 0.5 * a)]


def dominoes(count=8, gap=0.03):
    high, lean = 0.05, 0.25
    places = [(gap * k, 0.0, 0.5 * high, 0.0) for k in range(1, count)]
    # The first one leans on its lower edge.
    z = 0.5 * (high * math.cos(lean) + 0.008 * math.sin(lean))
    return boxes((0.008, 0.025, high), [(0.0, 0.0, z, lean), *places], 0.4)


def scenes():
    """Name, model, inputs of every piece, pieces that are not counted, bars: microseconds and ratio to the faster MuJoCo."""
    robot = (MODELS / "quadruped.xml").read_text()
    still = [[]] * 100
    yield "stand", robot, [STAND] * 100, 50, 60.0, 2.0
    yield "trot", robot, [trot(k) for k in range(100)], 0, 60.0, 2.0
    tower = boxes((0.2, 0.2, 0.1), [(0, 0, 0.05 + 0.1 * k, 0) for k in range(10)], 0.6)
    yield "stack of 10", scene(tower), still, 10, None, 2.0
    yield "100 balls lying", scene(chain(100, 0.5)), still, 10, None, 1.0
    slope = f'gravity="0 {9.81 * math.sin(0.35)} {-9.81 * math.cos(0.35)}"'
    yield "100 balls sliding", scene(chain(100, 0.2), slope), still, 10, None, 1.0
    yield "dominoes", scene(dominoes()), still, 0, None, None


def theirs(text, option, inputs, skip, rounds):
    import mujoco

    model = mujoco.MjModel.from_xml_string(text.replace("<option ", f"<option {option} ", 1))
    model.opt.timestep = STEP
    data = mujoco.MjData(model)
    least = [math.inf] * len(inputs)
    for _ in range(rounds):
        if model.nkey:
            mujoco.mj_resetDataKeyframe(model, data, 0)
        else:
            mujoco.mj_resetData(model, data)
        for k, u in enumerate(inputs):
            data.ctrl[:] = u
            begin = time.perf_counter()
            mujoco.mj_step(model, data, nstep=HOLD)
            least[k] = min(least[k], time.perf_counter() - begin)
    return 1e6 * sum(least[skip:]) / (HOLD * (len(inputs) - skip))


def ours(program, path, inputs, skip, rounds):
    lines = "\n".join(" ".join(map(str, u)) for u in inputs) + "\n"
    command = [program, str(path), str(STEP), str(HOLD), str(rounds), str(skip)]
    done = subprocess.run(command, input=lines, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    missed = []
    print(f"{'scene':20} {'ours':>9} {'iterations':>10} {'MuJoCo':>9} {'still':>9} {'ratio':>6}")
    for name, text, inputs, skip, most, ratio in scenes():
        if args.only and name not in args.only.split(","):
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "scene.xml"
            path.write_text(text)
            mine = ours(args.program, path, inputs, skip, args.rounds)
        default, still = (theirs(text, option, inputs, skip, args.rounds) for option in ("", STILL))
        if isinstance(mine, str):
            print(f"{name:20} {mine}")
            missed.append(name)
            continue
        reached = mine["us"] / min(default, still)
        print(f"{name:20} {mine['us']:9.1f} {mine['iterations']:10.2f} {default:9.1f} {still:9.1f} {reached:6.2f}", flush=True)
        if (most and mine["us"] > most) or (ratio and reached > ratio):
            missed.append(name)
    if missed:
        print("missed:", ", ".join(missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
