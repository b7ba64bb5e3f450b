"""What a graph means, whatever way it was written down: arguments that only repeat their defaults say nothing.

Two graphs are equal, and nothing differs between them, if they differ only in that. Code that is exported leaves such
arguments out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dali_lab.errors import DaliLabError
from dali_lab.schema.arguments import REQUIRED, Arg
from dali_lab.schema.registry import find_operator, has_operator

if TYPE_CHECKING:
    from dali_lab.graph.graph import Node

TOLD_APART = frozenset(
    {"axes", "axis", "axis_names", "background", "contrast_center", "interp_type", "mag_filter", "min_filter", "size"}
)
"""Arguments for which some operator of NVIDIA DALI tells its default from nothing; these are kept as they are."""

DEFAULT_SETTINGS: Mapping[str, Any] = {
    "batch_size": 1,
    "num_threads": 2,
    "prefetch_queue_depth": 2,
    "exec_pipelined": True,
    "exec_async": True,
    "enable_memory_stats": False,
    "enable_checkpointing": False,
    "bytes_per_sample": 0,
    "set_affinity": False,
    "py_num_workers": 1,
    "py_start_method": "fork",
    "optimize": True,
}
"""Settings of a pipeline that is made of a graph, where the graph has none; all others are not set."""


def meaningful_arguments(node: Node) -> dict[str, Any]:
    """The arguments of a node that say something, in the order of the declaration.

    Where an operator tells an argument that has its default from one that was not given, all are kept.
    """
    known = has_operator(node.op)
    table = find_operator(node.op).argument_table if known else {}
    ordered = [name for name in table if name in node.arguments]
    ordered += [name for name in node.arguments if name not in table]
    plain = {name: node.arguments[name] for name in ordered if not is_default(table.get(name), node.arguments[name])}
    if known and len(plain) < len(ordered):
        try:
            find_operator(node.op).verify(plain, node.connections, len(node.inputs))
        except (DaliLabError, TypeError, ValueError):
            return {name: node.arguments[name] for name in ordered}
    return plain


def is_default(arg: Arg | None, value: Any) -> bool:
    """Whether giving an argument this value is the same as not giving it."""
    from dali_lab.graph.graph import same_values

    if arg is None:
        return False
    if value is None:
        return True
    if arg.default is REQUIRED or arg.default is None or arg.name in TOLD_APART:
        return False
    try:
        return same_values(arg.canonical(arg.default), value)
    except (DaliLabError, ValueError, TypeError):
        return False


def meaningful_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a pipeline that say something."""
    return {
        key: value
        for key, value in settings.items()
        if value is not None and not (key in DEFAULT_SETTINGS and _same(DEFAULT_SETTINGS[key], value))
    }


def _same(left: Any, right: Any) -> bool:
    return type(left) is type(right) and bool(left == right)
