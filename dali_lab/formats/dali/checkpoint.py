"""Checkpoints as bytes, in NVIDIA DALI's form: each of the two restores checkpoints of the other.

NVIDIA DALI stores a text for each operator: the state of its random generator, or of its reader. Other state of
this package is plain JSON in a field that NVIDIA DALI ignores. Nothing in a checkpoint can run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from dali_lab.executor.checkpoint import Checkpoint
from dali_lab.formats.dali.messages import messages
from dali_lab.graph.dali_names import Names, made_up_name, operator_names, output_name
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.kernels.streams import GeneratorState
from dali_lab.model.errors import FormatError
from dali_lab.schema.registry import find_operator

_MOST_SEED = 1 << 64


def dumps(checkpoint: Checkpoint, graph: Graph, names: Names) -> bytes:
    """The checkpoint of a pipeline as bytes.

    Parameters
    ----------
    names
        NVIDIA DALI's names of operators, by node.
    """
    kinds = messages()
    message = kinds.Checkpoint()
    for node in graph.nodes.values():
        state = _state_of(node, checkpoint)
        for name in operator_names(node, names):
            message.cpts.add(operator_name=name, operator_state=state)
    for name in dict.fromkeys(_copy_name(graph, edge, names) for edge in graph.outputs):
        message.cpts.add(operator_name=name, operator_state=b"")
    data = {"iter": checkpoint.consumed, "epoch_idx": checkpoint.epoch}
    message.external_ctx_cpt.pipeline_data = json.dumps(data).encode()
    message.external_ctx_cpt.iterator_data = checkpoint.iterator.encode()
    message.dali_lab = checkpoint.dumps()
    return message.SerializeToString(deterministic=True)  # type: ignore[no-any-return]


def loads(data: bytes, graph: Graph, names: Names, batch_size: int) -> Checkpoint:
    """The checkpoint in bytes that :func:`dumps` or NVIDIA DALI wrote.

    Raises
    ------
    FormatError
        If it is something else, damaged, or of another pipeline.
    """
    from google.protobuf.message import DecodeError

    try:
        message = messages().Checkpoint.FromString(data)
    except (DecodeError, ValueError, RuntimeError, TypeError) as error:
        raise FormatError(
            f"Failed to deserialize checkpoint from protobuf: it is not one of a pipeline ({error})"
        ) from None
    if message.HasField("dali_lab"):
        return Checkpoint.loads(message.dali_lab)
    if not message.cpts or not all(isinstance(entry.operator_name, str) for entry in message.cpts):
        raise FormatError("Failed to deserialize checkpoint from protobuf: it holds no operators that have names")
    return _foreign(message, graph, names, batch_size)


def _state_of(node: Node, checkpoint: Checkpoint) -> bytes:
    """The state of a node's operator as NVIDIA DALI writes it, empty for one without."""
    state = checkpoint.sources.get(node.id)
    if isinstance(state, Mapping) and "epoch_start" in state:
        engine, epoch, age = state["epoch_start"]
        message = messages().ReaderState()
        message.loader_state.rng = str(engine).encode()
        message.loader_state.current_epoch = epoch
        message.loader_state.age = age
        return message.SerializeToString(deterministic=True)  # type: ignore[no-any-return]
    if node.id not in checkpoint.seeds or find_operator(node.op).source:
        return b""
    return str(GeneratorState(checkpoint.seeds[node.id] % _MOST_SEED, checkpoint.drawn.get(node.id, 0))).encode()


def _copy_name(graph: Graph, edge: Edge, names: Names) -> str:
    """NVIDIA DALI's name of the operator that makes an output contiguous."""
    made_on = "Cpu" if graph.nodes[edge.node].device == "cpu" else "Gpu"
    wanted = {"cpu": "Cpu", "gpu": "Gpu"}.get(edge.device, made_on)
    kind = "MakeContiguous" if made_on == wanted else "Copy"
    return f"__{kind}_{made_on}To{wanted}_{output_name(graph, edge, names)}"


def _foreign(message: Any, graph: Graph, names: Names, batch_size: int) -> Checkpoint:
    """A checkpoint by NVIDIA DALI as one of the pipeline with this graph."""
    states: dict[str, bytes] = {entry.operator_name: entry.operator_state for entry in message.cpts}
    consumed, epoch = _progress(message.external_ctx_cpt.pipeline_data)
    found = _matched(states, graph, names)
    seeds: dict[str, int] = {}
    drawn: dict[str, int] = {}
    sources: dict[str, Any] = {}
    for name, state in found.items():
        node = graph.nodes[name]
        operator = find_operator(node.op)
        if (own := operator.state_after(consumed, batch_size, epoch)) is not None:
            sources[name] = own
        elif operator.source:
            if state:
                sources[name] = {"epoch_start": _reader_state(state, node), "batch_size": batch_size}
        elif state:
            try:
                generator = GeneratorState.parse(state.decode("ascii"))
            except ValueError:
                raise FormatError(f"this checkpoint is damaged: it has no state of a generator for '{name}'") from None
            seeds[name], drawn[name] = generator.key, generator.high
    return Checkpoint(
        None, seeds, drawn, sources, consumed, consumed, epoch, False, _text(message.external_ctx_cpt.iterator_data)
    )


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _progress(data: bytes) -> tuple[int, int]:
    """Batches given out in this epoch, and the epoch."""
    try:
        found = json.loads(data) if data else {}
        values = found.get("iter", 0), found.get("epoch_idx", 0)
    except (ValueError, AttributeError, RecursionError):
        values = None, None
    if not all(type(value) is int and 0 <= value < 1 << 62 for value in values):
        raise FormatError("this checkpoint is damaged: it does not say how many batches were taken")
    return values


def _reader_state(state: bytes, node: Node) -> list[int]:
    """State of the engine when the epoch began, the epoch, and the samples of it that were given out."""
    from google.protobuf.message import DecodeError

    try:
        loader = messages().ReaderState.FromString(state).loader_state
        result = [int(loader.rng), loader.current_epoch, loader.age]
    except (DecodeError, ValueError):
        result = [-1]
    if min(result) < 0:
        raise FormatError(f"this checkpoint is damaged: it has no state of the reader '{node.id}'")
    return result


def _matched(states: Mapping[str, bytes], graph: Graph, names: Names) -> dict[str, bytes]:
    """The state of each node that has one, found by its name or, where NVIDIA DALI made that up, by its place."""
    stateful = {
        node.id: operator_names(node, names)[0]
        for node in graph.nodes.values()
        if find_operator(node.op).source or find_operator(node.op).random
    }
    result = {node: states[name] for node, name in stateful.items() if name in states}
    used = {stateful[node] for node in result}
    for node in stateful:
        if node in result:
            continue
        numbered = _numbered(graph.nodes[node].op, (name for name in states if name not in used))
        alike = [n for n in stateful if n not in result and graph.nodes[n].op == graph.nodes[node].op]
        if len(numbered) < len(alike) or not numbered:
            has = ", ".join(name for name in states if not name.startswith(("__MakeContiguous", "__Copy")))
            raise FormatError(
                f"this checkpoint is of another pipeline: it has no state for '{node}' (fn.{graph.nodes[node].op});"
                f" it has {has}"
            )
        result[node] = states[numbered[0]]
        used.add(numbered[0])
    return result


def _numbered(op: str, names: Iterable[str]) -> list[str]:
    """The names that NVIDIA DALI made up for operators of a kind, in the order in which they were made."""
    begin = re.escape(made_up_name(op, 0)[:-1])
    found = [(match, name) for name in names if (match := re.fullmatch(rf"{begin}(\d{{1,9}})", name))]
    return [name for match, name in sorted(found, key=lambda item: int(item[0][1]))]
