"""The topic tree in recall: what it adds to plain search.

Our own questions, and the sets that `MCP_MEMORY_EVAL_SETS` names (folders, with `:` between them), each asked of a
vault that is compacted whole: conversations as leaves, a log's entries and all other notes as notes. Evidence is the
share of the gold lines whose words the answer holds.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

import anyio
import numpy as np

from mcp_memory.core.core import EngineConfig
from mcp_memory.engine.engine import open_engine
from mcp_memory.recall.config import RecallConfig
from mcp_memory.text.conversation.conversation_chunks import chunk_conversation
from mcp_memory.text.conversation.messages import read_turns
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.logs import is_log_path
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.vault.config import VaultConfig
from tests.benchmarks.figures import Figure
from tests.benchmarks.site import models
from tests.evaluation.metrics import BUDGETS, paired
from tests.evaluation.running import after_last_log
from tests.evaluation.sets import EvalQuestion, notes_of, read_set
from tests.support.keyword_engine import KeywordEngine

OWN = Path(__file__).parents[1] / "eval" / "developer"
LEAF_TOKENS = 512
"""A quarter of the usual: a conversation of 20,000 tokens shall make a tree."""
LEAST_LETTERS = 12
"""A shorter line, say a brace, is no evidence."""
FLAT, SHIPPED = "search alone", "recall"
NO_WORSE = 0.997
"""Of what plain search finds: below it the tree does harm."""

Told = dict[str, dict[int, list[float]]]
"""Way → budget → a value a question."""

_ENTRY = re.compile(r"^## (\d\d:\d\d) *(.*)$", re.MULTILINE)
_TURN = re.compile(r"^- ([A-Z]\w+): (.*)$", re.MULTILINE)
_LEAD = re.compile(r"^\s*(?:(?:[-*+]|\d+[.)])\s+)?(?:[A-Z]\w+: )?")


def tree() -> Iterator[Figure]:
    for folder in (OWN, *map(Path, filter(None, os.environ.get("MCP_MEMORY_EVAL_SETS", "").split(":")))):
        questions = read_set(folder)
        evidence: Told = defaultdict(lambda: defaultdict(list))
        with tempfile.TemporaryDirectory() as place:
            for vault, mine in questions.by_vault().items():
                anyio.run(_measure, vault, mine, Path(place) / vault.name, evidence)
        for budget, values in evidence[SHIPPED].items():
            flat = evidence[FLAT][budget]
            change = paired(flat, values)
            about = f"n {len(values)}, {change.mean:+.4f}, {change.low:+.4f} to {change.high:+.4f}"
            mean, floor = float(np.mean(values)), float(np.mean(flat))
            yield Figure(f"{folder.name}: evidence@{budget}, recall", mean, "of all", NO_WORSE, floor, "least", about)


async def _measure(vault: Path, mine: Sequence[EvalQuestion], place: Path, evidence: Told) -> None:
    now = after_last_log(vault)
    config = EngineConfig(
        place / "vault", place / "state", models(), features={"topics": TopicsConfig()},
        vault=VaultConfig(secrets="allow"),
    )  # fmt: skip
    async with open_engine(config, watch=False, clock=lambda: now) as opened:
        engine = KeywordEngine(opened)
        await engine.settled()
        await _fill(engine, vault)
        await engine.compact()
    for way, recall in ((FLAT, RecallConfig(topic_pages=False)), (SHIPPED, RecallConfig())):
        async with open_engine(replace(config, recall=recall), watch=False, clock=lambda: now) as opened:
            engine = KeywordEngine(opened)
            await engine.settled()
            for question in mine:
                if question.answerable and (gold := _gold(question, vault)):
                    for budget in BUDGETS:
                        answer = await engine.recall(question.text, budget_tokens=budget)
                        evidence[way][budget].append(_held(gold, answer))


# -- the vault -------------------------------------------------------------------------------------------------------


async def _fill(engine: KeywordEngine, vault: Path) -> None:
    for path in notes_of(vault):
        document = frontmatter.parse((vault / path).read_text(encoding="utf-8"))
        if day := is_log_path(path.as_posix()):
            for at, title, body in _entries(document.body):
                for leaf in _leaves(f"{day.isoformat()}T{at}:00+00:00", day.isoformat(), title, body):
                    await engine.append(**leaf)
            continue
        title = document.meta.get("title") or (None if document.body.lstrip().startswith("#") else path.stem)
        await engine.append(document.body.strip() + "\n", title=title)


def _entries(body: str) -> Iterator[tuple[str, str, str]]:
    parts = _ENTRY.split(body)[1:]
    yield from zip(parts[::3], parts[1::3], parts[2::3], strict=True)


def _leaves(when: str, day: str, title: str, body: str) -> Iterator[dict[str, Any]]:
    turns = _TURN.findall(body)
    if not turns:
        yield {"content": f"## {day}\n\n{body.strip()}\n", "title": title or None, "created": when}
        return
    messages = [{"speaker": speaker, "content": said, "timestamp": when} for speaker, said in turns]
    for leaf in chunk_conversation(read_turns(messages, UTC, when), LEAF_TOKENS):
        yield {"content": leaf.content, "title": leaf.title, "session": leaf.session, "created": when}


def _gold(question: EvalQuestion, vault: Path) -> list[str]:
    found: dict[str, None] = {}
    for span in question.gold:
        lines = (vault / span.path).read_text(encoding="utf-8", errors="replace").split("\n")
        for line in lines[span.start - 1 : span.end]:
            said = " ".join(_LEAD.sub("", line).split())
            if sum(each.isalnum() for each in said) >= LEAST_LETTERS:
                found[said] = None
    return list(found)


def _held(gold: Sequence[str], answer: str) -> float:
    plain = " ".join(answer.split())
    return sum(line in plain for line in gold) / len(gold)
