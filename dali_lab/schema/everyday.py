"""Other names of operators and gallery entries: everyday words, other libraries' classes, other languages."""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from typing import Literal


@functools.cache
def _table() -> dict[str, dict[str, dict[str, str]]]:
    text = resources.files("dali_lab.schema").joinpath("everyday_names.toml").read_text("utf-8")
    return tomllib.loads(text)


def other_names(kind: Literal["operators", "gallery"], name: str, library: str = "") -> list[str]:
    """Other names of an operator or a gallery entry, each once; with `library`, its classes that do the same."""
    given = _table()[kind].get(name, {})
    texts = [given.get(library, "")] if library else given.values()
    words = (word.strip() for text in texts for word in text.split(","))
    return list(dict.fromkeys(word for word in words if word))


def known(kind: Literal["operators", "gallery"]) -> list[str]:
    """Operators or gallery entries that have other names."""
    return list(_table()[kind])


def names_in(library: str) -> dict[str, list[tuple[str, str]]]:
    """Each class of another library, with the operators and gallery entries that do the same.

    Returns
    -------
    dict
        By class name, ``("operators", name)`` or ``("gallery", name)``.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    kinds: tuple[Literal["operators", "gallery"], ...] = ("operators", "gallery")
    for kind in kinds:
        for name in known(kind):
            for word in other_names(kind, name, library):
                found.setdefault(word, []).append((kind, name))
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))
