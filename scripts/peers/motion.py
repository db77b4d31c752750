"""Where bodies are and what their energy is, from rows of models.py and joint positions (quaternions x y z w)."""

import math

from models import matrix, turned

GRAVITY = 9.81


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def product(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(3)) for j in range(3)] for i in range(3)]


class Tree:
    """Hinges and balls."""

    def __init__(self, text):
        self.bodies, self.loops, self.start = [], [], []
        for row in text.splitlines():
            word, *rest = row.split()
            if word == "body":
                x = [float(value) for value in rest[2:]]
                self.bodies.append({"parent": int(rest[0]), "kind": rest[1], "axis": x[:3], "turn": [x[3:6], x[6:9], x[9:12]], "at": x[12:15],
                                    "mass": x[15], "com": x[16:19], "inertia": [[x[19], x[20], x[21]], [x[20], x[22], x[23]], [x[21], x[23], x[24]]]})
            elif word == "loop":
                self.loops.append((int(rest[0]), [float(x) for x in rest[1:4]], int(rest[4]), [float(x) for x in rest[5:8]]))
            elif word == "start":
                self.start = [float(x) for x in rest]

    def poses(self, q):
        """Rotation and position of the ground and every body."""
        found, k = [([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]], [0.0] * 3)], 0
        for body in self.bodies:
            turn, at = found[body["parent"]]
            if body["kind"] == "r":
                half = 0.5 * q[k]
                own = [math.cos(half), *(math.sin(half) * x for x in body["axis"])]
                k += 1
            else:
                x, y, z, w = q[k:k + 4]
                own = [w, x, y, z]
                k += 4
            place = [x + y for x, y in zip(at, turned(turn, body["at"]))]
            found.append((product(product(turn, body["turn"]), matrix(own)), place))
        return found

    def ends(self, q):
        """The far end of each rod of a chain."""
        return [[x + y for x, y in zip(at, turned(turn, [0.0, 0.0, -1.0]))] for turn, at in self.poses(q)[1:]]

    def gap(self, q):
        """Largest distance of two points that a loop should hold together."""
        found = self.poses(q)

        def point(body, p):
            turn, at = found[body]
            return [x + y for x, y in zip(at, turned(turn, p))]

        return max(math.dist(point(a, p), point(b, r)) for a, p, b, r in self.loops)

    def energy(self, q, v):
        """Kinetic and potential energy of a tree of hinges."""
        found = self.poses(q)
        spin, speed, total = [[0.0] * 3], [[0.0] * 3], 0.0
        for k, body in enumerate(self.bodies):
            turn, at = found[k + 1]
            parent = body["parent"]
            arm = [x - y for x, y in zip(at, found[parent][1])]
            velocity = [x + y for x, y in zip(speed[parent], cross(spin[parent], arm))]
            axis = turned(turn, body["axis"])
            omega = [x + y * v[k] for x, y in zip(spin[parent], axis)]
            spin.append(omega)
            speed.append(velocity)
            com = turned(turn, body["com"])
            at_com = [x + y for x, y in zip(velocity, cross(omega, com))]
            local = [sum(turn[j][i] * omega[j] for j in range(3)) for i in range(3)]
            total += 0.5 * body["mass"] * sum(x * x for x in at_com)
            total += 0.5 * sum(local[i] * body["inertia"][i][j] * local[j] for i in range(3) for j in range(3))
            total += body["mass"] * GRAVITY * (at[2] + com[2])
        return total


def link_ends(row, names):
    """The same of a row of our trajectory.csv."""
    out = []
    for name in names:
        p = [float(row[f"x.{name}.p{c}"]) for c in "xyz"]
        q = [float(row[f"x.{name}.q{c}"]) for c in "wxyz"]
        out.append([x + y for x, y in zip(p, turned(matrix(q), [0.0, 0.0, -1.0]))])
    return out


def largest_distance(states, reference):
    """Largest distance of corresponding points; infinite where a run broke down."""
    worst = 0.0
    for state, exact in zip(states, reference):
        for p, r in zip(state, exact):
            d = math.dist(p, r)
            if not d < 1e6:
                return math.inf
            worst = max(worst, d)
    return worst
