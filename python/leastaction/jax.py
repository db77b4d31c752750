"""Steps and rollouts as differentiable functions of JAX: exact derivatives of the discrete step, by parameters of the model, too.

    jax.config.update("jax_enable_x64", True)
    step = leastaction.jax.step(mech, step=0.01)
    q, v = step(q, v, u)                       # inside jit, vmap and grad

    roll = leastaction.jax.rollout(mech, step=0.01, parameters=["mass", "damping"])
    qs, vs = roll(q, v, u, theta)              # values of the parameters, in the order of Plant.parameters
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

try:
    import jax
    import jax.numpy as jnp
except ImportError as missing:  # pragma: no cover
    raise ImportError("leastaction.jax needs JAX: pip install leastaction[jax]") from missing

import numpy as np
from numpy.typing import NDArray

from . import _core
from .errors import ShapeError

Array: TypeAlias = jax.Array
StepFunction: TypeAlias = Callable[..., tuple[Array, Array]]
_Numbers: TypeAlias = NDArray[np.float64]
_Kernel: TypeAlias = Callable[..., tuple[_Numbers, ...]]


def _host(x: object) -> _Numbers:
    # Callbacks see arrays of JAX or NumPy; `jax.numpy` inside one may deadlock, so NumPy only.
    return np.ascontiguousarray(x, dtype=np.float64)


def _each(plant: _core.Plant, theta: _Numbers, kernel: Callable[[_core.Plant], _Kernel], *rows: _Numbers) -> tuple[_Numbers, ...]:
    """Applies a kernel at the parameters; where these are a batch, row by row with its own."""
    if theta.shape[-1] == 0:
        return kernel(plant)(*rows)
    if theta.ndim == 1:
        return kernel(plant.at(theta))(*rows)
    lead = theta.shape[:-1]
    parts = [kernel(plant.at(theta[i]))(*(x[i] for x in rows)) for i in np.ndindex(lead)]
    return tuple(np.stack(x).reshape(*lead, *x[0].shape) for x in zip(*parts, strict=True))


def _layer(plant: _core.Plant, ahead: Callable[[_core.Plant], _Kernel], back: Callable[[_core.Plant], _Kernel],
           shapes: Callable[[Array, Array, Array], tuple[Any, ...]], keeps_path: bool) -> Callable[..., Any]:
    """A function `(q, v, u, θ) → (q, v)` with the transposed derivative `back`."""

    def forward_host(q: object, v: object, u: object, theta: object) -> tuple[_Numbers, ...]:
        return _each(plant, _host(theta), ahead, _host(q), _host(v), _host(u))

    def backward_host(q: object, v: object, u: object, theta: object, gq: object, gv: object) -> tuple[_Numbers, ...]:
        at = _host(theta)
        *own, by_parameters = _each(plant, at, back, *map(_host, (q, v, u, gq, gv)))
        if at.ndim == 1:
            by_parameters = by_parameters.sum(axis=tuple(range(by_parameters.ndim - 1)))
        return (*own, by_parameters)

    @jax.custom_vjp
    def apply(q: Array, v: Array, u: Array, theta: Array) -> Any:
        return jax.pure_callback(forward_host, shapes(q, v, u), q, v, u, theta, vmap_method="broadcast_all")

    def forward(q: Array, v: Array, u: Array, theta: Array) -> Any:
        after = apply(q, v, u, theta)
        return after, ((*after, q, v) if keeps_path else (q, v, q, v), u, theta)

    def backward(saved: Any, gradients: Any) -> Any:
        (q, v, first_q, first_v), u, theta = saved
        like = tuple(jax.ShapeDtypeStruct(x.shape, jnp.float64) for x in (first_q, first_v, u, theta))
        return jax.pure_callback(backward_host, like, q, v, u, theta, *gradients, vmap_method="broadcast_all")

    apply.defvjp(forward, backward)
    return apply


def _plant(mechanism: _core.Mechanism, parameters: Sequence[str], settings: dict[str, Any]) -> _core.Plant:
    if not jax.config.read("jax_enable_x64"):
        raise RuntimeError('leastaction.jax needs float64: jax.config.update("jax_enable_x64", True)')
    return _core.Plant(mechanism, parameters=parameters, **settings)


def _expect_widths(plant: _core.Plant, q: Array, v: Array, u: Array, theta: Array) -> None:
    """Refuses what does not fit here, where it can be said: an error inside a callback comes out as one of XLA's."""
    m = plant.mechanism
    for name, x, width in (("q", q, m.nq), ("v", v, m.nv), ("u", u, m.nu), ("parameters", theta, len(plant.parameters))):
        if x.shape[-1:] != (width,):
            expected = f"(…, {width})"
            raise ShapeError(f"`{name}` has shape {x.shape}, {expected} is needed", {"name": name, "expected": expected, "found": x.shape})


def _shape(lead: tuple[int, ...], *tail: int) -> Any:
    return jax.ShapeDtypeStruct((*lead, *tail), jnp.float64)


def step(mechanism: _core.Mechanism, *, parameters: Sequence[str] = (), **settings: Any) -> StepFunction:
    """The step `(q, v, u) → (q⁺, v⁺)` with the settings of `Plant`; leading axes are a batch, also under `vmap`.

    With `parameters` the function takes their values as a fourth argument.
    """
    plant = _plant(mechanism, parameters, settings)
    nq, nv, nu = mechanism.nq, mechanism.nv, mechanism.nu

    def shapes(q: Array, v: Array, u: Array) -> tuple[Any, ...]:
        return _shape(q.shape[:-1], nq), _shape(v.shape[:-1], nv)

    layer = _layer(plant, lambda plant: plant.step, lambda plant: plant.pull_back, shapes, keeps_path=False)

    def stepped(q: Any, v: Any, u: Any = None, parameters: Any = None) -> tuple[Array, Array]:
        q, v = jnp.asarray(q), jnp.asarray(v)
        u = jnp.zeros((*q.shape[:-1], nu)) if u is None else jnp.asarray(u)
        theta = jnp.asarray(plant.values if parameters is None else parameters)
        _expect_widths(plant, q, v, u, theta)
        lead = jnp.broadcast_shapes(q.shape[:-1], v.shape[:-1], u.shape[:-1])
        after: tuple[Array, Array] = layer(*(jnp.broadcast_to(x, (*lead, x.shape[-1])) for x in (q, v, u)), theta)
        return after

    return stepped


def rollout(mechanism: _core.Mechanism, *, parameters: Sequence[str] = (), **settings: Any) -> StepFunction:
    """Many steps: `(q, v, u) → (q, v)` at all nodes, time as the axis before the last; `u` is `(…, steps, nu)`.

    With `parameters` the function takes their values as a fourth argument.
    """
    plant = _plant(mechanism, parameters, settings)
    nq, nv = mechanism.nq, mechanism.nv

    def shapes(q: Array, v: Array, u: Array) -> tuple[Any, ...]:
        rows = u.shape[-2] + 1
        return _shape(q.shape[:-1], rows, nq), _shape(v.shape[:-1], rows, nv)

    layer = _layer(plant, lambda plant: plant.rollout, lambda plant: plant.rollout_pull_back, shapes, keeps_path=True)

    def rolled(q: Any, v: Any, u: Any, parameters: Any = None) -> tuple[Array, Array]:
        q, v, u = (jnp.asarray(x) for x in (q, v, u))
        theta = jnp.asarray(plant.values if parameters is None else parameters)
        _expect_widths(plant, q, v, u, theta)
        lead = jnp.broadcast_shapes(q.shape[:-1], v.shape[:-1], u.shape[:-2])
        q, v = (jnp.broadcast_to(x, (*lead, x.shape[-1])) for x in (q, v))
        after: tuple[Array, Array] = layer(q, v, jnp.broadcast_to(u, (*lead, *u.shape[-2:])), theta)
        return after

    return rolled
