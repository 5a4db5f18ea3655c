"""extract and review from the command line, with a daemon and without, and with keys on a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_memory.cli.sessions.transcripts import read_transcript
from mcp_memory.errors import InvalidInput, NotFound
from mcp_memory.settings.settings import Settings
from tests.capture.written import lately, line
from tests.daemon.conftest import KEYWORDS_ONLY
from tests.daemon.place import Place
from tests.support.terminal import INTERRUPT, typed

TALK = [
    {"role": "user", "text": "Always answer in metric units.", "at": "2026-11-22T09:30:00Z"},
    {"role": "assistant", "text": "Fine."},
    {"role": "user", "text": "I think we should go with DuckDB. Maybe the export takes 42 minutes."},
]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path, tmp_path / "models", KEYWORDS_ONLY).make()
    (tmp_path / "talk.jsonl").write_bytes(lately("\n".join(map(json.dumps, TALK)).encode()))
    return made


def said(place: Place, *arguments: str):
    return json.loads(place.run(*arguments, "--json").ok().out)


def test_scripts_extract_accept_and_drop(place: Place):
    with place.started():
        taken = said(place, "sessions", "extract", "talk.jsonl", "--client", "codex")
        assert (len(taken["active"]), len(taken["waiting"])) == (1, 2)
        waiting = said(place, "review")["waiting"]
        assert [each["what"] for each in waiting] == ["candidate", "candidate", "stored"]
        assert waiting[0]["source"] == "codex"
        done = said(place, "review", "--accept", waiting[0]["id"])["done"]
        assert [each["title"] for each in done] == ["I think we should go with DuckDB."]
        dropped = said(place, "review", "--drop", waiting[1]["id"], "--drop", taken["active"][0])["done"]
        assert [each["choice"] for each in dropped] == ["drop", "drop"]


def test_a_digest_names_what_waits_with_the_command_that_confirms_it(place: Place):
    with place.started():
        assert "waits" not in place.run("sessions", "digest").ok().out
        place.run("sessions", "extract", "talk.jsonl").ok()
        waiting = [item for item in said(place, "review")["waiting"] if item["what"] == "candidate"]
        digest = place.run("sessions", "digest").ok()
        assert "go with DuckDB" in digest.out and "mcp-memory review --accept ID" in digest.out + digest.err
        assert all(item["id"][-6:] in digest.out for item in waiting)
        assert "metric units" not in digest.out.partition("go with DuckDB")[2], "what is stored doesn't wait"
        place.run("review", "--accept", waiting[0]["id"]).ok()
        assert waiting[0]["id"][-6:] not in place.run("sessions", "digest").ok().out


def test_the_list_has_what_waits_in_short_and_several_are_decided_at_once(place: Place):
    name = "9673f648-8fea-5e81-b317-ce519f34d52a"
    file = place.root / "a-long-folder-of-a-client" / f"{name}.jsonl"
    file.parent.mkdir()
    rows = [{**row, "session": name} for row in TALK]
    file.write_bytes(lately("\n".join(map(json.dumps, rows)).encode()))
    with place.started():
        (stored,) = said(place, "sessions", "extract", str(file))["active"]
        first, second = (item["id"] for item in said(place, "review")["waiting"][:2])
        listed = place.run("review").ok().out
        assert "go with DuckDB" in listed and stored[-6:] not in listed
        assert "1 note stored already: mcp-memory review --stored" in listed
        assert "session 9673f648, @" in listed and "a-long-folder" not in listed
        assert "--accept ID ID" in listed
        assert stored[-6:] in place.run("review", "--stored").ok().out
        assert place.run("review", first).code == 2
        assert len(said(place, "review", "--accept", first, second)["done"]) == 2
        assert "nothing waits" in place.run("review").ok().out


def test_each_option_takes_the_ids_up_to_the_next_option(place: Place):
    rows = [{"role": "user", "text": f"I think we should go with {one}."} for one in ("DuckDB", "Redis", "Kafka")]
    (place.root / "talk.jsonl").write_bytes(lately("\n".join(map(json.dumps, rows)).encode()))
    with place.started():
        one, two, three = said(place, "sessions", "extract", "talk.jsonl", "--client", "codex")["waiting"]
        done = said(place, "review", "--accept", one, "--drop", two, three)["done"]
        assert [(each["choice"], each["id"]) for each in done] == [("accept", one), ("drop", two), ("drop", three)]
        place.run("undo", three, "--yes").ok()
        again = place.run("review", "--drop", one[-6:], three)
        assert again.code and "does not wait for review" in again.err and "dropped" in again.out
        again = place.run("review", "--accept", two)
        assert again.code and "was dropped" in again.err


def test_extract_finds_what_was_promised_and_lets_it_wait(place: Place):
    place.vault.mkdir()
    words = ("Remind me to renew the certificate on Friday.", "I'll send Ann the report by Friday.", "Thanks, go on.")
    rows = [{"session": "s", "role": "user", "text": each} for each in words]
    (place.root / "promised.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = said(place, "sessions", "extract", "promised.jsonl", "--dry-run")["found"]
    assert [(each["kind"], each["text"]) for each in found] == [("commitment", each) for each in words[:2]]
    taken = said(place, "sessions", "extract", "promised.jsonl")
    assert (taken["active"], len(taken["waiting"])) == ([], 2)


def test_a_session_is_extracted_as_it_would_be_captured(place: Place):
    """Under its client's name, for its project, and with a place that leads to its transcript."""
    place.vault.mkdir()
    repository = place.root / "depot"
    (repository / ".git").mkdir(parents=True)
    file = place.home / ".claude" / "projects" / "-depot" / "5a3c-77d1.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(lately(line(1, "We decided to use Redis for the queue.", cwd=str(repository))))
    for named in ("", "1"):
        refused = place.run("sessions", "extract", named)
        assert "no transcript or session is called" in refused.err, "the end of any session"
    (note,) = said(place, "sessions", "extract", "c-77d1")["active"]
    (found,) = (place.vault / "notes" / "decision").iterdir()
    text = found.read_text()
    assert note in text and f"{file}@0" in text
    assert "project: depot\n" in text and "source: claude-code\n" in text and "session: s-1\n" in text
    assert said(place, "sessions", "capture", str(file))["transcripts"][0]["messages"] == 1
    assert len(list((place.vault / "notes" / "decision").iterdir())) == 1


def test_keys_on_a_terminal(place: Place):
    editor = place.root / "editor"
    editor.write_text('#!/bin/sh\necho "The export takes 43 minutes." > "$1"\n')
    editor.chmod(0o755)
    with place.started():
        place.run("sessions", "extract", "talk.jsonl").ok()
        assert "Traceback" not in typed(place, "review", [INTERRUPT])
        # An unknown key asks again; the decision is dropped, the fact edited, the preference taken back.
        shown = typed(place, "review", "xded", EDITOR=str(editor))
        for words in ("score 0.", "stored", "dropped", "accepted", "0 items left"):
            assert words in shown
        assert "43 minutes" in place.run("search", "export").ok().out


def test_a_kind_a_project_and_the_nearest_notes(place: Place):
    untouched = place.root / "untouched"
    untouched.write_text('#!/bin/sh\ntouch -d "+1 hour" "$1"\n')
    untouched.chmod(0o755)
    with place.started():
        kept = place.run("append", "--json", "-k", "fact", "The export takes 50 minutes at night.").ok().json
        place.run("sessions", "extract", "talk.jsonl").ok()
        # Help; saved without a change; an unknown kind, then a known kind, and a project.
        keys = ["?", "e", "k", "whim\n", "a", "k", "fact\n", "p", "depot\n", "a", "o", "1\n", "r", "q"]
        shown = typed(place, "review", keys, EDITOR=str(untouched), COLUMNS="60")
        assert "m  merge: add its text to the note beside it" in shown
        assert "nothing is accepted" in shown
        assert "unknown kind 'whim'" in shown
        stored = place.run("search", "DuckDB", "--json", "-p", "*").ok().json["hits"][0]
        assert stored["kind"] == "fact"
        assert "project: depot" in (place.vault / stored["path"]).read_text()
        assert "  1  The export takes 50 minutes" in shown
        old = place.run("show", kept["id"], "--history", "--json").ok().json["chain"]
        texts = {link["status"]: link["text"] for link in old}
        assert "42 minutes" in texts["active"]
        assert "50 minutes" in texts["superseded"]
        lines = shown.replace("\r", "").splitlines()
        assert [line for line in lines if len(line) > 60 and "[q]uit" not in line and "): " not in line] == []


def test_one_key_decides_an_item_beside_its_nearest_note(place: Place):
    lines = (
        "I think we should keep delivered parcels for 180 days.", "I'd say we go with DuckDB for the reports.",
        "Maybe delivered parcels should be kept 180 days in the archive, too.", "I guess Marta signs the invoices.",
        "Perhaps backups should run at 05:00.",
    )  # fmt: skip
    rows = [{"role": "user", "text": each, "at": "2026-11-22T09:30:00Z"} for each in lines]
    (place.root / "talk.jsonl").write_bytes(lately("\n".join(map(json.dumps, rows)).encode()))
    stored = ("Delivered parcels are kept 90 days.", "Reports are made with Pandas.", "Backups run at 02:00.")
    with place.started():
        ids = [said(place, "append", "-k", "decision", each)["id"] for each in (*stored, "Backups run at 04:30.")]
        place.run("sessions", "extract", "talk.jsonl").ok()
        items = said(place, "review")["waiting"]
        assert [item["what"] for item in items] == [*["candidate"] * 5, "conflict"]
        keys = {"parcels for": "r", "archive, too": "d", "DuckDB": "m", "Marta": "a", "05:00": "d", "04:30": "n"}
        listed = place.run("review").ok().out
        order = sorted(keys, key=listed.index)
        near = [
            order.index(one) - order.index(other)
            for one, other in (("archive, too", "parcels for"), ("04:30", "05:00"))
        ]
        assert [abs(steps) for steps in near] == [1, 1], "what is about one subject stands together"
        shown = typed(place, "review", [keys[one] for one in order], COLUMNS="100")
        for near_note in (stored[0], stored[1]):
            assert f"nearest:  {near_note.rstrip('.')}" in shown
        assert "0 items left" in shown and "stored in its place" in shown and "which note" not in shown
        chain = said(place, "show", ids[0], "--history")["chain"]
        assert {link["status"]: "180 days" in link["text"] for link in chain} == {"active": True, "superseded": False}
        assert "DuckDB" in place.run("show", ids[1]).ok().out


@pytest.mark.parametrize("data", [b"\xff{", b"[]"])
def test_what_is_no_transcript_is_named(tmp_path: Path, data: bytes):
    (tmp_path / "bad.jsonl").write_bytes(data)
    with pytest.raises(InvalidInput, match="line 1 is not a message"):
        read_transcript(str(tmp_path / "bad.jsonl"), Settings(), lambda _: None)
    with pytest.raises(NotFound):
        read_transcript(str(tmp_path / "none.jsonl"), Settings(), lambda _: None)
    with pytest.raises(NotFound):
        read_transcript(str(tmp_path), Settings(), lambda _: None)


def test_a_dry_run_says_what_is_stored(place: Place):
    with place.started():
        shown = said(place, "sessions", "extract", "talk.jsonl", "--dry-run")["found"]
        assert said(place, "review")["waiting"] == []
        taken = said(place, "sessions", "extract", "talk.jsonl")
        at_once = [each["text"] for each in shown if each["at_once"]]
        assert (len(at_once), len(shown)) == (len(taken["active"]), len(taken["active"]) + len(taken["waiting"]))
        assert said(place, "sessions", "extract", "talk.jsonl", "--dry-run")["found"] == []


def test_a_note_whose_replacement_has_ended_is_shown_as_active_again(place: Place):
    first, second = "01KB2Q4M5X7W8Y9Z0A1B2C3D4E", "01KB2Q4M5X7W8Y9Z0A1B2C3D4F"
    heads = {
        first: f"status: superseded\nsuperseded_by: [{second}]\nsuperseded_at: 2026-01-02T09:00:00+00:00",
        second: f"supersedes: [{first}]\nexpires_at: 2026-01-03T09:00:00+00:00",
    }
    (place.vault / "notes/fact").mkdir(parents=True)
    for name, head in heads.items():
        text = f"---\nid: {name}\nkind: fact\n{head}\n---\nThe screen sleeps after {name[-1]} minutes.\n"
        (place.vault / f"notes/fact/{name}.md").write_text(text)
    with place.started():
        shown = place.run("show", first).ok().out
        assert (
            "active again, whatever its file says" in shown and "status: superseded" not in shown.partition("\n\n")[0]
        )
        assert "active again" in place.run("show", first, "--history").ok().out
        assert "active again" not in place.run("show", second).ok().out
