"""demo: its answers are right, it is alone beside a daemon, and nothing of it is left, even if it is ended early."""

from __future__ import annotations

import subprocess

from tests.daemon.place import STOP_S, Place, eventually


def test_five_questions_and_a_prompt_beside_a_running_daemon(served: Place):
    before = served.run("status", "--json").ok().json
    told = served.run("demo", "--json").ok().json
    decision, fix, changed, unknown, german = told["questions"]
    assert decision["answer"].startswith("We keep the job queue in SQLite, not in Redis")
    assert "Stripe repeating a webhook" in fix["answer"]
    assert "port 8443" in changed["answer"]
    assert changed["before"] == "The parcel gateway listens on port 8090."
    assert "answer" not in unknown
    assert "über Postmark" in german["answer"]
    assert max(answer["ms"] for answer in told["questions"]) < 5000
    assert "nginx kept the old upstream port" in told["prompt"]["told"]
    assert "port 8090" not in told["prompt"]["told"]
    after = served.run("status", "--json").ok().json
    assert [after[name] for name in ("pid", "url", "notes")] == [before[name] for name in ("pid", "url", "notes")]
    assert not list((served.root / "tmp").glob("mcp-memory-demo-*"))


def test_ended_early_it_leaves_nothing(place: Place):
    folder = place.root / "tmp"
    process = subprocess.Popen(
        place.command("demo"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=place.environ, cwd=place.root
    )
    eventually(lambda: list(folder.glob("mcp-memory-demo-*/vault")), within_s=60)
    process.terminate()
    out, err = process.communicate(timeout=STOP_S)
    assert (process.returncode, out, err) == (130, b"", b"")
    assert not list(folder.glob("mcp-memory-demo-*"))
    assert not place.vault.exists()
