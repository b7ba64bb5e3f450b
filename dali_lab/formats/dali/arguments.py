"""Arguments and expressions as NVIDIA DALI's serialized form writes them."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dali_lab.formats.dali import features as dali_features
from dali_lab.formats.dali.features import shortest
from dali_lab.formats.dali.messages import messages
from dali_lab.model import dtypes
from dali_lab.model.errors import DaliLabError, FormatError
from dali_lab.model.features import Feature
from dali_lab.model.promotion import OPERAND_LETTERS, constant_dtype
from dali_lab.model.references import PythonReference
from dali_lab.schema.arguments import Arg

_FIELDS = {"float": "floats", "int64": "ints", "string": "strings", "bool": "bools"}
_TYPES = {
    "float": "float", "int": "int64", "dtype": "int64", "image_type": "int64", "interp_type": "int64",
    "bool": "bool", "string": "string", "layout": "string",
}  # fmt: skip
_TYPE_NAMES = {
    dtypes.BOOL: "bool", dtypes.UINT8: "uint8", dtypes.UINT16: "uint16", dtypes.UINT32: "uint32",
    dtypes.UINT64: "uint64",
    dtypes.INT8: "int8", dtypes.INT16: "int16", dtypes.INT32: "int32", dtypes.INT64: "int64",
    dtypes.FLOAT16: "float16", dtypes.FLOAT: "float32", dtypes.FLOAT64: "float64",
}  # fmt: skip
_TYPES_BY_NAME = {name: dtype for dtype, name in _TYPE_NAMES.items()}
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_PICKLED = "a pickled Python object, never unpickled: "


class Unwritable(ValueError):
    """A value that the serialized form has no way to hold."""


def write(name: str, value: object, arg: Arg | None = None) -> Any:
    """An ``Argument`` message.

    Raises
    ------
    Unwritable
        If the value is neither a number, an enum value, a text nor a list of them.
    """
    kind = _TYPES.get(arg.type) if arg is not None else None
    if isinstance(value, tuple) and value and all(isinstance(item, Feature) for item in value):
        return dali_features.write(name, value)
    value = _pickled(value) or value
    if not isinstance(value, (list, tuple)):
        return _scalar(name, value, kind)
    kinds = {kind or _kind(item) for item in value} or {kind or "int64"}
    if len(kinds) > 1:
        raise Unwritable(f"{name} mixes types")
    kind = kinds.pop()
    message = messages().Argument(name=name, type=kind, is_vector=True)
    for index, item in enumerate(value):
        message.extra_args.append(_scalar(f"element {index}", item, kind))
    return message


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int) and not isinstance(value, dtypes.NamedEnum):
        return "int64"
    if isinstance(value, float) and not isinstance(value, np.generic):
        return "float"
    if isinstance(value, str):
        return "string"
    raise Unwritable(f"a {type(value).__name__} cannot be written")


def _scalar(name: str, value: Any, kind: str | None) -> Any:
    kind = kind or _kind(value)
    message = messages().Argument(name=name, type=kind, is_vector=False)
    if kind == "string":
        value = str(value).encode("utf-8", "surrogateescape")
    elif kind == "int64":
        value = int(value)
    elif kind == "bool":
        value = bool(value)
    else:
        with np.errstate(over="ignore"):
            value = float(np.float32(value))
    try:
        getattr(message, _FIELDS[kind]).append(value)
    except ValueError as error:
        raise Unwritable(f"{name}: {value!r} does not fit 64 bits") from error
    return message


def read(message: Any, arg: Arg | None = None) -> Any:
    """The value of an ``Argument`` message; one that the declaration does not take is kept as it is.

    Raises
    ------
    FormatError
        If it holds no value.
    """
    if message.type == dali_features.KIND:
        return _read_features(message)
    value = tuple(_value(item) for item in message.extra_args) if message.is_vector else _value(message)
    if arg is None:
        return value
    try:
        return arg.canonical(value)
    except (DaliLabError, TypeError, ValueError, OverflowError):
        return value


def _read_features(message: Any) -> Any:
    try:
        return dali_features.read(message)
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        raise FormatError(f"the argument '{message.name}' is damaged") from error


def _value(message: Any) -> Any:
    kind = message.type or next((kind for kind, field in _FIELDS.items() if len(getattr(message, field))), "")
    # Older versions name enum types here; their values are in `ints` all the same.
    found = list(getattr(message, _FIELDS.get(kind, "ints")))
    if message.is_vector or (message.extra_args and not found):
        return tuple(_value(item) for item in message.extra_args)
    if not found:
        raise FormatError(f"the argument '{message.name}' has no value")
    if kind == "float":
        return shortest(found[0])
    if kind == "string":
        return _read_text(found[0])
    return found[0]


def _read_text(data: bytes) -> Any:
    """A text; pickled bytes are kept as they are, for a Python object that needs a name."""
    if _PICKLE.match(data) and data.endswith(b"."):
        return PythonReference(None, _PICKLED + base64.b64encode(data).decode("ascii"))
    return data.decode("utf-8", "surrogateescape")


def _pickled(value: object) -> str | None:
    """The bytes of a pickled object that was read, as the form holds texts."""
    if not isinstance(value, PythonReference) or value.name is not None or not value.text.startswith(_PICKLED):
        return None
    try:
        return base64.b64decode(value.text[len(_PICKLED) :], validate=True).decode("utf-8", "surrogateescape")
    except ValueError:
        return None


def write_expression(node_op: str, arguments: Mapping[str, Any], inputs: int) -> list[Any]:
    """The arguments of an arithmetic node: its expression, and its constants.

    Raises
    ------
    Unwritable
        If there are other arguments than constants.
    """
    reals: list[float] = []
    integers: list[int] = []
    operands = []
    taken = 0
    constants = {letter for letter in OPERAND_LETTERS if arguments.get(letter) is not None}
    if set(arguments) - {*OPERAND_LETTERS, *(f"{letter}_dtype" for letter in OPERAND_LETTERS)}:
        raise Unwritable("an expression has operands alone")
    for letter in OPERAND_LETTERS[: inputs + len(constants)]:
        if letter not in constants:
            operands.append(f"&{taken}")
            taken += 1
            continue
        value = arguments[letter]
        dtype = arguments.get(f"{letter}_dtype")
        dtype = constant_dtype(value) if dtype is None else dtype
        table: list[Any] = reals if dtype in (dtypes.FLOAT16, dtypes.FLOAT, dtypes.FLOAT64) else integers
        operands.append(f"${len(table)}:{_TYPE_NAMES[dtype]}")
        table.append(float(value) if table is reals else int(value))
    name = node_op.removeprefix("math.")
    result = [write("expression_desc", f"{name}({' '.join(operands)})")]
    if integers:
        result.append(write("integer_constants", tuple(integers)))
    if reals:
        result.append(write("real_constants", tuple(reals)))
    return result


def read_expression(arguments: Mapping[str, Any]) -> Any:
    """The expression of an arithmetic node as a tree: ``(name, operands)``.

    An operand is an input's number, a tree, or a constant as ``(value, dtype)`` in a list.

    Raises
    ------
    FormatError
        If it is not such an expression.
    """
    text = arguments.get("expression_desc")
    tokens = list(_tokens(text if isinstance(text, str) else ""))[::-1]
    tree = _parse(tokens, arguments, 0)
    if tokens or not isinstance(tree, tuple):
        raise FormatError(f"{text!r} is not an expression")
    return tree


def _tokens(text: str) -> Iterator[str]:
    position = 0
    while position < len(text):
        found = re.compile(r"[A-Za-z_]\w*\(|&\d{1,4}|\$\d{1,6}:\w+|\)|[ ,]+").match(text, position)
        if not found:
            raise FormatError(f"{text!r} is not an expression")
        position = found.end()
        if found[0].strip(" ,"):
            yield found[0]


def _parse(tokens: list[str], arguments: Mapping[str, Any], depth: int) -> Any:
    """The tree that begins at the last of the `tokens`, which stand in reverse."""
    if not tokens or depth > 50:
        raise FormatError("an expression ends too early, or is nested too deeply")
    token = tokens.pop()
    if token.startswith("&"):
        return int(token[1:])
    if token.startswith("$"):
        return _read_constant(token, arguments)
    if token == ")":
        raise FormatError("an expression lacks an operand")
    operands = []
    while tokens and tokens[-1] != ")":
        operands.append(_parse(tokens, arguments, depth + 1))
    if not tokens:
        raise FormatError("an expression ends too early")
    tokens.pop()
    return token[:-1], operands


def _read_constant(token: str, arguments: Mapping[str, Any]) -> list[Any]:
    place, _, name = token[1:].partition(":")
    dtype = _TYPES_BY_NAME.get(name)
    if dtype is None:
        raise FormatError(f"{name!r} is not a type of a constant")
    real = dtype in (dtypes.FLOAT16, dtypes.FLOAT, dtypes.FLOAT64)
    table = arguments.get("real_constants" if real else "integer_constants", ())
    table = table if isinstance(table, tuple) else (table,)
    value = table[int(place)] if int(place) < len(table) else None
    if not isinstance(value, (int, float)):
        raise FormatError(f"an expression lacks its constant {token}")
    return [float(value) if real else bool(value) if dtype == dtypes.BOOL else int(value), dtype]
