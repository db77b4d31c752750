"""Every block of docs/python.md, every example and every docstring runs."""

import doctest
import importlib
import importlib.util
import os
import re
import subprocess
import sys

import pytest

import leastaction as la
from conftest import ROOT

PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python ?(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLES = sorted((ROOT / "examples" / "python").glob("[0-9]*.py"))


def test_every_block_of_the_page_runs(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert len(BLOCKS) >= 8
    names: dict = {}
    for needs, block in BLOCKS:
        if needs and importlib.util.find_spec(needs) is None:
            continue
        exec(compile(block, "docs/python.md", "exec"), names)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path, tmp_path):
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, cwd=tmp_path, env=os.environ)
    assert done.returncode == 0 and done.stdout, done.stderr


def test_examples_come_in_pairs_with_those_of_rust():
    rust = {path.stem for path in (ROOT / "crates" / "leastaction" / "examples").glob("[0-9]*.rs")}
    python = {path.stem for path in EXAMPLES}
    assert len(python) == 13
    # The twelfth is of each language's own: a force law is a trait of Rust, a batch is what Python is asked for. The thirteenth
    # descends through the simulator, which is done in Python.
    assert rust - python == {"12_own_force_law"} and python - rust == {"12_many_at_once", "13_identify_an_arm"}


@pytest.mark.parametrize("name", ["", ".errors", "._tables", "._verbs", "._problems", "._progress", "._rollout", "._simulate", "._model", "._diagnostic", ".gym", ".sweeps", "._core"])
def test_examples_in_docstrings_run(name):
    module = importlib.import_module("leastaction" + name)
    finder = doctest.DocTestFinder()
    tests = [test for test in finder.find(module, module.__name__, globs={"la": la}) if test.examples]
    if name == "._core":
        classes = (module.Simulator, module.Mechanism, module.Plant, module.State, module.BatchSimulator, module.load, module.from_json)
        tests += [t for c in classes for t in finder.find(c, c.__name__) if t.examples]
    assert tests, "no example"
    runner = doctest.DocTestRunner()
    for test in tests:
        runner.run(test)
    assert runner.summarize().failed == 0


def test_everything_public_is_described():
    import inspect

    for name in la.__all__:
        thing = getattr(la, name)
        if name == "__version__" or isinstance(thing, (str, type(la))) or "TypeAlias" in repr(type(thing)):
            continue
        assert inspect.getdoc(thing), name
        # A body and a joint under construction are made by a model, which has the example.
        assert ">>>" in (inspect.getdoc(thing) or "") or name in ("Body", "Joint"), f"{name} has no example"
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    assert inspect.getdoc(value), f"{name}.{member}"
