"""Run the benchmarks and print a table; the exit code is 1 where a goal was missed."""

from __future__ import annotations

import argparse
import json
import sys

from mcp_memory.runtime.telemetry import switch_off
from tests.benchmarks import (
    appending,
    compaction,
    extraction,
    footprint,
    hooks,
    indexing,
    retrieval,
    search,
    shell,
    stdio,
    tree,
)
from tests.benchmarks.figures import HEADER, Figure, line

PARTS = {
    "search-10k": search.search_10k,
    "search-100k": search.search_100k,
    "retrieval": retrieval.retrieval,
    "beside-compaction": compaction.beside_compaction,
    "tree": tree.tree,
    "first-index": indexing.first_index,
    "one-change": indexing.one_change,
    "append": appending.append,
    "footprint": footprint.footprint,
    "shell": shell.shell,
    "hooks": hooks.hooks,
    "stdio": stdio.stdio,
    "extraction": extraction.extraction,
    "start": shell.start,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="NAME", help=", ".join(PARTS))
    parser.add_argument("--json", action="store_true", help="print one JSON list instead of a table")
    options = parser.parse_args()
    switch_off()
    figures: list[Figure] = []
    if not options.json:
        print(HEADER, flush=True)
    for name in options.only:
        for figure in PARTS[name]():
            figures.append(figure)
            if not options.json:
                print(line(figure), flush=True)
    if options.json:
        print(json.dumps([figure.payload() for figure in figures], indent=2))
    return 0 if all(figure.met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
