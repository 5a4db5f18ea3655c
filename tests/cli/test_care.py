"""Looking after a vault from the command line: doctor, erase, uninstall, with a daemon and without."""

from __future__ import annotations

import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

from mcp_memory.client.connection import Address, DaemonConnection
from mcp_memory.errors import Refused
from tests.daemon.conftest import KEYWORDS_ONLY
from tests.daemon.place import Place, eventually


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_doctor_finds_and_mends(place: Place):
    """A daemon that was killed, a token that others may read, an entry that a stale save took away."""
    with place.started():
        assert "no problems found" in place.run("doctor").ok().out
        log = place.vault / place.run("append", "--json", "-k", "log", "Deployed the ferry").ok().json["path"]
        stale = log.read_bytes().partition(b"Deployed")[0].rpartition(b"\n## ")[0]
        gone = place.run("append", "--json", "-k", "log", "Mended the weir").ok().json
        log.write_bytes(stale + b"\n## 09:00\n\nBy hand\n")
        place.run("append", "-k", "log", "Afterwards").ok()
    place.state.tokens.chmod(0o644)
    assert place.state.daemon.exists(), "killed"
    sick = place.run("doctor")
    assert sick.code == 1
    assert "tokens.json can be read by other users" in sick.out
    assert "left from a daemon that was killed" in sick.out
    assert f"chmod go-rwx {place.state.tokens}" in sick.out
    place.state.tokens.chmod(0o600)
    (lost,) = [line for line in place.run("doctor").out.splitlines() if "Mended the weir" in line]
    assert lost.startswith(f"warning: {gone['path']} no longer holds ")
    for name in (gone["id"], gone["path"]):
        assert "Mended the weir" in place.run("doctor", name).ok().out
    (whole,) = place.run("doctor", gone["id"], "--json").ok().json["lost"]
    assert (whole["id"], "Mended the weir" in whole["text"]) == (gone["id"], True)
    assert place.run("doctor", "memory/2020-01-01.md").code == 4
    place.state.tokens.chmod(0o644)
    shutil.rmtree(place.state.index)
    place.state.index.write_text("no index")
    before = log.read_bytes()
    mended = place.run("doctor", "--repair")
    assert mended.code == 1, "what may have been meant is left to the person"
    assert f"done: made private again: {place.state.tokens}" in mended.out
    assert f"done: removed {place.state.index}, which was not an index" in mended.out
    assert mode(place.state.tokens) == 0o600
    assert log.read_bytes() == before
    assert mended.out.index("tokens.json can be read") < mended.out.index("done: "), "first what is, then what was done"
    assert "added again" in place.run("doctor", "--repair", gone["id"]).ok().out
    assert "added again" in place.run("doctor", "--repair", gone["path"]).ok().out
    assert log.read_bytes().startswith(before)
    assert b"Mended the weir" in log.read_bytes()
    again = place.run("doctor", "--json").ok().json
    assert [finding for finding in again["findings"] if finding["severity"] != "info"] == []


def test_damaged_tokens_are_named_and_mended_beside_a_daemon_and_without(place: Place):
    with place.started():
        place.run("status").ok()
        place.state.tokens.write_bytes(b'{"secr')
        for command in (("doctor",), ("status",), ("search", "ferry")):
            refused = place.run(*command)
            assert refused.code
            assert f"{place.state.tokens} is damaged" in refused.out + refused.err
        place.run("doctor", "--repair")
        place.run("status").ok()
        assert "no problems found" in place.run("doctor").ok().out
    place.run("stop")
    place.state.tokens.write_bytes(b"\xff")
    started = place.run("start")
    assert started.code
    assert f"{place.state.tokens} is damaged" in started.err
    assert f"removed the damaged {place.state.tokens}" in place.run("doctor", "--repair").out


def test_fix_through_the_daemon_puts_back_what_was_overwritten(served: Place):
    log = served.vault / served.run("append", "--json", "-k", "log", "Before").ok().json["path"]
    stale = log.read_bytes()
    served.run("append", "-k", "log", "Mended the weir").ok()
    log.write_bytes(stale)
    sick = served.run("doctor", "--json")
    assert (sick.code, sick.json["done"]) == (1, [])
    assert [finding["severity"] for finding in sick.json["findings"] if finding["fixable"]] == ["error"]
    mended = served.run("doctor", "--repair", "--json").json
    assert [line for line in mended["done"] if "Mended the weir" in line]
    assert [finding for finding in mended["findings"] if finding["fixable"]] == []
    assert log.read_bytes().startswith(stale)
    assert b"Mended the weir" in log.read_bytes()


@pytest.mark.parametrize("operation", ["accept", "adopt", "compact", "doctor", "erase", "fix", "recover"])
def test_no_agent_decides_for_a_person(served: Place, operation: str):
    agent = DaemonConnection(Address.read(served.state.daemon), served.credentials, client="agent")
    with pytest.raises(Refused, match="only a person"):
        agent.call(operation, {"target": "notes/none.md", "sure": True})


def test_erasing_asks_first(served: Place):
    note = served.run("append", "--json", "-k", "fact", "The key hangs behind the door.").ok().json
    file = served.vault / note["path"]
    asked = served.run("erase", note["id"], stdin=b"\n")
    assert asked.code == 130
    assert "this is deleted for good" in asked.out
    assert note["path"] in asked.out
    assert file.exists()
    assert served.run("erase", "--json", note["id"]).code == 2
    erased = served.run("erase", note["id"], stdin=b"y\n").ok().out
    assert "not erased:" in erased
    assert "backups" in erased
    assert not file.exists()
    hits = served.run("search", "--json", "key behind door").ok().json["hits"]
    assert note["path"] not in [hit["path"] for hit in hits]
    assert served.run("erase", "--yes", note["id"]).code == 4
    entry = served.run("append", "--json", "-k", "log", "The key hangs elsewhere.").ok().json
    assert served.run("erase", "--yes", "--json", entry["id"]).ok().json["path"] == entry["path"]
    assert b"elsewhere" not in (served.vault / entry["path"]).read_bytes()


def test_uninstall_leaves_the_notes(place: Place):
    models = place.root / "state" / "models"
    environ = {"MCP_MEMORY_MODELS": ""}
    (models / "models").mkdir(parents=True)
    (models / "hub").mkdir()
    with place.started():
        note = place.run("append", "--json", "-k", "fact", "Herons fish below the weir.").ok().json
        told = place.run("uninstall", **environ).ok().out
        assert "uninstall --purge" in told
        assert f"would go  {place.state.root}" in told
        dry = place.run("uninstall", "--purge", "--dry-run", "--json", **environ).ok().json
        assert dry["removed"] is False
        assert dry["gone"] == [str(place.state.root), str(models / "models"), str(models / "hub")]
        assert place.run("status").code == 0
        before = {file: file.read_bytes() for file in place.vault.rglob("*") if file.is_file()}
        gone = place.run("uninstall", "--purge", **environ).ok().out
    assert f"removed  {place.state.root}" in gone
    assert "uninstall claude-code" not in gone, "no client is connected"
    assert str(place.vault) in gone
    assert not (place.root / "state").exists()
    assert {file: file.read_bytes() for file in place.vault.rglob("*") if file.is_file()} == before
    assert note["path"] in {str(file.relative_to(place.vault)) for file in before}
    assert "nothing is kept for this vault" in place.run("uninstall", "--purge", **environ).ok().out
    assert not (place.root / "state").exists()


def test_what_others_use_stays(place: Place):
    """Another vault's state, and a models folder that somebody chose."""
    other = place.root / "state" / "vaults" / "other-0123456789"
    other.mkdir(parents=True)
    models = {place.models / "models" / "all-MiniLM-L6-v2-0123456789ab", place.models / "hub"}
    for folder in models:
        folder.mkdir(parents=True)
    place.run("append", "A note").ok()
    kept = place.run("uninstall", "--purge", "--json").ok().json
    assert kept["gone"] == [str(place.state.root)]
    assert any(str(other) in line for line in kept["stays"])
    assert any(str(place.models / "models") in line for line in kept["stays"])
    assert all(folder.is_dir() for folder in (*models, other))


CANARY = "canaryxyzzy"


def holders(place: Place) -> list[str]:
    """Every file of vault and state that holds the canary, by content or by name: hidden files, database pages and
    logs included."""
    files = [file for folder in (place.vault, place.root / "state") for file in folder.rglob("*") if file.is_file()]
    inner = {file.relative_to(place.root).as_posix(): file.read_bytes() for file in files}
    return sorted(name for name, data in inner.items() if CANARY.encode() in data or CANARY in name)


def test_no_file_holds_what_was_forgotten_and_erased_without_a_daemon(place: Place):
    for kind in ("fact", "log"):
        note = place.run("append", "--json", "-k", kind, f"The {CANARY} sings.").ok().json
        place.run("forget", note["id"]).ok()
        assert any(name.endswith(".mcpm") for name in holders(place)), "what the mark displaced is held for a while"
        place.run("erase", "--yes", note["id"]).ok()
        assert holders(place) == []


def test_the_index_is_clean_as_soon_as_no_other_process_reads_it(tmp_path: Path):
    place = Place(tmp_path, tmp_path / "models", {**KEYWORDS_ONLY, "MCP_MEMORY_WATCH_ACTIVE_SWEEP_S": "1"}).make()
    with place.started():
        note = place.run("append", "--json", "-k", "fact", f"The {CANARY} sings.").ok().json
        reader = sqlite3.connect(place.state.index / "index.db", isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM state").fetchall()
        said = place.run("erase", "--yes", "--json", note["id"]).ok().json["beyond"]
        assert {name.rpartition("/")[2] for name in holders(place)} <= {"index.db", "index.db-wal"}
        assert [line for line in said if str(place.state.index / "index.db") in line], "what holds it is named"
        reader.close()
        eventually(lambda: not holders(place))
        again = place.run("append", "--json", "-k", "fact", f"The {CANARY} sings.").ok().json
        clean = place.run("erase", "--yes", "--json", again["id"]).ok().json["beyond"]
        assert holders(place) == []
        assert "index.db" not in "".join(clean)


def test_a_folder_that_a_topic_was_shared_with_is_named(place: Place):
    topic = place.vault / "topics" / "01-birds"
    note = place.run("append", "--json", "--path", "topics/01-birds/song.md", f"The {CANARY} sings.").ok().json
    assert (topic / "song.md").exists()
    to = place.root / "shared"
    place.run("share", "01-birds", "--to", str(to)).ok()
    said = place.run("erase", "--yes", "--json", note["id"]).ok().json["beyond"]
    assert [line for line in said if str(to) in line and "topics/01-birds" in line]
    apart = place.run("append", "--json", "-k", "fact", "Nobody shared that.").ok().json
    assert str(to) not in "".join(place.run("erase", "--yes", "--json", apart["id"]).ok().json["beyond"])
