"""Runs a program on virtual ranks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ._command import CommandError, PathLike, call, options, sentence, words
from ._report import Report


class RunError(CommandError):
    """A run ended with a status other than 0, by a deadlock, a crash, an abort or its own choice.

    `report` has what it did until then; it is `None` if it never started.
    """

    def __init__(self, text: str, status: int, output: str, report: Report | None) -> None:
        super().__init__(text, status, output)
        self.report = report


def run(
    program: PathLike | Sequence[Any],
    ranks: int = 1,
    machine: object | None = None,
    *,
    profile: bool = True,
    cwd: PathLike | None = None,
    env: Mapping[str, str] | None = None,
    check: bool = True,
    **more: Any,
) -> Report:
    """Runs a program on virtual ranks and returns its report.

    `program` is an executable made with `xsim cc`, or a source file, with its arguments.
    `machine` is a preset, a specification, a machine file or a `Machine`. Other keywords are
    options of `xsim run` with underscores: `compute="none"`, `eager_limit="64KiB"`, `trace=FILE`.

    Raises `RunError` if the exit status is not 0, unless `check` is false.
    """
    with tempfile.TemporaryDirectory(prefix="xsim-") as directory:
        path = os.path.join(directory, "run.json")
        arguments = ["run", f"--np={ranks}", f"--report={path}", *machine_option(machine, directory)]
        arguments += options({"profile": profile or None, **more})
        done = call([*arguments, *words(program)], cwd=cwd, env=env)
        return finish(done, path, check)


def machine_option(machine: object | None, directory: str) -> Sequence[str]:
    """Returns the option for a machine. A calibrated one is written to a file in the directory."""
    if machine is None:
        return []
    write = getattr(machine, "save", None)
    if write is None:
        return [f"--mn={machine}"]
    path = os.path.join(directory, "machine.toml")
    write(path)
    return [f"--mn={path}"]


def finish(done: Any, path: str, check: bool) -> Report:
    """Returns the report of a command that has ended, or raises what it ended with."""
    try:
        text: str | None = Path(path).read_text(encoding="utf-8")
    except OSError:
        text = None
    report = None if text is None else Report(text, done.stdout, done.stderr)
    if report is None or (check and done.returncode != 0):
        raise RunError(sentence(done.stderr), done.returncode, done.stdout + done.stderr, report)
    return report
