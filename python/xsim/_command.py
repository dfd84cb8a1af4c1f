"""Finds the xsim command and calls it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn, Union

PathLike = Union[str, "os.PathLike[str]"]

# The variable that names another command.
VARIABLE = "XSIM"
# The directory of the binaries that the wheel brings. An installation has the module in share/xsim/python.
BUNDLE = Path(__file__).resolve().parent / "prefix"
# The source tree that this module is in, if it is in one.
SOURCE = Path(__file__).resolve().parents[2]


class XsimError(Exception):
    """A sentence of what was wrong and what to do."""


class CommandError(XsimError):
    """A command of xsim ended with a status other than 0.

    `status` is the exit status, `output` what the command printed on both streams.
    """

    def __init__(self, sentence: str, status: int, output: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.output = output


def command() -> str:
    """Returns the path of the xsim command.

    The variable XSIM names it. Otherwise it is the wheel's own, the source tree's, or the first
    on PATH.
    """
    named = os.environ.get(VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise XsimError(f"{VARIABLE}={named} is no program: name the xsim command, or unset {VARIABLE}")
        return found
    places = [BUNDLE / "bin" / "xsim"]
    if BUNDLE.parents[1].match("share/xsim/python"):
        places.append(BUNDLE.parents[4] / "bin" / "xsim")
    if (SOURCE / "cli" / "main.rs").is_file():
        target = Path(os.environ.get("CARGO_TARGET_DIR") or SOURCE / "target")
        places = [target / "release" / "xsim", target / "dist" / "xsim"]
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return str(place)
    found = shutil.which("xsim")
    if found is None:
        raise XsimError(
            "there is no xsim command: install the wheel (pip install xsim-*.whl), put it on PATH, or "
            f"name it in {VARIABLE}"
        )
    return found


def prefix() -> Path:
    """Returns the directory with `bin`, `lib`, `include` and `share` of the command in use."""
    return Path(command()).resolve().parent.parent


def become(name: str) -> NoReturn:
    """Replaces this process by the command under this name, with the same arguments."""
    try:
        path = command()
        os.execv(path, [name, *sys.argv[1:]])
    except (XsimError, OSError) as why:
        print(f"xsim: {why}", file=sys.stderr)
        raise SystemExit(127) from None


def main() -> NoReturn:
    """Becomes the command under the name of this script: xsim, or a compiler wrapper."""
    become(os.path.basename(sys.argv[0]))


def words(program: PathLike | Sequence[Any]) -> list[str]:
    """Returns a command line: a path alone, or the items of a sequence as text."""
    if isinstance(program, (str, os.PathLike)):
        return [os.fspath(program)]
    listed = [os.fspath(word) if isinstance(word, os.PathLike) else str(word) for word in program]
    if not listed:
        raise XsimError('no program: give its path and arguments, as in ["./app", "100"]')
    return listed


def options(given: Mapping[str, Any]) -> list[str]:
    """Returns keyword arguments as options: `eager_limit="64KiB"` as `--eager-limit=64KiB`.

    `True` gives the option alone, `False` gives `off`, and `None` leaves it out.
    """
    listed = []
    for name, value in given.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            listed.append(option)
        elif value is False:
            listed.append(f"{option}=off")
        elif value is not None:
            listed.append(f"{option}={value}")
    return listed


def call(
    arguments: Sequence[str],
    *,
    cwd: PathLike | None = None,
    env: Mapping[str, str] | None = None,
    stdin: None | int | IO[Any] = subprocess.DEVNULL,
) -> subprocess.CompletedProcess[str]:
    """Calls the command with these arguments and returns its status and both streams."""
    whole = None if env is None else {**os.environ, **env}
    return subprocess.run(
        [command(), *arguments],
        cwd=cwd,
        env=whole,
        stdin=stdin,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def sentence(stderr: str) -> str:
    """Returns the command's own error of what it printed, without its name before it."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    for line in lines:
        for mark in ("xsim: ", "error: "):
            if line.startswith(mark):
                return line[len(mark) :]
    return lines[-1] if lines else "it gave no reason"


def ask(arguments: Sequence[str]) -> str:
    """Calls the command and returns its standard output.

    Raises `CommandError` if the status is not 0.
    """
    done = call(arguments)
    if done.returncode != 0:
        raise CommandError(sentence(done.stderr), done.returncode, done.stdout + done.stderr)
    return done.stdout
