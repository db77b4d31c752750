"""Steps and rollouts as differentiable functions of JAX: exact derivatives of the discrete step.

    jax.config.update("jax_enable_x64", True)
    step = leastaction.jax.step(mech, step=0.01)
    q, v = step(q, v, u)                       # inside jit, vmap and grad
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

try:
    import jax
    import jax.numpy as jnp
except ImportError as missing:  # pragma: no cover
    raise ImportError("leastaction.jax needs JAX: pip install leastaction[jax]") from missing

import numpy as np

from . import _core

StepFunction: TypeAlias = Callable[..., tuple[Any, Any]]


def _host(x: Any) -> Any:
    # Callbacks see arrays of JAX or NumPy; `jax.numpy` inside one may deadlock, so NumPy only.
    return np.ascontiguousarray(x, dtype=np.float64)


def _shaped(*widths: tuple[Any, int]) -> Any:
    def shape(like: Any, width: int) -> Any:
        return jax.ShapeDtypeStruct((*like.shape[:-1], width), jnp.float64)

    return tuple(shape(like, width) for like, width in widths)


def step(mechanism: _core.Mechanism, **settings: Any) -> StepFunction:
    """The step `(q, v, u) → (q⁺, v⁺)` with the settings of `Plant`; leading axes are a batch, also under `vmap`."""
    if not jax.config.read("jax_enable_x64"):
        raise RuntimeError('leastaction.jax needs float64: jax.config.update("jax_enable_x64", True)')
    plant = _core.Plant(mechanism, **settings)
    nq, nv, nu = mechanism.nq, mechanism.nv, mechanism.nu

    def ahead(q: Any, v: Any, u: Any) -> Any:
        return plant.step(_host(q), _host(v), _host(u))

    def back(q: Any, v: Any, u: Any, gq: Any, gv: Any) -> Any:
        return plant.pull_back(*map(_host, (q, v, u, gq, gv)))

    @jax.custom_vjp
    def one(q: Any, v: Any, u: Any) -> Any:
        return jax.pure_callback(ahead, _shaped((q, nq), (v, nv)), q, v, u, vmap_method="broadcast_all")

    def forward(q: Any, v: Any, u: Any) -> Any:
        return one(q, v, u), (q, v, u)

    def backward(saved: Any, gradients: Any) -> Any:
        q, v, u = saved
        shapes = _shaped((q, nq), (v, nv), (u, nu))
        return jax.pure_callback(back, shapes, q, v, u, *gradients, vmap_method="broadcast_all")

    one.defvjp(forward, backward)

    def stepped(q: Any, v: Any, u: Any = None) -> Any:
        q, v = jnp.asarray(q), jnp.asarray(v)
        u = jnp.zeros((*q.shape[:-1], nu)) if u is None else jnp.asarray(u)
        lead = jnp.broadcast_shapes(q.shape[:-1], v.shape[:-1], u.shape[:-1])
        return one(*(jnp.broadcast_to(x, (*lead, x.shape[-1])) for x in (q, v, u)))

    return stepped


def rollout(mechanism: _core.Mechanism, **settings: Any) -> StepFunction:
    """Many steps: `(q, v, u) → (q, v)` at all nodes, time as the axis before the last; `u` is `(…, steps, nu)`."""
    one = step(mechanism, **settings)

    def rolled(q: Any, v: Any, u: Any) -> Any:
        def advance(x: Any, now: Any) -> Any:
            after = one(*x, now)
            return after, after

        lead = jnp.broadcast_shapes(q.shape[:-1], v.shape[:-1], u.shape[:-2])
        q, v = (jnp.broadcast_to(x, (*lead, x.shape[-1])) for x in (q, v))
        _, (qs, vs) = jax.lax.scan(advance, (q, v), jnp.moveaxis(u, -2, 0))
        together = [jnp.concatenate([x[None], xs]) for x, xs in ((q, qs), (v, vs))]
        return tuple(jnp.moveaxis(x, 0, -2) for x in together)

    return rolled
