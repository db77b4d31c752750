"""Writes draws.csv: the first hundred draws of five laws, by a program that shares nothing with the library.

Philox is written from its paper; the normal quantile is that of SciPy.

    python draws.py > draws.csv
"""

import math

import numpy as np
from scipy.special import ndtri

SEED = 7


def fnv(text: str) -> int:
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Ten rounds of Philox 4x32, from the description in the paper."""
    x, k = [np.uint64(c) for c in counter], list(key)
    mask = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * x[0], np.uint64(0xCD9E8D57) * x[2]
        x = [(b >> np.uint64(32)) ^ x[1] ^ np.uint64(k[0]), b & mask, (a >> np.uint64(32)) ^ x[3] ^ np.uint64(k[1]), a & mask]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return [int(v) for v in x]


def bits(name: str, run: int) -> int:
    h = fnv(name)
    out = philox([run % 2**32, run >> 32, h % 2**32, h >> 32], [SEED % 2**32, SEED >> 32])
    return ((out[0] << 32) | out[1]) >> 11


def row(run: int) -> list[float]:
    unit = {name: bits(name, run) / 2**53 for name in ("uniform", "log_uniform", "values", "linspace")}
    return [
        -0.3 + 0.6 * unit["uniform"],
        1.0 + 0.1 * float(ndtri((bits("normal", run) + 0.5) / 2**53)),
        math.exp(math.log(0.5) + (math.log(2.0) - math.log(0.5)) * unit["log_uniform"]),
        [0.0, 1.0, 2.0][int(3 * unit["values"])],
        [-9.9, -9.9 + (-9.7 + 9.9) * 0.5, -9.7][int(3 * unit["linspace"])],
    ]


print("run,uniform,normal,log_uniform,values,linspace")
for run in range(100):
    print(run, *(repr(x) for x in row(run)), sep=",")
