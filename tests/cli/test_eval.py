"""`mcp-memory eval`, as a person runs it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mcp_memory.vault.marker import open_marker
from tests.daemon.place import Place

SENTENCES = {
    "queue": "We chose Postgres as the queue since the team already runs one with backups.",
    "deploy": "Deploys run on Fridays after lunch by hand with a written checklist for everybody.",
}


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    folder = tmp_path / "my-set"
    (folder / "vault" / "notes").mkdir(parents=True)
    rows = []
    for number, (name, sentence) in enumerate(SENTENCES.items()):
        (folder / "vault" / "notes" / f"{name}.md").write_text(f"# About\n\n{sentence}\n")
        gold = [{"path": f"notes/{name}.md", "line": 3}]
        rows.append({"id": f"q{number}", "question": f"what about the {name}?", "category": name, "gold": gold})
    rows.append({"id": "none", "question": "who won the match?", "category": "absent", "answerable": False})
    (folder / "queries.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return folder


def test_a_table_a_run_and_json(place: Place, questions: Path) -> None:
    before = {file: file.read_bytes() for file in questions.rglob("*") if file.is_file()}
    shown = place.run("eval", str(questions), "--ablate", "section", "--run", str(place.root / "run.jsonl")).ok().out
    table = {line.split()[0]: line.split()[1:] for line in shown.splitlines() if line.strip()}
    assert table["my-set"][:4] == ["n", "ev@500tok", "ev@1000tok", "ev@2000tok"]
    assert table["queue"][:2] == ["1", "1.000"] and table["overall"][0] == "2"
    assert "by section" in shown and "AUROC" in shown
    run = [json.loads(line) for line in (place.root / "run.jsonl").read_text().splitlines()]
    assert [row["id"] for row in run] == ["q0", "q1", "none"]
    assert run[0]["hits"][0]["path"] == "notes/queue.md"
    ran = place.run("eval", str(questions), "--json", "--budget", "100", "--ablate", "words").ok()
    assert "poorer: keywords only" in ran.err  # no model here
    facts = ran.json
    assert facts["questions"] == 3
    assert facts["categories"]["overall"]["evidence@100tok"] == {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert set(facts["without"]) == {"words"}
    assert {file: file.read_bytes() for file in questions.rglob("*") if file.is_file()} == before


def test_what_memory_recall_tells(place: Place, questions: Path) -> None:
    shown = place.run("eval", str(questions), "--recall", "--budget", "200").ok().out
    table = {line.split()[0]: line.split()[1:] for line in shown.splitlines() if line.strip()}
    assert table["memory_recall"] == ["2", "1.000"] and "compared with the hits" in shown
    entries = (f"{SENTENCES['queue']} Said {number} times." for number in range(40))
    (questions / "vault" / "notes" / "queue.md").write_text("# About\n\n" + "\n\n".join(entries))
    gold = [{"path": "notes/queue.md", "line": 3 + 2 * number} for number in range(40)]
    row = {"id": "all", "question": "what about the queue?", "gold": gold}
    (questions / "queries.jsonl").write_text(json.dumps(row))
    facts = place.run("eval", str(questions), "--recall", "--json", "--budget", "200").ok().json
    searched, told = (each["categories"]["overall"]["evidence@200tok"]["mean"] for each in (facts, facts["recall"]))
    assert 0 < told < searched < 0.3, "the frame is paid for, too"
    assert 100 < facts["recall"]["tokens"]["200"] <= 200 and "tokens" not in facts


def test_on_ones_own_notes_beside_a_running_daemon(served: Place) -> None:
    folder = served.vault / "notes" / "eval"
    folder.mkdir(parents=True)
    for name, sentence in SENTENCES.items():
        (folder / f"{name}.md").write_text(f"---\ntitle: The {name} decision\n---\n\n{sentence}\n")
    facts = served.run("eval", "--own", "--json").ok().json
    assert set(facts["categories"]) == {"title", "shortened", "reworded", "overall"}
    assert facts["categories"]["title"]["note_recall@5"]["mean"] == 1.0
    assert "cannot show" in served.run("eval", "--own").ok().out


def test_of_ones_own_notes_only_those_that_a_search_returns(place: Place) -> None:
    open_marker(place.vault)  # home is the root
    (place.vault / ".memoryignore").write_text("private/\n")
    notes = {"a.md": "", "_archive/b.md": "", "_inbox/c.md": "", "private/d.md": "", "e.md": "status: superseded\n"}
    for path, meta in notes.items():
        file = place.vault / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"---\ntitle: The queue decision\n{meta}---\n\n{SENTENCES['queue']} See {path}.\n")
    run = place.root / "run.jsonl"
    facts = place.run("eval", "--own", "--json", "--run", str(run)).ok().json
    assert facts["questions"] == 3
    assert facts["categories"]["overall"]["note_recall@1"]["mean"] == 1.0
    hits = [hit["path"] for line in run.read_text().splitlines() for hit in json.loads(line)["hits"]]
    assert set(hits) == {"a.md"}, "the copy's home is the vault's, too"
    assert not (place.root / "state").exists()


def test_a_source_of_the_user_answers_no_question_of_a_set(place: Place, questions: Path) -> None:
    other = place.root / "other"
    other.mkdir()
    (other / "queue.md").write_text(f"# About the queue\n\n{SENTENCES['queue']}\n")
    configured = place.root / "config.toml"
    configured.write_text(f'[vault.sources]\nother = "{other}"\n')
    run = place.root / "run.jsonl"
    place.run("eval", str(questions), "--run", str(run), MCP_MEMORY_CONFIG=str(configured)).ok()
    hits = [hit for line in run.read_text().splitlines() for hit in json.loads(line)["hits"]]
    assert hits and not [hit for hit in hits if hit["path"].startswith("@")]


def test_a_run_file_that_cannot_be_written_is_named(place: Place, questions: Path) -> None:
    ran = place.run("eval", str(questions), "--run", str(place.root / "no such folder" / "run.jsonl"))
    assert (ran.code, "no such folder" in ran.err, "run.jsonl" in ran.err) == (4, True, True)
    assert "notes," not in ran.err, "said before anything is run"
    ran = place.run("eval", str(questions), "--run", str(place.root))
    assert (ran.code, "is a directory" in ran.err) == (2, True)


@pytest.mark.parametrize("length", [10, 40, 80])
def test_names_stand_in_a_column_as_wide_as_they_need(place: Place, questions: Path, length: int) -> None:
    name = "reference/" + "x" * (length - 10)
    figures = {"categories": {"overall": {"evidence@500tok": 0.5}}}
    (questions / "baselines.json").write_text(json.dumps({"sets": {questions.name: {name: figures}}}))
    shown = place.run("eval", str(questions), "--ablate", "section", "--recall").ok().out.splitlines()
    head = next(line for line in shown if line.startswith(questions.name))
    end = head.index("ev@500tok") + len("ev@500tok")
    whole = name if length < 60 else f"{name[:59]}…"
    for start in (f"{whole} ", "queue", "overall", "  from", "  to", "by section", "memory_recall", "  compared"):
        row = next(line for line in shown if line.startswith(start))
        assert re.search(r" [+-]?\d\.\d{3}( [* ])?$", row[:end]), row


def test_calibrating_says_which_questions_are_missing_before_anything_is_run(place: Place, questions: Path) -> None:
    ran = place.run("calibrate", str(questions))
    assert (ran.code, "1 that cannot be answered and 2 that can be" in ran.err, "notes," in ran.err) == (2, True, False)
    assert '"answerable": false' in ran.err


def test_a_set_without_a_question_is_not_taken_for_ones_own_notes(place: Place, questions: Path) -> None:
    (questions / "queries.jsonl").write_text("")
    ran = place.run("eval", str(questions))
    assert (ran.code, "has no questions" in ran.err, "sentence" in ran.err) == (2, True, False)


def test_an_index_that_is_kept_is_used_again(place: Place, questions: Path) -> None:
    state = place.root / "kept"
    for _ in range(2):
        first = place.run("eval", str(questions), "--json", "--state", str(state)).ok().json
        assert first["categories"]["overall"]["evidence@500tok"]["mean"] == 1.0
        (questions / "vault" / "notes" / "deploy.md").write_text(f"# About\n\n{SENTENCES['deploy']}\nAnd more.\n")
    assert list(state.glob("my-set-1/state/index/index.db"))


def test_the_run_that_builds_an_index_answers_as_the_next_ones(place: Place, questions: Path) -> None:
    state, run = place.root / "kept", place.root / "run.jsonl"
    runs: list[list[object]] = []
    for _ in range(2):
        place.run("eval", str(questions), "--state", str(state), "--run", str(run)).ok()
        runs.append([json.loads(line)["hits"] for line in run.read_text().splitlines()])
        assert {file.stem for file in state.glob("my-set-1/vault/**/*.md")} == set(SENTENCES)
    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "either a SET or --own"), (("--own", "."), "either a SET or --own"), ((".",), "not a question set"),
        (("--own", "--budget", "1"), "50 to 1000000"), (("--own", "--ablate", "magic"), "one of words, dense"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said(place: Place, arguments: tuple[str, ...], said: str) -> None:
    ran = place.run("eval", *arguments)
    assert ran.code in (2, 4)
    assert said in ran.err


def test_what_an_agent_is_told_with_prompts(place: Place, questions: Path) -> None:
    (questions / "vault" / "memory").mkdir()
    sentence = "Deploys run after lunch, but not on Fridays."
    entries = f"## 09:00 one\n\n- The queue was full of old letters.\n\n## 10:00 two\n\n- {sentence}\n"
    (questions / "vault" / "memory" / "2026-10-01.md").write_text(f"# 2026-10-01\n\n{entries}")
    queue, deploy, stopped = "notes/queue.md", "notes/deploy.md", {"path": "memory/2026-10-01.md", "line": 7}
    rows = [
        {"id": "a", "prompt": "which queue with Postgres did the team choose?", "gold": [queue], "category": "queue"},
        {
            "id": "b",
            "prompt": "when do deploys run, on Fridays after lunch?",
            "gold": [stopped],
            "outdated": [deploy],
            "private": [queue],
        },
        {"id": "c", "prompt": "thanks!", "wanted": False, "gold": [], "category": "chitchat"},
    ]
    prompts = questions / "prompts.jsonl"
    prompts.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for _ in range(2):  # nothing is remembered of an earlier run
        facts = place.run("eval", str(prompts), "--json", "--state", str(place.root / "kept")).ok().json["context"]
        assert [facts[category]["n"] for category in ("queue", "all", "chitchat", "overall")] == [1, 1, 1, 3]
        assert facts["overall"]["context_recall_all"] == {"mean": 1.0, "low": 1.0, "high": 1.0}
        assert facts["overall"]["outdated_unmarked"]["mean"] == 1.0 and facts["all"]["private_told"]["mean"] == 0.0
        assert 0 < facts["queue"]["context_precision_chars"]["mean"] < facts["queue"]["context_precision"]["mean"] <= 1
        assert 10 < facts["queue"]["tokens"]["mean"] < 300 and "tokens" not in facts["chitchat"]
    shown = place.run("eval", str(prompts)).ok().out
    heading, *table = shown[shown.index("told with a prompt") :].splitlines()
    assert heading.split()[-9:] == ["notes", "chars", "any", "all", "tokens", "silent", "old", "text", "private"]
    assert [line.split()[0] for line in table[:6]] == ["queue", "all", "chitchat", "overall", "from", "to"]
    assert "told with a prompt" not in place.run("eval", str(questions)).ok().out


def test_distractors_are_searched_too(place: Place, questions: Path) -> None:
    folder = place.root / "manuals"
    folder.mkdir()
    (folder / "queues.md").write_text("# Queues\n\nWhat about the queue? A queue is a queue.\n")
    (folder / "notes").mkdir()
    (folder / "notes" / "queue.md").write_text("never in place of the set's own note of that name\n")
    run = place.root / "run.jsonl"
    shown = place.run("eval", str(questions), "--distractors", str(folder), "--run", str(run)).ok().out
    assert shown.lstrip().startswith("my-set+manuals ")
    hits = {hit["path"] for line in run.read_text().splitlines() for hit in json.loads(line)["hits"]}
    assert {"queues.md", "notes/queue.md"} <= hits and "never" not in run.read_text()
    assert place.run("eval", str(questions), "--distractors", str(folder / "none")).code == 4
