#!/usr/bin/env python3
"""Writes the closed-loop models of this folder. Every number is made here; run it again to get the same files.

    python3 models/make_models.py
"""

import json
import math
from pathlib import Path

HERE = Path(__file__).parent
X, Y, Z = [1, 0, 0], [0, 1, 0], [0, 0, 1]
BLUE, GREEN, RED, GREY, GOLD = (
    [0.25, 0.45, 0.75, 1], [0.3, 0.6, 0.35, 1], [0.8, 0.35, 0.3, 1], [0.55, 0.55, 0.6, 1], [0.85, 0.65, 0.2, 1])


def sub(a, b):
    return [x - y for x, y in zip(a, b)]


def norm(a):
    return math.sqrt(sum(x * x for x in a))


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def z_to(d):
    """Quaternion that turns z to the direction d."""
    n = norm(d)
    d = [x / n for x in d]
    if d[2] < -1 + 1e-12:
        return [0.0, 1.0, 0.0, 0.0]
    c = cross(Z, d)
    q = [1 + d[2], *c]
    s = math.sqrt(sum(x * x for x in q))
    return [x / s for x in q]


class Model:
    """Bodies are given in world coordinates at the drawn pose: every body frame is the world frame, so that all joint
    coordinates are zero there."""

    def __init__(self, name, gravity=(0, 0, -9.81)):
        self.data = {"schema": "leastaction/model/1", "name": name, "gravity": list(gravity), "bodies": [], "joints": []}
        self.q, self.v = {}, {}

    def rods(self, name, segments, radius=0.02, density=4.0, color=BLUE, extra=0.0):
        """A body of straight rods (list of point pairs), `density` kg per metre."""
        parts, mass, com = [], 0.0, [0.0] * 3
        for a, b in segments:
            length = norm(sub(b, a))
            m = density * length
            c = [(x + y) / 2 for x, y in zip(a, b)]
            parts.append((m, c, sub(b, a), length))
            mass += m
            com = [s + m * x for s, x in zip(com, c)]
        com = [x / mass for x in com]
        inertia = [[extra * (i == j) for j in range(3)] for i in range(3)]
        for m, c, d, length in parts:
            u = [x / length for x in d]
            r = sub(c, com)
            for i in range(3):
                for j in range(3):
                    e = float(i == j)
                    inertia[i][j] += m * length**2 / 12 * (e - u[i] * u[j]) + 0.5 * m * radius**2 * u[i] * u[j]
                    inertia[i][j] += 0.25 * m * radius**2 * (e - u[i] * u[j])
                    inertia[i][j] += m * (e * sum(x * x for x in r) - r[i] * r[j])
        visuals = []
        for (a, b), (_, c, d, length) in zip(segments, parts):
            visuals.append({"shape": {"type": "capsule", "radius": radius, "length": length},
                            "placement": {"p": c, "q": z_to(d)}, "rgba": color})
        return self.body(name, mass, com, inertia, visuals)

    def body(self, name, mass, com, j, visuals):
        self.data["bodies"].append({"name": name, "mass": mass, "com": com,
                                    "inertia": [j[0][0], j[1][1], j[2][2], j[0][1], j[0][2], j[1][2]],
                                    "visuals": visuals})
        return name

    def box(self, name, size, at, density=300.0, color=GREY):
        m = density * size[0] * size[1] * size[2]
        j = [[m / 12 * (sum(s * s for s in size) - size[i] ** 2) if i == k else 0.0 for k in range(3)] for i in range(3)]
        return self.body(name, m, list(at), j, [{"shape": {"type": "box", "size": list(size)},
                                                 "placement": {"p": list(at)}, "rgba": color}])

    def joint(self, name, kind, parent, child, at, axis=None, role=None, **more):
        j = {"name": name, "type": kind, "parent": parent, "child": child,
             "parent_placement": {"p": list(at)}, "child_placement": {"p": list(at)}}
        if axis is not None:
            j["axis"] = list(axis)
        if role:
            j["role"] = role
        j.update(more)
        self.data["joints"].append(j)

    def hinge(self, name, parent, child, at, axis=X, **more):
        self.joint(name, "revolute", parent, child, at, axis, **more)

    def close(self, name, parent, child, at, axis=X, kind="revolute"):
        self.joint(name, kind, parent, child, at, axis, role="loop")

    def write(self):
        self.data["states"] = {"start": {"q": self.q, "v": self.v}}
        path = HERE / (self.data["name"] + ".json")
        path.write_text(json.dumps(self.data, indent=1) + "\n")
        print(path.name)


def circles(a, ra, b, rb, side):
    """Where two circles in the y-z plane meet; side = +1 is to the left of a -> b."""
    dy, dz = b[1] - a[1], b[2] - a[2]
    d = math.hypot(dy, dz)
    t = (d * d + ra * ra - rb * rb) / (2 * d)
    h = side * math.sqrt(ra * ra - t * t)
    return [0.0, a[1] + (t * dy - h * dz) / d, a[2] + (t * dz + h * dy) / d]


def polar(a, r, degrees):
    t = math.radians(degrees)
    return [0.0, a[1] + r * math.cos(t), a[2] + r * math.sin(t)]


def four_bar():
    m = Model("four-bar")
    a, d = [0, 0, 0], [0, 1.0, 0]
    b = polar(a, 0.4, 70)
    c = circles(b, 1.1, d, 0.8, 1)
    m.rods("crank", [(a, b)], color=RED)
    m.rods("coupler", [(b, c)])
    m.rods("rocker", [(d, c)], color=GREEN)
    m.hinge("crank_pivot", "world", "crank", a)
    m.hinge("crank_pin", "crank", "coupler", b)
    m.hinge("rocker_pivot", "world", "rocker", d)
    m.close("rocker_pin", "coupler", "rocker", c)
    m.v = {"crank_pivot": 4.0, "crank_pin": -4.0}
    m.write()


def six_bar(name, stephenson):
    """Six-bar linkages: in Watt's the two ternary links are joined, in Stephenson's they are apart."""
    m = Model(name)
    a, d = [0, 0, 0], [0, 0.9, 0]
    b = polar(a, 0.35, 80)
    c = circles(b, 0.9, d, 0.7, 1)
    m.rods("crank", [(a, b)], color=RED)
    m.hinge("crank_pivot", "world", "crank", a)
    m.hinge("crank_pin", "crank", "coupler", b)
    m.hinge("rocker_pivot", "world", "rocker", d)
    if stephenson:
        tip = polar(b, 0.7, 85)
        m.rods("coupler", [(b, c), (c, tip), (tip, b)])
        m.rods("rocker", [(d, c)], color=GREEN)
        g = [0, 1.6, 0.1]
        e = circles(tip, 1.1, g, 0.9, 1)
        m.rods("link", [(tip, e)], color=GOLD)
        m.rods("follower", [(g, e)], color=GREY)
        m.hinge("coupler_pin", "coupler", "link", tip)
        m.hinge("follower_pivot", "world", "follower", g)
        m.close("follower_pin", "link", "follower", e)
    else:
        arm = polar(d, 0.6, 40)
        m.rods("coupler", [(b, c)])
        m.rods("rocker", [(d, c), (c, arm), (arm, d)], color=GREEN)
        g = [0, 2.1, 0]
        e = circles(arm, 0.8, g, 0.7, 1)
        m.rods("link", [(arm, e)], color=GOLD)
        m.rods("follower", [(g, e)], color=GREY)
        m.hinge("rocker_arm", "rocker", "link", arm)
        m.hinge("follower_pivot", "world", "follower", g)
        m.close("follower_pin", "link", "follower", e)
    m.close("rocker_pin", "coupler", "rocker", c)
    m.v = {"crank_pivot": 3.0, "crank_pin": -3.0}
    m.write()


def slider_crank():
    m = Model("slider-crank")
    a = [0, 0, 0]
    b = polar(a, 0.25, 60)
    c = [0, b[1] + math.sqrt(0.8**2 - b[2] ** 2), 0]
    m.rods("crank", [(a, b)], color=RED)
    m.rods("rod", [(b, c)])
    m.box("piston", [0.16, 0.2, 0.16], c, density=400)
    m.hinge("crank_pivot", "world", "crank", a)
    m.hinge("crank_pin", "crank", "rod", b)
    m.joint("cylinder", "prismatic", "world", "piston", c, Y)
    m.close("piston_pin", "rod", "piston", c)
    m.v = {"crank_pivot": 8.0, "crank_pin": -8.0}
    m.write()


def pantograph():
    m = Model("pantograph")
    levels, half, rise = 4, 0.4, 0.25
    prev = None
    for k in range(levels):
        lo, hi = 2 * k * rise, 2 * (k + 1) * rise
        left, right, mid = [0, -half, lo], [0, half, lo], [0, 0, (lo + hi) / 2]
        p, r = f"rising{k}", f"falling{k}"
        m.rods(p, [(left, [0, half, hi])], color=BLUE)
        m.rods(r, [(right, [0, -half, hi])], color=GREEN)
        if k == 0:
            m.hinge("foot", "world", p, left)
            # A spring carries the weight; without it the scissors would fold through themselves.
            m.hinge("cross0", p, r, mid, spring={"stiffness": 1200.0, "rest": 0.0}, damping=15.0)
            m.joint("rail", "point_on_line", "world", r, right, Y, role="loop")
        else:
            m.hinge(f"left{k}", prev[1], p, left)
            m.hinge(f"cross{k}", p, r, mid)
            m.close(f"right{k}", prev[0], r, right)
        prev = (p, r)
    m.write()


def platform_joints(radius, spread, count=3):
    out = []
    for i in range(count):
        t = 2 * math.pi * i / count
        for s in (-spread, spread):
            out.append([radius * math.cos(t + s), radius * math.sin(t + s)])
    return out


def stewart():
    m = Model("stewart-platform")
    base, top = platform_joints(1.0, 0.25), platform_joints(0.6, math.pi / 3 - 0.2)
    height = 1.1
    m.box("platform", [0.9, 0.9, 0.06], [0, 0, height + 0.03], density=500, color=GOLD)
    for i in range(6):
        a, b = [*base[i], 0.0], [*top[i], height]
        d = sub(b, a)
        n = norm(d)
        u = [x / n for x in d]
        mid = lambda s: [x + s * y for x, y in zip(a, d)]
        side = cross(u, Z)
        s = norm(side)
        side = [x / s for x in side]
        m.rods(f"cylinder{i}", [(a, mid(0.55))], radius=0.035, density=5, color=GREY)
        m.rods(f"piston{i}", [(mid(0.45), b)], radius=0.02, density=3, color=BLUE)
        second = cross(u, side)
        m.joint(f"foot{i}", "universal", "world", f"cylinder{i}", a, side, axis2=second)
        m.joint(f"leg{i}", "prismatic", f"cylinder{i}", f"piston{i}", a, u, damping=20.0,
                spring={"stiffness": 4000.0, "rest": 0.02 * (i % 3)}, actuators=[{"input": f"force{i}"}])
        if i == 0:
            m.joint("ball0", "spherical", "piston0", "platform", b)
        else:
            m.joint(f"ball{i}", "spherical", f"piston{i}", "platform", b, role="loop")
    m.data["inputs"] = [f"force{i}" for i in range(6)]
    m.write()


def delta():
    m = Model("delta-robot")
    top, reach, arm, fore, plate, half = 0.0, 0.25, 0.35, 0.75, 0.08, 0.05
    elbow_out = reach + arm * math.cos(math.radians(20))
    elbow_down = top - arm * math.sin(math.radians(20))
    drop = math.sqrt(fore**2 - (elbow_out - plate) ** 2)
    z = elbow_down - drop
    ring = [[plate * 1.4 * math.cos(2 * math.pi * i / 3), plate * 1.4 * math.sin(2 * math.pi * i / 3), z] for i in range(3)]
    # The frame that carries the motors.
    corner = [[reach * math.cos(2 * math.pi * i / 3), reach * math.sin(2 * math.pi * i / 3), top] for i in range(3)]
    m.rods("base", [(corner[i], corner[(i + 1) % 3]) for i in range(3)], radius=0.02, density=4, color=GREY)
    m.joint("mount", "fixed", "world", "base", [0, 0, top])
    m.rods("plate", [(ring[i], ring[(i + 1) % 3]) for i in range(3)], radius=0.015, density=2, color=GOLD)
    for i in range(3):
        t = 2 * math.pi * i / 3
        out, along = [math.cos(t), math.sin(t), 0], [-math.sin(t), math.cos(t), 0]
        at = lambda r, zz, s: [r * out[0] + s * along[0], r * out[1] + s * along[1], zz]
        m.rods(f"arm{i}", [(at(reach, top, 0), at(elbow_out, elbow_down, 0)),
                           (at(elbow_out, elbow_down, -half), at(elbow_out, elbow_down, half))], radius=0.015, color=RED)
        m.hinge(f"motor{i}", "base", f"arm{i}", at(reach, top, 0), along, damping=0.2,
                actuators=[{"input": f"torque{i}"}])
        for k, s in enumerate((-half, half)):
            name = f"rod{i}{'ab'[k]}"
            a, b = at(elbow_out, elbow_down, s), at(plate, z, s)
            m.rods(name, [(a, b)], radius=0.008, density=0.4, color=BLUE)
            # A universal joint above and a ball below: no rod spins about itself.
            m.joint(f"elbow{i}{'ab'[k]}", "universal", f"arm{i}", name, a, along, axis2=cross(along, [x / fore for x in sub(b, a)]))
            if i == 0 and k == 0:
                m.joint("wrist0a", "spherical", name, "plate", b)
            else:
                m.joint(f"wrist{i}{'ab'[k]}", "spherical", name, "plate", b, role="loop")
    m.data["inputs"] = [f"torque{i}" for i in range(3)]
    m.write()


def quadruped():
    m = Model("five-bar-quadruped")
    m.box("trunk", [0.2, 0.5, 0.1], [0, 0, 0.5], density=600, color=GREY)
    m.joint("base", "floating", "world", "trunk", [0, 0, 0])
    for name, x, y in [("fl", 0.14, 0.2), ("fr", -0.14, 0.2), ("rl", 0.14, -0.2), ("rr", -0.14, -0.2)]:
        hip = [x, y, 0.48]
        knees = [[x, y + s * 0.1 * math.sin(1.0), 0.48 - 0.1 * math.cos(1.0)] for s in (1, -1)]
        foot_z = knees[0][2] - math.sqrt(0.2**2 - (0.1 * math.sin(1.0)) ** 2)
        foot = [x, y, foot_z]
        for k, knee in zip("ab", knees):
            m.rods(f"{name}_thigh_{k}", [(hip, knee)], radius=0.012, density=1.5, color=RED)
            m.rods(f"{name}_shin_{k}", [(knee, foot)], radius=0.009, density=0.8, color=BLUE)
            m.hinge(f"{name}_hip_{k}", "trunk", f"{name}_thigh_{k}", hip, X, damping=0.02, armature=0.001,
                    spring={"stiffness": 8.0, "rest": 0.3 if k == "a" else -0.3})
            m.hinge(f"{name}_knee_{k}", f"{name}_thigh_{k}", f"{name}_shin_{k}", knee, X)
        m.close(f"{name}_foot", f"{name}_shin_a", f"{name}_shin_b", foot)
    m.v = {"base": [0.6, 0.2, 0.9, 0, 0.5, 3.0]}
    m.write()


def rhombus_chain(k):
    m = Model(f"rhombus-chain-{k}")
    top, half = [0, 0, 0], math.radians(35)
    hang = "world"
    for i in range(k):
        r, l = [0, top[1] + 0.5 * math.sin(half), top[2] - 0.5 * math.cos(half)], [0, top[1] - 0.5 * math.sin(half), top[2] - 0.5 * math.cos(half)]
        low = [0, top[1], top[2] - math.cos(half)]
        for name, a, b, c in [("ur", top, r, BLUE), ("lr", r, low, BLUE), ("ul", top, l, GREEN), ("ll", l, low, GREEN)]:
            m.rods(f"{name}{i}", [(a, b)], density=2, color=c)
        m.hinge(f"top{i}", hang, f"ur{i}", top)
        m.hinge(f"right{i}", f"ur{i}", f"lr{i}", r)
        m.hinge(f"apex{i}", f"ur{i}", f"ul{i}", top)
        m.hinge(f"left{i}", f"ul{i}", f"ll{i}", l)
        m.close(f"closure{i}", f"lr{i}", f"ll{i}", low)
        hang, top = f"ll{i}", low
    m.v = {"top0": 1.5}
    m.write()


def jansen():
    """One leg of eight bars around a crank, after Theo Jansen's proportions rounded by us (in decimetres)."""
    m = Model("jansen-leg")
    s = 0.02
    crank_at, ground = [0, 0, 0], [0, -38.0 * s, -7.8 * s]
    tip = polar(crank_at, 15.0 * s, 30)
    up = circles(tip, 50.0 * s, ground, 41.5 * s, 1)
    down = circles(tip, 61.9 * s, ground, 39.3 * s, -1)
    back = circles(up, 55.8 * s, ground, 40.1 * s, 1)
    heel = circles(back, 39.4 * s, down, 36.7 * s, 1)
    foot = circles(heel, 65.7 * s, down, 49.0 * s, 1)
    m.rods("crank", [(crank_at, tip)], color=RED)
    m.rods("upper_rod", [(tip, up)])
    m.rods("lower_rod", [(tip, down)])
    m.rods("thigh", [(ground, up), (up, back), (back, ground)], color=GREEN)
    m.rods("knee_bar", [(ground, down)], color=GREY)
    m.rods("tendon", [(back, heel)], color=GREY)
    m.rods("shin", [(down, heel), (heel, foot), (foot, down)], color=GOLD)
    m.hinge("crank_pivot", "world", "crank", crank_at, damping=0.05, actuators=[{"input": "torque"}])
    m.hinge("upper_pin", "crank", "upper_rod", tip)
    m.hinge("lower_pin", "crank", "lower_rod", tip)
    m.hinge("thigh_pivot", "world", "thigh", ground)
    m.hinge("bar_pivot", "world", "knee_bar", ground)
    m.hinge("back_pin", "thigh", "tendon", back)
    m.hinge("knee", "knee_bar", "shin", down)
    m.close("up_closure", "upper_rod", "thigh", up)
    m.close("down_closure", "lower_rod", "knee_bar", down)
    m.close("heel_closure", "tendon", "shin", heel)
    m.data["inputs"] = ["torque"]
    m.v = {"crank_pivot": 3.0, "upper_pin": -3.0, "lower_pin": -3.0}
    m.write()


def rolling_coin():
    m = Model("rolling-coin")
    r, t, mass, tilt = 0.3, 0.02, 0.8, 0.25
    a, c = mass * (3 * r * r + t * t) / 12, mass * r * r / 2
    q = [math.sqrt(0.5), math.sqrt(0.5), 0, 0]
    m.body("coin", mass, [0, 0, 0], [[a, 0, 0], [0, c, 0], [0, 0, a]],
           [{"shape": {"type": "cylinder", "radius": r, "length": t}, "placement": {"p": [0, 0, 0], "q": q}, "rgba": GOLD},
            {"shape": {"type": "box", "size": [2 * r * 0.9, t * 1.2, 0.03]}, "rgba": RED}])
    m.joint("free", "floating", "world", "coin", [0, 0, 0])
    m.data["constraints"] = [{"type": "rolling_disc", "name": "contact", "body": "coin", "axis": Y, "radius": r}]
    m.q = {"free": [math.cos(tilt / 2), math.sin(tilt / 2), 0, 0, 0, 0, r * math.cos(tilt)]}
    spin = 7.0
    m.v = {"free": [0.0, spin, 0.0, spin * r, 0.0, 0.0]}
    m.write()


def ball_chain(n):
    m = Model(f"ball-chain-{n}")
    length = 0.1
    for i in range(n):
        a, b = [0, i * length, 0], [0, (i + 1) * length, 0]
        m.rods(f"link{i}", [(a, b)], radius=0.04, density=1.0, color=[0.2 + 0.6 * i / n, 0.4, 0.8 - 0.6 * i / n, 1])
        m.joint(f"ball{i}", "spherical", "world" if i == 0 else f"link{i - 1}", f"link{i}", a)
    m.write()


if __name__ == "__main__":
    four_bar()
    six_bar("watt-linkage", False)
    six_bar("stephenson-linkage", True)
    slider_crank()
    pantograph()
    stewart()
    delta()
    quadruped()
    rhombus_chain(3)
    jansen()
    rolling_coin()
    ball_chain(100)
