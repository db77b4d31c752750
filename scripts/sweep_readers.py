"""Compares the parts of a sweep as pyarrow, Polars and DuckDB read them, and with `simulate --run N` of a few runs.

    scripts/sweep_readers.py COMMAND FOLDER

COMMAND is the program; FOLDER is that of a sweep. Needs pyarrow, polars and duckdb.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import polars
import pyarrow.parquet


def same(a: object, b: object) -> bool:
    return a == b or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))


def main(command: str, folder: Path) -> None:
    """Reads the tables three times and stops at the first difference."""
    for kind in ("runs", "rows"):
        if not (folder / kind).is_dir():
            continue
        arrow = pyarrow.parquet.read_table(folder / kind).to_pydict()
        frame = polars.read_parquet(folder / kind / "*.parquet").to_dict(as_series=False)
        query = duckdb.sql(f"select * from '{folder}/{kind}/*.parquet'")
        columns, table = query.columns, query.fetchall()
        assert list(arrow) == list(frame) == columns, kind
        for at, name in enumerate(columns):
            duck = [row[at] for row in table]
            assert len(arrow[name]) == len(frame[name]) == len(duck)
            for ours, theirs, others in zip(arrow[name], frame[name], duck, strict=True):
                assert same(ours, theirs) and same(ours, others), (kind, name, ours, theirs, others)
        print(f"{kind}: {len(table)} rows of {len(columns)} columns are read alike by pyarrow, Polars and DuckDB")
    arrow = pyarrow.parquet.read_table(folder / "runs").to_pydict()
    for run in {0, len(arrow["run"]) // 2, len(arrow["run"]) - 1}:
        if not arrow["ok"][run]:
            continue
        with tempfile.TemporaryDirectory() as out:
            words = [command, "simulate", str(folder / "sweep.json"), "--run", str(run), "--out", out, "--no-report"]
            subprocess.run(words, check=True, capture_output=True)
            state = json.loads((Path(out) / "state.json").read_text())
        for joint, value in state["q"].items():
            if isinstance(value, float):
                assert arrow[f"q.{joint}"][run] == value, (run, joint)
        print(f"run {run} made again: its positions are those of the table, bit for bit")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
