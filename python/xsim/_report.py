"""The report of a run."""

from __future__ import annotations

import csv
import html
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from . import _frames
from ._command import PathLike, XsimError, ask
from ._frames import Frame, Row


class Report:
    """What one run did, read from the JSON of `-xsim-report`.

    `data` is the whole of it (docs/reference/report.md has the schema). `stdout` and `stderr` are
    what the run printed, empty for a report that was loaded from a file.
    """

    def __init__(self, text: str, stdout: str = "", stderr: str = "") -> None:
        try:
            self.data: dict[str, Any] = json.loads(text)
            self._simulated: dict[str, Any] = self.data["simulated"]
        except (ValueError, KeyError, TypeError) as why:
            raise XsimError(
                f"this is no report of xsim ({why}): write one with xsim.run, or xsim run --report FILE"
            ) from None
        self._text = text
        self.stdout = stdout
        self.stderr = stderr

    @property
    def program(self) -> str:
        """The program's file name, without its directory."""
        return os.path.basename(str(self._simulated["program"]))

    @property
    def machine(self) -> str:
        """The simulated machine, as its one-line specification."""
        return str(self._simulated["machine"])

    @property
    def size(self) -> int:
        """The number of virtual ranks."""
        return int(self._simulated["ranks"])

    @property
    def time_ps(self) -> int:
        """The run's virtual time in picoseconds."""
        return int(self._simulated["virtual_time_ps"])

    @property
    def time(self) -> float:
        """The run's virtual time in seconds."""
        return self.time_ps / 1e12

    @property
    def failure(self) -> list[str]:
        """The sentences of a run that ended before its program did; empty if it did not."""
        return list((self._simulated.get("early_end") or {}).get("sentences", []))

    @property
    def ranks(self) -> Frame:
        """Computation, overheads and waiting of each rank; above 512 ranks of blocks."""
        return self.frame("ranks")

    @property
    def call_sites(self) -> Frame:
        """Calls, bytes, time and lost time of each call site and function."""
        return self.frame("call_sites")

    @property
    def collectives(self) -> Frame:
        """Kinds of collective calls, with their algorithm and the fastest one."""
        return self.frame("collectives")

    @property
    def messages(self) -> Frame:
        """Point-to-point messages and bytes from rank to rank."""
        return self.frame("messages")

    @property
    def links(self) -> Frame:
        """The 20 busiest links; empty on a machine without packets or flows."""
        return self.frame("links")

    @property
    def series(self) -> Frame:
        """What all ranks did over virtual time, in up to 512 stretches."""
        return self.frame("series")

    @property
    def regions(self) -> Frame:
        """Times of the regions that the program marks."""
        return self.frame("regions")

    def rows(self, name: str) -> list[Row]:
        """Returns a frame's rows as dictionaries, whether or not pandas is installed."""
        if name not in _frames.MAKERS:
            raise XsimError(f"there is no frame {name}: it is one of {', '.join(_frames.MAKERS)}")
        if name not in _frames.WITHOUT_PROFILE and "profile" not in self._simulated:
            raise XsimError(f"this run has no profile, which {name} needs: run it with --profile")
        make, _ = _frames.MAKERS[name]
        return list(make(self._simulated))

    def frame(self, name: str) -> Frame:
        """Returns a frame by its name."""
        rows = self.rows(name)
        return _frames.frame(rows, _frames.MAKERS[name][1])

    def compare(self, other: Report) -> Comparison:
        """Returns what differs between this run, A, and another one, B."""
        with tempfile.TemporaryDirectory(prefix="xsim-") as directory:
            paths = [os.path.join(directory, name) for name in ("a.json", "b.json")]
            for report, path in zip((self, other), paths):
                report.save(path)
            return Comparison(ask(["report", *paths]), ask(["report", *paths, "--csv", "-"]))

    def text(self) -> str:
        """Returns the report as text, as `xsim report` prints it."""
        return self._shown([])

    def page(self) -> str:
        """Returns the report as a page of HTML that needs nothing else."""
        with tempfile.TemporaryDirectory(prefix="xsim-") as directory:
            path = Path(directory, "run.html")
            self._shown(["-o", str(path)])
            return path.read_text(encoding="utf-8")

    def save(self, path: PathLike) -> None:
        """Writes the report: as a page if the name ends in `.html`, as text in `.txt`, `.md` and
        `.csv`, else as JSON, which `load` reads."""
        if Path(path).suffix in (".html", ".htm", ".txt", ".md", ".csv"):
            self._shown(["-o", os.fspath(path)])
        else:
            Path(path).write_text(self._text, encoding="utf-8")

    def _shown(self, arguments: list[str]) -> str:
        with tempfile.TemporaryDirectory(prefix="xsim-") as directory:
            path = os.path.join(directory, "run.json")
            Path(path).write_text(self._text, encoding="utf-8")
            return ask(["report", path, *arguments])

    def _repr_html_(self) -> str:
        """Returns the page in a frame, for notebooks."""
        page, title = html.escape(self.page()), html.escape(f"The report of {self.program}")
        style = "width: 100%; height: 40em; border: 1px solid #8888"
        return f'<iframe srcdoc="{page}" sandbox="allow-scripts" title="{title}" style="{style}"></iframe>'

    def __repr__(self) -> str:
        return f"<xsim.Report: {self.program} on {self.size:,} ranks of {self.machine}: {self.time:.6g} s>"


class Comparison:
    """What differs between two runs: `str` gives it as text, `tables` as frames by title."""

    def __init__(self, text: str, values: str) -> None:
        self._text = text
        self._rows: dict[str, dict[str, Row]] = {}
        for field in csv.DictReader(io.StringIO(values)):
            row = self._rows.setdefault(field["table"], {}).setdefault(field["row"], {})
            row[field["column"]] = _frames.number(field["value"] or "")
            if row[field["column"]] is None:
                row[field["column"]] = field["text"] or None

    @property
    def tables(self) -> dict[str, Frame]:
        """The tables of the comparison by their titles; columns `a`, `b` and `b_minus_a`."""
        return {title: _frames.frame(self.rows(title)) for title in self._rows}

    def rows(self, title: str) -> list[Row]:
        """Returns the rows of a table as dictionaries."""
        if title not in self._rows:
            raise XsimError(f"there is no table {title}: it is one of {', '.join(self._rows)}")
        return list(self._rows[title].values())

    def __getitem__(self, title: str) -> Frame:
        return _frames.frame(self.rows(title))

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._text)}</pre>"


def load(path: PathLike) -> Report:
    """Returns the report in a file, from `xsim run --report FILE` or `Report.save`."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as why:
        raise XsimError(f"cannot read the report {os.fspath(path)}: {why.strerror}") from None
    return Report(text)
