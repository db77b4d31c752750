"""Exudyn: steps and runs of a planar chain (kinematic tree), and a four-bar of planar bodies, from our model files."""

import json
import math
import pathlib
import sys
import time

import exudyn
import numpy as np
from exudyn.itemInterface import (LoadMassProportional, MarkerBodyMass, MarkerBodyRigid, NodeGenericODE2, NodeRigidBody2D, ObjectGround,
                                  ObjectJointRevolute2D, ObjectKinematicTree, ObjectRigidBody2D)

from loops import closures
from timing import emit, line, sampled

SOLVERS = {"RK44": exudyn.DynamicSolverType.RK44, "RK67": exudyn.DynamicSolverType.RK67,
           "trapezoidal": exudyn.DynamicSolverType.TrapezoidalIndex2, "generalized-alpha": exudyn.DynamicSolverType.GeneralizedAlpha}


def settings():
    out = exudyn.SimulationSettings()
    out.timeIntegration.verboseMode = 0
    out.solutionSettings.writeSolutionToFile = False
    out.solutionSettings.sensorsWritePeriod = 1e9
    return out


def chain(folder, name, start):
    """A chain of hinges about x along -z."""
    model = json.loads((folder / f"{name}.json").read_text())
    container = exudyn.SystemContainer()
    system = container.AddSystem()
    n = len(model["bodies"])
    turns, offsets = exudyn.Matrix3DList(), exudyn.Vector3DList()
    inertias, coms = exudyn.Matrix3DList(), exudyn.Vector3DList()
    for body, joint in zip(model["bodies"], model["joints"]):
        turns.Append(np.eye(3))
        offsets.Append(joint.get("parent_placement", {}).get("p", [0, 0, 0]))
        inertias.Append(np.diag(body["inertia"][:3]))
        coms.Append(body["com"])
    node = system.AddNode(NodeGenericODE2(numberOfODE2Coordinates=n, referenceCoordinates=[0.0] * n,
                                          initialCoordinates=start(n), initialCoordinates_t=[0.0] * n))
    system.AddObject(ObjectKinematicTree(
        nodeNumber=node, jointTypes=[exudyn.JointType.RevoluteX] * n, linkParents=list(range(-1, n - 1)),
        jointTransformations=turns, jointOffsets=offsets, linkInertiasCOM=inertias, linkCOMs=coms,
        linkMasses=[body["mass"] for body in model["bodies"]], baseOffset=[0.0, 0.0, 0.0], gravity=[0, 0, -9.81]))
    system.Assemble()
    return container, system, n


def step(folder, names):
    for name in names:
        _container, system, n = chain(folder, name, lambda n: [0.1] * n)
        for variant in ("RK44", "trapezoidal"):
            steps = 40 if n <= 10 else 10
            how = settings()
            how.timeIntegration.numberOfSteps = steps
            how.timeIntegration.endTime = steps * 1e-4
            times = []
            for _ in range(30 if n <= 50 else 8):
                begin = time.perf_counter()
                system.SolveDynamic(how, solverType=SOLVERS[variant])
                times.append((time.perf_counter() - begin) / steps * 1e6)
            times.sort()
            yield line("step", "exudyn", variant, name, n, times[0], times[len(times) // 2])


def pieces(system, how, solver, h):
    """A function that goes on for 0.1 s."""
    done = 0

    def advance():
        nonlocal done
        how.timeIntegration.startTime, how.timeIntegration.endTime = 0.1 * done, 0.1 * (done + 1)
        how.timeIntegration.numberOfSteps = round(0.1 / h)
        done += 1
        system.SolveDynamic(how, solverType=SOLVERS[solver], updateInitialValues=True)

    return advance


def precision(folder, names):
    for name in names:
        for h in (0.05, 0.02, 0.01, 0.005, 0.0025):
            _container, system, n = chain(folder, name, lambda n: [0.5] + [0.0] * (n - 1))
            data = system.systemData
            q, v, best = sampled(pieces(system, settings(), "RK67", h), lambda: (data.GetODE2Coordinates(), data.GetODE2Coordinates_t()), 100,
                                 round(0.1 / h))
            yield line("precision", "exudyn", "RK67", name, n, best, dt=h, q=q, v=v)


def four_bar(folder, name):
    """Planar bodies with a revolute joint at every pin, loops and tree alike; a point is (y, z) of the model."""
    model = json.loads((folder / f"{name}.json").read_text())
    start, _ = closures(folder, name)
    container = exudyn.SystemContainer()
    system = container.AddSystem()
    bodies = {body["name"]: body for body in model["bodies"]}
    objects = {"world": system.AddObject(ObjectGround(referencePosition=[0, 0, 0]))}
    pose, com, nodes, pins = {"world": (np.zeros(2), 0.0)}, {"world": np.zeros(2)}, {}, []
    turn = lambda a: np.array([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]])  # noqa: E731
    origin = {"p": [0.0, 0.0, 0.0]}
    by_name = {joint["name"]: joint for joint in model["joints"]}
    for joint in [by_name[name] for name in start] + [joint for joint in model["joints"] if joint.get("role") == "loop"]:
        parent, child = joint["parent"], joint["child"]
        on_parent = np.array(joint.get("parent_placement", origin)["p"][1:])
        on_child = np.array(joint.get("child_placement", origin)["p"][1:])
        if child not in pose:
            at, angle = pose[parent]
            pose[child] = (at + turn(angle) @ on_parent, angle + start[joint["name"]])
            body, (at, angle) = bodies[child], pose[child]
            com[child] = np.array(body["com"][1:])
            middle = at + turn(angle) @ com[child]
            nodes[child] = system.AddNode(NodeRigidBody2D(referenceCoordinates=[*middle, angle]))
            objects[child] = system.AddObject(ObjectRigidBody2D(nodeNumber=nodes[child], physicsMass=body["mass"], physicsInertia=body["inertia"][0]))
            marker = system.AddMarker(MarkerBodyMass(bodyNumber=objects[child]))
            system.AddLoad(LoadMassProportional(markerNumber=marker, loadVector=[0, -9.81, 0]))
        pins.append((parent, on_parent, child, on_child))
    for a, p, b, r in pins:
        markers = [system.AddMarker(MarkerBodyRigid(bodyNumber=objects[body], localPosition=[*(point - com[body]), 0])) for body, point in ((a, p), (b, r))]
        system.AddObject(ObjectJointRevolute2D(markerNumbers=markers))
    system.Assemble()

    def state():
        """Largest gap of all pins, energy."""
        at, rate = {}, {}
        for body, node in nodes.items():
            at[body] = np.array(system.GetNodeOutput(node, exudyn.OutputVariableType.Coordinates)) + np.array(system.GetNode(node)["referenceCoordinates"])
            rate[body] = np.array(system.GetNodeOutput(node, exudyn.OutputVariableType.Coordinates_t))
        point = lambda body, p: p if body == "world" else at[body][:2] + turn(at[body][2]) @ (p - com[body])  # noqa: E731
        gap = max(np.linalg.norm(point(a, p) - point(b, r)) for a, p, b, r in pins)
        energy = sum(0.5 * bodies[b]["mass"] * (rate[b][:2] @ rate[b][:2]) + 0.5 * bodies[b]["inertia"][0] * rate[b][2] ** 2
                     + bodies[b]["mass"] * 9.81 * at[b][1] for b in nodes)
        return [gap], [energy]

    return container, system, state


def gap(folder, names):
    for name in names:
        for variant, solver in (("generalized-alpha, index 3", "generalized-alpha"), ("trapezoidal, index 2", "trapezoidal")):
            _container, system, state = four_bar(folder, name)
            how = settings()
            how.timeIntegration.newton.useModifiedNewton = False
            how.timeIntegration.generalizedAlpha.spectralRadius = 0.9
            first = state()[1][0]
            gaps, energies, best = sampled(pieces(system, how, solver, 0.01), state, 600, 10)
            yield line("gap", "exudyn", variant, name, 1, best, dt=0.01, gap=max(g[0] for g in gaps),
                       energy=[first, *(e[0] for e in energies)])


if __name__ == "__main__":
    emit(globals()[sys.argv[2]](pathlib.Path(sys.argv[1]), sys.argv[3:]))
