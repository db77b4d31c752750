"""DART: semi-implicit steps of chains, from URDF files written by `leastaction convert`. Stepped from Python."""

import pathlib
import sys

import dartpy

from timing import emit, line, timed


def step(folder, names):
    for name in names:
        world = dartpy.simulation.World()
        world.setTimeStep(1e-4)
        world.setGravity([0, 0, -9.81])
        skeleton = dartpy.utils.DartLoader().parseSkeleton(str((folder / f"{name}.urdf").resolve()))
        world.addSkeleton(skeleton)
        skeleton.setPositions([0.1] * skeleton.getNumDofs())

        def call(k):
            for _ in range(k):
                world.step()

        best, median = timed(call)
        yield line("step", "dart", "semi-implicit", name, skeleton.getNumDofs(), best, median)


if __name__ == "__main__":
    emit(globals()[sys.argv[2]](pathlib.Path(sys.argv[1]), sys.argv[3:]))
