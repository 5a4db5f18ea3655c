"""Seals: a text comes along to the byte, its own properties stay, and an edit by anybody is noticed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from mcp_memory.text.markdown.frontmatter import parse
from mcp_memory.transfer.item import ImportItem, ImportSource, imported_id, seal_note, source_mark
from mcp_memory.vault.note_import import ImportSeal, mark_in

SOURCE = ImportSource("obsidian", "Notes", Path("/home/ada/Notes"), project="shop")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def made(text: str, key: str = "a.md") -> bytes:
    item = ImportItem(key, key, text, {"kind": "fact"}, {"tags": ["b"]}, digest="0123456789abcdef")
    return seal_note(item, SOURCE, imported_id(SOURCE, key), "obsidian:/home/ada/Notes/a.md")


@given(TEXT)
@example("---\na: [b\n---\nbroken")
@example("\ufeff---\r\na: 1\r\n---\r\nwindows\r\n")
@example("---\nx\n---\nrules")
@example("import_check: v1-0000000000000000-0000000000000000\n")
@example("---\n- a\n---\n")
def test_a_text_comes_along_to_the_byte(text: str) -> None:
    data = made(text)
    before, after = parse(text), parse(data.decode())
    # Of a head that cannot be read every byte is text.
    expected = text if before.problem else before.body
    assert after.body == expected or after.body == text.removeprefix("\ufeff")
    assert {**before.meta, **after.meta} == after.meta | {"id": after.meta["id"]}
    assert after.meta["id"] == imported_id(SOURCE, "a.md")
    assert (after.meta["kind"], after.meta["project"], after.meta["source"]) == ("fact", "shop", "obsidian")
    assert ImportSeal.read(data) == ImportSeal("0123456789abcdef", unbroken=True)


@given(TEXT, st.data())
def test_every_edit_breaks_the_seal(text: str, data: st.DataObject) -> None:
    note = made(text)
    at = data.draw(st.integers(0, len(note) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != note[at]))
    seal = ImportSeal.read(note[:at] + bytes([other]) + note[at + 1 :])
    assert seal is None or not seal.unbroken or seal.source == "0123456789abcdef"
    assert seal is None or not seal.unbroken


def test_what_a_note_says_of_itself_stays() -> None:
    text = (
        "---\nid: 7\nsource: https://example.org\nkind: recipe\ntags: a\nalways_load: true\nderived_from: [x]\n---\nT\n"
    )
    meta = parse(made(text).decode()).meta
    assert (meta["source_id"], meta["source"], meta["kind"]) == ("7", "https://example.org", "recipe")
    assert "always_load" not in meta
    assert meta["derived_from"] == ["x", "obsidian:/home/ada/Notes/a.md"]


def test_ids_are_the_same_each_time_and_tell_sources_apart() -> None:
    elsewhere = replace(SOURCE, root=Path("/mnt/Notes"))
    assert imported_id(SOURCE, "a.md") == imported_id(SOURCE, "a.md")
    assert len({imported_id(SOURCE, "a.md"), imported_id(SOURCE, "b.md"), imported_id(elsewhere, "a.md")}) == 3
    assert mark_in(imported_id(SOURCE, "a.md")) == source_mark(SOURCE) != source_mark(elsewhere)
    assert mark_in("01M80W6FBCJ1G8TGK7S9B4XSGP") is None
