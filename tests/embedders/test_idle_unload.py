"""A model that leaves memory and comes back as it was."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from mcp_memory.embedders.guards import IdleUnloadEmbedder
from mcp_memory.errors import EmbedderUnavailable

# Prints the resident megabytes that a rest gave back, and whether the vector of a text is the same after it.
RESTED = """
import sys
from pathlib import Path
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.embedders.guards import IdleUnloadEmbedder

def resident_mb():
    return next(int(l.split()[1]) / 1024 for l in open("/proc/self/status") if l.startswith("VmRSS"))

open_it = lambda: open_embedder(EmbedderConfig(), Path(sys.argv[1]))
embedder = IdleUnloadEmbedder(open_it(), open_it)
before = embedder.embed_documents(["a violet teapot"] * 20)
filled = resident_mb()
assert embedder.rest(0) and not embedder.loaded
print(filled - resident_mb(), (embedder.embed_documents(["a violet teapot"])[0] == before[0]).all())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc and glibc")
def test_the_real_model_gives_its_memory_back(model_cache: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-c", RESTED, model_cache], cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True
    ).stdout.split()
    assert float(said[0]) > 12, "the layers' weights alone have 11 MB; those of words are read where they are needed"
    assert said[1] == "True"


@dataclass
class Stub:
    """Embeds only while `go` is set; says when it began."""

    fingerprint: str = "stub"
    dimension: int = 2
    resident: bool = True
    texts_at_once: int = 8
    closed: bool = False
    began: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)

    def embed_query(self, text: str) -> np.ndarray:
        self.began.set()
        assert self.go.wait(10)
        assert not self.closed, "closed under a text"
        return np.ones(2, np.float32)

    def close(self) -> None:
        self.closed = True


def test_it_does_not_rest_under_a_text() -> None:
    stub = Stub()
    embedder = IdleUnloadEmbedder(stub, Stub)
    vectors: list[np.ndarray] = []
    worker = threading.Thread(target=lambda: vectors.append(embedder.embed_query("x")))
    worker.start()
    assert stub.began.wait(10)
    assert not embedder.rest(0)
    stub.go.set()
    worker.join(10)
    assert len(vectors) == 1
    assert not embedder.rest(3600), "it was just used"
    assert embedder.rest(0)
    assert stub.closed
    assert not embedder.rest(0), "it rests already"


def test_another_model_in_its_place_is_refused() -> None:
    embedder = IdleUnloadEmbedder(Stub(), lambda: other)
    other = Stub("another")
    assert embedder.rest(0)
    with pytest.raises(EmbedderUnavailable, match="another embedding model"):
        embedder.load()
    assert other.closed
    assert embedder.fingerprint == "stub"
