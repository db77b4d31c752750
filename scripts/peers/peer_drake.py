"""Drake: discrete steps and RK3 steps of chains, from URDF files written by `leastaction convert`."""

import pathlib
import sys

from pydrake.all import MultibodyPlant, Parser, ResetIntegratorFromFlags, Simulator

from timing import emit, line, timed


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
            done = 0

            def call(k):
                nonlocal done
                done += k
                # Half a step more for the discrete plant: exactly k updates per call.
                simulator.AdvanceTo((done + (0.5 if h else 0.0)) * 1e-4)

            best, median = timed(call)
            yield line("step", "drake", variant, name, plant.num_velocities(), best, median)


if __name__ == "__main__":
    emit(globals()[sys.argv[2]](pathlib.Path(sys.argv[1]), sys.argv[3:]))
