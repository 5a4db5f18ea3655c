"""What an agent does with the notes that it gets unasked moves each note's own bar."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

from mcp_memory.capture.config import CaptureConfig
from mcp_memory.usage.note_use import ShowingOutcome, with_odds
from tests.capture.written import line, result, use
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World, embedded

pytestmark = pytest.mark.anyio

NOTE = "The parcel gateway listens on port 8443 since TLS was switched on."
OTHERS = (
    "Invoices are numbered per calendar year.",
    "Lena designs the icons in Figma.",
    "The nightly export runs at 02:15.",
    "Prices are per seat and month.",
    "Use Redis for sessions because Postgres was slow.",
)
SURE, LIKELY, UNSURE = "what does the parcel gateway do", "log every request of the gateway", "does the gateway work"
"""Prompts to which the note is relevant with .62, .4 and .27."""

UNUSED = [line(2, "Done.", role="assistant")]
USED = [line(2, "It forwards what arrives on 8443.", role="assistant")]


@dataclass
class Desk:
    """An agent's desk: each turn is a session of its own, unless one is named."""

    engine: KeywordEngine
    folder: Path
    numbers: count[int]

    async def gets(self, prompt: str, session: str | None = None, project: str | None = "api") -> str:
        """What is quoted, without the titles of what perhaps helps."""
        session = session or f"new-{next(self.numbers)}"
        asked = {"session": f"claude-code/{session}", "transcript": str(self.folder / f"{session}.jsonl")}
        text = (await self.engine.perform("brief", {**asked, "prompt": prompt, "project": project}))["text"]
        return "\n".join(line for line in text.splitlines() if not line.startswith("Perhaps"))

    async def goes_on(self, session: str, *lines: bytes) -> None:
        file = self.folder / f"{session}.jsonl"
        with file.open("ab") as transcript:
            transcript.write(b"".join(lines).replace(b'"sessionId": "s-1"', f'"sessionId": "{session}"'.encode()))
        await self.engine.perform("capture", {"files": [str(file)]})

    async def turn(
        self, prompt: str, lines: Sequence[bytes], session: str | None = None, project: str | None = "api"
    ) -> str:
        session = session or f"turn-{next(self.numbers)}"
        text = await self.gets(prompt, session, project)
        await self.goes_on(session, line(1, prompt), *lines)
        return text

    async def counts(self, project: str = "api") -> tuple[int, int, float]:
        given = (await self.engine.perform("why", {"session": "all", "limit": 1000}))["given"]
        (found,) = {
            (passage.get("shown", 0), passage.get("used", 0), passage.get("needed", 0.3))
            for one in given
            for passage in one["passages"]
            if passage["title"] in NOTE and one["project"] == project
        }
        return found


@pytest.fixture
def world(tmp_path: Path, model_cache: Path) -> World:
    (tmp_path / "claude").mkdir()
    return World(tmp_path / "vault", tmp_path / "state", model_cache, "auto")


@asynccontextmanager
async def desk_in(world: World, note: str = NOTE, **more: Any) -> AsyncGenerator[Desk]:
    """A vault with the note among others."""
    folder = world.state.parent / "claude"
    async with world.engine(capture=CaptureConfig(folders={"claude-code": str(folder)})) as engine:
        for text in OTHERS:
            await engine.append(text, kind="fact")
        await engine.append(note, **{"kind": "fact", **more})
        await embedded(engine)
        yield Desk(engine, folder, count())


async def test_a_note_waits_for_a_stronger_reason_when_it_is_never_used(world: World) -> None:
    async with desk_in(world) as desk:
        for _ in range(10):
            assert NOTE in await desk.turn(SURE, UNUSED)
        assert await desk.counts() == (10, 0, 0.5)
        assert NOTE not in await desk.gets(LIKELY)
        assert NOTE in await desk.gets(SURE)
        assert NOTE in await desk.gets(LIKELY, project="web")  # another project's agents did not leave it unused
    async with desk_in(world) as desk:
        assert NOTE not in await desk.gets(LIKELY)
        (note,) = [hit.id for hit in (await desk.engine.search("parcel gateway TLS")).hits if hit.title in NOTE]
        await desk.engine.perform("mute", {"target": note, "undo": True})
        assert NOTE in await desk.gets(LIKELY)
        assert await desk.counts() == (0, 0, 0.3)


async def test_a_note_comes_sooner_when_it_is_used_but_not_when_it_is_muted(world: World) -> None:
    async with desk_in(world) as desk:
        assert NOTE not in await desk.gets(UNSURE)
        for _ in range(3):
            assert NOTE in await desk.turn(SURE, USED)
        assert await desk.counts() == (3, 3, 0.222)
        assert NOTE in await desk.gets(UNSURE)
        assert NOTE not in await desk.gets(UNSURE, project="web")
        (note,) = [hit.id for hit in (await desk.engine.search("parcel gateway TLS")).hits if hit.title in NOTE]
        await desk.engine.perform("mute", {"target": note, "project": "api"})
        assert "gateway" not in await desk.gets(SURE)
        await desk.engine.perform("mute", {"target": note, "undo": True})
        assert NOTE not in await desk.gets(UNSURE)  # a person decided, so it is counted anew


@pytest.mark.parametrize(
    ("note", "kind"),
    [
        ("Never restart the parcel gateway on port 8443 by hand.", "fact"),
        ("The parcel gateway must always listen on port 8443.", "fact"),
        ("Show the parcel gateway on port 8443 in each diagram.", "preference"),
        ("The parcel gateway is for the parcels, and it listens for them.", "fact"),
        (NOTE, "decision"),
        (f"{NOTE}\n\nNever restart the parcel gateway by hand.", "fact"),
        ("Only Anna may restart the parcel gateway on port 8443.", "fact"),
        ("Ask Petra about the parcel gateway on port 8443.", "note"),
        ("Run the parcel gateway with --drain before each deploy.", "fact"),
        ("Das parcel gateway muss auf Port 8443 hören.", "fact"),
        ("Le parcel gateway doit écouter sur le port 8443.", "fact"),
        ("El parcel gateway debe escuchar en el puerto 8443.", "fact"),
    ],
    ids=[
        "prohibition", "rule", "preference", "no value to use", "decision", "prohibition below", "limit", "order",
        "advice", "German", "French", "Spanish",
    ],
)  # fmt: skip
async def test_what_leaves_no_trace_is_never_silenced(world: World, note: str, kind: str) -> None:
    async with desk_in(world, note, kind=kind) as desk:
        for _ in range(10):
            assert note.split("\n", maxsplit=1)[0] in await desk.turn(SURE, UNUSED)
        given = (await desk.engine.perform("why", {"session": "all"}))["given"]
        assert [passage.get("shown") for one in given for passage in one["passages"]] == [None] * 10


async def test_a_fact_that_is_never_used_silences_no_prohibition_of_its_note(world: World) -> None:
    order = "Never restart the night export while invoices print."
    note = f"# Parcels\n\n## Ports\n\n{NOTE}\n\n## Restarting the night export\n\n{order}\n"
    async with desk_in(world, note) as desk:
        assert order in await desk.gets("restart it")
        for _ in range(10):
            assert NOTE in await desk.turn(SURE, UNUSED)
        assert NOTE not in await desk.gets(LIKELY)
        assert order in await desk.gets("restart it")


ANSWERS: dict[str, tuple[Sequence[bytes], tuple[int, int]]] = {
    "its value in the answer": (USED, (1, 1)),
    "its value in a call": ([use(2, "c1", "Bash", command="curl localhost:8443"), result(3, "c1", "")], (1, 1)),
    "its value in the next turn": ([*UNUSED, line(3, "go on"), *USED], (1, 1)),
    "its value after the next turn": ([*UNUSED, line(3, "go on"), *UNUSED, line(5, "go on"), *USED], (1, 0)),
    "common words": ([line(2, "The parcel gateway listens on its port.", role="assistant")], (1, 0)),
    "a common name by chance": ([line(2, "The hub speaks TLS.", role="assistant")], (1, 0)),
    "a name with another word": ([line(2, "Yes, TLS is switched on.", role="assistant")], (1, 1)),
    "another number with its digits": ([line(2, "184437 parcels since 2026-11-21", role="assistant")], (1, 0)),
    "a tool printed the value": (
        [use(2, "c1", "Bash", command="cat cfg"), result(3, "c1", "port=8443\ntls=TLS"), *USED], (1, 0),
    ),
    "an edit replaces the value": (
        [use(2, "c1", "Edit", file_path="cfg", old_string="port=8443", new_string="port=1"), result(3, "c1", "")],
        (0, 0),
    ),
    "edits replace the value": (
        [use(2, "c1", "MultiEdit", edits=[{"old_string": "port=8443", "new_string": "port=1"}]), result(3, "c1", "")],
        (0, 0),
    ),
    "a patch replaces the value": (
        [use(2, "c1", "apply_patch", input="*** Update File: cfg\n-port=8443\n+port=1"), result(3, "c1", "")], (0, 0),
    ),
    "sed replaces the value": (
        [use(2, "c1", "Bash", command="sed -i s/8443/9000/ cfg"), result(3, "c1", "")], (0, 0),
    ),
    "a patch adds the value": (
        [use(2, "c1", "apply_patch", input="*** Update File: cfg\n-port=1\n+port=8443"), result(3, "c1", "")], (1, 1),
    ),
    "the agent calls it outdated": (
        [line(2, "The memory says port 8443. That is outdated, so I ignore it.", role="assistant")], (0, 0),
    ),
    "the agent only asks": ([line(2, "It is a port. Is it 8443?", role="assistant")], (0, 0)),
    "the agent asks something else": ([line(2, "It listens on 8443. Is that ok?", role="assistant")], (1, 1)),
    "tools may have printed the other value": (
        [
            use(2, "c1", "Bash", command="cat cfg"), result(3, "c1", "port=8443"), *USED,
            line(4, "Yes, TLS is switched on.", role="assistant"),
        ],
        (0, 0),
    ),
    "too long to look up what tools printed": (
        [use(2, "c1", "Bash", command="cat log"), result(3, "c1", "line " * 700_000), *USED, *UNUSED], (0, 0),
    ),
    **{
        f"the person says {said!r}": ([*USED, line(3, said), *UNUSED], (1, used))
        for used, prompts in {
            0: ("no, that was the old one", "That's wrong", "das stimmt nicht", "c'est faux", "eso no es así"),
            1: ("no problem, go on", "Wait, I like it", "no", "nein, passt so"),
        }.items()
        for said in prompts
    },
    "nothing yet": ([], (0, 0)),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "expected"), ANSWERS.values(), ids=ANSWERS)
async def test_only_a_value_of_the_note_that_nobody_else_said_counts_as_a_use(
    world: World, lines: Sequence[bytes], expected: tuple[int, int]
) -> None:
    async with desk_in(world) as desk:
        assert NOTE in await desk.turn(SURE, lines)
        assert (await desk.counts())[:2] == expected


async def test_what_was_said_before_and_the_prompts_own_words_are_no_use(world: World) -> None:
    async with desk_in(world) as desk:
        assert NOTE in await desk.turn(f"{SURE} with tls on 8443?", USED)
        await desk.turn("good morning", [line(2, "Hello. I read about TLS and 8443.", role="assistant")], "one")
        assert NOTE in await desk.turn(SURE, USED, "one")
        await desk.turn(f"good morning {'and so on ' * 900} with TLS on 8443", UNUSED, "two")
        assert NOTE in await desk.turn(SURE, USED, "two")
        assert await desk.counts() == (0, 0, 0.3)  # nothing was left to be used


async def test_sessions_at_once_are_told_apart_and_a_torn_line_is_read_once_it_is_whole(world: World) -> None:
    async with desk_in(world) as desk:
        for session in ("one", "two"):
            assert NOTE in await desk.gets(SURE, session)
        await desk.goes_on("one", line(1, SURE))
        await desk.goes_on("two", line(1, SURE), *UNUSED)
        assert (await desk.counts())[:2] == (1, 0)
        await desk.goes_on("one", USED[0][:-40])
        assert (await desk.counts())[:2] == (1, 0)
        await desk.goes_on("one", USED[0][-40:], *UNUSED)
        assert (await desk.counts())[:2] == (2, 1)


async def test_the_note_can_be_recalled_edited_and_erased(world: World) -> None:
    async with desk_in(world) as desk:
        (note,) = [hit.id for hit in (await desk.engine.search("parcel gateway TLS")).hits if hit.title in NOTE]
        recalled = [use(2, "c1", "mcp__memory__memory_recall", ids=[note[-6:]]), result(3, "c1", NOTE)]
        assert NOTE not in await desk.turn(UNSURE, recalled)  # it got the title
        assert (await desk.counts())[:2] == (1, 1)
        await desk.engine.update(note, f"{NOTE} It is new.")
        await embedded(desk.engine)
        await desk.engine.perform("stats", {})  # counts what waits to be counted
        assert (await desk.counts())[:2] == (0, 0)
        await desk.turn(SURE, USED, "one")
        assert (await desk.counts())[:2] == (1, 1)
        await desk.engine.perform("mute", {"target": note, "undo": True})
        await desk.goes_on("one", line(3, "no, wrong"), *UNUSED)
        assert (await desk.counts())[:2] == (0, 0)  # what began anew isn't taken back
        await desk.gets(SURE, "two")
        await desk.engine.perform("erase", {"target": note, "sure": True})
        await desk.goes_on("two", line(1, SURE), *USED)
    with closing(sqlite3.connect(world.state / "usage.db")) as kept:
        assert note not in "".join(kept.iterdump())


async def test_a_start_shows_what_is_really_used_first(world: World) -> None:
    rules = [f"Always deploy the {name} service with the flag --{name}-first." for name in ("billing", "search")]
    async with desk_in(world) as desk:
        for rule in rules:
            await desk.engine.append(rule, kind="workflow")
        await embedded(desk.engine)
        for rule, name in zip(rules, ("billing", "search"), strict=True):
            for n in range(2 if name == "search" else 1):  # the one is shown more often, the other is used
                answer = "--billing-first" if name == "billing" else "Done."
                lines = [line(2, answer, role="assistant")]
                assert rule in await desk.turn(f"deploy the {name} service, take {n}", lines)
        for project, first, second in (
            ("api", *rules),
            ("web", *rules[::-1]),
        ):  # in another project the newest is first
            started = {"session": f"claude-code/{project}", "project": project}
            text = (await desk.engine.perform("brief", started))["text"]
            assert text.index(first) < text.index(second)


async def test_of_a_start_only_the_line_that_it_shows_can_be_used(world: World) -> None:
    rule = "Always restart the parcel gateway with `--drain`."
    async with desk_in(world, f"{rule}\n\n- The panel listens on 5599.", kind="workflow", project="api") as desk:
        started = {"session": "claude-code/one", "project": "api"}
        assert rule in (await desk.engine.perform("brief", started))["text"]
        for answer, counts in (("The panel is on 5599.", (None, None)), ("gatewayctl --drain", (1, 1))):
            await desk.goes_on("one", line(1, "hello"), line(2, answer, role="assistant"))
            (given,) = (await desk.engine.perform("why", {"session": "one"}))["given"]
            assert [(one.get("shown"), one.get("used")) for one in given["passages"]] == [counts]


def test_the_bar_moves_steadily_and_only_so_far() -> None:
    bars = [[with_odds(0.3, 1 / ShowingOutcome(shown, used).odds) for used in range(shown + 1)] for shown in range(40)]
    assert bars[0] == [pytest.approx(0.3)]
    assert [round(bars[shown][0], 2) for shown in (1, 5, 10, 39)] == [0.33, 0.42, 0.5, 0.5]
    assert [round(bars[shown][shown], 2) for shown in (1, 2, 39)] == [0.26, 0.23, 0.22]
    assert all(row == sorted(row, reverse=True) for row in bars)  # more use never raises it
    assert all(one[used] <= other[used] for one, other in pairwise(bars) for used in range(len(one)))
    assert with_odds(1.0, ShowingOutcome(10).odds) == 1.0  # exact names always pass
