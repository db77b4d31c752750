"""Kernels: against each other, against differences, batches against single states."""

import time

import numpy as np
import pytest

import leastaction as la
from conftest import states


@pytest.mark.parametrize("name", ["chain", "tree"])
def test_dynamics_agree_with_each_other(name, request):
    mech = request.getfixturevalue(name)
    q, v = states(mech, 5)
    a = np.random.default_rng(1).uniform(-1, 1, (5, mech.nv))
    tau = mech.inverse_dynamics(q, v, a)
    assert np.allclose(mech.forward_dynamics(q, v, tau), a, atol=1e-10)
    m = mech.mass_matrix(q)
    assert np.allclose(np.einsum("bij,bj->bi", m, a) + mech.bias(q, v), tau, atol=1e-12)
    assert np.allclose(m, m.transpose(0, 2, 1), atol=1e-14)
    assert np.allclose(0.5 * np.einsum("bi,bij,bj->b", v, m, v), mech.kinetic_energy(q, v), atol=1e-12)
    assert np.allclose(mech.energy(q, v), mech.kinetic_energy(q, v) + mech.potential_energy(q))
    centroidal = mech.centroidal_matrix(q)
    assert np.allclose(np.einsum("bij,bj->bi", centroidal, v), mech.centroidal_momentum(q, v), atol=1e-12)


@pytest.mark.parametrize("name", ["chain", "tree"])
def test_a_batch_is_its_rows(name, request):
    mech = request.getfixturevalue(name)
    # Enough for rows side by side, and some that are left over.
    q, v = states(mech, 22)
    a = np.ones((22, mech.nv))
    body = mech.bodies[-1]
    for kernel in (
        lambda q, v, a: mech.inverse_dynamics(q, v, a),
        lambda q, v, a: mech.forward_dynamics(q, v, a),
        lambda q, v, a: mech.bias(q, v),
        lambda q, v, a: mech.mass_matrix(q),
        lambda q, v, a: mech.pose(body, q),
        lambda q, v, a: mech.twist(body, q, v, frame="world"),
        lambda q, v, a: mech.jacobian(body, q),
        lambda q, v, a: mech.momentum(q, v),
        lambda q, v, a: mech.com(q),
        lambda q, v, a: mech.energy(q, v),
        lambda q, v, a: mech.retract(q, v),
    ):
        rows = [kernel(q[i], v[i], a[i]) for i in range(22)]
        assert np.array_equal(kernel(q, v, a), np.stack(rows))
        folded = kernel(q.reshape(2, 11, -1), v.reshape(2, 11, -1), a.reshape(2, 11, -1))
        assert np.array_equal(folded.reshape(22, *folded.shape[2:]), np.stack(rows))


def test_jacobians_are_derivatives_of_poses(tree):
    q, v = states(tree, 1)
    q, v = q[0], v[0]
    h = 1e-6
    for place in ("left_hand", "tip"):
        pose = tree.pose(place, q)
        move = tree.pose(place, tree.retract(q, h * v)) - tree.pose(place, tree.retract(q, -h * v))
        rate = np.linalg.inv(pose) @ (move / (2 * h))
        twist = np.array([rate[2, 1], rate[0, 2], rate[1, 0], *rate[:3, 3]])
        assert np.allclose(tree.jacobian(place, q) @ v, twist, atol=1e-8)
        assert np.allclose(tree.twist(place, q, v), twist, atol=1e-8)
        world = tree.jacobian(place, q, frame="world") @ v
        spatial = (move / (2 * h)) @ np.linalg.inv(pose)
        assert np.allclose(world, [spatial[2, 1], spatial[0, 2], spatial[1, 0], *spatial[:3, 3]], atol=1e-8)
        assert np.allclose(tree.twist(place, q, v, frame="world"), world, atol=1e-12)


def test_retract_and_difference_are_inverse(tree):
    q, v = states(tree, 4)
    moved = tree.retract(q, 0.3 * v)
    assert np.allclose(tree.difference(q, moved), 0.3 * v, atol=1e-12)


def test_names_lead_to_coordinates(tree):
    state = tree.state(q={"left_wrist": 0.4})
    assert state.q[tree.q_slice("left_wrist")] == [0.4]
    assert tree.q_slice("free") == slice(0, 7, 1) and tree.v_slice("free") == slice(0, 6, 1)
    with pytest.raises(la.errors.UnknownName, match="did you mean `left_wrist`"):
        tree.q_slice("left_wrsit")
    with pytest.raises(la.errors.UnknownName, match="left_hand"):
        tree.pose("left_hnd", state.q)


def test_results_go_where_they_are_asked_to(chain):
    q, v = states(chain, 3)
    out = np.empty((3, 7))
    same = chain.inverse_dynamics(q, v, v, out=out)
    assert same is out and np.array_equal(out, chain.inverse_dynamics(q, v, v))
    with pytest.raises(la.errors.LayoutError, match="memory that an input lies in"):
        chain.inverse_dynamics(q, v, v, out=v)
    frozen = np.empty((3, 7))
    frozen.setflags(write=False)
    for bad in (frozen, np.empty((3, 7), dtype=np.float32), np.empty((7, 3)).T, [1.0]):
        with pytest.raises(la.errors.LayoutError):
            chain.inverse_dynamics(q, v, v, out=bad)
    with pytest.raises(la.errors.ShapeError):
        chain.inverse_dynamics(q, v, v, out=np.empty(7))


def test_slices_of_a_table_and_broadcast_vectors_are_read_in_place(chain):
    table = np.random.default_rng(0).uniform(-1, 1, (50, 21))
    q, v, a = np.split(table, 3, axis=1)
    expected = chain.inverse_dynamics(*(np.ascontiguousarray(x) for x in (q, v, a)))
    assert np.array_equal(chain.inverse_dynamics(q, v, a), expected)
    still = np.broadcast_to(np.zeros(7), (50, 7))
    assert np.array_equal(chain.inverse_dynamics(q, still, 0.0), chain.inverse_dynamics(q, np.zeros(7), np.zeros(7)))
    assert np.array_equal(chain.inverse_dynamics(q[::2], v[::2], a[::2]), expected[::2])


def test_what_would_be_copied_is_refused_with_the_cast_to_type(chain):
    q = np.zeros((4, 7))
    for bad, text in [
        (q.astype(np.float32), "astype"),
        (q.astype(int), "astype"),
        (q.astype(object), "astype"),
        (q.astype(">f8"), "astype"),
        (np.asfortranarray(q), "ascontiguousarray"),
        (q[::-1], "ascontiguousarray"),
        (np.zeros((4, 14))[:, ::2], "ascontiguousarray"),
        ([[0.0] * 7] * 4, "np.array"),
        ("text", "NumPy"),
        (None, "NumPy"),
    ]:
        with pytest.raises(la.errors.LayoutError, match=text) as caught:
            chain.mass_matrix(bad)
        assert caught.value.name == "q" and caught.value.remedy
    with pytest.raises(la.errors.ShapeError, match=r"\(…, 7\)"):
        chain.mass_matrix(np.zeros((4, 8)))
    with pytest.raises(la.errors.ShapeError):
        chain.bias(q, np.zeros((3, 7)))


def test_what_is_not_finite_has_its_row(chain):
    q = np.zeros((4, 7))
    q[2, 3] = np.nan
    with pytest.raises(la.errors.NotFinite) as caught:
        chain.mass_matrix(q)
    assert (caught.value.name, caught.value.row) == ("q", 2)
    assert np.isnan(chain.mass_matrix(q, check=False)[2]).any()


def test_a_stretched_quaternion_is_refused(tree):
    q = tree.start_state().q * 2
    with pytest.raises(la.errors.BadOption, match="unit length"):
        tree.mass_matrix(q)
    with pytest.raises(la.errors.BadOption, match="unit length"):
        tree.state(q=q)


def test_empty_batches_give_empty_results(chain):
    assert chain.inverse_dynamics(np.zeros((0, 7)), np.zeros((0, 7)), np.zeros((0, 7))).shape == (0, 7)
    assert chain.mass_matrix(np.zeros((0, 7))).shape == (0, 7, 7)


def test_one_state_costs_no_memory_of_batches():
    """A call for one state makes nothing that only batches need: beside a row of a batch it costs a few times as much, not forty."""
    mech = la.load("@chain/7")
    rng = np.random.default_rng(1)
    table = rng.uniform(-1, 1, (3, 4000, mech.nv))
    rows = list(zip(*table, strict=True))

    def seconds(call):
        taken = []
        for _ in range(5):
            begin = time.process_time()
            call()
            taken.append(time.process_time() - begin)
        return min(taken)

    for kernel in (mech.inverse_dynamics, mech.forward_dynamics):
        batch = seconds(lambda kernel=kernel: kernel(*table))
        alone = seconds(lambda kernel=kernel: [kernel(*row) for row in rows])
        assert alone < 15 * batch, (kernel.__name__, alone / batch)


def test_results_that_do_not_fit_into_memory_raise():
    mech = la.load("@chain/7")
    rows = np.broadcast_to(np.zeros(7), (1 << 20, 1 << 20, 7))
    with pytest.raises(MemoryError):
        la.rollout(mech, np.zeros((1000, 7)), steps=10**9, step=0.1, record="rows")
    with pytest.raises((MemoryError, la.errors.LayoutError)):
        mech.mass_matrix(rows, check=False)


def test_what_a_mask_hides_is_not_read(chain):
    masked = np.ma.masked_array(np.zeros((2, 7)), mask=np.eye(2, 7))
    with pytest.raises(la.errors.LayoutError, match="filled"):
        chain.mass_matrix(masked)
    assert chain.mass_matrix(masked.filled(0.0)).shape == (2, 7, 7)
    frozen = np.zeros((2, 7))
    frozen.setflags(write=False)
    assert np.array_equal(chain.mass_matrix(frozen), chain.mass_matrix(masked.filled(0.0)))
