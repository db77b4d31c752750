#!/usr/bin/env python3
"""Writes the driven models of this folder: pendulum, cart-pole, acrobot, quadrotor, seven-joint arm, five-bar.

Every number is made here; run it again to get the same files.

    python3 models/make_control_models.py
"""

import json
import math
from pathlib import Path

HERE = Path(__file__).parent
BLUE, GREEN, RED, GREY, GOLD = (
    [0.25, 0.45, 0.75, 1], [0.3, 0.6, 0.35, 1], [0.8, 0.35, 0.3, 1], [0.55, 0.55, 0.6, 1], [0.85, 0.65, 0.2, 1])


def rod(name, mass, length, radius=0.03, color=BLUE, direction=-1.0):
    """A uniform rod from the body origin along z."""
    t = mass * length**2 / 12 + mass * radius**2 / 4
    middle = [0.0, 0.0, direction * length / 2]
    return {"name": name, "mass": mass, "com": middle, "inertia": [t, t, mass * radius**2 / 2, 0.0, 0.0, 0.0],
            "visuals": [{"shape": {"type": "capsule", "radius": radius, "length": length}, "placement": {"p": middle},
                         "rgba": color}]}


def hinge(name, parent, child, at=(0, 0, 0), axis=(1, 0, 0), motor=None, **more):
    joint = {"name": name, "type": "revolute", "parent": parent, "child": child, "parent_placement": {"p": list(at)},
             "axis": list(axis), **more}
    if motor:
        joint["actuators"] = [{"input": motor}]
    return joint


def write(name, bodies, joints, inputs, states, gravity=(0, 0, -9.81)):
    data = {"schema": "leastaction/model/1", "name": name, "gravity": list(gravity), "inputs": inputs, "bodies": bodies,
            "joints": joints, "states": states}
    (HERE / f"{name}.json").write_text(json.dumps(data, indent=1) + "\n")


def pendulum():
    write("pendulum", [rod("link", 1.0, 1.0)], [hinge("pivot", "world", "link", motor="motor", damping=0.05)], ["motor"],
          {"start": {"q": {"pivot": 0.0}}, "up": {"q": {"pivot": math.pi}}})


def cart_pole():
    cart = {"name": "cart", "mass": 1.0, "com": [0, 0, 0], "inertia": [0.01, 0.01, 0.01, 0, 0, 0],
            "visuals": [{"shape": {"type": "box", "size": [0.2, 0.4, 0.15]}, "placement": {"p": [0, 0, 0]}, "rgba": GREY}]}
    rail = {"name": "rail", "type": "prismatic", "parent": "world", "child": "cart", "axis": [0, 1, 0],
            "damping": 0.1, "actuators": [{"input": "push"}]}
    write("cart-pole", [cart, rod("pole", 0.3, 0.8, color=RED)],
          [rail, hinge("hinge", "cart", "pole", damping=0.002)], ["push"],
          {"start": {"q": {"rail": 0.0, "hinge": 0.0}}, "up": {"q": {"rail": 0.0, "hinge": math.pi}}})


def acrobot():
    write("acrobot", [rod("upper", 1.0, 1.0), rod("lower", 1.0, 1.0, color=RED)],
          [hinge("shoulder", "world", "upper"), hinge("elbow", "upper", "lower", at=(0, 0, -1.0), motor="elbow_motor")],
          ["elbow_motor"],
          {"start": {"q": {"shoulder": 0.0, "elbow": 0.0}}, "up": {"q": {"shoulder": math.pi, "elbow": 0.0}}})


def quadrotor():
    arm, drag_ratio = 0.2, 0.02
    rotors = [(arm, arm, 1), (-arm, arm, -1), (-arm, -arm, 1), (arm, -arm, -1)]
    thrusters, visuals = [], [
        {"shape": {"type": "box", "size": [0.16, 0.16, 0.06]}, "placement": {"p": [0, 0, 0]}, "rgba": GREY}]
    for k, (x, y, sense) in enumerate(rotors):
        # Force along z at the rotor: torque r × f, and the rotor's own drag about z.
        thrusters.append({"input": f"rotor{k}", "wrench": [y, -x, sense * drag_ratio, 0.0, 0.0, 1.0]})
        visuals.append({"shape": {"type": "cylinder", "radius": 0.12, "length": 0.015}, "placement": {"p": [x, y, 0.04]},
                        "rgba": RED if x > 0 else BLUE})
        visuals.append({"shape": {"type": "capsule", "radius": 0.012, "length": math.hypot(x, y)},
                        "placement": {"p": [x / 2, y / 2, 0.02],
                                      "q": [math.sqrt(0.5), -y / math.hypot(x, y) * math.sqrt(0.5),
                                            x / math.hypot(x, y) * math.sqrt(0.5), 0]}, "rgba": GREY})
    body = {"name": "frame", "mass": 1.2, "com": [0, 0, 0], "inertia": [0.015, 0.015, 0.027, 0, 0, 0], "drag": 0.1,
            "thrusters": thrusters, "visuals": visuals}
    free = {"name": "free", "type": "floating", "parent": "world", "child": "frame"}
    write("quadrotor", [body], [free], [f"rotor{k}" for k in range(4)],
          {"start": {"q": {"free": [1, 0, 0, 0, 0, 0, 1]}}, "away": {"q": {"free": [1, 0, 0, 0, 2, 1, 1.5]}}})


def arm7():
    """Seven revolutes, shoulder and wrist with crossing axes, 10 kg."""
    lengths = [0.30, 0.15, 0.25, 0.15, 0.22, 0.12, 0.12]
    masses = [3.0, 2.0, 1.6, 1.4, 1.0, 0.7, 0.4]
    efforts = [90.0, 90.0, 60.0, 60.0, 25.0, 15.0, 15.0]
    axes = [(0, 0, 1), (0, 1, 0), (0, 0, 1), (0, 1, 0), (0, 0, 1), (0, 1, 0), (0, 0, 1)]
    bodies, joints, parent, at = [], [], "world", 0.0
    for k, (length, mass, effort, axis) in enumerate(zip(lengths, masses, efforts, axes)):
        name = f"link{k + 1}"
        bodies.append(rod(name, mass, length, 0.05 - 0.004 * k, [BLUE, RED, GREEN, GOLD][k % 4], 1.0))
        joints.append(hinge(f"joint{k + 1}", parent, name, (0, 0, at), axis, f"motor{k + 1}", damping=0.1, armature=0.05,
                            limits={"lower": -2.9, "upper": 2.9, "velocity": 3.0, "effort": effort}))
        parent, at = name, length
    home = [0.0, 0.4, 0.0, 1.2, 0.0, 0.8, 0.0]
    write("arm7", bodies, joints, [f"motor{k + 1}" for k in range(7)],
          {"start": {"q": {f"joint{k + 1}": x for k, x in enumerate(home)}}})


def five_bar():
    """Two driven cranks on the ground and two distal links that meet in a loop joint; planar, gravity along -z."""
    base, near, far = 0.3, 0.35, 0.45
    # Cranks at mirrored angles from straight up; the tip follows from two circles.
    lean = 0.6
    left, right = [-base / 2 - near * math.sin(lean), near * math.cos(lean)], [base / 2 + near * math.sin(lean), near * math.cos(lean)]
    tip = [0.0, left[1] + math.sqrt(far**2 - left[0]**2)]
    # About x, positive angles turn +z towards -y.
    q_left, q_right = lean, -lean
    abs_left, abs_right = math.atan2(-(tip[0] - left[0]), tip[1] - left[1]), math.atan2(-(tip[0] - right[0]), tip[1] - right[1])
    bodies = [rod("left_crank", 0.5, near, 0.02, BLUE, 1.0), rod("left_arm", 0.4, far, 0.016, GOLD, 1.0),
              rod("right_crank", 0.5, near, 0.02, RED, 1.0), rod("right_arm", 0.4, far, 0.016, GREEN, 1.0)]
    joints = [
        hinge("left_motor", "world", "left_crank", (0, -base / 2, 0), motor="left", damping=0.02),
        hinge("left_elbow", "left_crank", "left_arm", (0, 0, near), damping=0.01),
        hinge("right_motor", "world", "right_crank", (0, base / 2, 0), motor="right", damping=0.02),
        hinge("right_elbow", "right_crank", "right_arm", (0, 0, near), damping=0.01),
        hinge("tip", "left_arm", "right_arm", (0, 0, far), child_placement={"p": [0, 0, far]}, role="loop"),
    ]
    start = {"left_motor": q_left, "left_elbow": abs_left - q_left, "right_motor": q_right,
             "right_elbow": abs_right - q_right}
    write("five-bar", bodies, joints, ["left", "right"], {"start": {"q": start}})


for make in (pendulum, cart_pole, acrobot, quadrotor, arm7, five_bar):
    make()
