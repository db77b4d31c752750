"""Exudyn: explicit and trapezoidal steps of a planar chain, built as a kinematic tree from our model file."""

import json
import pathlib
import sys
import time

import exudyn
import numpy as np
from exudyn.itemInterface import NodeGenericODE2, ObjectKinematicTree

from timing import emit, line


def chain(folder, name):
    """A system with the chain of a JSON model: hinges about x along -z."""
    model = json.loads((folder / f"{name}.json").read_text())
    container = exudyn.SystemContainer()
    system = container.AddSystem()
    n = len(model["bodies"])
    turns, offsets = exudyn.Matrix3DList(), exudyn.Vector3DList()
    inertias, coms = exudyn.Matrix3DList(), exudyn.Vector3DList()
    for body, joint in zip(model["bodies"], model["joints"]):
        xx, yy, zz = body["inertia"][:3]
        turns.Append(np.eye(3))
        offsets.Append(joint.get("parent_placement", {}).get("p", [0, 0, 0]))
        inertias.Append(np.diag([xx, yy, zz]))
        coms.Append(body["com"])
    node = system.AddNode(NodeGenericODE2(numberOfODE2Coordinates=n, referenceCoordinates=[0.0] * n,
                                          initialCoordinates=[0.1] * n, initialCoordinates_t=[0.0] * n))
    system.AddObject(ObjectKinematicTree(
        nodeNumber=node, jointTypes=[exudyn.JointType.RevoluteX] * n, linkParents=list(range(-1, n - 1)),
        jointTransformations=turns, jointOffsets=offsets, linkInertiasCOM=inertias, linkCOMs=coms,
        linkMasses=[body["mass"] for body in model["bodies"]], baseOffset=[0.0, 0.0, 0.0], gravity=[0, 0, -9.81]))
    system.Assemble()
    return container, system, n


def step(folder, names):
    solvers = exudyn.DynamicSolverType
    for name in names:
        container, system, n = chain(folder, name)
        if n > 50:
            continue
        for variant, solver in (("RK44", solvers.RK44), ("trapezoidal", solvers.TrapezoidalIndex2)):
            steps = 40 if n <= 10 else 10
            settings = exudyn.SimulationSettings()
            settings.timeIntegration.numberOfSteps = steps
            settings.timeIntegration.endTime = steps * 1e-4
            settings.timeIntegration.verboseMode = 0
            settings.solutionSettings.writeSolutionToFile = False
            settings.solutionSettings.sensorsWritePeriod = 1e9
            times = []
            for _ in range(30):
                begin = time.perf_counter()
                system.SolveDynamic(settings, solverType=solver)
                times.append((time.perf_counter() - begin) / steps * 1e6)
            times.sort()
            yield line("step", "exudyn", variant, name, n, times[0], times[len(times) // 2])


if __name__ == "__main__":
    emit(globals()[sys.argv[2]](pathlib.Path(sys.argv[1]), sys.argv[3:]))
