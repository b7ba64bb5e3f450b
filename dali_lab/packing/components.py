"""Components of packed samples: how the samples of an edge become files or features, and nodes that give them back."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np

from dali_lab.graph.graph import Edge, Node
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import (
    FLOAT,
    FLOAT16,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    DALIDataType,
    numpy_dtype,
)

_IN_ARCHIVES = (UINT8, INT8, UINT16, INT16, UINT32, INT32, UINT64, INT64, FLOAT16, FLOAT, FLOAT64)
_AS_INTEGERS = (INT8, UINT16, INT16, UINT32, INT32, INT64)
_MAGIC = {
    b"\xff\xd8\xff": "jpg", b"\x89PNG": "png", b"II*\0": "tif", b"MM\0*": "tif", b"BM": "bmp", b"OggS": "ogg",
    b"fLaC": "flac",
}  # fmt: skip
_IN_RIFF = {b"WEBP": "webp", b"WAVE": "wav"}
_ENDINGS = ("jpg", "png", "webp", "tif", "bmp", "wav", "flac", "ogg", "bin")


@dataclass(frozen=True)
class Component:
    """The packed form of the samples on one edge.

    Attributes
    ----------
    name
        Names the feature, and the node that gives it back.
    form
        Form of the shards.
    dtype, ndim, layout
        Of the samples.
    encoded
        They are the bytes of pictures or sounds, whose files get the usual endings.
    """

    name: str
    form: str
    dtype: DALIDataType
    ndim: int
    layout: str
    encoded: bool

    @classmethod
    def of(cls, name: str, form: str, batch: Batch, encoded: bool) -> Component:
        """The component that samples like those of a batch make."""
        return cls(name, form, batch.dtype, batch.ndim, batch.layout, encoded and batch.dtype is UINT8)

    @property
    def _kind(self) -> str:
        if self.ndim != 1:
            return "array"
        if self.form == "webdataset":
            return "elements" if self.dtype in _IN_ARCHIVES else "array"
        if self.dtype is UINT8:
            return "elements"
        return "integers" if self.dtype in _AS_INTEGERS else "floats" if self.dtype is FLOAT else "array"

    def content(self, array: np.ndarray[Any, Any]) -> bytes:
        """The bytes of a sample: its elements, or a NumPy file where it has not one dimension."""
        if self._kind != "array":
            return array.tobytes()
        file = io.BytesIO()
        np.lib.format.write_array(file, np.ascontiguousarray(array).reshape(array.shape), allow_pickle=False)
        return file.getvalue()

    # -- archives -----------------------------------------------------------------------------------------------

    def extension(self, content: bytes) -> str:
        """The part of a file's name behind its first dot."""
        if self._kind == "array":
            return f"{self.name}.npy"
        if not self.encoded:
            return f"{self.name}.{numpy_dtype(self.dtype).str[1:]}"
        start = bytes(content[:12])
        ending = _IN_RIFF.get(start[8:], "bin") if start[:4] == b"RIFF" else "bin"
        return f"{self.name}.{next((name for magic, name in _MAGIC.items() if start.startswith(magic)), ending)}"

    @property
    def extensions(self) -> str:
        """The extensions that its files may have, for ``readers.webdataset``."""
        if not self.encoded:
            return self.extension(b"")
        return ";".join(f"{self.name}.{ending}" for ending in _ENDINGS)

    @property
    def read_as(self) -> DALIDataType:
        """Type of the elements as the reader of archives gives them."""
        return UINT8 if self._kind == "array" else self.dtype

    # -- records ------------------------------------------------------------------------------------------------

    def set_feature(self, feature: Any, content: bytes) -> None:
        """Fill in a ``Feature`` of TensorFlow."""
        if self._kind == "integers":
            feature.int64_list.value.extend(np.frombuffer(content, numpy_dtype(self.dtype)).tolist())
        elif self._kind == "floats":
            feature.float_list.value.extend(np.frombuffer(content, np.float32).tolist())
        else:
            feature.bytes_list.value.append(content)

    @property
    def feature(self) -> str:
        """The feature, for ``readers.tfrecord``."""
        kinds = {"integers": "VarLenFeature(int64, 0)", "floats": "VarLenFeature(float32, 0.0)"}
        return kinds.get(self._kind, "FixedLenFeature([], string, '')")

    # -- reading ------------------------------------------------------------------------------------------------

    def nodes(self, read: Edge, free: Any) -> list[Node]:
        """Nodes that make the samples of what the reader gives; none where the reader gives them.

        Parameters
        ----------
        read
            Output of the reader.
        free
            Makes a name for a node that no other has.
        """
        added: list[Node] = []

        def add(suffix: str, op: str, **arguments: Any) -> None:
            last = Edge(added[-1].id) if added else read
            added.append(Node(free(f"{self.name}_{suffix}"), op, inputs=(last,), arguments=arguments))

        if self._kind == "array":
            add("array", "decoders.numpy")
        if self._kind == "integers" and self.dtype is not INT64:
            add("cast", "cast", dtype=self.dtype)
        if self.layout:
            add("layout", "reshape", layout=self.layout)
        return added
