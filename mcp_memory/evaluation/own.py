"""Questions about a person's own notes, made without a label: for each the place where it was taken from is the answer.

Three kinds: a note's title; a sentence with words left out; a sentence whose words are out of order and out of form, as
somebody remembers it. What they show: whether notes come back for words that stand in them, so whether a change of
model, chunking or configuration loses them. What they cannot: whether a question in quite other words finds its answer,
nor whether the best of several answers is first.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

from mcp_memory.evaluation.sets import Question, QuestionSet, Span, notes_of
from mcp_memory.models import Chunk
from mcp_memory.text import chunking, frontmatter
from mcp_memory.text.logs import is_log_path
from mcp_memory.text.terms import STOP_WORDS

TITLE, SHORTENED, REWORDED = "title", "shortened", "reworded"

FEWEST_WORDS = 6
"""A sentence with fewer words that carry meaning is no question of its own."""

KEPT = 0.6
"""So many of a sentence's words are kept."""

_SENTENCE = re.compile(r"[^.!?\n]+")
_WORD = re.compile(r"\w[\w'-]*")


def own_questions(vault: Path, most: int, seed: int = 1) -> QuestionSet:
    """Up to `most` questions of each kind, from as many notes as that takes; the same vault gives the same ones."""
    chance = random.Random(seed)  # noqa: S311 -- a sample, no secret
    files = notes_of(vault)
    chance.shuffle(files)
    found: dict[str, list[Question]] = {TITLE: [], SHORTENED: [], REWORDED: []}
    for file in files:
        if all(len(known) >= most for known in found.values()):
            break
        for kind, words, span in _asked(vault / file, file.as_posix(), chance):
            if len(found[kind]) < most:
                found[kind].append(Question(f"{kind}-{len(found[kind])}", words, "", kind, True, (span,)))
    return QuestionSet("own", vault, [question for known in found.values() for question in known])


def _asked(file: Path, path: str, chance: random.Random) -> Iterator[tuple[str, str, Span]]:
    try:
        text = frontmatter.decode(file.read_bytes()).text
    except OSError:
        return  # gone since it was listed, or not ours to read
    if not text:
        return
    document = frontmatter.parse(text)
    is_log = is_log_path(path) is not None
    chunks = chunking.chunk(text, document.body_start, chunking.ChunkingConfig(), log=is_log)
    title = document.meta.get("title")
    if chunks and isinstance(title, str) and not is_log and len(_telling(title)) >= 2:
        yield TITLE, title, Span(path, chunks[0].start_line, chunks[-1].end_line)
    sentences = [(chunk, words) for chunk in chunks for words in _sentences(chunk)]
    for kind, ask in ((SHORTENED, _shortened), (REWORDED, _reworded)):
        if sentences:
            chunk, words = chance.choice(sentences)
            yield kind, ask(words, chance), Span(path, chunk.start_line, chunk.end_line)


def _sentences(chunk: Chunk) -> Iterator[list[str]]:
    for match in _SENTENCE.finditer(chunk.text):
        words = _WORD.findall(match[0])
        if len(_telling(match[0])) >= FEWEST_WORDS:
            yield words


def _telling(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in STOP_WORDS]


def _shortened(words: list[str], chance: random.Random) -> str:
    kept = sorted(chance.sample(range(len(words)), max(3, round(KEPT * len(words)))))
    return " ".join(words[at] for at in kept)


def _reworded(words: list[str], chance: random.Random) -> str:
    telling = [word.lower() for word in words if word.lower() not in STOP_WORDS]
    kept = chance.sample(telling, max(3, round(KEPT * len(telling))))
    return " ".join(_other_form(word) for word in kept)


def _other_form(word: str) -> str:
    """An English plural for a singular and the other way round; other words stay."""
    if not word.isascii() or not word.isalpha() or len(word) < 4:
        return word
    if word.endswith("s"):
        return word if word.endswith(("ss", "us", "is")) else word[:-1]
    return word if word.endswith(("ed", "ing", "ly", "y")) else f"{word}s"
