"""Python objects that files name: found again by module and name, and imported only where a file is trusted."""

from __future__ import annotations

import importlib
import keyword
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dali_lab.model.dtypes import NamedEnum
from dali_lab.model.errors import FormatError


def is_function(value: object) -> bool:
    """Whether a value is there to be called; members of enumerations can be (``types.UINT8(3)``), and are values."""
    return callable(value) and not isinstance(value, NamedEnum)


@dataclass(frozen=True)
class PythonReference:
    """A Python object that a graph file names; it is imported by :meth:`resolve` alone, when the file is trusted.

    Attributes
    ----------
    name
        ``"module:name"``, or `None` for an object that cannot be imported (a lambda, a local function).
    text
        Text form of such an object.
    """

    name: str | None
    text: str = field(default="", compare=False)

    @property
    def importable(self) -> bool:
        """Whether the name has the form of one that can be imported."""
        module, _, path = (self.name or "").partition(":")
        parts = [*module.split("."), *path.split(".")]
        return all(part.isidentifier() and not keyword.iskeyword(part) for part in parts)

    def resolve(self) -> Any:
        """Import the object.

        Raises
        ------
        FormatError
            If it cannot be imported.
        """
        if self.name is None:
            raise FormatError(
                f"{self.text or 'a Python object'} was not stored: it has no name that it can be imported by;"
                " define it at the top level of a module"
            )
        if not self.importable:
            raise FormatError(f"{self.name!r} is not a name of a Python object; write 'module:name'")
        module, _, path = self.name.partition(":")
        try:
            found: Any = importlib.import_module(module)
            for part in path.split("."):
                found = getattr(found, part)
        except Exception as error:
            # Importing runs the user's module, which may raise anything.
            raise FormatError(f"the Python object {self.name} cannot be imported: {error}") from error
        return found

    def __repr__(self) -> str:
        return f"<Python object {self.name or self.text}>"


def reference_to(value: object) -> PythonReference:
    """A reference to `value`: by module and name if importing that gives the very same object."""
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None)
    if isinstance(module, str) and isinstance(name, str) and module != "__main__" and "<" not in name:
        found: Any = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is value:
            return PythonReference(f"{module}:{name}")
    text = repr(value)
    return PythonReference(None, text if len(text) <= 200 else text[:199] + "…")


def trusted(value: object) -> Any:
    """`value` with all references in it imported."""
    if isinstance(value, PythonReference):
        return value.resolve()
    if isinstance(value, Mapping):
        return {key: trusted(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(trusted(item) for item in value)
    return value
