"""Constant tensors as nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab import types
from dali_lab.data_node import DataNode
from dali_lab.graph.naming import suggesting


def implied_constant(value: Any, **kwargs: Any) -> DataNode:
    """:func:`constant_node` for a value that stands where a node is expected; the variable names what takes it."""
    with suggesting(""):
        return constant_node(value, **kwargs)


def constant_node(
    value: Any,
    *,
    dtype: types.DALIDataType | None = None,
    shape: Any = None,
    layout: str | None = None,
    device: str | None = None,
    **kwargs: Any,
) -> DataNode:
    """A node that yields the same tensor for each sample.

    Parameters
    ----------
    value
        A number, a list, an enum value, or an array; 64-bit arrays become 32-bit ones.
    dtype, shape, layout, device
        As in :func:`dali_lab.types.Constant`.

    Raises
    ------
    OverflowError
        If an integer does not fit 32 bits and no `dtype` asks for more.
    TypeError
        If the elements are neither numbers nor enum values.
    """
    from dali_lab.graph.tracing import call_operator

    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    first = next(iter(np.ravel(np.asarray(value, object)).tolist()), None)
    if dtype is None and isinstance(first, types._NamedEnum):
        dtype = {
            types.DALIDataType: types.DATA_TYPE,
            types.DALIImageType: types.IMAGE_TYPE,
            types.DALIInterpType: types.INTERP_TYPE,
        }[type(first)]
    if isinstance(first, types._NamedEnum):
        array = np.asarray([int(item) for item in np.ravel(np.asarray(value, object))], np.int32)
        array = array.reshape(np.shape(value))
    else:
        array = np.asarray(value)
    if array.dtype == object or array.dtype.kind not in "biuf":
        raise TypeError(f"a constant holds numbers, not {type(first).__name__}")
    if array.dtype.kind in "iu" and dtype is None:
        if array.dtype.itemsize == 8:
            limits = np.iinfo(np.int32 if array.dtype.kind == "i" else np.uint32)
            if array.size and (array.min() < limits.min or array.max() > limits.max):
                bad = array.min() if array.min() < limits.min else array.max()
                raise OverflowError(f"the integer {bad} does not fit {limits.dtype}")
            array = array.astype(limits.dtype)
    elif array.dtype == np.float64:
        array = array.astype(np.float32)
    if dtype is None:
        dtype = types.FLOAT if not array.size and not hasattr(value, "dtype") else types.to_dali_type(array.dtype)
    is_sequence = isinstance(value, (list, tuple)) or np.ndim(array) > 0
    if shape is None:
        shape = array.shape if is_sequence else ()
    data = array.reshape(-1).tolist()
    key = "fdata" if array.dtype.kind == "f" else "idata"
    arguments = {key: [float(x) for x in data] if key == "fdata" else [int(x) for x in data]}
    return call_operator(  # type: ignore[no-any-return]
        "constant",
        (),
        {
            **arguments,
            "dtype": dtype,
            "shape": list(np.atleast_1d(shape)) if np.ndim(shape) else ([] if shape == () else [int(shape)]),
            "layout": layout,
            "device": device,
            **kwargs,
        },
    )
