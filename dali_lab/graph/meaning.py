"""The meaning of a graph, however it was written: arguments that repeat their defaults do not count.

Graphs that differ only in such arguments are equal and have no differences; exported code leaves the arguments
out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dali_lab.graph.graph import Node, same_values
from dali_lab.model.errors import DaliLabError
from dali_lab.schema.arguments import REQUIRED, Arg
from dali_lab.schema.registry import find_operator, has_operator

TOLD_APART = frozenset(
    {"axes", "axis", "axis_names", "background", "contrast_center", "interp_type", "mag_filter", "min_filter", "size"}
)
"""Arguments for which some operator of NVIDIA DALI tells an explicit default from an absent one; these are kept."""

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
    "on_error": "raise",
    "max_error_rate": 0.05,
    "cache": "off",
}
"""Settings that a pipeline made from a graph gets where the graph has none; all others stay unset."""


def meaningful_arguments(node: Node) -> dict[str, Any]:
    """The arguments of a node that carry meaning, in the order of the declaration.

    Where an operator tells an explicit default from an absent argument, all are kept.
    """
    known = has_operator(node.op)
    table = find_operator(node.op).argument_table if known else {}
    ordered = [name for name in table if name in node.arguments]
    ordered += [name for name in node.arguments if name not in table]
    plain = {name: node.arguments[name] for name in ordered if not is_default(table.get(name), node.arguments[name])}
    if known and len(plain) < len(ordered):
        try:
            find_operator(node.op).check_arguments(plain, node.connections, len(node.inputs))
        except (DaliLabError, TypeError, ValueError):
            return {name: node.arguments[name] for name in ordered}
    return plain


def compared_arguments(node: Node) -> dict[str, Any]:
    """The arguments by which nodes are compared: those that carry meaning, rounded to the precision in use.

    Declared floating point arguments are single precision in both engines and in serialized pipelines, so two numbers
    that round to the same value are equal.
    """
    table = find_operator(node.op).argument_table if has_operator(node.op) else {}
    floats = {name for name, arg in table.items() if arg.type == "float"}
    arguments = meaningful_arguments(node)
    return {name: _single(value) if name in floats else value for name, value in arguments.items()}


def _single(value: object) -> Any:
    if type(value) is float:
        with np.errstate(over="ignore"):
            return float(np.float32(value))
    return tuple(map(_single, value)) if isinstance(value, (list, tuple)) else value


def is_default(arg: Arg | None, value: object) -> bool:
    """Whether giving an argument this value is the same as not giving it."""
    if arg is None:
        return False
    if value is None:
        return True
    if arg.default is REQUIRED or arg.default is None or arg.name in TOLD_APART:
        return False
    try:
        default = arg.canonical(arg.default)
        return same_values(*map(_single, (default, value))) if arg.type == "float" else same_values(default, value)
    except (DaliLabError, ValueError, TypeError):
        return False


def meaningful_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a pipeline that carry meaning."""
    return {
        key: value
        for key, value in settings.items()
        if value is not None and not (key in DEFAULT_SETTINGS and _same(DEFAULT_SETTINGS[key], value))
    }


def _same(left: object, right: object) -> bool:
    return type(left) is type(right) and bool(left == right)
