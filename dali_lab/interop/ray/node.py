"""Functions that run on the machines of a cluster, which say so where a machine lacks this package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NO_PACKAGE = "has no package dali_lab that fits"
"""Words of the error of a node without this package."""

INSTALL = "install the same release on all nodes, or name it in runtime_env={'pip': ['dali-lab[ray]']}"
"""The remedy, for messages."""


def on_a_node(module: str, name: str) -> Callable[..., Any]:
    """A function of ``dali_lab.interop.ray`` that is looked up where it is called.

    It returns a closure, which Ray sends by value: a node without this package can load it.

    Parameters
    ----------
    module, name
        The module there, and the function.
    """

    words, remedy = NO_PACKAGE, INSTALL

    def call(*arguments: object) -> Any:
        import importlib

        try:
            found = getattr(importlib.import_module(f"dali_lab.interop.ray.{module}"), name)
        except (ImportError, AttributeError) as error:
            import platform

            raise RuntimeError(f"the node '{platform.node()}' {words} ({error}): {remedy}") from None
        return found(*arguments)

    return call
