"""Which version is newer, by the order that packaging tools use."""

from __future__ import annotations

import itertools

import pytest
from packaging.version import Version

from mcp_memory.client.connection import is_newer

VERSIONS = [
    "0", "0.0.9", "0.1", "0.1.0", "0.1.1.dev2", "0.1.1.dev10", "0.1.1a1.dev1", "0.1.1a1", "0.1.1b2", "0.1.1rc1",
    "0.1.1rc2", "0.1.1", "0.1.1.post1", "0.1.2", "0.1.10", "0.2", "1.0", "1.0.0", "10.0", "2026.11",
]  # fmt: skip


def test_the_order_is_that_of_packaging():
    for one, other in itertools.product(VERSIONS, repeat=2):
        assert is_newer(one, than=other) == (Version(one) > Version(other)), (one, other)


@pytest.mark.parametrize("text", ["", "unknown", "x.1", "٣"])
def test_what_is_no_version_is_neither_newer_nor_older(text: str):
    assert not is_newer(text, than="0.1")
    assert not is_newer("0.1", than=text)
