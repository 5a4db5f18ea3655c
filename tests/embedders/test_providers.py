"""The services by name: what each is asked, with which key and within which limits, against a stand-in of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_memory.embedders.base import Embedder, EmbedderConfig
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.embedders.providers import SERVICES
from mcp_memory.errors import ConfigInvalid
from tests.daemon.conftest import KEYWORDS_ONLY
from tests.daemon.place import Place, end, eventually
from tests.support.stub_endpoint import Answer, StubEndpoint, serving
from tests.support.terminal import answered
from tests.support.world import World, found

MODELS = {
    "openai": ("api.openai.com/v1", "text-embedding-3-small", 1536),
    "gemini": ("generativelanguage.googleapis.com/v1beta/openai", "gemini-embedding-001", 3072),
    "voyage": ("api.voyageai.com/v1", "voyage-4", 1024),
    "mistral": ("api.mistral.ai/v1", "mistral-embed", 1024),
    "ollama": ("127.0.0.1:11434/v1", "bge-m3", 1024),
}
"""Provider → its address, its usual model, and that model's dimension."""

LIMITS = {"openai": (2048, 300_000), "gemini": (100, 204_800), "voyage": (1000, 320_000), "mistral": (512, 16_384)}
"""Provider → the texts and tokens of a request that it takes, as documented."""


class StandIn:
    """Refuses what the service refuses."""

    def __init__(self, provider: str) -> None:
        self.provider = provider

    def __call__(self, request: dict[str, Any]) -> Answer:
        _, model, dimension = MODELS[self.provider]
        texts = request["input"]
        most, tokens = LIMITS.get(self.provider, (1000, 100_000))
        is_odd = self.provider in {"gemini", "voyage"} and "encoding_format" in request
        if is_odd or len(texts) > most or sum(map(len, texts)) > tokens or request["model"] != model:
            return 400, {"error": {"code": "invalid_request"}}, {}
        vectors = [[float(len(text)), *[1.0] * (dimension - 1)] for text in texts]
        return 200, {"data": [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]}, {}


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for service in SERVICES.values():
        monkeypatch.delenv(service.api_key_env or "OLLAMA_HOST", raising=False)


@pytest.fixture(params=list(MODELS))
def service(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, StubEndpoint]]:
    """A provider, whose key is set, and its stand-in."""
    if key := SERVICES[request.param].api_key_env:
        monkeypatch.setenv(key, "sk-secret")
    with serving(StandIn(request.param)) as endpoint:
        yield request.param, endpoint


class Stopped(Exception):
    pass


def opened(tmp_path: Path, **options: Any) -> Embedder:
    return open_embedder(EmbedderConfig(**options), tmp_path)


def address_asked(tmp_path: Path, **options: Any) -> str:
    """What a provider says that it will ask; it is stopped before."""

    def stop(line: str) -> None:
        raise Stopped(line)

    with pytest.raises(Stopped) as stopped:
        open_embedder(EmbedderConfig(**options), tmp_path, stop)
    return str(stopped.value)


def test_a_name_is_enough(service: tuple[str, StubEndpoint], tmp_path: Path) -> None:
    provider, _ = service
    address, model, _ = MODELS[provider]
    assert address_asked(tmp_path, provider=provider) == f"asking {address} for {model}"
    assert address_asked(tmp_path, provider=provider, model="m").endswith(" for m")


def test_each_service_takes_what_it_is_sent(
    service: tuple[str, StubEndpoint], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider, endpoint = service
    monkeypatch.setitem(SERVICES, provider, replace(SERVICES[provider], endpoint=endpoint.address))
    embedder = opened(tmp_path, provider=provider)
    try:
        assert embedder.embed_documents(["x" * 50] * 300).shape == (300, MODELS[provider][2])
        assert embedder.embed_documents(["x" * 9_000] * 60).shape == (60, MODELS[provider][2])
    finally:
        embedder.close()
    assert {request["path"] for request in endpoint.requests} == {"/v1/embeddings"}
    key = "Bearer sk-secret" if SERVICES[provider].api_key_env else None
    assert {headers.get("Authorization") for headers in endpoint.headers} == {key}
    short = [len(request["input"]) for request in endpoint.requests if len(request["input"][0]) == 50]
    assert len(short) == {"openai": 2, "gemini": 3, "voyage": 2, "mistral": 2, "ollama": 10}[provider], short


@pytest.mark.parametrize("provider", [name for name in MODELS if name != "ollama"])
def test_a_missing_key_is_named_before_anything_is_sent(provider: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match=f"{SERVICES[provider].api_key_env} with the key for .* isn't set"):
        opened(tmp_path, provider=provider)


@pytest.mark.parametrize("form", ["http://127.0.0.1:{}", "127.0.0.1:{}", "http://127.0.0.1:{}/"])
def test_ollama_is_found_by_its_variable(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(StandIn("ollama")) as endpoint:
        monkeypatch.setenv("OLLAMA_HOST", form.format(endpoint.server.server_port))
        opened(tmp_path, provider="ollama").close()
        assert len(endpoint.requests) == 1
    monkeypatch.setenv("OLLAMA_HOST", "0.0.0.0")
    assert address_asked(tmp_path, provider="ollama") == "asking 0.0.0.0:11434/v1 for bge-m3"


@pytest.mark.anyio
async def test_a_first_index_takes_few_requests(world: World) -> None:
    for number in range(60):
        world.write(f"n{number}.md", f"The kiln number {number} fires at {number} degrees.")
    with serving(StandIn("gemini")) as endpoint:
        config = EmbedderConfig(provider="gemini", endpoint=endpoint.address)
        async with world.engine(embedder=config) as engine:
            assert (await engine.status())["pending"] == 0
            assert [len(request["input"]) for request in endpoint.requests] == [1, 60]
            assert await found(engine, "kiln", mode="semantic")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A machine whose local model can't be used."""
    nowhere = {"MCP_MEMORY_EMBEDDER_MODEL": "/nowhere", "PATH": "/usr/bin:/bin"}
    made = Place(tmp_path, tmp_path / "models", {**KEYWORDS_ONLY, "MCP_MEMORY_EMBEDDER_PROVIDER": "auto", **nowhere})
    yield made.make()
    end(made)


def test_a_service_is_only_offered_where_the_local_model_fails(place: Place) -> None:
    keys = {"VOYAGE_API_KEY": "sk-v", "MISTRAL_API_KEY": "sk-m"}
    place.vault.mkdir()
    with serving(StandIn("voyage")) as endpoint:
        keys["MCP_MEMORY_EMBEDDER_ENDPOINT"] = endpoint.address
        place.run("start", **keys).ok()
        line = 'provider = "voyage" under [embedder] sends the texts of your notes to Voyage'
        assert line in place.run("doctor", **keys).out
        assert "Which one" not in place.run("setup", "--yes", "--no-past", **keys).out
        assert endpoint.requests == [], "nobody has said yes"


def test_setup_turns_a_service_on_by_a_yes(place: Place) -> None:
    config = place.home / ".config/mcp-memory/config.toml"
    del place.more["MCP_MEMORY_EMBEDDER_PROVIDER"]
    place.more["MCP_MEMORY_EMBEDDER_MODEL"] = "voyage-4"
    with serving(StandIn("voyage")) as endpoint:
        more = {"VOYAGE_API_KEY": "sk-v", "MCP_MEMORY_EMBEDDER_ENDPOINT": endpoint.address, "HF_HUB_OFFLINE": "1"}
        assert (
            'on: provider = "voyage" under [embedder]'
            in answered(place, ["setup", "--no-past"], ["voyage\n"], **more).out
        )
        assert config.read_text() == '[embedder]\nprovider = "voyage"\n'
        assert eventually(lambda: "voyage-4@127.0.0.1" in place.run("status", **more).ok().out)


def test_starting_says_at_once_that_a_key_is_missing(place: Place) -> None:
    said = place.run("start", MCP_MEMORY_EMBEDDER_PROVIDER="gemini")
    assert "GEMINI_API_KEY with the key for Gemini isn't set" in said.ok().err
    assert "GEMINI_API_KEY" in place.run("restart", MCP_MEMORY_EMBEDDER_PROVIDER="gemini").ok().err
    assert "GEMINI_API_KEY" in place.run("doctor", MCP_MEMORY_EMBEDDER_PROVIDER="gemini").out
