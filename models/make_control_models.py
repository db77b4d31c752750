#!/usr/bin/env python3
"""Writes the driven models of this folder: pendulum, cart-pole, acrobot, quadrotor, seven-joint arm, five-bar, and three that touch
the ground: hopper, pushed block, quadruped of eight hinges.

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


def write(name, bodies, joints, inputs, states, gravity=(0, 0, -9.81), surfaces=(), exclude=()):
    data = {"schema": "leastaction/model/1", "name": name, "gravity": list(gravity), "inputs": inputs, "bodies": bodies,
            "joints": joints, "states": states}
    if surfaces:
        data["surfaces"] = list(surfaces)
        data["half_spaces"] = [{"normal": [0.0, 0.0, 1.0], "friction": 0.0}]
    if exclude:
        data["contact"] = {"exclude": [list(pair) for pair in exclude]}
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


def cuboid(name, mass, size, color):
    x, y, z = (s * s for s in size)
    return {"name": name, "mass": mass, "inertia": [mass / 12 * (y + z), mass / 12 * (x + z), mass / 12 * (x + y), 0, 0, 0],
            "visuals": [{"shape": {"type": "box", "size": list(size)}, "rgba": color}]}


def ball(link, radius, friction, at=(0.0, 0.0, 0.0)):
    return {"link": link, "shape": {"type": "sphere", "radius": radius}, "placement": {"p": list(at)}, "friction": friction}


def leg(side, parent, at, thigh, shin, masses, radius, color, efforts):
    """Hip and knee with a round foot; knees bend backwards."""
    upper, lower = rod(f"{side}thigh", masses[0], thigh, 0.02, color), rod(f"{side}shin", masses[1], shin, 0.014, GREY)
    lower["visuals"].append({"shape": {"type": "sphere", "radius": radius}, "placement": {"p": [0, 0, -shin]}, "rgba": GOLD})
    limited = [{"lower": -2.0, "upper": 2.5, "effort": efforts[0]}, {"lower": -2.6, "upper": -0.2, "effort": efforts[1]}]
    joints = [hinge(f"{side}hip", parent, f"{side}thigh", at, (0, -1, 0), f"{side}hip", damping=0.05, armature=0.005, limits=limited[0]),
              hinge(f"{side}knee", f"{side}thigh", f"{side}shin", (0, 0, -thigh), (0, -1, 0), f"{side}knee", damping=0.05,
                    armature=0.005, limits=limited[1])]
    return [upper, lower], joints, ball(f"{side}shin", radius, 0.8, (0.0, 0.0, -shin))


def hopper():
    """A trunk on a vertical rail, a leg of two links, a round foot."""
    trunk = cuboid("trunk", 3.0, (0.16, 0.12, 0.12), BLUE)
    bodies, joints, foot = leg("", "trunk", (0, 0, 0), 0.3, 0.3, (0.5, 0.25), 0.03, RED, (60.0, 60.0))
    rail = {"name": "rail", "type": "prismatic", "parent": "world", "child": "trunk", "axis": [0, 0, 1]}
    pose = {"hip": 0.5, "knee": -1.0}
    stance = 0.6 * math.cos(0.5) + 0.03
    write("hopper", [trunk, *bodies], [rail, *joints], ["hip", "knee"],
          {"start": {"q": {"rail": stance + 0.1, **pose}}, "stance": {"q": {"rail": stance, **pose}},
           "apex": {"q": {"rail": stance + 0.2, **pose}}}, surfaces=[foot])


def pushed_block():
    """A ball on a rail and a block on the ground in front of it."""
    pusher = {"name": "pusher", "mass": 0.5, "inertia": [0.0005, 0.0005, 0.0005, 0, 0, 0],
              "visuals": [{"shape": {"type": "sphere", "radius": 0.05}, "rgba": RED}]}
    block = cuboid("block", 1.0, (0.2, 0.2, 0.2), GOLD)
    rail = {"name": "rail", "type": "prismatic", "parent": "world", "child": "pusher", "axis": [1, 0, 0],
            "parent_placement": {"p": [0, 0, 0.1]}, "damping": 0.5, "actuators": [{"input": "push"}]}
    free = {"name": "block_free", "type": "floating", "parent": "world", "child": "block"}
    # It stands on three feet, and has a round bumper for the ball.
    feet = [[0.08, 0.0, -0.1], [-0.08, 0.07, -0.1], [-0.08, -0.07, -0.1]]
    surfaces = [ball("pusher", 0.05, 0.0), {"link": "block", "shape": {"type": "points", "points": feet}, "friction": 0.4},
                ball("block", 0.09, 0.0)]
    write("pushed-block", [pusher, block], [rail, free], ["push"],
          {"start": {"q": {"rail": 0.0, "block_free": [1, 0, 0, 0, 0.16, 0.0, 0.1]}}}, surfaces=surfaces)


def quadruped_legs():
    """A trunk on four legs of two links, each with a round foot; a crouch and a stand."""
    trunk = cuboid("trunk", 6.0, (0.4, 0.2, 0.1), BLUE)
    bodies, joints = [trunk], [{"name": "free", "type": "floating", "parent": "world", "child": "trunk"}]
    surfaces = [{"link": "trunk", "shape": {"type": "box", "size": [0.4, 0.2, 0.1]}, "friction": 0.5}]
    angles, inputs = {"start": {}, "stand": {}}, []
    for side, x, y in (("fl_", 0.17, 0.1), ("fr_", 0.17, -0.1), ("rl_", -0.17, 0.1), ("rr_", -0.17, -0.1)):
        more, hinges, foot = leg(side, "trunk", (x, y, 0.0), 0.2, 0.2, (0.6, 0.2), 0.02, RED, (30.0, 30.0))
        bodies += more
        joints += hinges
        surfaces.append(foot)
        inputs += [f"{side}hip", f"{side}knee"]
        for state, bend in (("start", 1.1), ("stand", 0.5)):
            angles[state] |= {f"{side}hip": bend, f"{side}knee": -2 * bend}
    states = {state: {"q": {"free": [1, 0, 0, 0, 0, 0, 0.4 * math.cos(bend) + 0.02], **angles[state]}}
              for state, bend in (("start", 1.1), ("stand", 0.5))}
    # Feet and trunk touch the ground, not each other.
    shins = [f"{side}shin" for side in ("fl_", "fr_", "rl_", "rr_")]
    exclude = [("trunk", shin) for shin in shins] + [(a, b) for k, a in enumerate(shins) for b in shins[k + 1:]]
    write("quadruped-legs", bodies, joints, inputs, states, surfaces=surfaces, exclude=exclude)


for make in (pendulum, cart_pole, acrobot, quadrotor, arm7, five_bar, hopper, pushed_block, quadruped_legs):
    make()
