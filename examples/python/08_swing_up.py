"""Swing a pole up by optimal control, then replay with feedback on another integrator."""

from pathlib import Path

import leastaction as la

found = la.control(Path(__file__).resolve().parents[2] / "examples" / "cart_pole.toml", report=False)
replay = la.simulate(found.mechanism, policy=found.policy, integrator="rk4", step=0.002, report=False)
end = replay.summary["policy"]["end"]
print(f"{found.status}: {found.policy.steps} inputs of at most {abs(found.inputs).max():.2f} N")
print(f"the replay ends {end['position']:.1e} rad or m from the goal, and stays within {end['last_position']:.1e}")
assert end["last_position"] < 1e-3
