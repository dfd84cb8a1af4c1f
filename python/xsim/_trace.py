"""Traces: what a run called, to be replayed on other machines."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from typing import Any

from ._command import CommandError, PathLike, XsimError, ask, call, options, sentence, words
from ._report import Report
from ._run import finish, machine_option


class Trace:
    """A trace in a file, from `run(..., trace=FILE)`, `record` or `convert`."""

    def __init__(self, path: PathLike) -> None:
        self.path = os.fspath(path)
        if not os.path.isfile(self.path):
            raise XsimError(f"there is no trace {self.path}: record one with xsim.run(..., trace=FILE)")

    @staticmethod
    def record(program: PathLike | Sequence[Any], ranks: int, path: PathLike, **more: Any) -> Trace:
        """Runs a program under the machine's own MPI and records it. Keywords are options of
        `xsim record`: `times="exact"`, `launcher="srun -n 64"`."""
        ask(["record", f"--np={ranks}", f"--output={os.fspath(path)}", *options(more), *words(program)])
        return Trace(path)

    def replay(self, machine: object | None = None, *, profile: bool = True, **more: Any) -> Report:
        """Replays the trace on a machine and returns the report. Keywords are options of
        `xsim replay`: `compute="0.5"`, `sizes="2*bytes"`, `placement="round-robin"`."""
        with tempfile.TemporaryDirectory(prefix="xsim-") as directory:
            path = os.path.join(directory, "run.json")
            arguments = ["replay", f"--report={path}", *machine_option(machine, directory)]
            arguments += options({"profile": profile or None, **more})
            return finish(call([*arguments, self.path]), path, check=True)

    def convert(self, path: PathLike, **more: Any) -> str:
        """Writes the trace in the format that the name's end says (`.goal`, `.ti`, `.otf2`) and
        returns the path."""
        ask(["trace", "convert", *options(more), f"--output={os.fspath(path)}", self.path])
        return os.fspath(path)

    def stat(self) -> str:
        """Returns calls, messages and bytes by function, size and distance, as text."""
        return ask(["trace", "stat", self.path])

    def show(self, rank: int | None = None) -> str:
        """Returns the loops of all ranks, or every call of one rank, as text."""
        return ask(["trace", "show", *options({"rank": rank}), self.path])

    def check(self) -> str:
        """Returns what `xsim trace check` finds, as text."""
        return self._findings(["trace", "check", self.path])

    def diff(self, other: Trace) -> str:
        """Returns how the calls of two traces differ, as text."""
        return self._findings(["trace", "diff", self.path, other.path])

    @staticmethod
    def _findings(arguments: Sequence[str]) -> str:
        done = call(arguments)
        # Status 1 is that of a finding or a difference.
        if done.returncode not in (0, 1):
            raise CommandError(sentence(done.stderr), done.returncode, done.stdout + done.stderr)
        return done.stdout

    def __repr__(self) -> str:
        return f"<xsim.Trace: {self.path}>"
