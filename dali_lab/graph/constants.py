"""Constant tensors as nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.graph.naming import suggesting
from dali_lab.graph.recorder import DataNode
from dali_lab.model import dtypes
from dali_lab.model.scalars import ScalarConstant


def implied_constant(value: Any, **kwargs: Any) -> DataNode:
    """:func:`constant_node` for a value that stands where a node is expected; the variable names what takes it."""
    with suggesting(""):
        return constant_node(value, **kwargs)


def constant_node(
    value: Any,
    *,
    dtype: dtypes.DALIDataType | None = None,
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
    if dtype is None and isinstance(first, dtypes.NamedEnum):
        dtype = {
            dtypes.DALIDataType: dtypes.DATA_TYPE,
            dtypes.DALIImageType: dtypes.IMAGE_TYPE,
            dtypes.DALIInterpType: dtypes.INTERP_TYPE,
        }[type(first)]
    if isinstance(first, dtypes.NamedEnum):
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
        dtype = dtypes.FLOAT if not array.size and not hasattr(value, "dtype") else dtypes.to_dali_type(array.dtype)
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


def Constant(  # noqa: N802  (NVIDIA DALI's name)
    value: Any,
    dtype: dtypes.DALIDataType | None = None,
    shape: Any = None,
    layout: str | None = None,
    device: str | None = None,
    **kwargs: Any,
) -> ScalarConstant | DataNode:
    """A constant for use in a pipeline.

    Parameters
    ----------
    value
        A number, an enum value, a list of either, or an array.
    dtype
        Type of the elements; by default that of `value`, 64-bit types becoming 32-bit ones.
    shape
        Shape of the tensor; a single number is repeated to fill it.
    layout
        Axis names, such as ``"HWC"``.
    device
        ``"cpu"`` or ``"gpu"``; when given, the result is always a node.

    Returns
    -------
    ScalarConstant or DataNode
        A scalar with none of `shape`, `layout` and `device` gives a :class:`ScalarConstant`,
        anything else a node that yields the same tensor for each sample.
    """
    is_enum = isinstance(value, dtypes.NamedEnum) or dtype in (
        dtypes.DATA_TYPE,
        dtypes.IMAGE_TYPE,
        dtypes.INTERP_TYPE,
    )
    is_array = hasattr(value, "shape") and tuple(value.shape) != ()
    plain = (
        device is None
        and layout is None
        and not kwargs
        and (shape is None or tuple(np.atleast_1d(shape)) in ((), (1,)))
    )
    if plain and not is_enum and not is_array and not isinstance(value, (list, tuple)):
        return ScalarConstant(value, dtype)
    return ConstantNode(device, value, dtype, shape, layout, **kwargs)


def ConstantNode(  # noqa: N802  (NVIDIA DALI's name)
    device: str | None,
    value: object,
    dtype: dtypes.DALIDataType | None,
    shape: object,
    layout: str | None,
    **kwargs: object,
) -> DataNode:
    """A node that yields `value` for each sample, also where :func:`Constant` would give a number."""
    return constant_node(value, dtype=dtype, shape=shape, layout=layout, device=device, **kwargs)
