"""Adapt the bundled model to sentences that people say to an agent, with the text around each sentence.

Each of the model's linear layers has a low-rank update (LoRA, Hu et al. 2021) beside it: y = xW + (xA)B.
`tests/benchmarks/train_adapter.py` fits `adapter.npz` on labelled sessions. The weights themselves are shared with the
graph that embeds notes, whose vectors don't change.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ADAPTER = Path(__file__).with_name("adapter.npz")
"""`LAYER.A`, shape (inputs, rank), and `LAYER.B`, (rank, outputs), for each linear layer, as float16."""
READ = ("layer_norm_6", "layer_norm_8", "layer_norm_10")
"""The graph's names for the tokens' states behind the third, fourth and fifth layer, read beside the last ones."""
ADAPTED_OUTPUT, ADAPTED_SIZE = "states_in_context", 5 * 384
_BIAS = re.compile(r"inner\.(?P<layer>encoder\.layer\..+)\.bias")


def adapted(nodes: Sequence[Any], last: str) -> tuple[list[Any], list[Any]]:
    """Return the nodes of a graph with the adapter, and its tensors. Inputs: (input_ids, attention_mask,
    token_type_ids), each (1, tokens). Output: (1, ADAPTED_SIZE), the means of the states of the tokens of type 1, and
    the last state of the first token."""
    import numpy as np
    from onnx import helper, numpy_helper

    parts: dict[str, Any] = dict(np.load(ADAPTER))
    tensors = [numpy_helper.from_array(part.astype(np.float32), name) for name, part in parts.items()]
    multiplied = {node.output[0]: node.input[0] for node in nodes if node.op_type == "MatMul"}
    found = list[Any]()
    for node in nodes:
        bias = next(filter(None, map(_BIAS.fullmatch, node.input)), None)
        layer = bias["layer"] if bias and node.op_type == "Add" else ""
        if f"{layer}.A" not in parts:
            found.append(node)
            continue
        product = next(name for name in node.input if name in multiplied)
        low, update, whole = (f"{product}_{part}" for part in ("low", "update", "adapted"))
        found += [
            helper.make_node("MatMul", [multiplied[product], f"{layer}.A"], [low]),
            helper.make_node("MatMul", [low, f"{layer}.B"], [update]),
            helper.make_node("Add", [product, update], [whole]),
            helper.make_node("Add", [whole, bias[0] if bias else ""], list(node.output)),
        ]
    tensors += [
        numpy_helper.from_array(np.array(value, dtype=np.int64), name)
        for name, value in (("over_tokens", [1]), ("first_token", 0))
    ]
    return [*found, *_reading(helper, last)], tensors


def _reading(helper: Any, last: str) -> list[Any]:
    """Return the nodes for the means of the states of the marked tokens, which have type 1, and for the first token's
    state."""
    from onnx import TensorProto

    return [
        helper.make_node("Cast", ["token_type_ids"], ["marked"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["marked", "over_tokens"], ["marked_count"], keepdims=1),
        helper.make_node("Div", ["marked", "marked_count"], ["share"]),
        helper.make_node("Unsqueeze", ["share", "over_tokens"], ["shares"]),
        helper.make_node("Concat", [*READ, last], ["states"], axis=-1),
        helper.make_node("MatMul", ["shares", "states"], ["means_of_one"]),
        helper.make_node("Squeeze", ["means_of_one", "over_tokens"], ["means"]),
        helper.make_node("Gather", [last, "first_token"], ["opening"], axis=1),
        helper.make_node("Concat", ["means", "opening"], [ADAPTED_OUTPUT], axis=-1),
    ]
