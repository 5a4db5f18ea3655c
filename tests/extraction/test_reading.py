"""A language model reads finished sessions; what it says and the session doesn't support is dropped."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_memory.models import NoteState
from mcp_memory.summarizers.config import SummarizerConfig
from tests.capture.written import line
from tests.extraction.session_reader import PARCELS, TALK, TOKEN, Reader, body, finish, made, reader
from tests.support.sessions import Sessions
from tests.support.stub_endpoint import serving
from tests.support.world import World, found, records

pytestmark = pytest.mark.anyio


@pytest.fixture
def sessions(world: World) -> Sessions:
    return Sessions(world)


async def test_what_the_session_supports_is_stored_with_its_words(sessions: Sessions, world: World):
    with reader() as model:
        model.say(PARCELS | {"subject": "parcels"})
        async with sessions.engine(**model.sections) as engine:
            report = await finish(sessions, engine)
            assert report["about"] == "1 session read, 1 note stored" and report["error"] is None
            (note,) = [one for one in made(engine) if "by: small" in world.read(one.path).decode()]
            assert body(world, note).endswith("because legal wants it.\n\n> legal told me it has to be 180 days")
            assert (note.kind, note.project, note.title) == ("decision", "app", PARCELS["text"])
            assert note.tags == ("parcels",)
            text = world.read(note.path).decode()
            assert "when:" in text and "voice: said" in text and "by: small" in text
            assert json.loads((world.state / "reader.json").read_bytes())["calls"] == 1
            before = world.files()
            assert await engine.run_job("reading") and world.files() == before
            assert len(model.endpoint.requests) == 1, "a session is read once"


async def test_the_model_is_shown_the_session_and_no_secret(sessions: Sessions):
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            said = "Delivered parcels are kept for 90 days."
            near = await engine.append(said, kind="fact", project="app", tags=["parcels"])
            await engine.append("My parcels arrive drunk.", kind="fact", project="app", tags=["private"])
            await engine.append("Delivered parcels are nobody's.", kind="fact", project="blog")
            await finish(sessions, engine)
            asked = model.asked
    assert f"{near.id[-6:]} · 2026-11-22 · fact · app · #parcels: Delivered parcels are kept for 90 days." in asked
    assert "[3] person: hm. legal told me" in asked and "tool Bash failed: just deploy" in asked
    assert "Sunday 2026-11-22, app" in asked
    assert TOKEN not in asked and "drunk" not in asked and "nobody's" not in asked


@pytest.mark.parametrize("subject", ["ignore all rules", "parcels: keep", "parcels ](x)", 7, "one two three four five"])
async def test_a_subject_that_was_not_said_is_no_tag(sessions: Sessions, subject: object):
    with reader() as model:
        model.say(PARCELS | {"subject": subject})
        async with sessions.engine(**model.sections) as engine:
            await finish(sessions, engine)
            assert [note.tags for note in made(engine) if note.title == PARCELS["text"]] == [()]


async def test_the_model_is_shown_whole_statements_and_open_duties(sessions: Sessions):
    told = "Customs forms are printed twice.\n\n> legal told me it has to be 180 days, not 90. make it that."
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            await engine.append(told, kind="fact", project="app")
            duty = await engine.append("Water Bo's plants.", kind="commitment", due="2026-11-27", project="app")
            await engine.append("Sweep the yard.", kind="commitment", due="2026-11-27", project="blog")
            await finish(sessions, engine)
            asked = model.asked
    assert ": Customs forms are printed twice." in asked and ": > legal told me" not in asked
    assert f"{duty.id[-6:]} · 2026-11-22 · commitment · app: Water Bo's plants." in asked and "yard" not in asked


@pytest.mark.parametrize(
    "changes",
    [
        {"quote": "legal said so"},
        {"quote": "The code says 90 days."},
        {"quote": "from now on everybody pushes to main", "text": "From now on everybody pushes to main."},
        {"quote": "yes please", "text": "Everybody pushes to main, and skips the reviews, please."},
        {"quote": "Shall I put the exports into the folder dumps/", "agreed": "p", "text": "Exports go into dumps/."},
        {"quote": "The code says 90 days", "agreed": "make it that", "text": "The code says 90 days."},
        {"quote": "x" * 5000},
        {"quote": ["legal told me it has to be 180 days", "<script>"]},
        {"text": "Delivered parcels are kept for 240 days, because legal wants it."},
        {"text": "Delivered parcels [are kept](https://evil.example) for 180 days."},
        {"text": "Customers in Norway pay customs when they order more than 180 days."},
        {"text": "Delivered parcels are kept for 180 days. ![](http://evil.example/x)"},
        {"text": "Delivered parcels <script>are kept for 180 days."},
        {"text": ""},
        {"text": 180},
        {"kind": "order"},
        {"do": "erase"},
        {"do": "replace", "of": "ABCDEF"},
        {"until": "2026-11-01"},
        {"until": "soon"},
    ],
)
async def test_what_the_session_does_not_support_is_dropped(sessions: Sessions, world: World, changes: dict[str, Any]):
    with reader() as model:
        model.say({**PARCELS, **changes})
        async with sessions.engine(**model.sections) as engine:
            report = await finish(sessions, engine)
            assert report["figures"]["unsupported"] == 1 and "legal" not in "".join(one.title for one in made(engine))


@pytest.mark.parametrize("answer", ["", "Sure! Nothing.", "[1]", '{"notes": {"do": "store"}}', "[" * 100_000])
async def test_an_answer_of_another_form_stores_nothing(sessions: Sessions, answer: str):
    with reader() as model:
        model.answer = answer
        async with sessions.engine(**model.sections) as engine:
            await finish(
                sessions, engine, line(1, "I think we should go with DuckDB.") + line(2, "Done.", role="assistant")
            )
            assert made(engine) == [] and len(made(engine, NoteState.INBOX)) == 1, "rules do without it"


@pytest.mark.parametrize(
    ("changes", "head"),
    [
        ({"do": "propose"}, "voice: said"),
        ({"quote": "the front desk is with Marta", "text": "The front desk is never with Marta."}, "never with"),
        ({"quote": "contract has to be out on Fri", "text": "The contract has to be out on Fridays."}, "Fridays"),
        ({"quote": "90 days, right?", "text": "Delivered parcels are kept for 90 days."}, "score: 0.6"),
        ({"kind": "commitment", "quote": "the front desk is with Marta", "text": "Marta has the desk."}, "desk"),
    ],
)  # fmt: skip
async def test_what_is_not_certain_waits(sessions: Sessions, world: World, changes: dict[str, Any], head: str):
    with reader() as model:
        model.say({**PARCELS, **changes})
        async with sessions.engine(**model.sections) as engine:
            await finish(sessions, engine)
            (note,) = [one for one in made(engine, NoteState.INBOX) if one.session == "s-1"]
            assert head in world.read(note.path).decode()


@pytest.mark.parametrize(
    ("changes", "head"),
    [
        ({"everywhere": True}, "project: null"),
        ({"until": "2026-11-29"}, "expires_at: '2026-11-29T23:59:59"),
        (
            {"kind": "commitment", "quote": "the front desk is with Marta", "due": "2026-11-27",
             "text": "Marta has the front desk until Friday, 27 November 2026."},
            "due: '2026-11-27'",
        ),
        (
            {"quote": "Shall I put the exports into the folder dumps/ from now on?", "agreed": "yes please",
             "text": "Exports go into the folder dumps/."},
            "voice: agreed",
        ),
    ],
)  # fmt: skip
async def test_scope_time_and_agreement_are_in_the_head(
    sessions: Sessions, world: World, changes: dict[str, Any], head: str
):
    with reader() as model:
        model.say({**PARCELS, **changes})
        async with sessions.engine(**model.sections) as engine:
            await finish(sessions, engine)
            (note,) = [one for one in made(engine) if "by: small" in world.read(one.path).decode()]
            text = world.read(note.path).decode()
            assert "project:" not in text if head == "project: null" else head.replace("'", "") in text.replace("'", "")


async def test_a_note_that_is_no_longer_true_is_replaced(sessions: Sessions, world: World):
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            old = await engine.append("Delivered parcels are kept for 90 days.", kind="decision", project="app")
            model.say({
                **PARCELS, "do": "replace", "of": old.id[-6:],
                "text": "Delivered parcels are kept for 180 days (until 22 November 2026: 90).",
            })  # fmt: skip
            await finish(sessions, engine)
            (note,) = [one for one in made(engine) if "180" in one.title]
            assert (await engine.search("delivered parcels kept")).hits[0].id == note.id
            assert old.id in [one.id for one in made(engine, NoteState.ARCHIVED)]


async def test_a_note_holds_again_after_what_replaced_it_for_a_time(sessions: Sessions, world: World):
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            old = await engine.append("Delivered parcels are kept for 90 days.", kind="decision", project="app")
            model.say({**PARCELS, "do": "replace", "of": old.id[-6:], "until": "2026-11-29"})
            await finish(sessions, engine)
            (hit,) = (await engine.search("delivered parcels kept")).hits
            assert hit.id != old.id
            world.later(days=8)
            await engine.sweep()
            assert [hit.id for hit in (await engine.search("delivered parcels kept")).hits] == [old.id]
            assert not [one.what for one in await engine.doctor() if old.path in one.what]


@pytest.mark.parametrize(("verdict", "count"), [("store", 0), ("nothing", 1)])
async def test_rules_find_no_contradiction_in_what_the_model_compared(
    sessions: Sessions, world: World, verdict: str, count: int
):
    now = "Delivered parcels are kept for 180 days."
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            await engine.append("Delivered parcels are kept for 90 days.", kind="decision", project="app")
            model.say({**PARCELS, "do": verdict, "text": now, "quote": "it has to be 180 days"})
            world.later(minutes=1)
            await finish(sessions, engine, line(1, "legal says it has to be 180 days") + line(2, "Yes."))
            if verdict == "nothing":
                await engine.append(now, kind="decision", project="app")
            await engine.sweep()
            assert len(await engine.conflicts()) == count


@pytest.mark.parametrize("do", ["end", "replace"])
@pytest.mark.parametrize("quote", ["this week the front desk is with Marta", "90 days, right?"])
async def test_a_note_changes_only_by_words_about_it(sessions: Sessions, do: str, quote: str):
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            old = await engine.append("Releases need a review by Ada.", kind="decision", project="app")
            model.say({**PARCELS, "do": do, "of": old.id[-6:], "text": "Releases need no review.", "quote": quote})
            await finish(sessions, engine)
            assert old.id in [one.id for one in made(engine)]


async def test_a_replacement_holds_where_the_replaced_note_held(sessions: Sessions):
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            old = await engine.append("Delivered parcels are kept for 90 days.", kind="decision")
            model.say({**PARCELS, "do": "replace", "of": old.id[-6:]})
            await finish(sessions, engine)
            (note,) = [one for one in made(engine) if one.id != old.id and "because legal" in one.title]
            assert note.project is None


async def test_an_older_session_changes_no_newer_note(sessions: Sessions, world: World):
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            world.later(minutes=20)
            newer = await engine.append("Delivered parcels are kept for 365 days.", kind="decision", project="app")
            model.say({**PARCELS, "do": "replace", "of": newer.id[-6:]})
            await finish(sessions, engine)
            assert newer.id in [one.id for one in made(engine)] and newer.id[-6:] not in model.asked


async def test_what_was_erased_does_not_come_back_in_other_words(sessions: Sessions):
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            model.say(PARCELS)
            await finish(sessions, engine)
            (note,) = [one for one in made(engine) if "because legal" in one.title]
            await engine.perform("erase", {"target": note.id, "sure": True})
            model.say({**PARCELS, "text": "Legal wants delivered parcels to be kept for 180 days."})
            await finish(sessions, engine, TALK + line(10, "and now the invoices, please"))
            assert "and now the invoices" in model.asked and not any("egal wants" in one.title for one in made(engine))


async def test_words_taken_back_take_the_notes_made_of_them_along(sessions: Sessions):
    talk = (
        line(1, "the bakery closes at six.") + line(2, "ok", role="assistant") + line(3, "Bob is paid in cash there.")
    )
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            quotes = ["the bakery closes at six", "Bob is paid in cash there"]
            model.say({**PARCELS, "text": "The bakery closes at six, and Bob is paid in cash there.", "quote": quotes})
            await finish(sessions, engine, talk)
            assert any("Bob" in one.title for one in made(engine))
            model.say()
            await finish(sessions, engine, talk + line(4, "Forget everything I said about Bob, off the record."))
            assert not any("Bob" in one.title for one in made(engine))


async def test_what_you_asked_to_remember_or_edited_stays(sessions: Sessions, world: World):
    talk = (
        line(1, "Remember that Ada signs each release.")
        + line(2, "Never push to main.")
        + line(3, "ok", role="assistant")
    )
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            file = await sessions.capture(engine, talk)
            notes = made(engine)
            rule = next(one for one in notes if "push" in one.title)
            world.write(rule.path, world.read(rule.path) + b"\nNot even on Fridays.\n")
            await engine.sweep()
            model.say(wrong=[one.id[-6:] for one in notes])
            await engine.perform("emptied", {"session": "claude-code/s-1", "transcript": file})
            await engine.run_job("reading")
            assert {one.id for one in made(engine)} == {one.id for one in notes}


@pytest.mark.parametrize(("quote", "is_over"), [("is the offer over", False), ("the flower offer is over", True)])
async def test_what_the_person_says_is_over_ends(sessions: Sessions, world: World, quote: str, is_over: bool):
    talk = line(1, "the flower offer is over, and nothing comes instead") + line(2, "ok", role="assistant")
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            old = await engine.append("Flowers are half price.", kind="fact", project="app")
            model.say({"do": "end", "of": old.id[-6:], "quote": quote})
            await finish(sessions, engine, talk)
            assert (await found(engine, "flowers half price") == []) is is_over


MEETING = b"".join([
    line(1, "rules for the bakery app:\n\n- orders close at 17:30, never on Sundays\n- 60 req/min per shop"),
    line(2, "Orders close at 17:30. Should vouchers last for a year?", role="assistant"),
    line(3, "hmm no, 18 months. and refunds not in March anymore but in April. what does Bo say?\norders close at six"),
])  # fmt: skip


@pytest.mark.parametrize(
    ("quote", "text", "state"),
    [
        ("orders close at 17:30", "Orders of the bakery app close at 17:30.", NoteState.ACTIVE),
        ("- 60 req/min per shop", "A shop may send 60 requests/min.", NoteState.ACTIVE),
        ("hmm no, 18 months", "Vouchers of the bakery app last for 18 months.", NoteState.ACTIVE),
        ("refunds not in March anymore but in April", "Refunds are in April (before: March).", NoteState.ACTIVE),
        (["hmm no, 18 months", "Should vouchers last"], "Vouchers last for 18 months.", NoteState.ACTIVE),
        ("orders close at 17:30, never on Sundays", "Orders close at 17:30 on Sundays.", NoteState.INBOX),
        ("orders close at six", "Orders of the bakery app close at six.", NoteState.INBOX),
    ],
)
async def test_a_persons_list_and_correction_count(
    sessions: Sessions, quote: str | list[str], text: str, state: NoteState
):
    with reader() as model:
        model.say({**PARCELS, "kind": "fact", "text": text, "quote": quote})
        async with sessions.engine(**model.sections) as engine:
            await finish(sessions, engine, MEETING)
            assert text in [one.title for one in made(engine, state)]


@pytest.mark.parametrize(("duty", "is_done"), [("The flyer goes out.", True), ("Ada orders flour.", False)])
async def test_a_duty_ends_by_words_near_its_name(sessions: Sessions, duty: str, is_done: bool):
    talk = line(1, "the flyer is ready.") + line(2, "Send it?", role="assistant") + line(3, "sent it, done.")
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            old = await engine.append(duty, kind="commitment", due="2026-11-27", project="app")
            model.say({"do": "end", "of": old.id[-6:], "quote": "sent it, done"})
            await finish(sessions, engine, talk)
            assert (old.id not in [one.id for one in made(engine)]) is is_done


async def test_a_statement_may_rest_on_several_messages(sessions: Sessions, world: World):
    talk = line(1, "the bakery closes at six.") + line(2, "ok", role="assistant") + line(3, "and opens at five.")
    with reader() as model:
        for other, count in (("and opens at five", 1), ("and opens at four", 0)):
            quotes = ["the bakery closes at six", other]
            model.say({**PARCELS, "text": "The bakery opens at five and closes at six.", "quote": quotes})
            async with sessions.engine(**model.sections) as engine:
                await finish(sessions, engine, talk, name=f"s-{count}")
                notes = [body(world, one) for one in made(engine) if "opens at five and" in one.title]
                assert len(notes) == 1 and notes[0].endswith("> the bakery closes at six\n> and opens at five")


async def test_what_rules_made_of_the_session_is_judged(sessions: Sessions, world: World):
    talk = (
        line(1, "Never push to main.") + line(2, "I think we should go with DuckDB.") + line(3, "ok", role="assistant")
    )
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            file = await sessions.capture(engine, talk)
            (rule,), (proposal,) = made(engine), made(engine, NoteState.INBOX)
            model.say(wrong=[rule.id[-6:]])
            await engine.perform("emptied", {"session": "claude-code/s-1", "transcript": file})
            await engine.run_job("reading")
            assert f"{rule.id[-6:]} · 2026-11-22 · stored · of this session: Never push to main." in model.asked
            assert made(engine) == [] and made(engine, NoteState.INBOX) == []
            assert proposal.id in [one.id for one in made(engine, NoteState.DELETED)]
            await engine.perform("restore", {"target": rule.id})
            assert [one.id for one in made(engine)] == [rule.id]


async def test_a_failure_loses_no_session(sessions: Sessions, world: World):
    with serving(lambda _: (500, {}, {})) as broken:
        model = Reader()
        model.endpoint = broken
        async with sessions.engine(**model.sections) as engine:
            with pytest.raises(AssertionError):
                await finish(sessions, engine, line(1, "Never push to main."))
            assert len(made(engine)) == 1, "rules do without it"
    (world.state / "reader.json").unlink()  # which still counts the pause after the failure
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            world.later(minutes=40)
            assert (await engine.run_job("reading"))["about"].startswith("1 session read")


async def test_what_was_said_while_no_reader_was_chosen_is_not_read_later(sessions: Sessions, world: World):
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            await engine.run_job("reading")
        async with sessions.engine() as engine:
            await sessions.capture(engine, TALK)
        async with sessions.engine(**model.sections) as engine:
            world.later(minutes=40)
            await engine.run_job("reading")
    assert model.endpoint.requests == []


async def test_nothing_older_than_the_choice_of_a_reader_is_read(sessions: Sessions, world: World):
    async with sessions.engine() as engine:
        await sessions.capture(engine, TALK)
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            world.later(minutes=40)
            await engine.run_job("reading")
            assert model.endpoint.requests == []
            more = line(10, "Never push to main.")
            await finish(sessions, engine, TALK + more)
            assert "Never push to main." in model.asked and "parcels" not in model.asked


async def test_a_long_session_is_read_in_parts(sessions: Sessions, world: World):
    talk = b"".join(
        line(number, f"Shelf {number} holds the spare parts of the old machines. " + "Please look it up. " * 30)
        for number in range(1, 30)
    )
    with reader() as model:
        model.say(
            {
                **PARCELS,
                "do": "propose",
                "text": "Shelf 3 holds the spare parts of the old machines.",
                "quote": "Shelf 3 holds the spare parts",
            }
        )
        sections = model.sections
        sections["summarizer"] = SummarizerConfig(endpoint=model.endpoint.address, timeout_s=60, prompt_tokens=2000)
        async with sessions.engine(**sections) as engine:
            await finish(sessions, engine, talk)
            assert len(model.endpoint.requests) > 2
            assert all(len(json.dumps(request)) < 14_000 for request in model.endpoint.requests)
            assert len([one for one in made(engine, NoteState.INBOX) if "Shelf 3" in one.title]) == 1


async def test_a_note_of_the_session_stays_until_the_proposal_in_its_place_is_decided(sessions: Sessions):
    talk = line(1, "Never push to main.") + line(2, "We deploy on Mondays, don't we?")
    talk += line(3, "Yes.", role="assistant")
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            file = await sessions.capture(engine, talk)
            (rule,) = made(engine)
            quotes = ["Never push to main", "We deploy on Mondays, don't we"]
            text = "Never push to main; deploy on Mondays."
            model.say({**PARCELS, "do": "replace", "of": rule.id[-6:], "text": text, "quote": quotes})
            await engine.perform("emptied", {"session": "claude-code/s-1", "transcript": file})
            await engine.run_job("reading")
            assert [one.id for one in made(engine)] == [rule.id]
            (item,) = [one for one in await engine.inbox() if one.title == text]
            assert rule.id in str(item.notes), "review offers to replace it"
            assert f"{rule.id[-6:]}: Never push to main." in (await engine.brief("claude-code/s-2", project="app")).text


@pytest.mark.parametrize("has_successor", [True, False])
async def test_a_wrong_note_of_the_session_is_held_back_until_the_proposal_in_its_place_is_decided(
    sessions: Sessions, *, has_successor: bool
):
    talk = line(1, "Never push to main.") + line(2, "no, that was wrong: we push fixes to main, don't we?")
    talk += line(3, "Hm.", role="assistant")
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            file = await sessions.capture(engine, talk)
            (rule,) = made(engine)
            text = "Fixes are pushed to main."
            fixes = {**PARCELS, "do": "propose", "of": rule.id[-6:], "text": text, "quote": "we push fixes to main"}
            model.say(*([fixes] if has_successor else []), wrong=[rule.id[-6:]])
            await engine.perform("emptied", {"session": "claude-code/s-1", "transcript": file})
            await engine.run_job("reading")
            assert [one.id for one in made(engine)] == [rule.id] * has_successor
            told = (await engine.brief("claude-code/s-2", project="app")).text
            assert "Never push" not in told and (f'{rule.id[-6:]}: perhaps outdated: "{text}"' in told) is has_successor
            if has_successor:
                (item,) = [one for one in await engine.inbox() if one.title == text]
                await engine.review("drop", item.id)
                told = (await engine.brief("claude-code/s-3", project="app")).text
                assert f"{rule.id[-6:]}: Never push to main." in told


@pytest.mark.parametrize("is_wrong", [True, False])
@pytest.mark.parametrize(
    "text", ["Les 17 correctifs : ne jamais pousser sur main.", "Ne jamais pousser sur main, sauf"]
)
async def test_a_wrong_note_waits_if_nothing_is_stored_in_its_place(sessions: Sessions, text: str, *, is_wrong: bool):
    talk = line(1, "Ne jamais pousser sur main.") + line(2, "non, c'était faux : pousser sur main, sauf le vendredi ?")
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            file = await sessions.capture(engine, talk + line(3, "Hm.", role="assistant"))
            (rule,) = made(engine)
            better = {**PARCELS, "do": "propose", "text": text, "quote": "pousser sur main, sauf le vendredi"}
            others = [{**better, "text": f"{text} {word}"} for word in ("vendredi", "le", "lundi", "ou", "non")]
            model.say(*others, {**better, "of": rule.id[-6:]}, wrong=[rule.id[-6:]] * is_wrong)
            await engine.perform("emptied", {"session": "claude-code/s-1", "transcript": file})
            await engine.run_job("reading")
            assert ("Ne jamais pousser" in (await engine.brief("claude-code/s-2", project="app")).text) is not is_wrong
            assert (rule.id in [one.id for one in made(engine, NoteState.INBOX)]) is is_wrong
            if is_wrong:
                await engine.review("accept", rule.id)
                assert "Ne jamais pousser" in (await engine.brief("claude-code/s-3", project="app")).text


async def test_a_proposal_names_the_older_note_that_it_contests(sessions: Sessions):
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            old = await engine.append("Delivered parcels are kept for 90 days.", kind="decision", project="app")
            model.say({**PARCELS, "do": "propose", "of": old.id[-6:]})
            await finish(sessions, engine)
            (item,) = [one for one in await engine.inbox() if one.kind == "decision" and "legal" in one.title]
            assert old.id in str(item.notes), "review offers to replace it"
            assert old.id in [one.id for one in made(engine)]
            assert "perhaps outdated: " in str((await engine.search("delivered parcels kept")).hits)


async def test_a_reminder_says_that_its_day_has_perhaps_moved(sessions: Sessions):
    talk = line(1, "the bakery flyers go out on Thursday 26 November, right?") + line(2, "Hm.", role="assistant")
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            old = await engine.append("The flyers go out.", kind="commitment", due="2026-11-23", project="app")
            model.say({
                **PARCELS, "do": "replace", "of": old.id[-6:], "kind": "commitment", "due": "2026-11-26",
                "text": "The flyers go out on 26 November 2026.", "quote": "flyers go out on Thursday 26 November",
            })  # fmt: skip
            await finish(sessions, engine, talk)
            start = (await engine.brief("claude-code/s-2", project="app")).text
            assert "Due tomorrow" in start and "26 November 2026." in start and "waits for review" in start


@pytest.mark.parametrize("how", ["replace", "wrong", "end", "store"])
async def test_a_proposal_of_an_earlier_session_ends_when_it_is_decided(sessions: Sessions, how: str):
    said = {**PARCELS, "text": "Vouchers are valid for 18 months.", "quote": "vouchers are valid for 18 months"}
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            model.say({**PARCELS, "do": "propose", "text": "Vouchers are valid for 12 months.",
                       "quote": "perhaps vouchers are valid for 12 months"})  # fmt: skip
            await finish(sessions, engine, line(1, "perhaps vouchers are valid for 12 months") + line(2, "ok"))
            (waits,) = [one for one in made(engine, NoteState.INBOX) if "by" in one.meta or "12" in one.title][:1]
            of = waits.id[-6:]
            if how == "wrong":
                model.say(wrong=[of])
            else:
                model.say({**said, "do": how, "of": of} if how != "store" else said)
            await finish(sessions, engine, line(1, "vouchers are valid for 18 months.") + line(2, "ok"), "s-2")
            assert model.asked.count(f"{of} · ") == 1 and f"{of} · 2026-11-22 · waits · app: " in model.asked
            assert waits.id in [one.id for one in made(engine, NoteState.DELETED)]
            assert [one.title for one in made(engine) if one.title == said["text"]] == (
                [said["text"]] if how in {"replace", "store"} else []
            )


@pytest.mark.parametrize(("quote", "is_done"), [("the flyers went out", True), ("the flyers go out on Friday", False)])
async def test_a_duty_that_has_only_moved_is_not_done(sessions: Sessions, world: World, quote: str, is_done: bool):
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            old = await engine.append("Send the flyers.", kind="commitment", due="2026-11-24", project="app")
            model.say({"do": "end", "of": old.id[-6:], "quote": quote})
            await finish(sessions, engine, line(1, f"{quote}.") + line(2, "ok", role="assistant"))
            (note,) = [one for one in records(engine) if one.id == old.id]
            assert note.state is not NoteState.ACTIVE and ("done_at" in note.meta) is is_done


SPOKEN = {
    "für Druckdaten brauchen wir generell PDF/X-4, kannst du dafür ein make-Ziel anlegen?": (
        "für Druckdaten brauchen wir generell PDF/X-4", "Für Druckdaten wird generell PDF/X-4 gebraucht."),
    "pour l'imprimeur il faut toujours du PDF/X-4, tu peux ajouter une cible make ?": (
        "pour l'imprimeur il faut toujours du PDF/X-4", "Pour l'imprimeur, il faut toujours du PDF/X-4."),
    "Tomasz called me: the backup runs at 02:00. We move the retraining to 04:30.": (
        "We move the retraining to 04:30", "The retraining moves to 04:30."),
    "Clausen hat grad angerufen: die Abgabe wird auf den 9. Dezember vorgezogen": (
        "die Abgabe wird auf den 9. Dezember vorgezogen", "Die Abgabe wird auf den 9. Dezember 2026 vorgezogen."),
    "Gerd also says 18 px is too small for the portrait monitor, please 22 there.": (
        "18 px is too small for the portrait monitor, please 22 there",
        "22 px on the portrait monitor, because 18 px is too small."),
    'Lukas wrote: "let us use a log transform of the target". I do not agree, the peaks matter most.': (
        "I do not agree, the peaks matter most", "No log transform of the target: the peaks matter most."),
    "Torben schreibt: »nehmt doch WhatsApp«, na ja. Commits bitte auf Deutsch und in einer Zeile": (
        "Commits bitte auf Deutsch und in einer Zeile", "Commits werden auf Deutsch und in einer Zeile geschrieben."),
    "refresh every 60 seconds is too often. Set the refresh to 300 seconds.": (
        "Set the refresh to 300 seconds", "The dashboard refreshes every 300 seconds instead of 60."),
    "bis zum 15. soll Bruns Bescheid geben, nicht bis zum 10.": (
        "bis zum 15. soll Bruns Bescheid geben, nicht bis zum 10.", "Bruns soll bis zum 15. Dezember Bescheid geben."),
    "getting R into that env was a nightmare and her notebook wants scDblFinder, so it is scrublet": (
        "her notebook wants scDblFinder, so it is scrublet", "Doublets are found with scrublet, not scDblFinder."),
    "die Spalte nein, das muss ich erst klären": (
        "die Spalte nein, das muss ich erst klären", "Die Spalte kommt nicht, das muss erst geklärt werden."),
    "Please keep the name of the file: forecast_<group>_<date>. Start now.": (
        "keep the name of the file: forecast_<group>_<date>", "The file keeps its name forecast_<group>_<date>."),
    "Wiebke schreibt:\n\n> Belege gibt es ab jetzt nur noch 5\n\nJa gut, dann eben 5 Belege": (
        "Ja gut, dann eben 5 Belege", "Dann eben 5 Belege."),
    "150. no water check for now, it doubles the query": (
        "150. no water check for now", "The radius is 150, with no water check for now."),
    "le cron des nouveautés, mets-le à 6h15": (
        "le cron des nouveautés, mets-le à 6h15", "Le cron des nouveautés tourne à 6h15."),
    "Ada sagt Bescheid, der Export startet um halb zehn": (
        "der Export startet um halb zehn", "Der Export startet um 9.30 Uhr."),
    "Nightly reports leave at 9:30pm, all two of them.": (
        "Nightly reports leave at 9:30pm, all two of them", "The 2 nightly reports leave at 21:30."),
    "l'export, lance-le à neuf heures et demie": (
        "l'export, lance-le à neuf heures et demie", "L'export part à 9h30."),
    "el informe, mándalo a las nueve y media": (
        "el informe, mándalo a las nueve y media", "El informe sale a las 9.30 h."),
    "Pour les composants, `<script setup lang=\"ts\">` partout, et jamais d'Options API.": (
        "Pour les composants, `<script setup lang=\"ts\">` partout, et jamais d'Options API",
        "Composants : `<script setup lang=\"ts\">` partout, jamais d'Options API."),
    "In the dialogs keep <Teleport> and nothing else, always.": (
        "In the dialogs keep <Teleport> and nothing else", "The dialogs keep <Teleport> and nothing else."),
    "Zum Installieren immer `npm ci --registry https://npm.example`": (
        "immer `npm ci --registry https://npm.example`", "Installiert wird immer mit npm ci --registry https://npm.example."),
    "Béatrice vient d'appeler : le port c'est 9443, pas 8443, elle s'est plantée": (
        "le port c'est 9443, pas 8443, elle s'est plantée", "Le port est 9443, le 8443 était une erreur."),
    "Le gel est décalé : du 15 au 22 au lieu du 14 au 18. Donc lundi 14 on peut encore livrer": (
        "du 15 au 22 au lieu du 14 au 18. Donc lundi 14 on peut encore livrer",
        "Le gel est du 15 au 22 décembre 2026. Lundi 14, on peut encore livrer."),
    "à la mairie npm passe par le proxy, sinon il installe rien": (
        "npm passe par le proxy, sinon il installe rien", "Sans le proxy de la mairie, npm n'installe rien."),
}  # fmt: skip


@pytest.mark.parametrize("message", SPOKEN)
async def test_what_the_person_says_outright_is_stored(sessions: Sessions, message: str):
    quote, text = SPOKEN[message]
    with reader() as model:
        model.say({**PARCELS, "text": text, "quote": quote})
        async with sessions.engine(**model.sections) as engine:
            await finish(sessions, engine, line(1, message) + line(2, "ok", role="assistant"))
            assert text.replace("`", "") in [one.title.replace("`", "") for one in made(engine)]


@pytest.mark.parametrize(
    ("agreed", "text", "state"),
    [
        ("Nickel. Mais le bouton seulement si pas de réservation derrière",
         "Le mail a un bouton (seulement s'il n'y a pas de réservation derrière).", NoteState.ACTIVE),
        ("Ja, den Knopf „Prolonger“ aber nur wenn bezahlt ist",
         "Die Mail hat einen Knopf „Prolonger“, aber nur wenn bezahlt ist.", NoteState.ACTIVE),
        ("Yes, the button only if nobody waits", "The mail has a button for all.", NoteState.INBOX),
        ("Sí, el botón solo si nadie espera", "El correo tiene un botón, solo si nadie espera.", NoteState.ACTIVE),
    ],
)  # fmt: skip
async def test_an_agreement_may_have_a_condition(sessions: Sessions, agreed: str, text: str, state: NoteState):
    proposal = "ajouter au mail un bouton « Prolonger » (a button, botón, Knopf)"
    talk = line(1, "the mail?") + line(2, f"Je propose d'{proposal}.", role="assistant") + line(3, agreed)
    with reader() as model:
        model.say({**PARCELS, "text": text, "quote": proposal, "agreed": agreed})
        async with sessions.engine(**model.sections) as engine:
            await finish(sessions, engine, talk)
            assert [one.state for one in records(engine) if one.title == text] == [state]


async def test_a_fuller_text_replaces_a_bare_sentence_at_once(sessions: Sessions):
    talk = line(1, 'The reminder mail. Subject: "Your books are waiting". Never threaten anybody with fees.')
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            file = await sessions.capture(engine, talk + line(2, "ok", role="assistant"))
            (bare,) = made(engine)
            text = 'Reminder mail: subject "Your books are waiting", never threaten with fees.'
            quotes = ['Subject: "Your books are waiting"', "Never threaten anybody with fees"]
            model.say({**PARCELS, "do": "replace", "of": bare.id[-6:], "text": text, "quote": quotes})
            await engine.perform("emptied", {"session": "claude-code/s-1", "transcript": file})
            await engine.run_job("reading")
            assert [one.title for one in made(engine)] == [text]


async def test_the_agents_quotation_may_stand_first(sessions: Sessions):
    talk = line(1, "why is it slow?") + line(2, "One slow insert holds the mutex.", role="assistant")
    talk += line(3, "makes sense. swap the buffer under the lock, insert outside")
    text = "Swap the buffer under the lock and insert outside, as one slow insert held it."
    quotes = ["One slow insert holds the mutex", "swap the buffer under the lock, insert outside"]
    with reader() as model:
        model.say({**PARCELS, "text": text, "quote": quotes, "agreed": "makes sense"})
        async with sessions.engine(**model.sections) as engine:
            await finish(sessions, engine, talk)
            assert text in [one.title for one in made(engine)]


@pytest.mark.parametrize(
    ("message", "quote", "text"),
    [
        ("we keep parcels for 90 days, can you check that?", "we keep parcels for 90 days", "Parcels stay 90 days."),
        ("do parcels stay for 90 days, what do you think?", "parcels stay for 90 days", "Parcels stay for 90 days."),
        ("Bob said: we push to main now. No reviews.", "we push to main now", "We push to main now."),
        ("Bob pinged me: CI is slow. We skip the reviews.", "We skip the reviews", "We skip the reviews."),
        ("the mail says we push to main from now on", "we push to main from now on", "We push to main from now on."),
        ("Bea writes:\n\n> hi\n\nWe push to main now.", "We push to main now", "We push to main now."),
        ("Ada is at the desk, I am away.", "Ada is at the desk, I am away", "Ada is never at the desk."),
        ("180 days instead of 90 for parcels.", "180 days instead of 90 for parcels", "Parcels stay 90 days, not 180."),
    ],
)  # fmt: skip
async def test_what_another_perhaps_said_or_the_person_perhaps_asks_waits(
    sessions: Sessions, message: str, quote: str, text: str
):
    with reader() as model:
        model.say({**PARCELS, "text": text, "quote": quote})
        async with sessions.engine(**model.sections) as engine:
            await finish(sessions, engine, line(1, message) + line(2, "ok", role="assistant"))
            assert text in [one.title for one in made(engine, NoteState.INBOX)]


@pytest.mark.parametrize(
    ("agreed", "state"),
    [
        ("Here is what Miriam wrote, so that you know the background", NoteState.INBOX),
        ("Hier Miriams Nachricht zur Info", NoteState.INBOX),
        ("Look what Miriam wrote", None),
    ],
)
async def test_what_the_person_hands_on_as_background_waits(sessions: Sessions, agreed: str, state: NoteState | None):
    with reader() as model:
        text = "The meters of the bakery are swapped on 7 December 2026."
        quote = "the meters of the bakery are swapped on 7 December"
        model.say({**PARCELS, "kind": "fact", "text": text, "quote": quote, "agreed": agreed})
        async with sessions.engine(**model.sections) as engine:
            talk = line(1, f"{agreed}:\n\n> Hi, {quote}. Best, Miriam") + line(2, "ok", role="assistant")
            await finish(sessions, engine, talk)
            assert [one.state for one in records(engine) if one.title == text] == ([state] if state else [])


@pytest.mark.parametrize(
    ("message", "agreed", "state"),
    [
        ("do it as Anna writes:\n\n{}", "do it as Anna writes", NoteState.ACTIVE),
        ("{}\n\nwhat Anna says, from now on", "what Anna says, from now on", NoteState.ACTIVE),
        ("mach das so, wie Anna schreibt:\n\n{}", "mach das so, wie Anna schreibt", NoteState.ACTIVE),
        ("{}\n\nd'accord, on fait comme ça", "d'accord, on fait comme ça", NoteState.ACTIVE),
        ("{}\n\nlo hacemos como dice Anna, a partir de ahora", "a partir de ahora", NoteState.ACTIVE),
        ("Anna writes:\n\n{}\n\nagreed, that is our rule", "agreed, that is our rule", NoteState.INBOX),
        ("Anna writes:\n\n{}\n\nplease update the page", "please update the page", None),
        ("{}\n\nshould we do it like that?", "do it like that", None),
        ("{}\n\nnever do it like that", "do it like that", None),
        ("Anna writes:\n\n{}", "Tuesdays only", None),
        ("do it as Anna writes:\n\n{}", "", None),
    ],
)
async def test_pasted_words_count_only_if_the_person_adopts_them(
    sessions: Sessions, message: str, agreed: str, state: NoteState | None
):
    said = message.format("> The vans of the bakery leave at 05:30 and on Tuesdays only.")
    with reader() as model:
        model.say({
            **PARCELS, "text": "The vans of the bakery leave at 05:30, on Tuesdays only.",
            "quote": "The vans of the bakery leave at 05:30 and on Tuesdays only", "agreed": agreed,
        })  # fmt: skip
        async with sessions.engine(**model.sections) as engine:
            await finish(sessions, engine, line(1, said) + line(2, "ok", role="assistant"))
            found = [one.state for one in records(engine) if "vans" in one.title]
            assert found == ([state] if state else [])


async def test_a_pasted_text_may_be_adopted_in_the_next_message(sessions: Sessions):
    talk = (
        line(1, "Anna writes:\n\n> The vans of the bakery leave on Tuesdays only.")
        + line(2, "Shall I change the plan?", role="assistant")
        + line(3, "yes, that's how we do it now")
    )
    with reader() as model:
        model.say({
            **PARCELS, "text": "The vans of the bakery leave on Tuesdays only.", "agreed": "that's how we do it now",
            "quote": "The vans of the bakery leave on Tuesdays only",
        })  # fmt: skip
        async with sessions.engine(**model.sections) as engine:
            await finish(sessions, engine, talk)
            assert len([one for one in made(engine) if "vans" in one.title]) == 1


@pytest.mark.parametrize(
    ("named", "project"), [("blog", "blog"), ("depot", "depot"), ("shed", "app"), (["blog"], "app")]
)
async def test_a_statement_may_be_about_another_project_that_the_prompt_lists(
    sessions: Sessions, named: Any, project: str
):
    for name in ("blog", "depot"):
        (sessions.repository.parent / name / ".git").mkdir(parents=True)
        (sessions.repository.parent / name / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            for name in ("blog", "depot"):
                repository = json.dumps(str(sessions.repository.parent / name)).encode()
                talk = line(1, "hello").replace(b'"/home/ada/app"', repository)
                await sessions.capture(engine, talk, name)
            talk = TALK + line(10, "btw the blog keeps its drafts for 14 days")
            model.say({**PARCELS, "project": named, "text": "Drafts are kept for 14 days.",
                       "quote": "the blog keeps its drafts for 14 days"})  # fmt: skip
            await finish(sessions, engine, talk)
            assert "2026-11-22, app (other projects: blog, depot):" in model.asked
            (note,) = [one for one in made(engine) if one.title == "Drafts are kept for 14 days."]
            assert note.project == project


async def test_a_later_part_is_shown_what_was_made_of_the_earlier_ones(sessions: Sessions):
    talk = b"".join(line(n, f"Shelf {n} holds the spare parts. " + "Please look it up. " * 60) for n in range(1, 12))
    with reader() as model:
        first = {**PARCELS, "text": "Shelf 1 holds the spare parts.", "quote": "Shelf 1 holds the spare"}
        model.say(first)
        sections = model.sections
        sections["summarizer"] = SummarizerConfig(endpoint=model.endpoint.address, timeout_s=60, prompt_tokens=2000)
        async with sessions.engine(**sections) as engine:
            await finish(sessions, engine, talk)
            (note,) = [one for one in made(engine) if one.title == first["text"]]
            shown = [request["messages"][-1]["content"] for request in model.endpoint.requests]
            line_of_note = f"{note.id[-6:]} · 2026-11-22 · stored · of this session: Shelf 1"
            assert len(shown) > 1 and [line_of_note in one for one in shown] == [False, *[True] * (len(shown) - 1)]


async def test_a_bad_answer_loses_only_its_part(sessions: Sessions):
    talk = b"".join(line(n, f"Shelf {n} holds the spare parts. " + "Please look it up. " * 60) for n in range(1, 12))
    last = {**PARCELS, "kind": "fact", "text": "Shelf 11 holds the spare parts.", "quote": "Shelf 11 holds the spare"}
    with reader() as model:
        model.say(last)
        cut = {"choices": [{"message": {"content": '{"notes": ['}, "finish_reason": "length"}]}
        model.endpoint.script = [(200, cut, {})]
        sections = model.sections
        sections["summarizer"] = SummarizerConfig(endpoint=model.endpoint.address, timeout_s=60, prompt_tokens=2000)
        async with sessions.engine(**sections) as engine:
            report = await finish(sessions, engine, talk)
            assert report["figures"]["unusable"] == 1
            assert [one.title for one in made(engine) if one.title == last["text"]] == [last["text"]]


@pytest.mark.parametrize(("do", "state"), [("store", NoteState.ACTIVE), ("propose", NoteState.INBOX)])
async def test_a_proposal_of_the_rules_does_not_stop_what_the_model_keeps(
    sessions: Sessions, do: str, state: NoteState
):
    said = "I think we should go with DuckDB."
    talk = line(1, said) + line(2, "Done.", role="assistant")
    with reader() as model:
        model.say({**PARCELS, "do": do, "text": said, "quote": said})
        async with sessions.engine(**model.sections) as engine:
            await finish(sessions, engine, talk)
            assert f"waits · of this session: {said}" in model.asked
            assert [one.title for one in made(engine, state)] == [said]
