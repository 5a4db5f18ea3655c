"""Two hundred documents as an import leaves them, made anew: `python -m tests.eval.documents FOLDER`.

Those of `changes/imported`, which are about the same subjects as the notes of that set, and Python's own reference:
its language topics, the documentation of its modules, and that of numpy's functions. None answers a prompt of any set:
`python -m tests.evaluation tests/eval/developer/prompts.jsonl --distractors FOLDER`.
"""

from __future__ import annotations

import ast
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np

from mcp_memory.transfer.formats.folder import SourceFile
from mcp_memory.transfer.formats.markdown import item_of
from mcp_memory.transfer.item import ImportSource, imported_id, seal_note
from mcp_memory.transfer.target_paths import folder_of

WRITTEN = Path(__file__).with_name("changes") / "imported"
COUNT = 200
FEWEST_CHARS = 300
MADE_S = 1_787_000_000.0


def documents(folder: Path, count: int = COUNT) -> int:
    """Fills the folder, and returns how many documents there are."""
    shutil.copytree(WRITTEN, folder, dirs_exist_ok=True)
    source = ImportSource("obsidian", "python-reference", Path("/srv/reference"))
    wanted = count - sum(1 for _ in folder.rglob("*.md"))
    for (title, text), _ in zip(_reference(), range(wanted), strict=False):
        name = f"{title}.md"
        data = f"# {title}\n\n{text.strip()}\n".encode()
        item = item_of(SourceFile(name, data, data.decode(), MADE_S), kind="reference", title=title)
        file = folder / folder_of(source) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(seal_note(item, source, imported_id(source, name), f"obsidian:{source.root}/{name}"))
    return sum(1 for _ in folder.rglob("*.md"))


def _reference() -> Iterator[tuple[str, str]]:
    yield from ((f"{name} in Python", text) for name, text in sorted(topics.items()))
    for name in sorted(sys.stdlib_module_names):
        file = Path(sysconfig.get_path("stdlib")) / f"{name}.py"
        if not name.startswith("_") and file.is_file():
            text = ast.get_docstring(ast.parse(file.read_bytes())) or ""
            if len(text) >= FEWEST_CHARS:
                yield f"The module {name}", text
    docs = ((name, getattr(np, name).__doc__ or "") for name in sorted(np.__all__))
    yield from ((f"numpy {name}", text) for name, text in docs if len(text) >= FEWEST_CHARS)


if __name__ == "__main__":
    print(f"{sys.argv[1]}: {documents(Path(sys.argv[1]))} documents")
