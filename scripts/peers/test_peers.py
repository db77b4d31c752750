#!/usr/bin/env python3
"""Tests of the scripts that need no peer: LEASTACTION=PATH test_peers.py"""

import json
import math
import os
import pathlib
import tempfile
import unittest

import bars
import control
import environment
import models
import tables
from motion import Tree

LEASTACTION = pathlib.Path(os.environ.get("LEASTACTION", "target/release/leastaction")).resolve()


class Control(unittest.TestCase):
    def test_paths_with_gaps_do_not_count(self):
        costs = [math.inf, 5.0, 1.0 + 1e-5, 1.0 + 1e-7, 1.0]
        self.assertEqual(control.first_within(costs, costs[-1]), 3)
        self.assertIsNone(control.first_within([math.inf], 1.0))

    def judged(self, mine, other, seconds=(1.0, 1.0)):
        return control.judge("a", False, 2, "Euler", 1.0, [((mine, seconds[0]), (other, seconds[1]))])

    def test_verdicts_can_fail(self):
        self.assertEqual(self.judged([2.0, 1.0], [2.0, 1.0])["iteration_verdict"], "pass")
        self.assertEqual(self.judged([2.0, 1.5, 1.2, 1.0], [2.0, 1.0])["iteration_verdict"], "loss")
        self.assertEqual(self.judged([2.0, 1.0], [2.0, 1.0], (1.1, 1.0))["time_verdict"], "loss")

    def test_a_better_optimum_of_the_peer_is_a_loss_and_a_worse_one_is_said(self):
        self.assertEqual(self.judged([2.0, 1.0], [2.0, 0.5])["iteration_verdict"], "loss")
        worse = self.judged([2.0, 1.5, 1.2, 1.0], [3.0, 2.0])
        self.assertEqual((worse["iteration_verdict"], worse["solved"]), ("pass", False))
        self.assertIn("not solved", control.row(worse))


class Models(unittest.TestCase):
    def rows(self, source):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            models.convert(LEASTACTION, source, path / "m.json")
            model = json.loads((path / "m.json").read_text())
            models.derive(LEASTACTION, path, "m", model)
            return Tree((path / "m.txt").read_text())

    def test_loops_are_closed_at_the_start(self):
        for source in ("@four-bar", "@four-bars/3"):
            tree = self.rows(source)
            self.assertLess(tree.gap(tree.start), 1e-12)
            moved = [q + 0.1 * k for k, q in enumerate(tree.start)]
            self.assertGreater(tree.gap(moved), 1e-3)

    def test_subtrees_stay_together(self):
        joint = lambda name, parent: {"name": name, "parent": parent, "child": name}  # noqa: E731
        found = models.depth_first([joint("a", "world"), joint("b", "world"), joint("c", "a")])
        self.assertEqual([j["name"] for j in found], ["a", "c", "b"])

    def test_a_chain_hangs_where_its_angles_say(self):
        tree = self.rows("@chain/2")
        (_, y, z), _ = tree.ends([0.5, 0.0])
        self.assertAlmostEqual(y, math.sin(0.5), 14)
        self.assertAlmostEqual(z, -math.cos(0.5), 14)

    def test_bodies_behind_fixed_joints_are_one(self):
        half = {"mass": 1.0, "com": [0, 0, 0], "inertia": [0.1, 0.1, 0.1, 0, 0, 0]}
        apart = {"p": [0.0, 0.0, 2.0], "q": [1.0, 0.0, 0.0, 0.0]}
        mass, com, inertia = models.together([(models.IDENTITY, half), (apart, half)])
        self.assertEqual((mass, com), (2.0, [0.0, 0.0, 1.0]))
        self.assertAlmostEqual(inertia[0][0], 2.2, 14)
        self.assertAlmostEqual(inertia[2][2], 0.2, 14)


class Tables(unittest.TestCase):
    def test_numbers_look_as_in_experiments(self):
        for x, text in ((0.0, "0"), (1.0, "1"), (2 / 3, "0.667"), (1234.5, "1234"), (1e-13, "1e-13"), (4.567e-13, "4.57e-13"), (123456.0, "1.23e5")):
            self.assertEqual(tables.short(x), text)

    def test_cost_at_an_error_is_between_the_runs_around_it(self):
        runs = [{"error": 1e-4, "ms_per_second": 1.0}, {"error": 1e-8, "ms_per_second": 10.0}]
        self.assertAlmostEqual(tables.cost_at(runs, 1e-6), math.sqrt(10))
        self.assertIsNone(tables.cost_at(runs, 1e-9))

    def test_a_slower_kernel_is_a_loss(self):
        line = lambda system, variant, us: {"section": "kernel", "system": system, "variant": variant, "model": "talos", "us": us}  # noqa: E731
        for ours, verdict in ((5.0, "pass"), (15.0, "loss")):
            checks, _ = bars.judge(tables.Results([line("leastaction", "aba", ours), line("pinocchio", "aba, world", 10.0)]))
            self.assertEqual([check["verdict"] for check in checks], [verdict])
            self.assertTrue(all((check["verdict"] == "loss") == bool(check["reason"]) for check in checks))

    def test_every_row_of_a_table_of_steps_has_a_verdict(self):
        lines = [{"section": "gap", "system": "pinocchio", "variant": "", "model": "loop1", "us": 1.0, "gap": 1e-6}]
        expected = 0
        for section, _, _, names, columns in tables.grids():
            for _, model in names:
                expected += 1
                for k, (_, system, variant) in enumerate(columns):
                    lines.append({"section": section, "system": system, "variant": variant, "model": model, "us": 1.0 + k, "n": 1})
        checks, _ = bars.judge(tables.Results(lines))
        judged = [check for check in checks if check["origin"] == "every row has a verdict"]
        self.assertEqual((len(judged), len({check["what"] for check in judged})), (expected, expected))

    def test_our_own_explicit_methods_count_as_rivals(self):
        line = lambda variant, error, cost: {"section": "precision", "system": "leastaction", "variant": variant, "model": "chain10", "us": 1.0,  # noqa: E731
                                             "error": error, "ms_per_second": cost}
        checks, _ = bars.judge(tables.Results([line("order 4", 1e-7, 1.0), line("DOP853", 1e-5, 0.5), line("DOP853", 1e-8, 0.9)]))
        judged = [check for check in checks if "DOP853" in check["what"]]
        self.assertEqual([check["verdict"] for check in judged], ["loss"])


class Environment(unittest.TestCase):
    def test_a_missing_compiler_is_told_and_stops_nothing(self):
        told, path, compiler = [], os.environ["PATH"], os.environ.pop("CXX", None)
        os.environ["PATH"] = "/nowhere"
        try:
            self.assertEqual(environment.compile_pinocchio(pathlib.Path("/nowhere"), pathlib.Path("/nowhere"), False, told.append), {})
        finally:
            os.environ["PATH"] = path
            if compiler:
                os.environ["CXX"] = compiler
        self.assertIn("no C++ compiler", told[0])


if __name__ == "__main__":
    unittest.main()
