"""Lessons: an error, what was tried, and the command or change that worked, verbatim."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_memory.capture.readers.message import TranscriptMessage
from mcp_memory.models import NoteState
from mcp_memory.statements.lessons import CONFIRMED, SUCCEEDED, extract_lessons
from tests.extraction.talks import assistant, person, take, tool
from tests.support.world import World, paths

ERROR = "ERR_PNPM_OUTDATED_LOCKFILE Cannot install with frozen-lockfile"


def ran(command: str, printed: str = "done", *, failed: bool = False, offset: int = 0) -> TranscriptMessage:
    return replace(tool(printed, offset, failed=failed), arguments={"command": command})


def edited(path: str, old: str, new: str) -> TranscriptMessage:
    arguments = {"file_path": path, "old_string": old, "new_string": new}
    return replace(tool("ok", name="Edit"), arguments=arguments)


INSTALL = "pnpm install --frozen-lockfile"
FIXED = "pnpm install --no-frozen-lockfile"
STORY = [
    ran(INSTALL, f"Progress\n{ERROR}", failed=True),
    assistant("The lockfile is older than package.json."),
    ran("pnpm install --force --frozen-lockfile", ERROR, failed=True),
    ran(FIXED, offset=70),
]


def test_the_command_that_worked_stands_there_as_it_was_called() -> None:
    (lesson,) = extract_lessons(STORY)
    assert f"The error:\n> `{ERROR}`" in lesson.text and lesson.score == SUCCEEDED and lesson.offset == 70
    assert f"What failed:\n```\n{INSTALL}\npnpm install --force --frozen-lockfile\n```" in lesson.text
    assert f"What worked:\n```\n{FIXED}\n```" in lesson.text and "> The lockfile is older" in lesson.text
    assert not lesson.outright


def test_a_change_after_which_the_same_command_succeeds_is_what_worked() -> None:
    test = "pytest tests/test_port.py"
    (lesson,) = extract_lessons([
        ran(test, "E  AssertionError: 80 != 8080", failed=True),
        ran("cat app/port.py"),
        edited("app/port.py", "PORT = 80", "PORT = 8080"),
        ran(test, "1 passed"),
        person("works now, thanks", 9),
    ])  # fmt: skip
    assert "What worked:\n```\napp/port.py\n- PORT = 80\n+ PORT = 8080\n```" in lesson.text
    assert "cat app" not in lesson.text and lesson.score == CONFIRMED and "> works now, thanks" in lesson.text


@pytest.mark.parametrize(
    "messages",
    [
        [ran("make", "fatal error", failed=True), ran("make")],
        [ran("make", "fatal error", failed=True), assistant("Let me look."), ran("git log"), ran("ls")],
        [ran("make", "fatal error", failed=True), ran("git commit -m x")],
        [
            ran("npm run dev", "ERR_MODULE_NOT_FOUND error", failed=True),
            ran("npm config get registry"),
            assistant("Hm."),
        ],
        [ran("kubectl apply -f a", "error: denied", failed=True), ran("kubectl get pods"), ran("kubectl --version")],
    ],
)
def test_what_went_by_itself_or_was_left_teaches_nothing(messages: list[TranscriptMessage]) -> None:
    assert not list(extract_lessons(messages))


def test_backticks_in_a_command_stay_within_its_fence() -> None:
    (lesson,) = extract_lessons([ran("psql a", "FATAL error", failed=True), ran("psql b <<'```'\n```")])
    assert "````\npsql b <<'```'\n```\n````" in lesson.text


@pytest.mark.anyio
async def test_it_is_told_when_its_error_comes_again_and_nearly_the_same_is_stored_once(world: World) -> None:
    async with world.engine() as engine:
        (lesson,) = (await take(engine, STORY)).waiting
        again = [replace(one, turn=replace(one.turn, at=world.now)) for one in STORY]
        assert (await take(engine, again, "other")).known == 1
        different = [*again[:3], ran("rm pnpm-lock.yaml && pnpm install", offset=80)]
        assert len((await take(engine, different, "third")).waiting) == 1, "another remedy is news"
        await engine.review("accept", lesson)
        assert len(paths(engine, NoteState.INBOX)) == 1
        told = await engine.perform("advise", {"session": "s", "output": f"$ pnpm i\n {ERROR}\n"})
        assert FIXED in told["text"]
