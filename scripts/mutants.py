#!/usr/bin/env python3
"""How many faults do the tests notice? A seeded sample of mutants of the engines, the dynamics, the jets and the readers.

    scripts/mutants.py [--count 400] [--seed 1] [--jobs 2] [--library] [--only WORD]

All mutants are written into one copy of the tree (`scripts/mutants/` finds the places), each switched on by its number in the
variable LEASTACTION_MUTANT, so the tests are compiled once. A first round of sound tests notes which test reaches which mutant;
then every mutant is tried by the tests that reach it, quick ones first, until one fails. The table is in target/mutants/report.md;
a run that was stopped goes on where it was. `--library`, `--longest` and `--budget` leave tests out, so what they tell is a lower bound.
Exit code 1 if fewer than 85 of 100 are caught.
"""

import argparse
import json
import math
import os
import random
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "target" / "mutants"
TREE = WORK / "tree"
CRATES = ["core", "io", "minimal", "maximal", "motion"]
PARTS = {
    "dynamics": ["crates/leastaction-core/src/dynamics"],
    "integrator": ["crates/leastaction-core/src/integrator", "crates/leastaction-minimal/src", "crates/leastaction-maximal/src"],
    "jet": ["crates/leastaction-motion/src/jet"],
    "io": ["crates/leastaction-io/src"],
}
# Twins are what tests compare with, and faults made on purpose are not code that is used.
LEFT_OUT = ("/reference/", "/tests.rs", "/sabotage.rs")
# Tests of the text of the sources, not of what they do.
NOT_TESTS = ("documents::", "layers::", "public_face::")

SWITCH = """
extern crate self as leastaction_core;

/// Whether the mutant of this number is the one that is on; notes that it was reached where a file is named for that.
#[doc(hidden)]
#[inline]
pub fn mutant(number: u32) -> bool {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static ON: AtomicU32 = AtomicU32::new(u32::MAX);
    #[cold]
    fn choose() -> u32 {
        let on = std::env::var("LEASTACTION_MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        ON.store(on, Relaxed);
        on
    }
    let mut on = ON.load(Relaxed);
    if on == u32::MAX {
        on = choose();
    }
    if on == 0 {
        note(number);
    }
    on == number
}

fn note(number: u32) {
    use std::io::Write;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    static SEEN: [AtomicBool; 4096] = [const { AtomicBool::new(false) }; 4096];
    let seen = &SEEN[number as usize];
    if !seen.load(Relaxed) && !seen.swap(true, Relaxed) {
        if let Ok(path) = std::env::var("LEASTACTION_REACHED") {
            let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
            let _ = file.and_then(|mut file| file.write_all(format!("{number}\\n").as_bytes()));
        }
    }
}
"""


def command(*words, **options):
    return subprocess.run(list(map(str, words)), cwd=options.pop("cwd", ROOT), text=True, capture_output=True, **options)


def sites():
    """Every place that could be changed, by file."""
    command("cargo", "build", "--release", "--manifest-path", "scripts/mutants/Cargo.toml", "--target-dir", WORK, check=True)
    found = []
    for part, folders in PARTS.items():
        files = command("git", "ls-files", *(f"{folder}/*.rs" for folder in folders), check=True).stdout.split()
        files = [name for name in files if not any(word in "/" + name for word in LEFT_OUT)]
        for line in command(WORK / "release" / "mutants", "sites", *files, check=True).stdout.splitlines():
            file, first, last, row, function, kind, text = line.split("\t", 6)
            found.append(dict(part=part, file=file, first=int(first), last=int(last), line=int(row), function=function,
                              kind=kind, text=text))
    return found


def choose(found, count, seed):
    """A sample in which no place lies within another; a third more than asked for, as the compiler will refuse some."""
    random.Random(seed).shuffle(found)
    chosen, taken = [], {}
    for site in found:
        spans = taken.setdefault(site["file"], [])
        first, last = site["first"], max(site["last"], site["first"] + 1)
        if all(last <= begin or end <= first for begin, end in spans):
            spans.append((first, last))
            chosen.append(dict(site, number=len(chosen) + 1))
        if len(chosen) >= count * 4 // 3:
            return chosen
    return chosen


def write_tree(chosen):
    """A copy of the tree with the chosen mutants; tells where each came to stand."""
    TREE.mkdir(parents=True, exist_ok=True)
    files = set(command("git", "ls-files", check=True).stdout.split("\n")) - {""}
    edits = {}
    for site in chosen:
        edits.setdefault(site["file"], []).append(site)
    for name in files:
        content = (ROOT / name).read_bytes()
        for site in sorted(edits.get(name, []), key=lambda site: site["first"], reverse=True):
            text = site["text"].replace("@", str(site["number"])).encode()
            content = content[: site["first"]] + text + content[site["last"]:]
        if name == "crates/leastaction-core/src/lib.rs":
            content += SWITCH.encode()
        target = TREE / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != content:
            target.write_bytes(content)
            shutil.copymode(ROOT / name, target)
    where = {}
    for name, sites_of_file in edits.items():
        shift = 0
        for site in sorted(sites_of_file, key=lambda site: site["first"]):
            length = len(site["text"].replace("@", str(site["number"])).encode())
            begin = site["first"] + shift
            where.setdefault(name, []).append((begin, begin + length, site["number"]))
            shift += length - (site["last"] - site["first"])
    return where


def refused(where):
    """Numbers of the mutants that the compiler does not take."""
    words = [word for crate in CRATES for word in ("-p", f"leastaction-{crate}")]
    out = command("cargo", "check", "--release", *words, "--message-format=json", cwd=TREE).stdout
    numbers, unplaced = set(), 0
    for line in out.splitlines():
        message = json.loads(line).get("message")
        if not isinstance(message, dict) or message.get("level") != "error" or not message.get("spans"):
            continue
        hit = {number for span in message["spans"] for begin, end, number in where.get(span["file_name"], [])
               if begin < span["byte_end"] and span["byte_start"] < end}
        numbers |= hit
        unplaced += not hit
        if not hit:
            print(message["rendered"][:600])
    if unplaced and not numbers:
        sys.exit("the tree with mutants does not compile, and no mutant is to blame")
    return numbers


def compiled(library):
    """Programs of the tests, with the folder they run in; of the library only, if told so, which are compiled and run much sooner."""
    packages = ["--workspace", "--exclude", "leastaction-py"]
    if library:
        packages = [word for name in ("leastaction", *(f"leastaction-{crate}" for crate in CRATES)) for word in ("-p", name)]
        packages += ["--lib", "--tests"]
    # A mutant whose arithmetic can't be right on any run compiles all the same: it is for the tests to notice.
    lenient = dict(os.environ, RUSTFLAGS="-A arithmetic_overflow -A unconditional_panic")
    out = command("cargo", "test", "--release", *packages, "--no-run", "--message-format=json", cwd=TREE, env=lenient)
    if out.returncode:
        sys.exit(out.stderr[-3000:])
    programs = []
    for line in out.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message.get("executable") and message["profile"]["test"]:
            programs.append((message["executable"], str(Path(message["manifest_path"]).parent)))
    return programs


def run_test(program, folder, name, limit, **variables):
    """Whether a test passes, and its time; none if it takes longer than its limit."""
    begin = time.monotonic()
    try:
        done = subprocess.run([program, "--exact", name, "--test-threads", "1"], cwd=folder, timeout=limit,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env=dict(os.environ, CARGO_MANIFEST_DIR=folder, **variables))
    except subprocess.TimeoutExpired:
        return None, limit
    return done.returncode == 0, time.monotonic() - begin


def sound_round(programs, longest, jobs):
    """Every test without a mutant: its time and what it reaches. Tests that were added since the last run join the table."""
    table = WORK / "sound.json"
    old = json.loads(table.read_text()) if table.exists() else []
    known = {(test["program"], test["name"]) for test in old}
    tests = []
    for program, folder in programs:
        listed = subprocess.run([program, "--list", "--format", "terse"], cwd=folder, text=True, capture_output=True).stdout
        ignored = subprocess.run([program, "--list", "--format", "terse", "--ignored"], cwd=folder, text=True, capture_output=True).stdout
        names = {line[:-6] for line in listed.splitlines() if line.endswith(": test")}
        names -= {line[:-6] for line in ignored.splitlines() if line.endswith(": test")}
        tests += [(program, folder, name) for name in sorted(names)
                  if not name.startswith(NOT_TESTS) and (program, name) not in known]

    def one(test):
        program, folder, name = test
        reached = WORK / f"reached-{abs(hash(test))}"
        passed, seconds = run_test(program, folder, name, longest, LEASTACTION_MUTANT="0", LEASTACTION_REACHED=str(reached))
        numbers = sorted({int(word) for word in reached.read_text().split()}) if reached.exists() else []
        reached.unlink(missing_ok=True)
        return dict(program=program, folder=folder, name=name, seconds=seconds, reached=numbers, passed=bool(passed))

    with ThreadPoolExecutor(jobs) as pool:
        new = list(pool.map(one, tests))
    done = old + new
    for test in new:
        if not test["passed"]:
            print(f"left out (fails or takes over {longest} s with the switch in the code): {test['name']}")
    table.write_text(json.dumps(done))
    return done


def try_mutant(site, tests, budget):
    reaching = sorted((test for test in tests if test["passed"] and site["number"] in test["reached"]), key=lambda test: test["seconds"])
    spent = 0.0
    for test in reaching:
        spent += test["seconds"]
        if spent > budget:
            break
        limit = max(20.0, 8 * test["seconds"])
        passed, _ = run_test(test["program"], test["folder"], test["name"], limit, LEASTACTION_MUTANT=str(site["number"]))
        if not passed:
            return dict(site, caught="time" if passed is None else "failed", by=test["name"], tests=len(reaching))
    return dict(site, caught="" if reaching else "not reached", by="", tests=len(reaching))


def report(results):
    caught = [site for site in results if site["caught"] in ("failed", "time")]
    lines = [f"{len(caught)} of {len(results)} mutants caught ({100 * len(caught) / max(1, len(results)):.1f} %)", ""]
    for part in PARTS:
        of_part = [site for site in results if site["part"] == part]
        lines.append(f"- {part}: {sum(site in caught for site in of_part)} of {len(of_part)}")
    lines += ["", "| survivor | function | change | tests that reach it |", "|---|---|---|---|"]
    for site in sorted((site for site in results if site not in caught), key=lambda site: (site["file"], site["line"])):
        lines.append(f"| {site['file']}:{site['line']} | {site['function']} | {site['kind']} | {site['tests']} |")
    (WORK / "report.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    return len(caught) >= 0.85 * len(results)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=400)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--longest", type=float, default=60.0, help="tests that take more seconds are left out")
    options.add_argument("--budget", type=float, default=math.inf, help="seconds of tests that a mutant may take; what is then left counts as surviving")
    options.add_argument("--library", action="store_true", help="only tests of the library, not of the command and the experiments")
    options.add_argument("--only", default="", help="only survivors of the last run whose file has this word, after tests were added")
    options = options.parse_args()

    state = WORK / "chosen.json"
    head = command("git", "rev-parse", "HEAD", check=True).stdout.strip()
    told = dict(seed=options.seed, count=options.count)
    if state.exists() and json.loads(state.read_text())["told"] == told:
        chosen = json.loads(state.read_text())["chosen"]
        where = write_tree(chosen)
    else:
        chosen = choose(sites(), options.count, options.seed)
        print(f"{len(chosen)} places chosen at {head[:9]}", flush=True)
        while True:
            where = write_tree(chosen)
            bad = refused(where)
            if not bad:
                break
            chosen = [site for site in chosen if site["number"] not in bad]
            print(f"{len(bad)} refused by the compiler, {len(chosen)} left", flush=True)
        chosen = sorted(chosen, key=lambda site: site["number"])[: options.count]
        write_tree(chosen)
        for stale in ("sound.json", "results.jsonl"):
            (WORK / stale).unlink(missing_ok=True)
        state.write_text(json.dumps(dict(told=told, chosen=chosen)))
    tests = sound_round(compiled(options.library), options.longest, options.jobs)
    print(f"{len(chosen)} mutants, {len(tests)} tests, {sum(test['seconds'] for test in tests):.0f} s of tests", flush=True)
    log = WORK / "results.jsonl"
    results = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    if options.only:
        results = [site for site in results if site["caught"] in ("failed", "time") or options.only not in site["file"]]
    done = {site["number"] for site in results}
    left = [site for site in chosen if site["number"] not in done]
    log.write_text("".join(json.dumps(site) + "\n" for site in results))
    with ThreadPoolExecutor(options.jobs) as pool, log.open("a") as out:
        # As they end, so that a run cut off loses no more than what was under way.
        tried = [pool.submit(try_mutant, site, tests, options.budget) for site in left]
        for count, done in enumerate(as_completed(tried), len(results) + 1):
            site = done.result()
            results.append(site)
            out.write(json.dumps(site) + "\n")
            out.flush()
            word = site["caught"] or "SURVIVES"
            print(f"{count}/{len(chosen)} {word}: {site['file']}:{site['line']} {site['kind']} {site['by']}", flush=True)
    sys.exit(0 if report(results) else 1)


if __name__ == "__main__":
    main()
