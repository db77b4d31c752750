"""CasADi: Jacobians of torque and torque rate of a serial arm of hinges, generated as C, compiled, timed.

The equations are a recursive Newton-Euler sweep on CasADi symbols, from a JSON model written by `leastaction convert`.
"""

import ctypes
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import casadi as ca
import numpy as np

from timing import emit, line, timed


def rotation(quaternion):
    w, x, y, z = quaternion
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def about(axis, angle):
    """Rotation by an angle about a constant unit axis."""
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return ca.DM_eye(3) + ca.sin(angle) * ca.DM(k) + (1 - ca.cos(angle)) * ca.DM(k @ k)


def torques(model, q, v, a):
    """Inverse dynamics in body frames of a chain of hinges."""
    w, dw, acc = ca.DM.zeros(3), ca.DM.zeros(3), -ca.DM(model["gravity"])
    links = []
    for i, joint in enumerate(model["joints"]):
        place = joint.get("parent_placement", {})
        axis = np.array(joint["axis"], float)
        axis /= np.linalg.norm(axis)
        turn = ca.DM(rotation(place.get("q", [1, 0, 0, 0]))) @ about(axis, q[i])
        arm = ca.DM(place.get("p", [0, 0, 0]))
        acc = turn.T @ (acc + ca.cross(dw, arm) + ca.cross(w, ca.cross(w, arm)))
        w, dw = turn.T @ w, turn.T @ dw
        z = ca.DM(axis)
        dw = dw + z * a[i] + ca.cross(w, z * v[i])
        w = w + z * v[i]
        body = model["bodies"][i]
        com = ca.DM(body["com"])
        xx, yy, zz, xy, xz, yz = body["inertia"]
        inertia = ca.DM([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        force = body["mass"] * (acc + ca.cross(dw, com) + ca.cross(w, ca.cross(w, com)))
        moment = inertia @ dw + ca.cross(w, inertia @ w) + ca.cross(com, force)
        links.append((turn, arm, z, force, moment))
    result, force, moment = [], ca.DM.zeros(3), ca.DM.zeros(3)
    for turn, arm, z, f, m in reversed(links):
        force, moment = force + f, moment + m
        result.append(ca.dot(z, moment))
        force, moment = turn @ force, turn @ moment
        moment = moment + ca.cross(arm, force)
    return ca.vertcat(*reversed(result))


def jacobian(folder, names):
    for name in names:
        model = json.loads((folder / f"{name}.json").read_text())
        n = len(model["joints"])
        x = [ca.SX.sym(s, n) for s in ("q", "v", "a", "j")]
        tau = torques(model, *x[:3])
        rate = sum((ca.jtimes(tau, x[k], x[k + 1]) for k in range(3)), ca.SX.zeros(n))
        state = np.random.default_rng(1).uniform(-1, 1, (4, n))
        for variant, expression, count in (("torque Jacobian, compiled C", tau, 3), ("torque-rate Jacobian, compiled C", rate, 4)):
            begin = time.perf_counter()
            arguments = x[:count]
            function = ca.Function("f", arguments, [ca.jacobian(expression, ca.vertcat(*arguments))])
            with tempfile.TemporaryDirectory() as scratch:
                function.generate("f.c", {"with_header": False})
                source = pathlib.Path(scratch) / "f.c"
                pathlib.Path("f.c").rename(source)
                library = source.with_suffix(".so")
                subprocess.run(["cc", "-O3", "-march=native", "-fPIC", "-shared", str(source), "-o", str(library), "-lm"], check=True)
                built = time.perf_counter() - begin
                c = ctypes.CDLL(str(library)).f
                double = ctypes.POINTER(ctypes.c_double)
                vectors = [np.ascontiguousarray(state[k]) for k in range(count)]
                out = np.zeros(function.nnz_out(0))
                arg = (double * max(function.sz_arg(), count))(*[vec.ctypes.data_as(double) for vec in vectors])
                res = (double * max(function.sz_res(), 1))(out.ctypes.data_as(double))
                iw = (ctypes.c_longlong * max(function.sz_iw(), 1))()
                w = (ctypes.c_double * max(function.sz_w(), 1))()

                def call(k):
                    for _ in range(k):
                        c(arg, res, iw, w, 0)

                best, median = timed(call)
                # A call through ctypes costs about a third of a microsecond; an empty one is measured and taken off.
                empty = ctypes.CDLL(None).abs

                def idle(k):
                    for _ in range(k):
                        empty(1)

                off, _ = timed(idle)
                yield line("derivative", "casadi", variant, name, n, best - off, median - off, build_seconds=built)


if __name__ == "__main__":
    emit(globals()[sys.argv[2]](pathlib.Path(sys.argv[1]).resolve(), sys.argv[3:]))
