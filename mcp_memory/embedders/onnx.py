"""Run the compiled model with ONNX Runtime, without torch."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_memory.embedders.base import SentenceInContext
from mcp_memory.embedders.bundled.graphs import DIMENSION, MAX_TOKENS
from mcp_memory.embedders.compiled_models import (
    ADAPTED_FILE,
    INNER_STATES,
    MODEL_FILE,
    TOKENIZER_FILE,
    UNIT_VECTOR,
    CompiledModel,
)
from mcp_memory.embedders.inputs import CHARS_PER_TOKEN, prepared, prompts_mark
from mcp_memory.embedders.locate import BUNDLED_SHA256, DEFAULT_MODEL
from mcp_memory.errors import EmbedderUnavailable
from mcp_memory.runtime import telemetry

if TYPE_CHECKING:
    from mcp_memory.models import Vectors

VECTORS = 1
"""The version of the vectors. Increase it when the graph gives other vectors: then all notes are embedded again."""

NICENESS = 5
"""The niceness of pool threads, of at most 19. When cores are busy, a thread with 0 gets three times as much time. With
15 a busy machine never finished."""

MAX_THREADS = 8
"""The most simultaneous runs; more gain little, since all wait for the same memory."""

_FIELDS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
"""The model's inputs → the attributes of an encoding."""


ANSWERED_TOKENS, BEFORE_TOKENS, TEXT_TOKENS, AFTER_TOKENS = 32, 48, 96, 32
"""The most tokens of each part of a sentence in its context: the first ones, but the last ones of the text before
it."""
MOST_CHARS = 4000
"""The most characters of such a part."""


class OnnxEmbedder:
    """An `Embedder`; thread-safe, because nothing changes the session or the tokenizer.

    Each text is a separate run, with a run per core at once. An int8 run scales its activations to its input, so in a
    batch a text's vector depends on the other texts. In batches of eight, its cosine with the vector of a separate run
    is .994, as far as int8 is from fp32. Separate runs avoid that, and need no padding: 170 texts of 100 tokens per
    second on two cores, against 150 in batches of eight with two threads per run."""

    resident = True
    texts_at_once = 8

    def __init__(self, compiled: CompiledModel, query_prompt: str = "", document_prompt: str = "") -> None:
        """Open the files. Raises EmbedderUnavailable if the runtime or the tokenizer refuses them."""
        manifest = compiled.manifest
        self._compiled = compiled
        self._query_prompt = query_prompt
        self._document_prompt = document_prompt
        self._max_chars = MAX_TOKENS * CHARS_PER_TOKEN
        self.dimension = DIMENSION
        # Equal fingerprints, equal vectors, up to the last bits, which differ between processors.
        self.fingerprint = (
            f"{DEFAULT_MODEL}@{BUNDLED_SHA256[:12]} pooling=mean normalised max={MAX_TOKENS} "
            f"{manifest.precision}/{VECTORS} prompts={prompts_mark(query_prompt, document_prompt)}"
        )
        try:
            self._tokenizer = _open_tokenizer(compiled.folder / TOKENIZER_FILE, manifest.files[TOKENIZER_FILE])
            self._session: Any = _open_session(compiled.folder / MODEL_FILE)
        except Exception as error:
            # Both libraries raise bare Exception from native code.
            raise EmbedderUnavailable(f"the compiled model in {compiled.folder} cannot be opened: {error}") from error
        self._inputs = [value.name for value in self._session.get_inputs()]
        self._runs = ThreadPoolExecutor(most_threads(), thread_name_prefix="embed", initializer=_yield_to_others)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        if len(texts) == 1:  # a caller waits for it, so it doesn't queue behind a backlog
            return self._embed(prepared(texts[0], self._document_prompt, self._max_chars))[np.newaxis]
        return np.array(self._each(texts, UNIT_VECTOR), dtype=np.float32).reshape(len(texts), self.dimension)

    def embed_query(self, text: str) -> Vectors:
        return self._embed(prepared(text, self._query_prompt, self._max_chars))

    def inner_states(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        return np.array(self._each(texts, INNER_STATES))

    def states_in_context(self, sentences: Sequence[SentenceInContext]) -> Vectors:
        """Return the states of sentences. The graph for it is open only meanwhile: a session's sentences come minutes
        apart."""
        import numpy as np

        try:
            session = _open_session(self._compiled.folder / ADAPTED_FILE)

            def run(sentence: SentenceInContext) -> Vectors:
                ids, types = tokens_in_context(self._tokenizer, sentence)
                feeds = {"input_ids": [ids], "attention_mask": [[1] * len(ids)], "token_type_ids": [types]}
                arrays = {name: np.array(values, dtype=np.int64) for name, values in feeds.items()}
                return session.run(None, arrays)[0][0]

            return np.array(list(self._runs.map(run, sentences)))
        except (CancelledError, RuntimeError) as error:
            raise EmbedderUnavailable("the embedding model is closed") from error
        except Exception as error:
            # The runtime raises its own untyped exceptions (out of memory, a damaged graph).
            raise EmbedderUnavailable(f"the embedding model failed: {error}") from error

    def close(self) -> None:
        """Free the model when the current runs end; idempotent."""
        self._session = None
        self._runs.shutdown(wait=False, cancel_futures=True)

    def _each(self, texts: Sequence[str], output: str) -> list[Vectors]:
        inputs = (prepared(text, self._document_prompt, self._max_chars) for text in texts)
        try:
            return list(self._runs.map(self._embed, inputs, repeat(output)))
        except (CancelledError, RuntimeError) as error:
            raise EmbedderUnavailable("the embedding model is closed") from error

    def _embed(self, text: str, output: str = UNIT_VECTOR) -> Vectors:
        import numpy as np

        session = self._session
        if session is None:
            raise EmbedderUnavailable("the embedding model is closed")
        encoding = self._tokenizer.encode(text)
        try:
            feeds = {name: np.array([getattr(encoding, _FIELDS[name])], dtype=np.int64) for name in self._inputs}
            return session.run([output], feeds)[0][0]
        except Exception as error:
            # The runtime raises its own untyped exceptions (out of memory, a damaged graph).
            raise EmbedderUnavailable(f"the embedding model failed: {error}") from error


def tokens_in_context(tokenizer: Any, sentence: SentenceInContext) -> tuple[list[int], list[int]]:
    """Return the tokens of the answered text, of the text before, of the sentence itself and of the text after it; and
    their types, 1 for its own."""

    def tokens(text: str) -> list[int]:
        return tokenizer.encode(prepared(text, "", MOST_CHARS), add_special_tokens=False).ids

    opens, ends = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    answered, before = tokens(sentence.answered)[:ANSWERED_TOKENS], tokens(sentence.before)[-BEFORE_TOKENS:]
    text, after = tokens(sentence.text)[:TEXT_TOKENS] or [ends], tokens(sentence.after)[:AFTER_TOKENS]
    first, last = [opens, *answered, ends, *before, ends], [ends, *after, ends]
    return [*first, *text, *last], [0] * len(first) + [1] * len(text) + [0] * len(last)


def most_threads() -> int:
    """Return the cores that this process may use, at most `MAX_THREADS`."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MAX_THREADS)


def _yield_to_others() -> None:
    """Lower the priority of a pool thread, which embeds a backlog: questions and your other programs come first."""
    if sys.platform == "linux":  # only Linux has a priority per thread
        with suppress(OSError):  # a sandbox may forbid it
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


@lru_cache(maxsize=1)
def _open_tokenizer(file: Path, _checksum: tuple[int, str]) -> Any:
    """Open the tokenizer, which is remembered while the model is unloaded: 6 MB, and a fifth of the time to open it."""
    telemetry.switch_off()
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(file))


def _open_session(graph: Path) -> Any:
    telemetry.switch_off()
    import onnxruntime

    runtime: Any = onnxruntime
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # Idle threads must sleep instead of spinning: a waiting daemon costs no CPU.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Resident after 1,000 texts: 133 MB with the arena, 187 MB with malloc, whose heap fragments.
    options.enable_cpu_mem_arena = True
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    return runtime.InferenceSession(str(graph), sess_options=options, providers=["CPUExecutionProvider"])
