#!/usr/bin/env python3
"""Counts lines of code: Rust sources without blanks, comments and tests.

Twins (`reference/`), adapters for reference data (`leastaction-golden`), examples and benches are counted apart. The
last line gives the share of tests: lines of test code over all lines of code.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def code_lines(text):
    """(lines of code, lines of test code) of a file; blanks and comment lines count for neither."""
    code = tests = depth = 0
    inside = pending = started = block = False
    for line in text.splitlines():
        stripped = line.strip()
        if block:
            block = "*/" not in stripped
            continue
        if stripped.startswith("/*"):
            block = "*/" not in stripped
            continue
        if not stripped or stripped.startswith("//"):
            continue
        if stripped.startswith("#[cfg(test)]") and not inside:
            pending, started, depth = True, False, 0
            tests += 1
            continue
        if pending or inside:
            tests += 1
            # Braces within strings and characters do not count.
            bare = re.sub(r"'(\\.|[^'\\])'|\"(\\.|[^\"\\])*\"", "", stripped)
            depth += bare.count("{") - bare.count("}")
            started = started or "{" in bare
            inside, pending = not (started and depth <= 0), False
            if not started and stripped.endswith(";"):
                inside = False
            continue
        code += 1
    return code, tests


def main():
    rooms, apart, tests = {}, {}, 0
    for path in sorted((ROOT / "crates").glob("*/**/*.rs")):
        parts = path.relative_to(ROOT / "crates").parts
        if "target" in parts or "node_modules" in parts:
            continue
        code, own_tests = code_lines(path.read_text(encoding="utf-8"))
        tests += own_tests
        if parts[1] == "tests" or path.name == "tests.rs":
            tests += code
        elif "reference" in parts or parts[0] == "leastaction-golden" or parts[1] in ("examples", "benches"):
            name = parts[0] if parts[0] == "leastaction-golden" else parts[2] if parts[1] == "src" else parts[1]
            apart[name] = apart.get(name, 0) + code
        else:
            rooms[parts[0]] = rooms.get(parts[0], 0) + code
    for name, lines in sorted(rooms.items()):
        print(f"{lines:7}  {name}")
    total = sum(rooms.values())
    print(f"{total:7}  all rooms")
    for name, lines in sorted(apart.items()):
        print(f"{lines:7}  {name} (apart)")
    share = tests / (tests + total + sum(apart.values()))
    print(f"{tests:7}  tests, share {share:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
