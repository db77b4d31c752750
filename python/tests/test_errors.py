"""Exceptions: right class, attributes, pickling, keywords in place of flags."""

import json
import pickle
import re

import numpy as np
import pytest

import leastaction as la
from conftest import ROOT
from leastaction import errors


def provoke(call, kind, builtin, **attributes):
    with pytest.raises(kind) as caught:
        call()
    error = caught.value
    assert isinstance(error, errors.LeastActionError) and isinstance(error, builtin)
    for name, value in attributes.items():
        assert getattr(error, name) == value, name
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error) and again._attributes == error._attributes
    assert "--" not in str(error), str(error)
    return error


def test_files_and_models(tmp_path):
    provoke(lambda: la.load(tmp_path / "nothing.urdf"), errors.FileError, OSError)
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"schema": "leastaction/model/1", "name": "x", "bodies": [{"name": "a", "mass": -1}], "jonts": []}')
    error = provoke(lambda: la.load(wrong), errors.ModelError, ValueError)
    assert error.diagnostics[0].severity == "error" and error.diagnostics[0].line == 1
    assert error.diagnostics[0].file == str(wrong)
    assert not la.check(wrong) and la.check(wrong).diagnostics
    provoke(lambda: la.load("@chian/3"), errors.BadOption, ValueError)
    error = provoke(lambda: la.load("@chain/3", ignore=["frction"]), errors.BadOption, ValueError, option="ignore")
    assert "friction" in error.remedy
    provoke(lambda: la.load("@chain/3", bse="fixed"), errors.BadOption, ValueError, option="bse")


def test_models_that_an_integrator_does_not_support():
    mech = la.load("@four-bar")
    error = provoke(lambda: la.Simulator(mech, integrator="rk4"), errors.ModelError, ValueError)
    assert "ignore=" in str(error) and error.diagnostics
    error = provoke(lambda: la.Plant(la.load("@chain/2"), integrator="rk4"), errors.Unsupported, NotImplementedError)
    assert error.integrator == "rk4"
    provoke(lambda: la.linearize(la.load("@chain/2"), integrator="rk4"), errors.BadOption, ValueError)


def test_steps():
    mech = la.load("@ball-chain/3")
    sim = la.Simulator(mech, v=np.full(mech.nv, 1e200), step=0.01)
    error = provoke(lambda: sim.step(), errors.StepError, ArithmeticError)
    assert error._attributes
    provoke(lambda: sim.step(step=-1.0), errors.BadOption, ValueError, option="step")
    provoke(lambda: sim.step(step=float("nan")), errors.BadOption, ValueError)
    provoke(lambda: sim.run(-1), errors.BadOption, ValueError, option="steps")
    provoke(lambda: la.BatchSimulator(mech, -1), errors.BadOption, ValueError, option="rows")
    provoke(lambda: la.BatchSimulator(mech, 2).step(steps=-1), errors.BadOption, ValueError, option="steps")
    provoke(lambda: la.Simulator(mech, order=3), errors.BadOption, ValueError, option="order")
    other = la.load("@chain/2").start_state()
    provoke(lambda: la.Simulator(mech, start=other), errors.BadOption, ValueError, option="start")
    opened = la.load("@four-bar")
    joints = {joint: 2.0 for joint in opened.joints}
    try:
        la.Simulator(opened, q=opened.state(q=joints).q)
    except errors.LeastActionError as error:
        assert isinstance(error, errors.OpenLoop) and error.joint and error.gap > 0


def test_every_variant_of_a_step_error_has_a_class():
    """The compiled half names classes by variants; what it does not know is still a `LeastActionError`."""
    for kind in ("NotConverged", "NotFinite", "Singular", "OpenLoop", "Unsupported", "BadOption", "ShapeError"):
        made = errors._make(kind, "text", {"remedy": "`--ignore loops,mimic` or `--no-report` or `--out DIR`"})
        assert type(made).__name__ == kind
        assert made.remedy == '`ignore=["loops", "mimic"]` or `report=False` or `out=…`'
    assert errors._make("Unheard", "text", {}).kind == "Unheard"


def variants(enum: str, path: str) -> dict[str, list[str]]:
    """Names of the variants of an enum of the library and of their fields, from its source."""
    text = (ROOT / path).read_text(encoding="utf-8")
    body = re.search(rf"pub enum {enum} {{\n(.*?)^}}", text, re.MULTILINE | re.DOTALL)[1]
    body = re.sub(r"#\[error\(.*?\)\]\n", "", re.sub(r"///.*\n", "\n", body), flags=re.DOTALL)
    found = re.findall(r"^ *(\w+)(?: \{(.*?)\}|\(.*?\))?,$", body, re.MULTILINE | re.DOTALL)
    return {name: re.findall(r"(\w+):", fields) for name, fields in found}


def test_a_step_error_of_any_kind_has_a_class_with_its_fields():
    known = variants("StepError", "crates/leastaction-core/src/integrator/mod.rs")
    assert len(known) >= 9 and known["OpenLoop"] == ["joint", "gap"]
    for kind, fields in known.items():
        # Lengths are shapes here.
        made = errors._make("ShapeError" if kind == "WrongLength" else kind, "text", {name: 1.0 for name in fields})
        assert type(made) is not errors.LeastActionError, kind
        assert set(fields) <= {name for cls in type(made).__mro__ for name in getattr(cls, "__annotations__", {})}, kind
        again = pickle.loads(pickle.dumps(made))
        assert type(again) is type(made) and all(getattr(again, name) == 1.0 for name in fields)


ENUMS = {
    "StepError": "crates/leastaction-core/src/integrator/mod.rs",
    "JetError": "crates/leastaction-motion/src/jet/mod.rs",
    "OptimizeError": "crates/leastaction-motion/src/optimize/mod.rs",
    "ControlError": "crates/leastaction/src/control/mod.rs",
}


@pytest.mark.parametrize("family", ENUMS)
def test_every_variant_of_the_four_enums_becomes_an_exception(family):
    """As the library serializes them, through the function that real ones go through."""
    inside = {"Step": "StepError", "Jet": "JetError", "Spline": None}
    for kind, fields in variants(family, ENUMS[family]).items():
        if kind in inside:
            if inside[kind] == "StepError":
                error = la._core._error_of(family, json.dumps({kind: {"OpenLoop": {"joint": "j", "gap": 0.5}}}), "text")
                assert type(error) is errors.OpenLoop and (error.joint, error.gap) == ("j", 0.5)
            continue
        serialized = json.dumps({kind: {name: 0.5 for name in fields}} if fields else kind)
        error = la._core._error_of(family, serialized, "what happened; `--ignore loops` helps")
        if family == "StepError":
            assert type(error).__name__ == {"WrongLength": "ShapeError"}.get(kind, kind)
        else:
            assert type(error) is getattr(errors, family) and error.kind == kind
        for name in fields:
            assert getattr(error, "of" if name == "kind" else name) == 0.5, (kind, name)
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and again._attributes == error._attributes
        assert str(again) == str(error) == 'what happened; `ignore="loops"` helps'


def test_starts_beyond_a_limit_and_steps_without_solution():
    model = la.Model("limited")
    rod = model.body("rod", mass=1.0, com=(0.0, 0.0, -0.5), inertia=(0.1, 0.1, 0.01))
    model.joint("hinge", "revolute", "world", rod, axis=[0, 1, 0], limits={"lower": -0.1, "upper": 0.1})
    error = provoke(lambda: la.Simulator(model.build(), q={"hinge": 0.5}, limits="enforce"), errors.OutsideLimits, ArithmeticError)
    assert (error.joint, error.value, error.bound) == ("hinge", 0.5, 0.1)
    mech = la.load("@ball-chain/3")
    sim = la.Simulator(mech, v=np.full(mech.nv, 400.0), step=0.9, order=2, iteration="newton")
    error = provoke(lambda: sim.run(50), errors.NotConverged, ArithmeticError)
    assert error.step == 0.9 and error.iterations >= 0 and error.residual > error.tolerance > 0 and error.time >= 0
    error = provoke(lambda: mech.inverse_dynamics(np.zeros(3), np.zeros(9), np.zeros(9)), errors.ShapeError, ValueError)
    assert error.name == "q"


def test_problems(tmp_path):
    problem = tmp_path / "p.toml"
    problem.write_text('schema = "leastaction/problem/1"\nmodel = "@chain/2"\n[trajectory]\nduration = -1\n')
    error = provoke(lambda: la.optimize(problem), errors.ModelError, ValueError)
    assert any(d.line == 4 for d in error.diagnostics)
    provoke(lambda: la.optimize(problem, outt="x"), errors.BadOption, ValueError, option="outt")
    provoke(lambda: la.control(tmp_path / "none.toml"), errors.FileError, OSError)
    unstable = np.array([[2.0]])
    error = provoke(lambda: la.riccati(unstable, np.zeros((1, 1)), [1], [1]), errors.ControlError, ValueError)
    assert error.kind == "NotStabilizable"
