"""The launcher as kernels see it: memory of the device, and a place in a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import DALIDataType

if TYPE_CHECKING:
    from dali_lab.kernels.cuda.kernel import Variant


class Scratch(Protocol):
    """A piece of device memory."""

    address: int
    nbytes: int


class Launcher(Protocol):
    """Puts launches together for one stream; :class:`dali_lab.device.launcher.Launcher` does."""

    def batch(
        self, shapes: npt.ArrayLike, dtype: DALIDataType, layout: str = "", groups: npt.NDArray[np.int64] | None = None
    ) -> Batch:
        """Device memory for samples of these shapes."""

    def scratch(self, nbytes: int) -> Scratch:
        """Device memory that a kernel may use."""

    def constant(self, values: npt.NDArray[Any]) -> int:
        """Send an array along with the descriptors; its address."""

    def rows(self, values: npt.NDArray[Any], count: int) -> npt.NDArray[np.int64]:
        """Send a table with a row for each of `count` samples, or one for all; the address of each sample's row."""

    def launch(self, variant: Variant, table: npt.NDArray[Any], param: npt.NDArray[Any], most: int) -> None:
        """Launch over a table of samples, of which the largest has work for `most` threads."""

    def upload(self, batch: Batch) -> Batch:
        """A batch of the CPU on the device."""
