"""The view of health: findings, jobs, clients, and figures over weeks."""

import json
from datetime import UTC, datetime, timedelta

from mcp_memory.page.activity import add_up
from mcp_memory.runtime.paths import HOOKS_LOG
from tests.page.browser import Browser, call


def line(at: datetime, outcome: str = "given", tokens: int = 100, ms: float = 30.0) -> dict[str, object]:
    return {"at": f"{at:%Y-%m-%dT%H:%M:%SZ}", "event": "prompt", "outcome": outcome, "tokens": tokens, "ms": ms}


def test_figures_are_added_up_by_week():
    sunday, monday = datetime(2026, 11, 29, 23, 59, tzinfo=UTC), datetime(2026, 11, 30, tzinfo=UTC)
    lines = [line(sunday), line(sunday, "silent", 0, 10.0), line(monday, "failed", 0, 900.0)]
    before, last, this = add_up(lines, monday.date(), weeks=3)
    assert (before.prompts, before.silent, before.tokens, before.ms) == (0, 0, None, None)
    assert (last.prompts, last.silent, last.failed, last.tokens, last.ms) == (2, 1, 0, 100, 20.0)
    assert (this.prompts, this.failed, this.ms) == (0, 1, None)


def test_weeks_are_plotted_once_a_client_has_hooks(browser: Browser):
    assert "its weeks appear here" in browser.see("/ui/health").text
    log = browser.daemon.place.state.root / HOOKS_LOG
    log.parent.mkdir(exist_ok=True)
    now = datetime.now(UTC)
    log.write_text("".join(json.dumps(line(now - timedelta(weeks=week))) + "\n" for week in range(3)))
    page = browser.see("/ui/health")
    assert "Tokens shown with a prompt 100" in " ".join(page.text.split())
    assert page.html.count(": 100</title>") == 3


def test_a_finding_says_what_to_do(browser: Browser):
    (browser.daemon.place.vault / "broken.md").write_text("---\ntitle: [\n---\n\nA text.\n")
    call(browser.daemon, "reconcile")
    page = browser.see("/ui/health")
    assert "broken.md" in page.text and "Nothing is wrong" not in page.text


def test_a_job_is_run_paused_and_resumed(browser: Browser):
    page = browser.press(browser.see("/ui/health").form("Run now", name="links"))
    assert "The job has run." in page.text
    page = browser.press(page.form("Pause", name="links"))
    assert "The job is paused." in page.text
    assert next(job for job in call(browser.daemon, "jobs")["jobs"] if job["name"] == "links")["paused"]
    page = browser.press(page.form("Resume", name="links"))
    assert not next(job for job in call(browser.daemon, "jobs")["jobs"] if job["name"] == "links")["paused"]


def test_clients_are_listed_by_their_last_call(browser: Browser):
    call(browser.daemon, "search", "codex", query="anything")
    assert "codex" in browser.see("/ui/health").text
