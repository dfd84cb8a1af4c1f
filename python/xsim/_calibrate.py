"""Makes a machine from measured times."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Union

from ._command import PathLike, ask, options

Measured = Union[PathLike, Iterable[tuple[int, float]]]


class Machine:
    """A simulated machine, for `run(machine=...)`.

    `text` is its machine file, `fit` what was said of the lines through the measured times.
    """

    def __init__(self, text: str, fit: str = "") -> None:
        self.text = text
        self.fit = fit

    @property
    def network(self) -> str:
        """The network's specification; empty if the file has none."""
        found = re.search(r'^network = "(.*)"$', self.text, re.MULTILINE)
        return found.group(1) if found else ""

    def save(self, path: PathLike) -> None:
        """Writes the machine file."""
        Path(path).write_text(self.text, encoding="utf-8")

    def __repr__(self) -> str:
        return f"<xsim.Machine: {self.network}>"


def calibrate(
    *tables: Measured,
    inside: Measured | None = None,
    ranks_inside: int | None = None,
    unit: str | None = None,
    name: str = "calibrated",
) -> Machine:
    """Makes a machine from the times of messages between two nodes.

    A table is a file that `osu_latency`, `osu_bw`, IMB's PingPong or mpptest printed, or pairs of
    bytes and seconds. `inside` has times between two ranks of a node with `ranks_inside` ranks.
    """
    with tempfile.TemporaryDirectory(prefix="xsim-") as directory:
        paths = [table_file(table, directory, str(index)) for index, table in enumerate(tables)]
        output = os.path.join(directory, "machine.toml")
        given = {
            "inside": None if inside is None else table_file(inside, directory, "inside"),
            "ranks_inside": ranks_inside,
            "unit": unit,
            "name": name,
            "output": output,
        }
        fit = ask(["calibrate", *options(given), *paths])
        return Machine(Path(output).read_text(encoding="utf-8"), fit)


def table_file(table: Measured, directory: str, name: str) -> str:
    """Returns the path of a table; pairs are written to a file in the directory."""
    if isinstance(table, (str, os.PathLike)):
        return os.fspath(table)
    path = os.path.join(directory, f"table-{name}.txt")
    lines = [f"{size} {seconds * 1e6!r}" for size, seconds in table]
    Path(path).write_text("\n".join(["bytes latency (us)", *lines, ""]), encoding="utf-8")
    return path
