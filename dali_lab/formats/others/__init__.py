"""Other libraries' forms of a pipeline."""

from __future__ import annotations

from typing import Any

from dali_lab.formats.registry import Format, register
from dali_lab.graph.graph import Graph


def dumps(graph: Graph, **options: Any) -> str:
    """A module of torchvision transforms."""
    from dali_lab.formats.others import torchvision

    return torchvision.dumps(graph, **options)


def lost(graph: Graph) -> list[str]:
    """Nodes that no output needs."""
    from dali_lab.formats.exported import left_out

    return left_out(graph)


register(Format("torchvision", "a Python module of torchvision transforms", (".torchvision.py",), dumps, lost=lost))
