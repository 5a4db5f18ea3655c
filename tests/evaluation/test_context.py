"""What is told with a prompt, by hand."""

from __future__ import annotations

import pytest

from tests.evaluation.context import ContextScore, context_figures, quoted_chars
from tests.evaluation.sets import EvalQuestion, GoldSpan

PORT, OLD, LOG = "notes/port.md", "notes/port-old.md", "memory/2026-10-01.md"
LINES = {
    PORT: ["---", "title: Port", "---", "", "The gateway listens on 8090."],
    OLD: ["The gateway listens on 8087."],
    LOG: ["# 2026-10-01", "", "## 09:00 one", "", "- Ports were moved.", "", "## 10:00 two", "", "- Lunch was late."],
}
WHOLE_PORT, WHOLE_OLD = GoldSpan(PORT, 1, 5), GoldSpan(OLD, 1, 1)
MORNING, NOON = GoldSpan(LOG, 3, 5), GoldSpan(LOG, 7, 9)


def prompt(
    *gold: GoldSpan, also: tuple[GoldSpan, ...] = (), outdated: tuple[GoldSpan, ...] = (), category: str = "fact"
) -> EvalQuestion:
    return EvalQuestion("p", "?", "", category, bool(gold), gold, True, None, also, outdated)


def told(question: EvalQuestion, text: str = "", *notes: GoldSpan) -> ContextScore:
    return ContextScore(question, text, notes, LINES)


def figures(*scores: ContextScore) -> dict[str, float]:
    return {metric: found.mean for metric, found in context_figures(scores)["overall"].metrics.items()}


def test_told_notes_and_characters_that_belong() -> None:
    text = "<<<12345678 memory\nfact 1ABCDE: The gateway listens on 8090.\n2026-10-01 log 1234: - Lunch was late.\n"
    found = figures(told(prompt(WHOLE_PORT, MORNING), text, WHOLE_PORT, NOON))
    assert found == {
        "context_precision": 1 / 2,
        "context_precision_chars": 28 / len(text),
        "context_recall_any": 1.0,
        "context_recall_all": 0.0,
        "tokens": -(-len(text) // 4),
        "note_text": (28 + 17) / len(text),
    }


def test_what_helps_without_being_needed_belongs_and_is_not_asked_for() -> None:
    text = "The gateway listens on 8090.\n- Ports were moved."
    question = prompt(WHOLE_PORT, also=(MORNING,))
    found = figures(told(question, text, WHOLE_PORT, MORNING))
    assert (found["context_precision"], found["context_recall_all"]) == (1.0, 1.0)
    assert found["context_precision_chars"] == (len(text) - 1) / len(text)
    assert figures(told(question, text[29:], MORNING))["context_recall_any"] == 0.0


def test_prompts_count_by_how_much_they_are_told_and_silence_only_where_none_is_wanted() -> None:
    port = "The gateway listens on 8090."
    found = figures(
        told(prompt(WHOLE_PORT), port, WHOLE_PORT),
        told(prompt(WHOLE_PORT)),
        told(prompt(category="chitchat"), f"{port}\n" * 4, WHOLE_PORT, MORNING, NOON),
        told(prompt(category="chitchat")),
    )
    assert found["context_precision"] == 1 / 4
    assert found["context_precision_chars"] == 28 / (28 + 4 * 29)
    assert (found["context_recall_any"], found["context_recall_all"]) == (0.5, 0.5)
    assert (found["tokens"], found["silent"]) == (3.5, 0.5)


@pytest.mark.parametrize(
    ("text", "unmarked"),
    [
        ("fact 1ABCDE: The gateway listens on 8087.", 1.0),
        ("fact (superseded by 01JX) 1ABCDE: The gateway listens on 8087.", 0.0),
        ("fact (superseded by 01JX) 1ABCDE:\n>One.\n>The gateway listens on 8087.", 0.0),
        (f"(superseded) {OLD}:3: other\n:9: The gateway listens on 8087.", 0.0),
        ("2026-10-01 The gateway listens on 8090. (was The gateway listens on 8087.)", 0.0),
        (f"{PORT} (superseded): other\n{OLD}: The gateway listens on 8087.", 1.0),
        ("(was The gateway listens on 8087)\nThe gateway listens on 8087.", 1.0),
        ("its words are not found", 1.0),
        ("port 8090 (was 8087 until 2026-10-01)", 0.0),
    ],
)
def test_an_outdated_note_needs_a_mark_where_it_stands(text: str, unmarked: float) -> None:
    found = figures(told(prompt(WHOLE_PORT, outdated=(WHOLE_OLD,)), text, WHOLE_OLD))
    assert found["outdated_unmarked"] == unmarked


def test_characters_are_counted_once_and_by_whole_lines_or_sentences() -> None:
    assert quoted_chars("one line twice; one line twice", ["one line", "one line", "line"]) == 16
    assert quoted_chars("> Kept: first sentence. …", ["first sentence. Second sentence."]) == 15
    assert quoted_chars("portable", ["port"]) == 0
    assert quoted_chars("a or b", ["or", "", "b"]) == 0
