"""What a turn gets that nobody asked for."""

from __future__ import annotations

from datetime import date, timedelta

from tests.daemon.place import Place
from tests.hooks.client import Session


def day(ahead: int) -> str:
    return (date.today() + timedelta(days=ahead)).isoformat()


def test_a_heartbeat_gets_the_commitments_that_are_due_and_nothing_else(served: Place) -> None:
    group = "channel:telegram:group:-1001"
    for text, *more in (
        ("Send Ada the survey of the hull.", "--due", "tomorrow"),
        ("Call the yard about the mast.", "--due", day(0)),
        ("Renew the berth.", "--due", day(30)),
        ("Paint the dinghy some day.",),
        ("Buy the present for Ada.", "--due", day(1), "--tag", "private"),
        ("Bring the crew's cake.", "--due", day(1), "-p", group),
    ):
        served.run("append", "-k", "commitment", text, *more).ok()
    served.run("append", "-k", "preference", "Ada rows on Sundays.").ok()
    session = Session(served, "h", "openclaw")
    told = session.context("heartbeat", {})
    assert "commitments that are due" in told and 'Due tomorrow: "Send Ada the survey of the hull' in told
    assert told.index("Due today") < told.index("Due tomorrow") and "about the mast" in told
    assert not any(words in told for words in ("berth", "dinghy", "present", "cake", "Sundays"))
    assert session.context("heartbeat", {}) == "", "once"
    inside = session.context("heartbeat", {"project": group})
    assert "cake" in inside and "hull" not in inside
    assert session.context("heartbeat", {"project": "channel:telegram:group:-7"}) == ""
    assert session.context("heartbeat", {}, MCP_MEMORY_HOOKS_OFF="stops, commitments") == ""
