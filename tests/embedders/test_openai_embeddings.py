"""The endpoint: order, length, retries within a deadline, and clear refusals; over a real connection."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from typing import Any

import numpy as np
import pytest

from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.embedders.openai_embeddings import MAX_CHARS
from mcp_memory.errors import ConfigInvalid, EmbedderUnavailable
from tests.support.stub_endpoint import Answer, StubEndpoint, serving


def embedding(text: str) -> list[float]:
    return [float(len(text)), 1.0, float(text.count("a"))]


def good(request: dict[str, Any]) -> Answer:
    data = [{"index": number, "embedding": embedding(text)} for number, text in enumerate(request["input"])]
    return 200, {"data": data[::-1], "model": request["model"]}, {}


@pytest.fixture
def endpoint():
    with serving(good) as endpoint:
        yield endpoint


@pytest.fixture
def connect(endpoint, tmp_path):
    opened = []

    def connect(**options: Any):
        settings = {"provider": "openai", "endpoint": endpoint.address, "model": "m", **options}
        opened.append(open_embedder(EmbedderConfig(**settings), tmp_path))
        return opened[-1]

    yield connect
    for embedder in opened:
        embedder.close()


def test_vectors_come_in_the_order_asked_at_unit_length(endpoint, connect):
    texts = ["a" * (number % 17) + "b" * (number % 5) + "." for number in range(200)]
    embedder = connect(document_prompt="doc: ")
    vectors = embedder.embed_documents(texts)
    expected = np.array([embedding("doc: " + text) for text in texts])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert embedder.dimension == 3
    assert vectors.dtype == np.float32
    assert np.allclose(vectors, expected, atol=1e-6)
    assert [len(request["input"]) for request in endpoint.requests] == [1, 32, 32, 32, 32, 32, 32, 8]
    assert {request["path"] for request in endpoint.requests} == {"/v1/embeddings"}
    assert embedder.embed_documents([]).shape == (0, 3)


def test_the_key_comes_from_the_variable_that_is_named(endpoint, connect, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-secret")
    embedder = connect(api_key_env="MY_KEY", endpoint=endpoint.address.replace("//", "//user:pw@") + "/")
    assert "pw" not in embedder.fingerprint
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(ConfigInvalid, match=r"variable MY_KEY .* isn't set \(export MY_KEY=YOUR-KEY; mcp-memory rest"):
        connect(api_key_env="MY_KEY")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    connect().embed_query("tea")
    assert "Authorization" not in endpoint.headers[-1], "a server of one's own needs no key"
    connect(api_key_env="PATH")
    assert endpoint.headers[-1]["Authorization"].startswith("Bearer /")


@pytest.mark.parametrize("text", ["", "  \n", "\0", "\ud800", "x" * 1_000_000])
def test_any_text_is_sent_in_a_form_that_services_take(endpoint, connect, text):
    connect().embed_query(text)
    (sent,) = endpoint.requests[-1]["input"]
    assert 0 < len(sent) <= MAX_CHARS
    sent.encode()


@pytest.mark.parametrize(
    "fault",
    [(429, {}, {"Retry-After": "0"}), (503, b"<html>", {}), (500, {}, {"Retry-After": formatdate(0)}), None],
    ids=["too many", "down", "error", "connection dropped"],
)
def test_a_fault_that_passes_is_waited_out(endpoint, connect, fault):
    embedder = connect()
    endpoint.script = [fault]
    assert embedder.embed_query("tea").shape == (3,)
    assert len(endpoint.requests) == 3


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            (401, {"error": {"code": "invalid_api_key", "message": "tea"}}, {}),
            r"401 \(invalid_api_key\).*OPENAI_API_KEY",
        ),
        ((404, {"error": {"code": "the text: tea"}}, {}), r"404 \(is 'm' the model's name"),
        ((400, {"error": {"message": "tea"}}, {}), "answers 400$"),
        ((302, b"", {"Location": "http://127.0.0.1:9/"}), "answers 302$"),
        ((200, b"<html>", {}), "something other than embeddings"),
        ((200, [], {}), "something other than embeddings"),
        ((200, {"data": [{"index": 0}]}, {}), "something other than embeddings"),
        ((200, {"data": [{"index": 0, "embedding": "AAAA"}]}, {}), "something other than embeddings"),
        ((200, {"data": []}, {}), "0 embeddings for 1 texts"),
        ((200, {"data": [{"index": 1, "embedding": [1, 0, 0]}]}, {}), "1 embeddings for 1 texts"),
        ((200, {"data": [{"index": 0, "embedding": [1, 0]}]}, {}), "another dimension than 3"),
        ((200, {"data": [{"index": 0, "embedding": []}]}, {}), "another dimension than 3"),
        ((200, b'{"data": [{"index": 0, "embedding": [1, NaN, 0]}]}', {}), "not finite"),
        ((200, {"data": [{"index": 0, "embedding": [0, 0, 0]}]}, {}), "no direction"),
        ((429, {}, {"Retry-After": "3600"}), "429.*tried for"),
    ],
)
def test_what_cannot_be_right_is_refused_at_once_and_quotes_no_text(endpoint, connect, fault, message):
    embedder = connect()
    endpoint.script = [fault]
    with pytest.raises(EmbedderUnavailable, match=message) as caught:
        embedder.embed_query("tea")
    assert "tea" not in str(caught.value)
    assert len(endpoint.requests) == 2


def test_a_fault_that_stays_ends_with_the_deadline(endpoint, connect):
    embedder = connect(timeout_s=1)
    endpoint.script = [(503, {}, {})] * 100
    with pytest.raises(EmbedderUnavailable, match=r"answers 503.*tried for 1 s"):
        embedder.embed_query("tea")
    assert len(endpoint.requests) >= 3


def test_closing_ends_a_wait(endpoint, connect):
    embedder = connect(timeout_s=300)
    endpoint.script = [(429, {}, {"Retry-After": "200"})]
    with ThreadPoolExecutor(1) as pool:
        worker = pool.submit(threading.get_ident).result()
        answer = pool.submit(embedder.embed_query, "tea")
        while not is_between_calls(worker, endpoint):
            assert not answer.done()
        embedder.close()
        with pytest.raises(EmbedderUnavailable, match="closed"):
            answer.result(timeout=20)


def is_between_calls(worker: int, endpoint: StubEndpoint) -> bool:
    """Whether the thread has had its answer and waits to ask again: it is in `_ask`, but in nothing of the client."""
    names, frame = [], sys._current_frames()[worker]
    while frame:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    return len(endpoint.requests) == 2 and ("wait" in names or names[0] == "_ask") and "_post" not in names


def test_an_endpoint_that_is_not_there_is_an_error_at_open(tmp_path):
    config = EmbedderConfig(provider="openai", endpoint="http://127.0.0.1:9/v1", model="m", timeout_s=300)
    with pytest.raises(EmbedderUnavailable, match=r"127\.0\.0\.1:9/v1 cannot be reached \(ConnectError\)"):
        open_embedder(config, tmp_path)


def test_nothing_is_sent_to_something_else_than_a_web_address(endpoint, connect):
    with pytest.raises(ConfigInvalid):
        connect(endpoint="file:///etc/passwd")
    assert endpoint.requests == []
