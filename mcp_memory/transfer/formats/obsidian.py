"""Reads Obsidian vaults, and any other folder of Markdown: notes where they are, properties, and `#tags` in the text.
Attachments, canvases and Obsidian's own files stay behind."""

from __future__ import annotations

from mcp_memory.transfer.formats.folder import SourceFolder
from mcp_memory.transfer.formats.markdown import item_of
from mcp_memory.transfer.item import ImportSource, SourceReading


def read(source: ImportSource, folder: SourceFolder) -> SourceReading:
    """Raises StorageFailed where the folder cannot be opened."""
    tree = folder.tree()
    items = [item_of(file, tags_in_text=True) for file in folder.files(tree)]
    return SourceReading(source, items, tree.left_out)
