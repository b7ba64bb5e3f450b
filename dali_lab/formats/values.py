"""Argument values as JSON and back: numbers, enums and Python objects by name, arrays.

Values that JSON has no word for are objects with one key that begins with ``$``:

=================  ===================================================================
``$float``         ``"nan"``, ``"inf"``, ``"-inf"`` where the argument's type is not known
``$enum``          ``"DALIDataType.FLOAT"`` where the argument's type is not known
``$array``         a numpy array: ``{"dtype", "shape", "data"}``, large ones ``"base64"``
``$number``        a numpy scalar: ``{"dtype", "value"}``
``$constant``      a ``types.Constant``: ``{"dtype", "value"}``
``$bytes``         bytes in base64
``$python``        a function, class or object: ``"module:name"``, never imported while reading
``$dict``          a dictionary whose keys are not plain strings: a list of pairs
=================  ===================================================================
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dali_lab.model import dtypes, scalars
from dali_lab.model.errors import DaliLabError, FormatError
from dali_lab.model.references import PythonReference, reference_to
from dali_lab.schema.arguments import Arg

_ENUMS: dict[str, type[dtypes.NamedEnum]] = {
    kind.__name__: kind for kind in (dtypes.DALIDataType, dtypes.DALIImageType, dtypes.DALIInterpType)
}
_NON_FINITE = ("nan", "inf", "-inf")
_LARGE = 256


def encode(value: object, arg: Arg | None = None) -> Any:
    """A value as JSON; `arg` is the declaration of its argument, if there is one."""
    if arg is not None and arg.type not in ("object", "number", "string", "layout"):
        if arg.vector and isinstance(value, (list, tuple)):
            return [_encode_typed(item, arg) for item in value]
        return _encode_typed(value, arg)
    return _encode(value)


def _encode_typed(value: object, arg: Arg) -> Any:
    if isinstance(value, dtypes.NamedEnum) and type(value) is _kind(arg):
        return value.name
    if arg.type == "float" and type(value) is float and not _is_finite(value):
        return _non_finite(value)
    return _encode(value)


def _kind(arg: Arg) -> type[dtypes.NamedEnum] | None:
    return {
        "dtype": dtypes.DALIDataType,
        "image_type": dtypes.DALIImageType,
        "interp_type": dtypes.DALIInterpType,
    }.get(arg.type)


def _is_finite(value: float) -> bool:
    return value == value and value not in (float("inf"), float("-inf"))


def _non_finite(value: float) -> str:
    return "nan" if value != value else "inf" if value > 0 else "-inf"


def _encode(value: object) -> Any:
    if value is None or isinstance(value, bool) or type(value) in (str, int):
        return value
    if type(value) is float:
        return value if _is_finite(value) else {"$float": _non_finite(value)}
    if isinstance(value, dtypes.NamedEnum) and type(value).__name__ in _ENUMS:
        return {"$enum": str(value)}
    if isinstance(value, (list, tuple)):
        return [_encode(item) for item in value]
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: _encode(item) for key, item in value.items()}
        return {"$dict": [[_encode(key), _encode(item)] for key, item in value.items()]}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return {"$array": _encode_array(value)}
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        return {"$number": {"dtype": value.dtype.name, "value": _plain(value.item())}}
    if isinstance(value, scalars.ScalarConstant):
        return {"$constant": {"dtype": value.dtype.name, "value": _plain(value.value)}}
    if isinstance(value, (bytes, bytearray)):
        return {"$bytes": base64.b64encode(bytes(value)).decode("ascii")}
    if isinstance(value, str):
        return str(value)
    reference = value if isinstance(value, PythonReference) else reference_to(value)
    if reference.name is None:
        return {"$python": None, "text": reference.text}
    return {"$python": reference.name}


def _plain(value: object) -> Any:
    return _non_finite(value) if isinstance(value, float) and not _is_finite(value) else value


def _encode_array(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {"dtype": array.dtype.name, "shape": list(array.shape)}
    # Not every nan is the same to a comparison of bytes.
    plain = array.dtype.kind in "biu" or (array.dtype.kind == "f" and bool(np.isfinite(array).all()))
    if array.size <= _LARGE and plain:
        return {**entry, "data": array.reshape(-1).tolist()}
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return {**entry, "base64": base64.b64encode(little.tobytes()).decode("ascii")}


def decode(raw: object, arg: Arg | None = None) -> Any:
    """The value that :func:`encode` wrote; a value that the argument does not take is kept as it is.

    Raises
    ------
    FormatError
        If an object with a ``$`` key is not what it says.
    """
    value = _decode(raw)
    if arg is None:
        return value
    if arg.type in ("float", "number") and isinstance(value, str) and value in _NON_FINITE and not arg.vector:
        return float(value)
    try:
        return arg.canonical(value)
    except (DaliLabError, TypeError, ValueError, OverflowError, RecursionError):
        return _members(value, _kind(arg))  # what this operator refuses is for verification to say


def _members(value: object, kind: type[dtypes.NamedEnum] | None) -> Any:
    """`value` with names of members as members."""
    if kind is None:
        return value
    if isinstance(value, tuple):
        return tuple(_members(item, kind) for item in value)
    return kind[value] if isinstance(value, str) and value in kind.__members__ else value


def _decode(raw: object) -> Any:
    if isinstance(raw, list):
        return tuple(_decode(item) for item in raw)
    if isinstance(raw, dict):
        tags = [key for key in raw if key.startswith("$")]
        if not tags:
            return {key: _decode(item) for key, item in raw.items()}
        reader = _READERS.get(tags[0])
        if len(tags) > 1 or reader is None or (len(raw) > 1 and tags[0] != "$python"):
            raise FormatError(f"an object with the key {tags[0]!r} is not a value that this version knows")
        try:
            return reader(raw)
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError, MemoryError) as error:
            raise FormatError(f"an object with the key {tags[0]!r} is damaged: {error}") from error
    return raw


def _decode_enum(raw: dict[str, Any]) -> Any:
    kind, _, name = raw["$enum"].partition(".")
    return _ENUMS[kind][name]


def _decode_array(raw: dict[str, Any]) -> Any:
    entry = raw["$array"]
    dtype = _dtype(entry["dtype"])
    shape = tuple(int(extent) for extent in entry["shape"])
    if "base64" in entry:
        little = np.frombuffer(base64.b64decode(entry["base64"], validate=True), dtype.newbyteorder("<"))
        return little.astype(dtype).reshape(shape)
    return np.array([float(item) if isinstance(item, str) else item for item in entry["data"]], dtype).reshape(shape)


def _dtype(name: object) -> np.dtype[Any]:
    dtype = np.dtype(name) if isinstance(name, str) else np.dtype(object)
    if dtype.kind not in "biufc":
        raise ValueError(f"{name!r} is not a type of numbers")
    return dtype


def _decode_number(raw: dict[str, Any]) -> Any:
    entry = raw["$number"]
    return _dtype(entry["dtype"]).type(entry["value"])


def _decode_constant(raw: dict[str, Any]) -> Any:
    entry = raw["$constant"]
    value = entry["value"]
    return scalars.ScalarConstant(
        float(value) if isinstance(value, str) else value, dtypes.DALIDataType[entry["dtype"]]
    )


def _decode_python(raw: dict[str, Any]) -> Any:
    name, text = raw["$python"], raw.get("text", "")
    if not (name is None or isinstance(name, str)) or not isinstance(text, str):
        raise ValueError("it names no object")
    return PythonReference(name, text)


def _decode_float(raw: dict[str, Any]) -> float:
    if raw["$float"] not in _NON_FINITE:
        raise ValueError(f"{raw['$float']!r} is not one of {', '.join(_NON_FINITE)}")
    return float(raw["$float"])


_READERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "$float": _decode_float,
    "$enum": _decode_enum,
    "$array": _decode_array,
    "$number": _decode_number,
    "$constant": _decode_constant,
    "$bytes": lambda raw: base64.b64decode(raw["$bytes"], validate=True),
    "$python": _decode_python,
    "$dict": lambda raw: {_decode(key): _decode(item) for key, item in raw["$dict"]},
}
