"""What reaches the terminal or the pipe: never what a stored text would have it do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.daemon.place import Place
from tests.support.hostile_text import EVIL, SIGNS
from tests.support.terminal import answered


@pytest.fixture(scope="module")
def infested(served: Place) -> Place:
    (served.vault / "evil.md").write_text(f"# heron {EVIL}\n\nheron {EVIL}\n", encoding="utf-8")
    (served.vault / f"name {EVIL[:4]}.md".replace("/", "")).write_text("heron\n", encoding="utf-8")
    (served.vault / os.fsdecode(b"\xff\xfe.md")).write_text("heron in a file whose name is no UTF-8\n")
    (served.vault / "turned \u202egnp.md").write_text("heron\n", encoding="utf-8")
    (served.vault / "broken\x1b[2J.md").write_bytes(b"heron \xff\n")
    served.run("doctor", "--reindex").ok()
    return served


COMMANDS = [
    ("search", "heron"),
    ("search", "-n", "50", "heron"),
    ("search", "--json", "-n", "50", "heron"),
    ("recall", "heron"),
    ("recall", "--path", "evil.md"),
    ("recall", "--json", "--path", "evil.md"),
    ("doctor",),
    ("doctor", "--json"),
    ("status",),
    ("adopt",),
    ("adopt", "--json"),
    ("recall", "--path", EVIL),
    ("forget", EVIL),
    ("search", EVIL, "--kind", EVIL),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: ascii(" ".join(command))[:40])
def test_a_pipe_gets_plain_text(infested: Place, command: tuple[str, ...]):
    ran = infested.run(*command)
    assert "Traceback" not in ran.err
    assert [sign for sign in SIGNS if sign in ran.out + ran.err] == []
    assert "\x1b" not in ran.out + ran.err


@pytest.mark.parametrize("command", [("search", "heron"), ("search", "--json", "heron"), ("doctor",), ("status",)])
def test_a_terminal_gets_colours_of_ours_alone(infested: Place, command: tuple[str, ...]):
    shown = on_a_terminal(infested, *command)
    assert [sign for sign in SIGNS if sign in shown] == []
    assert "heron" in shown or command[0] != "search"


def on_a_terminal(place: Place, *command: str, **more: str) -> str:
    """What the command sends to a terminal."""
    return answered(place, command, [], **{"TERM": "xterm-256color", "COLUMNS": "100", **more}).out


def test_a_terminal_sees_the_hits_and_a_question_without_an_answer(infested: Place):
    assert "\x1b[" in on_a_terminal(infested, "search", "heron"), "styled there"
    assert "\x1b[" not in on_a_terminal(infested, "search", "heron", NO_COLOR="1")
    assert "\x1b[" in on_a_terminal(infested, "search", "heron", NO_COLOR=""), "set and empty is not set"
    assert "no passage has any of these words" in on_a_terminal(infested, "search", "--mode", "keyword", "zzzzqqq")
    assert "pass it as an argument" in on_a_terminal(infested, "append"), "it does not wait for a person to type"


@pytest.mark.parametrize(
    "command",
    [("search", "heron"), ("recall", "heron"), ("status",), ("doctor",), ("config", "show"), ("list",),
     ("list", "--text"), ("stats",), ("topics",), ("changes",),
     ("append", "The heron is back at the weir in spring, as it was before.")],
    ids=" ".join,
)  # fmt: skip
def test_lines_fit_a_narrow_terminal_without_colours(infested: Place, command: tuple[str, ...]):
    long = "The heron nests in the alder at the end of the pond and comes back every spring after the ice has gone."
    infested.run("append", "-k", "log", long).ok()
    infested.run("append", "-k", "fact", long).ok()
    shown = on_a_terminal(infested, *command, COLUMNS="60", TERM="dumb", NO_COLOR="1")
    assert "\x1b" not in shown
    lines = [line for line in shown.replace("\r", "").splitlines() if not line.startswith("  → ")]
    assert [line for line in lines if len(line) > 60 and " " in line.strip()] == []
    whole = infested.run(*command).out.splitlines()
    assert command[0] in {"append", "topics"} or max(map(len, whole)) > 60, "a pipe gets all of it"


@pytest.mark.parametrize("command", [("search", "heron"), ("recall",), ("config", "default"), ("--help",)])
def test_a_reader_that_has_seen_enough(infested: Place, command: tuple[str, ...]):
    """With little to print and with more than a pipe's buffer."""
    (infested.vault / "MEMORY.md").write_text("heron\n\n" * 6000, encoding="utf-8")
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            infested.command(*command), stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE,
            env=infested.environ, cwd=infested.root, timeout=60,
        )  # fmt: skip
    finally:
        os.close(writer)
    assert [line for line in done.stderr.splitlines() if not line.startswith(b"note: keywords only")] == []
    assert done.returncode == 0


def test_a_pipe_that_wants_ascii(infested: Place):
    (infested.vault / "umlaut.md").write_text("Grüße an die Möwe 🐦\n", encoding="utf-8")
    infested.run("doctor", "--reindex").ok()
    ran = infested.run("search", "Möwe", LANG="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert ran.code == 0, ran
    assert "Gr\\xfc\\xdfe" in ran.out
    as_json = infested.run("search", "--json", "Möwe", PYTHONIOENCODING="ascii", PYTHONUTF8="0").ok()
    assert "Möwe" in as_json.json["hits"][0]["snippet"], "still JSON, and the same text"


def test_a_file_whose_name_is_no_text_is_reported(infested: Place):
    findings = infested.run("doctor", "--json").json["findings"]
    assert any("not valid UTF-8" in finding["what"] for finding in findings), findings


def test_the_vault_may_have_any_name(place: Place, tmp_path: Path):
    other = Place(tmp_path / "Büro und Küche 🍵", tmp_path / "models", place.more).make()
    with other.started():
        note = other.run("append", "--json", "In a folder with spaces and letters.").ok().json
        assert other.run("search", "--json", "letters").ok().json["hits"][0]["id"] == note["id"]
