"""Steps and rollouts as differentiable layers of Torch: exact derivatives of the discrete step, by parameters of the model, too.

Tensors are float64 on the CPU, with any leading axes; numbers are shared with NumPy, not copied.

    from leastaction.torch import Rollout, Step
    q, v = Step(mech, step=0.01)(q, v, u)
    loss(q, v).backward()

    roll = Rollout(mech, step=0.01, parameters=["mass", "com", "inertia"])
    theta = roll.values.requires_grad_()
    qs, vs = roll(q, v, u, theta)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

try:
    import torch
except ImportError as missing:  # pragma: no cover
    raise ImportError("leastaction.torch needs PyTorch: pip install leastaction[torch]") from missing

import numpy as np
from numpy.typing import NDArray

from . import _core
from .errors import LayoutError, ShapeError

Tensor = torch.Tensor
_Saved = tuple[NDArray[np.float64], ...]


def _numpy(x: Tensor, name: str) -> NDArray[np.float64]:
    if x.dtype != torch.float64 or x.device.type != "cpu":
        found = f"a tensor of {x.dtype} on {x.device}"
        remedy = f"give `{name}.to('cpu', torch.float64)`"
        raise LayoutError(f"`{name}` is {found}: {remedy}", {"name": name, "found": found, "remedy": remedy})
    array: NDArray[np.float64] = x.detach().contiguous().numpy()
    return array


def _tensors(arrays: _Saved) -> tuple[Tensor, ...]:
    return tuple(torch.from_numpy(array) for array in arrays)


def _summed(gradient: NDArray[np.float64]) -> Tensor:
    """The gradient by parameters that all rows share."""
    return torch.from_numpy(gradient.sum(axis=tuple(range(gradient.ndim - 1))))


class _Step(torch.autograd.Function):
    """One step; the way back linearizes again instead of keeping matrices of a whole rollout."""

    @staticmethod
    def forward(q: Tensor, v: Tensor, u: Tensor, theta: Tensor, plant: _core.Plant) -> tuple[Tensor, ...]:
        return _tensors(plant.step(_numpy(q, "q"), _numpy(v, "v"), _numpy(u, "u")))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.plant = inputs[4]
        ctx.save_for_backward(*inputs[:3])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gq: Tensor, gv: Tensor) -> tuple[Tensor | None, ...]:
        q, v, u = (_numpy(x, name) for x, name in zip(ctx.saved_tensors, "qvu", strict=True))
        *own, by_parameters = ctx.plant.pull_back(q, v, u, _numpy(gq, "gradient"), _numpy(gv, "gradient"))
        return (*_tensors(tuple(own)), _summed(by_parameters), None)


class _Rollout(torch.autograd.Function):
    """A motion; one sweep back through it."""

    @staticmethod
    def forward(q: Tensor, v: Tensor, u: Tensor, theta: Tensor, plant: _core.Plant) -> tuple[Tensor, ...]:
        return _tensors(plant.rollout(_numpy(q, "q"), _numpy(v, "v"), _numpy(u, "u")))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.plant = inputs[4]
        ctx.save_for_backward(*output, inputs[2])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gq: Tensor, gv: Tensor) -> tuple[Tensor | None, ...]:
        qs, vs, u = (_numpy(x, name) for x, name in zip(ctx.saved_tensors, "qvu", strict=True))
        *own, by_parameters = ctx.plant.rollout_pull_back(qs, vs, u, _numpy(gq, "gradient"), _numpy(gv, "gradient"))
        return (*_tensors(tuple(own)), _summed(by_parameters), None)


class _Layer(torch.nn.Module):
    """A plant and its parameters."""

    def __init__(self, mechanism: _core.Mechanism, *, parameters: Sequence[str] = (), **settings: Any) -> None:
        super().__init__()
        self.plant = _core.Plant(mechanism, parameters=parameters, **settings)

    @property
    def values(self) -> Tensor:
        """Values of the parameters in the model, in the order of `plant.parameters`."""
        return torch.from_numpy(self.plant.values)

    def _at(self, parameters: Tensor | None) -> tuple[Tensor, _core.Plant]:
        if parameters is None:
            return self.values, self.plant
        if parameters.ndim != 1:
            wanted, found = f"({len(self.plant.parameters)},)", str(tuple(parameters.shape))
            raise ShapeError(
                f"`parameters` is {found}, not {wanted}: one vector for all rows",
                {"name": "parameters", "expected": wanted, "found": found},
            )
        return parameters, self.plant.at(_numpy(parameters, "parameters"))


class Step(_Layer):
    """One step of a variational integrator: `(q, v, u) → (q⁺, v⁺)`, with the settings of `Plant`.

    Gradients by a quaternion's four numbers have no part along the quaternion: they are those of its rotation. With
    `parameters` the layer takes their values as a fourth argument.
    """

    def forward(
        self, q: Tensor, v: Tensor, u: Tensor | None = None, parameters: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Positions and velocities after the step."""
        theta, plant = self._at(parameters)
        if u is None:
            u = torch.zeros((*q.shape[:-1], plant.mechanism.nu), dtype=torch.float64)
        lead = torch.broadcast_shapes(q.shape[:-1], v.shape[:-1], u.shape[:-1])
        q, v, u = (x.expand(*lead, x.shape[-1]) for x in (q, v, u))
        result: tuple[Tensor, Tensor] = _Step.apply(q, v, u, theta, plant)
        return result


class Rollout(_Layer):
    """Many steps: `(q, v, u) → (q, v)` at all nodes, time as the axis before the last.

    `u` has one row per step, `(…, steps, nu)`. With `parameters` the layer takes their values as a fourth argument.
    """

    def forward(
        self, q: Tensor, v: Tensor, u: Tensor, parameters: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Positions and velocities at the start and after each step."""
        theta, plant = self._at(parameters)
        lead = torch.broadcast_shapes(q.shape[:-1], v.shape[:-1], u.shape[:-2])
        q, v = (x.expand(*lead, x.shape[-1]) for x in (q, v))
        u = u.expand(*lead, *u.shape[-2:])
        result: tuple[Tensor, Tensor] = _Rollout.apply(q, v, u, theta, plant)
        return result
