"""Modules whose attributes are made from the registry when they are first asked for (``fn``, ``ops``)."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from dali_lab.schema.registry import load


class Namespace:
    """The attributes of a module, and of modules under it, by the names of operators.

    Making all of them, and importing all operators for it, would slow every start down.

    Parameters
    ----------
    root
        Name of the module; its own ``__getattr__`` and ``__dir__`` are to call :meth:`attribute` and :meth:`names`.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._makers: dict[tuple[str, str], Callable[[], Any]] = {}

    def offer(self, path: str, maker: Callable[[], Any]) -> None:
        """Have the attribute with a dotted path made by `maker` from now on."""
        *parents, last = path.split(".")
        module = self._module(parents)
        vars(module).pop(last, None)
        self._makers[module.__name__, last] = maker

    def attribute(self, module: ModuleType, name: str) -> Any:
        """Make an attribute that a module does not have yet.

        Raises
        ------
        AttributeError
            If there is none of this name.
        """
        maker = self._makers.get((module.__name__, name))
        if maker is None and not name.startswith("__"):
            load()  # another package may offer it
            if name in vars(module):
                return vars(module)[name]
            maker = self._makers.get((module.__name__, name))
        if maker is None:
            raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'")
        made = maker()
        setattr(module, name, made)
        return made

    def names(self, module: ModuleType) -> list[str]:
        """All attributes of a module, made or not."""
        load()
        return sorted({*vars(module), *(name for where, name in self._makers if where == module.__name__)})

    def public(self, module: ModuleType) -> list[str]:
        """The names that ``from module import *`` gives: operators, and modules of them."""
        load()
        offered = {name for where, name in self._makers if where == module.__name__}
        inner = {name for name in vars(module) if f"{module.__name__}.{name}" in sys.modules}
        return sorted(name for name in offered | inner if not name.startswith("_"))

    def _module(self, path: Iterable[str]) -> ModuleType:
        """The module for a path under the root, made if need be."""
        module = sys.modules[self._root]
        for part in path:
            name = f"{module.__name__}.{part}"
            child = sys.modules.get(name)
            if child is None:
                place = name.partition(".")[2]
                child = ModuleType(name, f"Operators under ``{place}``.")
                child.__path__ = []
                child.__getattr__ = functools.partial(self.attribute, child)  # type: ignore[method-assign]
                child.__dir__ = functools.partial(self.names, child)  # type: ignore[method-assign]
                sys.modules[name] = child
            setattr(module, part, child)
            module = child
        return module


__all__ = ["Namespace"]
