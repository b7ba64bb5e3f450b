"""Tensors and lists of tensors as text, in the form that NVIDIA DALI prints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_INDENT = " " * 4
_EDGE = 2
"""Items shown at either end of what is abbreviated."""
_MANY_ELEMENTS = 1000
_MANY_SHAPES = 16
_WIDE = 75


def tensor_text(name: str, data: Array | None, dtype: object, layout: str, device: str, shape: Sequence[int]) -> str:
    """A tensor as text; `data` is `None` where the elements are not to be shown."""
    lines = [] if data is None else [_numbers(data, _INDENT)]
    lines += [*_attributes(dtype, layout, device), f"shape={tuple(shape)})"]
    return f"{name}(\n{_INDENT}" + f",\n{_INDENT}".join(lines)


def list_text(
    name: str,
    sample: Callable[[int], Array] | None,
    dtype: object,
    layout: str,
    device: str,
    shapes: Sequence[tuple[int, ...]],
    indent: str = "",
) -> str:
    """A list of tensors as text; `sample` gives one of them, or is `None` where elements are not to be shown."""
    inner = indent + _INDENT
    lines = [] if sample is None else [_samples(sample, shapes, inner)]
    lines += [*_attributes(dtype, layout, device), f"num_samples={len(shapes)}", f"shape=[{_shapes(shapes, inner)}])"]
    return f"{name}(\n{inner}" + f",\n{inner}".join(lines)


def _attributes(dtype: object, layout: str, device: str) -> list[str]:
    return [f"dtype={dtype}", *([f'layout="{layout}"'] if layout else []), f'device="{device}"']


def _numbers(data: Array, indent: str) -> str:
    return np.array2string(data, prefix=indent, edgeitems=_EDGE)


def _samples(sample: Callable[[int], Array], shapes: Sequence[tuple[int, ...]], indent: str) -> str:
    count = len(shapes)
    if not count:
        return "[]"
    elements = sum(max(int(np.prod(shape, dtype=np.int64)), 1) for shape in shapes)
    long = count > 2 * _EDGE + 1 and elements > _MANY_ELEMENTS
    shown = [*range(_EDGE), *range(count - _EDGE, count)] if long else list(range(count))
    texts = [_numbers(sample(index), indent) for index in shown]
    if long:
        texts.insert(_EDGE, "...")
    ndim = len(shapes[0])
    separator = ", " if not ndim else ",\n" + "\n" * (ndim - 1) + indent
    return f"[{separator.join(texts)}]"


def _shapes(shapes: Sequence[tuple[int, ...]], indent: str) -> str:
    count = len(shapes)
    texts = [str(shape) for shape in shapes]
    if count > 2 * _EDGE + 1 and (count > _MANY_SHAPES or count * len(shapes[0]) > 100):
        texts = [*texts[:_EDGE], "...", *texts[-_EDGE:]]
    line = ", ".join(texts)
    return line if len(line) <= _WIDE else (", \n" + indent + " " * len("shape=[")).join(texts)
