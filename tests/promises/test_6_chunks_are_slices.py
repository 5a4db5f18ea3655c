"""Invariant 6: every passage that the index holds is an exact slice of its file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory.text.chunking.chunker import ChunkingConfig
from tests.support.world import index_of, made, more, records

pieces = st.sampled_from(
    [
        "# Heading\n", "## 10:30 entry\n", "- item\n- item\n", "```py\ncode\n\n\n```\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "paragraph of words\n", "\n\n", "---\n", "---\ntitle: x\n---\n", "x" * 3000 + "\n", "word " * 700,
        "名前は茶です。" * 300,
        "👩‍🚀" * 400, "\ufeff", "\r\n", "\r", "\x0c", "\u2028", "```\nopen fence\n", "> quoted\n", "\t tab\n",
        "text  \n",
    ]
)  # fmt: skip
texts = st.lists(pieces | st.text(max_size=40), max_size=12).map(
    lambda parts: "".join(parts).encode("utf-8", "replace")
)
blobs = texts | texts.map(lambda data: data + b"\xff\xfe") | st.binary(max_size=200)
configs = st.sampled_from([ChunkingConfig(), ChunkingConfig(join_chars=0, max_chars=100)])


@given(content=blobs, other=blobs, config=configs)
@settings(max_examples=more(25), deadline=None)
def test_every_passage_is_a_slice(content: bytes, other: bytes, config: ChunkingConfig) -> None:
    async def look() -> None:
        with tempfile.TemporaryDirectory() as folder:
            world = made(Path(folder))
            world.write("a.md", content)
            world.write("memory/2026-11-21.md", other)
            world.write("b.md", "There is at least one passage.\n")
            async with world.engine(chunking=config) as engine:
                vault = world.vault()
                if vault.read("memory/2026-11-21.md").text:
                    await engine.append("one more entry", kind="log")
                checked = 0
                with index_of(engine) as index:
                    passages = {record.path: index.passages(record.path) for record in records(engine)}
                for path, cut in passages.items():
                    file = vault.read(path)
                    lines = file.text.split("\n")
                    for passage in cut:
                        chunk = passage.chunk
                        assert chunk.text == file.text[chunk.start : chunk.end]
                        assert (
                            chunk.text
                            == "\n".join(lines[chunk.start_line - 1 : chunk.end_line])[
                                _column(file.text, chunk.start) :
                            ][: len(chunk.text)]
                        )
                        checked += 1
                assert checked

    anyio.run(look)


def _column(text: str, place: int) -> int:
    return place - (text.rfind("\n", 0, place) + 1)
