#!/usr/bin/env python3
"""What the packages stand on: licences, the oldest compiler, known advisories.

    scripts/supply_chain.py [--compiler]

Every dependency of Rust and of the viewer must have a licence that ours allow beside them. With --compiler the workspace is also
checked by the oldest compiler that Cargo.toml promises, which rustup installs if it may. Advisories are asked for where cargo-audit
and its database are at hand; what could not be checked is said.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Licences that may be linked into a program under MIT or Apache-2.0 without a duty beyond keeping their text.
ALLOWED = {"MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "0BSD", "Unlicense",
           "Unicode-3.0", "CC0-1.0"}


def allowed(expression):
    """Whether an SPDX expression can be met: `/` is an old way of writing OR; AND binds closer than OR."""
    tokens = re.findall(r"[()]|[^\s()/]+|/", expression)
    joined = []
    for token in tokens:
        if joined and (token == "WITH" or joined[-1].endswith(" WITH")):
            joined[-1] += " " + token
        else:
            joined.append("OR" if token == "/" else token)

    def either(at):
        value, at = both(at)
        while at < len(joined) and joined[at] == "OR":
            other, at = both(at + 1)
            value = value or other
        return value, at

    def both(at):
        value, at = one(at)
        while at < len(joined) and joined[at] == "AND":
            other, at = one(at + 1)
            value = value and other
        return value, at

    def one(at):
        if joined[at] == "(":
            value, at = either(at + 1)
            return value, at + 1
        return joined[at] in ALLOWED, at + 1

    value, end = either(0)
    return value and end == len(joined)


def licences():
    out = subprocess.run(["cargo", "metadata", "--format-version", "1", "--locked"], cwd=ROOT, text=True, stdout=subprocess.PIPE, check=True)
    found = {(p["name"], p["version"]): p["license"] for p in json.loads(out.stdout)["packages"]}
    for lock in subprocess.run(["git", "ls-files", "*package-lock.json"], cwd=ROOT, text=True, capture_output=True, check=True).stdout.split():
        for name, package in json.loads((ROOT / lock).read_text())["packages"].items():
            if name:
                found[name, package.get("version", "")] = package.get("license")
    wrong = [f"{name} {version}: {licence}" for (name, version), licence in found.items() if not licence or not allowed(licence)]
    print(f"licences: {len(found) - len(wrong)} of {len(found)} packages allowed")
    return wrong


def oldest_compiler():
    version = re.search(r'^rust-version = "([\d.]+)"', (ROOT / "Cargo.toml").read_text(), re.M).group(1)
    toolchain = version if version.count(".") == 2 else version + ".0"
    if not shutil.which("rustup"):
        print(f"compiler {version}: not checked, there is no rustup")
        return []
    has = subprocess.run(["rustup", "run", toolchain, "rustc", "--version"], capture_output=True).returncode == 0
    if not has and subprocess.run(["rustup", "toolchain", "install", toolchain, "--profile", "minimal"], capture_output=True).returncode:
        print(f"compiler {version}: not checked, it can't be installed")
        return []
    words = ["rustup", "run", toolchain, "cargo", "check", "--release", "--locked", "--workspace", "--target-dir", "target/oldest-compiler"]
    if subprocess.run(words, cwd=ROOT).returncode:
        return [f"rustc {toolchain} does not take the workspace"]
    print(f"compiler {version}: takes the workspace")
    return []


def advisories():
    if not shutil.which("cargo-audit"):
        print("advisories: not checked, there is no cargo-audit")
        return []
    done = subprocess.run(["cargo", "audit", "--quiet"], cwd=ROOT, text=True, capture_output=True)
    if "couldn't fetch" in done.stderr:
        print("advisories: not checked, the database is out of reach")
        return []
    print("advisories: asked for")
    return [done.stdout] if done.returncode else []


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--compiler", action="store_true", help="check the workspace with the oldest compiler too")
    options = options.parse_args()
    assert allowed("(MIT OR Apache-2.0) AND Unicode-3.0") and not allowed("MIT AND GPL-3.0") and not allowed("GPL-2.0-only")
    wrong = licences() + advisories() + (oldest_compiler() if options.compiler else [])
    for line in wrong:
        print(f"NOT ALLOWED  {line}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
