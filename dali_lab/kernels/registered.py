"""Code of users that graphs refer to by name."""

from __future__ import annotations

from typing import TypeVar

from dali_lab.model.errors import nearest

T = TypeVar("T")


class Registered(dict[str, T]):
    """Functions or kernels by name.

    Parameters
    ----------
    kind
        Of its items, for the message.
    register
        The function that adds items, as users call it.
    """

    def __init__(self, kind: str, register: str) -> None:
        super().__init__()
        self._kind, self._register = kind, register

    def find(self, name: str) -> T:
        """The item of a name.

        Raises
        ------
        KeyError
            If there is none; the message says how to register it.
        """
        if name not in self:
            raise KeyError(f"there is no {self._kind} '{name}'{nearest(name, self)}; register it with {self._register}")
        return self[name]
