"""Loops of a model by name, for peers that read its tree from a URDF."""

import json


def closures(folder, name):
    """Start angle of each joint, in the order of the file of rows, and loops: body, point, body, point."""
    model = json.loads((folder / f"{name}.json").read_text())
    origin = {"p": [0.0, 0.0, 0.0]}
    angles = model["states"]["start"]["q"]
    start, known, waiting = {}, {"world"}, [joint for joint in model["joints"] if joint.get("role") != "loop"]
    while waiting:
        ready = [joint for joint in waiting if joint["parent"] in known]
        for joint in ready:
            start[joint["name"]] = angles.get(joint["name"], 0.0)
        known |= {joint["child"] for joint in ready}
        waiting = [joint for joint in waiting if joint not in ready]
    loops = [(joint["parent"], joint.get("parent_placement", origin)["p"], joint["child"], joint.get("child_placement", origin)["p"])
             for joint in model["joints"] if joint.get("role") == "loop"]
    return start, loops
