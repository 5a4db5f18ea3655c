"""share: a topic in a folder of its own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click

from mcp_memory.cli.console import emit, print_status, say
from mcp_memory.cli.engine_call import ask
from mcp_memory.cli.options import CommonOptions, command_options
from mcp_memory.cli.topics.tree_view import counted


@click.command()
@click.argument("topic")
@click.option(
    "--to", "target", type=click.Path(path_type=Path), metavar="FOLDER", required=True, help="Empty, or shared before."
)
@click.option("--link", "linked", is_flag=True, help="Hard links to the vault's own files where that can be.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@command_options
def share(common: CommonOptions, topic: str, target: Path, linked: bool, dry_run: bool, as_json: bool) -> None:
    """Copy a topic with its pages and notes to a folder outside the vault, for another vault or other people.

    Links that lead out of the topic become plain text. Forgotten, expired and archived notes stay out, and so does what
    seems to hold a secret (see vault.secrets). The same command again updates the
    folder; what was changed there stays. The vault is never written.

    \b
    mcp-memory share 01-japan-trip --to ~/shared/japan-trip
    [vault.sources]                       in another vault's configuration
    trip = "~/shared/japan-trip"
    """
    from mcp_memory.transfer.share.folder import SharedFolders, ShareFolder
    from mcp_memory.transfer.share.share_bundle import ShareBundle

    settings = common.settings()
    folder = ShareFolder(target, settings.vault_path)
    bundle = ShareBundle.from_json(ask(settings, "share", {"target": topic}))
    if not dry_run:
        folder.planned(bundle)  # what cannot be filled is not remembered
        SharedFolders(settings.state.root).add(folder.folder)
    deeds = folder.planned(bundle) if dry_run else folder.fill(bundle, linked=linked)
    report = {
        "topic": bundle.topic,
        "to": str(folder.folder),
        "dry_run": dry_run,
        "files": {path: deed.value for path, deed in deeds.items()},
        "linked": folder.linked(bundle),
        "links_cut": bundle.cut,
        "left_out": [{"path": each.path, "why": each.why} for each in bundle.left_out],
        "warnings": [*bundle.warnings, *(f"{each.path}: {each.why}" for each in bundle.left_out if each.is_warning)],
    }
    emit(report) if as_json else _tell(report)


def _tell(report: dict[str, Any]) -> None:
    for path, deed in report["files"].items():
        if deed == "kept":
            say(f"kept with its changes there: {path}")
        elif deed != "unchanged":
            say(f"{deed}: {path}")
    for why, number in sorted(Counter(each["why"] for each in report["left_out"]).items()):
        say(f"left out: {counted(number, 'file')}, {why}")
    for line in report["warnings"]:
        print_status(f"note: {line}")
    counts = Counter[str](report["files"].values())
    said = [f"{counts[deed]} {deed}" for deed in ("new", "updated", "removed", "unchanged", "kept") if counts[deed]]
    if report["linked"]:
        said.append(f"{report['linked']} of them the vault's own files")
    if report["links_cut"]:
        said.append(f"{counted(report['links_cut'], 'link')} that led out made plain text")
    verb = "would share" if report["dry_run"] else "shared"
    say(f"{verb} {report['topic']} with {report['to']}: {', '.join(said) or 'nothing'}")
