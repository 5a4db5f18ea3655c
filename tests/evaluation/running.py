"""Puts questions to a real engine over a copy of their vault, with its own state folder."""

import shutil
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import anyio

from mcp_memory.core.core import EngineConfig
from mcp_memory.core.requests import Mode
from mcp_memory.engine.engine import Engine, open_engine
from mcp_memory.errors import InvalidInput
from mcp_memory.library.answers import search_result
from mcp_memory.runtime.private_files import naming_the_cause
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.searcher import SearchConfig
from mcp_memory.text.markdown.frontmatter import split_head
from mcp_memory.text.markdown.logs import entries, is_log_path
from mcp_memory.text.tokens import count_tokens
from mcp_memory.vault.marker import MARKER, open_marker
from tests.evaluation.context import ContextScore
from tests.evaluation.metrics import FoundEvidence, RecallScore, RetrievalScore
from tests.evaluation.sets import EvalQuestion, GoldSpan, QuestionSet, notes_of

HITS = 100
"""Hits per question: turns of a dialogue are so short that 40 don't fill 2,000 tokens."""

SHOWN_EVERY_S, COPY_S, BRIEF_MS = 5.0, 600.0, 60_000

Tell = Callable[[str], None]
T = TypeVar("T", RetrievalScore, RecallScore, ContextScore)


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to search: complete, or without one part. `explains`: the answers have the signs of their confidence."""

    name: str = ""
    mode: Mode = "hybrid"
    search: SearchConfig = field(default_factory=SearchConfig)
    explains: bool = False


_WITHOUT: dict[str, tuple[str, str, Any]] = {
    "names": ("retrievers", "drop_names", False),
    "spelling": ("retrievers", "respelled_terms", 0),
    **{part: ("fusion", part, 0.0) for part in ("lexical", "ceiling", "section", "neighbour", "unlisted")},
    **{part: ("boosts", part, 0.0) for part in ("lead", "date", "time", "question", "foreign")},
}
"""A part of the search → the field of SearchConfig, and the value there, that switches it off."""
_MODES: dict[str, Mode] = {"words": "semantic", "dense": "keyword"}
PARTS = (*_MODES, *_WITHOUT)


def without(part: str, usual: SearchConfig) -> Variant:
    """Returns the usual search without one part. Raises InvalidInput for an unknown part."""
    if part in _MODES:
        return Variant(part, _MODES[part], usual)
    if part not in _WITHOUT:
        raise InvalidInput(f"no part of the search is called {part[:100]!r}", hint=f"one of {', '.join(PARTS)}")
    section, name, value = _WITHOUT[part]
    changed: Any = replace(getattr(usual, section), **{name: value})
    return Variant(part, search=replace(usual, **{section: changed}))


async def run(
    questions: QuestionSet, config: EngineConfig, variants: Sequence[Variant], state: Path, tell: Tell
) -> list[list[RetrievalScore]]:
    """Returns the answers of each variant, in the order of the questions. The vaults are copied to `state`, where an
    earlier run's index is used again; `config`'s root, state and sources are left alone.

    Raises IndexUnavailable, EmbedderUnavailable and what opening a vault raises.
    """
    answers: list[list[RetrievalScore]] = [[] for _ in variants]
    faults: dict[str, None] = {}
    async for asked in _vaults(questions, state, tell):
        for column, variant in zip(answers, variants, strict=True):
            async with _engine(asked, replace(config, search=variant.search), tell) as engine:
                column += [await _ask(engine, question, variant, faults) for question in asked.questions]
    for fault in faults:
        tell(f"some answers were poorer: {fault}")
    return [_in_order(questions, column) for column in answers]


async def recall(
    questions: QuestionSet, config: EngineConfig, budgets: Sequence[int], state: Path, tell: Tell
) -> list[RecallScore]:
    """Returns what `memory_recall` shows for each answerable question within each budget (tokens); else as `run`."""
    answers: list[RecallScore] = []
    async for asked in _vaults(questions, state, tell):
        async with _engine(asked, config, tell) as engine:
            for question in (question for question in asked.questions if question.answerable):
                shown: dict[int, set[tuple[str, int]]] = {}
                tokens: dict[int, int] = {}
                for budget in budgets:
                    recalled = await engine.perform("recall", {"query": question.text, "budget_tokens": budget})
                    shown[budget] = {(path, line) for path, lines in recalled["lines"].items() for line in lines}
                    tokens[budget] = count_tokens(recalled["text"])
                answers.append(RecallScore(question, shown, tokens))
    return _in_order(questions, answers)


async def brief(questions: QuestionSet, config: EngineConfig, state: Path, tell: Tell) -> list[ContextScore]:
    """Returns what the prompt hook tells with each prompt, in a session of its own; else as `run`."""
    answers: list[ContextScore] = []
    async for asked in _vaults(questions, state, tell):
        async with _engine(asked, config, tell) as engine:
            for prompt in (question for question in asked.questions if question.is_prompt):
                session = {"session": f"eval/{prompt.id}", "project": prompt.project, "within_ms": BRIEF_MS}
                # What lasts counts as seen by the session, in a kept state folder even by the next run's.
                answer = await engine.perform("brief", {**session, "prompt": prompt.text, "lasting": False})
                titles = await engine.perform("titles", {"ids": answer["notes"]})
                paths = {note: entry["path"] for note, entry in titles["notes"].items()}
                labels = (*prompt.gold, *prompt.also, *prompt.outdated, *prompt.private)
                texts = {
                    path: (asked.place / "vault" / path).read_text(encoding="utf-8", errors="replace")
                    for path in {*paths.values(), *(span.path for span in labels)}
                }
                notes = [_span(note, path, texts[path]) for note, path in paths.items()]
                lines = {path: text.split("\n") for path, text in texts.items()}
                answers.append(ContextScore(prompt, answer["text"], notes, lines))
    return _in_order(questions, answers)


def _span(note_id: str, path: str, text: str) -> GoldSpan:
    """Returns the lines of a note, or of a log entry, whose id ends with its hash."""
    for entry in entries(text, split_head(text).body_start) if is_log_path(path) else ():
        if note_id.endswith(f"#{entry.hash}"):
            return GoldSpan(path, entry.start_line, entry.end_line)
    return GoldSpan(path, 1, text.count("\n") + 1)


def _in_order(questions: QuestionSet, answers: Sequence[T]) -> list[T]:
    order = {question.id: at for at, question in enumerate(questions.questions)}
    return sorted(answers, key=lambda answer: order[answer.question.id])


@dataclass(frozen=True, slots=True)
class _Asked:
    """The folder of a vault's copy and its index, the questions about it, and when they are asked."""

    place: Path
    questions: Sequence[EvalQuestion]
    now: datetime


async def _vaults(questions: QuestionSet, state: Path, tell: Tell) -> AsyncGenerator[_Asked]:
    vaults = questions.by_vault()
    for number, (vault, mine) in enumerate(vaults.items(), 1):
        place = state / f"{questions.name}-{number}"
        copied = await in_thread(
            lambda vault=vault, place=place: _copied(vault, place / "vault", questions.distractors),
            deadline_s=COPY_S,
            what="copying the vault",
        )
        tell(f"vault {number} of {len(vaults)}: {copied} notes, {len(mine)} questions")
        yield _Asked(place, mine, after_last_log(vault))


@asynccontextmanager
async def _engine(asked: _Asked, config: EngineConfig, tell: Tell) -> AsyncGenerator[Engine]:
    """Opens an engine with a complete index."""
    alone = replace(config.vault, sources={})
    here = replace(config, root=asked.place / "vault", state=asked.place / "state", vault=alone)
    async with open_engine(here, watch=False, progress=tell, clock=lambda: asked.now) as engine:
        await _settled(engine, tell)
        yield engine


@contextmanager
def state_folder(kept: Path | None) -> Generator[Path]:
    """Yields the folder to keep, or a temporary one."""
    if kept:
        with naming_the_cause(str(kept)):
            kept.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="mcp-memory-eval-") as folder:
        yield Path(folder)


def after_last_log(vault: Path) -> datetime:
    """Returns when the questions are asked, for `last week` and the like: the day after the last log, or now."""
    days = [day for file in notes_of(vault) if (day := is_log_path(file.as_posix()))]
    if not days:
        return datetime.now(UTC)
    return datetime.combine(max(days), time(), UTC) + timedelta(days=1)


async def _settled(engine: Engine, tell: Tell) -> None:
    while True:
        with anyio.move_on_after(SHOWN_EVERY_S):
            await engine.settled()
            return
        status = await engine.perform("status", {})
        tell(f"  {status['notes']} notes indexed, {status['pending']} of {status['chunks']} passages without a vector")


async def _ask(engine: Engine, question: EvalQuestion, variant: Variant, faults: dict[str, None]) -> RetrievalScore:
    start = perf_counter()
    asked = {"query": question.text, "limit": HITS, "mode": variant.mode, "is_prompt": question.is_prompt}
    result = search_result(await engine.perform("search", {**asked, "explain": variant.explains}))
    took_ms = (perf_counter() - start) * 1000
    if result.degraded:
        faults[result.degraded] = None
    hits = [FoundEvidence(hit.path, hit.start_line, hit.end_line, hit.snippet, hit.score) for hit in result.hits]
    return RetrievalScore(question, hits, result.confidence, took_ms, result.signs)


def _copied(vault: Path, target: Path, distractors: Path | None) -> int:
    """Copies the notes of a vault and the distractors, removes what an earlier run left, and returns how many notes
    there are. The copy has the vault's marker, which says where the managed folder is, or else a new one: so no engine
    adds its README."""
    with naming_the_cause(str(target)):
        folders = [distractors, vault] if distractors else [vault]
        wanted, there = {path: folder for folder in folders for path in notes_of(folder)}, set(notes_of(target))
        for gone in there - wanted.keys():
            (target / gone).unlink()
        for path, folder in [*wanted.items(), *([(Path(MARKER), vault)] if (vault / MARKER).is_file() else [])]:
            file = target / path
            if path not in there or file.read_bytes() != (folder / path).read_bytes():
                file.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(folder / path, file)
    open_marker(target)
    return len(wanted)
