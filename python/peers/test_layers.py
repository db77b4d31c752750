"""Derivatives through Torch and JAX: a chain, a floating tree with balls, a closed five-bar; 100 steps against differences."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from conftest import chain, five_bar, states, tree  # noqa: E402, F401

import leastaction as la  # noqa: E402

NAMES = ["chain", "tree", "five_bar"]
PARAMETERS = {
    "chain": ["mass.link2", "com.link3", "inertia.link6", "damping.joint1", "stiffness.joint4"],
    "tree": ["mass", "com.left_hand", "inertia.base", "damping", "stiffness.left_shoulder"],
    "five_bar": ["mass", "com", "inertia"],
}


def parameters_of(mech, name):
    """Dampers and springs that differences can make weaker."""
    plant = la.Plant(mech, step=0.01, parameters=PARAMETERS[name])
    coefficient = [p.startswith(("damping", "stiffness")) for p in plant.parameters]
    return np.where(coefficient, plant.values + 0.05, plant.values)


def start(mech, rows):
    """Admissible states: with loops what a few steps leave."""
    if mech.loop_joints:
        sim = la.Simulator(mech, step=0.005)
        sim.run(20, np.full(mech.nu, 0.3))
        return np.tile(sim.state.q, (rows, 1)), np.tile(sim.state.v, (rows, 1))
    return states(mech, rows, size=0.4)


def on_manifold(mech, q0):
    """Positions by tangents at `q0`, for differences that stay on the manifold."""
    import torch

    class Move(torch.autograd.Function):
        @staticmethod
        def forward(ctx, tangent):
            ctx.at = tangent.detach().numpy()
            return torch.from_numpy(mech.retract(q0, ctx.at))

        @staticmethod
        def backward(ctx, g):
            # J of q ⊞ δ by differences: exact enough for a check of 1e-6.
            h, out = 1e-6, torch.zeros(*g.shape[:-1], mech.nv, dtype=torch.float64)
            for c in range(mech.nv):
                unit = np.zeros(mech.nv)
                unit[c] = h
                slope = (mech.retract(q0, ctx.at + unit) - mech.retract(q0, ctx.at - unit)) / (2 * h)
                out[..., c] = (g * torch.from_numpy(slope)).sum(-1)
            return out

    return Move.apply


@pytest.mark.parametrize("name", NAMES)
def test_torch_gradcheck(name, request):
    """By positions (as tangents), velocities, inputs and parameters; with loops every number of the state, admissible or not."""
    torch = pytest.importorskip("torch")
    from leastaction.torch import Step

    mech = request.getfixturevalue(name)
    q, v = start(mech, 2)
    step = Step(mech, step=0.01, parameters=PARAMETERS[name])
    u = torch.full((2, mech.nu), 0.2, dtype=torch.float64, requires_grad=True)
    tangent = torch.zeros(2, mech.nv, dtype=torch.float64, requires_grad=True)
    v = torch.from_numpy(v).requires_grad_()
    theta = torch.from_numpy(parameters_of(mech, name)).requires_grad_()
    move = on_manifold(mech, q)
    assert torch.autograd.gradcheck(
        lambda tangent, v, u, theta: step(move(tangent), v, u, theta), (tangent, v, u, theta), eps=1e-5, atol=1e-6, rtol=1e-5
    )


def objective(qs, vs):
    return (qs**2).mean() + (vs**2).mean()


@pytest.mark.parametrize("name", NAMES)
def test_a_hundred_steps_against_differences(name, request):
    torch = pytest.importorskip("torch")
    from leastaction.torch import Rollout, Step

    mech = request.getfixturevalue(name)
    q, v = (torch.from_numpy(x[0].copy()) for x in start(mech, 1))
    rng = np.random.default_rng(1)
    u = torch.from_numpy(rng.uniform(-0.2, 0.2, (100, mech.nu)))
    roll = Rollout(mech, step=0.005, parameters=PARAMETERS[name])
    theta = torch.from_numpy(parameters_of(mech, name))
    inputs = [v, u, theta]
    for x in inputs:
        x.requires_grad_()
    objective(*roll(q, *inputs)).backward()
    # The same through single steps.
    one, state, path = Step(mech, step=0.005, parameters=PARAMETERS[name]), (q, v.detach().requires_grad_()), []
    first = state[1]
    path.append(state)
    for row in u.detach():
        state = one(*state, row, theta.detach())
        path.append(state)
    objective(torch.stack([x for x, _ in path]), torch.stack([x for _, x in path])).backward()
    assert torch.allclose(first.grad, v.grad, rtol=1e-9, atol=1e-12)
    with torch.no_grad():
        for k, x in enumerate(inputs):
            if x.numel() == 0:
                continue
            w = torch.from_numpy(rng.uniform(-1, 1, x.shape))
            if k == 2:
                w *= 0.1 * x.detach().abs()
            h = 1e-4

            def value(s, k=k, w=w):
                moved = [(y + s * h * w) if i == k else y for i, y in enumerate(inputs)]
                return objective(*roll(q, *moved)).item()

            slope = (8 * (value(1) - value(-1)) - (value(2) - value(-2))) / (12 * h)
            exact = (x.grad * w).sum().item()
            assert abs(slope - exact) < 1e-6 * max(1.0, abs(exact)), (k, slope, exact)


@pytest.mark.parametrize("name", NAMES)
def test_jax(name, request):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    from jax.test_util import check_grads
    from leastaction.jax import rollout, step

    mech = request.getfixturevalue(name)
    q, v = start(mech, 3)
    u = np.full((3, mech.nu), 0.1)
    one = step(mech, step=0.01, parameters=PARAMETERS[name])
    theta = parameters_of(mech, name)
    check_grads(
        lambda v, u, theta: one(q, v, u, theta), (v, u, theta), order=1, modes=["rev"], eps=1e-5, atol=1e-6, rtol=1e-5
    )
    batch = jax.jit(one)(q, v, u)
    mapped = jax.vmap(one)(q, v, u)
    assert np.array_equal(batch[0], mapped[0]) and np.array_equal(batch[1], mapped[1])
    # Parameters of every row's own.
    many = np.stack([theta, 1.1 * theta, 0.9 * theta])
    rows = jax.vmap(one)(q, v, u, many)
    assert np.array_equal(rows[0][1], one(q[1], v[1], u[1], many[1])[0])
    roll = rollout(mech, step=0.01, parameters=PARAMETERS[name])
    us = np.zeros((3, 5, mech.nu))
    qs, vs = roll(q, v, us)
    assert qs.shape == (3, 6, mech.nq) and np.isfinite(np.asarray(vs)).all()
    check_grads(
        lambda v, theta: roll(q, v, us, theta), (v, theta), order=1, modes=["rev"], eps=1e-5, atol=1e-6, rtol=1e-5
    )


def test_a_tensor_of_another_kind_is_refused():
    torch = pytest.importorskip("torch")
    from leastaction.torch import Step

    mech = la.load("@chain/2")
    with pytest.raises(la.errors.LayoutError, match="float64"):
        Step(mech)(torch.zeros(2), torch.zeros(2), torch.zeros(0))
    with pytest.raises(la.errors.ShapeError, match="one vector"):
        zero = torch.zeros(2, dtype=torch.float64)
        Step(mech, parameters=["mass"])(zero, zero, None, torch.ones(3, 2, dtype=torch.float64))
    assert np.allclose(mech.mass_matrix(torch.zeros(3, 2, dtype=torch.float64)), mech.mass_matrix(np.zeros((3, 2))))


@pytest.mark.parametrize("lead", [(), (3,)])
def test_layers_without_parameters_have_gradients(lead):
    """As most are used: by state and inputs alone, one motion or several."""
    torch = pytest.importorskip("torch")
    from leastaction.torch import Rollout, Step

    mech = la.load(Path(__file__).resolve().parents[2] / "models" / "cart-pole.json")
    rng = np.random.default_rng(0)

    def tensors(*tail):
        return [torch.tensor(rng.uniform(-0.5, 0.5, (*lead, *t)), requires_grad=True) for t in tail]

    assert torch.autograd.gradcheck(Step(mech, step=0.01), tensors((2,), (2,), (1,)), eps=1e-5, atol=1e-6)
    assert torch.autograd.gradcheck(Rollout(mech, step=0.01), tensors((2,), (2,), (4, 1)), eps=1e-5, atol=1e-6)

    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    from jax.test_util import check_grads
    from leastaction.jax import rollout, step

    arrays = [np.asarray(x.detach()) for x in tensors((2,), (2,), (1,))]
    check_grads(step(mech, step=0.01), arrays, order=1, modes=["rev"], atol=1e-6, rtol=1e-6)
    arrays = [np.asarray(x.detach()) for x in tensors((2,), (2,), (4, 1))]
    check_grads(rollout(mech, step=0.01), arrays, order=1, modes=["rev"], atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", ["chain", "tree"])
def test_transforms_of_torch(name, request):
    """`torch.func`: maps over rows, over parameters, gradients and Jacobians agree with batches."""
    torch = pytest.importorskip("torch")
    from leastaction.torch import Rollout, Step

    mech = request.getfixturevalue(name)
    q, v = (torch.from_numpy(x) for x in start(mech, 3))
    u = torch.full((3, mech.nu), 0.2, dtype=torch.float64)
    step = Step(mech, step=0.01, parameters=PARAMETERS[name])
    theta = torch.from_numpy(parameters_of(mech, name))
    batch = step(q, v, u, theta)
    vmap, grad, jacrev = torch.func.vmap, torch.func.grad, torch.func.jacrev
    mapped = vmap(step, in_dims=(0, 0, 0, None))(q, v, u, theta)
    assert all(torch.equal(a, b) for a, b in zip(batch, mapped, strict=True))
    many = torch.stack([theta, 1.1 * theta, 0.9 * theta])
    own = vmap(step)(q, v, u, many)
    assert torch.equal(own[1][2], step(q[2], v[2], u[2], many[2])[1])

    def cost(q, v, u, theta):
        qs, vs = Rollout(mech, step=0.01, parameters=PARAMETERS[name])(q, v, u.expand(6, -1), theta)
        return (qs**2).mean() + (vs**2).mean()

    # Per row and parameter, not summed over the rows that are mapped over.
    rows = vmap(grad(cost, argnums=(1, 3)), in_dims=(0, 0, 0, None))(q, v, u, theta)
    for k in range(3):
        inputs = [x.clone().requires_grad_() for x in (v[k], theta)]
        cost(q[k], inputs[0], u[k], inputs[1]).backward()
        for row, x in zip(rows, inputs, strict=True):
            assert torch.allclose(row[k], x.grad, rtol=1e-12, atol=1e-14)
    a = jacrev(lambda v: step(q[0], v, u[0], theta)[1])(v[0])
    plant = step.plant.at(theta.numpy())
    assert np.allclose(a.numpy(), plant.linearize(q[0].numpy(), v[0].numpy(), u[0].numpy())[2][mech.nv :, mech.nv :], atol=1e-12)


def test_a_second_derivative_is_refused_by_name():
    torch = pytest.importorskip("torch")
    from leastaction.torch import Step

    step, v = Step(la.load("@chain/2"), step=0.01), torch.ones(2, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(step(torch.zeros(2, dtype=torch.float64), v)[1].sum(), v, create_graph=True)
    with pytest.raises(la.errors.Unsupported, match="derivatives of a derivative"):
        torch.autograd.grad(slope.sum(), v)
    with pytest.raises(la.errors.LayoutError, match="as_tensor"):
        step(np.zeros(2), v)


def test_shapes_are_told_before_jax_takes_over():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    from leastaction.jax import rollout, step

    mech = la.load("@chain/2")
    with pytest.raises(la.errors.ShapeError, match="`q`"):
        step(mech)(np.zeros(3), np.zeros(2))
    with pytest.raises(la.errors.ShapeError, match="`u`"):
        jax.jit(rollout(mech))(np.zeros(2), np.zeros(2), np.zeros((4, 1)))
    with pytest.raises(la.errors.ShapeError, match="`parameters`"):
        step(mech, parameters="mass")(np.zeros(2), np.zeros(2), None, np.zeros(3))
