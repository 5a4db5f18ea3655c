"""What is told as a change replaces the closest older note of its project; look-alikes are left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_memory.conflicts.detector import NoteText, find_contradiction
from mcp_memory.conflicts.replacement import least_share, may_be_replaced, replacement, share

SETS = Path(__file__).parent.parent / "eval" / "contradictions"
SECRET = NoteText(
    "The webhook signature secret is read from PARCEL_WEBHOOK_KEY (settings.py).", kind="fact", project="p"
)
RENAMED = NoteText(
    "Renamed the variable of the webhook signature: PAY_SECRET, for all providers. The old one is read nowhere.",
    kind="fact",
    project="p",
)


def is_replaced(older: NoteText, newer: NoteText) -> bool:
    least = least_share(newer)
    return least is not None and may_be_replaced(older, newer) and share(older, newer, lambda _: 1.0) >= least


def text_of(statement: dict[str, str], kind: str) -> NoteText:
    return NoteText(
        statement["text"], statement.get("title", ""), statement.get("kind", kind), statement.get("project")
    )


def test_a_change_told_in_other_words_replaces_what_it_has_most_in_common_with() -> None:
    assert find_contradiction(SECRET, RENAMED) is None
    assert is_replaced(SECRET, RENAMED)
    assert replacement(SECRET).why == f'probably replaces "{SECRET.text}"'


def test_one_name_in_code_shows_what_is_replaced() -> None:
    decoder = NoteText("Reading barcodes: @zxing/browser. We know it.", kind="decision", project="scan")
    assert is_replaced(decoder, NoteText("Replaced @zxing/browser with a faster one.", kind="decision", project="scan"))
    for other in ("Replaced the browser of the tablets with a faster one.", "@zxing/browser has good documentation."):
        assert not is_replaced(decoder, NoteText(other, kind="decision", project="scan"))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Search answers within 300 ms.", "Checkout now answers within 450 ms."),
        ("Sprint 14 of the web team ends on 6 June.", "Sprint 15 of the web team ends on 20 June now."),
        (
            "Staging is deployed by hand from the jump host with a script.",
            "In production the script on the jump host was replaced by the deploy job.",
        ),
    ],
)
def test_look_alikes_are_left_alone(older: str, newer: str) -> None:
    assert not is_replaced(NoteText(older, kind="fact"), NoteText(newer, kind="fact"))


def test_other_projects_and_what_happened_once_are_left_alone() -> None:
    assert not is_replaced(SECRET, NoteText(RENAMED.text, kind="fact", project="q"))
    for kind in ("log", "fix", "lesson", "task"):
        assert not is_replaced(NoteText(SECRET.text, kind=kind, project="p"), RENAMED)
    assert not is_replaced(SECRET, NoteText(RENAMED.text, kind="procedure", project="p"))


@pytest.mark.parametrize("name", ["development", "held_out"])
def test_of_the_labelled_look_alikes_none_is_taken_for_a_replacement(name: str) -> None:
    pairs = [json.loads(line) for line in (SETS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    wrong = [
        pair["id"]
        for pair in pairs
        if not pair["contradicts"]
        and is_replaced(*(text_of(pair[side], pair.get("kind", "note")) for side in ("older", "newer")))
    ]
    assert not wrong
