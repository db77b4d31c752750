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
from .errors import LayoutError, ShapeError, Unsupported

Tensor = torch.Tensor
_Saved = tuple[NDArray[np.float64], ...]


def _refuse(name: str, found: str, remedy: str) -> LayoutError:
    return LayoutError(f"`{name}` is {found}: {remedy}", {"name": name, "found": found, "remedy": remedy})


def _numpy(x: Tensor, name: str) -> NDArray[np.float64]:
    if x.dtype != torch.float64 or x.device.type != "cpu":
        raise _refuse(name, f"a tensor of {x.dtype} on {x.device}", f"give `{name}.to('cpu', torch.float64)`")
    array: NDArray[np.float64] = x.detach().contiguous().numpy()
    return array


def _tensors(arrays: _Saved) -> tuple[Tensor, ...]:
    return tuple(torch.from_numpy(array) for array in arrays)


class _Kernel(torch.autograd.Function):
    """A kernel of a plant: `(…, θ, plant) → tensors`. Leading axes are a batch, and so is the axis that `torch.func.vmap` adds."""

    # Of a plant, as function of the arrays that are given before the parameters.
    kernel: str

    @classmethod
    def _of(cls, plant: _core.Plant, theta: Tensor, *arguments: Tensor) -> tuple[Tensor, ...]:
        values = _numpy(theta, "parameters")
        at = plant if np.array_equal(values, plant.values) else plant.at(values)
        return _tensors(getattr(at, cls.kernel)(*(_numpy(x, name) for x, name in zip(arguments, _NAMES, strict=False))))

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[Any, tuple[int, ...]]:
        *tensors, plant = arguments
        rows = [x.movedim(d, 0) if d is not None else x.expand(info.batch_size, *x.shape) for x, d in zip(tensors, in_dims[:-1], strict=True)]
        *inputs, theta = rows
        if in_dims[-2] is None:
            out = cls.apply(*inputs, tensors[-1], plant)
        else:
            # Parameters of every row's own.
            each = [cls.apply(*row, plant) for row in zip(*inputs, theta, strict=True)]
            out = tuple(torch.stack(x) for x in zip(*each, strict=True))
        return out, (0,) * len(out)


# Of the arguments of kernels, for messages.
_NAMES = ("q", "v", "u", "gradient", "gradient")


class _Back(_Kernel):
    """Gradients of every row by state, inputs and parameters. There is no derivative of them."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        what, remedy = "derivatives of a derivative", "leave `create_graph` out, or take differences of the first"
        text = f"a step has no {what} in leastaction.torch: {remedy}"
        raise Unsupported(text, {"integrator": "leastaction.torch", "what": what, "remedy": remedy})


class _StepBack(_Back):
    kernel = "pull_back"

    @staticmethod
    def forward(q: Tensor, v: Tensor, u: Tensor, gq: Tensor, gv: Tensor, theta: Tensor, plant: _core.Plant) -> tuple[Tensor, ...]:
        return _StepBack._of(plant, theta, q, v, u, gq, gv)


class _RolloutBack(_Back):
    kernel = "rollout_pull_back"

    @staticmethod
    def forward(q: Tensor, v: Tensor, u: Tensor, gq: Tensor, gv: Tensor, theta: Tensor, plant: _core.Plant) -> tuple[Tensor, ...]:
        return _RolloutBack._of(plant, theta, q, v, u, gq, gv)


def _summed(gradient: Tensor) -> Tensor:
    """The gradient by parameters that all rows share."""
    return gradient.sum(dim=tuple(range(gradient.ndim - 1))) if gradient.ndim > 1 else gradient


class _Step(_Kernel):
    """One step; the way back linearizes again instead of keeping matrices of a whole rollout."""

    kernel = "step"

    @staticmethod
    def forward(q: Tensor, v: Tensor, u: Tensor, theta: Tensor, plant: _core.Plant) -> tuple[Tensor, ...]:
        return _Step._of(plant, theta, q, v, u)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        *tensors, ctx.plant = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, gq: Tensor, gv: Tensor) -> tuple[Tensor | None, ...]:
        q, v, u, theta = ctx.saved_tensors
        *own, by_parameters = _StepBack.apply(q, v, u, gq, gv, theta, ctx.plant)
        return (*own, _summed(by_parameters), None)


class _Rollout(_Kernel):
    """A motion; one sweep back through it."""

    kernel = "rollout"

    @staticmethod
    def forward(q: Tensor, v: Tensor, u: Tensor, theta: Tensor, plant: _core.Plant) -> tuple[Tensor, ...]:
        return _Rollout._of(plant, theta, q, v, u)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        _, _, u, theta, ctx.plant = inputs
        ctx.save_for_backward(*output, u, theta)

    @staticmethod
    def backward(ctx: Any, gq: Tensor, gv: Tensor) -> tuple[Tensor | None, ...]:
        qs, vs, u, theta = ctx.saved_tensors
        *own, by_parameters = _RolloutBack.apply(qs, vs, u, gq, gv, theta, ctx.plant)
        return (*own, _summed(by_parameters), None)


class _Layer(torch.nn.Module):
    """A plant and its parameters."""

    def __init__(self, mechanism: _core.Mechanism, *, parameters: Sequence[str] = (), **settings: Any) -> None:
        super().__init__()
        self.plant = _core.Plant(mechanism, parameters=parameters, **settings)

    @property
    def values(self) -> Tensor:
        """Values of the parameters in the model, in the order of `plant.parameters`."""
        return torch.from_numpy(self.plant.values)

    def _theta(self, parameters: Tensor | None) -> Tensor:
        if parameters is None:
            return self.values
        if parameters.ndim != 1:
            wanted, found = f"({len(self.plant.parameters)},)", str(tuple(parameters.shape))
            raise ShapeError(
                f"`parameters` is {found}, not {wanted}: one vector for all rows",
                {"name": "parameters", "expected": wanted, "found": found},
            )
        return parameters

    def _expect_tensors(self, **arguments: Tensor | None) -> None:
        for name, x in arguments.items():
            if x is not None and not isinstance(x, torch.Tensor):
                raise _refuse(name, f"a {type(x).__name__}", f"give `torch.as_tensor({name}, dtype=torch.float64)`")


class Step(_Layer):
    """One step of a variational integrator: `(q, v, u) → (q⁺, v⁺)`, with the settings of `Plant`.

    Gradients by a quaternion's four numbers have no part along the quaternion: they are those of its rotation. With
    `parameters` the layer takes their values as a fourth argument.
    """

    def forward(
        self, q: Tensor, v: Tensor, u: Tensor | None = None, parameters: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Positions and velocities after the step."""
        self._expect_tensors(q=q, v=v, u=u, parameters=parameters)
        if u is None:
            u = torch.zeros((*q.shape[:-1], self.plant.mechanism.nu), dtype=torch.float64)
        lead = torch.broadcast_shapes(q.shape[:-1], v.shape[:-1], u.shape[:-1])
        q, v, u = (x.expand(*lead, x.shape[-1]) for x in (q, v, u))
        result: tuple[Tensor, Tensor] = _Step.apply(q, v, u, self._theta(parameters), self.plant)
        return result


class Rollout(_Layer):
    """Many steps: `(q, v, u) → (q, v)` at all nodes, time as the axis before the last.

    `u` has one row per step, `(…, steps, nu)`. With `parameters` the layer takes their values as a fourth argument.
    """

    def forward(
        self, q: Tensor, v: Tensor, u: Tensor, parameters: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Positions and velocities at the start and after each step."""
        self._expect_tensors(q=q, v=v, u=u, parameters=parameters)
        lead = torch.broadcast_shapes(q.shape[:-1], v.shape[:-1], u.shape[:-2])
        q, v = (x.expand(*lead, x.shape[-1]) for x in (q, v))
        u = u.expand(*lead, *u.shape[-2:])
        result: tuple[Tensor, Tensor] = _Rollout.apply(q, v, u, self._theta(parameters), self.plant)
        return result
