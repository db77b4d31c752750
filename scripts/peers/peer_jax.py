"""JAX: Jacobians of torque and torque rate of an arm, forward mode, compiled; one call at a time."""

import pathlib
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

from arm import read, torques
from timing import emit, line, timed

jax.config.update("jax_enable_x64", True)


class Arrays:
    """Arrays of arm.py."""
    constant, sin, cos, cross, times, dot = map(staticmethod, (jnp.asarray, jnp.sin, jnp.cos, jnp.cross, jnp.matmul, jnp.dot))


def derivative(folder, names):
    for name in names:
        links = read(folder / f"{name}.txt")
        tau = lambda q, v, a: jnp.stack(torques(links, q, v, a, Arrays))  # noqa: E731
        rate = lambda q, v, a, j: jax.jvp(tau, (q, v, a), (v, a, j))[1]  # noqa: E731
        state = [jnp.asarray(row) for row in np.random.default_rng(1).uniform(-1, 1, (4, len(links)))]
        for what, function, count in (("torque Jacobian", tau, 3), ("torque-rate Jacobian", rate, 4)):
            begin = time.perf_counter()
            compiled = jax.jit(jax.jacfwd(function, tuple(range(count))))
            jax.block_until_ready(compiled(*state[:count]))
            built = time.perf_counter() - begin

            def call(k):
                for _ in range(k):
                    jax.block_until_ready(compiled(*state[:count]))

            best, median = timed(call)
            yield line("derivative", "jax", f"{what}, compiled", name, len(links), best, median, build_seconds=built)


if __name__ == "__main__":
    emit(globals()[sys.argv[2]](pathlib.Path(sys.argv[1]), sys.argv[3:]))
