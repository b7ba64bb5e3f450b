"""Arrays of other libraries in device memory, taken in as batches without going through the CPU."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dali_lab.device import dlpack
from dali_lab.device.handles import stream_handle
from dali_lab.device.interface import Device, Stream
from dali_lab.device.launcher import Launcher
from dali_lab.device.memory import Borrowed
from dali_lab.device.transfer import UPLOAD
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import to_dali_type
from dali_lab.model.errors import OperatorError

Interface = Mapping[str, Any]


@dataclass(frozen=True)
class _Array:
    """An array of another library.

    Attributes
    ----------
    item
        The object that keeps its memory alive.
    interface
        Its shape, type and address.
    producer
        Handle of the stream on which it is made; `None` if it is complete, or if the upload stream waits for it.
    changes
        Its owner may change it as soon as the call returns, and names no stream on which it would.
    """

    item: Any
    interface: Interface
    producer: int | None
    changes: bool


def device_batch(data: Any, device: Device, cuda_stream: Any = None, *, copy: bool = True) -> Batch | None:
    """A batch in memory of a device, from arrays that are there already, in the order of their streams.

    Parameters
    ----------
    data
        An array whose first dimension counts the samples, a list of arrays, or a list of tensors of this package.
        Arrays have ``__cuda_array_interface__``, speak DLPack, or are DLPack capsules.
    device
        Where it is wanted.
    cuda_stream
        The stream on which the data was made, as a handle or an object of CuPy or PyTorch; by default the one that the
        arrays name, or else PyTorch's current one. It goes on after the copy, so that the arrays may be changed. Arrays
        that name none (DLPack) have been copied when this returns.
    copy
        Copy the data; else its memory is used, which must stay as it is until the batch was used. Elements that are not
        aligned are copied all the same.

    Returns
    -------
    Batch or None
        `None` for what is not in memory of this device, or not C-contiguous: that goes by the CPU.

    Raises
    ------
    OperatorError
        If samples differ in type or number of dimensions, or are no numbers.
    """
    inner = getattr(data, "_batch", None)
    if isinstance(inner, Batch) and not hasattr(data, "_index"):
        return inner if inner.device is device else None
    listed = isinstance(data, (list, tuple))
    arrays: list[_Array] = []
    for item in data if listed else [data]:
        array = _array(item, device, cuda_stream)
        if array is None or not _contiguous(array.interface):
            return None
        arrays.append(array)
    if not arrays:
        return None
    addresses, shapes, kind = _table([array.interface for array in arrays], listed)
    producers = [device.external(handle) for handle in {a.producer for a in arrays} if handle is not None]
    table = np.array(shapes, np.int64).reshape(len(shapes), -1 if shapes and shapes[0] else 0)
    if not copy and _aligned(arrays, kind.itemsize):
        ordered = [device.stream(UPLOAD)] if any(isinstance(a.item, dlpack.DeviceArray) for a in arrays) else []
        items = [array.item for array in arrays]
        owner = Borrowed(device.arena, int(addresses.min(initial=0)), 0, items, [*producers, *ordered])
        return Batch(addresses, table, to_dali_type(kind), owners=(owner,))
    return _copied(device, addresses, table, kind, producers, wait=any(array.changes for array in arrays))


def _array(item: object, device: Device, cuda_stream: object) -> _Array | None:
    """An array in memory of a device; `None` for anything else, such as what lies on another one."""
    interface = _interface(item)
    given = stream_handle(cuda_stream)
    if interface is not None:
        if 0 not in interface["shape"] and not device.has(int(interface["data"][0])):
            return None
        producer = given if cuda_stream is not None else _producer(item, interface)
        return _Array(item, interface, producer, changes=False)
    if isinstance(item, np.ndarray) or not dlpack.takes(item, device.index):
        return None
    if dlpack.is_capsule(item):  # once it is taken there is no way back to the CPU
        known = dlpack.interface_of(item)
        if known is None or not _contiguous(known):
            return None
    stream = device.stream(UPLOAD)
    with stream.lock:
        array = dlpack.taken(item, stream.pointer)
    return _Array(array, array.__cuda_array_interface__, given, changes=given is None)


def _aligned(arrays: Sequence[_Array], itemsize: int) -> bool:
    """Whether kernels can work on the memory itself."""
    filled = [array.interface for array in arrays if 0 not in array.interface["shape"]]
    return all(int(interface["data"][0]) % itemsize == 0 for interface in filled)


def _interface(item: object) -> Interface | None:
    if isinstance(item, np.ndarray):
        return None
    try:  # tensors of PyTorch on the CPU raise, as do ours
        found = getattr(item, "__cuda_array_interface__", None)
    except (AttributeError, TypeError, RuntimeError):
        return None
    return found if isinstance(found, Mapping) else None


def _contiguous(interface: Interface) -> bool:
    strides, shape = interface.get("strides"), tuple(interface["shape"])
    if strides is None or 0 in shape:
        return True
    step = np.dtype(interface["typestr"]).itemsize
    for extent, stride in zip(reversed(shape), reversed(tuple(strides)), strict=True):
        if extent > 1 and stride != step:
            return False
        step *= extent
    return True


def _table(interfaces: Sequence[Interface], listed: bool) -> tuple[np.ndarray[Any, Any], list[Any], np.dtype[Any]]:
    """Addresses and shapes of the samples, and their type."""
    kind = np.dtype(interfaces[0]["typestr"])
    if kind.kind not in "biuf" or kind.itemsize > 8 or not kind.isnative:
        raise OperatorError(f"takes arrays of numbers, got {interfaces[0]['typestr']}")
    shapes = [tuple(interface["shape"]) for interface in interfaces]
    for index, interface in enumerate(interfaces):
        if interface["typestr"] != interfaces[0]["typestr"]:
            raise OperatorError(
                "the samples of a batch must agree:"
                f" sample {index} is {interface['typestr']}, sample 0 is {interfaces[0]['typestr']}"
            )
        if len(shapes[index]) != len(shapes[0]):
            raise OperatorError(
                f"the samples of a batch must agree: sample {index} has {len(shapes[index])} dimensions,"
                f" sample 0 has {len(shapes[0])}"
            )
    starts = np.array([int(interface["data"][0] or 0) for interface in interfaces], np.int64)
    if listed:
        return starts, shapes, kind
    if not shapes[0]:
        raise OperatorError(
            "takes a batch: an array whose first dimension counts the samples, or a list of arrays; got a scalar"
        )
    count, *sample = shapes[0]
    step = int(np.prod(sample, dtype=np.int64)) * kind.itemsize
    return starts[0] + step * np.arange(count, dtype=np.int64), [tuple(sample)] * count, kind


def _producer(item: object, interface: Interface) -> int | None:
    """The handle of the stream on which an array was made; `None` if it is complete."""
    if interface.get("version", 0) >= 3:
        return stream_handle(interface.get("stream"))
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(item, torch.Tensor):
        return int(torch.cuda.current_stream(item.device).cuda_stream)
    return 0


def _copied(
    device: Device,
    addresses: np.ndarray[Any, Any],
    shapes: np.ndarray[Any, Any],
    kind: np.dtype[Any],
    producers: list[Stream],
    wait: bool,
) -> Batch:
    stream = device.stream(UPLOAD)
    stream.ahead = True
    with Launcher(stream) as gpu:
        for producer in producers:
            stream.wait(producer.record())
        out = gpu.batch(shapes, to_dali_type(kind))
        sizes = (out.sizes * out.itemsize).tolist()
        pieces: list[list[int]] = []
        for target, source, nbytes in zip(out.addresses.tolist(), addresses.tolist(), sizes, strict=True):
            if pieces and pieces[-1][0] + pieces[-1][2] == target and pieces[-1][1] + pieces[-1][2] == source:
                pieces[-1][2] += nbytes
            elif nbytes:
                pieces.append([target, source, nbytes])
        for piece in pieces:
            gpu.copy(*piece)
        done = gpu.issue()
        for producer in producers:
            producer.wait(done)
    if wait:
        done.synchronize()
    return out
