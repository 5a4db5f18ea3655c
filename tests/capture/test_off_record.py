"""What a person wants nobody to keep is written nowhere, or taken back from where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.taken import Desk
from tests.capture.written import line, result, use

pytestmark = pytest.mark.anyio

SECRET = "zanzibar"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.parametrize(
    "turns",
    [
        [f"Off the record: Bob moves to {SECRET}."],
        [f"Bob moves to {SECRET}. Das bleibt unter uns."],
        [f"<private>Bob moves to {SECRET}</private> fix the tests please"],
        [f"fix the tests\n<PRIVATE>\n{SECRET}"],
        ["Can I tell you something off the record?", f"Bob moves to {SECRET}."],
        [f"Bob moves to {SECRET}.", "don't remember what I just said"],
        [f"Bob moves to {SECRET}.", "that's private btw"],
        [f"Bob moves to {SECRET}.", "oublie ce que je viens de dire"],
        ["what I say next is off the record", "[Request interrupted by user]", f"Bob moves to {SECRET}."],
        ["Can I tell you something off the record?", "<task-notification>done</task-notification>", f"It is {SECRET}."],
        [f"Bob moves to {SECRET}.", "[Request interrupted by user for tool use]", "don't remember what I just said"],
        ["Don't store anything from this conversation.", "ok so", f"Bob moves to {SECRET}."],
    ],
)
@pytest.mark.parametrize("together", [True, False])
async def test_nothing_of_it_is_on_disk(desk: Desk, turns: list[str], *, together: bool) -> None:
    file, lines = desk.file(), [line(0, "the first message stays"), line(1, "and its answer", role="assistant")]
    lines += [line(2, "and a second one"), line(3, "Fine.", role="assistant")]
    for number, text in enumerate(turns, 1):
        at = 10 * number
        repeats = SECRET in text
        lines += [line(at, text), line(at + 1, f"So it is {SECRET if repeats else 'clear'}.", role="assistant")]
        lines += [use(at + 2, f"c{at}", "Bash", command=f"echo {SECRET if repeats else 'x'}")]
        lines += [result(at + 3, f"c{at}", f"{SECRET if repeats else 'x'}", failed=True)]
    lines += [line(90, "on the record: the last message stays, too")]
    for some in [b"".join(lines)] if together else lines:
        with file.open("ab") as transcript:
            transcript.write(some)
        await desk.take(file)
    kept = desk.bytes_on_disk().decode(errors="replace")
    assert SECRET not in kept and "the first message stays" in kept and "the last message stays" in kept
    assert together is False or SECRET not in " ".join(desk.texts())


async def test_what_is_taken_back_goes_from_full_pages_and_what_stands_before_it_stays(desk: Desk) -> None:
    file = desk.file()
    file.write_bytes(line(0, "the first message stays") + line(1, f"{SECRET} begins"))
    await desk.take(file)
    with file.open("ab") as transcript:
        for number in range(2, 12):
            transcript.write(line(number, f"{SECRET} {number} " + "word " * 600, role="assistant"))
    await desk.take(file)
    assert len(desk.leaves()) > 1 and SECRET in desk.said()
    with file.open("ab") as transcript:
        transcript.write(line(20, "forget what I just said") + line(21, "done", role="assistant") + line(22, "and now"))
    await desk.take(file)
    assert SECRET not in desk.bytes_on_disk().decode(errors="replace")
    assert "and now" in desk.said() and "the first message stays" in desk.said()


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(
    ("told", "after"),
    [
        (f"Off the record: ask an agent about {SECRET}.", "and now"),
        (f"Ask an agent about <private>{SECRET}</private>", "and now"),
        (f"Ask an agent about {SECRET}.", "forget what I just said"),
    ],
)
async def test_a_sub_agent_of_such_a_turn_is_kept_nowhere_either(
    desk: Desk, told: str, after: str, *, together: bool
) -> None:
    def of_agent(at: int, text: str, name: str) -> bytes:
        return line(at, text, role="assistant", isSidechain=True, agentId=name)

    file = desk.file()
    silent, early, late = (desk.file(f"-home-ada-app/s-1/subagents/agent-{name}.jsonl") for name in "abc")
    writes = [
        (file, line(0, "the first message stays")),
        (early, of_agent(2, "an earlier sub-agent stays", "b")),
        (file, line(10, told)),
        (silent, of_agent(12, f"it is {SECRET}", "a")),
        (file, line(20, after) + line(21, "Fine.", role="assistant")),
        (silent, of_agent(22, f"still {SECRET}", "a")),
        (file, line(30, "on we go")),
        (late, of_agent(32, "a later sub-agent stays", "c")),
    ]
    for target, data in writes:
        with target.open("ab") as transcript:
            transcript.write(data)
        if not together and file.exists():
            await desk.take(file)
    await desk.take(file)
    kept = desk.bytes_on_disk().decode(errors="replace")
    assert SECRET not in kept
    assert all(text in kept for text in ("first message", "earlier sub-agent stays", "later sub-agent stays"))


@pytest.mark.parametrize(
    "wish",
    [
        "forget everything we talked about",
        "don't keep anything from this conversation, forget all of it",
        "vergiss das ganze Gespräch",
        "oublie toute cette conversation",
        "olvida toda esta conversación",
    ],
)
@pytest.mark.parametrize("together", [True, False])
async def test_a_whole_session_is_taken_back(desk: Desk, wish: str, *, together: bool) -> None:
    file = desk.file()
    lines = [line(0, f"{SECRET} begins"), line(1, f"So it is {SECRET}.", role="assistant")]
    lines += [line(number, f"{SECRET} {number} " + "word " * 600, role="assistant") for number in range(2, 12)]
    lines += [line(20, f"still {SECRET}"), line(21, "Fine.", role="assistant"), line(22, wish)]
    lines += [line(23, "done", role="assistant"), line(24, "ok"), line(25, "on the record: now the tests")]
    for some in [b"".join(lines)] if together else lines:
        with file.open("ab") as transcript:
            transcript.write(some)
        await desk.take(file)
    assert SECRET not in desk.bytes_on_disk().decode(errors="replace") and "now the tests" in desk.said()
    assert together or any(0 in told.taken_back for told in desk.heard)


async def test_a_wish_about_a_program_keeps_the_session(desk: Desk) -> None:
    file = desk.file()
    file.write_bytes(line(0, "don't save this: write to temp instead") + line(1, "Fine.", role="assistant"))
    await desk.take(file)
    assert "write to temp" in desk.said() and "Fine." in desk.said()


@pytest.mark.parametrize(
    ("tool", "output", "is_kept"),
    [
        (
            "AskUserQuestion",
            f'User has answered your questions: "Who?"="off the record: Bob moves to {SECRET}". You can now go on',
            False,
        ),
        ("AskUserQuestion", f'User has answered your questions: "A?"="1", "B?"="don\'t store this: {SECRET}"', False),
        (
            "AskUserQuestion",
            f'User has answered your questions: "Wer?"="Das bleibt unter uns: Bob moves to {SECRET}".',
            False,
        ),
        ("request_user_input", f'{{"answers": {{"who": "keep this between us: Bob moves to {SECRET}"}}}}', False),
        ("Bash", f"The tool use was rejected. The user said:\noff the record: Bob moves to {SECRET}", False),
        (
            "AskUserQuestion",
            f'User has answered your questions: "Keep it off the record?"="No, {SECRET} is fine".',
            True,
        ),
        ("Bash", f"grep: off the record: {SECRET}", True),
    ],
)
async def test_an_answer_to_a_question_of_a_tool_can_ask_for_it(
    desk: Desk, tool: str, output: str, *, is_kept: bool
) -> None:
    file = desk.file()
    lines = [line(0, "the first message stays"), use(1, "c1", tool, question="Who?", command="x")]
    lines += [result(2, "c1", output, failed=tool == "Bash"), line(3, f"So it is {SECRET}.", role="assistant")]
    file.write_bytes(b"".join([*lines, line(4, "the last message stays, too")]))
    await desk.take(file)
    kept = desk.bytes_on_disk().decode(errors="replace")
    assert (SECRET in kept) is is_kept and "the last message stays" in kept


@pytest.mark.parametrize(
    "wish",
    [
        "forget what I said about Zanzibar",
        "vergiss bitte, was ich über Zanzibar gesagt habe",
        "delete what I told you about the Zanzibar office",
        "please forget everything I told you about Zanzibar",
        "oublie ce que j'ai dit sur Zanzibar",
        "olvida lo que dije sobre Zanzibar",
        "Right. One more thing: forget what I said about the Zanzibar office, it was a joke. Do the tests pass?",
        "Gut. Noch was: vergiss, was ich über die Zanzibar-Sache gesagt habe, das war nur ein Witz. Läuft der Test?",
        "Bien. Au fait, oublie ce que j'ai dit sur le bureau de Zanzibar, c'était une blague. Le test passe ?",
        "Bien. Otra cosa: olvida lo que dije de la oficina de Zanzibar, era una broma. ¿Pasa el test?",
    ],
)
@pytest.mark.parametrize("together", [True, False])
async def test_only_the_turns_that_speak_of_the_thing_are_taken_back(desk: Desk, wish: str, *, together: bool) -> None:
    file, said = desk.file(), "word " * 600
    lines = [line(number, f"early {number} stays {said}") for number in range(8)]
    lines += [line(10, f"Bob moves to the {SECRET} office"), line(11, f"I see. {said}", role="assistant")]
    lines += [line(12, f"between {said}"), line(13, f"Fine {said}", role="assistant"), line(14, "Who is it?")]
    lines += [line(15, f"The {SECRET} office, and the answer goes", role="assistant")]
    lines += [line(number, f"late {number} stays {said}") for number in range(16, 20)]
    lines += [line(20, wish), line(21, "Done.", role="assistant"), line(22, "the last message stays, too")]
    for some in [b"".join(lines)] if together else [b"".join(lines[:-3]), *lines[-3:]]:
        with file.open("ab") as transcript:
            transcript.write(some)
        await desk.take(file)
    kept = desk.bytes_on_disk().decode(errors="replace")
    assert SECRET not in kept.lower() and "I see." not in kept and "Who is it?" not in kept
    stays = [*(f"early {number} stays" for number in range(8)), *(f"late {number} stays" for number in range(16, 20))]
    assert [text for text in [*stays, "between word", "Fine word", "the last message"] if text not in desk.said()] == []


@pytest.mark.parametrize("wish", ["forget what I said about Grubwort", "vergiss, was ich über Grubwort gesagt habe"])
async def test_nothing_is_taken_back_where_nobody_spoke_of_it(desk: Desk, wish: str) -> None:
    file = desk.file()
    file.write_bytes(line(0, "the first message stays") + line(1, "and its answer", role="assistant") + line(2, wish))
    await desk.take(file)
    assert (
        "the first message stays" in desk.said() and "and its answer" in desk.said() and "Grubwort" not in desk.said()
    )
    assert any(told.taken_back.is_missing for told in desk.heard)
