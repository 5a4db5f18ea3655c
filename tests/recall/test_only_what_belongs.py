"""With a prompt an agent is told the notes that belong to it, and not what only fills the budget."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_memory.core.core import EngineConfig
from mcp_memory.embedders.base import EmbedderConfig
from tests.evaluation.context import context_figures
from tests.evaluation.running import brief
from tests.evaluation.sets import read_set
from tests.support.briefings import told
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import EXHAUSTIVE, World

pytestmark = pytest.mark.anyio

SETS = Path(__file__).parents[1] / "eval"
MORE = pytest.mark.skipif(not EXHAUSTIVE, reason="two people are enough for each run; MCP_MEMORY_EXHAUSTIVE=1")

NOTES = {
    "decision/cents": "# Currency of invoices\n\nInvoices are kept in cents of their own currency.",
    "fix/backfill": "# Backfill of the currency\n\nThe backfill of the currency column runs in batches of 500.",
    "fact/cat": "# The cat's tablets\n\nThe cat gets half a tablet of thyroxine each morning.",
    "fact/dentist": "# Dentist\n\nThe dentist's telephone number is 030 1234.",
    "fact/network": "# Tests\n\nThe tests of the importer need the docker network `mill`.",
    "fact/settings": "# Settings\n\nThe importer reads DATABASE_URL once, when it starts.",
}
PROMPT = "write the backfill for the currency column of our invoices"


@dataclass
class Vault:
    folder: Path
    models: Path

    @asynccontextmanager
    async def of(self, notes: dict[str, str], *, meaning: bool = True) -> AsyncGenerator[KeywordEngine]:
        world = World(self.folder / "vault", self.folder / "state", self.models)
        for name, text in notes.items():
            world.write(f"notes/{name}.md", text)
        settings = {"embedder": EmbedderConfig()} if meaning else {}
        async with world.engine(**settings) as engine:
            yield engine


@pytest.fixture
def vault(tmp_path: Path, model_cache: Path) -> Vault:
    return Vault(tmp_path, model_cache)


SUBJECTS = (
    "---\nkind: preference\nwhen: [writing a commit message, rédiger le compte rendu]\n---\nLower case, the area first."
)


@pytest.mark.parametrize(
    ("prompt", "is_told"),
    [
        ("write the commit message for what's staged", True), ("rédige le compte rendu de ce matin", True),
        ("thanks, perfect", False), ("write a haiku about rain", False), ("what does a commit hash consist of?", False),
    ],
)  # fmt: skip
async def test_a_note_comes_up_when_it_says_so(vault: Vault, prompt: str, is_told: bool) -> None:
    async with vault.of({**NOTES, "preference/subjects": SUBJECTS}) as engine:
        said = await told(engine, "s", prompt)
        assert ("Lower case, the area first." in said) is is_told and "rédiger" not in said


@pytest.mark.parametrize("meaning", [True, False])
async def test_what_belongs_is_told_and_the_cats_tablets_are_not(vault: Vault, meaning: bool) -> None:
    async with vault.of(NOTES, meaning=meaning) as engine:
        for said in (await told(engine, "s", PROMPT), await engine.recall(PROMPT, phase="prompt")):
            assert "batches of 500" in said
            assert not any(words in said for words in ("tablet", "telephone", "docker"))


async def test_what_the_person_said_and_the_agents_note_of_it_are_told_once(vault: Vault) -> None:
    said = {
        "preference/said": "We use uv, never pip.",
        "preference/note": "# Packages\n\nThis repository uses uv and never pip for its Python packages.",
        "fact/other": "# Old service\n\nThe old service uses pip and uv.",
    }
    async with vault.of({**NOTES, **said}) as engine:
        text = await told(engine, "s", "add the httpx package to the project, with pip or uv")
        assert "This repository uses uv and never pip" in text and "We use uv, never pip." not in text
        assert "The old service uses pip and uv" in text or "old service" not in text, "it says something else"


async def test_what_was_not_told_does_not_count_as_seen(vault: Vault) -> None:
    async with vault.of(NOTES) as engine:
        assert "tablet" not in await told(engine, "s", PROMPT)
        assert "half a tablet" in await told(engine, "s", "what tablets does our cat get in the morning?")


async def test_what_was_seen_leaves_no_room_to_filler(vault: Vault) -> None:
    async with vault.of(NOTES) as engine:
        assert await told(engine, "s", PROMPT)
        assert await told(engine, "s", PROMPT) == ""


async def test_the_note_that_has_an_exact_name_is_told(vault: Vault) -> None:
    async with vault.of(NOTES) as engine:
        assert "reads DATABASE_URL once" in await told(engine, "s", "why is our DATABASE_URL not picked up?")


@pytest.mark.parametrize("notes", [1, 5, 50])
async def test_the_one_that_belongs_is_told_among_few_and_many(vault: Vault, notes: int) -> None:
    herons = {f"{at}": f"Heron number {at} was seen at the mill in week {at}." for at in range(notes - 1)}
    async with vault.of({"backfill": NOTES["fix/backfill"], **herons}) as engine:
        said = await told(engine, "s", "how did we run the backfill of the currency column?")
        assert "batches of 500" in said and "Heron" not in said
        assert await told(engine, "s", "\N{THUMBS UP SIGN}") == ""


@pytest.mark.parametrize(
    ("name", "notes", "any_told", "tokens"),  # told notes that belong; wanted prompts with any of theirs; mean tokens
    [
        ("changes", 0.67, 0.9, 80),  # the only one that had no part in the fit
        pytest.param("developer", 0.53, 0.87, 125, marks=MORE),
        pytest.param("strangers/startup", 0.43, 0.77, 120, marks=MORE),
        pytest.param("strangers/embedded", 0.44, 0.7, 115, marks=MORE),
        pytest.param("strangers/novelist", 0.31, 0.5, 80, marks=MORE),
        ("strangers/sysadmin", 0.39, 0.63, 70),
        pytest.param("strangers/ecology", 0.44, 0.74, 125, marks=MORE),
    ],
)
async def test_figures_of_people(
    name: str, notes: float, any_told: float, tokens: float, tmp_path: Path, model_cache: Path
) -> None:
    """A bound is the figure less what a prompt or two of another processor's arithmetic are worth."""
    prompts = read_set(SETS / name / "prompts.jsonl")
    scores = await brief(prompts, EngineConfig(tmp_path, tmp_path, model_cache), tmp_path, print)
    found = context_figures(scores)["overall"].metrics
    assert found["context_precision"].mean >= notes
    assert found["context_recall_any"].mean >= any_told
    assert found["tokens"].mean <= tokens


@pytest.mark.parametrize(
    ("note", "asked", "other"),
    [
        (
            "Die Rechnungen werden von Petra geprüft, wenn sie aus dem Urlaub zurück ist.",
            "wer prüft die Rechnungen?",
            "wird das dann auch von dem Test abgedeckt, wenn ich es so lasse?",
        ),
        (
            "Les factures sont vérifiées par Chloé quand elle est de retour dans le bureau.",
            "qui vérifie les factures ?",
            "qui a écrit ça dans le module, et quand est-ce que c'est prévu ?",
        ),
        (
            "Las facturas las revisa Marta cuando está de vuelta en la oficina.",
            "¿quién revisa las facturas?",
            "¿quién lo hizo así y para cuándo está?",
        ),
    ],
)
async def test_function_words_bring_up_no_note(world: World, note: str, asked: str, other: str):
    async with world.engine() as engine:
        await engine.append(note, kind="fact")
        world.later(days=1)
        assert note in await told(engine, "a", asked) and await told(engine, "b", other) == ""
