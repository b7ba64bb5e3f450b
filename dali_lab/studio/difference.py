"""What differs between two graphs, in lines that a person reads; positions and notes aside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dali_lab.formats.json_file import edge_text
from dali_lab.graph.graph import Edge, Graph, Node, same_values


def differences(left: Graph, right: Graph) -> list[str]:
    """A line for each difference; ``-`` is only in `left`, ``+`` only in `right`, ``~`` in both but not the same."""
    lines = [f"~ pipeline {text}" for text in _values(left.pipeline, right.pipeline)]
    for name, node in left.nodes.items():
        other = right.nodes.get(name)
        if other is None:
            lines.append(f"- {name}: {node.op}")
        elif node != other:
            lines.extend(f"~ {name} {text}" for text in _node(node, other))
    lines.extend(f"+ {name}: {node.op}" for name, node in right.nodes.items() if name not in left.nodes)
    if left.outputs != right.outputs:
        lines.append(f"~ outputs: {_edges(left.outputs)} → {_edges(right.outputs)}")
    return lines


def _node(left: Node, right: Node) -> list[str]:
    lines = []
    if left.op != right.op:
        lines.append(f"operator: {left.op} → {right.op}")
    if left.device != right.device:
        lines.append(f"device: {left.device} → {right.device}")
    if left.inputs != right.inputs:
        lines.append(f"inputs: {_edges(left.inputs)} → {_edges(right.inputs)}")
    before = {**left.arguments, **left.connections}
    after = {**right.arguments, **right.connections}
    return lines + _values(before, after)


def _values(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[str]:
    lines = []
    for key in [*left, *(key for key in right if key not in left)]:
        before, after = left.get(key), right.get(key)
        if (key in left) != (key in right) or not same_values(before, after):
            lines.append(
                f"{key}: {_text(before) if key in left else 'not set'} → {_text(after) if key in right else 'not set'}"
            )
    return lines


def _edges(edges: tuple[Edge, ...]) -> str:
    return ", ".join(edge_text(edge) or "nothing" for edge in edges) or "none"


def _text(value: Any) -> str:
    if isinstance(value, Edge):
        return f"from {edge_text(value)}"
    return str(value.name) if hasattr(value, "name") and hasattr(value, "value") else repr(value)
