"""Models for all peers, from files that `leastaction convert` writes.

Per model: NAME.json (ours), NAME.xml (MJCF), NAME.urdf and NAME.txt, rows of numbers for the C++ programs and for CasADi and
JAX. Peers close loops at a point, which is enough in a plane and less work for them; ours keeps all five rows of a hinge.
"""

import json
import math
import subprocess

CHAINS = (1, 2, 5, 10, 20, 32, 50, 100, 200, 500)
LOOPS = (2, 5, 10, 20, 50, 100)
KINDS = {"revolute": "r", "continuous": "r", "prismatic": "p", "spherical": "s", "floating": "f"}
IDENTITY = {"p": [0.0, 0.0, 0.0], "q": [1.0, 0.0, 0.0, 0.0]}


def built_ins(quick=False):
    """Name and source of every built-in model."""
    sizes = (2, 10, 32, 100) if quick else CHAINS
    names = {f"chain{n}": f"@chain/{n}" for n in sizes}
    names |= {f"ball{n}": f"@ball-chain/{n}" for n in sizes}
    names |= {f"chainxy{n}": f"@chain-xy/{n}" for n in (32, 128)}
    names |= {f"loop{k}": f"@four-bars/{k}" for k in (LOOPS[:3] if quick else LOOPS)}
    return names | {"loop1": "@four-bar"}


def write(leastaction, folder, quick, robots, problem):
    """Writes all files; `robots` is the folder of example-robot-data, or None. Returns our name of each model."""
    folder.mkdir(parents=True, exist_ok=True)
    ours = {}
    for name, source in built_ins(quick).items():
        convert(leastaction, source, folder / f"{name}.json")
        model = json.loads((folder / f"{name}.json").read_text())
        ours[name] = source
        derive(leastaction, folder, name, model)
    if robots is None:
        problem("panda and talos: example-robot-data is not installed")
        return ours
    for name, file, base in (("panda", "panda_description/urdf/panda.urdf", "fixed"),
                             ("talos", "talos_data/robots/talos_reduced.urdf", "floating")):
        try:
            convert(leastaction, robots / file, folder / f"{name}.json", "--base", base)
            model = plain_robot(json.loads((folder / f"{name}.json").read_text()))
            (folder / f"{name}.json").write_text(json.dumps(model))
            derive(leastaction, folder, name, model)
            ours[name] = str(folder / f"{name}.json")
        except (subprocess.CalledProcessError, OSError, KeyError) as error:
            problem(f"{name}: {error}")
    return ours


def convert(leastaction, source, target, *flags):
    subprocess.run([str(leastaction), "convert", str(source), str(target), *flags], check=True, capture_output=True)


def plain_robot(model):
    """Without damping, friction, limits and couplings; the fingers of a hand are held."""
    for joint in model["joints"]:
        for key in ("damping", "friction", "limits", "mimic"):
            joint.pop(key, None)
        if "finger" in joint["name"] and joint["type"] == "prismatic":
            joint["type"] = "fixed"
            joint.pop("axis")
    return model


def derive(leastaction, folder, name, model):
    """The peers' files of a model."""
    # Some peers warn of shapes they do not know.
    bodies = [{key: value for key, value in body.items() if key != "visuals"} for body in model["bodies"]]
    tree = dict(model, bodies=bodies, joints=[joint for joint in model["joints"] if joint.get("role") != "loop"])
    loops = [dict(joint, type="spherical") for joint in model["joints"] if joint.get("role") == "loop"]
    for joint in loops:
        joint.pop("axis", None)
    scratch = folder / f"{name}.peers.json"
    scratch.write_text(json.dumps(dict(tree, joints=tree["joints"] + loops)))
    convert(leastaction, scratch, folder / f"{name}.xml")
    if not any(joint["type"] in ("spherical", "floating") for joint in tree["joints"]):
        scratch.write_text(json.dumps(tree))
        convert(leastaction, scratch, folder / f"{name}.urdf")
    scratch.unlink()
    (folder / f"{name}.txt").write_text("\n".join(rows(tree, loops)) + "\n")


def multiply(a, b):
    """Product of quaternions."""
    (w, x, y, z), (s, t, u, v) = a, b
    return [w * s - x * t - y * u - z * v, w * t + x * s + y * v - z * u, w * u - x * v + y * s + z * t, w * v + x * u - y * t + z * s]


def matrix(q):
    w, x, y, z = q
    return [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]


def turned(m, p):
    return [sum(m[i][k] * p[k] for k in range(3)) for i in range(3)]


def after(a, b):
    """Placement b seen through placement a."""
    moved = turned(matrix(a["q"]), b["p"])
    return {"p": [x + y for x, y in zip(a["p"], moved)], "q": multiply(a["q"], b["q"])}


def together(bodies):
    """Mass, com and inertia of bodies (placement, description) as one, in the common frame."""
    mass = sum(body["mass"] for _, body in bodies)
    coms = [[x + y for x, y in zip(place["p"], turned(matrix(place["q"]), body.get("com", [0, 0, 0])))] for place, body in bodies]
    com = [sum(body["mass"] * c[i] for (_, body), c in zip(bodies, coms)) / mass if mass else 0.0 for i in range(3)]
    total = [[0.0] * 3 for _ in range(3)]
    for (place, body), c in zip(bodies, coms):
        xx, yy, zz, xy, xz, yz = body.get("inertia", [0] * 6)
        own, m = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], matrix(place["q"])
        d = [c[i] - com[i] for i in range(3)]
        square = sum(x * x for x in d)
        for i in range(3):
            for j in range(3):
                total[i][j] += sum(m[i][k] * own[k][l] * m[j][l] for k in range(3) for l in range(3))
                total[i][j] += body["mass"] * ((square if i == j else 0.0) - d[i] * d[j])
    return mass, com, total


def depth_first(joints):
    """Joints of a tree so that subtrees stay together: Pinocchio's algorithms rely on it."""
    of = {}
    for joint in joints:
        of.setdefault(joint["parent"], []).append(joint)
    found, stack = [], of.get("world", [])[::-1]
    while stack:
        found.append(stack.pop())
        stack += of.get(found[-1]["child"], [])[::-1]
    return found


def rows(tree, loops):
    """Rows of a tree, bodies behind fixed joints merged; then loops and the start."""
    carrier = {"world": (0, IDENTITY)}
    parts, heads, order = {}, [], []
    bodies = {body["name"]: body for body in tree["bodies"]}
    for joint in depth_first(tree["joints"]):
        number, place = carrier[joint["parent"]]
        place = after(place, joint.get("parent_placement", IDENTITY))
        if joint.get("child_placement"):
            raise KeyError(f"joint {joint['name']} has a placement on its child")
        if joint["type"] != "fixed":
            order.append(joint)
            heads.append((number, KINDS[joint["type"]], joint.get("axis", [0, 0, 1]), place))
            number, place = len(heads), IDENTITY
        carrier[joint["child"]] = (number, place)
        parts.setdefault(number, []).append((place, bodies[joint["child"]]))
    text = lambda numbers: " ".join(repr(float(x)) for x in numbers)  # noqa: E731
    out = []
    for number, (parent, kind, axis, place) in enumerate(heads, 1):
        mass, com, total = together(parts[number])
        norm = math.sqrt(sum(x * x for x in axis))
        flat = [x for row in matrix(place["q"]) for x in row]
        out.append(f"body {parent} {kind} " + text([*(x / norm for x in axis), *flat, *place["p"], mass, *com, total[0][0], total[0][1],
                                                   total[0][2], total[1][1], total[1][2], total[2][2]]))
    for joint in loops:
        points = []
        for side in ("parent", "child"):
            number, place = carrier[joint[side]]
            points.append(f"{number} " + text(after(place, joint.get(f"{side}_placement", IDENTITY))["p"]))
        out.append("loop " + " ".join(points))
    start = tree.get("states", {}).get("start", {}).get("q", {})
    values = []
    for joint in order:
        rest = {"s": [1, 0, 0, 0], "f": [1, 0, 0, 0, 0, 0, 0]}.get(KINDS[joint["type"]], 0.0)
        q = start.get(joint["name"], rest)
        if not isinstance(q, list):
            values.append(q)
        else:
            w, x, y, z = q[:4]
            values += [*q[4:], x, y, z, w]
    return [*out, "start " + text(values)]
