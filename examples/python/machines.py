"""Compares a program on two machines, and finds the latency from which it pays to change it.

    python examples/python/machines.py [PROGRAM [RANKS]]

Without a program it is examples/c/slow.c, on 16 ranks. Expect the faster machine, the call site that
loses most time on the slower one, and a table of four runs. Needs the module xsim (pip install xsim-*.whl).
"""

import sys
from pathlib import Path

import xsim

program = sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).resolve().parents[1] / "c/slow.c")
ranks = int(sys.argv[2]) if len(sys.argv) > 2 else 16

runs = {name: xsim.run([program], ranks, name, compute="none") for name in ("ethernet", "default")}
fast, slow = sorted(runs, key=lambda name: runs[name].time_ps)
print(f"{fast} is {runs[slow].time / runs[fast].time:.2f} times as fast as {slow}")

worst = max(runs[slow].rows("call_sites"), key=lambda site: site["wait_ps"])
share, site = worst["wait_share"], worst["call_site"]
print(f"on {slow} {share:.0%} of all ranks' time is waiting in {worst['function']} at {site}")

options = {"ranks": ranks, "compute": "none", "machine": "star:l={l},b=10Gbps"}
vary = {"l": ["1us", "10us"], "way": ["chain", "sides"]}
for row in xsim.sweep([program, "{way}"], vary, **options).rows:
    print(f"{row['l']:>4} {row['way']:5} {row['virtual_time_ps'] / 1e9:.3f} ms")
