"""The reach that optimizers are compared on: a 7-joint arm, 2 s from rest to rest, quintic B-spline of 50 control points.

The cost is half the sum over 101 samples of 0.02 s times (0.01 |torque|^2 + 0.001 |jerk|^2).
"""

DURATION, CONTROL, DEGREE, SAMPLES, TORQUE, JERK = 2.0, 50, 5, 101, 1e-2, 1e-3
START = (0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.0)
END = (1.2, 0.3, -0.4, -1.2, 0.5, 2.2, 0.8)
SPACING = DURATION / (SAMPLES - 1)


def problem_file(model, factor):
    """The same for `leastaction optimize`, whose cost is a mean over samples: weights times `factor`."""
    state = lambda q: f"q = {list(q)}\nv = 0.0\na = 0.0"  # noqa: E731
    return f"""schema = "leastaction/problem/1"
model = "{model}"

[trajectory]
duration = {DURATION}
degree = {DEGREE}
control_points = {CONTROL}
samples = {SAMPLES}

[start]
{state(START)}
[end]
{state(END)}

[[terms]]
kind = "torque"
weight = {factor * TORQUE!r}

[[terms]]
kind = "joint_jerk"
weight = {factor * JERK!r}
"""


def tables():
    """Basis and its derivatives at the samples, and the start of the search: a quintic profile on the control points."""
    import numpy as np
    from scipy.interpolate import BSpline

    knots = np.concatenate([np.zeros(DEGREE), np.linspace(0, DURATION, CONTROL - DEGREE + 1), np.full(DEGREE, DURATION)])
    times = np.linspace(0, DURATION, SAMPLES)
    splines = [BSpline(knots, row, DEGREE) for row in np.eye(CONTROL)]
    basis = [np.column_stack([(s.derivative(d) if d else s)(times) for s in splines]) for d in range(4)]
    x = np.linspace(0, 1, CONTROL)[:, None]
    points = np.array(START) + (np.array(END) - np.array(START)) * (10 * x**3 - 15 * x**4 + 6 * x**5)
    # Three points at an end: no velocity, no acceleration.
    points[:3], points[-3:] = START, END
    return basis, points
