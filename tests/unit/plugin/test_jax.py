"""The JAX iterator gives the batches of its pipelines as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from dali_lab import fn  # noqa: E402
from dali_lab.plugin.jax import data_iterator  # noqa: E402


def test_data_iterator() -> None:
    @data_iterator(output_map=["x", "y"], auto_reset=True)
    def iterator(offset: int) -> Any:
        def source(index: int) -> Any:
            if index == 3:
                raise StopIteration
            return np.full((2, 3), index + offset, np.float32)

        x = fn.external_source(source=source, layout="W")
        return x, fn.flip(fn.expand_dims(x, axes=[0, 2], new_axis_names="HC"))

    made = iterator(5, batch_size=2)
    for _ in range(2):
        seen = [batch["x"] for batch in made]
        assert [float(array[0, 0]) for array in seen] == [5, 6, 7]
        assert isinstance(seen[0], jax.Array) and seen[0].shape == (2, 3)
