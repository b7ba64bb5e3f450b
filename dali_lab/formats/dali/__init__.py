"""NVIDIA DALI's serialized pipelines and checkpoints."""

from __future__ import annotations

from typing import Any

from dali_lab.formats.disk import PathLike
from dali_lab.formats.exported import left_out_of_dali
from dali_lab.formats.registry import Arguments, Format, register
from dali_lab.graph.graph import Graph
from dali_lab.io.protobuf import BYTES, VARINT, fields
from dali_lab.schema.registry import find_operator, has_operator

_WIRE_TYPES = {number: BYTES if 5 <= number <= 7 else VARINT for number in range(1, 15)}
"""Wire types of a ``PipelineDef``'s fields."""
_OPERATORS = (5, 6)
"""Fields for its operators and external inputs."""


def detect(data: bytes, name: str) -> bool:
    """Whether these are the fields of a ``PipelineDef``, with an operator or an external input among them."""
    try:
        found = set(fields(data))
    except ValueError:
        return False
    return all(_WIRE_TYPES.get(number, kind) == kind for number, kind in found) and any(
        (number, BYTES) in found for number in _OPERATORS
    )


# Imported when they are called: they need the protobuf library.


def loads(data: bytes, name: str | None = None, arguments: Arguments | None = None, file: PathLike = "") -> Graph:
    """The graph of a serialized pipeline, with names for people."""
    from dali_lab.formats.dali import writer

    return writer.loads(data, friendly=True)


def dumps(graph: Graph, **options: Any) -> bytes:
    """A serialized pipeline."""
    from dali_lab.formats.dali import writer

    return writer.dumps(graph, **options)


def left_out(graph: Graph) -> list[str]:
    """Features of a graph that NVIDIA DALI lacks, or cannot load from this form, in sentences."""
    operators = {node.id: find_operator(node.op) for node in graph.nodes.values() if has_operator(node.op)}
    functions = [name for name, operator in operators.items() if operator.python_objects and not operator.fed]
    refused = "NVIDIA DALI and Triton refuse the file, because it cannot hold Python functions"
    return [*left_out_of_dali(graph), *([f"{refused}: {', '.join(functions)}"] if functions else [])]


_TITLE, _ENDINGS = "NVIDIA DALI's serialized pipeline", (".dali", ".pb", ".serialized")
register(Format("dali-serialized", _TITLE, _ENDINGS, dumps, loads, detect, left_out, binary=True))
