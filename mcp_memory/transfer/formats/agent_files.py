"""Reads what agents and editors keep as Markdown files: Codex's memories, Gemini CLI's, rules of Cursor and Windsurf.

As Codex 0.169 and Gemini CLI 0.61 write them; rules as the editors' documentation describes them. What Cursor and
Windsurf remember by themselves is in no file of a published form.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from mcp_memory.storage.path_rules import is_note
from mcp_memory.transfer.formats.folder import SourceFile, SourceFolder, SourceTree
from mcp_memory.transfer.formats.markdown import first_of, item_of
from mcp_memory.transfer.item import ImportItem, ImportSource, SourceKind, SourceReading
from mcp_memory.transfer.memories.memory_record import MemoryRecord, key_of, moment

_CODEX = {
    ".codex/AGENTS.md": "workflow",
    ".codex/memories*/MEMORY.md": "reference",
    ".codex/memories*/memory_summary.md": "reference",
    ".codex/memories*/rollout_summaries/*.md": "log",
    ".codex/memories*/extensions/*/notes/*.md": "fact",
    ".codex/memories*/skills/*.md": "skill",
}
_CURSOR = (".cursorrules", ".cursor/rules/*.mdc", ".cursor/rules/*.md")
_WINDSURF_OWN = ".codeium/windsurf/memories/"
_WINDSURF = (".windsurfrules", ".windsurf/rules/*.md", f"{_WINDSURF_OWN}global_rules.md", f"{_WINDSURF_OWN}*.pb")

LAYOUTS: Mapping[SourceKind, tuple[Sequence[str], Mapping[str, str]]] = {
    SourceKind.CODEX: (("", ".codex/", ".codex/memories/"), _CODEX),
    SourceKind.GEMINI: (("",), {"GEMINI.md": "workflow", "tmp/*/memory/*.md": "fact"}),
    SourceKind.CURSOR: (("", ".cursor/", ".cursor/rules/"), dict.fromkeys(_CURSOR, "workflow")),
    SourceKind.WINDSURF: ((_WINDSURF_OWN, "", ".windsurf/", ".windsurf/rules/"), dict.fromkeys(_WINDSURF, "workflow")),
}
"""Where a source may be in the folder that holds the program's; the kinds of notes by patterns of paths in there."""

ProjectOf = Callable[[str], str | None]

_ROLLOUT = re.compile(r"^(updated_at|cwd): (.+)$", re.MULTILINE)
_ADDED = re.compile(r"^## Gemini Added Memories[ \t]*\n(.*?)(?=^#{1,2} |\Z)", re.MULTILINE | re.DOTALL)
_BULLET = re.compile(r"^[-*] (.+(?:\n(?![-*] |#).*\S.*)*)", re.MULTILINE)
_RULE_HEAD = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?\n", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^(\w+):[ \t]*[\"']?(.*?)[\"']?[ \t]*\r?$", re.MULTILINE)


def read(source: ImportSource, folder: SourceFolder, project_of: ProjectOf) -> SourceReading:
    """`project_of`: the project of a folder. Raises StorageFailed if the folder can't be opened."""
    roots, kinds = LAYOUTS[source.kind]
    above, tree = list_files(folder, roots, kinds)
    items: list[ImportItem] = []
    for file in folder.files(tree):
        kind = next(kind for pattern, kind in kinds.items() if fnmatchcase(above + file.path, pattern))
        project = _project(source, folder.root, above, file.path, project_of)
        items += _items(source, file, kind, project, project_of)
    return SourceReading(source, items, tree.left_out)


def list_files(folder: SourceFolder, roots: Iterable[str], wanted: Collection[str]) -> tuple[str, SourceTree]:
    """Returns the first of `roots` below which `folder` has files that match, and these. Raises StorageFailed."""

    def is_wanted(path: str) -> bool:
        return any(fnmatchcase(path, pattern) for pattern in wanted)

    def leads_to_wanted(path: str) -> bool:
        return any(all(map(fnmatchcase, path.split("/"), pattern.split("/")[:-1])) for pattern in wanted)

    above, tree = "", SourceTree()
    for above in roots:
        tree = folder.tree(lambda path, above=above: leads_to_wanted(above + path))
        tree.notes = [path for path in tree.notes if is_wanted(above + path)]
        tree.left_out = [item for item in tree.left_out if is_wanted(above + item.path)]
        if tree.notes:
            break
    return above, tree


def _items(
    source: ImportSource, file: SourceFile, kind: str, project: str | None, project_of: ProjectOf
) -> Iterator[ImportItem]:
    """Yields the notes of one file: with Gemini's memories apart, and without a rule's head, which often isn't YAML."""
    title, extra = None, dict[str, str | datetime]()
    if source.kind is SourceKind.GEMINI:
        for added in _ADDED.finditer(file.text):
            when = datetime.fromtimestamp(file.modified_s, UTC)
            for fact in _BULLET.findall(added[1]):
                key = f"{file.path}#{key_of(fact)}"
                yield MemoryRecord(key, fact, when, project=project or "", folder="memories").as_item()
        file = replace(file, text=_ADDED.sub("", file.text))
        if not file.text.strip():
            return
    elif source.kind is SourceKind.CODEX and kind == "log":
        fields = dict(_ROLLOUT.findall(file.text[:2000]))
        project = project_in(fields.get("cwd", ""), project_of)
        extra = {"created": when} if (when := moment(fields.get("updated_at"))) else {}
    elif source.kind in {SourceKind.CURSOR, SourceKind.WINDSURF} and (head := _RULE_HEAD.match(file.text)):
        fields = dict(_FIELD.findall(head[1]))
        title = first_of(fields, "description")
        extra = {"globs": fields["globs"]} if fields.get("globs") else {}
        file = replace(file, text=file.text[head.end() :].lstrip("\r\n"))
    item = item_of(file, kind=kind, title=title)
    path = file.path if is_note(file.path) else f"{file.path.removesuffix('.mdc').lstrip('.')}.md"
    extra |= {"project": project} if project else {}
    yield replace(item, path=path, properties={**item.properties, **extra})


def _project(source: ImportSource, root: Path, above: str, path: str, project_of: ProjectOf) -> str | None:
    """Returns the repository that has the rules; for Gemini's memory of a project, the folder that it names."""
    if source.kind is SourceKind.GEMINI and path.startswith("tmp/"):
        with suppress(OSError, UnicodeError):
            named = (root / path).parents[1].joinpath(".project_root").read_text("utf-8").strip()
            return project_in(named, project_of)
    holder = root.parents[above.count("/") - 1] if above else root
    is_personal = source.kind is SourceKind.CODEX or above.startswith(".codeium") or root.name == ".gemini"
    return None if is_personal else project_in(str(holder), project_of)


def project_in(folder: str, project_of: ProjectOf) -> str | None:
    """Returns the project of a folder that a source names; outside of all repositories the folder's own name, but for
    your home folder."""
    is_home = Path(folder) == Path.home()
    return project_of(folder) or (None if is_home else PurePosixPath(folder).name or None)
