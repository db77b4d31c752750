"""CasADi: Jacobians of torque and torque rate of an arm (interpreted, and generated as C and compiled), and the reach of reach.py by IPOPT.

The equations are a Newton-Euler sweep on CasADi symbols, see arm.py.
"""

import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import casadi as ca
import numpy as np

from arm import read, torques
from timing import emit, line, timed

# Timed in C: a call through ctypes would cost a third of a microsecond.
TIMER = """
#include <time.h>
double spent(const double *x, int n, int arguments, double *out, long long *iw, double *w, int calls) {
  const double *arg[ARGUMENTS]; double *res[RESULTS]; struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  for (int k = 0; k < calls; k++) {
    for (int i = 0; i < arguments; i++) arg[i] = x + i * n;
    res[0] = out;
    f(arg, res, (casadi_int *)iw, w, 0);
  }
  clock_gettime(CLOCK_MONOTONIC, &b);
  return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}
"""


class Symbols:
    """Arrays of arm.py."""
    constant, sin, cos, cross, times, dot = map(staticmethod, (ca.DM, ca.sin, ca.cos, ca.cross, ca.mtimes, ca.dot))


def expressions(links):
    n = len(links)
    x = [ca.SX.sym(s, n) for s in ("q", "v", "a", "j")]
    tau = ca.vertcat(*torques(links, *x[:3], Symbols))
    rate = ca.jtimes(tau, ca.vertcat(*x[:3]), ca.vertcat(*x[1:]))
    return x, tau, rate


def derivative(folder, names):
    for name in names:
        links = read(folder / f"{name}.txt")
        n = len(links)
        x, tau, rate = expressions(links)
        state = np.random.default_rng(1).uniform(-1, 1, (4, n))
        for what, expression, count in (("torque Jacobian", tau, 3), ("torque-rate Jacobian", rate, 4)):
            begin = time.perf_counter()
            jacobian = ca.densify(ca.jacobian(expression, ca.vertcat(*x[:count])))
            function = ca.Function("f", x[:count], [jacobian])
            many = function.map(20)
            stacked = [np.repeat(state[k][:, None], 20, 1) for k in range(count)]
            best, median = timed(lambda k: [many(*stacked) for _ in range(k)])
            yield line("derivative", "casadi", f"{what}, interpreted", name, n, best / 20, median / 20)
            with tempfile.TemporaryDirectory() as scratch:
                os.chdir(scratch)
                function.generate("f.c")
                source = pathlib.Path(scratch) / "f.c"
                timer = TIMER.replace("ARGUMENTS", str(max(function.sz_arg(), count))).replace("RESULTS", str(max(function.sz_res(), 1)))
                source.write_text(source.read_text() + timer)
                library = source.with_suffix(".so")
                subprocess.run(["cc", "-O3", "-march=native", "-fPIC", "-shared", str(source), "-o", str(library), "-lm"], check=True)
                built = time.perf_counter() - begin
                spent = ctypes.CDLL(str(library)).spent
                spent.restype = ctypes.c_double
                pointer = lambda array: array.ctypes.data_as(ctypes.c_void_p)  # noqa: E731
                flat, out = np.ascontiguousarray(state[:count]), np.zeros(function.nnz_out(0))
                iw, w = np.zeros(max(function.sz_iw(), 1), np.int64), np.zeros(max(function.sz_w(), 1))
                times = sorted(spent(pointer(flat), n, count, pointer(out), pointer(iw), pointer(w), 50) / 50 * 1e6 for _ in range(300))
                exact = np.array(function(*state[:count])).T.ravel()
                if not np.allclose(out, exact, rtol=1e-9, atol=1e-9):
                    raise ValueError("the compiled function differs from the interpreted one")
                yield line("derivative", "casadi", f"{what}, compiled C", name, n, times[0], times[150], build_seconds=built)


def optimum(folder, names):
    from reach import END, JERK, SAMPLES, SPACING, START, TORQUE, tables

    basis, points = tables()
    for name in names:
        begin = time.perf_counter()
        links = read(folder / f"{name}.txt")
        x, tau, _ = expressions(links)
        inverse = ca.Function("inverse", x[:3], [tau])
        inner = ca.MX.sym("x", len(links), points.shape[0] - 6)
        ends = [ca.DM(np.tile(q, (3, 1)).T) for q in (START, END)]
        full = ca.horzcat(ends[0], inner, ends[1])
        q, v, a, j = (ca.mtimes(full, ca.sparsify(ca.DM(b.T))) for b in basis)
        cost = 0.5 * SPACING * (TORQUE * ca.sumsqr(inverse.map(SAMPLES)(q, v, a)) + JERK * ca.sumsqr(j))
        compiler = {"jit": True, "compiler": "shell", "jit_options": {"compiler": "cc", "flags": ["-O3", "-march=native"]}}
        prepared = time.perf_counter() - begin
        for variant, options in (("IPOPT, exact Hessian", {}), ("IPOPT, exact Hessian, compiled", compiler)):
            begin = time.perf_counter()
            solver = ca.nlpsol("s", "ipopt", {"x": ca.vec(inner), "f": cost},
                               {"ipopt": {"print_level": 0, "tol": 1e-8, "max_iter": 1000}, "print_time": 0, **options})
            built, best, cpu = prepared + time.perf_counter() - begin, float("inf"), float("inf")
            for _ in range(3):
                begin, used = time.perf_counter(), time.process_time()
                found = solver(x0=points[3:-3].ravel())
                best, cpu = min(best, time.perf_counter() - begin), min(cpu, time.process_time() - used)
            yield line("optimum", "casadi", variant, name, len(links), best * 1e6, cpu_us=cpu * 1e6, cost=float(found["f"]),
                       iterations=int(solver.stats()["iter_count"]), build_seconds=built)


if __name__ == "__main__":
    emit(globals()[sys.argv[2]](pathlib.Path(sys.argv[1]).resolve(), sys.argv[3:]))
