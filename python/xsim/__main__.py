"""Becomes the xsim command: `python -m xsim run -n 4 ./app`."""

from ._command import become

become("xsim")
