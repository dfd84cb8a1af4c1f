"""Runs a program, or replays a trace, once for each combination of values."""

from __future__ import annotations

import csv
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _frames
from ._command import CommandError, PathLike, XsimError, call, options, sentence, words
from ._frames import Frame, Row
from ._report import Report, load
from ._trace import Trace

# Keywords of `run`, by the names that they have on the command line.
NAMES = {"ranks": "np", "machine": "mn"}


class Sweep:
    """The results of all combinations, in the order in which the last variable changes first."""

    def __init__(self, directory: Path, text: str, variables: Sequence[str]) -> None:
        self.directory = directory
        self.text = text
        self._rows = _frames.read_csv((directory / "sweep.csv").read_text(encoding="utf-8"))
        self._variables = list(variables)

    @property
    def rows(self) -> list[Row]:
        """The results as dictionaries: values, virtual time, messages, and the error if one failed."""
        return list(self._rows)

    @property
    def frame(self) -> Frame:
        """The results as a frame."""
        return _frames.frame(self.rows)

    @property
    def best(self) -> Row:
        """The combination that takes least; the first at a tie."""
        done = [row for row in self._rows if row["virtual_time_ps"] is not None]
        if not done:
            raise XsimError(f"no run of this sweep succeeded: its logs are in {self.directory}")
        return min(done, key=lambda row: row["virtual_time_ps"])

    def report(self, row: Row) -> Report:
        """Returns the report of the run of one row of `rows`."""
        if row not in self._rows:
            raise XsimError("this row is none of the sweep's: give one of its rows, or best")
        # Values are named as text: 1e3 and 1000 are two.
        with open(self.directory / "sweep.csv", encoding="utf-8", newline="") as file:
            fields = list(csv.DictReader(file))[self._rows.index(row)]
        point = " ".join(f"{name}={fields[name]}" for name in self._variables)
        return load(self.directory / (file_name(point) + ".json"))

    def _repr_html_(self) -> str:
        html = getattr(self.frame, "_repr_html_", None)
        return html() if html else f"<pre>{self.text}</pre>"

    def __str__(self) -> str:
        return self.text


def file_name(point: str) -> str:
    """Returns the file name of a combination, as `xsim sweep` makes it."""
    plain = "".join(
        "+" if c == " " else c if (c.isascii() and c.isalnum()) or c in "=.-_" else "_" for c in point
    )
    if len(point) <= 100 and all(a == b or a == " " for a, b in zip(point, plain)):
        return plain
    total = 0xCBF29CE484222325
    for byte in point.encode():
        total = ((total ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{plain[:100]}-{total:016x}"


def values(name: str, given: str | Sequence[Any]) -> str:
    """Returns the values of a variable as one text; a text is taken as it is."""
    if isinstance(given, str):
        return given
    listed = [str(value) for value in given]
    if not listed:
        raise XsimError(f"{name} has no values: give one or more")
    if any(";" in value for value in listed):
        raise XsimError(f"a value of {name} has a semicolon, which divides values: name a file in its place")
    # One value with a comma would be two.
    if any("," in value for value in listed):
        return ";".join(listed) + (";" if len(listed) == 1 else "")
    return ",".join(listed)


def sweep(
    program: PathLike | Sequence[Any] | Trace,
    vary: Mapping[str, str | Sequence[Any]],
    *,
    directory: PathLike | None = None,
    jobs: int | None = None,
    limit: str | None = None,
    env: Mapping[str, str] | None = None,
    **more: Any,
) -> Sweep:
    """Runs a program once for each combination of values and returns the results.

    `vary` has the values of each variable: a list, or a range as text (`"64..4096*2"`). A
    variable is an option of the run (`ranks`, `machine`, `placement`), the algorithm of a
    collective (`"coll.allreduce"`), or a name that stands in braces in the program's arguments or
    in another option. Other keywords are options of each run. A `Trace` is replayed.

    With a `directory` the results stay there, and the same sweep again runs only what is missing.
    A failed run stops no other: its row has the sentence in `error`.
    """
    names = [NAMES.get(name, name) for name in vary]
    arguments = ["sweep"]
    for name, given in zip(names, vary.values()):
        arguments += ["--vary", f"{name}={values(name, given)}"]
    is_temporary = directory is None
    directory = Path(tempfile.mkdtemp(prefix="xsim-sweep-") if directory is None else directory)
    arguments += options({"output": directory, "jobs": jobs, "limit": limit})
    of_run = {NAMES.get(name, name): value for name, value in more.items()}
    listed = [program.path] if isinstance(program, Trace) else words(program)
    done = call([*arguments, "--", *options(of_run), *listed], env=env)
    # Status 1 is that of a sweep in which a run failed.
    if done.returncode not in (0, 1) or not (directory / "sweep.csv").is_file():
        if is_temporary:
            shutil.rmtree(directory, ignore_errors=True)
        raise CommandError(sentence(done.stderr), done.returncode, done.stdout + done.stderr)
    swept = Sweep(directory, done.stdout, names)
    if is_temporary:
        # The directory lives as long as the results.
        weakref.finalize(swept, shutil.rmtree, directory, ignore_errors=True)
    return swept
