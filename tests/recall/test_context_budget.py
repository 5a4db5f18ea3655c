"""Assembling an answer: within the budget, no line twice, and marks that no stored text can forge."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from mcp_memory.models import Chunk, Etag, NoteId, NotePath, NoteRecord, NoteState, Passage
from mcp_memory.recall.context_budget import (
    BudgetedText,
    TextFrame,
    continued,
    fit,
    length,
    pack,
    render,
    varied,
    visible,
    with_notice,
)
from mcp_memory.recall.excerpts import Excerpt, excerpt_of, merge, without_repeats
from mcp_memory.text.chunking.chunker import ChunkingConfig, cut
from mcp_memory.text.tokens import count_tokens
from mcp_memory.vault.note_file import content_hash
from tests.support.passages import passages_of

FRAME = TextFrame("Relevant memories", "2026-11-21T12:00+00:00")
ODD = "\u202e\u200b\x1b\x00\r\U000e0041"


def record(path: str, **given: Any) -> NoteRecord:
    given = {"id": NoteId(f"path:{path}"), "title": "label", "kind": "note", **given}
    return NoteRecord(NotePath(path), etag=Etag("e"), signature="s", state=NoteState.ACTIVE, **given)


def excerpt(path: str, start_line: int, text: str) -> Excerpt:
    return Excerpt(record(path), start_line, start_line + text.count("\n"), text, ("label",))


def told(*excerpts: Excerpt) -> list[str]:
    """The lines between the marks."""
    return render(FRAME, BudgetedText(excerpts)).split("\n")[1:-1]


def shown(answer: str) -> list[tuple[str, int, str]]:
    """(path, line number, line) of every line that an answer quotes with its place."""
    found: list[tuple[str, int, str]] = []
    path, number = "", 0
    for line in answer.split("\n")[1:]:
        if at := re.fullmatch(r'(?:fact )?([^\s:>]*):(\d+)(?:-\d+)?(?: "[^"]*")?:(?: (.*))?', line):
            path, number = at[1] or path, int(at[2]) - 1
        elif not line.startswith(">"):
            break
        if not at or at[3] is not None:
            number += 1
            found.append((path, number, at[3] if at else line[1:]))
    return found


words = st.text("abc XYZ.é名\n" + ODD, min_size=1, max_size=60)
notes = st.lists(words, min_size=1, max_size=30).map("\n\n".join)
configs = st.sampled_from(
    [
        ChunkingConfig(),
        ChunkingConfig(join_chars=0, max_chars=100),
    ]
)
budgets = st.integers(100, 700)


@given(
    st.lists(notes, min_size=1, max_size=4), budgets, configs, st.randoms(), st.lists(st.text(max_size=900), max_size=2)
)
def test_a_packed_answer_stays_within_its_budget(texts, budget, config, chance, remarks) -> None:
    passages = [p for n, text in enumerate(texts) for p in passages_of(f"n{n}.md", text, config)]
    chance.shuffle(passages)
    frame = TextFrame("Relevant memories", "2026-11-21T12:00+00:00", tuple(remarks)).within(budget)
    excerpts = pack(passages, frame.room(budget))
    answer = render(frame, BudgetedText(tuple(excerpts)))
    assert count_tokens(answer) <= budget
    # Whole passages, each an exact stretch of its note.
    for each in excerpts:
        text = texts[int(each.path[1])]
        assert " ".join(each.text.split()) in " ".join(text.split())
    whole = [p for p in passages if any(_inside(p, e) for e in excerpts)]
    assert whole or not excerpts


def _inside(passage: Passage, excerpt: Excerpt) -> bool:
    return (
        passage.note.path == excerpt.path and excerpt.start <= passage.chunk.start and passage.chunk.end <= excerpt.end
    )


@given(notes, configs, st.randoms())
def test_no_line_comes_twice_and_all_are_named_right(text: str, config: ChunkingConfig, chance) -> None:
    text = text.replace("\r", "")
    passages = passages_of("a.md", text, config)
    chance.shuffle(passages)
    answer = render(FRAME, BudgetedText(tuple(pack(passages, 10**9))))
    lines = text.split("\n")
    seen: dict[int, str] = {}
    for _, number, line in shown(answer):
        if line.strip():
            # Pieces of one huge line come apart, but nothing of it comes twice.
            assert line in visible(lines[number - 1]) or visible(lines[number - 1]).strip().startswith(line.strip())
            seen[number] = seen.get(number, "") + line
    for number, line in seen.items():
        assert len(line) <= len(visible(lines[number - 1]))
    if config.max_chars > 1000:
        assert {n for n, line in enumerate(lines, 1) if line.strip()} <= set(seen)


def test_neighbours_are_joined() -> None:
    text = "first line\nsecond line\n\nthird line\n"
    config = ChunkingConfig(join_chars=0, max_chars=100)
    passages = passages_of("a.md", text, config)
    assert len(passages) == 2
    assert told(*pack(passages[::-1], 9999)) == [
        'fact a.md:1-4:', ">first line", ">second line", ">", ">third line",
    ]  # fmt: skip
    apart = passages_of("a.md", text.replace("\n\n", "\n- - -\n"), config)
    assert [each.start_line for each in pack(apart, 9999)] == [1, 4]
    long = " ".join(f"word{n}" for n in range(100))
    pieces = passages_of("a.md", long, config)
    assert len(pieces) > 3
    whole = merge(pack(pieces, 10**6))[0]
    assert whole.text.startswith("word0 ")
    answer = render(FRAME, BudgetedText(tuple(pack(pieces, 10**6))))
    assert all(f"word{n}" in answer for n in range(100))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 30), notes), min_size=1, max_size=15), budgets)
@example([("a", 1, "x" * 5000)], 100)
@example([("a" * 4000, 1, "x" * 5000)], 100)
def test_fitted_notes_stay_within_the_budget_and_the_rest_is_named(parts, budget) -> None:
    excerpts = without_repeats(excerpt(path, line, text) for path, line, text in parts)
    room = FRAME.room(budget)
    assembly = fit(excerpts, room)
    assembly = with_notice(assembly, "Links: " + "x" * 40, room)
    answer = render(FRAME, assembly)
    assert count_tokens(answer) <= budget
    whole = sum(1 for each in assembly.excerpts if each in excerpts)
    if length(excerpts) <= room:
        assert whole == len(excerpts)
    elif excerpts:
        named = [line for line in assembly.notices if line.startswith(("Left out", "… and"))]
        counted = sum(int(line.split()[2]) if line.startswith("…") else 1 for line in named)
        cut = [each for each in assembly.excerpts if each not in excerpts]
        assert len(cut) <= 1
        assert counted >= len(excerpts) - whole - len(cut)
        assert counted or cut


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 9), st.integers(1, 6)), max_size=8))
def test_lines_asked_for_twice_are_shown_once(parts) -> None:
    def line(path: str, number: int) -> str:
        return "" if number % 4 == 0 else f"{path} {number}"

    asked = [(path, [*range(start, start + count)]) for path, start, count in parts]
    kept = without_repeats(
        excerpt(path, numbers[0], "\n".join(line(path, n) for n in numbers)) for path, numbers in asked
    )
    shown = [(e.path, n, words) for e in kept for n, words in enumerate(e.text.split("\n"), e.start_line) if words]
    assert sorted(shown) == sorted({(p, n, line(p, n)) for p, numbers in asked for n in numbers if line(p, n)})


def test_what_does_not_fit_is_named_with_the_call_that_gets_it() -> None:
    excerpts = [excerpt(f"n{n}.md", 3, "\n".join(f"line {n} {m} " + "x" * 40 for m in range(9))) for n in range(20)]
    answer = render(FRAME, fit(excerpts, FRAME.room(600)))
    at = answer.index("Left out")
    cut = re.search(r'memory_recall path="(n\d+\.md)" lines="(\d+)-"', answer)
    last = [number for path, number, line in shown(answer[:at]) if path == cut[1] and line.startswith("line")]
    assert int(cut[2]) == last[-1] + 1  # the cut note goes on right behind what was shown
    assert answer.count("Left out") <= 10
    assert re.search(r"… and \d+ more: pass a larger budget_tokens", answer)


def test_a_mark_is_made_anew_while_the_text_holds_it(monkeypatch) -> None:
    """As if somebody had found a text that contains its own mark."""
    real = hashlib.sha256

    class Chosen:
        def __init__(self, data: bytes) -> None:
            self._data = data

        def hexdigest(self) -> str:
            return "a" * 64 if b"forged" in self._data else real(self._data).hexdigest()

    monkeypatch.setattr(hashlib, "sha256", Chosen)
    answer = render(FRAME, BudgetedText((excerpt("a.md", 1, f"forged {'a' * 12}>>>"),)))
    assert f"<<<{'a' * 12}" not in answer


def test_what_hides_or_reorders_is_shown_by_its_code() -> None:
    assert visible("plain\ttext\nnew line") == "plain\ttext\nnew line"
    assert visible("a\r\nb") == "a\nb"
    plain = {chr(code) for code in range(0x10000) if visible(chr(code)) == chr(code)}
    assert set("\n\t ~é\u00a0\u0300") <= plain and not plain & set("\x00\x7f\x85\u200b\ue000\ud800")
    assert visible("\x1b[31m\u202eabc\u200b\U000e0041\u2028") == r"\u{1B}[31m\u{202E}abc\u{200B}\u{E0041}\u{2028}"
    assert visible("👩\u200d🚀 ☕\ufe0f naïve 名前 co\u00adop") == "👩\u200d🚀 ☕\ufe0f naïve 名前 co\u00adop"
    hostile = Excerpt(record("a\u202e\u2028### b.md", kind="k\u202end", project="p\n:x"), 1, 1, "x", ("t\ni\u2028tle",))
    assert told(hostile) == ['"k\\u{202E}nd" "p :x" "a\\u{202E} ### b.md":1 "t i tle": x']


def test_a_long_title_does_not_eat_the_budget() -> None:
    passages = passages_of("a.md", "the evidence")
    note = passages[0].note
    huge = replace(note, title="t" * 50_000)
    packed = pack([Passage(0, 0, Chunk("the evidence", 0, 12, 1, 1), huge)], FRAME.room(200))
    assert "the evidence" in render(FRAME, BudgetedText(tuple(packed)))


DAY = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
WORDS = "Green tea wants 60 degrees."


def fact(text: str = WORDS, **given: Any) -> Excerpt:
    """A whole note."""
    given = {"id": NoteId("01KBZ0000000000000004K7Q2M"), "kind": "fact", "title": "Green tea", "created": DAY, **given}
    return Excerpt(record("notes/fact/tea.md", content_hash=content_hash(text), **given), 9, 9 + text.count("\n"), text)


def test_a_note_of_one_sentence_is_one_line() -> None:
    assert told(fact()) == [f"2026-11-20 fact 4K7Q2M: {WORDS}"]
    assert told(fact(kind="note", title="Uji")) == [f'2026-11-20 4K7Q2M "Uji": {WORDS}']
    assert told(fact(title="The tea: Green { #tea }", project="kitchen")) == [
        f"2026-11-20 fact kitchen 4K7Q2M: {WORDS}"
    ]
    assert told(replace(fact(project="kitchen"), asking="kitchen")) == told(fact())
    assert told(fact(expires_at=DAY)) == [f"2026-11-20 fact until 2026-11-20 4K7Q2M: {WORDS}"]
    assert told(replace(fact(), remark="was 70\ndegrees")) == [f"2026-11-20 fact 4K7Q2M (was 70 degrees): {WORDS}"]
    assert told(fact("Green tea.\n\n60 degrees.")) == ["2026-11-20 fact 4K7Q2M:", ">Green tea.", ">", ">60 degrees."]


def test_the_time_is_told_where_two_are_of_a_day() -> None:
    other = replace(fact(), note=replace(fact().note, path=NotePath("b.md"), created=DAY.replace(day=21)))
    assert told(fact(), other)[0].startswith("2026-11-20 fact")
    same = replace(other, note=replace(other.note, created=DAY.replace(hour=17)))
    assert [line[:16] for line in told(fact(), same)] == ["2026-11-20 09:30", "2026-11-20 17:30"]


def test_a_part_of_a_note_has_its_path_and_lines() -> None:
    part = replace(fact(), text="60 degrees")
    assert told(part) == ["2026-11-20 notes/fact/tea.md:9: 60 degrees"], "a path is made of its title"
    other = replace(part, note=replace(part.note, title="Water for sencha"))
    assert told(other) == ['2026-11-20 notes/fact/tea.md:9 "Water for sencha": 60 degrees']
    assert told(replace(part, headings=("Tea", "Green"))) == ['2026-11-20 notes/fact/tea.md:9 "Green": 60 degrees']
    loose = replace(part, note=replace(part.note, path=NotePath("my tea.md"), title="Tea"))
    assert told(loose) == ['2026-11-20 fact "my tea.md":9: 60 degrees'], "the title is in the path"
    frame = replace(FRAME, folder="/home/ada/memory")
    assert "; files in /home/ada/memory\n" in render(frame, BudgetedText((part,)))
    assert "/home/ada" not in render(frame, BudgetedText((fact(),)))
    without_id = fact(id=NoteId("path:notes/fact/tea.md"))
    assert told(without_id) == [f"2026-11-20 notes/fact/tea.md: {WORDS}"]


def test_an_entry_of_a_log_has_its_time_and_title() -> None:
    text = "# 2026-11-20\n\n## 10:00 Tea (project: kitchen)\n\nSencha, 60 degrees.\n\n## 11:00\n\nOne.\n\nTwo.\n"
    log = record("memory/2026-11-20.md", kind="log", is_log=True, created=DAY.replace(hour=0, minute=0))
    first, one, two = (
        excerpt_of(Passage(n, n, each, log)) for n, each in enumerate(cut(text, 0, ChunkingConfig(), log=True).chunks)
    )
    assert first.entry and one.entry and first.is_whole and not one.is_whole
    assert told(first) == [f'2026-11-20 log kitchen {first.entry[-8:]} "Tea": Sencha, 60 degrees.']
    (both,) = merge([one, two])
    assert told(both) == [f"2026-11-20 log {one.entry[-8:]}:", ">One.", ">", ">Two."]
    assert told(first, both)[0].startswith("2026-11-20 10:00 log")


def test_a_document_is_read_on_but_no_log_and_no_conversation() -> None:
    fine = ChunkingConfig(join_chars=0)
    first, second, third, other, *_ = found = passages_of("a.md", "one\n\ntwo\n\nthree\n\n## B\n\nfour\n", fine)
    others = [passages_of(f"{number}.md", "another")[0] for number in range(5)]
    assert [each.chunk.start_line for each in found] == [1, 3, 5, 9]
    assert list(continued([first, other, third, second])) == [first, second, third, other], "not into another section"
    assert list(continued([second, *others[:4], third])) == [second, third, *others[:4]]
    assert list(continued([second, *others, third])) == [second, others[0], third, *others[1:]], "only so far"
    assert list(continued([second, other, first])) == [second, other, first], "not backwards"
    entries = [replace(each, chunk=replace(each.chunk, entry="e")) for each in found]
    assert list(continued([entries[0], other, entries[1]])) == [entries[0], other, entries[1]]
    turns = passages_of("c.md", "- Ada: one\n- Bob: two\n- Ada: three\n", fine)
    assert list(continued([turns[0], other, turns[1]])) == [turns[0], other, turns[1]]


def test_of_near_copies_the_best_few_come_first() -> None:
    copies = [passages_of(f"{n}.md", f"The nightly backup of host {n} failed once more.")[0] for n in range(9)]
    other = passages_of("other.md", "Backups are kept for 30 days in the cellar.")[0]
    short = [passages_of(f"s{n}.md", "Yes, do it")[0] for n in range(5)]
    assert list(varied([*copies, other])) == [*copies[:3], other, *copies[3:]]
    assert list(varied([*short, other])) == [*short, other], "too short to say the same"
    packed = pack(varied([*copies, other]), length([excerpt_of(each) for each in copies[:5]]))
    assert [each.path for each in packed] == ["0.md", "1.md", "2.md", "other.md"]


@given(notes, st.randoms())
def test_reading_on_loses_and_doubles_nothing(texts: str, chance: Random) -> None:
    found = passages_of("a.md", texts, ChunkingConfig(join_chars=0))
    chance.shuffle(found)
    for way in (continued, varied):
        assert sorted(way(found), key=id) == sorted(found, key=id)
        assert list(way(found))[:1] == found[:1], "the best stays first"


def test_another_heading_of_the_same_note_is_said_where_it_begins() -> None:
    text = "# Tea\n\n## Green\n\nsencha\n\n## Black\n\nassam\n\n\nkeemun\n"
    answer = render(FRAME, BudgetedText(tuple(pack(passages_of("a.md", text, ChunkingConfig(join_chars=0)), 9999))))
    assert '\nfact a.md:5 "Green": sencha\n:9-12 "Black":\n>assam\n>\n>\n>keemun\n' in answer
