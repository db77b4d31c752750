"""Types: every block of the documentation and every example under mypy and pyright, and a stub that cannot lose a line unnoticed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import leastaction

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(leastaction.__file__).parent


def run(*words: object, path: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "MYPYPATH": str(path), "PYTHONPATH": str(path)}
    command = [sys.executable, "-m", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=path)


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    """The blocks of docs/python.md, one after the other, as one program; blocks that want other packages left out."""
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    # A function of a page is written as users write it in a notebook.
    program = "from numpy.typing import NDArray\n" + "\n".join(blocks)
    array = "NDArray[np.float64]"
    program = program.replace("def brake(t, q, v):", f"def brake(t: float, q: {array}, v: {array}) -> {array}:")
    program = program.replace("def reward(q, v, u):", f"def reward(q: {array}, v: {array}, u: {array}) -> {array}:")
    path = tmp_path_factory.mktemp("docs") / "page.py"
    path.write_text(program)
    return path


def test_the_page_and_the_examples_under_mypy(page):
    done = run("mypy", "--strict", "--cache-dir", page.parent / "cache", page, *sorted((ROOT / "examples/python").glob("*.py")), path=PACKAGE.parent)
    assert done.returncode == 0, done.stdout


def test_the_page_and_the_examples_under_pyright(page):
    pytest.importorskip("pyright")
    done = run("pyright", "--pythonpath", sys.executable, page, *sorted((ROOT / "examples/python").glob("*.py")), path=PACKAGE.parent)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("line", ["    def retract(", "    def copy(self) -> Simulator: ...", "    def linearize(self, u: _In | None", "def _riccati("])
def test_a_line_gone_from_the_stub_is_noticed(line, tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "leastaction")
    stub = tmp_path / "leastaction" / "_core.pyi"
    lines = stub.read_text().splitlines(keepends=True)
    stub.write_text("".join(text for text in lines if not text.startswith(line)))
    assert stub.read_text() != "".join(lines), "the stub has no such line"
    done = run("mypy.stubtest", "leastaction._core", "--concise", "--ignore-disjoint-bases", path=tmp_path)
    assert done.returncode != 0
