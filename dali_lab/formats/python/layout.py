"""Python text laid out as black and ``ruff format`` lay it out, from pieces that know where their brackets are."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dali_lab.model import dtypes, scalars
from dali_lab.model import features as tfrecord
from dali_lab.model.references import PythonReference, reference_to

WIDTH = 88


@dataclass(frozen=True)
class Bracket:
    """``head`` + opening bracket, items, closing bracket; an item is a text before it and a piece.

    A `display` is a list, tuple or dictionary: on several lines, each of its items has a line of its own.
    `definition` is the text of a function or class that it calls and that the program has to contain.
    """

    head: str
    items: tuple[tuple[str, Piece], ...]
    close: str = ")"
    display: bool = False
    tail: str = ""
    definition: str = ""

    def flat(self) -> str:
        """All on one line."""
        comma = "," if self.display and self.close == ")" and len(self.items) == 1 else ""
        inner = ", ".join(label + flat(piece) for label, piece in self.items)
        return f"{self.head}{inner}{comma}{self.close}{self.tail}"


Piece = str | Bracket


def flat(piece: Piece) -> str:
    """A piece on one line."""
    return piece if isinstance(piece, str) else piece.flat()


def call(function: str, items: Iterable[tuple[str, Piece]], tail: str = "", definition: str = "") -> Bracket:
    """A call, with what follows it."""
    return Bracket(f"{function}(", tuple(items), tail=tail, definition=definition)


def definitions(piece: Piece) -> Iterator[str]:
    """The definitions that a piece needs."""
    if isinstance(piece, Bracket):
        if piece.definition:
            yield piece.definition
        for _, item in piece.items:
            yield from definitions(item)


def listing(items: Iterable[Piece], opening: str = "[", close: str = "]") -> Bracket:
    """A list or a tuple."""
    return Bracket(opening, tuple(("", item) for item in items), close, True)


def lines(prefix: str, piece: Piece, suffix: str = "", indent: int = 0) -> list[str]:
    """The lines of ``prefix piece suffix`` at an indentation."""
    margin = " " * indent
    whole = f"{margin}{prefix}{flat(piece)}{suffix}"
    if columns(whole) <= WIDTH or isinstance(piece, str) or not piece.items:
        return [whole]
    first, last = f"{margin}{prefix}{piece.head}", f"{margin}{piece.close}{piece.tail}{suffix}"
    if not piece.display or len(piece.items) == 1:
        body = " " * (indent + 4) + ", ".join(label + flat(item) for label, item in piece.items)
        only_tuple = piece.display and piece.close == ")"
        if columns(body) <= WIDTH and not only_tuple:
            return [first, body, last]
    result = [first]
    for label, item in piece.items:
        result += lines(label, item, ",", indent + 4)
    return [*result, last]


def columns(text: str) -> int:
    """The columns that a text takes: wide letters take two, combining ones none."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


@dataclass
class Imports:
    """Imports and stubs of a program.

    Attributes
    ----------
    numpy
        Whether it uses ``np``.
    objects
        Names of imported Python objects, by the variable that holds them: ``(module, name)``.
    stubs
        Functions that must be written by hand, by name: what stood there.
    taken
        Names that are in use.
    """

    numpy: bool = False
    objects: dict[str, tuple[str, str]] = field(default_factory=dict)
    stubs: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def name_of(self, value: Any, hint: str) -> str:
        """The name of a Python object in the program."""
        reference = value if isinstance(value, PythonReference) else reference_to(value)
        if reference.name is None or not reference.importable:
            known = [
                name
                for name, text in self.stubs.items()
                if text == (reference.text or reference.name or "") and name.startswith(hint)
            ]
            name = known[0] if known else free(f"{hint}_source", self.taken)
            self.stubs[name] = reference.text or reference.name or ""
            return name
        module, _, path = reference.name.partition(":")
        first, _, rest = path.partition(".")
        for name, place in self.objects.items():
            if place == (module, first):
                return f"{name}.{rest}" if rest else name
        name = free(first, self.taken)
        self.objects[name] = (module, first)
        return f"{name}.{rest}" if rest else name


def free(name: str, taken: set[str]) -> str:
    """`name`, or `name` with a number behind it; it is taken from then on."""
    result, number = name, 2
    while result in taken:
        result, number = f"{name}_{number}", number + 1
    taken.add(result)
    return result


def quoted(text: str) -> str:
    """A text as black writes it: in double quotes, unless that needs more backslashes."""
    plain = repr(text)
    return f'"{plain[1:-1]}"' if plain[0] == "'" and '"' not in text else plain


def number(value: Any, *, whole: bool = False) -> str:
    """A number; with `whole`, floats without a fraction are written as integers."""
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            return f'float("{value}")'
        if whole and value.is_integer() and abs(value) < 1e6 and (value or str(value)[0] != "-"):
            return str(int(value))
    # Formatters write 1e16 where Python says 1e+16.
    return repr(value).replace("e+", "e")


def value_piece(value: Any, imports: Imports, hint: str = "", *, whole: bool = False) -> Piece:
    """Any argument value as Python."""
    if isinstance(value, dtypes.NamedEnum):
        short = getattr(dtypes, value.name, None) is value
        return f"types.{value.name}" if short else f"types.{type(value).__name__}.{value.name}"
    if value is None or isinstance(value, (bool, int, float)):
        return number(value, whole=whole)
    if isinstance(value, tfrecord.Feature):
        return _feature_piece(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, (bytes, bytearray)):
        plain = repr(bytes(value))
        return f'b"{plain[2:-1]}"' if plain[1] == "'" and b'"' not in value else plain
    if isinstance(value, (list, tuple)):
        return listing(value_piece(item, imports, hint, whole=whole) for item in value)
    if isinstance(value, Mapping):
        items = (
            (flat(value_piece(key, imports, hint)) + ": ", value_piece(item, imports, hint))
            for key, item in value.items()
        )
        return Bracket("{", tuple(items), "}", True)
    if isinstance(value, scalars.ScalarConstant):
        return f"types.Constant({number(value.value)}, {flat(value_piece(value.dtype, imports))})"
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biuf":
        imports.numpy = True
        kind = "np.bool_" if value.dtype.kind == "b" else f"np.{value.dtype.name}"
        if isinstance(value, np.generic):
            return call(kind, [("", number(value.item()))])
        array = call("np.array", [("", value_piece(value.tolist(), imports)), ("", kind)])
        nested = value.size == 0 and value.shape != (0,)
        return call("np.zeros", [("", value_piece(value.shape, imports)), ("", kind)]) if nested else array
    return imports.name_of(value, hint)


def _feature_piece(feature: tfrecord.Feature) -> Piece:
    kind = {tfrecord.int64: "int64", tfrecord.string: "string", tfrecord.float32: "float32"}[feature.type]
    default = quoted(feature.default) if isinstance(feature.default, str) else number(feature.default)
    shape = [f"[{', '.join(map(str, feature.shape))}]"] if feature.fixed or feature.shape else []
    name = "FixedLenFeature" if feature.fixed else "VarLenFeature"
    return call(f"tfrecord.{name}", [("", text) for text in (*shape, f"tfrecord.{kind}", default)])
