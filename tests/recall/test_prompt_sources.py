"""Whose words a prompt is told: one's own before imported ones, those of its project, and nothing private."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_memory.core.core import EngineConfig
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.recall.config import PhaseConfig, RecallConfig
from mcp_memory.recall.cutoff import PromptBars
from mcp_memory.search.ranking import RankedChunk
from tests.eval.documents import documents
from tests.evaluation.context import context_figures
from tests.evaluation.report import OVERALL
from tests.evaluation.running import brief
from tests.evaluation.sets import read_set
from tests.support.briefings import begun, told
from tests.support.keyword_engine import KeywordEngine
from tests.support.passages import passage
from tests.support.world import EXHAUSTIVE, World

pytestmark = pytest.mark.anyio

CHANGES = Path(__file__).parents[1] / "eval" / "changes"
MANUAL = "id: 0000000000GA405C7HC5F0EN{at:02}\nkind: reference\nsource: obsidian"
DAY = "memory/2026-11-20.md"
OWN = {
    "fact/limit": "# Limit of Bringo\n\nOur contract with Bringo allows 20 requests per second.",
    "fact/cat": "# The cat's tablets\n\nThe cat gets half a tablet of thyroxine each morning.",
}
IMPORTED = {
    "Bringo partner handbook": "The partner plan allows 50 requests per second, the starter plan 2.",
    "VAT checker": "E4021: the service of the member state cannot be reached.",
    "Uploads": "nginx refuses bodies above `client_max_body_size`, which is 1 MB if nothing is set.",
}


@asynccontextmanager
async def opened(
    folder: Path, models: Path, notes: dict[str, str], recall: RecallConfig | None = None
) -> AsyncGenerator[KeywordEngine]:
    world = World(folder / "vault", folder / "state", models)
    for name, text in notes.items():
        world.write(f"{name}.md", text)
    async with world.engine(embedder=EmbedderConfig(), recall=recall or RecallConfig()) as engine:
        yield engine


def with_imports() -> dict[str, str]:
    own = {f"notes/{name}": text for name, text in OWN.items()}
    return own | {
        f"imported/obsidian-handbook/{title}": f"---\n{MANUAL.format(at=at)}\n---\n\n# {title}\n\n{text}\n"
        for at, (title, text) in enumerate(IMPORTED.items(), 10)
    }


async def test_own_words_answer_instead_of_imported_ones(tmp_path: Path, model_cache: Path) -> None:
    async with opened(tmp_path, model_cache, with_imports()) as engine:
        prompt = "how many requests per second does Bringo allow us?"
        assert "20 requests" in (answer := await told(engine, "s", prompt)) and "50 requests" not in answer
        found = await engine.search(prompt)
        assert [hit.path.split("/")[0] for hit in found.hits[:2]] == ["notes", "imported"], "a question finds both"


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("what does the Bringo partner handbook say about requests per second?", "50 requests"),  # by its title
        ("E4021", "member state"),  # by an identifier
        ("what does nginx do with large bodies if client_max_body_size is not set?", "1 MB"),  # nothing else answers
    ],
)
async def test_imported_words_are_told_where_they_are_named_or_alone(
    prompt: str, words: str, tmp_path: Path, model_cache: Path
) -> None:
    async with opened(tmp_path, model_cache, with_imports()) as engine:
        assert words in await told(engine, "s", prompt)


def ranked(*relevant: tuple[str | None, float, str]) -> list[RankedChunk]:
    """Passages with a project, a relevance and a path."""
    return [RankedChunk(passage("x", path, project=project), at, relevance=at) for project, at, path in relevant]


@pytest.mark.parametrize(
    ("notes", "kept"),
    [
        ([("p", 0.6, "a.md"), (None, 0.5, "b.md"), (None, 0.7, "c.md")], ["a.md", "c.md"]),  # as well as its own
        ([("p", 0.6, "a.md"), (None, 0.3, DAY), (None, 0.1, DAY)], ["a.md", DAY]),  # an entry may be about it
        ([(None, 0.3, "b.md"), (None, 0.05, "c.md")], ["b.md"]),  # nothing of its own
    ],
)
async def test_what_has_no_project_has_to_fit_as_well(
    notes: list[tuple[str | None, float, str]], kept: list[str]
) -> None:
    found = ranked(*notes)
    assert [chunk.passage.note.path for chunk in PromptBars(PhaseConfig(), "p").fitting(found, "")] == kept
    assert PromptBars(PhaseConfig()).fitting(found, "") == found


async def test_a_preference_without_a_project_is_meant_for_each() -> None:
    found = ranked(("p", 0.6, "a.md"), (None, 0.2, "b.md"), (None, 0.1, "c.md"))
    ours, *preferences = [
        replace(chunk, passage=replace(chunk.passage, note=replace(chunk.passage.note, kind="preference")))
        for chunk in found
    ]
    assert PromptBars(PhaseConfig(), "p").fitting([ours, *preferences], "") == [ours, preferences[0]]


async def test_a_project_that_a_prompt_names_comes_first() -> None:
    found = ranked(("harbor", 0.6, "a.md"), ("lantern", 0.5, "b.md"), ("lantern", 0.7, "c.md"), (None, 0.1, "d.md"))
    for prompt, kept in (("fix the Harbor tests", "acd"), ("fix lantern", "bcd"), ("harbor and lantern", "abcd")):
        told_ = PromptBars(PhaseConfig()).fitting(found, prompt)
        assert [chunk.passage.note.path[0] for chunk in told_] == list(kept), prompt
    assert PromptBars(PhaseConfig()).fitting(found, "fix the tests") == found


PRIVATE = {
    "private/a": "# Doctor\n\nThe doctor prescribed Ramipril for me.",
    "notes/fact/b": "---\nprivate: true\n---\n# Blood pressure\n\nMy blood pressure was 150 to 95.",
    "notes/preference/c": "---\ntags: [private]\n---\n# Tone\n\nDon't mention the divorce in answers.",
    "notes/fact/d": "---\ntags: [health]\n---\n# Knee\n\nThe knee is operated on in March.",
    "notes/e": "---\nkind: diary\n---\n# Diary\n\nI dreamt of whales.",
    "memory/2026-11-21": "## 09:00 Lab (tags: private)\n\nCholesterol 240.\n\n## 10:00 Deploy\n\nDeployed 4.2.\n",
}


SECRETS = {
    "Ramipril": "which medicine did the doctor prescribe?",
    "150 to 95": "what was my blood pressure?",
    "divorce": "may I mention the divorce?",
    "March": "when is the knee operated on?",
    "whales": "what did I dream of?",
    "240": "how high is my cholesterol?",
}


async def test_private_notes_are_found_but_never_told_unasked(tmp_path: Path, model_cache: Path) -> None:
    marks = RecallConfig(private=("private/", "tag:private", "tag:health", "kind:diary"))
    async with opened(tmp_path, model_cache, PRIVATE, marks) as engine:
        start = await begun(engine)
        assert not [secret for secret in SECRETS if secret in start]
        for secret, prompt in SECRETS.items():
            answer = await told(engine, secret, prompt)
            assert not [other for other in SECRETS if other in answer], prompt
            assert secret in (await engine.search(prompt)).hits[0].snippet and secret in await engine.recall(prompt)
    async with opened(tmp_path, model_cache, {}) as engine:
        assert "March" in await told(engine, "s", SECRETS["March"]), "what nobody called private"


@pytest.mark.parametrize(
    ("mark", "path", "covered"),
    [
        ("private/", "notes/private/a.md", True),
        ("private/", "notes/private.md", False),
        ("notes/health/", "notes/health/knee/a.md", True),
        ("notes/health/", "Agent/notes/health/a.md", False),
        ("/health/", "notes/health/a.md", False),
        ("./notes/health/", "notes/health/a.md", True),
    ],
)
async def test_private_folders(mark: str, path: str, covered: bool) -> None:
    assert RecallConfig(private=(mark,)).private_marks.cover(passage("x", path).note) is covered


async def test_many_imported_documents_change_nothing(tmp_path: Path, model_cache: Path) -> None:
    prompts = read_set(CHANGES / "prompts.jsonl")
    many = 200 if EXHAUSTIVE else 50
    assert documents(tmp_path / "documents", many) == many
    config = EngineConfig(tmp_path, tmp_path, model_cache)
    alone, among = [
        context_figures(await brief(which, config, tmp_path / "run", print))[OVERALL].metrics
        for which in (prompts, replace(prompts.among(tmp_path / "documents"), name=prompts.name))
    ]
    for metric, figure in alone.items():
        if metric not in {"tokens", "outdated_unmarked", "private_told"}:
            assert among[metric].mean >= figure.mean - 0.05, metric
    assert among["tokens"].mean <= 1.1 * alone["tokens"].mean
    assert alone["private_told"].mean == among["private_told"].mean == 0.0
