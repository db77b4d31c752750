"""Environments of Gymnasium: one motion, or many stepped together without processes.

    env = leastaction.gym.VectorEnv(mech, num_envs=256, reward=reward, step=0.01, horizon=500)

`reward(q, v, u)` gets batches (one row per environment) and returns one number per row. A step that fails ends the
episode (`terminated`, `info["failure"]`); the observation is the last good one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode
except ImportError as missing:  # pragma: no cover
    raise ImportError("leastaction.gym needs Gymnasium: pip install leastaction[gym]") from missing

import numpy as np
from numpy.typing import NDArray

from . import _core
from .errors import BadOption, ShapeError

Array: TypeAlias = NDArray[np.float64]
Reward: TypeAlias = Callable[[Array, Array, Array], Any]
Start: TypeAlias = Callable[[np.random.Generator, int], tuple[Array, Array]]


def _still(q: Array, v: Array, u: Array) -> Array:
    """Less motion and less input is better."""
    cost: Array = np.sum(v * v, axis=-1) + 0.01 * np.sum(u * u, axis=-1)
    return -cost


def _wrong(name: str, expected: str, found: tuple[int, ...]) -> ShapeError:
    return ShapeError(f"`{name}` has shape {found}, {expected} is needed", {"name": name, "expected": expected, "found": found})


class _Task:
    """What both environments share: spaces, starts, rewards."""

    def __init__(
        self,
        mechanism: _core.Mechanism,
        reward: Reward | None,
        terminated: Callable[[Array, Array], Any] | None,
        start: Start | None,
        horizon: int,
        bounds: Any,
        noise: float,
    ) -> None:
        if mechanism.nu == 0:
            raise BadOption("the mechanism has no inputs: add motors", {"option": "mechanism", "remedy": "add motors"})
        if horizon < 1:
            raise BadOption(f"horizon = {horizon} is not possible: give a positive number", {"option": "horizon"})
        self.mechanism = mechanism
        self.reward = reward or _still
        self.terminated = terminated
        self._start = start
        self.horizon = horizon
        self.noise = noise
        width = mechanism.nq + mechanism.nv
        self.observation = spaces.Box(-np.inf, np.inf, (width,), dtype=np.float64)
        bound = np.asarray(bounds, dtype=np.float64)
        if bound.shape not in ((), (mechanism.nu,)):
            raise _wrong("bounds", f"a number or ({mechanism.nu},)", bound.shape)
        bound = np.broadcast_to(bound, (mechanism.nu,)).copy()
        self.action = spaces.Box(-bound, bound, dtype=np.float64)

    def judged(self, q: Array, v: Array, u: Array) -> Array:
        """The reward of every row; one number stands for all."""
        reward = np.asarray(self.reward(q, v, u), dtype=np.float64)
        if reward.shape not in ((), (len(q),)):
            raise _wrong("reward", f"({len(q)},)", reward.shape)
        return np.broadcast_to(reward, (len(q),)).copy()

    def ended(self, q: Array, v: Array) -> NDArray[np.bool_]:
        """Which rows are at an end; one answer stands for all."""
        over = np.asarray(self.terminated(q, v) if self.terminated else False, dtype=np.bool_)
        if over.shape not in ((), (len(q),)):
            raise _wrong("terminated", f"({len(q)},)", over.shape)
        return np.broadcast_to(over, (len(q),)).copy()

    def start(self, rng: np.random.Generator, rows: int) -> tuple[Array, Array]:
        """Positions and velocities of new episodes."""
        if self._start is not None:
            return self._start(rng, rows)
        state = self.mechanism.start_state()
        nv = self.mechanism.nv
        tangent = rng.uniform(-self.noise, self.noise, (rows, nv))
        q = self.mechanism.retract(np.broadcast_to(state.q, (rows, self.mechanism.nq)), tangent)
        return q, rng.uniform(-self.noise, self.noise, (rows, nv))


class Env(gymnasium.Env[Array, Array]):
    """One motion as an environment; observations are positions, then velocities.

    >>> import leastaction as la
    >>> model = la.Model("pendulum")
    >>> rod = model.body("rod", mass=1.0, com=[0, 0, -0.5], inertia=[0.08, 0.08, 0.001])
    >>> model.motor(model.joint("hinge", "revolute", "world", rod, axis=[0, 1, 0]))
    'hinge'
    >>> env = la.gym.Env(model.build(), step=0.01)
    >>> env.reset(seed=0)[0].shape
    (2,)
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        mechanism: _core.Mechanism,
        *,
        reward: Reward | None = None,
        terminated: Callable[[Array, Array], Any] | None = None,
        start: Start | None = None,
        horizon: int = 500,
        bounds: Any = 1.0,
        noise: float = 0.1,
        hold: int = 1,
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        if render_mode is not None:
            remedy = "leave it out; `la.simulate` makes a report to look at"
            raise BadOption(f"render_mode = {render_mode!r} is not possible: {remedy}", {"option": "render_mode", "value": render_mode, "remedy": remedy})
        self._task = _Task(mechanism, reward, terminated, start, horizon, bounds, noise)
        self._batch = _core.BatchSimulator(mechanism, 1, threads=1, **settings)
        self._hold, self._steps = hold, 0
        self.observation_space, self.action_space = self._task.observation, self._task.action
        self.render_mode = render_mode

    def _observed(self) -> Array:
        return np.concatenate([self._batch.q[0], self._batch.v[0]])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        q, v = self._task.start(self.np_random, 1)
        self._batch.reset([0], q=q, v=v)
        self._steps = 0
        return self._observed(), {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        u = np.clip(np.asarray(action, dtype=np.float64), self.action_space.low, self.action_space.high)  # type: ignore[attr-defined]
        self._batch.step(u, steps=self._hold)
        self._steps += 1
        q, v, info = self._batch.q, self._batch.v, {}
        over = bool(self._task.ended(q, v)[0])
        if not self._batch.ok[0]:
            over, info = True, {"failure": self._batch.failures[0][2]}
        reward = float(self._task.judged(q, v, np.reshape(u, (1, -1)))[0])
        return self._observed(), reward, over, self._steps >= self._task.horizon, info


class VectorEnv(gymnasium.vector.VectorEnv[Array, Array, Any]):
    """Many motions stepped together on all processors; an episode that ended begins again with the next step.

    >>> import leastaction as la
    >>> model = la.Model("pendulum")
    >>> rod = model.body("rod", mass=1.0, com=[0, 0, -0.5], inertia=[0.08, 0.08, 0.001])
    >>> model.motor(model.joint("hinge", "revolute", "world", rod, axis=[0, 1, 0]))
    'hinge'
    >>> env = la.gym.VectorEnv(model.build(), num_envs=3, step=0.01)
    >>> env.reset(seed=0)[0].shape
    (3, 2)
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        mechanism: _core.Mechanism,
        *,
        num_envs: int,
        reward: Reward | None = None,
        terminated: Callable[[Array, Array], Any] | None = None,
        start: Start | None = None,
        horizon: int = 500,
        bounds: Any = 1.0,
        noise: float = 0.1,
        hold: int = 1,
        threads: int | None = None,
        **settings: Any,
    ) -> None:
        self._task = _Task(mechanism, reward, terminated, start, horizon, bounds, noise)
        self._batch = _core.BatchSimulator(mechanism, num_envs, threads=threads, **settings)
        self.num_envs, self._hold = num_envs, hold
        self._steps = np.zeros(num_envs, dtype=np.int64)
        self._over = np.zeros(num_envs, dtype=np.bool_)
        self.single_observation_space, self.single_action_space = self._task.observation, self._task.action
        batch_space = gymnasium.vector.utils.batch_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.render_mode = None

    def _observed(self) -> Array:
        return np.concatenate([self._batch.q, self._batch.v], axis=1)

    def _begin(self, rows: NDArray[np.int64], seeds: list[int | None] | None = None) -> None:
        if seeds is None:
            q, v = self._task.start(self.np_random, len(rows))
        else:
            # Each begins as one environment of that seed does.
            generators = [gymnasium.utils.seeding.np_random(seeds[row])[0] for row in rows]
            starts = [self._task.start(generator, 1) for generator in generators]
            q, v = (np.concatenate(parts) for parts in zip(*starts, strict=True))
        self._batch.reset(rows.tolist(), q=q, v=v)
        self._steps[rows] = 0

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        seeds: list[int | None] | None = None
        if isinstance(seed, (list, tuple, np.ndarray)):
            seeds = [None if one is None else int(one) for one in seed]
            if len(seeds) != self.num_envs:
                raise _wrong("seed", f"a number or ({self.num_envs},)", (len(seeds),))
            # What begins later is a matter of all of them.
            super().reset(seed=None if None in seeds else hash(tuple(seeds)) & 0xFFFFFFFF)
        elif seed is not None:
            super().reset(seed=int(seed))
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, dtype=np.bool_))
        if rows := np.flatnonzero(mask).tolist():
            self._begin(np.array(rows), seeds)
        self._over[mask] = False
        return self._observed(), {}

    def step(
        self, actions: Array
    ) -> tuple[Array, Any, Any, Any, dict[str, Any]]:
        low, high = self._task.action.low, self._task.action.high
        u = np.clip(np.asarray(actions, dtype=np.float64), low, high)
        begun = np.flatnonzero(self._over)
        self._batch.step(u, steps=self._hold)
        if len(begun):
            self._begin(begun)
        self._steps += 1
        self._steps[begun] = 0
        q, v, ok = self._batch.q, self._batch.v, self._batch.ok
        reward = self._task.judged(q, v, u)
        over = ~ok | self._task.ended(q, v)
        truncated = self._steps >= self._task.horizon
        info: dict[str, Any] = {}
        reward[begun], over[begun], truncated[begun] = 0.0, False, False
        if not ok.all():
            failures = np.full(self.num_envs, None, dtype=object)
            for row, _, error in self._batch.failures:
                failures[row] = error
            info = {"failure": failures, "_failure": ~ok}
        self._over = over | truncated
        return self._observed(), reward, over, truncated, info
