"""Tests of the Python module: python -m unittest discover -s python/tests"""

from __future__ import annotations

import builtins
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, os.environ.get("XSIM_MODULE_PATH") or str(ROOT / "python"))
os.environ.pop("XSIM_MODULE_PATH", None)

import xsim  # noqa: E402
from xsim import _command, _sweep  # noqa: E402

SLOW = str(ROOT / "examples/c/slow.c")
TORUS = "torus:4x4,l=1us,b=10Gbps"
COMPILER = os.environ.get("XSIM_CC") or "cc"


def without_pandas(name, *rest):
    """Imports as usual, as if pandas were not installed."""
    if name == "pandas":
        raise ImportError(name)
    return IMPORT(name, *rest)


IMPORT = builtins.__import__


@unittest.skipUnless(shutil.which(COMPILER.split()[0]), f"{COMPILER} is not installed: apt-get install gcc")
class Compiled(unittest.TestCase):
    """Gives tests a program that was compiled once."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.program = os.path.join(cls.scratch.name, "slow")
        subprocess.run([xsim.command(), "cc", "-O2", "-g", SLOW, "-o", cls.program], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def run_slow(self, *arguments, **options):
        return xsim.run([self.program, *arguments], ranks=16, compute="none", **options)


class Runs(Compiled):
    def test_a_report_says_what_ran_and_how_long(self):
        report = self.run_slow()
        self.assertEqual((report.program, report.size, report.failure), ("slow", 16, []))
        self.assertEqual(report.stdout, "changed 160 in 10 steps\n")
        self.assertEqual(report.time_ps, 3_286_012_800)
        self.assertEqual(report.time, report.time_ps / 1e12)

    def test_every_frame_has_rows_of_its_columns(self):
        report = self.run_slow(machine=f"{TORUS},level=packet")
        self.assertEqual([row["rank"] for row in report.rows("ranks")], list(range(16)))
        self.assertEqual(sum(row["messages"] for row in report.rows("messages")), 300)
        self.assertEqual(len(report.rows("links")), 20)
        self.assertEqual([row["algorithm"] for row in report.rows("collectives")], ["recursive-doubling"])
        self.assertIn("smooth", [row["region"] for row in report.rows("regions")])
        series = report.rows("series")
        self.assertEqual([row["begin_ps"] for row in series[:2]], [0, series[1]["begin_ps"]])
        self.assertIn("links_mean", series[0])
        sites = report.rows("call_sites")
        self.assertIn("slow.c:39 exchange_one_by_one", [site["call_site"] for site in sites])
        self.assertLessEqual(sum(site["time_share"] for site in sites), 1)

    def test_frames_are_lists_without_pandas(self):
        report = self.run_slow()
        with mock.patch("builtins.__import__", without_pandas):
            self.assertEqual(report.ranks, report.rows("ranks"))
            self.assertEqual(report.links, [])
            with self.assertRaisesRegex(AttributeError, "pip install pandas"):
                report.ranks.sort_values("wait_ps")

    def test_frames_are_of_pandas_where_it_is_installed(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed: pip install pandas")
        report = self.run_slow()
        for name in ("ranks", "call_sites", "collectives", "messages", "links", "series"):
            frame = getattr(report, name)
            self.assertIsInstance(frame, pandas.DataFrame)
            self.assertEqual(len(frame), len(report.rows(name)))
        self.assertEqual(list(report.links.columns), ["from", "to", "use", "blocked_ps"])

    def test_a_run_without_a_profile_says_how_to_get_one(self):
        report = self.run_slow(profile=False)
        with self.assertRaisesRegex(xsim.XsimError, "no profile.*--profile"):
            report.rows("ranks")

    def test_an_unknown_frame_is_named_with_those_that_exist(self):
        with self.assertRaisesRegex(xsim.XsimError, "no frame nodes.*call_sites"):
            self.run_slow().rows("nodes")

    def test_options_are_keywords(self):
        report = self.run_slow(eager_limit="4KiB", critical_path=True, check=True)
        self.assertEqual(report.data["host"]["options"]["eager-limit"], "4KiB")
        self.assertIn("critical_path", report.data["simulated"])

    def test_a_failed_run_raises_its_sentence_and_keeps_its_report(self):
        deadlock = [str(ROOT / "examples/c/deadlock.c"), "1"]
        with self.assertRaisesRegex(xsim.RunError, "deadlock") as raised:
            xsim.run(deadlock, ranks=4, compute="none")
        self.assertNotEqual(raised.exception.status, 0)
        self.assertIn("deadlock", raised.exception.report.failure[0])
        self.assertTrue(xsim.run(deadlock, ranks=4, compute="none", check=False).failure)

    def test_a_missing_program_is_a_sentence(self):
        with self.assertRaisesRegex(xsim.RunError, "nosuch") as raised:
            xsim.run(["./nosuch"], ranks=2)
        self.assertEqual((raised.exception.status, raised.exception.report), (127, None))
        with self.assertRaisesRegex(xsim.XsimError, "no program"):
            xsim.run([])

    def test_reports_are_saved_and_loaded(self):
        report = self.run_slow()
        path = os.path.join(self.scratch.name, "run.json")
        report.save(path)
        self.assertEqual(xsim.load(path).data, report.data)
        report.save(os.path.join(self.scratch.name, "run.html"))
        page = Path(self.scratch.name, "run.html").read_text(encoding="utf-8")
        self.assertIn("<html", page)
        with self.assertRaisesRegex(xsim.XsimError, "cannot read the report"):
            xsim.load("nosuch.json")
        with self.assertRaisesRegex(xsim.XsimError, "no report of xsim"):
            xsim.Report("{}")

    def test_a_notebook_shows_the_page(self):
        shown = self.run_slow()._repr_html_()
        self.assertTrue(shown.startswith("<iframe srcdoc=") and shown.endswith("</iframe>"))
        self.assertIn("call site", shown)
        self.assertIn("slow on 16 ranks", repr(self.run_slow()))

    def test_two_reports_are_compared(self):
        comparison = self.run_slow().compare(self.run_slow("sides", "even"))
        self.assertIn("Differences between two runs", str(comparison))
        times = {row["what"]: row for row in comparison.rows("Time of a rank")}
        self.assertLess(times["virtual time"]["b"], times["virtual time"]["a"])
        self.assertEqual(len(comparison["Time of a rank"]), len(times))
        self.assertIn("Call sites", comparison.tables)
        with self.assertRaisesRegex(xsim.XsimError, "no table nothing"):
            comparison.rows("nothing")


class Sweeps(Compiled):
    def test_each_combination_has_a_row_and_a_report(self):
        vary = {"l": ["1us", "10us"], "how": ["chain", "sides"]}
        swept = xsim.sweep(
            [self.program, "{how}"], vary, ranks=16, compute="none", machine="star:l={l},b=10Gbps"
        )
        self.assertEqual(
            [(row["l"], row["how"]) for row in swept.rows][:2], [("1us", "chain"), ("1us", "sides")]
        )
        self.assertEqual((swept.best["l"], swept.best["how"]), ("1us", "sides"))
        self.assertEqual(swept.report(swept.best).time_ps, swept.best["virtual_time_ps"])
        self.assertEqual(len(swept.frame), 4)
        self.assertIn("least:", str(swept))

    def test_machines_are_values_and_have_reports(self):
        machines = ["star:l=1us,b=1Gbps", "ethernet"]
        swept = xsim.sweep([self.program], {"machine": machines, "ranks": [8, 16]}, compute="none")
        self.assertEqual([row["mn"] for row in swept.rows], [machines[0]] * 2 + [machines[1]] * 2)
        for row in swept.rows:
            self.assertEqual(swept.report(row).size, row["np"])

    def test_one_machine_with_commas_is_one_value(self):
        swept = xsim.sweep([self.program], {"machine": [TORUS]}, ranks=16, compute="none")
        self.assertEqual([row["mn"] for row in swept.rows], [TORUS])

    def test_a_failed_run_has_its_sentence_in_its_row(self):
        deadlock = [str(ROOT / "examples/c/deadlock.c"), "1", "{state}"]
        swept = xsim.sweep(deadlock, {"state": ["repaired", "broken"]}, ranks=4, compute="none")
        self.assertIsNone(swept.rows[0]["error"])
        self.assertIn("deadlock", swept.rows[1]["error"])
        self.assertEqual(swept.best["state"], "repaired")

    def test_a_wrong_variable_is_a_sentence(self):
        with self.assertRaisesRegex(xsim.CommandError, "nosuch"):
            xsim.sweep([self.program], {"nosuch": [1]})
        with self.assertRaisesRegex(xsim.XsimError, "has no values"):
            xsim.sweep([self.program], {"ranks": []})


class Traces(Compiled):
    def test_a_trace_is_replayed_shown_and_swept(self):
        path = os.path.join(self.scratch.name, "slow.trace")
        recorded = self.run_slow(trace=path, trace_times="exact")
        trace = xsim.Trace(path)
        self.assertEqual(trace.replay().time_ps, recorded.time_ps)
        self.assertGreater(trace.replay(machine="ethernet").time_ps, recorded.time_ps)
        self.assertIn("MPI_Allreduce", trace.stat())
        self.assertIn("MPI_Recv", trace.show(rank=1))
        self.assertIsInstance(trace.check(), str)
        self.assertIsInstance(trace.diff(trace), str)
        goal = trace.convert(os.path.join(self.scratch.name, "slow.goal"))
        self.assertGreater(os.path.getsize(goal), 0)
        self.assertEqual(len(xsim.sweep(trace, {"machine": ["default", "ethernet"]}).rows), 2)

    def test_a_missing_trace_is_a_sentence(self):
        with self.assertRaisesRegex(xsim.XsimError, "there is no trace nosuch.trace"):
            xsim.Trace("nosuch.trace")


class Machines(Compiled):
    def test_a_machine_is_made_of_pairs_and_runs(self):
        line = [(size, 1e-6 + size * 1e-10) for size in (0, 1024, 4096, 65536, 1 << 20)]
        machine = xsim.calibrate(line)
        self.assertEqual(machine.network, "star:l=500ns,b=80Gbps")
        self.assertIn("95 % confidence", machine.fit)
        self.assertIn("l=500ns", self.run_slow(machine=machine).machine)

    def test_a_table_without_a_line_is_a_sentence(self):
        with self.assertRaises(xsim.CommandError):
            xsim.calibrate([(0, 1e-6)])


class Commands(unittest.TestCase):
    def test_the_variable_names_the_command(self):
        refused = self.assertRaisesRegex(xsim.XsimError, "XSIM=/nonexistent/xsim is no program")
        with mock.patch.dict(os.environ, {"XSIM": "/nonexistent/xsim"}), refused:
            xsim.command()

    def test_keywords_become_options(self):
        given = {"eager_limit": "1KiB", "ft": True, "profile": False, "log": None}
        self.assertEqual(_command.options(given), ["--eager-limit=1KiB", "--ft", "--profile=off"])

    def test_names_of_combinations_are_those_of_the_command(self):
        self.assertEqual(_sweep.file_name("l=1us how=chain"), "l=1us+how=chain")
        self.assertRegex(_sweep.file_name("mn=star:l=1us,b=1Gbps"), r"^mn=star_l=1us_b=1Gbps-[0-9a-f]{16}$")

    def test_the_module_runs_as_the_command(self):
        ran = subprocess.run(
            [sys.executable, "-m", "xsim", "--version"],
            env={**os.environ, "PYTHONPATH": str(Path(xsim.__file__).parents[1])},
            stdout=subprocess.PIPE,
            check=True,
        )
        self.assertRegex(ran.stdout.decode(), r"^xsim \d+\.\d+")


if __name__ == "__main__":
    unittest.main()
