"""Derivatives through Torch and JAX: a chain, a floating tree with balls, a closed five-bar; 100 steps against differences."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from conftest import chain, five_bar, states, tree  # noqa: E402, F401

import leastaction as la  # noqa: E402, F401

NAMES = ["chain", "tree", "five_bar"]


def start(mech, rows):
    """Admissible states: with loops the start itself."""
    if mech.loop_joints:
        state = mech.start_state()
        return np.tile(state.q, (rows, 1)), np.tile(state.v, (rows, 1))
    return states(mech, rows, size=0.4)


@pytest.mark.parametrize("name", NAMES)
def test_torch_gradcheck(name, request):
    torch = pytest.importorskip("torch")
    from leastaction.torch import Step

    mech = request.getfixturevalue(name)
    q, v = (torch.from_numpy(x) for x in start(mech, 2))
    step = Step(mech, step=0.01)
    u = torch.full((2, mech.nu), 0.2, dtype=torch.float64)
    # Positions as tangents, so that differences stay on the manifold; with loops only inputs are free.
    tangent = torch.zeros(2, mech.nv, dtype=torch.float64, requires_grad=True)
    if mech.loop_joints:
        u.requires_grad_()
        assert torch.autograd.gradcheck(lambda u: step(q, v, u), (u,), eps=1e-5, atol=1e-6)
        return
    inputs = (v.requires_grad_(), u.requires_grad_())
    assert torch.autograd.gradcheck(lambda v, u: step(q, v, u), inputs, eps=1e-5, atol=1e-6)
    q = q.detach().requires_grad_()
    weights = torch.linspace(-1, 1, mech.nq, dtype=torch.float64)
    (step(q, v.detach(), u.detach())[0] @ weights).sum().backward()
    h, w = 1e-5, np.random.default_rng(0).uniform(-1, 1, (2, mech.nv))
    del tangent

    def value(q):
        return (step(torch.from_numpy(q), v.detach(), u.detach())[0] @ weights).sum().item()

    plus, minus = (mech.retract(q.detach().numpy(), s * h * w) for s in (1, -1))
    slope = (value(plus) - value(minus)) / (2 * h)
    assert abs(slope - np.sum(q.grad.numpy() * (plus - minus)) / (2 * h)) < 1e-6


def objective(roll, q, v, u):
    qs, vs = roll(q, v, u)
    return (qs[..., -1, :] ** 2).sum() + (vs[..., -1, :] ** 2).sum()


@pytest.mark.parametrize("name", NAMES)
def test_a_hundred_steps_against_differences(name, request):
    torch = pytest.importorskip("torch")
    from leastaction.torch import Rollout

    mech = request.getfixturevalue(name)
    q, v = (torch.from_numpy(x[0].copy()) for x in start(mech, 1))
    rng = np.random.default_rng(1)
    u = torch.from_numpy(rng.uniform(-0.2, 0.2, (100, mech.nu)))
    roll = Rollout(mech, step=0.005)
    free = [u] if mech.nu else []
    if not mech.loop_joints:
        free.append(v)
    for x in free:
        x.requires_grad_()
    objective(roll, q, v, u).backward()
    with torch.no_grad():
        for x in free:
            w = torch.from_numpy(rng.uniform(-1, 1, x.shape))
            h = 1e-5
            values = []
            for s in (1, -1):
                moved = [(y + s * h * w) if y is x else y for y in (v, u)]
                values.append(objective(roll, q, *moved).item())
            slope, exact = (values[0] - values[1]) / (2 * h), (x.grad * w).sum().item()
            assert abs(slope - exact) < 1e-6 * max(1.0, abs(exact)), (slope, exact)


@pytest.mark.parametrize("name", NAMES)
def test_jax(name, request):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    from jax.test_util import check_grads
    from leastaction.jax import rollout, step

    mech = request.getfixturevalue(name)
    q, v = start(mech, 3)
    u = np.full((3, mech.nu), 0.1)
    one = step(mech, step=0.01)
    if mech.nu:
        check_grads(lambda u: one(q, v, u), (u,), order=1, modes=["rev"], eps=1e-5, atol=1e-6, rtol=1e-6)
    if not mech.loop_joints:
        check_grads(lambda v: one(q, v, u), (v,), order=1, modes=["rev"], eps=1e-5, atol=1e-6, rtol=1e-6)
    batch = jax.jit(one)(q, v, u)
    mapped = jax.vmap(one)(q, v, u)
    assert np.array_equal(batch[0], mapped[0]) and np.array_equal(batch[1], mapped[1])
    qs, vs = rollout(mech, step=0.01)(q, v, np.zeros((3, 5, mech.nu)))
    assert qs.shape == (3, 6, mech.nq) and np.isfinite(np.asarray(vs)).all()


def test_a_tensor_of_another_kind_is_refused():
    torch = pytest.importorskip("torch")
    from leastaction.torch import Step

    mech = la.load("@chain/2")
    with pytest.raises(la.errors.LayoutError, match="float64"):
        Step(mech)(torch.zeros(2), torch.zeros(2), torch.zeros(0))
    assert np.allclose(mech.mass_matrix(torch.zeros(3, 2, dtype=torch.float64)), mech.mass_matrix(np.zeros((3, 2))))
