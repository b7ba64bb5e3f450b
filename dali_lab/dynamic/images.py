"""Reading and decoding pictures by their paths."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np

from dali_lab.dynamic.batch import Batch, as_batch
from dali_lab.dynamic.calling import by_name, call
from dali_lab.dynamic.tensor import Tensor
from dali_lab.dynamic.values import Value
from dali_lab.schema.registry import find_operator


@overload
def imread(filepaths: str | Path | Tensor, /, *, device: object = "cpu", **arguments: Any) -> Tensor: ...
@overload
def imread(
    filepaths: Batch | Sequence[str | Path | Value], /, *, device: object = "cpu", **arguments: Any
) -> Batch: ...
def imread(
    filepaths: str | Path | Value | Sequence[str | Path | Value], /, *, device: object = "cpu", **arguments: Any
) -> Any:
    """Decoded pictures.

    Parameters
    ----------
    filepaths
        A path, a list of paths, or a tensor or batch with their characters as bytes.
    device
        Where they are decoded.
    **arguments
        Arguments of ``decoders.image``.

    Returns
    -------
    Tensor or Batch
        Layout HWC; a batch for a list or a batch.

    Raises
    ------
    DaliLabError
        If a file cannot be read or decoded.
    """
    paths: object = filepaths
    if isinstance(filepaths, (str, Path)):
        paths = _characters(filepaths)
    elif not isinstance(filepaths, Value):
        paths = as_batch([each if isinstance(each, Value) else _characters(each) for each in filepaths])
    return call(find_operator("decoders.image"), [by_name("io.file.read", paths)], arguments, place=device)


def _characters(path: object) -> Any:
    if not isinstance(path, (str, Path)):
        raise TypeError(f"takes paths, got {type(path).__name__}")
    return np.frombuffer(str(path).encode(), np.uint8)
