"""How much of what a session's summary must hold it holds, beside its first and last message, on labelled sessions."""

import re
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.summaries.session_facts import choose_points, find_session_facts, is_worth_telling
from mcp_memory.text.conversation.messages import Turn

SESSIONS = tomllib.loads(Path(__file__).with_name("summaries").joinpath("sessions.toml").read_text("utf-8"))["session"]
BEGAN = datetime(2026, 11, 20, 9, tzinfo=UTC)


def messages_of(session: dict[str, Any]) -> list[TranscriptMessage]:
    found: list[TranscriptMessage] = []
    for number, (who, text, *rest) in enumerate(session["turns"]):
        at = BEGAN + timedelta(minutes=number)
        if rest:
            arguments = {"command" if who == "Bash" else "file_path": text}
            turn = Turn(who, rest[0], at, session["name"])
            found.append(TranscriptMessage(Role.TOOL, turn, number, who, rest[1], arguments))
        else:
            found.append(TranscriptMessage(Role(who), Turn(who.capitalize(), text, at, session["name"]), number))
    return found


def share(lines: list[str], session: dict[str, Any]) -> tuple[int, int, int, int]:
    """Facts found, all facts, lines that hold a fact or what is fine, all lines."""
    facts, fine = session["facts"], [*session["facts"], *session.get("fine", ())]
    found = [fact for fact in facts if any(re.search(fact, line, re.IGNORECASE) for line in lines)]
    good = [line for line in lines if any(re.search(fact, line, re.IGNORECASE) for fact in fine)]
    return len(found), len(facts), len(good), len(lines)


def rates(counts: list[tuple[int, int, int, int]]) -> tuple[float, float]:
    """Recall of facts, and the share of lines that tell one."""
    found, facts, good, lines = map(sum, zip(*counts, strict=True))
    return found / facts, good / lines


@pytest.mark.fast
def test_a_summary_holds_what_it_must_and_beats_the_first_and_last_message():
    ours: list[tuple[int, int, int, int]] = []
    plain: list[tuple[int, int, int, int]] = []
    for session in SESSIONS:
        messages = messages_of(session)
        parts = find_session_facts(CapturedMessages("f", "claude-code", "s", session["project"], messages))
        assert is_worth_telling(parts) is not session.get("none", False)
        if session.get("none"):
            continue
        lines = [point.text for points in choose_points(parts).values() for point in points]
        assert sum(len(line.split()) + 2 for line in lines) <= 330
        said = [message.turn.text for message in messages if message.role is Role.USER]
        ours.append(share(lines, session))
        plain.append(share([said[0], said[-1]], session))
        print(f"{session['name']:<12} facts {ours[-1][0]} of {ours[-1][1]}, lines {ours[-1][2]} of {ours[-1][3]};"
              f" first and last message: {plain[-1][0]}")  # fmt: skip
    recall, precision = rates(ours)
    print(f"recall {recall:.2f}, precision {precision:.2f}; first and last message: recall {rates(plain)[0]:.2f},"
          f" precision {rates(plain)[1]:.2f}")  # fmt: skip
    assert recall >= 0.95 and precision >= 0.75 and recall >= 2 * rates(plain)[0]
