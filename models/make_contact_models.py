"""Writes the models with surfaces that touch: run it in this folder to get the same files."""

import json
import math

GRAVITY = [0.0, 0.0, -9.81]


def box_inertia(mass, size):
    x, y, z = (s * s for s in size)
    return [mass / 12 * (y + z), mass / 12 * (x + z), mass / 12 * (x + y), 0.0, 0.0, 0.0]


def body(name, mass, inertia, shape, rgba):
    return {"name": name, "mass": mass, "inertia": inertia, "visuals": [{"shape": shape, "rgba": rgba}]}


def free(name):
    return {"name": f"{name}_free", "type": "floating", "parent": "world", "child": name}


def pose(x, q=(1.0, 0.0, 0.0, 0.0)):
    return list(q) + list(x)


def tilt(axis, angle):
    s = math.sin(angle / 2)
    return [math.cos(angle / 2)] + [s * a for a in axis]


def model(name, bodies, joints, surfaces, start, ground=None, **more):
    out = {"schema": "leastaction/model/1", "name": name, "gravity": GRAVITY, "bodies": bodies, "joints": joints,
           "surfaces": surfaces, "half_spaces": [ground or {"normal": [0.0, 0.0, 1.0], "friction": 0.5}], **more,
           "states": {"start": start}}
    with open(f"{name}.json", "w", encoding="utf-8") as file:
        json.dump(out, file, indent=2)
        file.write("\n")


def dice():
    size, mass = [0.02, 0.02, 0.02], 0.008
    shape = {"type": "box", "size": size}
    names = ["die1", "die2"]
    bodies = [body(n, mass, box_inertia(mass, size), shape, c) for n, c in zip(names, ([0.85, 0.2, 0.2, 1], [0.2, 0.3, 0.8, 1]))]
    surfaces = [{"link": n, "shape": shape, "friction": 0.4, "restitution": 0.3} for n in names]
    start = {"q": {"die1_free": pose([0.0, 0.0, 0.12], tilt([0.6, 0.8, 0.0], 0.9)),
                   "die2_free": pose([0.05, 0.03, 0.15], tilt([0.0, 0.6, 0.8], 1.7))},
             "v": {"die1_free": [12.0, 25.0, 9.0, 0.5, 0.2, 0.0], "die2_free": [-20.0, 5.0, 14.0, 0.4, -0.1, 0.0]}}
    model("dice", bodies, [free(n) for n in names], surfaces, start)


def stack():
    bodies, joints, surfaces, q = [], [], [], {}
    for k in range(10):
        size, mass = [0.2, 0.2, 0.1], 1.0 if k < 9 else 10.0
        shape = {"type": "box", "size": size}
        shade = 0.35 + 0.05 * k
        bodies.append(body(f"box{k}", mass, box_inertia(mass, size), shape, [0.8, shade, 0.3, 1]))
        joints.append(free(f"box{k}"))
        surfaces.append({"link": f"box{k}", "shape": shape, "friction": 0.6})
        q[f"box{k}_free"] = pose([0.002 * (-1) ** k, 0.0, 0.05 + 0.1 * k])
    model("stack", bodies, joints, surfaces, {"q": q})


def dominoes():
    bodies, joints, surfaces, q, v = [], [], [], {}, {}
    size, mass = [0.008, 0.025, 0.05], 0.02
    shape = {"type": "box", "size": size}
    for k in range(8):
        bodies.append(body(f"domino{k}", mass, box_inertia(mass, size), shape, [0.1, 0.1 + 0.1 * k, 0.5, 1]))
        joints.append(free(f"domino{k}"))
        surfaces.append({"link": f"domino{k}", "shape": shape, "friction": 0.4})
        q[f"domino{k}_free"] = pose([0.025 * k, 0.0, 0.025])
    q["domino0_free"] = pose([0.0, 0.0, 0.0251], tilt([0.0, 1.0, 0.0], 0.02))
    v["domino0_free"] = [0.0, 6.0, 0.0, 0.12, 0.0, 0.0]
    model("dominoes", bodies, joints, surfaces, {"q": q, "v": v})


def slope_block():
    size, mass, angle = [0.4, 0.3, 0.2], 2.0, math.radians(10)
    shape = {"type": "box", "size": size}
    normal = [math.sin(angle), 0.0, math.cos(angle)]
    start = {"q": {"block_free": pose([0.1 * n for n in normal], tilt([0.0, 1.0, 0.0], angle))}}
    model("slope-block", [body("block", mass, box_inertia(mass, size), shape, [0.6, 0.5, 0.4, 1])], [free("block")],
          [{"link": "block", "shape": shape, "friction": 0.5}], start, {"normal": normal, "friction": 0.5})


def boule():
    mass, radius = 0.7, 0.037
    shape = {"type": "sphere", "radius": radius}
    i = 0.4 * mass * radius * radius
    start = {"q": {"boule_free": pose([0.0, 0.0, radius])}, "v": {"boule_free": [0.0, 0.0, 0.0, 2.0, 0.0, 0.0]}}
    model("boule", [body("boule", mass, [i, i, i, 0.0, 0.0, 0.0], shape, [0.7, 0.7, 0.75, 1])], [free("boule")],
          [{"link": "boule", "shape": shape, "friction": 0.2}], start, {"normal": [0.0, 0.0, 1.0], "friction": 0.2})


def rattleback():
    mass, radii = 0.1, [0.1, 0.02, 0.015]
    a, b, c = (r * r for r in radii)
    skew = 1.5e-5
    inertia = [mass / 5 * (b + c), mass / 5 * (a + c), mass / 5 * (a + b), skew, 0.0, 0.0]
    shape = {"type": "ellipsoid", "radii": radii}
    start = {"q": {"stone_free": pose([0.0, 0.0, 0.0151], tilt([0.0, 1.0, 0.0], 0.01))},
             "v": {"stone_free": [0.0, 0.0, -5.0, 0.0, 0.0, 0.0]}}
    part = body("stone", mass, inertia, shape, [0.45, 0.55, 0.4, 1])
    part["com"] = [0.0, 0.0, -0.003]
    model("rattleback", [part], [free("stone")], [{"link": "stone", "shape": shape, "friction": 0.9}], start,
          {"normal": [0.0, 0.0, 1.0], "friction": 0.9})


def ground_chain():
    bodies, joints, surfaces, q = [], [], [], {}
    mass, radius, length = 0.1, 0.01, 0.06
    i, j = mass * (radius ** 2 / 4 + length ** 2 / 12), mass * radius ** 2 / 2
    shape = {"type": "capsule", "radius": radius, "length": length}
    for k in range(12):
        name = f"link{k}"
        bodies.append(body(name, mass, [i, i, j, 0.0, 0.0, 0.0], shape, [0.5, 0.5, 0.3 + 0.05 * k, 1]))
        surfaces.append({"link": name, "shape": shape, "friction": 0.4})
        if k == 0:
            joints.append(free(name))
            q[f"{name}_free"] = pose([0.0, 0.0, 0.25], tilt([0.0, 1.0, 0.0], 1.2))
        else:
            joints.append({"name": f"ball{k}", "type": "spherical", "parent": f"link{k - 1}", "child": name,
                           "parent_placement": {"p": [0.0, 0.0, length / 2]},
                           "child_placement": {"p": [0.0, 0.0, -length / 2]}})
    others = [[f"link{a}", f"link{b}"] for a in range(12) for b in range(a + 1, 12)]
    model("ground-chain", bodies, joints, surfaces, {"q": q}, contact={"exclude": others})


def gripper():
    finger = [0.02, 0.04, 0.1]
    shape = {"type": "box", "size": finger}
    ball = {"type": "sphere", "radius": 0.03}
    bodies = [body("left", 0.2, box_inertia(0.2, finger), shape, [0.3, 0.3, 0.35, 1]),
              body("right", 0.2, box_inertia(0.2, finger), shape, [0.3, 0.3, 0.35, 1]),
              body("ball", 0.1, [3.6e-5, 3.6e-5, 3.6e-5, 0.0, 0.0, 0.0], ball, [0.9, 0.6, 0.1, 1])]
    joints = [{"name": side, "type": "prismatic", "parent": "world", "child": side, "axis": [s, 0.0, 0.0],
               "parent_placement": {"p": [-0.06 * s, 0.0, 0.3]}, "damping": 2.0,
               "spring": {"stiffness": 200.0, "rest": 0.05}} for side, s in (("left", 1.0), ("right", -1.0))]
    joints.append(free("ball"))
    surfaces = [{"link": "left", "shape": shape, "friction": 0.7}, {"link": "right", "shape": shape, "friction": 0.7},
                {"link": "ball", "shape": ball, "friction": 0.7}]
    model("gripper-ball", bodies, joints, surfaces, {"q": {"left": 0.019, "right": 0.019, "ball_free": pose([0.0, 0.0, 0.3])}})


def walker():
    """A toy with two stiff legs on a slope: the hip is one hinge, the feet are balls."""
    mass, length, radius, angle = 0.4, 0.2, 0.02, math.radians(3)
    leg = {"type": "capsule", "radius": 0.01, "length": length}
    i = mass * length * length / 12
    bodies = [body("inner", mass, [i, i, i / 20, 0.0, 0.0, 0.0], leg, [0.7, 0.3, 0.2, 1]),
              body("outer", mass, [i, i, i / 20, 0.0, 0.0, 0.0], leg, [0.2, 0.4, 0.7, 1])]
    joints = [free("inner"), {"name": "hip", "type": "revolute", "parent": "inner", "child": "outer", "axis": [0.0, 1.0, 0.0],
                              "parent_placement": {"p": [0.0, 0.0, length / 2]},
                              "child_placement": {"p": [0.0, 0.0, length / 2]}}]
    foot = {"type": "sphere", "radius": radius}
    surfaces = [{"name": f"{leg}_{side}", "link": leg, "shape": foot, "friction": 0.8,
                 "placement": {"p": [0.0, y, -length / 2]}}
                for leg, width in (("inner", 0.03), ("outer", 0.08)) for side, y in (("left", width), ("right", -width))]
    normal = [math.sin(angle), 0.0, math.cos(angle)]
    q = tilt([0.0, 1.0, 0.0], -0.25)
    height = length / 2 * math.cos(0.25 + angle) + radius + 0.02
    start = {"q": {"inner_free": pose([height * n for n in normal], q), "hip": 0.5}, "v": {"inner_free": [0.0, 0.8, 0.0, 0.15, 0.0, 0.0]}}
    model("slope-walker", bodies, joints, surfaces, start, {"normal": normal, "friction": 0.8},
          contact={"exclude": [["inner", "outer"]]})


if __name__ == "__main__":
    for make in (dice, stack, dominoes, slope_block, boule, rattleback, ground_chain, gripper, walker):
        make()
