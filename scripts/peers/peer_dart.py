"""DART: semi-implicit steps of chains and loops, from URDF files written by `leastaction convert`. Stepped from Python."""

import pathlib
import sys

import dartpy
import numpy as np

from loops import closures
from timing import emit, line, sampled, timed


def world_of(folder, name, h):
    world = dartpy.simulation.World()
    world.setTimeStep(h)
    world.setGravity([0, 0, -9.81])
    skeleton = dartpy.utils.DartLoader().parseSkeleton(str((folder / f"{name}.urdf").resolve()))
    world.addSkeleton(skeleton)
    return world, skeleton


def stepping(world):
    def call(k):
        for _ in range(k):
            world.step()

    return call


def step(folder, names):
    for name in names:
        world, skeleton = world_of(folder, name, 1e-4)
        skeleton.setPositions([0.1] * skeleton.getNumDofs())
        best, median = timed(stepping(world))
        yield line("step", "dart", "semi-implicit", name, skeleton.getNumDofs(), best, median)


def closed(folder, name, h):
    world, skeleton = world_of(folder, name, h)
    start, loops = closures(folder, name)
    order = [skeleton.getDof(joint).getIndexInSkeleton() for joint in start]
    q = np.zeros(skeleton.getNumDofs())
    q[order] = list(start.values())
    skeleton.setPositions(q)
    held = []
    for a, p, b, _ in loops:
        first, second = skeleton.getBodyNode(a), skeleton.getBodyNode(b)
        place = first.getWorldTransform().matrix()
        held.append(dartpy.constraint.BallJointConstraint(first, second, place[:3, :3] @ np.array(p) + place[:3, 3]))
        world.getConstraintSolver().addConstraint(held[-1])
    state = lambda: (np.array(skeleton.getPositions())[order], np.array(skeleton.getVelocities())[order])  # noqa: E731
    return world, state, held


def loop(folder, names):
    for name in names:
        world, _, held = closed(folder, name, 1e-3)
        best, median = timed(stepping(world))
        yield line("loop", "dart", "BallJointConstraint", name, len(held), best, median)


def gap(folder, names):
    for name in names:
        world, state, held = closed(folder, name, 0.01)
        advance = stepping(world)
        q, v, best = sampled(lambda: advance(10), state, 600, 10)
        yield line("gap", "dart", "BallJointConstraint", name, len(held), best, dt=0.01, q=q, v=v)


if __name__ == "__main__":
    emit(globals()[sys.argv[2]](pathlib.Path(sys.argv[1]), sys.argv[3:]))
