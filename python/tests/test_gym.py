"""Environments of Gymnasium."""

import warnings

import numpy as np
import pytest

import leastaction as la
from conftest import MODELS

gymnasium = pytest.importorskip("gymnasium")


def balance(q, v, u):
    return 1.0 - np.abs(q[:, 1]) - 0.01 * np.sum(u * u, axis=1)


def test_one_environment_passes_the_check_without_a_warning():
    from gymnasium.utils.env_checker import check_env

    env = la.gym.Env(la.load(MODELS / "cart-pole.json"), reward=balance, step=0.02, horizon=50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Positions and velocities have no bounds, which the check remarks on.
        warnings.filterwarnings("ignore", message=".*observation space (minimum|maximum) value is.*infinity.*")
        check_env(env, skip_render_check=True)
    first, _ = env.reset(seed=4)
    second, _ = env.reset(seed=4)
    assert np.array_equal(first, second)


def test_many_environments_step_like_one():
    mech = la.load(MODELS / "cart-pole.json")
    rng = np.random.default_rng(0)
    q, v = rng.uniform(-0.1, 0.1, (20, 2)), rng.uniform(-0.1, 0.1, (20, 2))
    many = la.gym.VectorEnv(mech, num_envs=20, reward=balance, step=0.02, horizon=5, start=lambda rng, rows: (q[:rows], v[:rows]))
    many.reset(seed=1)
    one = la.gym.Env(mech, reward=balance, step=0.02, horizon=5, start=lambda rng, rows: (q[3:4].copy(), v[3:4].copy()))
    one.reset()
    for k in range(5):
        u = rng.uniform(-1, 1, (20, 1))
        observed, reward, over, cut, info = many.step(u)
        alone = one.step(u[3])
        assert np.array_equal(observed[3], alone[0]) and reward[3] == alone[1]
        assert not over.any() and cut.all() == (k == 4) and not info
    observed, reward, over, cut, _ = many.step(u)
    assert not cut.any() and (reward == 0).all() and np.abs(observed).max() < 0.2
    assert many.observation_space.contains(observed)


def test_a_step_that_fails_ends_the_episode():
    mech = la.load(MODELS / "cart-pole.json")
    start = lambda rng, rows: (np.zeros((rows, 2)), np.full((rows, 2), 1e200))  # noqa: E731
    env = la.gym.Env(mech, start=start, step=0.02, reward=balance)
    env.reset(seed=0)
    observed, _, over, _, info = env.step(np.zeros(1))
    assert over and isinstance(info["failure"], la.errors.StepError) and np.isfinite(observed).all()
    with pytest.raises(la.errors.BadOption, match="no inputs"):
        la.gym.Env(la.load("@chain/2"))


def test_seeds_of_every_kind_repeat():
    mech = la.load(MODELS / "cart-pole.json")

    def observed(seed):
        env = la.gym.VectorEnv(mech, num_envs=3, step=0.02, horizon=1)
        first, _ = env.reset(seed=seed)
        env.step(np.zeros((3, 1)))
        # All begin again with this one.
        return np.stack([first, env.step(np.zeros((3, 1)))[0]])

    assert np.array_equal(observed(5), observed(np.int64(5))) and not np.array_equal(observed(5), observed(6))
    assert np.array_equal(observed([1, 2, 3]), observed([1, 2, 3]))
    one = [la.gym.Env(mech, step=0.02).reset(seed=seed)[0] for seed in (1, 2, 3)]
    assert np.array_equal(observed([1, 2, 3])[0], np.stack(one))
    with pytest.raises(la.errors.ShapeError, match="seed"):
        observed([1, 2])


def test_rewards_and_bounds_of_another_shape_are_told():
    mech = la.load(MODELS / "cart-pole.json")
    for name, call in {
        "reward": lambda: la.gym.VectorEnv(mech, num_envs=3, reward=lambda q, v, u: np.zeros(2)).step(np.zeros((3, 1))),
        "terminated": lambda: la.gym.VectorEnv(mech, num_envs=3, terminated=lambda q, v: np.zeros(2, bool)).step(np.zeros((3, 1))),
        "bounds": lambda: la.gym.Env(mech, bounds=[1.0, 2.0]),
    }.items():
        with pytest.raises(la.errors.ShapeError, match=name):
            call()
    assert la.gym.VectorEnv(mech, num_envs=3, reward=lambda q, v, u: 1.0).step(np.zeros((3, 1)))[1].tolist() == [1.0] * 3
    with pytest.raises(la.errors.BadOption, match="render_mode"):
        la.gym.Env(mech, render_mode="human")
