"""Inverse dynamics of a chain of hinges from a file of rows, written once for arrays of any kind (CasADi, JAX)."""

import numpy as np


def read(path):
    """Links of a serial arm: axis, rotation, position, mass, com, inertia."""
    links = []
    for row in path.read_text().splitlines():
        word, *rest = row.split()
        if word == "body":
            if int(rest[0]) != len(links) or rest[1] != "r":
                raise ValueError(f"{path} is no serial arm of hinges")
            x = np.array([float(value) for value in rest[2:]])
            i = x[19:25]
            inertia = np.array([[i[0], i[1], i[2]], [i[1], i[3], i[4]], [i[2], i[4], i[5]]])
            links.append((x[:3], x[3:12].reshape(3, 3), x[12:15], x[15], x[16:19], inertia))
    return links


def hat(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def torques(links, q, v, a, kind):
    """Torques as a list; `kind` has constant, sin, cos, cross, times and dot for the arrays in use."""
    c = kind.constant
    w, dw, acc = c(np.zeros(3)), c(np.zeros(3)), c(np.array([0, 0, 9.81]))
    forward = []
    for i, (axis, fixed, arm, mass, com, inertia) in enumerate(links):
        k = hat(axis)
        turn = kind.times(c(fixed), c(np.eye(3)) + kind.sin(q[i]) * c(k) + (1 - kind.cos(q[i])) * c(k @ k))
        acc = kind.times(turn.T, acc + kind.cross(dw, c(arm)) + kind.cross(w, kind.cross(w, c(arm))))
        w, dw = kind.times(turn.T, w), kind.times(turn.T, dw)
        dw = dw + c(axis) * a[i] + kind.cross(w, c(axis) * v[i])
        w = w + c(axis) * v[i]
        force = mass * (acc + kind.cross(dw, c(com)) + kind.cross(w, kind.cross(w, c(com))))
        moment = kind.times(c(inertia), dw) + kind.cross(w, kind.times(c(inertia), w)) + kind.cross(c(com), force)
        forward.append((turn, arm, axis, force, moment))
    result, force, moment = [], c(np.zeros(3)), c(np.zeros(3))
    for turn, arm, axis, f, m in reversed(forward):
        force, moment = force + f, moment + m
        result.append(kind.dot(c(axis), moment))
        force, moment = kind.times(turn, force), kind.times(turn, moment)
        moment = moment + kind.cross(c(arm), force)
    return result[::-1]
