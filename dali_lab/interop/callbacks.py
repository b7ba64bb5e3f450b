"""Results of callbacks of external sources: checks and conversions by which programs test their own callbacks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.errors import OperatorError
from dali_lab.model.incoming import UNSUPPORTED, to_array


def check_sample(sample: object) -> bool:
    """Whether a callback may return this for a sample: an array of any library on the CPU.

    Raises
    ------
    TypeError
        If it may not.
    """
    try:
        to_array(sample)
    except OperatorError as error:
        raise TypeError(f"{UNSUPPORTED} `{type(sample)}` instead. {error}") from None
    return True


def check_batch(batch: Iterable[object]) -> bool:
    """Whether a callback may return this for a batch: an array, a list of tensors, or a list of arrays.

    Raises
    ------
    TypeError
        If it may not.
    """
    return all(map(check_sample, batch))


def batch_as_array(batch: Any) -> npt.NDArray[Any] | list[npt.NDArray[Any]]:
    """A batch of samples of one shape: a list as a list of arrays, anything else as one array.

    Raises
    ------
    ValueError
        If shapes differ.
    """
    samples = [to_array(sample) for sample in batch]
    if len({sample.shape for sample in samples}) > 1:
        raise ValueError("Uniform input is required (batch of tensors of equal shapes); pad or resize the samples")
    return samples if isinstance(batch, (list, tuple)) else np.stack(samples)
