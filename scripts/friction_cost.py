"""Instructions of steps with friction over those of the same steps without, events included: what dry friction and limits cost.

    python3 scripts/friction_cost.py PROGRAM [--model @chain/10] [--bound 0.2|own] [--orders 2,4] [--step 0.005] [--seconds 10] [--read]

PROGRAM is the example `friction_cost` of leastaction-lab, built for release. Counts under valgrind, so that a busy machine has no say; what a
program takes without steps is subtracted. `--bound own` keeps friction and limits of the model, and compares with neither; `--read` has
positions and velocities read after every step, as runs that write them do.
"""

import argparse
import json
import re
import subprocess


def counted(program, model, order, bound, step, steps, read):
    """Instructions of a run, and what its steps were made of."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, model, str(order), bound, str(step), str(steps), *read]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1]), json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--model", default="@chain/10")
    parser.add_argument("--bound", default="0.2")
    parser.add_argument("--orders", default="2,4")
    parser.add_argument("--step", type=float, default=0.005)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--read", action="store_const", const=["read"], default=[])
    args = parser.parse_args()
    steps = round(args.seconds / args.step)
    for order in map(int, args.orders.split(",")):
        found = {}
        for bound in ("none", args.bound):
            (all_of_it, made), (start, _) = (counted(args.program, args.model, order, bound, args.step, n, args.read) for n in (steps, 0))
            found[bound] = (all_of_it - start) / steps, made
        (without, _), (with_it, made) = found["none"], found[args.bound]
        print(f"order {order}: {without:.0f} and {with_it:.0f} instructions per step, {with_it / without:.2f} times; {made}", flush=True)


if __name__ == "__main__":
    main()
