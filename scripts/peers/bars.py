"""What is expected beside the peers, as code: a ratio of ours over theirs, or a figure of ours."""

import tables


def judge(results):
    """Expectations with what was measured, and lines for the README; what was not measured is left out."""
    checks, headlines = [], []
    find = results.find

    def check(what, measured, bound, origin, at_least=False, reason="not there yet: nothing in the method stands against it"):
        if measured is None:
            return
        holds = measured >= bound if at_least else measured <= bound
        checks.append({"what": what, "origin": origin, "bound": f"{'≥' if at_least else '≤'} {tables.short(bound)}", "measured": measured,
                       "shown": tables.short(measured), "verdict": "pass" if holds else "loss", "reason": None if holds else reason})

    def against(what, ours, theirs, bound=1.0, origin="no slower than the peer", **more):
        check(what, tables.ratio(ours, theirs), bound, origin, **more)

    rows(results, check)
    for model in ("panda", "talos", "chain100"):
        for kernel, word in (("rnea", "inverse dynamics"), ("aba", "forward dynamics"), ("crba", "mass matrix")):
            against(f"{word} of {model}: ours over Pinocchio's best", find("kernel", "leastaction", model, kernel), find("kernel", "pinocchio", model, kernel))
    for order, bound in ((2, 2.0), (4, 3.0), (6, 4.5)):
        ours = find("step", "leastaction", "chain32", f"minimal{order}")
        check(f"32 hinges, minimal order {order}: µs per link and step", tables.ratio(ours, 32), bound, "our aim")
        against(f"32 hinges about x and y over about x, order {order}", find("step", "leastaction", "chainxy32", f"minimal{order}"), ours, 1.1,
                "nothing may know that a chain is planar")
    ball, chain = find("step", "leastaction", "ball100", "maximal"), find("step", "leastaction", "chain100", "maximal")
    check("100 hinges, maximal: µs per link and step", tables.ratio(chain, 100), 1.5, "our aim")
    check("100 balls, maximal: µs per link and step", tables.ratio(ball, 100), 1.0, "our aim")
    against("100 balls: maximal over MuJoCo Euler", ball, find("step", "mujoco", "ball100", "Euler"), 0.1, "ten times faster")
    against("100 balls: maximal over Pinocchio ABA+RK4", ball, find("step", "pinocchio", "ball100", "ABA+RK4"))
    longer = find("step", "leastaction", "chain200", "maximal")
    against("200 hinges: maximal over Pinocchio ABA+RK4", longer, find("step", "pinocchio", "chain200", "ABA+RK4"))
    against("200 hinges: maximal over MuJoCo RK4", longer, find("step", "mujoco", "chain200", "RK4"), 0.25, "four times faster")
    check("four-bar, maximal: µs per step", find("loop", "leastaction", "loop1"), 8.0, "our aim")
    loops = find("loop", "leastaction", "loop50")
    check("50 four-bars, maximal: µs per segment", tables.ratio(loops, 50), 10.0, "our aim")
    against("50 four-bars: maximal over MuJoCo's soft loops", loops, find("loop", "mujoco", "loop50", "Euler, soft"))
    against("50 four-bars: maximal over Pinocchio's constraintDynamics", loops, find("loop", "pinocchio", "loop50", "constraintDynamics"))
    check("four-bar over 60 s: our largest gap / m", find("gap", "leastaction", "loop1", "maximal, order 2", "gap"), 1e-12, "to rounding")
    precision(results, check, headlines)
    equal(results, check)
    for model in ("panda", "talos", "chainxy32", "chainxy128"):
        against(f"torque Jacobian of {model}: ours over computeRNEADerivatives", find("derivative", "leastaction", model, "torque Jacobian, order 0"),
                find("derivative", "pinocchio", model, "computeRNEA"))
        for what, ours in (("velocity", "velocity of the last"), ("velocity and acceleration", "velocity and acceleration")):
            against(f"{what} Jacobian of {model}: ours over Pinocchio's", find("derivative", "leastaction", model, ours),
                    find("derivative", "pinocchio", model, f"{what} of"))
    against("torque Jacobian of panda: ours over CasADi's compiled C", find("derivative", "leastaction", "panda", "torque Jacobian, order 0"),
            find("derivative", "casadi", "panda", "torque Jacobian, compiled"), reason="the generated code is unrolled for this one arm; ours reads any")
    rate = find("derivative", "leastaction", "panda", "torque Jacobian, order 1")
    against("torque-rate Jacobian of panda: ours over CasADi's compiled C", rate, find("derivative", "casadi", "panda", "torque-rate Jacobian, compiled"))
    against("torque-rate Jacobian of panda: ours over Pinocchio with differences", rate, find("derivative", "pinocchio", "panda", "torque rate"))
    against("torque-rate Jacobian of panda: ours over JAX", rate, find("derivative", "jax", "panda", "torque-rate"))
    for model, bound in (("chain10", 54.0), ("chain50", 1000.0), ("chain200", 20000.0)):
        both, step = find("linearize", "leastaction", model, "linearize2"), find("linearize", "leastaction", model, "linearize2", "us_step")
        beyond = both - step if both is not None and step is not None else None
        check(f"linearised step of {model}, order 2: µs beyond the step", beyond, bound, "our aim")
        against(f"linearised step of {model}: beyond the step, over mjd_transitionFD", beyond, find("linearize", "mujoco", model))
    for order in (2, 4):
        both = find("linearize", "leastaction", "chain32", f"linearize{order}")
        step = find("linearize", "leastaction", "chain32", f"linearize{order}", "us_step")
        check(f"linearised step of 32 links, order {order}: steps' worth", tables.ratio(both, step), 21.0, "at most 20 steps beyond the step")
    optimum(results, check, headlines)
    if ball is not None and find("step", "pinocchio", "ball100", "ABA+RK4") is not None:
        theirs = [(name, find("step", system, "ball100", variant)) for name, system, variant in
                  (("MuJoCo Euler", "mujoco", "Euler"), ("Pinocchio ABA+RK4", "pinocchio", "ABA+RK4"))]
        headlines.append(["one step of 100 ball joints", f"{tables.short(ball)} µs (maximal, order 2)",
                          ", ".join(f"{tables.short(us)} µs {name}" for name, us in theirs if us is not None)])
    return checks, headlines


FIRST_ORDER = ("a step of first order evaluates the dynamics once, ours solves an equation of second order or more; at equal error the tables of "
               "work and precision decide")
SMALL_LOOPS = "one evaluation without iterations, whose loop needs gains to stay closed, against a solved step"


def rows(results, check):
    """A verdict for every row of the tables of steps: our cheapest beside the cheapest peer, whatever its order; of loops only those
    that keep them closed to 10 µm over a minute count."""
    closed = {line["system"] for line in results.of("gap") if line.get("gap") is not None and line["gap"] <= 1e-5}
    for section, title, first, names, columns in tables.grids():
        for label, model in names:
            found = [(results.find(section, system, model, variant), system, name) for name, system, variant in columns]
            ours = [(us, name) for us, system, name in found if us is not None and system == "leastaction"]
            theirs = [(us, name) for us, system, name in found if us is not None and system != "leastaction"
                      and (section != "loop" or system in closed)]
            if ours and theirs:
                (mine, own), (best, peer) = min(ours), min(theirs)
                what = title.removeprefix("One step of ").removesuffix(", µs").replace("a chain of n", f"a chain of {label}").replace("K stacked", f"{label} stacked")
                what = what.replace("other trees", label)
                check(f"step of {what}: {own} over {peer}, the cheapest peer of any order", mine / best, 1.0, "every row has a verdict",
                      reason=SMALL_LOOPS if section == "loop" else FIRST_ORDER)


def precision(results, check, headlines):
    lines = results.of("precision")
    ours = [line for line in lines if line["system"] == "leastaction" and line["variant"] not in tables.EXPLICIT]
    families = {name: group for name, group in tables.families(lines).items() if group[0]["system"] != "leastaction" or group[0]["variant"] in tables.EXPLICIT}
    for target in tables.TARGETS:
        cost = tables.cheapest(ours, target)
        best = {name: tables.cost_at(group, target) for name, group in families.items()}
        best = {name: value for name, value in best.items() if value is not None}
        if best and cost is not None:
            name = min(best, key=best.get)
            bound = {1e-6: 0.8, 1e-9: 0.45}.get(target, 1.0)
            check(f"10-link pendulum to {tables.short(target)} m: ours over the cheapest explicit method of all, {name}", cost / best[name], bound,
                  "cheaper at equal error", reason="at coarse errors few plain evaluations are less work than one implicit solve")
            headlines.append([f"10-link pendulum to {tables.short(target)} m beside the cheapest explicit method of all, per simulated second",
                              f"{tables.short(cost)} ms", f"{tables.short(best[name])} ms, {name}"])


def equal(results, check):
    """Steps of 100 balls that are cheaper than ours, at our error."""
    lines = results.of("equal")
    ours = [line for line in lines if line["system"] == "leastaction" and line["variant"].startswith("maximal")]
    for name, theirs in tables.families([line for line in lines if line["system"] == "pinocchio"]).items():
        if not ours:
            return
        cost = tables.cost_at(theirs, ours[0]["error"])
        # Above its finest run nothing is known; then the finest run is a lower bound of its cost. Below its coarsest, that is an upper one.
        finest, coarsest = (pick(theirs, key=lambda line: line["error"]) for pick in (min, max))
        if cost is None:
            cost = (finest if finest["error"] > ours[0]["error"] else coarsest)["ms_per_second"]
        check(f"100 balls over 1 s: maximal over {name} at our error", tables.ratio(ours[0]["ms_per_second"], cost), 1.0, "cheaper at equal error",
              reason="over one smooth second a method of fourth order takes steps four times as long; poses at order 4 are the answer, at twice the cost of a step")


def optimum(results, check, headlines):
    ours = [line for line in results.of("optimum") if line["system"] == "leastaction"]
    if not ours:
        return
    mine = min(ours, key=lambda line: line["us"])
    beside = []
    for system in ("scipy+pinocchio", "casadi"):
        theirs = [line for line in results.of("optimum") if line["system"] == system]
        if theirs:
            other = min(theirs, key=lambda line: line["us"])
            name = f"{system} {other['variant']}"
            check(f"reach of panda: our cost over that of {name}, less one", mine["cost"] / other["cost"] - 1, 1e-6, "the same optimum or a better one")
            check(f"reach of panda: time of {name} over ours", other["us"] / mine["us"], 8.0, "eight times faster", at_least=True)
            built = f" after {tables.short(other['build_seconds'])} s of building" if other.get("build_seconds") else ""
            beside.append(f"{tables.short(other['us'] * 1e-6)} s {name}{built}")
    if beside:
        headlines.append(["optimal reach of a 7-joint arm, torque and jerk", f"{tables.short(mine['us'] * 1e-6)} s", ", ".join(beside)])
