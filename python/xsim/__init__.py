"""Runs MPI programs on simulated machines and reads what they report.

    import xsim

    a = xsim.run(["./app"], ranks=64, machine="ethernet")
    b = xsim.run(["./app"], ranks=64, machine="default")
    print(a.compare(b))
    a.call_sites.sort_values("time_ps")

Times are integer picoseconds, sizes are bytes. A frame is a `pandas.DataFrame`, or a list of
dictionaries where pandas is not installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._calibrate import Machine, calibrate
    from ._command import CommandError, XsimError, command, prefix
    from ._report import Comparison, Report, load
    from ._run import RunError, run
    from ._sweep import Sweep, sweep
    from ._trace import Trace

__all__ = [
    "CommandError",
    "Comparison",
    "Machine",
    "Report",
    "RunError",
    "Sweep",
    "Trace",
    "XsimError",
    "calibrate",
    "command",
    "load",
    "prefix",
    "run",
    "sweep",
]

# The modules of the names above. A compiler wrapper starts this package for each file that it
# compiles, and needs none of them.
_MODULES = {
    "_calibrate": ("Machine", "calibrate"),
    "_command": ("CommandError", "XsimError", "command", "prefix"),
    "_report": ("Comparison", "Report", "load"),
    "_run": ("RunError", "run"),
    "_sweep": ("Sweep", "sweep"),
    "_trace": ("Trace",),
}


def __getattr__(name: str) -> Any:
    """Imports a name at its first use."""
    from importlib import import_module

    for module, names in _MODULES.items():
        if name in names:
            value = getattr(import_module(f".{module}", __name__), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Lists the names above without importing them."""
    return sorted({*globals(), *__all__})
