"""What is expected beside the peers, as code: a ratio of ours over theirs, or a figure of ours."""

import tables


def judge(results):
    """Expectations with what was measured, and lines for the README; what was not measured is left out."""
    checks, headlines = [], []
    find = results.find

    def check(what, measured, bound, origin, at_least=False):
        if measured is None:
            return
        holds = measured >= bound if at_least else measured <= bound
        checks.append({"what": what, "origin": origin, "bound": f"{'≥' if at_least else '≤'} {tables.short(bound)}", "measured": measured,
                       "shown": tables.short(measured), "verdict": "pass" if holds else "loss", "reason": None})

    def against(what, ours, theirs, bound=1.0, origin="no slower than the peer"):
        check(what, tables.ratio(ours, theirs), bound, origin)

    for model in ("panda", "talos", "chain100"):
        against(f"forward dynamics of {model}: ours over Pinocchio's best", find("kernel", "leastaction", model), find("kernel", "pinocchio", model, "aba"))
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
    against("50 four-bars: maximal over MuJoCo's soft loops", loops, find("loop", "mujoco", "loop50"))
    against("50 four-bars: maximal over Pinocchio's constraintDynamics", loops, find("loop", "pinocchio", "loop50", "constraintDynamics"))
    check("four-bar over 60 s: our largest gap / m", find("gap", "leastaction", "loop1", "maximal, order 2", "gap"), 1e-12, "to rounding")
    precision(results, check, headlines)
    equal(results, check)
    for model in ("panda", "talos", "chainxy32", "chainxy128"):
        against(f"torque Jacobian of {model}: ours over computeRNEADerivatives", find("derivative", "leastaction", model, "torque Jacobian, order 0"),
                find("derivative", "pinocchio", model, "computeRNEA"))
    for what, ours in (("velocity", "velocity of the last"), ("velocity and acceleration", "velocity and acceleration")):
        against(f"{what} Jacobian of 128 hinges: ours over Pinocchio's", find("derivative", "leastaction", "chainxy128", ours),
                find("derivative", "pinocchio", "chainxy128", f"{what} of"))
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


def precision(results, check, headlines):
    lines = results.of("precision")
    ours = [line for line in lines if line["system"] == "leastaction"]
    for target, bound in ((1e-6, 2.0), (1e-9, 3.0)):
        cost = tables.cheapest(ours, target)
        check(f"10-link pendulum to {tables.short(target)} m: ms per simulated second", cost, bound, "our aim")
        best = {name: tables.cost_at(group, target) for name, group in tables.families(lines).items() if not name.startswith("leastaction")}
        best = {name: value for name, value in best.items() if value is not None}
        if best and cost is not None:
            name = min(best, key=best.get)
            check(f"10-link pendulum to {tables.short(target)} m: ours over the best peer, {name}", cost / best[name], 1.0, "cheaper at equal error")
            headlines.append([f"10-link pendulum to {tables.short(target)} m beside the best peer, per simulated second", f"{tables.short(cost)} ms",
                              f"{tables.short(best[name])} ms, {name}"])


def equal(results, check):
    """The semi-implicit step of 100 balls is cheaper than ours: at our error it is not."""
    lines = results.of("equal")
    ours = [line for line in lines if line["system"] == "leastaction" and line["variant"].startswith("maximal")]
    theirs = [line for line in lines if line["system"] == "pinocchio"]
    if ours and theirs:
        cost = tables.cost_at(theirs, ours[0]["error"])
        # Above its finest run nothing is known; then the finest run is a lower bound of its cost.
        finest = min(theirs, key=lambda line: line["error"])
        cost = finest["ms_per_second"] if cost is None and finest["error"] > ours[0]["error"] else cost
        check("100 balls over 1 s: maximal over Pinocchio semi-implicit at our error", tables.ratio(ours[0]["ms_per_second"], cost), 1.0,
              "a first-order step must be short to be as exact")


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
            check(f"reach of panda: our cost over that of {system}, less one", mine["cost"] / other["cost"] - 1, 1e-6, "the same optimum or a better one")
            check(f"reach of panda: time of {system} over ours", other["us"] / mine["us"], 10.0, "ten times faster", at_least=True)
            beside.append(f"{tables.short(other['us'] * 1e-6)} s {system}")
    if beside:
        headlines.append(["optimal reach of a 7-joint arm, torque and jerk", f"{tables.short(mine['us'] * 1e-6)} s", ", ".join(beside)])
