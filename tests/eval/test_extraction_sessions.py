"""The labelled sessions can be read, and their labels are about something that was said."""

from __future__ import annotations

import pytest

from tests.benchmarks.extraction_sessions import AT_ONCE, NOTHING, PROPOSED, SESSIONS, files_in, read_session


def test_each_session_has_labels_of_every_sort() -> None:
    sessions = [read_session(file) for file in files_in([SESSIONS, *SESSIONS.parent.glob("held_out*")])]
    assert len(sessions) >= 8
    for session in sessions:
        marks = [label.mark for label in session.labels]
        assert 40 <= len(session.messages) <= 70 and session.notes, session.name
        assert marks.count(AT_ONCE) >= 10 and marks.count(PROPOSED) >= 1 and marks.count(NOTHING) >= 4, session.name
        replaced = [label.replaces for label in session.labels if label.replaces]
        assert replaced and all(label.statement for label in session.labels), session.name


def test_a_line_that_is_no_message_is_named(tmp_path) -> None:
    file = tmp_path / "talk.txt"
    file.write_text("user: hi\nsomebody: hello\n")
    with pytest.raises(ValueError, match=r"talk.txt:2: 'somebody: hello' is neither"):
        read_session(file)
