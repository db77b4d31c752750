"""Instructions per iteration of chains that lie and slide on the ground, 2n links over n: linear time means a ratio of about 2.

    python3 scripts/linear_time_contact.py PROGRAM [--sizes 16,32,64,128,256,512] [--limit 2.1]

PROGRAM is the example `contact_speed` of leastaction-lab, built for release. Runs it under valgrind at two lengths that are subtracted, so
that start-up cancels. Every link is a ball on the ground with a hinge to the one before; the slope is steeper than friction holds, so that
every contact slides and every step iterates. Exits 1 if a ratio is above the limit.
"""

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

STEP, HOLD, PIECES = 0.002, 4, (5, 15)


def chain(count, radius=0.05):
    """Balls in a row along x, hinges about z."""
    opened = closed = ""
    for k in range(count):
        joint = '<joint axis="0 0 1"/>' if k else "<freejoint/>"
        place = f"{2 * radius} 0 0" if k else f"0 0 {radius}"
        opened += f'<body pos="{place}">{joint}<geom size="{radius}" friction="0.2" mass="0.2"/>'
        closed += "</body>"
    gravity = f"0 {9.81 * math.sin(0.35)} {-9.81 * math.cos(0.35)}"
    return f'<mujoco><option gravity="{gravity}"/><worldbody><geom type="plane" size="0 0 1"/>{opened}{closed}</worldbody></mujoco>'


def counted(program, path, pieces):
    """Instructions and iterations of one run."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, str(path), str(STEP), str(HOLD), "1", "0"]
    done = subprocess.run(command, input="\n" * pieces, capture_output=True, text=True, check=True)
    instructions = int(re.search(r"Collected : (\d+)", done.stderr)[1])
    return instructions, json.loads(done.stdout)["iterations"] * HOLD * pieces


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--sizes", default="16,32,64,128,256,512")
    parser.add_argument("--limit", type=float, default=2.1)
    args = parser.parse_args()
    before, worst = None, 0.0
    print(f"{'links':>6} {'instructions per iteration':>28} {'iterations per step':>20} {'ratio':>6}")
    for size in map(int, args.sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "chain.xml"
            path.write_text(chain(size))
            (short, few), (long, many) = (counted(args.program, path, pieces) for pieces in PIECES)
        each = (long - short) / (many - few)
        ratio = each / before[1] if before and size == 2 * before[0] else math.nan
        worst = max(worst, ratio) if not math.isnan(ratio) else worst
        print(f"{size:6} {each:28.0f} {(many - few) / (HOLD * (PIECES[1] - PIECES[0])):20.2f} {ratio:6.2f}", flush=True)
        before = (size, each)
    return 1 if worst > args.limit else 0


if __name__ == "__main__":
    sys.exit(main())
