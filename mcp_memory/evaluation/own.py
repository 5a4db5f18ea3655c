"""Makes questions from your own notes, without labels: the answer to each is the passage that it was made from.

Three kinds: a note's title; a sentence with words left out; a sentence whose words are in another order and form, as
you might remember it. They show whether notes come back for words that they contain, and so whether a change of model,
chunking or configuration loses them. They don't show whether a question in other words finds its answer, or whether the
best of several answers comes first.
"""

import random
import re
from collections.abc import Iterator
from datetime import UTC

from mcp_memory.engine.config import EngineConfig
from mcp_memory.errors import McpMemoryError
from mcp_memory.evaluation.running import after_last_log
from mcp_memory.evaluation.sets import EvalQuestion, GoldSpan, QuestionSet, notes_of
from mcp_memory.indexing.index_rows import to_upsert
from mcp_memory.models import Chunk, Filters, NotePath
from mcp_memory.runtime.os_errors import naming_the_cause
from mcp_memory.search.filters import filters_from
from mcp_memory.storage import open_storage
from mcp_memory.text.chunking.chunker import ChunkingConfig
from mcp_memory.text.language.terms import STOP_WORDS
from mcp_memory.text.markdown import frontmatter
from mcp_memory.vault.config import NoteKinds
from mcp_memory.vault.journals.tombstones import Tombstones
from mcp_memory.vault.marker import home_of
from mcp_memory.vault.note_file import Layout
from mcp_memory.vault.note_store import NoteStore

TITLE, SHORTENED, REWORDED = "title", "shortened", "reworded"

FEWEST_WORDS = 6
"""A sentence with fewer words that carry meaning makes no question."""

KEPT = 0.6
"""The share of a sentence's words that is kept."""

_SENTENCE = re.compile(r"[^.!?\n]+")
_WORD = re.compile(r"\w[\w'-]*")


def own_questions(config: EngineConfig, most: int, seed: int = 1) -> QuestionSet:
    """Returns up to `most` questions of each kind; the same vault gives the same ones. They are about notes that a
    search without filters finds. Raises ConfigInvalid, StorageFailed for a vault that can't be read."""
    vault = config.root
    reader, filters = _open_reader(config)
    chance = random.Random(seed)  # noqa: S311 -- a sample, no secret
    files = notes_of(vault)
    chance.shuffle(files)
    found: dict[str, list[EvalQuestion]] = {TITLE: [], SHORTENED: [], REWORDED: []}
    for file in files:
        if all(len(known) >= most for known in found.values()):
            break
        for kind, words, span in _asked(NotePath(file.as_posix()), reader, filters, chance):
            if len(found[kind]) < most:
                found[kind].append(EvalQuestion(f"{kind}-{len(found[kind])}", words, "", kind, True, (span,)))
    return QuestionSet("own", vault, [question for known in found.values() for question in known])


def _open_reader(config: EngineConfig) -> tuple[NoteStore, Filters]:
    """Returns a reader like the engine's, and the filters of a search without any."""
    now, kinds = after_last_log(config.root), NoteKinds(config.kinds)
    zone, forgotten = now.tzinfo or UTC, config.state / "undo"
    with naming_the_cause(str(config.root)):
        layout = Layout(home_of(config.root), zone)
    reader = NoteStore(
        open_storage(config.root, name=config.vault.storage, read_only=True),
        {},
        layout=layout,
        kinds=kinds,
        max_note_bytes=config.vault.max_note_bytes,
        clock=lambda: now,
        tombstones=Tombstones(forgotten) if forgotten.is_dir() else None,
    )
    return reader, filters_from(now=now, tz=zone)


def _asked(
    path: NotePath, reader: NoteStore, filters: Filters, chance: random.Random
) -> Iterator[tuple[str, str, GoldSpan]]:
    try:
        file = reader.read(path)
    except McpMemoryError:
        return  # deleted since it was listed, or not readable
    if not filters.admits(file.record):
        return
    upsert = to_upsert(file.record, file.text, file.body_start, ChunkingConfig())
    chunks = [entry.chunk for entry in upsert.chunks]
    title = frontmatter.parse(file.text).meta.get("title")
    if chunks and isinstance(title, str) and not file.record.is_log and len(_content_words(title)) >= 2:
        yield TITLE, title, GoldSpan(path, chunks[0].start_line, chunks[-1].end_line)
    sentences = [(chunk, words) for chunk in chunks for words in _sentences(chunk)]
    for kind, ask in ((SHORTENED, _shortened), (REWORDED, _reworded)):
        if sentences:
            chunk, words = chance.choice(sentences)
            yield kind, ask(words, chance), GoldSpan(path, chunk.start_line, chunk.end_line)


def _sentences(chunk: Chunk) -> Iterator[list[str]]:
    for match in _SENTENCE.finditer(chunk.text):
        words = _WORD.findall(match[0])
        if len(_content_words(match[0])) >= FEWEST_WORDS:
            yield words


def _content_words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in STOP_WORDS]


def _shortened(words: list[str], chance: random.Random) -> str:
    kept = sorted(chance.sample(range(len(words)), max(3, round(KEPT * len(words)))))
    return " ".join(words[at] for at in kept)


def _reworded(words: list[str], chance: random.Random) -> str:
    content = [word.lower() for word in words if word.lower() not in STOP_WORDS]
    kept = chance.sample(content, max(3, round(KEPT * len(content))))
    return " ".join(_other_form(word) for word in kept)


def _other_form(word: str) -> str:
    """Exchanges English singular and plural; other words stay."""
    if not word.isascii() or not word.isalpha() or len(word) < 4:
        return word
    if word.endswith("s"):
        return word if word.endswith(("ss", "us", "is")) else word[:-1]
    return word if word.endswith(("ed", "ing", "ly", "y")) else f"{word}s"
