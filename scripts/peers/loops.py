"""Loops of a model by name, for peers that read its tree from a URDF."""

import json

from models import depth_first


def closures(folder, name):
    """Start angle of each joint, in the order of the file of rows, and loops: body, point, body, point."""
    model = json.loads((folder / f"{name}.json").read_text())
    origin = {"p": [0.0, 0.0, 0.0]}
    angles = model["states"]["start"]["q"]
    tree = [joint for joint in model["joints"] if joint.get("role") != "loop"]
    start = {joint["name"]: angles.get(joint["name"], 0.0) for joint in depth_first(tree)}
    loops = [(joint["parent"], joint.get("parent_placement", origin)["p"], joint["child"], joint.get("child_placement", origin)["p"])
             for joint in model["joints"] if joint.get("role") == "loop"]
    return start, loops
