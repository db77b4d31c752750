"""Drake: discrete and RK3 steps of chains, discrete steps of loops, from URDF files written by `leastaction convert`.

A URDF holds the tree of a loop; its closure is added as a ball constraint.
"""

import pathlib
import sys

from pydrake.all import DiscreteContactApproximation, MultibodyPlant, Parser, ResetIntegratorFromFlags, Simulator

from loops import closures
from timing import emit, line, sampled, timed


def step(folder, names):
    for name in names:
        for variant, h in (("discrete", 1e-4), ("runge_kutta3", 0.0)):
            plant = MultibodyPlant(time_step=h)
            Parser(plant).AddModels(str((folder / f"{name}.urdf").resolve()))
            if h:
                plant.SetUseSampledOutputPorts(False)
            plant.Finalize()
            simulator = Simulator(plant)
            context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
            plant.SetPositions(context, [0.1] * plant.num_positions())
            if not h:
                ResetIntegratorFromFlags(simulator, variant, 1e-4)
                simulator.get_mutable_integrator().set_fixed_step_mode(True)
            simulator.Initialize()
            best, median = timed(counted(simulator, 1e-4, 0.5 if h else 0.0))
            yield line("step", "drake", variant, name, plant.num_velocities(), best, median)


def counted(simulator, h, ahead):
    """Advances by exactly k steps; half a step ahead of the clock, a discrete plant never rounds one away."""
    done = 0

    def call(k):
        nonlocal done
        done += k
        simulator.AdvanceTo((done + ahead) * h)

    return call


def closed(folder, name, h):
    plant = MultibodyPlant(time_step=h)
    plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
    Parser(plant).AddModels(str((folder / f"{name}.urdf").resolve()))
    start, loops = closures(folder, name)
    for a, p, b, r in loops:
        plant.AddBallConstraint(plant.GetBodyByName(a), p, plant.GetBodyByName(b), r)
    plant.SetUseSampledOutputPorts(False)
    plant.Finalize()
    simulator = Simulator(plant)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    joints = [plant.GetJointByName(joint) for joint in start]
    for joint, angle in zip(joints, start.values()):
        joint.set_angle(context, angle)
    simulator.Initialize()
    state = lambda: ([j.get_angle(context) for j in joints], [j.get_angular_rate(context) for j in joints])  # noqa: E731
    return simulator, state, len(loops)


def loop(folder, names):
    for name in names:
        simulator, _, loops = closed(folder, name, 1e-3)
        best, median = timed(counted(simulator, 1e-3, 0.5))
        yield line("loop", "drake", "discrete, SAP", name, loops, best, median)


def gap(folder, names):
    for name in names:
        simulator, state, _ = closed(folder, name, 0.01)
        advance = counted(simulator, 0.01, 0.5)
        q, v, best = sampled(lambda: advance(10), state, 600, 10)
        yield line("gap", "drake", "discrete, SAP", name, 1, best, dt=0.01, q=q, v=v)


if __name__ == "__main__":
    emit(globals()[sys.argv[2]](pathlib.Path(sys.argv[1]), sys.argv[3:]))
