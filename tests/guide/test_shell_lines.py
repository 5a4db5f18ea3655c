"""Every `mcp-memory` line that the README and the guide show in a shell block runs as it stands there."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.place import CHECKOUT, Place, eventually
from tests.support.topics import BREAD, SETTINGS

PAGES = {
    page.stem: page for page in (CHECKOUT / "README.md", *sorted((CHECKOUT / "mcp_memory" / "guide").glob("*.md")))
}
ELSEWHERE = re.compile(r"^(?!mcp-memory )")
"""Other programs: in tests/clients and .ci/run."""
SESSION = "85b5b496-51f8-47cb-a1d1-4c31e918f6d2"
PLACEHOLDER = re.compile(r"NOTE|ID\|PATH|01M7Z3HPR77M1K414E2NKABTV4")
NOTE = "Rye bread of sourdough bakes an hour at 200 degrees."
EDITED = f"{NOTE} It cools for two hours.\n"
"""What an edit makes of a note. Notes about nothing would keep those about bread from being a topic."""
MAY_BE = {"doctor": {0, 1}, "projects": {0, 4}, "setup": {0, 5}, "undo": {0, 5}}
"""What a command ends with that has something to report, nothing of that name, or no terminal to ask on."""


def shell_lines(page: str) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", PAGES[page].read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip() and not ELSEWHERE.search(line)]


@pytest.fixture
def person(tmp_path: Path, model_cache: Path) -> Iterator[Place]:
    """Somebody with a repository as vault, sessions of a client, notes to import, and enough notes for topics."""
    place = Place(tmp_path, model_cache, {**SETTINGS, "MCP_MEMORY_GIT_AUTO_COMMIT": "true"}).make()
    place.vault.mkdir()
    for command in (["init", "-q"], ["config", "user.name", "Ada"], ["config", "user.email", "ada@example.org"]):
        subprocess.run(["git", *command], cwd=place.vault, env=place.environ, check=True, timeout=30)
    notes = place.home / "Documents" / "Notes"
    notes.mkdir(parents=True)
    (notes / "sourdough.md").write_text("# Sourdough\n\nFeed it every Friday.\n", encoding="utf-8")
    project = place.home / ".claude" / "projects" / "-home-ada"
    (project / "memory").mkdir(parents=True)
    (project / "memory" / "MEMORY.md").write_text("- The lighthouse has 214 steps.\n", encoding="utf-8")
    shutil.copy(CHECKOUT / "tests" / "capture" / "samples" / "claude-code" / f"{SESSION}.jsonl", project)
    with place.started():
        for text in [*BREAD, NOTE]:
            place.run("append", text).ok()
        yield place


def test_every_line_runs(person: Place):
    failed = list[str]()
    for page in sorted(PAGES, key=lambda page: page == "daemon"):  # the last: it stops the daemon, and removes all
        for line in shell_lines(page):
            words = [
                word.replace("~", str(person.home))
                for word in shlex.split(with_real_names(line, person), comments=True)
            ]
            typed = EDITED if words[1] == "edit" else "y\n" * 20
            done = person.run(*words[1:], stdin=typed.encode())
            if done.code not in MAY_BE.get(words[1], {0}):
                failed.append(f"{page}: {line}\n  ended with {done.code}: {done.out[-300:]}{done.err[-300:]}")
    assert not failed, "\n".join(failed)


def filed(place: Place) -> str | None:
    """File what is ready, and return the name of a topic. A note waits for its vector."""
    place.run("topics", "compact").ok()
    return next((topic.name for topic in place.vault.glob("topics/0*")), None)


def with_real_names(line: str, place: Place) -> str:
    """The line with the page's placeholders replaced by what this person has."""
    if PLACEHOLDER.search(line):  # the same text again is the same note
        note = place.run("append", "--json", NOTE).ok().json["id"]
        line = PLACEHOLDER.sub(note, line)
        if "COMMIT" in line:  # five seconds after the last change
            commits = eventually(lambda: place.run("changes", note, "--json").ok().json["log"], within_s=60)
            line = line.replace("COMMIT", commits[0]["commit"])
    if "RUN" in line or "01-japan-trip" in line:
        for text in BREAD:  # a page before may have taken them back
            place.run("append", text).ok()
        topic = eventually(lambda: filed(place), within_s=60)
        changes = place.run("changes", "--limit", "20000", "--json").ok().json["changes"]
        run = next(change["run"] for change in changes if change["run"])
        line = line.replace("RUN", run).replace("01-japan-trip", topic)
    return line.replace("SESSION", SESSION)
