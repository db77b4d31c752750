"""Least and median time of a call over short batches, and lines of results."""

import json
import time


def timed(call, batch=0.002, batches=40, budget=1.5):
    """Microseconds per unit of `call(k)`, which does the work k times."""
    k = 1
    while True:
        begin = time.perf_counter()
        call(k)
        spent = time.perf_counter() - begin
        if spent >= batch or k >= 1 << 24:
            break
        k *= 8 if spent < batch / 20 else 2
    times = []
    limit = time.perf_counter() + budget
    while len(times) < batches and (len(times) < 5 or time.perf_counter() < limit):
        begin = time.perf_counter()
        call(k)
        times.append((time.perf_counter() - begin) / k * 1e6)
    times.sort()
    return times[0], times[len(times) // 2]


def sampled(advance, state, samples, steps_per_sample):
    """States after each of `samples` calls of `advance()`, and the least microseconds per step."""
    positions, rates, best = [], [], float("inf")
    for _ in range(samples):
        begin = time.perf_counter()
        advance()
        best = min(best, (time.perf_counter() - begin) / steps_per_sample * 1e6)
        q, v = state()
        positions.append([float(x) for x in q])
        rates.append([float(x) for x in v])
    return positions, rates, best


def line(section, system, variant, model, n, us, median=None, **more):
    """One measurement."""
    return {"section": section, "system": system, "variant": variant, "model": model, "n": n, "us": us,
            "us_median": us if median is None else median, **more}


def emit(results):
    """Writes measurements for the program that started this one."""
    for result in results:
        print(json.dumps(result), flush=True)
