"""The ways in which people mark a note, a log entry or lines of MEMORY.md as private, and what is no such mark."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_memory.text.markdown import logs
from mcp_memory.text.markdown.frontmatter import parse
from mcp_memory.vault.marks import privacy


def marks(text: str, path: str = "notes/a.md") -> dict[str, Any]:
    return privacy.marks(path, text, parse(text), is_curated=path == "MEMORY.md")


HEADS = (
    "private: true", "Private: yes", "is_private: true", "private:true", "private:\u00a0true", "private：true",
    "private: 1", "privado: sí", "prviate: true", "- private", "private", "meta:\n  private: true",
    "tags: private, health", "tags: private; health", "tags: health private", 'tags: ["#private"]',
    "tags: '#a #private'",
    "tags: [Private]", "tags: [private/health]", "tags: [health/private]", "tags: [[private]]", "Tags:\n- a\n- Private",
    "tag: private", "tgas: private", "tags:private", "visibility: private", "private: true\nfoo: [bar",
    "a: 1\nprivate: true\na: 2", "title: x\npassword: @x", "private: true\nprivate: false",
    "confidential: true", "vertraulich: ja", "confidentiel: oui", "confidencial: sí", "confidental: true",
    "tags: [confidential]", "tags: [geheim]", "share: false", "classification: Strictly Confidential",
    "visibility: vertraulich", "public: false", "Public: no", "öffentlich: nein",
)  # fmt: skip
BODIES = (
    "<private>x</private>", "Hello.\n\n<private>\nx", "private: true\n\nx", "private:: true\nx", "**Private:** true",
    "- private:: yes", "tags:: [[private]], x\n\ny", "tags: private\n\nx", '"tags": ["private"],\n', "x #private.",
    "#Private/health", "x #privat", "x ＃private", "x (#private) y", "x **#private** y", "_#private_", "a,#private",
    "x\n<!-- #private -->", "<!-- private -->\nx", "%% private %%\nx", "> #private\n> x", "# Private\n\nx",
    "# 🔒 Private\n\nx", "x\n\nOff the record. y", "Das bleibt unter uns: x", "C'est fini. Entre nous.", "[private] x",
    "- [private] x", "- x (private)", "x (tags: private)", "| a | #private |\n|---|---|\n| b | c |",
    "```js\nx\n```\n#private", "---\nprivate: true\nx\n", "+++\nprivate = true\n+++\nx",
    "+++\ntags = ['Private']\n+++\nx",
    "# Off the record\n\nx", "x #confidential", "x #vertraulich", "x #confidentiel", "x #confidencial/rh",
    "Confidential: the salary is 900.", "Vertraulich: das Gehalt ist 900.", "Confidentiel : le salaire est de 900.",
    "Confidencial: el sueldo es 900.", "**Confidential:** x", "- Confidential: x", "> Vertraulich: x",
    "# Vertraulich: Gehalt\n\nx", "x\nConfidential - the salary is 900.", "**Private**\n\nx", "**Private**\nx",
    "__Privat__\n\nx", "Private\n\nx", "VERTRAULICH\n\nx", "Confidential\n============\n\nx", "(vertraulich) x",
    "*Ne pas partager*\n\nx", "PRIVATE AND CONFIDENTIAL\n\nx", "🔒 private\n\nx", "Vertraulich: ja\n\nx",
    "Strictly confidential\n\nx", "Streng vertraulich\n\nx", "[confidential] x", "x. Don't store this anywhere.",
    "x\n\nBitte nicht speichern.", "Ne garde aucune trace de ça.", "Que no quede registrado.", "This is confidential.",
    "> [!warning] Confidential\n> x", "> [!danger]- Streng vertraulich\n> x", "x\n\nFor my eyes only.\n\ny",
    "Nur für meine Augen.\n\nx", "<privado>x</privado>",
    "+++\nbroken = = \n+++\nx", "---\nid: x\n---\n---\nprivate: [\n---\nx", "\ufeff---\r\nprivate: true\r\n---\r\nx",
)  # fmt: skip
FOLDERS = (
    "Private", "private/health", "_private", "01-private", "🔒 Private", "Privat", ".private", "privé", "privado",
    "topics/01-private", "Private Notes", "@private", "x/PRIVATE",
)  # fmt: skip
OPEN_HEADS = (
    "private: false", "private: no", "private: never", "private: public", "private: 0", "private:", "private_key: x",
    "tags: [confidential-computing]", "confidential: false", "share: true", "share:",
    "public: true", "public:", "publish: false",
    "title: Foo - bar: baz", "title: a private matter", "tags: [privateer]", "summary: public, private, and more",
)  # fmt: skip
OPEN_BODIES = (
    "> [!warning] Confidential clients\n> x",
    "a private method", "#privateer", "#private-key", "```\n#private\n```", "`#private`",
    "- x\n  ```\n  #private\n  ```",
    "see [x](#private)", "[private](http://x)", "[private]: http://x", "[[private]]", "[[Note#private]]",
    "https://x.y/#private", "private key in private-key.md", "class A:\n    private: int x", "arr[private] = 1",
    "private: a method that only its class sees", "The (private) method is", "# Private methods", "\\#private",
    "the confidential-computing VM", "Confidential-computing VMs cost more", "confidential clients: keep a secret",
    "The private repository is at x", "# Privacy policy\n\nx", "- public\n- private", "# Confidential clients\n\nx",
    "Don't store secrets in git.", "don't save this: write to temp instead",
    "Vertrauliche Daten gehören in den Tresor.",
    "Sessions are not recorded.", "Off-the-record messaging is a protocol", "| private | x |\n|---|---|",
    "private:\n  int x;", "entre nous trois il y a", "tags: health\n", "---\nfoo bar\n---\nx", "",
)  # fmt: skip


@pytest.mark.parametrize("text", [*(f"---\n{head}\n---\n\nThe salary is 900.\n" for head in HEADS), *BODIES])
def test_a_note_that_says_so_is_private(text: str):
    assert marks(text) == {"private": True}


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_note_in_a_private_folder_is_private(folder: str):
    assert marks("x", f"{folder}/a.md") == {"private": True}


@pytest.mark.parametrize("name", ["Doctor (private).md", "a/Arzt [privat].md", "My #private day.md", "u.private.md"])
def test_a_note_whose_name_says_so_is_private(name: str):
    assert marks("x", name) == {"private": True}


@pytest.mark.parametrize("text", [*(f"---\n{head}\n---\n\nThe salary is 900.\n" for head in OPEN_HEADS), *OPEN_BODIES])
def test_a_note_that_only_has_the_word_is_not(text: str):
    assert marks(text) == {}
    assert all(marks("x", path) == {} for path in ("private.md", "private-key/a.md", "privateer/a.md"))


ENTRIES = (
    "Doctor (tags: private)", "Doctor (tags: [Private, health])", "Doctor (private)", "Doctor (tag: private)",
    "Doctor (tags: a; private)", "Doctor [private]", "Off the record",
    "Doctor\n\nprivate: true\nx", "Doctor\n\nOff the record. x",
    "Doctor\n\n<private>x</private>", "Private", "Doctor (private) (source: codex; session: x)", "Doctor #private",
    "Doctor (project: shop; tags: private/health; source: codex)", "Doctor\n\nRemind me. Don't store this anywhere.",
    "Vertraulich: Doctor", "Doctor\n\nConfidential: x",
)  # fmt: skip


def test_an_entry_of_a_log_is_private_alone():
    open_one = "Deploy\n\nA private method was made public.\n\n```\n#private\n```"
    text = "# 2026-11-21\n\n" + "\n\n".join(
        f"## {hour:02}:00 {entry}" for hour, entry in enumerate((*ENTRIES, open_one))
    )
    private = marks(text, "memory/2026-11-21.md")["private_entries"]
    assert [entry.title for entry in logs.entries(text) if entry.hash not in private] == ["Deploy"]
    assert marks(f"#private\n\n{text}", "memory/2026-11-21.md") == {"private": True}


def test_lines_of_a_log_without_entries_are_private_alone():
    timed = "09:10 open\n09:40 Off the record: Mrs Adler is ill\n10:00 open"
    log = f"# 2026-11-21\n\n{timed}\n\n- x\n- Don't keep that.\n- open\n"
    assert marks(log, "memory/2026-11-21.md") == {"private_lines": [[4, 4], [7, 8]]}
    assert marks("# 2026-11-21\n\n#private\n\n- x\n", "memory/2026-11-21.md") == {"private": True}


def test_lines_of_memory_are_private_with_their_section_or_alone():
    text = """# Memory

- open one
- secret (tags: private)
  - secret below it
- open two

## Secret section (tags: private)

- secret

### Secret, too

- secret

## Open

open text

<private>

- secret

</private>

open again

## Private

| secret | b |
|---|---|

## Secret by its first line

#private

- secret

## Last

- secret #private
- open three
"""
    private = marks(text, "MEMORY.md")["private_lines"]
    lines = [line for at, line in enumerate(text.splitlines(), 1) if not any(a <= at <= b for a, b in private)]
    shown = [line for line in lines if line]
    expected = ["- open one", "- open two", "## Open", "open text", "open again", "## Last", "- open three"]
    assert shown == ["# Memory", *expected]
    assert marks("#private\n\n- secret\n", "MEMORY.md")["private_lines"] == [[1, 3]]


@pytest.mark.timeout(10)
@pytest.mark.parametrize("run", ["`", " ", "(", "[", "<!--", "*", "(x) ", "#a", "---\n"])
def test_whatever_is_repeated_is_read_in_linear_time(run: str):
    for text in (f"private\n{run * 20_000}x", f"{run * 20_000}private"):
        assert marks(text) in ({}, {"private": True})
