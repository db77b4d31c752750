"""Tables, expectations and the lines of the README from measurements: the same form as an experiment's JSON."""

import math

import bars
from models import CHAINS, LOOPS

QUOTED = (
    ("trep 1.0.2, midpoint variational integrator", "chain of 10 hinges, µs per step", 330.0,
     "measured on the same kind of machine under Python 2.7, which it needs; cost grows like the third to fourth power of the links"),
    ("DART 7, linear-time variational integrator", "32 degrees of freedom, order 2, µs per step", 378.0, "its authors' report"),
    ("trep 1.0.2, loop by point-to-point constraints", "four-bar, 60 s at 10 ms, largest gap in m", 7.1e-12,
     "measured on the same kind of machine under Python 2.7"),
)


def short(x):
    """Three digits, as the experiments show numbers."""
    if x == 0:
        return "0"
    if not math.isfinite(x):
        return "not a number" if math.isnan(x) else "infinite"
    decade = math.floor(math.log10(abs(x)))
    if not -3 <= decade <= 4:
        mantissa, exponent = f"{x:.2e}".split("e")
        return f"{mantissa}e{int(exponent)}".replace(".00e", "e")
    text = f"{x:.{max(2 - decade, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def cell(x):
    if x is None or isinstance(x, str):
        return x
    return {"value": x if math.isfinite(x) else None, "shown": short(x)}


def table(title, head, rows):
    return {"title": title, "head": list(head), "rows": [[cell(x) for x in row] for row in rows]}


class Results:
    """Measurements by what they are."""

    def __init__(self, lines):
        self.lines = lines

    def find(self, section, system, model, variant="", key="us"):
        """The least of a key over builds, of the variant of that name or else of those that begin so; None if there is none."""
        lines = [line for line in self.lines if (line["section"], line["system"], line["model"]) == (section, system, model)
                 and line["variant"].startswith(variant) and line.get(key) is not None]
        exact = [line for line in lines if line["variant"] == variant]
        return min((line[key] for line in exact or lines), default=None)

    def of(self, section):
        return [line for line in self.lines if line["section"] == section]


def ratio(a, b):
    return a / b if a is not None and b else None


STEP_COLUMNS = (
    ("ours, minimal 2", "leastaction", "minimal2"), ("ours, minimal 4", "leastaction", "minimal4"), ("ours, maximal 2", "leastaction", "maximal2"),
    ("MuJoCo Euler", "mujoco", "Euler"), ("MuJoCo RK4", "mujoco", "RK4"), ("Pinocchio ABA, semi-implicit", "pinocchio", "ABA+semi"),
    ("Pinocchio ABA, RK4", "pinocchio", "ABA+RK4"), ("Drake discrete", "drake", "discrete"), ("Drake RK3", "drake", "runge_kutta3"),
    ("DART", "dart", "semi-implicit"), ("Exudyn RK44", "exudyn", "RK44"), ("Exudyn trapezoidal", "exudyn", "trapezoidal"))
LOOP_COLUMNS = (
    ("ours, maximal 2", "leastaction", "maximal2"), ("MuJoCo Euler, soft loops", "mujoco", "Euler, soft"), ("MuJoCo Euler, stiff loops", "mujoco", "Euler, stiff"),
    ("Pinocchio constraintDynamics", "pinocchio", "constraintDynamics"), ("the same with a step", "pinocchio", "constraintDynamics+"),
    ("Drake SAP", "drake", ""), ("DART", "dart", ""))


def grids():
    """Tables of steps: section, title, label of the first column, rows as (label, model), columns."""
    other = (*STEP_COLUMNS[:2], ("ours, minimal 6", "leastaction", "minimal6"), *STEP_COLUMNS[2:])
    return (("step", "One step of a chain of n hinges, µs", "n", [(str(n), f"chain{n}") for n in CHAINS], STEP_COLUMNS),
            ("step", "One step of a chain of n balls, µs", "n", [(str(n), f"ball{n}") for n in CHAINS], STEP_COLUMNS),
            ("step", "One step of other trees, µs", "model", [(m, m) for m in ("chainxy32", "panda", "talos")], other),
            ("loop", "One step of K stacked four-bars, µs", "K", [(str(k), f"loop{k}") for k in (1, *LOOPS)], LOOP_COLUMNS))


def grid(results, section, title, first, names, columns):
    rows = [[label, *(results.find(section, system, model, variant) for _, system, variant in columns)] for label, model in names]
    used = [k for k in range(1, len(columns) + 1) if any(row[k] is not None for row in rows)]
    rows = [[row[0], *(row[k] for k in used)] for row in rows if any(row[k] is not None for k in used)]
    return table(title, [first, *(columns[k - 1][0] for k in used)], rows)


def cost_at(lines, target):
    """Milliseconds per simulated second at an error, between the two runs around it on a line in logarithms."""
    points = sorted((line["error"], line["ms_per_second"]) for line in lines if 0 < line["error"] < math.inf)
    for (e0, c0), (e1, c1) in zip(points, points[1:]):
        if e0 <= target <= e1:
            t = math.log(target / e0) / math.log(e1 / e0) if e1 > e0 else 0.0
            return c0 * (c1 / c0) ** t
    return None


def cheapest(lines, target):
    """The cheapest run that keeps to an error: nothing between runs is assumed of ours."""
    return min((line["ms_per_second"] for line in lines if line["error"] <= target), default=None)


def families(lines):
    """Runs that differ in the step only."""
    groups = {}
    for line in lines:
        build = f" [{line['build']}]" if line.get("build") else ""
        groups.setdefault(f"{line['system']} {line['variant']}{build}", []).append(line)
    return groups


# Our own explicit methods, which the variational ones are judged against like any peer.
EXPLICIT = ("RK4", "DOP853")
TARGETS = (1e-3, 1e-6, 1e-9, 1e-12)


def by_variant(lines):
    """Lines by their variant."""
    groups = {}
    for line in lines:
        groups.setdefault(line["variant"], []).append(line)
    return groups


def precision_tables(results):
    groups = families(results.of("precision"))
    rows = [[name, line["dt"], line["error"], line["ms_per_second"]] for name, lines in groups.items()
            for line in sorted(lines, key=lambda line: -line["dt"])]
    yield table("Work and precision: 10-link pendulum, 10 s", ["system", "step / s", "error / m", "ms per simulated second"], rows)
    ours = [line for line in results.of("precision") if line["system"] == "leastaction"]
    rows = []
    explicit = [line for line in ours if line["variant"] in EXPLICIT]
    variational = [line for line in ours if line["variant"] not in EXPLICIT]
    for target in TARGETS:
        rows.append([f"leastaction, variational, to {short(target)} m", cheapest(variational, target)])
        rows += [[f"leastaction {name}, to {short(target)} m", cost_at(lines, target)] for name, lines in by_variant(explicit).items()]
        rows += [[f"{name}, to {short(target)} m", cost_at(lines, target)] for name, lines in groups.items() if not name.startswith("leastaction")]
    yield table("At equal error: ms per simulated second (ours: the cheapest run within the error; peers: between the two runs around it)",
                ["system", "ms per simulated second"], rows)


def equal_table(results):
    groups = families(results.of("equal"))
    rows = [[name, line["dt"], line["error"], line["us"], line["ms_per_second"]] for name, lines in groups.items()
            for line in sorted(lines, key=lambda line: -line["dt"])]
    return table("Chain of 100 balls over 1 s: what a cheap first-order step gives away",
                 ["system", "step / s", "error / m", "µs per step", "ms per simulated second"], rows)


def gap_table(results):
    rows = [[f"{line['system']} {line['variant']}", line["gap"], line["energy_error"], line["energy_change"], line["us"]]
            for line in sorted(results.of("gap"), key=lambda line: line["gap"])]
    return table("Four-bar over 60 s at 10 ms (energies relative to the largest kinetic one)",
                 ["system", "largest gap / m", "largest energy error", "energy change in the last 6 s", "µs per step"], rows)


def derivative_table(results):
    rows = []
    for model in ("panda", "talos", "chainxy32", "chainxy128"):
        for line in sorted((line for line in results.of("derivative") if line["model"] == model), key=lambda line: (line["variant"], line["us"])):
            build = f" [{line['build']}]" if line.get("build") else ""
            rows.append([model, f"{line['system']}{build}", line["variant"], line["us"], line.get("build_seconds")])
    return table("Derivatives, µs per call", ["model", "system", "what", "µs", "s to generate and compile"], rows)


def plain_table(results, section, title, extra=()):
    rows = []
    for line in sorted(results.of(section), key=lambda line: (line["n"], line["model"], line["us"])):
        build = f" [{line['build']}]" if line.get("build") else ""
        rows.append([line["model"], f"{line['system']} {line['variant']}{build}", line["us"], *(line.get(key) for _, key in extra)])
    return table(title, ["model", "system", "µs", *(label for label, _ in extra)], rows)


def document(lines, problems, machine, flags, versions, rounds):
    """All of peers.json."""
    results = Results(lines)
    for line in results.of("optimum"):
        line["cost_shown"] = f"{line['cost']:.9f}"
    found = [plain_table(results, "kernel", "Kernels, µs per call"),
             *(grid(results, *words) for words in grids()),
             gap_table(results), *precision_tables(results), equal_table(results), derivative_table(results),
             plain_table(results, "rollout", "Many runs on one thread, µs per step of one run"),
             plain_table(results, "linearize", "One linearised step, µs", [("µs of the step alone", "us_step")]),
             plain_table(results, "optimum", "Reach of a 7-joint arm: torque and jerk, 50 control points",
                         [("cost", "cost_shown"), ("iterations", "iterations"), ("s to build", "build_seconds")]),
             table("Quoted, not measured here", ["system", "what", "figure", "source"], QUOTED)]
    checks, headlines = bars.judge(results)
    named = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    return {"schema": "leastaction/peers/1", "name": "peers", "source": "ours, beside " + named,
            "statement": "The same work by leastaction and by its peers, in turn on the same machine.",
            "parameters": "Models are written by `leastaction convert` (rods of 1 m and 1 kg; robots of example-robot-data without damping, friction and limits, the "
                          "Panda's fingers held). Times are the least of many batches of 2 ms over "
                          f"{rounds} rounds in which ours and theirs alternate; ours per step is the mean over 2000 steps of 5 ms (loops: 1 ms) from the built-in "
                          "start, solved to the default tolerance. Peers close loops at a point, ours by all rows of a hinge. Pinocchio is called from C++, "
                          "DART, Drake's loops and SciPy from Python.",
            "command": f"leastaction bench --peers{flags}", "quick": False, "machine": machine, "versions": versions,
            "passed": all(check["verdict"] == "pass" for check in checks), "checks": checks, "headlines": headlines,
            "tables": [t for t in found if t["rows"]], "notes": [f"Not measured: {text}." for text in problems], "images": [],
            "problems": problems, "results": lines}


def as_text(doc):
    """For the terminal."""
    out = []
    for t in doc["tables"]:
        rows = [t["head"], *([x["shown"] if isinstance(x, dict) else x or "–" for x in row] for row in t["rows"])]
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        out += ["", t["title"], *("  ".join(x.ljust(w) if k == 0 else x.rjust(w) for k, (x, w) in enumerate(zip(row, widths))) for row in rows)]
    out.append("")
    out += [f"{check['verdict']:<5} {check['what']}: {check['shown']} (expected {check['bound']})"
            + (f"; {check['reason']}" if check["verdict"] == "loss" else "") for check in doc["checks"]]
    return "\n".join([*out, *doc["notes"]])
