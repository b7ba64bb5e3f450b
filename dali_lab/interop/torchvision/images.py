"""Images on their way through transforms, in a pipeline or outside of one."""

from __future__ import annotations

import builtins
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from dali_lab import dynamic, fn, math, types
from dali_lab.graph.recorder import DataNode

Extent = int | DataNode
"""A length in pixels: a node while a pipeline is being defined."""


@dataclass(frozen=True)
class Images:
    """Images with what is known of all of them when the pipeline is made.

    Parameters
    ----------
    data
        A node, or a tensor or batch of :mod:`dali_lab.dynamic`.
    layout
        ``HWC`` or ``CHW``, with an ``F`` before it for sequences.
    channels
        Number of channels.
    floating
        Whether values are fractions of 1 (floating point) instead of 0 to 255.
    """

    data: Any
    layout: str
    channels: int
    floating: bool = False

    @property
    def in_pipeline(self) -> bool:
        """Whether a pipeline is being defined."""
        return isinstance(self.data, DataNode)

    @property
    def operations(self) -> Any:
        """Operators by name: ``fn``, or those of dynamic mode."""
        return fn if self.in_pipeline else dynamic

    @property
    def arithmetic(self) -> ModuleType:
        """The functions ``min`` and ``max`` for the sizes of these images."""
        return math if self.in_pipeline else builtins

    @property
    def functions(self) -> ModuleType:
        """Mathematical functions of these images' values."""
        return math if self.in_pipeline else dynamic.math

    @property
    def channels_first(self) -> bool:
        """Whether the layout is that of torch tensors; pictures of Pillow have the channels last."""
        return self.layout.endswith("CHW")

    def size(self) -> tuple[Extent, Extent]:
        """Height and width: nodes in a pipeline, else numbers."""
        height = len(self.layout) - (2 if self.channels_first else 3)
        if self.in_pipeline:
            shape = self.data.shape()
            return shape[height], shape[height + 1]
        shape = self.data.shape[0] if isinstance(self.data, dynamic.Batch) else self.data.shape
        return shape[height], shape[height + 1]

    def replaced(self, data: object, channels: int | None = None) -> Images:
        """The result of a step."""
        return replace(self, data=data, channels=self.channels if channels is None else channels)

    def pair(self, first: Extent, second: Extent, dtype: types.DALIDataType = types.INT32) -> Any:
        """Two numbers or nodes as one argument of type `dtype`."""
        if isinstance(first, DataNode) or isinstance(second, DataNode):
            return fn.stack(fn.cast(first, dtype=dtype), fn.cast(second, dtype=dtype))
        return (first, second)

    def window(self, start: tuple[Extent, Extent], shape: tuple[Extent, Extent], **options: object) -> Images:
        """The window of this shape (height and width) that starts at (top, left)."""
        data = self.operations.slice(
            self.data, start=self.pair(*start), shape=self.pair(*shape), axis_names="HW", **options
        )
        return self.replaced(data)

    def transposed(self) -> Images:
        """The channels last instead of first, or the other way round."""
        frames = len(self.layout) - 3
        last = (1, 2, 0) if self.channels_first else (2, 0, 1)
        order = [*range(frames), *(frames + axis for axis in last)]
        return replace(
            self,
            data=self.operations.transpose(self.data, perm=order),
            layout="".join(self.layout[axis] for axis in order),
        )
