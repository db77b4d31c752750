"""A Python environment with the peers, and the C++ programs for Pinocchio. What fails is reported and left out."""

import os
import pathlib
import shutil
import subprocess
import sys
import time
import venv

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = ("pinocchio_step", "pinocchio_loop", "pinocchio_derivative")


def say(text):
    print(text, file=sys.stderr, flush=True)


def last_line(text):
    rows = [row for row in text.strip().splitlines() if row.strip()]
    return rows[-1][:200] if rows else "no message"


def pins(requirements="requirements.txt"):
    """Package and version, as in a file here."""
    rows = [row.strip() for row in (HERE / requirements).read_text().splitlines()]
    return [tuple(row.split("==")) for row in rows if row and not row.startswith("#")]


def prepare(folder, problem, requirements="requirements.txt"):
    """A Python with as many peers as can be installed."""
    python = folder / "bin" / "python"
    if not python.exists():
        say("making a virtual environment")
        venv.create(folder, with_pip=True)
    have = installed(python)
    for name, version in pins(requirements):
        if have.get(name) == version:
            continue
        say(f"installing {name} {version}")
        try:
            done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{name}=={version}"],
                                  capture_output=True, text=True, timeout=600)
            failure = last_line(done.stderr) if done.returncode else None
        except subprocess.TimeoutExpired:
            failure = "it took more than 10 minutes"
        if failure:
            problem(f"{name} {version} can't be installed: {failure}")
    return python


def installed(python):
    """Versions of what is there."""
    ask = "import importlib.metadata as m\nfor d in m.distributions(): print(d.metadata['Name'], d.version)"
    done = subprocess.run([python, "-c", ask], capture_output=True, text=True)
    return dict(row.split() for row in done.stdout.splitlines() if len(row.split()) == 2)


def prefix_of(python):
    """Where the wheels put headers, libraries and robots."""
    ask = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    found = subprocess.run([python, "-c", ask], capture_output=True, text=True).stdout.strip()
    return pathlib.Path(found) / "cmeel.prefix"


def compile_pinocchio(prefix, folder, native, problem):
    """Paths of the C++ programs by name: against the library in the wheel, or header-only for this processor."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        problem("Pinocchio in C++: there is no C++ compiler")
        return {}
    if not (prefix / "include" / "pinocchio").exists():
        problem("Pinocchio in C++: its headers are not installed")
        return {}
    folder.mkdir(parents=True, exist_ok=True)
    jobs, programs = [], {}
    for name in PROGRAMS:
        sources = [HERE / "cpp" / f"{name}.cpp", HERE / "cpp" / "common.hpp"]
        target = folder / (f"{name}_native" if native else name)
        if target.exists() and all(target.stat().st_mtime > source.stat().st_mtime for source in sources):
            programs[name] = target
        else:
            jobs.append((name, target, command(compiler, prefix, sources[0], target, native)))
    # Two at a time: each takes a core and gigabytes.
    for pair in (jobs[k:k + 2] for k in range(0, len(jobs), 2)):
        begin = time.time()
        say("compiling " + " and ".join(name for name, _, _ in pair))
        running = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _, _, words in pair]
        for (name, target, _), process in zip(pair, running):
            _, errors = process.communicate()
            if process.returncode:
                problem(f"{name}.cpp: {last_line(errors)}")
            else:
                programs[name] = target
        say(f"  {time.time() - begin:.0f} s")
    return programs


def command(compiler, prefix, source, target, native):
    """What compiles one program. Boost's lists must hold all of Pinocchio's joints."""
    limits = ["-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30", "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
              "-DBOOST_FUSION_INVOKE_MAX_ARITY=12"]
    if native:
        build, library = ["-O3", "-march=native", '-DBUILD="header-only, native"'], []
    else:
        build = ["-O2", "-DPINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION", '-DBUILD="wheel"']
        library = [f"-L{prefix / 'lib'}", f"-Wl,-rpath,{prefix / 'lib'}", "-lpinocchio_default"]
    return [compiler, "-std=c++17", "-w", "-DNDEBUG", *build, *limits, f"-I{prefix / 'include'}", f"-I{prefix / 'include' / 'eigen3'}",
            str(source), "-o", str(target), *library]
