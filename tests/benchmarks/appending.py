"""An append inside the engine, with the real model, beside the least that a durable write takes on the same disk."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import anyio

from mcp_memory.daemon.serve import SWITCH_S
from mcp_memory.engine.engine import open_engine
from mcp_memory.models import Contradicted
from mcp_memory.search.note_lookup import NearNotes
from tests.benchmarks.calls import WARM_UP, timed
from tests.benchmarks.corpus import Corpus
from tests.benchmarks.figures import Figure, percentile
from tests.benchmarks.site import Site, fresh
from tests.support.keyword_engine import KeywordEngine

NOTES = Corpus(notes=600, entries=1, series="append")


def append() -> Iterator[Figure]:
    """The answer comes when the note is on disk and its words are found; its vector is made behind it."""
    sys.setswitchinterval(SWITCH_S)
    with fresh() as site:
        floor, ours, without = anyio.run(_appends, site)
    about = f"p99 {percentile(ours, 99) * 1e3:.3g} ms, floor's p99 {percentile(floor, 99) * 1e3:.3g} ms"
    p50, base = percentile(ours, 50) * 1e3, percentile(floor, 50) * 1e3
    yield Figure("append in the engine, p50 (floor: durable write)", p50, "ms", 3, base, about=about)
    added = p50 - percentile(without, 50) * 1e3
    yield Figure("what looking for contradicted notes adds to it, p50", added, "ms", 15, about="by turns, in one run")


async def _none(*_: object) -> list[Contradicted]:
    return []


async def _appends(site: Site) -> tuple[list[float], list[float], list[float]]:
    """The seconds of durable writes, of appends, and of appends that don't look for contradicted notes."""
    floor: list[float] = []
    ours: list[float] = []
    without: list[float] = []
    folder = site.root / "floor"
    folder.mkdir()
    async with open_engine(site.engine_config) as opened:
        engine = KeywordEngine(opened)
        await engine.settled()
        looks = NearNotes.contradicted_by
        for number in range(NOTES.notes):
            content = NOTES.text(number).split("\n\n")[1]
            file = folder / f"{number}.md"
            floor.append(timed(lambda file=file, content=content: _durable_write(file, content.encode())))
            with patch.object(NearNotes, "contradicted_by", _none if number % 2 else looks):
                start = time.perf_counter()
                receipt = await engine.append(content, kind="fact")
                (without if number % 2 else ours).append(time.perf_counter() - start)
            if not receipt.indexed or receipt.outcome != "created":
                raise SystemExit(f"append {number}: {receipt}")
    return floor[WARM_UP:], ours[WARM_UP:], without[WARM_UP:]


def _durable_write(file: Path, data: bytes) -> None:
    draft = file.with_suffix(".draft")
    with draft.open("wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    draft.replace(file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
