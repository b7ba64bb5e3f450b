"""NVIDIA DALI as the reference for decoding: a batch in, arrays out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

dali = pytest.importorskip("nvidia.dali")

from nvidia.dali import fn, pipeline_def, types  # noqa: E402


def decoded(operator: Callable[..., Any], files: Sequence[bytes], **arguments: Any) -> list[list[npt.NDArray[Any]]]:
    """Outputs of ``operator(encoded files)``, each a list with an array for each file."""

    @pipeline_def(batch_size=len(files), num_threads=1, device_id=None)
    def pipeline() -> Any:
        encoded = fn.external_source(
            source=lambda: [np.frombuffer(data, np.uint8) for data in files], batch=True, dtype=types.UINT8, ndim=1
        )
        outputs = operator(encoded, **arguments)
        return tuple(outputs) if isinstance(outputs, (list, tuple)) else outputs

    built = pipeline()
    built.build()
    return [[np.array(output.at(i)) for i in range(len(files))] for output in built.run()]


def images(files: Sequence[bytes], **arguments: Any) -> list[npt.NDArray[Any]]:
    """Output of ``fn.decoders.image``."""
    return decoded(fn.decoders.image, files, **arguments)[0]
