"""A daemon whose state folder fills up or turns read-only, and then its vault. Runs in a mount namespace of its own.

Usage: full_disk.py ROOT. Prints JSON, one object a scene, of what was seen through HTTP.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.daemon.place import Place, Served, eventually
from tests.daemon.wire import Wire

SIZE = 6_000_000
"""Bytes: the index of the notes below takes about one million."""

NOTES = 50
"""About each word; a search shows as many."""

SPARE_BYTES = range(0, 320_000, 16_384) if os.environ.get("MCP_MEMORY_EXHAUSTIVE") else (0, 16_384, 98_304)
"""What is left when the notes change: nothing at all; too little to begin; enough to begin and not to finish."""

Seen = dict[str, Any]


def main(root: Path) -> None:
    place = Place(root, root / "models", dict(os.environ))
    for folder in (place.state.home, place.vault):
        folder.mkdir(parents=True)
    for folder in (place.state.home, place.vault):
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder], check=True)
    write_notes(place, "teapot")
    with place.serving() as served, Wire(served) as wire:
        eventually(lambda: wire.api("status").json["ready"])
        for number, spare in enumerate(SPARE_BYTES):
            ballast = fill(place.state.home, spare)
            tell(f"full but for {spare}", served, wire, f"harbour{number}", ballast.unlink)
        cover(place)
        tell("read-only", served, wire, "lighthouse", lambda: uncover(place))
        tell_vault(served, wire)
        print(json.dumps({"scene": "log", "text": served.journal}))


def tell(scene: str, served: Served, wire: Wire, word: str, mend: Any) -> None:
    """All that was seen while the folder was of no use, and after `mend`."""
    write_notes(served.place, word)
    eventually(lambda: "may be missing" in (searched(wire, "teapot")["degraded"] or "") or is_current(wire, word))
    during = {
        "current": is_current(wire, word),
        "search": searched(wire, "teapot"),
        "append": answered(wire, {"content": f"{word} {scene}", "kind": "fact"}),
        "log": answered(wire, {"content": f"{word} {scene}", "kind": "log"}),
        "errors": wire.api("status").json["errors"],
        "stored": [str(file) for file in served.place.vault.rglob("*.md") if scene in file.read_text()],
    }
    mend()
    eventually(lambda: is_current(wire, word) and not wire.api("status").json["errors"])
    again = answered(wire, {"content": f"{word} {scene}", "kind": "fact"})
    files = len(list(served.place.vault.rglob("*.md")))
    after = {"search": searched(wire, word), "append": again, "status": wire.api("status").json, "files": files}
    print(json.dumps({"scene": scene, "during": during, "after": after}), flush=True)


def tell_vault(served: Served, wire: Wire) -> None:
    """What an agent is told when the vault itself is full."""
    content = "a note that finds no room: " + "lantern " * 2_000

    def files() -> dict[str, str]:
        vault = served.place.vault
        return {str(file): sha256(file.read_bytes()).hexdigest() for file in vault.rglob("*") if file.is_file()}

    ballast = fill(served.place.vault, 4_096)
    before = files()
    refused = wire.tool("memory_append", {"content": content})
    during = files()
    ballast.unlink()
    again = wire.tool("memory_append", {"content": content})
    print(json.dumps({"scene": "vault", "refused": refused, "before": before, "during": during, "again": again}))


def is_current(wire: Wire, word: str) -> bool:
    """It may be: what is open already can be all that the index needs."""
    return searched(wire, word)["hits"] >= NOTES


def searched(wire: Wire, word: str) -> Seen:
    answer = wire.api("search", {"query": word, "limit": 50})
    assert answer.status == 200, answer
    return {"hits": len(answer.json["hits"]), "degraded": answer.json["degraded"]}


def answered(wire: Wire, arguments: Seen) -> Seen:
    answer = wire.api("append", arguments)
    return {"status": answer.status, **answer.json}


def write_notes(place: Place, word: str) -> None:
    for number in range(NOTES):
        text = " ".join(f"{word}{number}x{each}" for each in range(40))
        (place.vault / f"{word}-{number}.md").write_text(
            f"# About {word} {number}\n\nThe {word} number {number}: {text}\n"
        )


def fill(folder: Path, spare: int) -> Path:
    """A file that takes all but `spare` bytes of the file system."""
    ballast = folder / "ballast"
    facts = os.statvfs(folder)
    left = facts.f_bavail * facts.f_frsize - spare
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while left > 0:
            left -= file.write(bytes(min(left, 65_536)))
    return ballast


def cover(place: Place) -> None:
    """Nothing can be opened for writing any more; what is open stays so, as after a disk error."""
    subprocess.run(["mount", "--bind", place.state.home, place.state.home], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", place.state.home], check=True)


def uncover(place: Place) -> None:
    subprocess.run(["umount", "-l", place.state.home], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
