"""Steps and rollouts as differentiable layers of Torch: exact derivatives of the discrete step.

Tensors are float64 on the CPU, with any leading axes; numbers are shared with NumPy, not copied.

    from leastaction.torch import Step
    q, v = Step(mech, step=0.01)(q, v, u)
    loss(q, v).backward()
"""

from __future__ import annotations

from typing import Any

try:
    import torch
except ImportError as missing:  # pragma: no cover
    raise ImportError("leastaction.torch needs PyTorch: pip install leastaction[torch]") from missing

from . import _core
from .errors import LayoutError

Tensor = torch.Tensor


def _numpy(x: Tensor, name: str) -> Any:
    if x.dtype != torch.float64 or x.device.type != "cpu":
        found = f"a tensor of {x.dtype} on {x.device}"
        remedy = f"give `{name}.to('cpu', torch.float64)`"
        raise LayoutError(f"`{name}` is {found}: {remedy}", {"name": name, "found": found, "remedy": remedy})
    return x.detach().contiguous().numpy()


class _Step(torch.autograd.Function):
    """One step; the way back linearizes again instead of keeping matrices of a whole rollout."""

    @staticmethod
    def forward(q: Tensor, v: Tensor, u: Tensor, plant: _core.Plant) -> tuple[Tensor, Tensor]:
        q1, v1 = plant.step(_numpy(q, "q"), _numpy(v, "v"), _numpy(u, "u"))
        return torch.from_numpy(q1), torch.from_numpy(v1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.plant = inputs[3]
        ctx.save_for_backward(*inputs[:3])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gq: Tensor, gv: Tensor) -> tuple[Tensor | None, ...]:
        saved = [_numpy(x, name) for x, name in zip(ctx.saved_tensors, "qvu", strict=True)]
        gradients = ctx.plant.pull_back(*saved, _numpy(gq, "gradient"), _numpy(gv, "gradient"))
        return (*(torch.from_numpy(g) for g in gradients), None)


class Step(torch.nn.Module):
    """One step of a variational integrator: `(q, v, u) → (q⁺, v⁺)`, with the settings of `Plant`.

    Gradients by a quaternion's four numbers have no part along the quaternion: they are those of its rotation.
    """

    def __init__(self, mechanism: _core.Mechanism, **settings: Any) -> None:
        super().__init__()
        self.plant = _core.Plant(mechanism, **settings)

    def forward(self, q: Tensor, v: Tensor, u: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Positions and velocities after the step."""
        if u is None:
            u = torch.zeros((*q.shape[:-1], self.plant.mechanism.nu), dtype=torch.float64)
        lead = torch.broadcast_shapes(q.shape[:-1], v.shape[:-1], u.shape[:-1])
        q, v, u = (x.expand(*lead, x.shape[-1]) for x in (q, v, u))
        result: tuple[Tensor, Tensor] = _Step.apply(q, v, u, self.plant)
        return result


class Rollout(torch.nn.Module):
    """Many steps: `(q, v, u) → (q, v)` at all nodes, time as the axis before the last.

    `u` has one row per step, `(…, steps, nu)`.
    """

    def __init__(self, mechanism: _core.Mechanism, **settings: Any) -> None:
        super().__init__()
        self.step = Step(mechanism, **settings)

    def forward(self, q: Tensor, v: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
        """Positions and velocities at the start and after each step."""
        qs, vs = [q], [v]
        for k in range(u.shape[-2]):
            q, v = self.step(q, v, u[..., k, :])
            qs.append(q)
            vs.append(v)
        lead = qs[-1].shape[:-1]
        qs[0], vs[0] = (x.expand(*lead, x.shape[-1]) for x in (qs[0], vs[0]))
        return torch.stack(qs, -2), torch.stack(vs, -2)
