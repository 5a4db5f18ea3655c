"""The share command: copies a topic into a folder of its own."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from mcp_memory.cli.command_context import CommandContext, command_options, flag
from mcp_memory.cli.console import Remark
from mcp_memory.text.pluralize import counted


@click.command()
@click.argument("topic")
@click.option(
    "--to",
    "target",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    required=True,
    help="An empty folder, or one shared to before.",
)
@flag("--link", "linked", help="Make hard links instead of copies, where possible.")
@flag("--dry-run", help="List what would be done, without doing it.")
@command_options
def share(cli: CommandContext, topic: str, target: Path, linked: bool, dry_run: bool) -> None:
    """Copy a topic with its pages and notes to a folder outside the vault, for another vault or other people.

    Links that lead out of the topic become plain text. Private, forgotten, expired and archived notes are skipped, and
    so is anything that looks like a secret (see vault.secrets). Run the same command again to update the folder;
    changes made there stay. The vault never changes.

    \b
    mcp-memory share 01-japan-trip --to ~/shared/japan-trip
    [vault.sources]                       in another vault's configuration
    trip = "~/shared/japan-trip"
    """
    from mcp_memory.compaction.share.folder import SharedFolders, ShareFolder
    from mcp_memory.compaction.share.share_bundle import ShareBundle

    folder = ShareFolder(target, cli.settings.vault_path)
    bundle = ShareBundle.from_json(cli.ask("share", target=topic))
    if not dry_run:
        folder.planned(bundle)  # raises for a folder that can't be filled, before it is remembered
        SharedFolders(cli.settings.state.root).add(folder.folder)
    actions = folder.planned(bundle) if dry_run else folder.fill(bundle, linked=linked)
    warnings = [f"{file.path}: {file.why}" for file in bundle.left_out if file.is_warning]
    report = {
        "topic": bundle.topic,
        "to": str(folder.folder),
        "dry_run": dry_run,
        "files": {path: action.value for path, action in actions.items()},
        "linked": folder.linked(bundle),
        "links_cut": bundle.cut,
        "left_out": [{"path": file.path, "why": file.why} for file in bundle.left_out],
        "warnings": [*bundle.warnings, *warnings],
    }
    cli.show(report, _lines(report))


def _lines(report: dict[str, Any]) -> Iterator[str]:
    for path, action in report["files"].items():
        if action == "kept":
            yield f"kept with its changes there: {path}"
        elif action != "unchanged":
            yield f"{action}: {path}"
    for why, number in sorted(Counter(file["why"] for file in report["left_out"]).items()):
        yield f"left out: {counted(number, 'file')}, {why}"
    for line in report["warnings"]:
        yield Remark(f"note: {line}")
    counts = Counter[str](report["files"].values())
    parts = [f"{counts[name]} {name}" for name in ("new", "updated", "removed", "unchanged", "kept") if counts[name]]
    if report["linked"]:
        parts.append(f"{report['linked']} of them hard links to the vault's files")
    if report["links_cut"]:
        parts.append(f"{counted(report['links_cut'], 'link')} out of the topic made into plain text")
    verb = "would share" if report["dry_run"] else "shared"
    yield f"{verb} {report['topic']} with {report['to']}: {', '.join(parts) or 'nothing'}"
