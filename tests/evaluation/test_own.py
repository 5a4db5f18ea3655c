"""Questions about one's own notes are made without a label, and only about what a search can return."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from mcp_memory.engine.config import EngineConfig
from mcp_memory.evaluation.own import REWORDED, SHORTENED, TITLE, own_questions
from mcp_memory.models import Etag, NotePath
from mcp_memory.topics.page import PAGE
from mcp_memory.vault.config import VaultConfig
from mcp_memory.vault.journals.tombstones import Tombstone, Tombstones
from mcp_memory.vault.marker import open_marker
from mcp_memory.vault.shared.daily_log import entry_hash

SENTENCE = "The release pipeline publishes signed wheels after every tagged build on the main branch."


def config(vault: Path) -> EngineConfig:
    state = vault.parent / f"{vault.name}-state"
    return EngineConfig(vault, state, state / "models", vault=VaultConfig(max_note_bytes=10_000))


def asked(vault: Path) -> set[str]:
    """Which notes are asked about."""
    return {question.gold[0].path for question in own_questions(config(vault), 10).questions}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """Of ours, so that home is its root, with one note that a search returns."""
    folder = tmp_path / "vault"
    open_marker(folder)
    (folder / "a.md").write_text(f"---\nstatus: active\nexpires_at: 2999-01-01\n---\n\n{SENTENCE}\n")
    return folder


def test_own_questions_come_from_the_notes_and_name_where_they_stand(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "a.md").write_text(f"---\ntitle: Release pipeline rules\n---\n\n# Rules\n\n{SENTENCE}\n")
    (tmp_path / "memory" / "2026-01-02.md").write_text(f"# 2026-01-02\n\n## 10:00 Work\n\n- {SENTENCE}\n")
    (tmp_path / ".hidden" / "b.md").write_text(SENTENCE)
    (tmp_path / "short.md").write_text("Too short.\n")
    found = own_questions(config(tmp_path), 10)
    kinds = [(each.category, each.gold[0].path) for each in found.questions]
    assert (TITLE, "a.md") in kinds and {path for _, path in kinds} == {"a.md", "memory/2026-01-02.md"}
    assert {kind for kind, _ in kinds} == {TITLE, SHORTENED, REWORDED}
    for question in found.questions:
        (gold,) = question.gold
        lines = (tmp_path / gold.path).read_text().splitlines()[gold.start - 1 : gold.end]
        assert question.category == TITLE or SENTENCE in " ".join(lines)
        assert question.text not in SENTENCE
    assert own_questions(config(tmp_path), 10) == found
    assert len(own_questions(config(tmp_path), 1).questions) == 3


@pytest.mark.parametrize(
    ("path", "meta"),
    [
        ("b.md", "status: superseded"), ("b.md", "status: archived"), ("b.md", "status: deleted"),
        ("b.md", "expires_at: 2020-01-01"), ("_archive/b.md", "title: An old decision"),
        ("_inbox/b.md", "title: A new candidate"), (f"topics/releases/{PAGE}", "title: All about releases"),
        ("ignored/b.md", "title: A private note"), ("node_modules/b.md", "title: A strange note"),
        ("@source/b.md", "title: A source's note"),
    ],
)  # fmt: skip
def test_what_no_search_returns_is_not_asked_about(vault: Path, path: str, meta: str) -> None:
    (vault / ".memoryignore").write_text("ignored/\n")
    note = vault / path
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(f"---\n{meta}\n---\n\n{SENTENCE}\n")
    assert asked(vault) == {"a.md"}
    (vault / "c.md").write_bytes(note.read_bytes().replace(meta.encode(), b"title: A usual note"))
    assert asked(vault) == {"a.md", "c.md"}


def test_home_says_what_is_archived(tmp_path: Path) -> None:
    for path in ("_archive/a.md", "Agent/_archive/b.md"):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(f"{SENTENCE}\n")
    assert asked(tmp_path) == {"_archive/a.md"}, "the folder of somebody else, no vault yet"
    assert not list(tmp_path.glob(".*")), "nor is it one now"


def test_what_was_forgotten_stays_so_where_its_bytes_came_back(vault: Path) -> None:
    folder = config(vault).state / "undo"
    folder.mkdir(parents=True)
    undo = Tombstones(folder)
    data = f"---\ntitle: The release pipeline\n---\n\n{SENTENCE}\n".encode()
    (vault / "b.md").write_bytes(data)
    undo.keep(Etag("0" * 64), Etag(hashlib.sha256(data).hexdigest()), data)
    entry = f"## 10:00 Work\n\n- {SENTENCE}\n"
    other = f"## 11:00 Rest\n\n- {SENTENCE.replace('release', 'nightly')}\n"
    (vault / "memory").mkdir()
    (vault / "memory" / "2026-01-02.md").write_text(f"# 2026-01-02\n\n{entry}\n{other}")
    (vault / "memory" / "2026-01-03.md").write_text(
        f"---\nforgotten: [{entry_hash(entry)}]\n---\n# 2026-01-03\n\n{entry}\n{other}"
    )
    undo.keep_entry(Tombstone(NotePath("memory/2026-01-02.md"), entry_hash(entry)))
    found = own_questions(config(vault), 10)
    assert {question.gold[0].path for question in found.questions} == {
        "a.md", "memory/2026-01-02.md", "memory/2026-01-03.md",
    }  # fmt: skip
    for question in found.questions:
        gold = question.gold[0]
        lines = (vault / gold.path).read_text().splitlines()[gold.start - 1 : gold.end]
        assert gold.path == "a.md" or "nightly" in " ".join(lines)


def test_a_long_file_is_asked_about_as_far_as_it_is_read(vault: Path) -> None:
    for number in range(5):
        (vault / f"long-{number}.md").write_text("Short.\n\n" * 2_000 + SENTENCE)
    assert asked(vault) == {"a.md"}
