"""Credentials in the URLs of graphs: what is saved, exported or sent on must not hold any."""

from __future__ import annotations

from collections.abc import Mapping

from dali_lab.graph.graph import Graph
from dali_lab.io.locations import credentials_in, shown
from dali_lab.model.errors import FormatError


def refuse_secrets(graph: Graph) -> None:
    """Check that no argument of a graph holds a URL with credentials.

    Raises
    ------
    FormatError
        If one does; it names node and argument.
    """
    for node in graph.nodes.values():
        for argument, value in node.arguments.items():
            _check(value, node.id, argument)


def refuse_secrets_in(document: Mapping[str, object]) -> None:
    """:func:`refuse_secrets` of the JSON form of a graph."""
    nodes = document.get("nodes")
    for name, node in nodes.items() if isinstance(nodes, dict) else ():
        arguments = node.get("arguments") if isinstance(node, dict) else None
        for argument, value in arguments.items() if isinstance(arguments, dict) else ():
            _check(value, str(name), str(argument))


def _check(value: object, node: str, argument: str) -> None:
    values = value if isinstance(value, (list, tuple)) else (value,)
    for text in values:
        said = credentials_in(text) if isinstance(text, str) else ""
        if said:
            raise FormatError(
                f"'{argument}' of the node '{node}' is not written: '{shown(str(text))}' has {said}; keep credentials"
                " where the tools of the store look for them (docs/how-to/object-stores.md)"
            )
