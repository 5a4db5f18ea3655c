"""Reads Gemini CLI's `GEMINI.md` with the memories saved there (0.41), and its notes on projects (0.61)."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from mcp_memory.storage.path_rules import portable
from mcp_memory.text.language.sentences import beginning
from mcp_memory.text.markdown.frontmatter import Value
from mcp_memory.text.text_hash import text_hash
from mcp_memory.transfer.formats.folder import SourceFile, SourceFolder, list_files, project_in
from mcp_memory.transfer.formats.markdown import item_of
from mcp_memory.transfer.item import ImportItem, ImportSource, ProjectOf, SourceReading, digest_of

INSTRUCTIONS = frozenset({"GEMINI.md"})

_PROJECT_NOTES = "tmp/*/memory/*.md"
_SAVED = re.compile(r"^## Gemini Added Memories[ \t]*\n(.*?)(?=^#{1,2} |\Z)", re.MULTILINE | re.DOTALL)
_BULLET = re.compile(r"^[-*] (.+(?:\n(?![-*] |#).*\S.*)*)", re.MULTILINE)


def read(source: ImportSource, folder: SourceFolder, project_of: ProjectOf) -> SourceReading:
    """Read `~/.gemini`, or the `GEMINI.md` of a repository; each saved memory becomes a note. `project_of`: returns the
    project of a folder. Raises StorageFailed if the folder can't be opened."""
    _, tree = list_files(folder, [""], [*INSTRUCTIONS, _PROJECT_NOTES])
    items: list[ImportItem] = []
    for file in folder.files(tree):
        is_instructions = file.path in INSTRUCTIONS
        if is_instructions:
            project = None if folder.root.name == ".gemini" else project_in(str(folder.root), project_of)
        else:
            project = None
            with suppress(OSError, UnicodeError):  # the folder of a project's notes names it
                root = (folder.root / file.path).parents[1].joinpath(".project_root").read_text("utf-8").strip()
                project = project_in(root, project_of)
        properties: dict[str, Value] = {"project": project} if project else {}
        items += _saved_memories(file, properties)
        rest = replace(file, text=_SAVED.sub("", file.text))
        if rest.text.strip():
            item = item_of(rest, kind="workflow" if is_instructions else "fact")
            items.append(replace(item, properties={**item.properties, **properties}))
    return SourceReading(source, items, tree.left_out)


def _saved_memories(file: SourceFile, properties: dict[str, Value]) -> Iterator[ImportItem]:
    """Yield the memories that were saved into a file. Equal words get equal keys."""
    created = datetime.fromtimestamp(file.modified_s).astimezone().replace(microsecond=0)
    for section in _SAVED.finditer(file.text):
        for memory in _BULLET.findall(section[1]):
            words = " ".join(memory.split())
            key = f"{file.path}#{text_hash(words.casefold(), 16)}"
            title, text = beginning(words), memory.strip() + "\n"
            facts: dict[str, Value] = {"kind": "fact", "title": title, "created": created, **properties}
            yield ImportItem(key, f"memories/{portable(title)}.md", text, facts, digest=digest_of(text.encode()))
