"""Makes rows, and frames of them where pandas is installed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = dict[str, Any]
# A pandas.DataFrame, or the rows as they are.
Frame = Any


class Rows(list[Row]):
    """The rows of a frame where pandas is not installed: a list that names what its user misses."""

    def __getattr__(self, name: str) -> Any:
        """Raises an error with the way to a data frame."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(
            f"a frame is a list of dictionaries without pandas, and has no {name}: pip install pandas"
        )


def frame(rows: list[Row], columns: Sequence[str] = ()) -> Frame:
    """Returns rows as a `pandas.DataFrame` with these columns; as `Rows` without pandas."""
    try:
        import pandas  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        return Rows(rows)
    return pandas.DataFrame(rows, columns=None if rows else list(columns))


def number(text: str) -> Any:
    """Returns a field of a CSV as an integer, a float, `None` if it is empty, or the text."""
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def read_csv(text: str) -> list[Row]:
    """Returns the rows of a CSV with a heading."""
    reader = csv.DictReader(io.StringIO(text))
    return [{name: number(value or "") for name, value in row.items()} for row in reader]


def spread(name: str, value: Mapping[str, Any]) -> Row:
    """Returns the least, mean and greatest time over ranks as columns."""
    return {
        f"{name}_min_ps": value["min_ps"],
        f"{name}_mean_ps": value["mean_ps"],
        f"{name}_max_ps": value["max_ps"],
        f"{name}_max_rank": value["max_rank"],
    }


def ranks(simulated: Mapping[str, Any]) -> Iterable[Row]:
    """Yields the load of each rank, or of each block of neighbours above 512 ranks."""
    for block in simulated["profile"]["load"]:
        row = {"rank": block["first_rank"], "ranks": block["ranks"]}
        if block["ranks"] == 1:
            row.update({f"{name}_ps": block[name]["mean_ps"] for name in ("compute", "mpi", "wait")})
        else:
            # Means come under the names that single ranks have, so that both kinds can be plotted alike.
            for name in ("compute", "mpi", "wait"):
                row[f"{name}_ps"] = block[name]["mean_ps"]
                row.update(spread(name, block[name]))
        yield row


def call_sites(simulated: Mapping[str, Any]) -> Iterable[Row]:
    """Yields each call site and function, with calls, bytes, times and lost time by wait state."""
    whole = simulated["virtual_time_ps"] * simulated["ranks"] or 1
    for site in simulated["profile"]["sites"]:
        time, wait = site["time"], site["wait"]
        states = {name: state["sum_ps"] for name, state in site.get("states", {}).items()}
        yield {
            "call_site": site["site"],
            "function": site["function"],
            "calls": time["count"],
            "bytes": site["bytes"],
            "time_ps": time["sum_ps"],
            "wait_ps": wait["sum_ps"],
            "time_share": time["sum_ps"] / whole,
            "wait_share": wait["sum_ps"] / whole,
            "longest_ps": time["max_ps"],
            "longest_rank": time["max_rank"],
            "lost_to": max(states, key=lambda name: states[name]) if states else None,
            "lost_ps": sum(states.values()),
        }


def collectives(simulated: Mapping[str, Any]) -> Iterable[Row]:
    """Yields each kind of collective call, with the fastest algorithm for it if it was evaluated."""
    for call in simulated["profile"].get("collectives", []):
        kind, takes = call["kind"], call.get("takes_ps") or {}
        fastest = min(takes, key=lambda name: takes[name]) if takes else None
        yield {
            "call_site": call["site"],
            "function": call["function"],
            "algorithm": kind["algorithm"],
            "members": kind["members"],
            "calls": call["calls"],
            "least_bytes": call["least_bytes"],
            "most_bytes": call["most_bytes"],
            "time_ps": call["time_ps"],
            "wait_ps": call["wait_ps"],
            "one_takes_ps": takes.get(kind["algorithm"]),
            "fastest": fastest,
            "fastest_takes_ps": takes.get(fastest) if fastest else None,
        }


def messages(simulated: Mapping[str, Any]) -> Iterable[Row]:
    """Yields point-to-point messages from rank to rank, or between blocks of neighbours."""
    traffic = simulated["profile"]["traffic"]
    width = traffic["ranks_per_block"]
    for sender, receiver, count, size in traffic["cells"]:
        yield {
            "from_rank": sender * width,
            "to_rank": receiver * width,
            "ranks_per_block": width,
            "messages": count,
            "bytes": size,
        }


def links(simulated: Mapping[str, Any]) -> Iterable[Row]:
    """Yields the 20 busiest links of a machine with packets or flows."""
    network = simulated.get("network") or {}
    for link in network.get("map", {}).get("busiest", []):
        yield {
            "from": link["from"],
            "to": link["to"],
            "use": link["use"],
            "blocked_ps": round(link["blocked_ns"] * 1000),
        }


def series(simulated: Mapping[str, Any]) -> Iterable[Row]:
    """Yields equal stretches of virtual time: what ranks did, and bytes under way."""
    found = simulated["profile"]["series"]
    width = found["bin_ps"]
    columns = [name for name in ("compute_ps", "mpi_ps", "wait_ps", "under_way_bytes") if name in found]
    use = found.get("links")
    for index in range(max((len(found[name]) for name in columns), default=0)):
        row = {"begin_ps": index * width}
        row.update({name: found[name][index] if index < len(found[name]) else 0 for name in columns})
        if use:
            # Links have fewer and longer stretches.
            at = index * width // use["bin_ps"]
            inside = at < len(use["mean"])
            row["links_mean"] = use["mean"][at] / 10_000 if inside else 0.0
            row["links_most"] = use["most"][at] / 10_000 if inside else 0.0
        yield row


def regions(simulated: Mapping[str, Any]) -> Iterable[Row]:
    """Yields the regions of the program, with times over ranks."""
    for region in simulated["profile"].get("regions", []):
        row = {"region": region["name"], "visits": region["visits"]}
        for name in ("time", "compute", "mpi", "wait"):
            row.update(spread(name, region[name]))
        yield row


# The makers of rows by the name of the frame, and the columns of a frame without rows.
MAKERS = {
    "ranks": (ranks, ["rank", "ranks", "compute_ps", "mpi_ps", "wait_ps"]),
    "call_sites": (call_sites, ["call_site", "function", "calls", "bytes", "time_ps", "wait_ps"]),
    "collectives": (collectives, ["call_site", "function", "algorithm", "members", "calls"]),
    "messages": (messages, ["from_rank", "to_rank", "ranks_per_block", "messages", "bytes"]),
    "links": (links, ["from", "to", "use", "blocked_ps"]),
    "series": (series, ["begin_ps", "compute_ps", "mpi_ps", "wait_ps", "under_way_bytes"]),
    "regions": (regions, ["region", "visits"]),
}
# Frames that need no profile.
WITHOUT_PROFILE = ["links"]
