"""Schooling: an embedding model is shown prompts that want memory and prompts that do not, once, and what it made of
them is kept beside the compiled models.

For the bundled model that was done beforehand: its file is shipped.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from mcp_memory.embedders.base import Embedder
from mcp_memory.engine.durable import replace_file
from mcp_memory.index.wanting import Wanting, learn

SHIPPED = Path(__file__).with_name("examples")
EXAMPLES = SHIPPED / "prompts.jsonl"

DIGITS = 4

log = logging.getLogger(__name__)


class School:
    """Knows what models have learned. All but `wanting` reads and writes files, for worker threads."""

    def __init__(self, folder: Path) -> None:
        """`folder` is where results are kept."""
        self._folder = folder
        self._known: dict[str, Wanting] = {}

    def wanting(self, embedder: Embedder) -> Wanting | None:
        """None for a model that was neither looked up nor taught."""
        return self._known.get(embedder.fingerprint)

    def look_up(self, embedder: Embedder) -> Wanting | None:
        """What the model learned before; None where that was never, or of other examples."""
        if found := self._read(embedder.fingerprint, embedder.dimension):
            self._known[embedder.fingerprint] = found
        return found

    def teach(self, embedder: Embedder) -> Wanting:
        """Takes a few milliseconds for each of 2,400 prompts, and some seconds. Raises EmbedderUnavailable."""
        prompts, wanted = examples()
        learned = learn(prompts, np.stack([embedder.embed_query(prompt) for prompt in prompts]), wanted)
        # As it will be read from the file, so that the answers are the same tomorrow.
        wordings = {each: round(weight, DIGITS) for each, weight in learned.wordings.items()}
        found = Wanting(np.round(learned.weights, DIGITS), wordings, round(learned.doubt, DIGITS))
        self._known[embedder.fingerprint] = found
        self._keep(embedder.fingerprint, found)
        return found

    def _read(self, fingerprint: str, dimension: int) -> Wanting | None:
        name = _name(fingerprint)
        for file in (self._folder / name, SHIPPED / name):
            try:
                said = json.loads(file.read_text(encoding="utf-8"))
                wordings = {str(each): float(weight) for each, weight in said["wordings"].items()}
                found = Wanting(np.array(said["weights"], dtype=np.float32), wordings, float(said["doubt"]))
            except (OSError, ValueError, KeyError, TypeError, AttributeError):
                continue  # not there, or damaged: it is made again
            if found.weights.shape == (dimension,):
                return found
        return None

    def _keep(self, fingerprint: str, found: Wanting) -> None:
        weights = [round(weight, DIGITS) for weight in found.weights.tolist()]
        said = {"model": fingerprint, "doubt": found.doubt, "weights": weights, "wordings": found.wordings}
        try:
            replace_file(self._folder / _name(fingerprint), json.dumps(said, ensure_ascii=False).encode())
        except OSError as error:  # it is known until the daemon ends, and learned again then
            log.warning("what the model learned cannot be kept: %s", error.strerror)


def examples() -> tuple[Sequence[str], Sequence[bool]]:
    """Prompts, and of each whether memory is wanted."""
    rows = [json.loads(line) for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]
    return [row["prompt"] for row in rows], [row["wanted"] for row in rows]


@cache
def _name(fingerprint: str) -> str:
    """Another one where the examples are others."""
    return f"wanting-{hashlib.sha256(fingerprint.encode() + EXAMPLES.read_bytes()).hexdigest()[:16]}.json"
