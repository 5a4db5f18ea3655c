"""A project's repository, changed by the real git."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from mcp_memory.grounding.code_repository import open_code
from mcp_memory.grounding.references import Reference, check, find_references, ground

SYNC = '''MOST = 5

class Sync:
    """Syncs."""

    limit: int = 3

    def retry(self, times):
        for _ in range(times):
            if self.once():
                return True
        return False

    def once(self):
        return self.limit > 0


def backoff(attempt, base=2, most=60):
    delay = base ** attempt
    if delay > most:
        delay = most
    return delay + 1
'''


@dataclass(frozen=True)
class Shop:
    root: Path

    def git(self, *arguments: str, day: str = "2026-11-21T09:00:00+00:00") -> str:
        command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *arguments]
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.root.parent)}
        environ |= {"GIT_COMMITTER_DATE": day, "GIT_AUTHOR_DATE": day}
        done = subprocess.run(command, cwd=self.root, env=environ, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done
        return done.stdout.strip()

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def change(self, path: str, *pairs: tuple[str, str]) -> None:
        text = (self.root / path).read_text()
        for old, new in pairs:
            assert old in text
            text = text.replace(old, new)
        self.write(path, text)

    def commit(self, day: str = "2026-11-21T09:00:00+00:00") -> str:
        """Its short id."""
        self.git("add", "-A", day=day)
        self.git("commit", "-q", "-m", "theirs", day=day)
        return self.git("rev-parse", "--short", "HEAD")

    def ground(self, text: str) -> Reference:
        """What the only reference of a text names in the working tree."""
        found = ground(find_references(text)[0], open_code(str(self.root), 30).snapshot(None))
        assert found
        return self.check(found)

    def check(self, known: Reference) -> Reference:
        return check(known, open_code(str(self.root), 30))


def make_shop(folder: Path) -> Shop:
    made = Shop(folder / "shop")
    made.root.mkdir()
    made.git("init", "-q", "-b", "main")
    made.write("src/sync.py", SYNC)
    made.write("justfile", "test:\n    pytest -q\n")
    made.write("docs/guide.md", "".join(f"line {number}\n" for number in range(20)))
    made.commit()
    return made
