"""The engine: a text's vector depends on the text alone, and any text has one."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.embedders.base import Embedder, EmbedderConfig
from mcp_memory.embedders.compiler import SAMPLES
from mcp_memory.embedders.inputs import prepared, prompts_mark
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.errors import EmbedderUnavailable


def test_near_texts_are_nearer_than_far_ones(minilm: Embedder):
    query = minilm.embed_query("When does the train to Osaka leave?")
    near, far = minilm.embed_documents(
        ["The Osaka train departs at nine.", "Tabs are two spaces wide in this project."]
    )
    assert query @ near > 0.5
    assert query @ far < 0.2


def test_a_vector_depends_on_its_text_alone(minilm: Embedder):
    together = minilm.embed_documents(SAMPLES)
    reversed_order = minilm.embed_documents(SAMPLES[::-1])[::-1]
    alone = np.stack([minilm.embed_documents([text])[0] for text in SAMPLES])
    assert np.array_equal(together, reversed_order)
    assert np.array_equal(together, alone)


def test_vectors_are_float32_of_length_one(minilm: Embedder):
    vectors = minilm.embed_documents(SAMPLES)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(SAMPLES), minilm.dimension) == (len(SAMPLES), 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    query = minilm.embed_query("tea")
    assert query.dtype == np.float32
    assert query.shape == (384,)


def test_no_texts_give_no_vectors(minilm: Embedder):
    assert minilm.embed_documents([]).shape == (0, 384)


@pytest.mark.parametrize("text", ["", " ", "\0", "a\0b", "\ud800", "x\udfffy", "\U0010ffff", "\n" * 5000, "﷽" * 3000])
def test_any_text_has_a_vector(minilm: Embedder, text: str):
    assert np.isfinite(minilm.embed_query(text)).all()
    assert np.isfinite(minilm.embed_documents([text])).all()


def test_a_long_text_is_embedded_by_its_beginning(minilm: Embedder):
    beginning = "the release notes are written on monday " * 40
    assert np.array_equal(minilm.embed_query(beginning + "x" * 1_000_000), minilm.embed_query(beginning))


def test_threads_get_the_vectors_that_one_caller_gets(minilm: Embedder):
    expected = [minilm.embed_query(text) for text in SAMPLES]
    with ThreadPoolExecutor(8) as pool:
        queries = list(pool.map(minilm.embed_query, SAMPLES * 4))
        documents = list(pool.map(minilm.embed_documents, [SAMPLES] * 4))
    assert all(np.array_equal(found, expected[number % len(SAMPLES)]) for number, found in enumerate(queries))
    assert all(np.array_equal(found, expected) for found in documents)


def test_a_closed_model_says_so(model_cache):
    embedder = open_embedder(EmbedderConfig(), model_cache)
    embedder.close()
    embedder.close()
    for ask in (lambda: embedder.embed_query("tea"), lambda: embedder.embed_documents(["tea", "milk"])):
        with pytest.raises(EmbedderUnavailable, match="closed"):
            ask()


def test_the_fingerprint_names_what_decides_a_vector(model_cache, minilm: Embedder):
    prompted = open_embedder(EmbedderConfig(query_prompt="query: "), model_cache)
    assert minilm.fingerprint == (
        "sentence-transformers/all-MiniLM-L6-v2@8199be6f699a pooling=mean normalised max=256 int8/1 prompts=none"
    )
    assert prompted.fingerprint.endswith(f"prompts={prompts_mark('query: ', '')}")
    assert not np.array_equal(prompted.embed_query("tea"), minilm.embed_query("tea"))
    assert np.array_equal(prompted.embed_query("tea"), minilm.embed_query("query: tea"))
    prompted.close()


@given(st.text(st.characters(), max_size=60), st.text(max_size=5), st.integers(1, 50))
def test_prepared_text_is_encodable_bounded_and_otherwise_unchanged(text: str, prompt: str, max_chars: int):
    result = prepared(text, prompt, max_chars)
    result.encode()
    assert len(result) <= len(prompt) + max_chars
    if not any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        assert result == prompt + text[:max_chars]


@given(st.lists(st.sampled_from(["a", "é", "\ud83d", "\ude00", "\udfff"]), max_size=6).map("".join))
def test_lone_surrogates_become_replacement_characters(text: str):
    # Two halves that fit are one character; any other half is none.
    whole = re.sub("([\ud800-\udbff])([\udc00-\udfff])", lambda pair: chr(_code_point(*map(ord, pair.groups()))), text)
    assert prepared(text, "", 100) == re.sub("[\ud800-\udfff]", "\ufffd", whole)


def _code_point(high: int, low: int) -> int:
    return 0x10000 + (high - 0xD800) * 0x400 + (low - 0xDC00)
