"""Sentences are slices, in order, of what a note says in words."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcp_memory.text.language.sentences import sentences

markdown = st.lists(
    st.sampled_from(
        ["- ", "> ", "# ", "| a | b |", "|---|---|", "```", "\n", "\n\n", "1. ", "e.g. ", "<!-- x -->", "  "]
    )
    | st.text(alphabet="abc .!?…。*_`|>-#é日\n=", max_size=30),
    max_size=12,
).map("".join)


def bare(text: str) -> str:
    """Without white space and the marks that stand in front of lines and between cells."""
    return re.sub(r"[\s>|*+-]|\[[ xX]\]|[0-9]+[.)]", "", text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One thing. Another one! A third?", ["One thing.", "Another one!", "A third?"]),
        ("See e.g. Redis or Mr. Fox. Then stop.", ["See e.g. Redis or Mr. Fox.", "Then stop."]),
        ("Met J. Smith in May. He agreed.", ["Met J. Smith in May.", "He agreed."]),
        ("Sie spielen Haydn op. 76 Nr. 3. Dann Pause.", ["Sie spielen Haydn op. 76 Nr. 3.", "Dann Pause."]),
        ("We took plan b. It held.", ["We took plan b.", "It held."]),
        ("Add a COPY . . to it. Why ? Yes.", ["Add a COPY . . to it.", "Why ?", "Yes."]),
        ("Version 1.2 works. so does 1.3", ["Version 1.2 works. so does 1.3"]),
        ("A la Sra. Boix, nada. D. Luis y Dña. Rosa, sí.", ["A la Sra. Boix, nada.", "D. Luis y Dña. Rosa, sí."]),
        ("Avda. Blasco Ibáñez núm. 7, pág. 3. Llama.", ["Avda. Blasco Ibáñez núm. 7, pág. 3.", "Llama."]),
        ("Mlle. Petit et Me. Roux, art. 4. Voilà.", ["Mlle. Petit et Me. Roux, art. 4.", "Voilà."]),
        ("An Hr. Weber, Goethestr. 12, Kundennr. 7. Danke.", ["An Hr. Weber, Goethestr. 12, Kundennr. 7.", "Danke."]),
        ("Call Capt. Bligh in Room No. 12. Then stop.", ["Call Capt. Bligh in Room No. 12.", "Then stop."]),
        ("Er kommt am Fr. Dann reden wir.", ["Er kommt am Fr.", "Dann reden wir."]),
        ("Sillas, mesas, etc. Llegan hoy.", ["Sillas, mesas, etc.", "Llegan hoy."]),
        ("Tische usw. (siehe oben) kommen.", ["Tische usw. (siehe oben) kommen."]),
        ("Cogemos el AVE. Sale hoy.", ["Cogemos el AVE.", "Sale hoy."]),
        ("A line that\ngoes on. Next.", ["A line that goes on.", "Next."]),
        ("# Heading\n\nText here.\n\n```\ncode here.\n```", ["Text here."]),
        ("- Ada: it broke. I fixed it.\n- [x] done", ["Ada: it broke. I fixed it.", "done"]),
        ("- above\n  - nested one\n    goes on", ["above", "nested one goes on"]),
        ("> quoted words\n> go on.", ["quoted words go on."]),
        ("| name | size |\n|---|---|\n| tea | 5 g |", ["name | size", "tea | 5 g"]),
        ("東京に行く。寒かった！", ["東京に行く。", "寒かった！"]),
        ("- before\n  ```\n  run this\n  ```\n- after", ["before", "after"]),
        ("... --- !!!", []),
    ],
)  # fmt: skip
def test_what_is_a_sentence(text: str, found: list[str]):
    assert [each.text for each in sentences(text)] == found


@given(markdown)
@settings(deadline=None)
@example("- a\n```\nb\n```")
def test_sentences_are_slices_in_their_order(text: str):
    found = sentences(text)
    assert [each.place for each in found] == list(range(len(found)))
    left = bare(text)
    for each in found:
        assert "\n" not in each.text and each.text == each.text.strip()
        at = left.find(bare(each.text))
        assert at >= 0, each
        left = left[at + len(bare(each.text)) :]
