"""Mechanics of articulated bodies computed the structured way: the same program as the command, in Python.

Arrays are float64. Twists, wrenches and momenta have their angular part first; quaternions are `w, x, y, z`; units are SI.

>>> import leastaction as la
>>> mech = la.load("@double-pendulum")
>>> run = la.simulate(mech, duration=1.0, q={"joint0": 1.0})
>>> bool(abs(run["energy.total"][-1] - run["energy.total"][0]) < 1e-6)
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import errors
from ._core import BatchSimulator, Mechanism, Plant, State, __version__, from_json, load, read_files_up_to
from ._diagnostic import Diagnostic
from ._model import Body, Joint, Model
from ._problems import ControlProblem, Limit, MotionProblem, Term, ViaPoint
from ._progress import Iteration
from ._rollout import Failure, Rollout, rollout
from ._simulate import JointForce, Simulator, simulate
from ._tables import Report, Run, Trajectory
from ._verbs import (
    Check, ControlSolution, InverseSolution, Jacobian, Linearization, Motion, Policy, Riccati, Solution, check, control,
    dynamics, infer, info, jacobian, linearize, motion, optimize, riccati,
)

from .sweeps import Sweep, SweepResult, linspace, log_uniform, normal, sweep, uniform, values

if TYPE_CHECKING:
    from types import ModuleType

__all__ = [
    "BatchSimulator", "Body", "Check", "ControlProblem", "ControlSolution", "Diagnostic", "Failure", "InverseSolution", "Iteration", "Jacobian", "Joint",
    "JointForce", "Limit", "Linearization", "Mechanism", "Model", "Motion", "MotionProblem", "Plant", "Policy", "Report",
    "Riccati", "Rollout", "Run", "Simulator", "Solution", "State", "Sweep", "SweepResult", "Term", "Trajectory", "ViaPoint", "__version__", "check",
    "control", "dynamics", "errors", "from_json", "infer", "info", "jacobian", "linearize", "linspace", "load", "log_uniform", "motion",
    "normal", "optimize", "read_files_up_to", "riccati", "rollout", "simulate", "sweep", "uniform", "values",
]


def __getattr__(name: str) -> ModuleType:
    # Adapters need packages of their own: they are imported when they are asked for.
    if name in ("gym", "jax", "torch"):
        import importlib

        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module `leastaction` has no attribute `{name}`")


def __dir__() -> list[str]:
    return [*__all__, "gym", "jax", "torch"]


