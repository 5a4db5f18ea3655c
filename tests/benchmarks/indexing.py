"""Indexing: the first time beside the model alone, again with nothing to do, and one changed note among many."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import PurePosixPath

import anyio

from mcp_memory.embedders.base import Embedder, EmbedderConfig
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.engine.engine import open_engine
from mcp_memory.models import NotePath
from tests.benchmarks.calls import timed
from tests.benchmarks.corpus import Corpus
from tests.benchmarks.figures import Figure, percentile
from tests.benchmarks.search import LARGE, SMALL
from tests.benchmarks.site import Site, fresh, indexed
from tests.support.indexed_vault import IndexedVault, indexed_vault
from tests.support.world import World

FIRST = Corpus(notes=400, entries=5, series="first")
TINY = Corpus(notes=200, entries=5)
CHANGES = 40
RAW_TEXTS = 500
RAW_BATCH = 64


def first_index() -> Iterator[Figure]:
    """From an empty index until all vectors are in, between two measurements of the model alone."""
    with fresh() as site:
        FIRST.write(site.vault)
        model = open_embedder(EmbedderConfig(), site.settings.state.models)
        before = _raw_rate(model)
        took_s = anyio.run(_first_index, site)
        after = _raw_rate(model)
        model.close()
    raw = (before + after) / 2
    about = f"the model alone: {before:.0f} before, {after:.0f} after"
    yield Figure("first index (floor: the model alone)", FIRST.chunks / took_s, "chunks/s", 0.85, raw, "least", about)


def one_change() -> Iterator[Figure]:
    """A note of ten entries is changed and put into the index: the more there is must not make it slower."""
    corpora = [TINY, SMALL, LARGE]
    sites = [indexed(corpus) for corpus in corpora]
    few, some, many = (percentile(taken, 50) * 1e3 for taken in anyio.run(_changes, corpora, sites))
    yield Figure("one changed note among 10,000 chunks (floor: 1,000)", some, "ms", 1.5, few)
    yield Figure("one changed note among 100,000 chunks (floor: 1,000)", many, "ms", 1.5, few)


def _raw_rate(model: Embedder) -> float:
    """Texts a second, of the form that the engine embeds: the place in front, then the entry."""
    texts: list[str] = []
    for number in range(RAW_TEXTS // FIRST.entries):
        title, *entries = FIRST.text(number).strip().split("\n\n")
        place = f"{PurePosixPath(FIRST.path(number)).stem} > {title.removeprefix('# ')}"
        texts += [f"{place}\n{entry}" for entry in entries]
    model.embed_documents(texts[:RAW_BATCH])
    batches = [texts[at : at + RAW_BATCH] for at in range(0, len(texts), RAW_BATCH)]
    return len(texts) / timed(lambda: [model.embed_documents(batch) for batch in batches])


async def _first_index(site: Site) -> float:
    start = time.perf_counter()
    async with open_engine(site.engine_config, watch=False) as engine:
        await engine.settled()
        took_s = time.perf_counter() - start
        status = await engine.perform("status", {})
    if status["pending"] or status["chunks"] < FIRST.chunks:
        raise SystemExit(f"the first index is not complete: {status}")
    return took_s


async def _changes(corpora: list[Corpus], sites: list[Site]) -> list[list[float]]:
    """Seconds of `CHANGES` changes in each, in turns; afterwards every note is as it was."""
    with ExitStack() as stack:
        configs = [site.engine_config for site in sites]
        worlds = [World(config.root, config.state, config.models) for config in configs]
        rooms = [stack.enter_context(indexed_vault(world)) for world in worlds]
        times: list[list[float]] = [[] for _ in sites]
        for number in range(CHANGES):
            for corpus, room, taken in zip(corpora, rooms, times, strict=True):
                taken.append(await _change(room, corpus, number))
    return times


async def _change(room: IndexedVault, corpus: Corpus, number: int) -> float:
    file = room.vault.roots()[""] / corpus.path(number)
    path, kept = NotePath(corpus.path(number)), file.read_bytes()
    try:
        file.write_text(f"# Changed {number}\n\n" + replace(corpus, entries=10).text(number), encoding="utf-8")
        note = room.vault.read(path)
        start = time.perf_counter()
        await room.writer.index_note(note)
        return time.perf_counter() - start
    finally:
        file.write_bytes(kept)
        await room.writer.index_note(room.vault.read(path))
