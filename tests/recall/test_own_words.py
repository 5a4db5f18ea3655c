"""A session is not shown unasked what it said or stored itself."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from mcp_memory.capture.config import CaptureConfig
from mcp_memory.capture.transcript_paths import TranscriptPath, TranscriptPaths
from mcp_memory.recall.moments.own_words import MOST_PLACES, OwnWords, SaidSentences
from tests.capture.written import line, result, use
from tests.support.briefings import PORT, QUESTION
from tests.support.keyword_engine import KeywordEngine
from tests.support.passages import passage
from tests.support.world import World

pytestmark = pytest.mark.anyio

SESSION = "claude-code/s-1"
LONG_AGO = "So it is done, nothing else. " * 100
APPEND = "mcp__memory__memory_append"

SAID = {
    "the person said it": [line(1, f"For the record: {PORT}")],
    "the agent said it": [line(1, "where?"), line(2, f"Found it. {PORT} Anything else?", role="assistant")],
    "the agent stored it in this turn": [use(2, "c1", APPEND, content=PORT, kind="fact")],
    "it was stored long ago": [use(2, "c1", APPEND, content=PORT), *[line(3, LONG_AGO, role="assistant")] * 100],
    "more words were said between": [line(1, "our staging database, the new one, listens on port 5433 since May")],
}
NOT_SAID = {
    "nothing": [],
    "it was asked": [line(1, "Does the staging database listen on port 5433?")],
    "another value was said": [line(1, "The staging database listens on port 5432.")],
    "a part was said": [line(1, "Look at the staging database on 5433 first.")],
    "two messages said it": [line(1, "The staging database is slow."), line(2, "It listens on port 5433.")],
    "a tool printed it": [use(1, "c1", "Bash", command="cat notes"), result(2, "c1", PORT)],
    "it was searched for": [use(1, "c1", "mcp__memory__memory_search", query=PORT)],
}


@pytest.fixture
def transcript(world: World) -> Path:
    folder = world.state.parent / "claude"
    folder.mkdir()
    return folder / "s-1.jsonl"


@asynccontextmanager
async def engine_for(world: World, transcript: Path) -> AsyncGenerator[KeywordEngine]:
    capture = CaptureConfig(folders={"claude-code": str(transcript.parent)})
    async with world.engine(capture=capture) as engine:
        yield engine


async def shown(engine: KeywordEngine, transcript: Path, prompt: str = QUESTION, **more: Any) -> bool:
    asked = {"session": SESSION, "transcript": str(transcript), "prompt": prompt, "lasting": False}
    return PORT in (await engine.perform("brief", {**asked, **more}))["text"]


@pytest.mark.parametrize(
    ("lines", "is_said"),
    [*((lines, True) for lines in SAID.values()), *((lines, False) for lines in NOT_SAID.values())],
    ids=[*SAID, *NOT_SAID],
)
async def test_what_a_message_of_the_session_says_is_not_shown(
    world: World, transcript: Path, lines: list[bytes], *, is_said: bool
) -> None:
    async with engine_for(world, transcript) as engine:
        await engine.append(PORT, kind="fact", source="claude-code", session="mcp-7")
        transcript.write_bytes(b"".join(lines))
        assert await shown(engine, transcript) is not is_said
        other = transcript.with_name("s-2.jsonl")
        assert await shown(engine, other, session="claude-code/s-2"), "to others it is"
        assert PORT in await engine.recall(QUESTION)


@pytest.mark.parametrize(
    ("prompt", "is_said"),
    [
        (f"{PORT} Please add that to the README: on which port does the staging database listen", True),
        ("The staging database listens on port 5432, doesn't it?", False),
        (QUESTION, False),
    ],
)
async def test_what_the_prompt_itself_says_is_not_shown(
    world: World, transcript: Path, prompt: str, *, is_said: bool
) -> None:
    async with engine_for(world, transcript) as engine:
        await engine.append(PORT, kind="fact")
        assert await shown(engine, transcript, prompt) is not is_said


RULE = "Never deploy the billing service on Fridays."
FORBIDDEN_ACTS = {
    RULE: [
        "Please deploy the billing service, today is Friday and Fridays are fine",
        "I will deploy the billing service, Fridays are not special.",
        "So you never deploy the billing service on Fridays. Deploy it anyway.",
    ],
    "Niemals die Kundendaten nach Amerika schicken.": ["Bitte die Kundendaten nach Amerika schicken"],
    "No pedir harina los lunes al proveedor Gómez.": ["Pedir harina los lunes al proveedor Gómez"],
    "Ne jamais envoyer les factures du cabinet par courriel.": ["Envoyer les factures du cabinet par courriel."],
}


@pytest.mark.parametrize(
    ("rule", "said"), [(rule, said) for rule, all_said in FORBIDDEN_ACTS.items() for said in all_said]
)
@pytest.mark.parametrize("role", ["user", "assistant"])
async def test_an_order_is_shown_as_it_is_about_to_be_broken(
    world: World, transcript: Path, rule: str, said: str, role: str
) -> None:
    async with engine_for(world, transcript) as engine:
        await engine.append(rule, kind="preference", source="user")
        transcript.write_bytes(line(1, said, role=role))
        asked = {"session": SESSION, "transcript": str(transcript), "lasting": False}
        assert (
            rule in (await engine.perform("brief", {**asked, "prompt": said if role == "user" else f"{rule}?"}))["text"]
        )
        transcript.write_bytes(use(2, "c1", APPEND, content=rule))
        assert rule not in (await engine.perform("brief", {**asked, "prompt": f"{rule}?"}))["text"]


@pytest.mark.parametrize(
    ("note", "said", "is_own"),
    [
        ("The backup server is called hydra.", "Log in to the backup server, it is called medusa I think", False),
        ("Hydra is the nightly backup server of the archive in Cork.",
         "Medusa is the nightly backup server of the archive in Cork.", False),
        ("The nightly backup runs on server hydra in the Cork archive.",
         "The nightly backup runs on server medusa in the Cork archive.", False),
        ("Invoices of the bakery go to Maria.", "So the invoices of the bakery go to Peter", False),
        ("The status page isn't public for guests.", "The status page is public for guests.", False),
        ("Letters leave the office without a stamp.", "Letters leave the office with a stamp.", False),
        ("The ward orders infusion pumps from Bertol in Essen.",
         "The ward is busy. Orders came. Infusion is easy. The pumps work. Bertol wrote. Essen is far.", False),
        ("The ward orders infusion pumps from Bertol in Essen.",
         "So the ward orders\ninfusion pumps from Bertol in Essen.", True),
        ("Die Besuchszeit endet um 18 Uhr.", "Ach ja: die Besuchszeit endet um 18 Uhr, wie immer.", True),
        ("The status page isn't public for guests.",
         "I'm not sure why, but the status page isn't public for guests.", True),
    ],
)  # fmt: skip
async def test_one_sentence_says_a_passage_with_its_names_and_its_denials(
    world: World, transcript: Path, note: str, said: str, *, is_own: bool
) -> None:
    async with engine_for(world, transcript) as engine:
        await engine.append(note, kind="fact", source="user")
        transcript.write_bytes(line(1, said, role="assistant"))
        asked = {"session": SESSION, "transcript": str(transcript), "prompt": f"{note}?", "lasting": False}
        assert (note not in (await engine.perform("brief", asked))["text"]) is is_own


async def test_what_is_said_later_and_in_a_rewritten_transcript_is_read(world: World, transcript: Path) -> None:
    async with engine_for(world, transcript) as engine:
        await engine.append(PORT, kind="fact")
        transcript.write_bytes(line(1, "Hello."))
        assert await shown(engine, transcript)
        with transcript.open("ab") as grown:
            grown.write(line(2, PORT))
        assert not await shown(engine, transcript)
        transcript.write_bytes(line(3, "Hello again.") * 2)
        assert not await shown(engine, transcript), "a shorter copy takes nothing back"


async def test_after_its_context_was_emptied_a_session_may_be_shown_its_words_again(
    world: World, transcript: Path
) -> None:
    async with engine_for(world, transcript) as engine:
        await engine.append(PORT, kind="fact", source="claude-code", session="s-1")
        transcript.write_bytes(line(1, PORT))
        assert not await shown(engine, transcript)
        world.later(minutes=1)
        named = {"session": SESSION, "transcript": str(transcript)}
        await engine.perform("emptied", named)
        assert await shown(engine, transcript)
        await engine.perform("emptied", {**named, "ended": True})
        assert not await shown(engine, transcript), "a resumed session has its context"
    async with engine_for(world, transcript) as engine:
        world.later(minutes=1)
        await engine.perform("emptied", named)
        assert await shown(engine, transcript), "the first that this process hears of the session"


@pytest.mark.parametrize(
    ("session", "transcripts", "is_own"),
    [("s-1", "missing", True), ("s-1", "not captured", True), ("s-2", "missing", False), (None, "missing", False)],
)
async def test_without_a_transcript_the_head_of_a_note_says_whose_it_is(
    world: World, transcript: Path, session: str | None, transcripts: str, *, is_own: bool
) -> None:
    async with engine_for(world, transcript) as engine:
        note = await engine.append(PORT, kind="fact", source="claude-code", session=session)
        file = transcript if transcripts == "missing" else world.state / "elsewhere.jsonl"
        assert await shown(engine, file) is not is_own
        world.later(minutes=1)
        await engine.update(note.id, f"{PORT} Since May it is encrypted.")
        assert await shown(engine, file), "it has changed since"


async def test_advice_as_the_session_acts_is_not_its_own_either(world: World, transcript: Path) -> None:
    fix = "`ERR_PNPM_OUTDATED_LOCKFILE`: somebody ran npm in the wrong folder. Delete package-lock.json."
    asked = {"project": "mill", "output": "Exit code 1\n ERR_PNPM_OUTDATED_LOCKFILE  Cannot install"}
    async with engine_for(world, transcript) as engine:
        await engine.append(fix, kind="fix", project="mill")
        transcript.write_bytes(use(1, "c1", APPEND, content=fix))
        await shown(engine, transcript, "hello")
        assert (await engine.perform("advise", {**asked, "session": SESSION}))["text"] == ""
        assert fix in (await engine.perform("advise", {**asked, "session": "claude-code/s-2"}))["text"]


@pytest.mark.parametrize(
    ("client", "call"),
    [
        ("codex", {"type": "response_item", "payload": {"type": "function_call", "name": "memory_append",
                   "call_id": "1", "arguments": json.dumps({"content": PORT})}}),
        ("gemini", {"type": "gemini", "id": "1", "content": "", "toolCalls": [
            {"id": "2", "name": "mcp_memory_memory_append", "args": {"content": PORT}}]}),
    ],
)  # fmt: skip
async def test_each_client_has_its_own_form_of_a_call(world: World, client: str, call: dict[str, Any]) -> None:
    folder = world.state.parent / client
    folder.mkdir()
    (folder / "s-1.jsonl").write_text(json.dumps(call) + "\n")
    async with world.engine(capture=CaptureConfig(folders={client: str(folder)})) as engine:
        await engine.append(PORT, kind="fact")
        assert not await shown(engine, folder / "s-1.jsonl", session=f"{client}/s-1")


class SlowPaths(TranscriptPaths):
    """The disk of one transcript answers only when `answers` is set."""

    def __init__(self, folder: Path, slow: str) -> None:
        super().__init__({"claude-code": str(folder)})
        self.slow, self.asked, self.answers = slow, Event(), Event()

    @contextmanager
    def open_transcript(self, path: TranscriptPath) -> Generator[int]:
        if path.inner.name == self.slow:
            self.asked.set()
            assert self.answers.wait(10)
        with super().open_transcript(path) as descriptor:
            yield descriptor


def test_a_slow_disk_of_one_session_keeps_nobody_waiting(tmp_path: Path) -> None:
    paths = SlowPaths(tmp_path, "s-1.jsonl")
    own_words = OwnWords(paths, lambda: datetime(2026, 1, 1, tzinfo=UTC))
    for name in ("s-1", "s-2"):
        (tmp_path / f"{name}.jsonl").write_bytes(line(1, PORT))
        own_words.follow(f"claude-code/{name}", paths.locate("claude-code", str(tmp_path / f"{name}.jsonl")))
    note = passage(PORT)
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(own_words.known_to, SESSION)
        assert paths.asked.wait(10)
        assert own_words.known_to("claude-code/s-2")(note), "another session"
        assert not own_words.known_to(SESSION)(note), "a second prompt of the same session"
        paths.answers.set()
        assert slow.result(10)(note)


BESIDES = """We never deploy by hand; use make.
The billing docs are in the wiki.
The auth service has its own runbook.
Standup moves to Fridays."""


@pytest.mark.parametrize(("stored", "is_own"), [(BESIDES, False), (f"{BESIDES}\n{RULE}", True)])
async def test_a_long_stored_note_hides_only_what_one_of_its_sentences_says(
    world: World, transcript: Path, stored: str, *, is_own: bool
) -> None:
    async with engine_for(world, transcript) as engine:
        await engine.append(RULE, kind="preference", source="user")
        transcript.write_bytes(use(2, "c1", APPEND, content=stored))
        asked = {"session": SESSION, "transcript": str(transcript), "prompt": f"{RULE}?", "lasting": False}
        assert (RULE not in (await engine.perform("brief", asked))["text"]) is is_own


async def test_a_note_of_many_sentences_is_known_to_the_session_that_stored_it(world: World, transcript: Path) -> None:
    async with engine_for(world, transcript) as engine:
        await engine.append(BESIDES, kind="fact", source="claude-code", session="mcp-7")
        asked = {"session": SESSION, "transcript": str(transcript), "lasting": False}
        question = "where are the billing docs and the runbook of the auth service"
        transcript.write_bytes(line(1, "hello"))
        assert "billing docs" in (await engine.perform("brief", {**asked, "prompt": question}))["text"]
        transcript.write_bytes(use(2, "c1", APPEND, content=BESIDES) * 2)
        assert "billing docs" not in (await engine.perform("brief", {**asked, "prompt": question}))["text"]


def test_a_text_is_compared_with_the_latest_places_only() -> None:
    said = SaidSentences().with_messages([[PORT], *[["The staging copy has port 5433."]] * 90])
    assert said.say(PORT)
    assert not said.with_messages([["The staging copy has port 5433."]] * MOST_PLACES).say(PORT)


def test_of_a_long_session_the_latest_words_are_kept() -> None:
    said = SaidSentences().with_messages(
        [[f"Parcel {number} goes to the harbor of Lisbon."] for number in range(40_000)]
    )
    assert said.say("Parcel 39999 goes to the harbor of Lisbon.")
    assert not said.say("Parcel 1 goes to the harbor of Lisbon.")
